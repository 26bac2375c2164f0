"""Columns to codes and back: every declared value survives, whatever engine counts."""

from __future__ import annotations

import bisect
import datetime
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.engines import connect
from dither.data.evaluation import evaluator
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.lift.margins import Margins
from dither.privacy import ROW, PureDP
from dither.publish.synthetic import Synthesizer, plan_synthesis
from dither.publish.synthetic.columns import Coding, attributes_of, cells_for, codings_of

COLUMNS = (
    Column("sex", Kind.TEXT, categories=("f", "m"), nullable=True),
    Column("smokes", Kind.BOOLEAN),
    Column("children", Kind.INTEGER, lower=0, upper=5, nullable=True),
    Column("income", Kind.INTEGER, lower=0, upper=99_999),
    Column("height", Kind.REAL, lower=1.0, upper=2.0, nullable=True),
    Column("born", Kind.DATE, lower=datetime.date(1950, 1, 1), upper=datetime.date(2009, 12, 31)),
)
DATASET = DataSet("people", (Table("rows", COLUMNS, source="rows"),), ROW)
LAST = datetime.date(2009, 12, 31)
ROWS: list[dict[str, Any]] = [
    {"sex": "f", "smokes": True, "children": 2, "income": 0, "height": 1.0, "born": datetime.date(1950, 1, 1)},
    {"sex": None, "smokes": False, "children": None, "income": 99_999, "height": 2.0, "born": LAST},
    {"sex": "x", "smokes": False, "children": 9, "income": -7, "height": None, "born": datetime.date(1900, 1, 1)},
    {"sex": "m", "smokes": None, "children": 1, "income": 5, "height": 1.5, "born": datetime.date(1980, 5, 5)},
]


def coded(other: dict[str, Any] | None = None) -> tuple[Any, tuple[Coding, ...]]:
    return codings_of(DATASET, "rows", other=other)


def test_every_value_within_its_declaration_keeps_its_cell() -> None:
    cells, codings = coded()
    assert attributes_of(codings).sizes == (3, 2, 7, 32, 33, 32)
    engine = ReferenceEngine(DATASET, {"rows": ROWS})
    places, counts = cells.filled(engine.aggregate(cells.asked))
    found = {tuple(place): count for place, count in zip(places.tolist(), counts.tolist(), strict=True)}
    # A value that is no category, and NULL where nothing says that it may be, leave the row out.
    assert found == {(0, 1, 2, 0, 0, 0): 1, (2, 0, 6, 31, 31, 31): 1}


def test_values_that_are_no_category_have_a_label_of_their_own_if_one_is_declared() -> None:
    cells, codings = coded({"sex": "another"})
    assert codings[0].labels == ("f", "m", None, "another")
    engine = ReferenceEngine(DATASET, {"rows": ROWS})
    places, _ = cells.filled(engine.aggregate(cells.asked))
    # What lies beyond bounds counts at the bound.
    assert (3, 0, 5, 0, 32, 0) in set(map(tuple, places.tolist()))


def test_engines_count_the_same_records() -> None:
    pandas = pytest.importorskip("pandas")
    cells, codings = coded({"sex": "another"})
    slow = Margins.of_pairs(cells).read(ReferenceEngine(DATASET, {"rows": ROWS}))
    engine = connect(DATASET, frames={"rows": pandas.DataFrame(ROWS)})
    fast = Margins.of_pairs(cells).read(engine)
    for axes in [(), (0,), (3,), (0, 2), (4, 5), (0, 1, 2), (1, 3, 5)]:
        assert fast.count(axes).shape == slow.attributes.shape_of(axes)
        assert np.array_equal(fast.count(axes), slow.count(axes))
    assert slow.attributes == attributes_of(codings)
    engine.close()


def test_codes_become_values_of_their_cells() -> None:
    _, codings = coded({"sex": "another"})
    engine_of = {coding.column: coding for coding in codings}
    for column in COLUMNS:
        coding = engine_of[column.name]
        codes = np.repeat(np.arange(coding.size), 20)
        values = coding.values(codes, public_generator()).tolist()
        cells = cells_for(DATASET, "rows", [coding])
        rows = [{**ROWS[0], column.name: value} for value in values]
        places, counts = cells.filled(ReferenceEngine(DATASET, {"rows": rows}).aggregate(cells.asked))
        # Each value falls into the cell that it was drawn from.
        assert dict(zip(places[:, 0].tolist(), counts.tolist(), strict=True)) == dict.fromkeys(range(coding.size), 20)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bins": {"nobody": 3}}, "bins"),
        ({"other": {"income": 3}}, "other"),
        ({"other": {"sex": "f"}}, "other"),
        ({"columns": ["sex", "sex"]}, "columns"),
        ({"columns": ["nobody"]}, "column"),
        ({"columns": []}, "columns"),
        ({"bins": {"income": 0}}, "bins of income"),
    ],
)
def test_what_cannot_be_coded_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        codings_of(DATASET, "rows", options.pop("columns", None), **options)


