"""Rows kept as columns are the rows, and an engine's arrays are its rows."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import Aggregation, Column, CountOf, CountRows, DataSet, Grid, Kind, Name, Scan, Sum, Table
from dither.data.columns import ColumnRows, KeyColumns, as_columns, same_rows, same_values
from dither.data.engines.columnar import _joined
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.emitter import LIMB_BITS
from dither.data.returned import saturated, saturated_column
from dither.privacy import ROW

CELLS = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False)


@given(st.integers(0, 4).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=6)))
def test_columns_are_the_rows(rows: list[tuple[Any, ...]]) -> None:
    whole = tuple(rows)
    kept = as_columns(whole) if rows else ColumnRows([], 0)
    assert kept == whole
    assert whole == kept
    assert list(kept) == rows
    assert [kept[place] for place in range(len(kept))] == rows
    assert kept[1:] == whole[1:]
    assert kept.taken(range(len(rows))[::-1]) == whole[::-1]
    assert kept.taken(None) is kept
    assert hash(kept) == hash(whole)
    assert repr(kept) == repr(whole)
    assert copy.deepcopy(kept) == whole
    assert same_rows(kept, as_columns(whole) if rows else kept)


def test_arrays_give_python_values_and_null() -> None:
    some = np.ma.MaskedArray(np.array([1, 2, 3]), mask=[False, True, False])
    kept = ColumnRows([some, np.array([True, False, True]), np.array([0.5, 1, 2]), None, np.array(["a", "b", "c"])], 3)
    assert kept == ((1, True, 0.5, None, "a"), (None, False, 1.0, None, "b"), (3, True, 2.0, None, "c"))
    assert [type(cell) for cell in kept[0]] == [int, bool, float, type(None), str]
    assert kept[-1] == kept[2]
    with pytest.raises(IndexError):
        kept[3]
    with pytest.raises(IndexError):
        kept[-4]


def test_columns_differ_where_a_cell_does() -> None:
    assert same_values(np.array([1, 2]), [1, 2])
    assert same_values(None, None)
    assert not same_values(None, [None])
    assert not same_values(np.array([1, 2]), np.array([1, 3]))
    assert not same_rows(ColumnRows([[1]], 1), ColumnRows([[1], [2]], 1))
    assert not same_rows(ColumnRows([[1]], 1), ((1,), (1,)))
    assert ColumnRows([[1]], 1) != [(1,)]


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(-(2**62), 2**62)), min_size=1, max_size=4))
def test_limbs_are_joined_without_overflow(pairs: list[tuple[int, int]]) -> None:
    limbs = [np.array([pair[place] for pair in pairs], dtype=np.int64) for place in range(2)]
    joined: Any = _joined(limbs)
    assert list(joined) == [low + (high << LIMB_BITS) for low, high in pairs]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none() | st.text(max_size=1), max_size=5))
def test_a_column_is_saturated_as_its_numbers_are(cells: list[Any]) -> None:
    assert saturated_column(cells, len(cells)).tolist() == [saturated(cell) for cell in cells]
    integers = [cell for cell in cells if type(cell) is int]
    array = np.array(integers, dtype=np.int64)
    assert saturated_column(array, len(integers)).tolist() == [saturated(cell) for cell in integers]
    assert saturated_column(None, 2).tolist() == [0, 0]


def test_the_arrays_of_an_engine_are_its_rows(tmp_path: Path) -> None:
    """Every kind of key, NULL, -0.0, infinities, and sums of one limb, of two limbs and of nothing."""
    duckdb = pytest.importorskip("duckdb")
    columns = (
        Column("truth", Kind.BOOLEAN, nullable=True),
        Column("number", Kind.INTEGER, nullable=True),
        Column("real", Kind.REAL, nullable=True),
        Column("text", Kind.TEXT, nullable=True),
        Column("large", Kind.INTEGER, -(2**62), 2**62, nullable=True),
    )
    file = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM (VALUES (true, 1, -0.0::DOUBLE, 'a', {2**62}), (true, 1, 0.0, 'a', {2**62}), "  # noqa: S608
            f"(NULL, NULL, NULL, NULL, NULL), (false, {2**63 - 1}, 'inf', 'b' || chr(0), {-(2**62)}), "
            f"(false, {-(2**63)}, 1.5, '', 3)) AS t(truth, number, real, text, large)) TO '{file}' (FORMAT parquet)"
        )
    dataset = DataSet("odd", (Table("rows", columns, str(file)),), ROW)
    large = Grid(Name("large"), float(-(2**62)), float(2**62), 0.0, 0)
    for names in (["truth"], ["number"], ["real"], ["text"], ["truth", "number", "real", "text"]):
        asked = Aggregation(
            Scan(dataset.tables[0]), tuple(map(Name, names)), (CountRows(), CountOf(Name("large")), Sum(large))
        )
        with DuckDBEngine(dataset) as engine:
            found = engine.aggregate(asked)
            statement = engine.statement(asked)
            plain = statement.read(engine._opened().execute(statement.text).fetchall())
        assert isinstance(found.keys, KeyColumns)
        pairs = [sorted(zip(answer.keys, answer.measures, strict=True), key=repr) for answer in (found, plain)]
        assert pairs[0] == pairs[1]
        kinds = [[[type(cell) for cell in key] for key, _ in answer] for answer in pairs]
        assert kinds[0] == kinds[1]
