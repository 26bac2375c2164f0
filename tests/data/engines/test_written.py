# ruff: noqa: S608 - statements are made up here
"""Random statements of the language ask every engine for the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from dither.data import Aggregation
from dither.errors import InvalidParameter
from tools.grammar.compare import measured
from tools.grammar.statements import statements
from tools.grammar.world import dataset, tables

#: Forms that random statements seldom have.
FORMS = (
    "SELECT COUNT(*) FROM (SELECT id, region FROM visits EXCEPT ALL SELECT id, region FROM visits WHERE age > 40) t",
    "SELECT smoker, COUNT(*) FROM (SELECT id, smoker, cost FROM visits INTERSECT ALL SELECT id, smoker, cost "
    "FROM visits WHERE age > 20) t GROUP BY smoker",
    "SELECT d, COUNT(*) FROM (SELECT id, COUNT(DISTINCT region) FILTER (WHERE age > 10) AS d, SUM(age) AS s "
    "FROM visits GROUP BY id) t WHERE s > 10 GROUP BY d",
    "SELECT x, COUNT(*), SUM(age) FROM visits, UNNEST([1, 2, NULL]) AS u(x) GROUP BY x",
    "SELECT part, COUNT(*) FROM visits, UNNEST(STRING_SPLIT(note, 'a')[1:3]) AS u(part) GROUP BY part",
    *(
        f"SELECT COUNT(*), COUNT(x) FROM (SELECT id, {function} OVER (PARTITION BY id ORDER BY day, vid ROWS BETWEEN "
        f"{frame}) AS x FROM visits) t WHERE x IS NULL OR x > 9"
        for function, frame in (
            ("SUM(cost)", "2 PRECEDING AND CURRENT ROW"),
            ("AVG(age)", "1 PRECEDING AND 1 FOLLOWING"),
            ("MAX(change)", "1 FOLLOWING AND UNBOUNDED FOLLOWING"),
            ("COUNT(cost)", "UNBOUNDED PRECEDING AND 1 PRECEDING"),
            ("FIRST_VALUE(age)", "3 PRECEDING AND 2 PRECEDING"),
            ("LAST_VALUE(cost)", "CURRENT ROW AND 2 FOLLOWING"),
        )
    ),
)


def asked(texts: Iterable[str]) -> Iterator[tuple[str, Aggregation]]:
    """Return what statements ask an engine for."""
    for text in texts:
        for one in measured(text):
            yield text, one


def compare(first: Any, second: Any, texts: Iterable[str]) -> int:
    """Hold one engine to another, and return how many questions both answered."""
    compared = 0
    for text, one in asked(texts):
        try:
            ours, theirs = first.aggregate(one), second.aggregate(one)
        except InvalidParameter:  # too long a text for an engine
            continue
        compared += 1
        assert Counter(zip(ours.keys, ours.measures, strict=True)) == Counter(
            zip(theirs.keys, theirs.measures, strict=True)
        ), text
    return compared


def held(factories: Any, engine: str, texts: Iterable[str]) -> int:
    """Open both engines over the same rows, and compare them."""
    with ExitStack() as opened:
        names = ("duckdb", engine)
        first, second = (opened.enter_context(factories[name](dataset(), tables(), portable=True)) for name in names)
        return compare(first, second, texts)


def random_texts(seed: int, many: int) -> list[str]:
    """Return random statements."""
    return [statement.text for statement in statements(seed, many)]


def test_postgresql_measures_what_duckdb_does(factories: Any) -> None:
    assert held(factories, "postgresql", [*random_texts(17, 12), *FORMS]) > 6 + len(FORMS)


@pytest.mark.slow
def test_spark_measures_what_duckdb_does(factories: Any) -> None:
    assert held(factories, "spark", [*random_texts(18, 5), *FORMS[::3]]) > 2 + len(FORMS[::3])