def test_columns_without_a_domain_are_refused() -> None:
    free = DataSet("free", (Table("rows", (Column("words", Kind.TEXT),), source="rows"),), ROW)
    with pytest.raises(InvalidParameter, match="words"):
        codings_of(free, "rows")
    boundless = DataSet("free", (Table("rows", (Column("size", Kind.REAL),), source="rows"),), ROW)
    with pytest.raises(InvalidParameter, match="bins of size"):
        codings_of(boundless, "rows")
    many = Column("id", Kind.TEXT, categories=tuple(map(str, range(70_000))))
    with pytest.raises(InvalidParameter, match="categories of id"):
        codings_of(DataSet("many", (Table("rows", (many,), source="rows"),), ROW), "rows")


@pytest.mark.parametrize("categories", [(3, 4, 5), (5, 4, 3), (3, 5, 9), (-1, 0, 1)])
@pytest.mark.parametrize("nullable", [False, True])
def test_listed_whole_numbers_with_and_without_gaps(categories: tuple[int, ...], nullable: bool) -> None:
    column = Column("grade", Kind.INTEGER, categories=categories, nullable=nullable)
    grades = DataSet("grades", (Table("rows", (column,), source="rows"),), ROW)
    cells, (coding,) = codings_of(grades, "rows", other={"grade": 77})
    values = [*range(-3, 12), None, 2**62]
    rows = [{"grade": value} for value in values]
    found = Margins.of_pairs(cells).read(ReferenceEngine(grades, {"rows": rows})).count((0,)).tolist()
    labels = list(coding.labels or ())
    expected = [0] * len(labels)
    for value in values:
        if value in labels:
            expected[labels.index(value)] += 1
        elif value is not None:
            expected[-1] += 1
    assert found == expected


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 255), (0, 256), (0, 99_999), (-500, 500), (-1, 700), (-700, 1), (-700, -3), (1, 4356), (-2, 600)],
)
def test_integers_of_wide_ranges_have_cells_where_heaps_are(low: int, high: int) -> None:
    """Every value against the edges, one by one; the least value and 0 are by themselves, the two largest together."""
    dataset = DataSet("d", (Table("rows", (Column("x", Kind.INTEGER, low, high),), source="rows"),), ROW)
    cells, (coding,) = codings_of(dataset, "rows", is_merged=True)
    number = evaluator(cells.axes[0].value, {"x": Kind.INTEGER})
    if high - low < 256:
        assert coding.labels == tuple(range(low, high + 1))
        return
    assert coding.edges is not None
    edges = [int(str(edge)) for edge in coding.edges]
    assert edges == sorted(set(edges))
    assert 250 <= coding.size <= 262
    singles = {low} | ({0} if low < 0 < high - 2 else set())
    near = {*range(low, low + 300), *range(high - 300, high + 1), *range(-300, 300)}
    some = {x for x in near if low <= x <= high}
    for x in sorted(some | {edge + step for edge in edges for step in (-1, 0, 1) if low <= edge + step <= high}):
        expected = min(bisect.bisect_right(edges, x) - 1, len(edges) - 2)
        assert number({"x": x}) == expected
        if x in singles:
            assert edges[expected : expected + 2] == [x, x + 1]
    assert edges[-2:] == [high - 1, high]
    assert [number({"x": x}) for x in (low - 5, high + 5, None)] == [0, coding.size - 1, None]
    # Codes that exist are found again, and a drawn value lies in its cell.
    assert cells_for(dataset, "rows", (coding,)) == cells
    drawn = coding.values(np.arange(coding.size), public_generator())
    assert [number({"x": int(x)}) for x in drawn] == list(range(coding.size))


def test_cells_are_fine_for_methods_that_merge_alone() -> None:
    columns = (
        Column("gain", Kind.INTEGER, 0, 999),
        Column("hours", Kind.INTEGER, 1, 99),
        Column("y", Kind.REAL, 0.0, 1.0),
    )
    dataset = DataSet("d", (Table("rows", columns, source="rows"),), ROW)
    for method, sizes in (("auto", [257, 99, 32]), ("mst", [257, 99, 32]), ("privbayes", [32, 32, 32])):
        made = plan_synthesis(dataset, "rows", PureDP(1), method=method)
        found = [coding.size for coding in made.codings]
        assert found[1:] == sizes[1:]
        assert abs(found[0] - sizes[0]) <= 4
    said = plan_synthesis(dataset, "rows", PureDP(1), bins={"gain": 10})
    assert said.codings[0].size == 10
    wide = DataSet("d", (Table("rows", (Column("x", Kind.INTEGER, -(2**61), 2**61),), source="rows"),), ROW)
    assert codings_of(wide, "rows", is_merged=True)[1][0].size == 32


def test_heaps_stay_heaps_by_default() -> None:
    """Nine rows in ten are 0: with cells of equal width alone hardly any of them would be."""
    pytest.importorskip("pandas")
    rows = [{"gain": 0 if n % 10 else 5000 + n, "hours": 40 if n % 2 else n % 90 + 1} for n in range(4000)]
    columns = [Column("gain", Kind.INTEGER, 0, 99_999), Column("hours", Kind.INTEGER, 1, 99)]
    drawn = Synthesizer(columns, epsilon=10_000).fit(rows).sample(2000)
    table = drawn.to_pandas()
    shares = [float(np.mean(table[name].to_numpy() == value)) for name, value in (("gain", 0), ("hours", 40))]
    assert 0.85 < shares[0] < 0.95
    assert 0.45 < shares[1] < 0.6
