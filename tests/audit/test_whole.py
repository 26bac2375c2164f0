"""An audit of everything: what it is made of, one table of figures, one page, and one way for both commands."""

from __future__ import annotations

import functools
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from dither.audit import __main__ as command
from dither.audit.accountants import Agreement
from dither.audit.accounts import Account, account
from dither.audit.blackbox import FEWEST_SAMPLES, lower_bound
from dither.audit.everything import PARTS, Extent, Raised, Run, Task, run_all, tasks_of, tried, work
from dither.audit.figures import Sheet, figures_of, instances_of, mutants_of, specimens_of
from dither.audit.outcomes import Rows
from dither.audit.report import write_report
from dither.audit.specimens import SPECIMENS
from dither.audit.subjects import subjects_of
from dither.audit.telling import audit_and_tell, table_of
from dither.cli import audit as verb
from dither.errors import InvalidParameter
from dither.mechanisms import registered

SMALL = Extent(samples=1000, replays=4, processes=1, minutes=5)


def screen() -> Console:
    return Console(file=io.StringIO(), width=200)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@functools.cache
def one_account() -> Account:
    found = account("randomised-response", 0, subjects_of("randomised-response")[0], samples=1000, false_alarm=1e-9)
    # By chance the worst pair may be one of the first look, which takes half as many outputs.
    return replace(found, samples=1000)


def some_run(**changes: Any) -> Run:
    one = one_account()
    specimen = {"name": "s", "is_refuted": True, "refuted_by": "sampling", "claimed": "1", "bound": "2"}
    mutant = {"number": 1, "name": "m", "breaks": "b", "killed_by": "contract", "complaint": "c" * 200}
    run = Run(
        accounts=[one, replace(one, kind="composed", replayed=7)],
        agreement=Agreement(10, 0, 0.001, 0.0),
        specimens=[specimen | {"replacement": "laplace"}],
        mutants=[mutant | {"outcome": "killed", "is_sampled": False}],
        false_alarm=1e-6,
    )
    return replace(run, **changes)


def test_everything_is_every_instance_and_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two stand for all: to make the examples of all of them takes a while.
    few = {name: entry for name, entry in registered().items() if name in ("laplace", "poisson-sample")}
    monkeypatch.setattr("dither.audit.everything.registered", lambda: few)
    tasks = tasks_of([], Extent())
    assert [task.kind for task in tasks[:1]] == [PARTS[0]]
    assert {task.kind for task in tasks} == {*PARTS, "mechanism"}
    assert {task.name for task in tasks if task.kind == "mechanism"} == set(few)
    assert tasks == tasks_of(["all"], Extent())
    assert [task.name for task in tasks_of(["mutants", "specimens"], Extent())] == ["specimens", "mutants"]
    assert {task.name for task in tasks_of(["laplace", "noise"], Extent())} == {"noise", "laplace"}


@pytest.mark.statistical(n=4000, miss=1e-9, catches="a specimen that withstands the auditor")
def test_specimens_are_refuted_as_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: SPECIMENS[name] for name in ("one-sided-exponential-noise", "gain-ratio", "skipped-noise")}
    monkeypatch.setattr("dither.audit.specimens.SPECIMENS", few)
    (task,) = tasks_of(["specimens"], Extent())
    found: Any = work(task)
    assert [one["name"] for one in found] == list(few)
    assert all(one["is_refuted"] for one in found)
    # What a process hands to another must be plain.
    assert json.loads(json.dumps(found))[0]["bound"]


@pytest.mark.statistical(n=2000, false_alarm=1e-9, catches="a sound instance that is complained about")
def test_figures_sum_up_what_was_found() -> None:
    rows = {row[0]: row[1:] for row in figures_of(some_run()).rows}
    assert "1 instances, 1,000 outputs a side, 0 refuted" in rows["primitives"][0]
    assert rows["composed mechanisms"][1].endswith("7 pairs replayed")
    assert rows["specimens"] == ("1 of 1 refuted", "1 by sampling")
    assert rows["mutants"] == ("1 of 1 killed", "1 without a sample")
    assert rows["accountants"][0] == "10 compositions, 0 understated"
    assert rows["complaints"][0] == "0"
    assert len(mutants_of(some_run()).rows[0][4]) < 130


@pytest.mark.statistical(n=2000, false_alarm=1e-9, catches="a sound instance that is complained about")
def test_what_withstands_and_what_survives_is_complained_about() -> None:
    run = some_run()
    run.specimens[0]["is_refuted"], run.mutants[0]["outcome"] = False, "survived"
    run.unfinished.append("laplace 0")
    assert run.complaints == [
        "specimen s withstood the auditor",
        "mutant 1, m: survived",
        "not tried for lack of time: laplace 0",
    ]
    assert specimens_of(run).bad == mutants_of(run).bad == {0}
    assert not instances_of(run.accounts).bad


@pytest.mark.statistical(n=2000, false_alarm=1e-9, catches="a sound instance that is complained about")
def test_one_page_has_all_of_it(tmp_path: Path) -> None:
    run = some_run()
    run.mutants[0] |= {"name": "<m>", "outcome": "survived"}
    page = write_report(
        tmp_path / "page.html", run.accounts, false_alarm=1e-6, sheets=[figures_of(run), mutants_of(run)]
    ).read_text(encoding="utf-8")
    for text in ("<h2>Figures</h2>", "<h2>Mutants</h2>", "&lt;m&gt;", "1 lines of the tables below are bad"):
        assert text in page
    record = json.loads(
        write_report(tmp_path / "page.json", run.accounts, false_alarm=1e-6, sheets=[mutants_of(run)]).read_text()
    )
    assert record["sheets"][0]["bad"] == [0]


