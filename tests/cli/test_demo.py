"""The demonstration convinces a sceptic: its intervals hold what they are said to hold, and its limits drop little."""

from __future__ import annotations

import csv
import math
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scipy.stats import binom

from dither.cli.demo import ask, clinic, stream, tour
from dither.cli.demo.anew import remove_earlier
from dither.curator.folder import Curator
from dither.curator.ledger.memory import MemoryLedger
from dither.curator.session import Session
from dither.data.engines.duckdb import DuckDBEngine
from dither.errors import InvalidParameter
from dither.privacy import ApproxDP
from dither.publish.queries import QueryResult

ROOT = Path(__file__).parents[2]
#: How often each question is asked: those with many numbers most often.
ASKED = (390, 20, 40, 60, 40)
LEAST_SHARE = 0.93


class Clinic(NamedTuple):
    """The table of the demonstration, its truths, and a session that may ask very often."""

    folder: Path
    rows: list[tuple[Any, ...]]
    within_limits: list[list[dict[str, Any]]]
    of_all_rows: list[list[dict[str, Any]]]
    session: Session


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    folder = tmp_path_factory.mktemp("clinic")
    rows = clinic.write(folder)
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "clinic.yaml", budget=ApproxDP(10_000, "1e-1"))
    with curator, curator.session("clinic") as session:
        yield Clinic(folder, rows, tour.left_by_limits(folder), tour.without_limits(folder), session)


@pytest.mark.statistical(
    n=4_900, false_alarm=1e-9, catches="intervals that hold the truth they are about in 90 % of cases or fewer"
)
def test_intervals_hold_what_they_are_said_to_hold(shown: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 93 % of them. Rows are read once; all noise is drawn afresh."""
    answers = _answers(shown, monkeypatch)
    trials = [trial for place, found in answers for trial in _trials(found, shown.within_limits[place], 1.0)]
    least = math.ceil(LEAST_SHARE * len(trials))
    # Each interval holds its truth with probability 0.95 at least, and each has noise of its own.
    assert binom.cdf(least - 1, len(trials), 0.95) <= 1e-9
    assert binom.sf(least - 1, len(trials), 0.90) <= 1e-9
    assert sum(trials) >= least
    # The twin: intervals half as long are noticed.
    halves = [trial for place, found in answers for trial in _trials(found, shown.within_limits[place], 0.5)]
    assert sum(halves) < least


def _answers(shown: Clinic, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, QueryResult]]:
    known: dict[Any, Any] = {}
    read = DuckDBEngine.aggregate

    def remembered(engine: Any, aggregation: Any) -> Any:
        found = known.get(aggregation)
        if found is None:
            found = known[aggregation] = read(engine, aggregation)
        return found

    monkeypatch.setattr(DuckDBEngine, "aggregate", remembered)
    ledger = MemoryLedger()
    ledger.register("clinic", budget=ApproxDP(10_000, "1e-1"), unit=str(shown.session.dataset.unit))
    monkeypatch.setattr(Curator, "ledger", ledger)
    found = []
    for place, (question, times) in enumerate(zip(tour.QUESTIONS, ASKED, strict=True)):
        offer = shown.session.offer.sql(question.sql, epsilon=question.epsilon, delta=question.delta)
        found += [(place, shown.session.release(offer)) for _ in range(times)]
    return found


def _trials(result: QueryResult, truth: list[dict[str, Any]], share: float) -> list[bool]:
    """Return what must be true 95 times of 100: of each interval by itself, or of all that are meant at once."""
    true = tour.beside(result, truth)
    held = [
        low - 1e-6 <= row.get(name, float("inf")) <= high + 1e-6
        for name in result.names
        if result.has_interval(result.columns[result.names.index(name)])
        for row, (low, high) in zip(true, _shrunk(result, name, share), strict=True)
    ]
    return [all(held)] if result.is_simultaneous else held


def _shrunk(result: QueryResult, name: str, share: float) -> list[tuple[float, float]]:
    ends = zip(result.column(name), result.interval(name), strict=True)
    return [(value - share * (value - low), value + share * (high - value)) for value, (low, high) in ends]


def test_the_limits_drop_little(shown: Clinic) -> None:
    """What is left out bends no number by more than a fifth of what the noise may move it."""
    many = Counter(row[0] for row in shown.rows)
    dropped = sum(max(0, found - clinic.MOST_ROWS) for found in many.values())
    assert 0 < dropped < 0.002 * len(shown.rows)
    assert f"omits {dropped} of {len(shown.rows):,}" in clinic.bias(shown.rows)
    for place, question in enumerate(tour.QUESTIONS):
        result = shown.session.sql(question.sql, epsilon=question.epsilon, delta=question.delta)
        within, whole = (tour.beside(result, rows[place]) for rows in (shown.within_limits, shown.of_all_rows))
        for column in result.columns:
            if result.has_interval(column):
                for near, far, (low, high) in zip(within, whole, result.interval(column.name), strict=True):
                    assert abs(near[column.name] - far[column.name]) <= 0.2 * (high - low) / 2, (question.sql, near)


def test_the_truth_within_limits_is_that_of_the_rows_that_are_left(shown: Clinic) -> None:
    """Counted from the file: in all, as many visits as each patient has, up to six."""
    with (shown.folder / "visits.csv").open(encoding="utf-8") as stream:
        many = Counter(row["patient"] for row in csv.DictReader(stream))
    counted = sum(row["visits"] for row in shown.within_limits[0])
    assert counted == sum(min(found, clinic.MOST_ROWS) for found in many.values())
    assert shown.within_limits[1][0]["patients"] == len(many)


def test_the_next_step_works_when_it_is_pasted(tmp_path: Path) -> None:
    """By the path of a program that the shell does not find by its name, in a folder with a blank in its name."""
    place = tmp_path / "my work"
    (place / "bin").mkdir(parents=True)
    program = place / "bin" / "dither"
    program.write_text(f"#!{sys.executable}\nfrom dither.cli import main\nmain()\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}

    def said(command: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed = said("bin/dither demo --out demo/report.html")
    line = next(line for line in printed.splitlines() if line.lstrip().startswith("bin/dither sql"))
    assert shlex.split(line)[0] == "bin/dither"
    assert "north" in said(line)


@pytest.mark.parametrize(("take", "schema"), [(ask.take, "clinic.yaml"), (stream.take, "arrivals.yaml")])
def test_a_demonstration_removes_nothing_but_an_earlier_one(take: Any, schema: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(InvalidParameter, match="an earlier demonstration"):
        take(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").exists()
    remove_earlier(tmp_path / "new", schema)
    (tmp_path / "mine" / schema).touch()
    remove_earlier(tmp_path / "mine", schema)
    assert not (tmp_path / "mine").exists()


def test_a_hundred_questions_have_one_price_and_are_asked_twice(tmp_path: Path) -> None:
    """The second demonstration takes the place of the first one, its ledger with it."""
    ask.take(tmp_path / "asked")
    done = ask.take(tmp_path / "asked")
    assert len(done.answers) == len(set(ask.questions())) == 100
    assert done.same
    assert "epsilon = 1 of epsilon = 2 spent in 1 release" in done.spent
    rows = clinic.visits(9_000)
    words, name, ward, age = ask.questions()[7]
    assert (done.answers[7].question, name) == (words, "ward")
    assert done.truth[7] == len([one for one in rows if one[3] == ward and one[1] < age])
