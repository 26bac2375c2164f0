"""Rows of numbers from engines: every row is read by itself, is as wide as any other, and nothing in it raises."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dither.data import Aggregated, Column, DataSet, Kind, Scan, Table
from dither.errors import InvalidParameter
from dither.lift.rows import Rows
from dither.privacy import ROW, ROW_REPLACED

TABLE = Table("rows", (Column("text", Kind.TEXT), Column("x", Kind.REAL), Column("y", Kind.INTEGER)), source="rows")
LABELS = (("a", "b", "c"), None)


class Rude:
    """A cell that says nothing about itself."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("what it holds")

    def __float__(self) -> float:
        raise RuntimeError("what it holds")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("what it holds")

    __hash__ = None  # type: ignore[assignment]


def source(unit: Any = ROW, **other: Any) -> Rows:
    table = DataSet("one", (TABLE,), unit)
    return Rows(table, Scan(TABLE), ("text", "x"), "y", **({"categories": LABELS} | other))


SOURCES = [
    source(as_codes=as_codes, threshold=threshold, classes=classes)
    for as_codes, threshold, classes in itertools.product((None, True), (None, 0.5), (None, (0, 1)))
]
CELLS: list[Any] = ["a", "c", "d", "", None, 1, True, 0.75, float("nan"), -(10**400), b"a", (1,), Rude()]


@pytest.mark.parametrize("rows", SOURCES)
def test_rows_are_read_one_by_one_and_come_and_go_one_for_one(rows: Rows) -> None:
    keys = list(itertools.product(CELLS, repeat=3))
    counts = [(number % 3,) for number in range(len(keys))]
    alone = [rows.filled(Aggregated((key,), (count,))) for key, count in zip(keys, counts, strict=True)]
    assert {one.shape for one in alone} == {(count, rows.width + 1) for count in range(3)}
    np.testing.assert_array_equal(rows.filled(Aggregated(tuple(keys), tuple(counts))), np.concatenate(alone))
    assert rows.filled(Aggregated((), ())).shape == (0, rows.width + 1)


def test_a_cell_of_a_category_is_one_column_for_each_label_or_one_code() -> None:
    answer = Aggregated((("b", 0.25, 7), ("d", "3", None), (None, True, 1)), ((1,), (1,), (1,)))
    nan = float("nan")
    expected = [[0, 1, 0, 0.25, 7], [0, 0, 0, nan, nan], [0, 0, 0, 1, 1]]
    np.testing.assert_array_equal(source().filled(answer), expected)
    expected = [[1, 0.25, -1], [3, nan, -1], [3, 1, 1]]
    np.testing.assert_array_equal(source(as_codes=True, classes=(0, 1)).filled(answer), expected)


def test_what_is_not_a_row_of_this_width_is_not_there() -> None:
    odd: Any = Aggregated((("a", 1.0), ("a", 1.0, 2), None, ("a", 1.0, 2)), ((1,), (-5,), (1,), ("many",)))
    assert source().filled(odd).shape == (0, 5)


def test_a_replaced_row_is_one_that_goes_and_one_that_comes() -> None:
    assert source().moves() == {ROW: 1}
    assert source(ROW_REPLACED).moves() == {ROW: 2, ROW_REPLACED: 1}


@pytest.mark.parametrize("wrong", [(("a",),), ((), None), ((float("nan"),), None), (None, None), None], ids=str)
def test_columns_of_texts_need_labels(wrong: Any) -> None:
    with pytest.raises(InvalidParameter):
        source(categories=wrong)
