"""Columns of answers: whatever form a column has, each cell means what it means alone."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dither.data.cell_values import NO_CLASS, codes_of, number_of
from dither.data.column_values import code_column, counted_columns, integer_column, number_column, place_column
from dither.data.columns import ColumnRows
from dither.data.expressions import Kind
from dither.data.relations import Aggregated
from dither.data.returned import canonical, first_number

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2, 2**53, 2**53 + 1, -(2**63), 2**63 - 1])
REALS = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 2.0, 0.5, 2.0**53, 2.0**63, -(2.0**63)])
TEXTS = st.sampled_from(["", "a", "b", "1", "1.0", "x\x00", "é"])
ODD = st.sampled_from(
    [None, (), [1], {}, Decimal(1), b"a", 1j, datetime.date(2020, 1, 1), 2**70, object(), np.int64(1)]
)
LABELS = st.lists(NUMBERS | REALS.filter(math.isfinite) | TEXTS | st.booleans(), max_size=6)


class Never(int):
    """An integer whose methods are not to be called."""

    def __float__(self) -> float:
        raise AssertionError


@st.composite
def columns(draw: st.DrawFn) -> tuple[Any, int, list[Any]]:
    """Return a column, its length, and its cells one by one."""
    cells = draw(st.sampled_from([NUMBERS, REALS, TEXTS, st.booleans(), ODD | NUMBERS | TEXTS | REALS]))
    listed = draw(st.lists(cells, max_size=12))
    form = draw(st.sampled_from(["list", "array", "masked", "none"]))
    kinds = {int: np.int64, float: np.float64, bool: np.bool_}
    types = set(map(type, listed))
    if form == "none":
        return None, len(listed), [None] * len(listed)
    if form == "list" or len(types) != 1 or (kind := kinds.get(next(iter(types)))) is None:
        return listed, len(listed), listed
    array = np.array(listed, dtype=kind)
    if form == "array":
        return array, len(listed), listed
    mask = draw(st.lists(st.booleans(), min_size=len(listed), max_size=len(listed)))
    known = [None if hidden else cell for hidden, cell in zip(mask, listed, strict=True)]
    return np.ma.array(array, mask=mask), len(listed), known


@given(columns())
@example(([Never(3), "3", True, None], 4, [Never(3), "3", True, None]))
def test_a_number_is_that_of_its_cell(column: tuple[Any, int, list[Any]]) -> None:
    cells, length, listed = column
    expected = [math.nan if isinstance(cell, str) else number_of(cell) for cell in listed]
    np.testing.assert_array_equal(number_column(cells, length), np.array(expected, dtype=np.float64))


@given(columns(), LABELS)
@example((np.array([2.0**53]), 1, [2.0**53]), [2**53 + 1])
@example((np.array([2**53 + 1]), 1, [2**53 + 1]), [2.0**53])
@example((np.array([1, 0]), 2, [1, 0]), [True, 1.0])
def test_a_code_is_that_of_its_cell(column: tuple[Any, int, list[Any]], labels: list[Any]) -> None:
    cells, length, listed = column
    code = codes_of(labels)
    assert code_column(cells, length, labels).tolist() == [code(cell) for cell in listed]


@given(columns(), LABELS, st.sampled_from(list(Kind)), st.booleans())
@example((["a", None], 2, ["a", None]), [], Kind.TEXT, True)
@example((np.array([2.0**53]), 1, [2.0**53]), [2**53 + 1], Kind.REAL, False)
@example(([1, True], 2, [1, True]), [1], Kind.INTEGER, False)
def test_a_place_is_that_of_the_canonical_cell(
    column: tuple[Any, int, list[Any]], labels: list[Any], kind: Kind, has_null: bool
) -> None:
    cells, length, listed = column
    known = [label for label in labels if canonical((label,), (kind,)) is not None] + [None] * has_null
    places = {canonical((label,), (kind,)): place for place, label in enumerate(known)}
    expected = [
        NO_CLASS if (found := canonical((cell,), (kind,))) is None else places.get(found, NO_CLASS) for cell in listed
    ]
    assert place_column(cells, length, known, kind).tolist() == expected


@given(columns(), st.integers(1, 2**62))
def test_an_integer_below_a_size_is_itself(column: tuple[Any, int, list[Any]], size: int) -> None:
    cells, length, listed = column
    expected = [cell if type(cell) is int and 0 <= cell < size else NO_CLASS for cell in listed]
    assert integer_column(cells, length, size).tolist() == expected


@pytest.mark.parametrize("as_columns", [True, False])
def test_rows_of_another_width_are_dropped(as_columns: bool) -> None:
    keys: list[Any] = [(1, "a"), (2, "b")]
    measures: list[Any] = [(3,), (-1,)]
    answer = Aggregated(tuple(keys), tuple(measures))
    if as_columns:
        answer = Aggregated(ColumnRows([np.array([1, 2]), ["a", "b"]], 2), ColumnRows([np.array([3, -1])], 2))
    found, counts = counted_columns(answer, 2)
    assert [list(column if column is not None else ()) for column in found] == [[1, 2], ["a", "b"]]
    assert counts.tolist() == [3, 0]
    assert counted_columns(answer, 3)[1].tolist() == []


@given(st.lists(st.tuples(ODD | st.tuples(NUMBERS, NUMBERS), ODD | st.tuples(NUMBERS))))
def test_no_answer_raises(rows: list[tuple[Any, Any]]) -> None:
    answer = Aggregated([key for key, _ in rows], [numbers for _, numbers in rows])
    columns, counts = counted_columns(answer, 2)
    fit = [(key, max(first_number(many), 0)) for key, many in rows if isinstance(key, tuple | list) and len(key) == 2]
    assert counts.tolist() == [many for _, many in fit]
    assert [list(one if one is not None else ()) for one in columns] == [
        [key[0] for key, _ in fit],
        [key[1] for key, _ in fit],
    ]
