"""Cells: every value in exactly one cell, counts as a loop over the rows finds them, no unit moves them farther."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Kind, Scan, Table
from dither.data.examples import clinic, neighbours_of
from dither.data.reference import ReferenceEngine, rows_of
from dither.data.schema import person_unit
from dither.data.wire import decode, encode
from dither.errors import InvalidParameter
from dither.lift.axes import Axis, axis_of
from dither.lift.cells import Cells, cells_of, listed_rows
from dither.lift.lifted import Lifted
from dither.mechanisms import Numerics
from dither.privacy import ROW, ROW_REPLACED, PureDP
from dither.publish.histograms import IdentityHistogram

AGE = Column("age", Kind.INTEGER, lower=0, upper=9)
COST = Column("cost", Kind.REAL, lower=0, upper=1)
DAY = Column("day", Kind.DATE, lower=datetime.date(2024, 1, 1), upper=datetime.date(2024, 1, 31))
WARD = Column("ward", Kind.TEXT, categories=("heart", "skin"))
VALUES: dict[str, list[Any]] = {
    "age": [-5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, None],
    "cost": [-1.0, 0.0, 0.1, 0.25, 0.5, 0.7499, 0.75, 1.0, 7.0, None, float("nan")],
    "day": [
        datetime.date(2023, 5, 1),
        datetime.date(2024, 1, 1),
        datetime.date(2024, 1, 31),
        datetime.date(2030, 1, 1),
    ],
}


def counted(axis_column: Column, bins: Any, outside: str | None) -> tuple[Axis, list[int]]:
    table = Table("t", (axis_column,), "t.csv")
    dataset = DataSet("d", (table,), ROW)
    cells = cells_of(dataset, "t", axis_column.name, bins, outside=outside)
    rows = [{axis_column.name: value} for value in VALUES[axis_column.name]]
    engine = ReferenceEngine(dataset, {"t": rows})
    return cells.axes[0], cells.table(engine.aggregate(cells.asked)).tolist()


def by_hand(edges: Any, values: list[Any], outside: str | None) -> list[int]:
    """Count one value after the other: bins hold their lower end, the last one both."""
    found = [0] * (len(edges) - 1)
    for value in values:
        if value is None or value != value:
            continue
        if value < edges[0] or value > edges[-1]:
            if outside != "drop":
                found[0 if value < edges[0] else -1] += 1
            continue
        place = sum(value >= edge for edge in edges[1:-1])
        found[place] += 1
    return found


@pytest.mark.parametrize("outside", [None, "ends", "drop"])
@pytest.mark.parametrize(
    ("column", "bins"),
    [
        (AGE, 2),
        (AGE, 3),
        (AGE, 10),
        (AGE, [0, 3, 9]),
        (AGE, [(0, 3), (3, 9)]),
        (COST, 4),
        (COST, [0, 0.5, 1]),
        (DAY, 4),
    ],
    ids=str,
)
def test_counts_are_those_of_a_loop(column: Column, bins: Any, outside: str | None) -> None:
    axis, counts = counted(column, bins, outside)
    values = VALUES[column.name]
    if axis.edges is None:  # one cell for each whole number
        axis_edges = [*(axis.labels or ()), 9]
        wanted = by_hand(axis_edges, [value for value in values if value != 9], outside)
        wanted[-1] += 1
    else:
        wanted = by_hand(axis.edges, values, outside)
    assert counts == wanted


@pytest.mark.parametrize(
    "unit", [ROW, ROW_REPLACED, person_unit("person"), person_unit("person", replaced=True)], ids=str
)
@pytest.mark.parametrize("columns", [("site",), ("cost",), ("site", "age")], ids="-".join)
def test_no_unit_moves_the_counts_farther_than_stated(unit: Any, columns: tuple[str, ...]) -> None:
    dataset = clinic(unit)
    cells = cells_of(dataset, "visits", columns, {"age": 3} if "age" in columns else None)
    for here, there, _ in neighbours_of(dataset):
        off = cells.table(here.aggregate(cells.asked)) - cells.table(there.aggregate(cells.asked))
        assert np.abs(off).sum() <= cells.sensitivity.l1
        assert float((off.astype(float) ** 2).sum()) <= float(cells.sensitivity.l2) ** 2 + 1e-9


def test_a_request_is_written_and_read_back() -> None:
    cells = cells_of(clinic(ROW), "visits", ("site", "age"), {"age": [0, 18, 128]})
    assert decode(encode(cells)) == cells


@pytest.mark.parametrize(
    ("column", "bins", "outside", "text"),
    [
        (AGE, [(0, 5), (4, 9)], None, "overlap"),
        (AGE, [(0, 4), (5, 9)], None, "gaps"),
        (AGE, [0, 5, 5, 9], None, "overlap"),
        (AGE, [0, 5], None, "outside='drop'"),
        (AGE, 11, None, "nothing can fall into"),
        (AGE, 0, None, "bins of age"),
        (COST, 10**9, None, "marginals"),
        (Column("id", Kind.INTEGER, lower=0, upper=10**9), None, None, "marginals"),
        (AGE, [], None, "bins of age"),
        (AGE, [0, None], None, "kind integer"),
        (COST, None, None, "cannot be listed"),
        (COST, [0, float("nan")], None, "kind real"),
        (WARD, ["heart"], None, "outside='drop'"),
        (WARD, ["heart", "heart"], "drop", "overlap"),
        (WARD, None, "ends", "no first and last"),
        (Column("note", Kind.TEXT), None, None, "declared categories"),
        (Column("n", Kind.INTEGER), 4, None, "declared bounds"),
        (Column("n", Kind.INTEGER), [0, 9], None, "unbounded"),
    ],
)
def test_bad_bins_are_refused_by_name(column: Column, bins: Any, outside: str | None, text: str) -> None:
    with pytest.raises(InvalidParameter, match=text):
        axis_of(column, bins, outside)


def test_bad_tables_are_refused_by_name() -> None:
    dataset = clinic(ROW)
    with pytest.raises(InvalidParameter, match="different columns"):
        cells_of(dataset, "visits", ("site", "site"))
    with pytest.raises(InvalidParameter, match="mapping"):
        cells_of(dataset, "visits", ("site", "age"), 4)
    with pytest.raises(InvalidParameter, match="of the request"):
        cells_of(dataset, "visits", "site", {"age": 4})
    with pytest.raises(InvalidParameter, match="'ends' or 'drop'"):
        cells_of(dataset, "visits", "site", outside="both")
    many = cells_of(dataset, "visits", ("age", "cost", "site"), {"age": 2**20})
    with pytest.raises(InvalidParameter, match="marginals"):
        many.check_dense()


def test_odd_answers_of_an_engine_count_nothing() -> None:
    from dither.data import Aggregated

    cells = cells_of(clinic(ROW), "visits", "cost", 2)
    odd = Aggregated(((0,), (7,), ("x",), (None,), (True,)), ((3,), (4,), (5,), (6,), (7,)))
    assert cells.table(odd).tolist() == [3, 0]
    assert isinstance(cells, Cells)


def test_a_lifted_method_is_as_exact_as_it_is_by_itself() -> None:
    class Rounded(IdentityHistogram):
        numerics = Numerics.BOUNDED

    cells = cells_of(clinic(ROW), "visits", "site")
    assert Lifted(source=cells, method=IdentityHistogram.calibrated(PureDP(1), shape=2)).numerics is Numerics.EXACT
    assert Lifted(source=cells, method=Rounded.calibrated(PureDP(1), shape=2)).numerics is Numerics.BOUNDED
    assert Lifted.numerics is Numerics.EXACT


@pytest.mark.parametrize("labels", [("heart",), ("heart", "bone"), (None, "skin")])
def test_many_lists_of_values_keep_the_rows_that_few_do(labels: tuple[Any, ...]) -> None:
    """Few lists are joined to, and of many each is a condition; NULL is a value in both."""
    relation = Scan(Table("t", (WARD,), "t.csv"))
    axis = replace(axis_of(WARD), labels=labels)
    rows = [{"ward": value} for value in ("heart", "skin", "bone", None, "heart")]
    few, many = (rows_of(listed_rows(relation, axis, lists), {"t": rows}) for lists in (1, 9))
    assert [row["ward"] for row in many] == [row["ward"] for row in few]
    assert {row["ward"] for row in many} <= set(labels)
