"""Shared settings: Hypothesis without deadlines, no test lost, and false alarms of the whole suite added up."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import hypothesis.core
import pytest
from hypothesis import settings

#: With DITHER_EXPLORE set, examples are new in every run: to look for what nobody has seen. Without it a change is
#: checked with the examples of the last one, so that what fails is the change.
EXPLORES = bool(os.environ.get("DITHER_EXPLORE"))
settings.register_profile("shared-machine", deadline=None, print_blob=True, derandomize=not EXPLORES)
settings.load_profile("shared-machine")
# Hypothesis would seed the generators of ``random`` and NumPy before each example, and put them back after it, which
# takes longer than many a property. No property draws from them: chance comes from ``noise/``, from a strategy, or from
# a generator of a test's own.
if hasattr(hypothesis.core, "deterministic_PRNG"):
    hypothesis.core.deterministic_PRNG = contextlib.nullcontext

#: The suite may fail by chance once in so many runs, all its statistical tests together.
MOST_FALSE_ALARM = 1e-5

#: How many new objects are awaited before cycles are looked for; Python's own 700 suit long-lived processes.
YOUNG_OBJECTS = (20_000, 20, 10)

_DECLARED = "false_alarm"

# As in the Makefile, for those who call pytest: hundreds of interpreters are started that compile everything otherwise.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Each worker has one core: threads of linear algebra, and of learners beside us, would spin while they wait for it.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")


def tool_of(name: str) -> ModuleType:
    """Return a script of ``tools/`` as a module."""
    path = Path(__file__).parents[1] / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect without looking for garbage: what is collected is kept to the end."""
    gc.disable()
    tool_of("rewritten").share(session.config)
    try:
        yield
    finally:
        # Nor later: tests leave few cycles behind, and what was collected would be walked through to find them.
        gc.freeze()
        gc.set_threshold(*YOUNG_OBJECTS)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[None]:
    """Collect tests from this folder, and not the examples in their docstrings, of which there are none."""
    found = yield
    return [each for each in found if type(each) is pytest.Module or not isinstance(each, pytest.Module)]


def built_while_collecting() -> list[str]:
    """Return the mechanisms whose examples were built: every worker collects, and pays for them before any test."""
    registry = sys.modules.get("dither.mechanisms.core.registry")
    entries = {} if registry is None else registry._entries
    return [name for name, entry in entries.items() if entry.examples.cache_info().currsize]


def is_whole_suite(config: pytest.Config) -> bool:
    """Return whether all tests will run; the tool that writes their number collects only, and is not held to it."""
    chosen = config.option.keyword or config.option.markexpr or config.option.collectonly
    return config.args == config.getini("testpaths") and not chosen


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if built := built_while_collecting():
        raise pytest.UsageError(f"examples are built in tests, not while collecting: {', '.join(built)}")
    if is_whole_suite(config):
        tool = tool_of("collected")
        complaint = tool.lost(len(items), tool.last_collected())
        if complaint is not None:
            raise pytest.UsageError(complaint)
    for item in items:
        if (marker := item.get_closest_marker("statistical")) is not None:
            # A planted bug that is missed fails its test as well: it counts like an alarm. Reports carry the sum from
            # the workers to whoever adds it up.
            rates = [marker.kwargs[kind] for kind in ("false_alarm", "miss") if kind in marker.kwargs]
            item.user_properties.append((_DECLARED, float(sum(rates))))


class Examples:
    """Begins examples in docstrings and pages without source lines in memory.

    Before each, doctest asks whether any file of which lines are kept was written since: by then hundreds.
    """

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if isinstance(item, pytest.DoctestItem):
            linecache.clearcache()


class FalseAlarms:
    """Adds up what the statistical tests that ran declare, and fails a session that may fail by chance too often."""

    def __init__(self) -> None:
        self.rates: dict[str, float] = {}

    @property
    def complaints(self) -> list[str]:
        silent = [f"{test} is statistical and states no false_alarm" for test, rate in self.rates.items() if not rate]
        total = sum(self.rates.values())
        return silent if total <= MOST_FALSE_ALARM else [*silent, f"that is above {MOST_FALSE_ALARM:g}"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, value in report.user_properties:
                if name == _DECLARED:
                    assert isinstance(value, float)
                    self.rates[report.nodeid] = value

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        if self.complaints and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.rates:
            terminalreporter.write_line(
                f"{len(self.rates)} statistical tests fail by chance with probability "
                f"{sum(self.rates.values()):.2g} at most, all together"
            )
            for complaint in self.complaints:
                terminalreporter.write_line(complaint, red=True)


@pytest.fixture(scope="session")
def load_tool() -> Callable[[str], ModuleType]:
    """Return what loads a script of ``tools/`` as a module."""
    return tool_of


@pytest.fixture(autouse=True, scope="session")
def anchors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the anchors of all ledgers that tests make out of the user's state folder."""
    before = os.environ.get("DITHER_ANCHORS")
    os.environ["DITHER_ANCHORS"] = str(tmp_path_factory.mktemp("anchors"))
    yield
    if before is None:
        del os.environ["DITHER_ANCHORS"]
    else:
        os.environ["DITHER_ANCHORS"] = before


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Examples(), "examples")
    tool_of("cpu").plug_in(config, is_whole=is_whole_suite(config))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FalseAlarms(), "false-alarms")
