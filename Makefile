# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
WORKERS ?= auto
# The versions that the tests were last run with; CONSTRAINTS= takes the newest instead, and make freeze writes the file.
CONSTRAINTS ?= --constraint constraints.txt

# Hundreds of interpreters are started by the tests: they find compiled modules, even where that was switched off.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test dist quick lowest coverage check lint tables types units audit faults security trial browser screenshots bench docs freeze clean

help:  ## list the verbs
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# The core alone: what the demonstration needs.
$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) --editable .
	touch $@

# All extras besides, and what checks need; PyTorch only where .ci/run or a person asks for it, because it is large.
$(VENV)/.installed: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) --editable ".[all]" --group test --group check --group docs
	touch $@

demo: $(VENV)/.core  ## private answers from a generated table, and an HTML report with a picture
	$(BIN)/dither demo --out build/demo/report.html

test: $(VENV)/.installed  ## every check that a change must pass
	@$(MAKE) --no-print-directory --jobs 2 lint docs types units

quick: $(VENV)/.installed  ## the tests that a change since main can reach
	$(BIN)/python tools/quick.py --run

# Each worker has one core: threads of linear algebra and of learners would only wait for each other.
units: $(VENV)/.installed
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lowest:  ## the tests with the lowest versions of everything that pyproject.toml admits
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable ".[all]" --group test
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal

coverage: $(VENV)/.installed  ## which lines and branches the tests reach; writes build/coverage
	$(BIN)/python -m pip install --quiet --group coverage
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term:skip-covered --cov-report=html:build/coverage

check: lint types  ## format, lint, types, fresh tables

lint: $(VENV)/.installed
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/python tools/proofs.py
	$(BIN)/python tools/voice.py
	$(BIN)/python tools/catalogue.py --check
	$(BIN)/python -m tools.reference --check
	$(BIN)/python -m tools.api --check
	$(BIN)/python -m tools.commands --check
	$(BIN)/python tools/changelog.py --check

tables: $(VENV)/.installed  ## write everything that follows from code and fragments: exports, tables, navigation, reference
	$(BIN)/python tools/catalogue.py
	$(BIN)/python -m tools.surface
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.api
	$(BIN)/python -m tools.commands
	$(BIN)/python tools/changelog.py

types: $(VENV)/.installed
	$(BIN)/mypy

audit: $(VENV)/.installed  ## try to refute every mechanism, accountant and engine, and count planted bugs that die, within an hour
	$(BIN)/python -m dither.audit --minutes 45
	$(BIN)/python -m tools.ledgers
	$(BIN)/python -m tools.mutants --plants --minutes 10

faults: $(VENV)/.installed  ## kill what holds a ledger, streams, conversations and a service, and count what was lost (nothing)
	$(BIN)/python -m tools.faults
	$(BIN)/python -m tools.faults.releases --kills 500 --both
	$(BIN)/python -m tools.faults.streams
	$(BIN)/python -m tools.faults.conversations
	$(BIN)/python -m tools.faults.service
	$(BIN)/python -m tools.faults.service --workers 4 --clients 200
	$(BIN)/python -m tools.faults.service --workers 4 --clients 200 --postgres
	$(BIN)/python -m tools.faults.service --workers 4 --one-key 12
	$(BIN)/python -m tools.faults.service --workers 2 --how stop --kills 4
	$(BIN)/python -m tools.faults.service --workers 2 --how disk
	$(BIN)/python -m tools.faults.service --workers 2 --how restart
	$(BIN)/python -m tools.faults.service --workers 2 --how clock --kills 14

security: $(VENV)/.installed  ## attack a service: tokens, bodies, neighbours, slow clients, receipts, time; within 45 minutes
	$(BIN)/python -m tools.security

trial: $(VENV)/.installed  ## register a messy export in at most eight answers, and make all natural mistakes: refused, free, with a next step
	$(BIN)/python -m tools.trial

browser: docs  ## look at every page in Chromium: wide and narrow, light and dark, on paper; and at the built site
	$(BIN)/python -m tools.browser

screenshots: $(VENV)/.installed  ## write the pictures of the documentation that show pages and terminals, in Chromium
	$(BIN)/python -m tools.browser.screenshots

bench: $(VENV)/.installed  ## speed of noise, queries and the ledger, beside others in environments of their own
	$(BIN)/python -m tools.bench --rivals .venv-rivals

docs: $(VENV)/.installed  ## build the site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site
	@echo "site/index.html"

# The wheel is made of the sdist, so that both are complete; the environment has the wheel and what it requires alone.
dist: $(VENV)/.core  ## build wheel and sdist into build/dist, and run the demonstration from the wheel in an empty environment
	rm -rf build/dist build/dist-venv build/dist-demo
	mkdir -p build
	$(BIN)/python -m pip install --quiet "build>=1.2"
	$(BIN)/python -m build --outdir build/dist . >build/dist.log 2>&1 || { tail -20 build/dist.log; exit 1; }
	$(PYTHON) -m venv build/dist-venv
	build/dist-venv/bin/python -m pip install --quiet --no-compile $(CONSTRAINTS) build/dist/*.whl
	cd build && env -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 dist-venv/bin/dither demo --out dist-demo/report.html >>dist.log
	@test -s build/dist-demo/report.html && ls build/dist

freeze: $(VENV)/.installed  ## write the versions that are installed to constraints.txt: to be run when the tests have passed
	{ echo "# The versions that the tests were last run with; written by make freeze."; \
	  $(BIN)/python -m pip freeze --exclude-editable --exclude dither; } > constraints.txt

clean:  ## remove everything that was built
	rm -rf $(VENV) $(LOWEST) .venv-rivals build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
