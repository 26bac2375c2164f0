"""Conditions on cells: the same as on rows, value by value, or refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Filter, Kind, Table
from dither.data.evaluation import evaluate
from dither.errors import DitherError
from dither.privacy import ROW, PureDP
from dither.publish.interactive.planning import plan_conversation
from dither.verbs.answers import read_query

COLUMNS = (
    Column("site", Kind.TEXT, categories=("north", "south")),
    Column("age", Kind.INTEGER, lower=0, upper=11),
    Column("weight", Kind.INTEGER, lower=0, upper=999),
    Column("smokes", Kind.BOOLEAN, nullable=True),
    Column("height", Kind.REAL, lower=0, upper=4),
)
COUNT = "SELECT COUNT(*) FROM people WHERE "
PEOPLE = DataSet("people", (Table("people", COLUMNS, "people.csv"),), ROW)
NAMES = ("site", "age", "weight", "smokes")
PLAN = plan_conversation(PEOPLE, "people", NAMES, PureDP(1), bins={"weight": 4})
CONDITIONS = (
    "site = 'north'",
    "age > 5 AND NOT smokes",
    "age % 3 = 0 OR smokes IS NULL",
    "weight < 250 OR weight >= 750",
    "weight BETWEEN 250 AND 499",
    "500 <= weight",
    "weight <= 249 AND site <> 'south'",
    "NOT (weight > 749 OR smokes)",
    "age IN (1, 2, 3) AND (smokes OR site = 'south')",
    "weight + age >= 0",
    "age * 2 > 7 AND weight * 2 >= 1500",
    "CASE WHEN smokes THEN age > 3 ELSE age < 3 END",
)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_holds_for_a_cell_as_for_each_of_its_rows(condition: str) -> None:
    query = read_query(PEOPLE, COUNT + condition)
    cells = PLAN.questions.cells(query)
    relation: Any = query.relation
    assert isinstance(relation, Filter)
    kinds = dict(relation.columns)
    edges = [0, 250, 500, 750, 999]
    values = [("north", "south"), range(12), range(0, 1000, 83), (False, True, None)]
    order: dict[str, list[Any]] = {coding.column: list(coding.labels or ()) for coding in PLAN.codings}
    for site, age, weight, smokes in itertools.product(*values):
        row: dict[str, Any] = {"site": site, "age": age, "weight": weight, "smokes": smokes, "height": None}
        place = int(np.searchsorted(edges, weight, side="right")) - 1
        cell = (order["site"].index(site), order["age"].index(age), min(place, 3), order["smokes"].index(smokes))
        assert bool(cells[cell]) is (evaluate(relation.condition, row, kinds) is True)


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ("weight < 300", "weight begin at"),
        ("weight = 250", "divides a cell"),
        ("weight % 2 = 0", "divides a cell"),
        ("height < 2", "columns of this conversation"),
    ],
)
def test_what_divides_a_cell_or_leaves_the_columns_is_refused(condition: str, rule: str) -> None:
    query = read_query(PEOPLE, COUNT + condition)
    with pytest.raises(DitherError, match=rule):
        PLAN.questions.cells(query)


def test_reals_are_compared_with_the_ends_of_their_ranges() -> None:
    plan = plan_conversation(PEOPLE, "people", ["height"], PureDP(1), bins={"height": 4})

    def asked(condition: str) -> list[bool]:
        query = read_query(PEOPLE, COUNT + condition)
        return [bool(one) for one in plan.questions.cells(query)]

    assert asked("height < 2") == [True, True, False, False]
    assert asked("height >= 3 OR height < 1") == [True, False, False, True]
    for condition in ("height <= 2", "height < 2.5", "height = 2", "height * 2 < 4"):
        with pytest.raises(DitherError, match="divides a cell"):
            asked(condition)


MAYBE = DataSet(
    "maybe",
    (
        Table(
            "people",
            (
                Column("weight", Kind.INTEGER, lower=0, upper=999, nullable=True),
                Column("height", Kind.REAL, lower=0, upper=4, nullable=True),
            ),
            "people.csv",
        ),
    ),
    ROW,
)


@pytest.mark.parametrize(
    "condition",
    [
        "weight < 500 AND height >= 2",
        "NOT (weight < 500)",
        "weight < 500 OR height < 2",
        "weight IS NULL",
        "weight IS NULL OR weight >= 500",
        "COALESCE(weight, 0) < 500",
        "CASE WHEN weight >= 500 THEN FALSE ELSE TRUE END",
    ],
)
def test_null_is_a_cell_of_a_column_of_ranges(condition: str) -> None:
    """A comparison with NULL is neither true nor false. Would catch: people without a weight among the light ones."""
    plan = plan_conversation(MAYBE, "people", ["weight", "height"], PureDP(1), bins={"weight": 2, "height": 2})
    query = read_query(MAYBE, COUNT + condition)
    cells = plan.questions.cells(query)
    assert cells.shape == (3, 3)
    relation: Any = query.relation
    for (one, weight), (other, height) in itertools.product(
        [(0, 0), (0, 499), (1, 500), (1, 999), (2, None)], [(0, 0.0), (0, 1.5), (1, 2.0), (1, 4.0), (2, None)]
    ):
        row = {"weight": weight, "height": height}
        assert bool(cells[one, other]) is (evaluate(relation.condition, row, relation.columns) is True)
