"""Random statements of the language ask every engine for the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from dither.data import Aggregation
from dither.errors import InvalidParameter
from tools.grammar.compare import measured
from tools.grammar.statements import statements
from tools.grammar.world import dataset, tables


def asked(seed: int, many: int) -> Iterator[tuple[str, Aggregation]]:
    """Return what random statements ask an engine for."""
    for statement in statements(seed, many):
        for one in measured(statement.text):
            yield statement.text, one


def compare(first: Any, second: Any, seed: int, many: int) -> int:
    """Hold one engine to another, and return how many questions both answered."""
    compared = 0
    for text, one in asked(seed, many):
        try:
            ours, theirs = first.aggregate(one), second.aggregate(one)
        except InvalidParameter:  # too long a text for an engine
            continue
        compared += 1
        assert Counter(zip(ours.keys, ours.measures, strict=True)) == Counter(
            zip(theirs.keys, theirs.measures, strict=True)
        ), text
    return compared


def held(factories: Any, engine: str, seed: int, many: int) -> int:
    """Open both engines over the same rows, and compare them."""
    with ExitStack() as opened:
        names = ("duckdb", engine)
        first, second = (opened.enter_context(factories[name](dataset(), tables(), portable=True)) for name in names)
        return compare(first, second, seed, many)


def test_postgresql_measures_what_duckdb_does(factories: Any) -> None:
    assert held(factories, "postgresql", 17, 12) > 6


@pytest.mark.slow
def test_spark_measures_what_duckdb_does(factories: Any) -> None:
    assert held(factories, "spark", 18, 5) > 2
