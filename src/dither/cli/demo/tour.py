"""The tour: a curator's folder is made, a data set added, queries are priced and asked, and the ledger is read.

Everything is done through the same functions as the commands that are shown. The data is generated, so that two
truths may be shown beside each answer: that of the rows that the limits leave, which intervals are about, and that of
all rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.cli.demo import clinic
from dither.cli.demo.anew import remove_earlier
from dither.curator.folder import Curator
from dither.curator.ledger import Balance, Verification
from dither.privacy import ApproxDP
from dither.publish.queries import QueryResult, Quote

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BUDGET = ApproxDP(2, "1e-5")
#: A loss that protects nobody, and with which noise is next to nothing: for rows of people who do not exist.
_NO_PROTECTION = ApproxDP(100_000, "1e-3")
_ROOM_FOR_THAT = ApproxDP(1_000_000, "1e-1")


@dataclass(frozen=True)
class Question:
    """A question in words, in SQL, and what it may cost."""

    words: str
    sql: str
    epsilon: str
    delta: str | None = None

    @property
    def command(self) -> str:
        """What a person would type."""
        delta = "" if self.delta is None else f" --delta {self.delta}"
        return f'dither sql clinic "{self.sql}" --epsilon {self.epsilon}{delta}'

    @property
    def about_all_groups(self) -> str:
        """The same query about every group: which groups are the first is decided by noise."""
        return self.sql.split(" ORDER BY ", 1)[0]


QUESTIONS = (
    Question(
        "How many visits does each ward have, and how long do people wait there?",
        "SELECT ward, COUNT(*) AS visits, AVG(waited) AS waited FROM visits GROUP BY ward",
        "0.8",
    ),
    Question(
        "How many patients are there, and how long is the typical wait?",
        "SELECT COUNT(DISTINCT patient) AS patients, MEDIAN(waited) AS typical_wait FROM visits",
        "0.3",
    ),
    Question(
        "How often does a patient come? (per-person totals first)",
        "SELECT AVG(LEAST(n, 10)) AS visits_each FROM "
        "(SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS p",
        "0.2",
    ),
    Question(
        "How many patients live in large regions? (a join to a public table)",
        "SELECT CASE WHEN r.population > 300000 THEN 'large' ELSE 'small' END AS region_size, "
        "COUNT(DISTINCT v.patient) AS patients FROM visits v JOIN regions r ON v.region = r.region GROUP BY 1",
        "0.2",
    ),
    Question(
        "What do people come with? (undeclared groups: discovered above a noisy threshold)",
        "SELECT complaint, COUNT(*) AS visits FROM visits GROUP BY complaint ORDER BY visits DESC LIMIT 5",
        "0.4",
        "1e-6",
    ),
)


@dataclass(frozen=True)
class Held:
    """How many intervals there are, and how many of them hold which truth."""

    intervals: int
    within_limits: int
    of_all_rows: int

    def __str__(self) -> str:
        many = f"{self.within_limits} of {self.intervals} intervals hold the truth within limits"
        return f"{many}, {self.of_all_rows} of {self.intervals} that of all rows"


@dataclass(frozen=True)
class Step:
    """A question, its private answer, and two truths, which only a generated table may show.

    Args:
        question: what was asked.
        result: the private answer.
        within_limits: a row for each released one, of the rows that the limits leave: what intervals are about.
        of_all_rows: likewise, of all rows.

    """

    question: Question
    result: QueryResult
    within_limits: list[dict[str, Any]]
    of_all_rows: list[dict[str, Any]]

    @property
    def held(self) -> Held:
        """How many intervals hold the truth."""
        names = [column.name for column in self.result.columns if self.result.has_interval(column)]
        truths = (self.within_limits, self.of_all_rows)
        within, whole = (sum(sum(holds(self.result, name, truth)) for name in names) for truth in truths)
        return Held(len(names) * len(self.result.rows), within, whole)


@dataclass(frozen=True)
class Tour:
    """All that the demonstration shows."""

    folder: Path
    visits: int
    bias: str
    quote: Quote
    steps: tuple[Step, ...]
    balance: Balance
    verification: Verification

    @property
    def held(self) -> Held:
        """How many intervals of all answers hold the truth."""
        found = [step.held for step in self.steps]
        return Held(
            sum(one.intervals for one in found),
            sum(one.within_limits for one in found),
            sum(one.of_all_rows for one in found),
        )


def holds(result: QueryResult, name: str, truth: Sequence[dict[str, Any]]) -> list[bool]:
    """Return for each released row whether its interval holds a true value; a group that is not there holds none."""
    ends = result.interval(name)
    return [
        name in row and low is not None and high is not None and low <= row[name] <= high
        for (low, high), row in zip(ends, truth, strict=True)
    ]


def take(folder: Path) -> Tour:
    """Go through everything in ``folder``, which is made afresh."""
    remove_earlier(folder, "clinic.yaml")
    rows = clinic.write(folder)
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "clinic.yaml", budget=BUDGET)
    session = curator.session("clinic")
    try:
        quoted = session.quote(QUESTIONS[0].sql, epsilon=QUESTIONS[0].epsilon)
        within_limits, of_all_rows = left_by_limits(folder), without_limits(folder)
        steps = []
        for place, question in enumerate(QUESTIONS):
            result = session.sql(question.sql, epsilon=question.epsilon, delta=question.delta)
            truths = (beside(result, rows[place]) for rows in (within_limits, of_all_rows))
            steps.append(Step(question, result, *truths))
        bias = clinic.bias(rows)
        return Tour(folder, len(rows), bias, quoted, tuple(steps), session.balance(), curator.ledger.verify())
    finally:
        session.close()
        curator.close()


def left_by_limits(folder: Path) -> list[list[dict[str, Any]]]:
    """Return what the queries give of the rows that the limits leave, next to without noise."""
    place = folder / "truth"
    with Curator.create(place, anchors=place / "anchors") as curator:
        curator.add(folder / "clinic.yaml", budget=_ROOM_FOR_THAT)
        with curator.session("clinic") as session:
            found = [session.sql(question.about_all_groups, loss=_NO_PROTECTION) for question in QUESTIONS]
    # Nobody is to take these books for those of the demonstration.
    shutil.rmtree(place)
    return [result.to_rows(intervals=False) for result in found]


def without_limits(folder: Path) -> list[list[dict[str, Any]]]:
    """Return what the same texts give without privacy."""
    import duckdb

    with duckdb.connect() as connection:
        for name in ("visits", "regions"):
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{folder / name}.csv')")  # noqa: S608
        return [_rows(connection.execute(question.about_all_groups)) for question in QUESTIONS]


def beside(result: QueryResult, truth: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the true row of every row that was released; an empty one where the truth has no such group."""
    keys = [column.name for column in result.columns if column.is_key]
    known = {tuple(row[key] for key in keys): row for row in truth}
    return [known.get(tuple(row[result.names.index(key)] for key in keys), {}) for row in result.rows]


def _rows(found: DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
