"""The tour: a curator's folder is made, a data set added, queries are priced and asked, and the ledger is read.

Everything is done through the same functions as the commands that are shown; the data is generated.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.cli.demo import clinic
from dither.curator.folder import Curator
from dither.curator.ledger import Balance, Verification
from dither.errors import InvalidParameter
from dither.privacy import ApproxDP
from dither.publish.queries import QueryResult, Quote

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BUDGET = ApproxDP(2, "1e-5")


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
        "What do people come with? (groups nobody declared: discovered above a noisy threshold)",
        "SELECT complaint, COUNT(*) AS visits FROM visits GROUP BY complaint ORDER BY visits DESC LIMIT 5",
        "0.4",
        "1e-6",
    ),
)


@dataclass(frozen=True)
class Step:
    """A question, its private answer, and the truth, which only a generated table may show."""

    question: Question
    result: QueryResult
    truth: list[dict[str, Any]]


@dataclass(frozen=True)
class Tour:
    """All that the demonstration shows."""

    folder: Path
    visits: int
    quote: Quote
    steps: tuple[Step, ...]
    balance: Balance
    verification: Verification


def take(folder: Path) -> Tour:
    """Go through everything in ``folder``, which is made afresh."""
    if folder.exists():
        if not (folder / "clinic.yaml").is_file():
            raise InvalidParameter("folder", str(folder), "new, or the one of an earlier demonstration")
        shutil.rmtree(folder)
    visits = clinic.write(folder)
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "clinic.yaml", budget=BUDGET)
    session = curator.session("clinic")
    try:
        quoted = session.quote(QUESTIONS[0].sql, epsilon=QUESTIONS[0].epsilon)
        steps = []
        truths = _truths(folder, [question.sql for question in QUESTIONS])
        for question, truth in zip(QUESTIONS, truths, strict=True):
            result = session.sql(question.sql, epsilon=question.epsilon, delta=question.delta)
            steps.append(Step(question, result, truth))
        return Tour(folder, visits, quoted, tuple(steps), session.balance(), curator.ledger.verify())
    finally:
        session.close()
        curator.close()


def _truths(folder: Path, texts: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return what the same texts give without privacy."""
    import duckdb

    with duckdb.connect() as connection:
        for name in ("visits", "regions"):
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{folder / name}.csv')")  # noqa: S608
        return [_rows(connection.execute(text)) for text in texts]


def _rows(found: DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