def test_a_page_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    for place in (tmp_path / "page.pdf", tmp_path / "nowhere" / "page.html"):
        with pytest.raises(InvalidParameter, match="report"):
            audit_and_tell([], Extent(), report=place, console=screen())


@pytest.mark.statistical(n=1000, false_alarm=1e-9, catches="a sound instance that is complained about")
def test_both_commands_go_one_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    asked_for = ["--samples", "1000", "--processes", "1", "--false-alarm", "1e-9", "--report", str(page)]
    assert command.main([*asked_for, "randomised-response"]) == 0
    assert "<h2>Figures</h2>" in page.read_text(encoding="utf-8")
    asked: list[Any] = []
    monkeypatch.setattr(verb, "audit_and_tell", lambda *given, **named: asked.append((given, named)) or 0)
    assert verb.run("all", samples=None, as_json=False, minutes=3, report=page) == 0
    ((names, extent), named) = asked[0]
    assert (names, extent) == (["all"], Extent(minutes=3))
    assert named["report"] == page


def test_a_run_without_time_says_so_and_fails() -> None:
    console = screen()
    assert audit_and_tell(["mutants", "geometric"], replace(SMALL, minutes=0), console=console) == 1
    assert said(console).count("not tried for lack of time") >= 4
    quiet = screen()
    assert audit_and_tell(["mutants"], replace(SMALL, minutes=0), as_json=True, console=quiet) == 1
    assert json.loads(said(quiet))["complaints"] == ["not tried for lack of time: mutants 0"]


def test_complaints_are_told_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(some_run().accounts[0], complaints=("something is wrong",))
    monkeypatch.setattr("dither.audit.everything.work", lambda task: wrong)
    heard: list[str] = []
    run_all(["randomised-response"], SMALL, complain=heard.append)
    assert heard == ["something is wrong"] * 2


def test_a_task_that_raises_is_named_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = some_run().accounts[0]

    def done(task: Task) -> Account:
        if task.number == 0:
            raise InvalidParameter("sample", "shape (125, 0, 2)", "a function of outcomes")
        return replace(fine, number=task.number)

    monkeypatch.setattr("dither.audit.everything.work", done)
    console = screen()
    assert audit_and_tell(["randomised-response"], SMALL, console=console) == 1
    assert "randomised-response 0 raised InvalidParameter (test_whole.py, line" in said(console)
    run = run_all(["randomised-response"], SMALL)
    assert [one.number for one in run.accounts] == [1]
    assert len(run.raised) == len(run.complaints) == 1


def test_a_mechanism_whose_examples_raise_is_a_task_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> list[Any]:
        if name == "laplace":
            raise ZeroDivisionError("an example that cannot be made")
        return list(subjects_of(name))

    few = {name: entry for name, entry in registered().items() if name in ("laplace", "randomised-response")}
    monkeypatch.setattr("dither.audit.everything.registered", lambda: few)
    monkeypatch.setattr("dither.audit.everything.audited", broken)
    mine = [task for task in tasks_of([], SMALL) if task.name == "laplace"]
    assert [task.number for task in mine] == [0]
    found = tried(mine[0])
    assert isinstance(found, Raised)
    assert "laplace 0 raised ZeroDivisionError" in found.complaint
    with pytest.raises(ZeroDivisionError):
        tasks_of(["laplace"], SMALL)


def test_a_task_that_ends_its_process_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\n"
        "from dither.audit.subjects import subject\n"
        "from dither.privacy import PureDP\n"
        "fine = subject(lambda value: 0, PureDP(1), (0, 1))\n"
        "fatal = subject(lambda value: os._exit(9), PureDP(1), (0, 1))\n"
        "raising = subject(lambda value: 1 // 0, PureDP(1), (0, 1))\n"
    )
    names = [f"{tmp_path / 'mine.py'}:{what}" for what in ("fatal", "raising", "fine")]
    run = run_all(names, replace(SMALL, processes=2))
    assert [one.name for one in run.accounts] == names[2:]
    died, raised = sorted(run.complaints, key=len)
    assert "fatal 0 ended its process" in died + raised
    assert "raising 0 raised ZeroDivisionError (mine.py, line" in died + raised


def test_few_outputs_are_enough_for_what_is_kept_as_literature(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: entry for name, entry in registered().items() if name == "label-response"}
    assert few["label-response"].is_reference
    monkeypatch.setattr("dither.audit.everything.registered", lambda: few)
    tasks = [task for task in tasks_of([], replace(SMALL, samples=FEWEST_SAMPLES)) if task.kind == "mechanism"]
    assert {task.size for task in tasks} == {FEWEST_SAMPLES}


def test_outcomes_without_a_number_are_rows_like_others() -> None:
    """As drawn graphs without an edge are: the audits of three mechanisms raised because of them."""
    rows = Rows()
    empty = rows.of([np.zeros((0, 2), dtype=np.int64)] * 5)
    mixed = rows.of([np.zeros((0, 2), dtype=np.int64), np.array([[3, 4]]), np.array([[1, 2], [3, 4], [5, 6]])])
    assert empty.shape == (5, mixed.shape[1])
    assert mixed[:, 0].tolist() == [0, 2, 6]
    assert mixed[1, 1:3].tolist() == [3, 4]
    assert np.unique(empty, axis=0).shape[0] == 1

    def drawn(edges: int, count: int) -> Any:
        return kept.of([np.array([[0, 1]] * edges, dtype=np.int64).reshape(-1, 2)] * count)

    kept = Rows()
    assert lower_bound(drawn, 0, 1, samples=2000).epsilon_lower > 3


def test_brackets_in_a_cell_are_no_markup() -> None:
    console = screen()
    console.print(table_of(Sheet("t", ("a",), (("[red]x[/]",), ("y",)), frozenset({1}))))
    assert "[red]x[/]" in said(console)
