"""The verbs a person types: what they print, for people and for programs, and their exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.cli import audit as audit_verb
from dither.cli import explain, main
from dither.cli.app import app
from dither.mechanisms import registered
from dither.mechanisms.core.tasks import TASKS, all_tasks


def dither(*words: str) -> subprocess.CompletedProcess[str]:
    script = "from dither.cli import command; command()"
    return subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)


LEMMAS = Path(__file__).parents[2] / "docs" / "lemmas"
Here = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The same function within this process: starting an interpreter takes longer than most verbs."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["dither", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code is None or isinstance(ended.value.code, int)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, ended.value.code or 0, said.out, said.err)

    return run


def test_catalog_lists_everything_registered(here: Here) -> None:
    rows = json.loads(here("catalog", "--json").stdout)
    assert [row["name"] for row in rows] == sorted(registered())
    assert all(
        row["summary"] and row["source"] and row["numerics"] in ("exact", "bounded", "idealised") for row in rows
    )


def test_catalog_for_people(here: Here) -> None:
    """Tasks first; one of them says when to take which, and a search finds what says a word."""
    done = here("catalog")
    assert done.returncode == 0
    assert all(task.wish in done.stdout for task in TASKS.values())
    assert "dawa" not in done.stdout
    for name, task in all_tasks().items():
        shown = here("catalog", "--task", name).stdout
        places = [shown.index(f" {method} ") for method in task.methods]
        assert places == sorted(places)
        assert all(said in shown for said in task.methods.values())
    found = here("catalog", "WAVELET").stdout
    assert "privelet" in found
    assert "laplace" not in found
    assert "dither explain NAME" in found
    assert "no entry matches" in here("catalog", "nonsense").stdout
    assert here("catalog", "--task", "nonsense").returncode == 4


def test_every_mechanism_but_literature_belongs_to_a_task() -> None:
    chosen = {
        name
        for name, entry in registered().items()
        if not entry.is_reference and entry.mechanism.__module__.startswith("dither.")
    }
    assert {name for task in all_tasks().values() for name in task.methods} == chosen
    for task in all_tasks().values():
        assert all(said.endswith(".") and len(said) < 100 for said in task.methods.values())


def test_catalog_shows_literature_when_asked(here: Here) -> None:
    """As programs read it, it is all there, with the mark."""
    short, full = here("catalog", "table").stdout, here("catalog", "--all").stdout
    assert "small-database" not in short
    assert "literature" in short
    assert "small-database" in full
    assert "for reference only" not in full
    rows = {row["name"]: row["is_reference"] for row in json.loads(here("catalog", "--json").stdout)}
    assert (rows["small-database"], rows["laplace"]) == (True, False)


@pytest.mark.parametrize("name", sorted(registered()))
def test_explain_gives_the_proof(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    explain.show(name, as_json=True)
    record = json.loads(capsys.readouterr().out)
    assert "Guarantee:" in record["documentation"]
    assert "Why" in record["page"]
    assert "guesses correctly " in record["meaning"]


def test_explain_for_people(here: Here) -> None:
    done = here("explain", "geometric")
    assert done.returncode == 0
    assert "What it promises" in done.stdout
    assert "Rests on: values" in done.stdout
    assert "lemmas/" not in done.stdout.split("What it promises")[0]


def test_explain_gives_lemmas_too(here: Here) -> None:
    done = here("explain", "values")
    assert done.returncode == 0
    assert "Statement" in done.stdout
    record = json.loads(here("explain", "values", "--json").stdout)
    assert record["name"] == "values"
    assert "## Proof" in record["page"]
    assert not {path.stem for path in LEMMAS.glob("*.md")} & set(registered())


@pytest.mark.statistical(n=20_000, false_alarm=1e-9, catches="an audit that refutes what is true or certifies little")
def test_audit_says_what_it_could_certify(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_verb, "_FALSE_ALARM", 1e-10)
    done = here("audit", "randomised-response", "--samples", "20000", "--json")
    assert done.returncode == 0
    verdicts = json.loads(done.stdout)
    assert {verdict["mechanism"] for verdict in verdicts} == {"randomised-response"}
    assert not any(verdict["is_refuted"] for verdict in verdicts)
    assert max(verdict["tightness"] for verdict in verdicts) > 0.5


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("explain", "nonsense"), 4),
        (("audit", "nonsense"), 4),
        (("audit", "laplace", "--samples", "5"), 2),
        (("nonsense",), 2),
    ],
)
def test_a_wrong_request_is_one_complaint_and_an_exit_code(words: tuple[str, ...], code: int, here: Here) -> None:
    done = here(*words)
    assert done.returncode == code
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_shell_sees_what_these_tests_see(here: Here) -> None:
    """A process of its own has the same exit code, and says the same in the same places."""
    alone, within = dither("explain", "nonsense"), here("explain", "nonsense")
    assert (alone.returncode, alone.stdout, alone.stderr) == (4, within.stdout, within.stderr)


def test_help_and_version(here: Here) -> None:
    assert "catalog" in here("--help").stdout
    assert dither("--version").stdout.startswith("dither ")
    for verb in ("catalog", "explain", "audit", "demo", "init", "add", "datasets", "sql", "quote", "card", "ledger"):
        assert CliRunner().invoke(app, [verb, "--help"]).exit_code == 0


def test_demo_writes_a_report_that_stands_alone(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = here("demo", "--out", "report.html", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["spent"]["epsilon"] == "19/10"
    assert record["ledger_is_intact"]
    assert len(record["answers"]) == 5
    assert [row["ward"] for row in record["answers"][0]["rows"]][:2] == ["cardiology", "dermatology"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    # Pictures need no extra: nothing but the core draws them.
    assert page.count("<svg") == 3
    # The truth is a dot for each ward, in both pictures of answers.
    assert page.count(": truth ") == 12
    assert record["held"]["intervals"] == 22
    assert "omits" in page
    assert "<script" not in page
    # Nothing is fetched from outside; the namespace of SVG is a name, not an address.
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_demo_for_people(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = here("demo", "--out", "deep/folder/report.html")
    assert "intact" in done.stdout
    typed = [
        line
        for line in done.stdout.splitlines()
        if line.startswith("$ dither") and not line.startswith("$ dither init")
    ]
    assert len(typed) == 9
    assert all(" --home deep/folder/dither-demo/home" in line for line in typed)
    assert "5 releases, head" in done.stdout
    assert "remaining" in done.stdout
    assert (tmp_path / "deep" / "folder" / "report.html").exists()
