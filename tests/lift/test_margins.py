"""Marginals that an engine counts: as a loop over the rows finds them, and no unit moves what is measured farther."""

from __future__ import annotations

import datetime
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from dither.data import Aggregated, Column, DataSet, Kind, Name, Table
from dither.data.engines.protocol import connect
from dither.data.examples import clinic, neighbours_of
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.lift import margins as margins_module
from dither.lift.attributes import Attributes
from dither.lift.axes import Axis
from dither.lift.blocks import merged
from dither.lift.cells import Cells, cells_of
from dither.lift.lifted import Lifted
from dither.lift.margins import Margins, packed
from dither.mechanisms import Geometric
from dither.privacy import L1, L2, RECORDS, ROW, ROW_REPLACED, ZCDP, Loss, PureDP
from dither.publish.count_tables import plan_marginals
from dither.publish.lifting import lifted_marginals
from dither.publish.marginals import NoisyMarginals
from dither.publish.marginals.best import best_method
from dither.testing import record

PERSONS, SWAPPED = person_unit("person"), person_unit("person", replaced=True)
COLUMNS = (
    Column("person", Kind.INTEGER),
    Column("ward", Kind.TEXT, categories=("skin", "heart", "ear"), nullable=True),
    Column("smokes", Kind.BOOLEAN),
    Column("age", Kind.INTEGER, lower=0, upper=99),
    Column("cost", Kind.REAL, lower=0, upper=8),
    Column("day", Kind.DATE, lower=datetime.date(2024, 1, 1), upper=datetime.date(2024, 1, 4)),
)
BINS = {"age": [0, 18, 65, 99], "cost": 4}
NAMES = ("ward", "smokes", "age", "cost", "day")


def hospital(unit: Any, **limits: int) -> DataSet:
    is_person = unit.protects == "person"
    table = Table("visits", COLUMNS, "visits.csv", person="person" if is_person else None)
    return DataSet("hospital", (table,), unit, **limits)


def some_rows(many: int) -> list[dict[str, Any]]:
    """Return rows with odd values here and there; another draw each time."""
    generator = np.random.default_rng()
    options: dict[str, list[Any]] = {
        "ward": ["skin", "heart", "ear", None, "elsewhere"],
        "smokes": [True, False, True, None],
        "age": [-3, 0, 17, 18, 64, 65, 99, 120, None],
        "cost": [-1.0, 0.0, 1.9, 2.0, 5.5, 8.0, 9.0, None],
        "day": [datetime.date(2024, 1, day) for day in range(1, 5)] + [datetime.date(2023, 1, 1), None],
    }
    return [
        {"person": number % 7, **{name: values[generator.integers(len(values))] for name, values in options.items()}}
        for number in range(many)
    ]


def by_hand(row: dict[str, Any]) -> tuple[int, ...] | None:
    """Return the cell of a row along each column, or None where it has none."""
    wards, first = ("skin", "heart", "ear", None), datetime.date(2024, 1, 1)
    if row["ward"] not in wards or None in (row["smokes"], row["age"], row["cost"], row["day"]):
        return None
    age = min(max(row["age"], 0), 99)
    return (
        wards.index(row["ward"]),
        (False, True).index(row["smokes"]),
        (age >= 18) + (age >= 65),
        min(int(min(max(row["cost"], 0), 8) / 2), 3),
        min(max((row["day"] - first).days, 0), 3),
    )


SETS = ((0, 1), (0, 2, 4), (3,), (1, 3))


@pytest.mark.parametrize("labels", [64, 2], ids=["numbered", "listed"])
@pytest.mark.parametrize("statements", [64, 0], ids=["blocks", "at-once"])
@pytest.mark.parametrize("is_duckdb", [False, True], ids=["reference", "duckdb"])
def test_counts_are_those_of_a_loop(
    is_duckdb: bool, statements: int, labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margins_module, "_MOST_LABELS", labels)
    monkeypatch.setattr(margins_module, "_MOST_STATEMENTS", statements)
    monkeypatch.setattr(margins_module, "_BLOCK", 24)
    monkeypatch.setattr(margins_module, "_LARGEST_KEY", 2**6)
    dataset, rows = hospital(ROW), some_rows(300)
    margins = Margins(cells_of(dataset, "visits", NAMES, BINS), SETS)
    assert len(margins.blocks) == (3 if statements else 1)
    assert statements or len(margins.asked[0].keys) == (2 if labels == 64 else 3)
    if is_duckdb:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(rows).astype({"age": "Int64", "smokes": "boolean"})
        with connect(dataset, frames={"visits": frame}) as engine:
            found = margins.tables([engine.aggregate(asked) for asked in margins.asked])
    else:
        reference = ReferenceEngine(dataset, {"visits": rows})
        found = margins.tables([reference.aggregate(asked) for asked in margins.asked])
    places = [place for row in rows if (place := by_hand(row)) is not None]
    assert 0 < len(places) < len(rows)
    for axes in SETS:
        wanted = np.zeros([(4, 2, 3, 4, 4)[axis] for axis in axes], dtype=int)
        for place in places:
            wanted[tuple(place[axis] for axis in axes)] += 1
        np.testing.assert_array_equal(found[axes], wanted)


def test_odd_answers_of_an_engine_count_nothing() -> None:
    margins = Margins(cells_of(hospital(ROW), "visits", NAMES, BINS), ((0, 1),))
    odd = Aggregated(((3,), (8,), (-1,), ("x",), (None,), (True,), (2, 2)), ((5,), (1,), (1,), (1,), (1,), (1,), (1,)))
    assert margins.tables([odd])[0, 1].tolist() == [[0, 0], [0, 5], [0, 0], [0, 0]]
    assert margins.tables([Aggregated((), ())])[0, 1].sum() == 0


def vector(release: Lifted, engine: Any) -> Any:
    _, tape, _ = record(release, engine)
    return np.asarray(tape.events[0].value).astype(object)


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED, PERSONS, SWAPPED], ids=str)
@pytest.mark.parametrize("loss", [PureDP(1), ZCDP(1)], ids=str)
def test_no_unit_moves_the_measurements_farther_than_stated(unit: Any, loss: Loss) -> None:
    dataset = clinic(unit)
    cells = cells_of(dataset, "visits", ("site", "drug", "age"), {"age": 2})
    release = lifted_marginals(loss, cells, [["site", "drug"], ["age", "drug"], ["age"]])
    inner: Any = release.method
    stated = release.stability * inner.stability
    metric = L1 if isinstance(loss, PureDP) else L2
    pairs = [(here, there) for here, there, _ in neighbours_of(dataset)]
    # Persons with one or three rows, in all combinations of one site: alone, beside nobody, and swapped for others.
    many = 3 if dataset.protects_persons else 1
    visits = [
        {"person": 5, "site": site, "drug": drug, "cost": 1, "age": age}
        for site, drug, age in product(("north", "south", "nowhere"), "ab", (1.0, 100.0))
    ]
    units = [[], *([visit] * rows for visit in visits for rows in {1, many})]
    engines = [ReferenceEngine(dataset, {"visits": rows}) for rows in units]
    if dataset.is_replaced:
        pairs += list(combinations(engines, 2))
    else:
        pairs += [(engines[0], engine) for engine in engines[1:]]
    seen = {id(engine): vector(release, engine) for pair in pairs for engine in pair}
    moves = [metric.measure(seen[id(here)], seen[id(there)]) for here, there in pairs]
    farthest = max(move for move in moves if move is not None)
    assert farthest <= stated
    assert release.loss(1) <= loss
    # A person's rows of one kind move everything as far as is stated, but for limits on rows of one cell; where
    # units are replaced several measurements need not move farthest at once.
    assert float(farthest) >= (0.6 if dataset.protects_persons or dataset.is_replaced else 0.999) * float(stated)


@pytest.mark.parametrize("unit", [ROW, PERSONS], ids=str)
def test_a_person_counts_as_often_as_the_limits_say(unit: Any) -> None:
    limits = {"rows": 2} if unit is PERSONS else {}
    dataset, rows = hospital(unit, **limits), some_rows(200)
    margins = Margins(cells_of(dataset, "visits", ("ward", "cost"), {"cost": 4}), ((0,), (1,), (0, 1)))
    engine = ReferenceEngine(dataset, {"visits": rows})
    found = margins.tables([engine.aggregate(asked) for asked in margins.asked])
    fitting = [row for row in rows if row["ward"] != "elsewhere" and row["cost"] is not None]
    per_person = [sum(row["person"] == person for row in fitting) for person in range(7)]
    wanted = sum(min(each, 2) for each in per_person) if limits else len(fitting)
    assert {int(table.sum()) for table in found.values()} == {wanted}
    # All marginals are of the same rows.
    np.testing.assert_array_equal(found[0, 1].sum(axis=1), found[0,])
    np.testing.assert_array_equal(found[0, 1].sum(axis=0), found[1,])


def test_covers_hold_every_set_within_their_limits() -> None:
    generator = np.random.default_rng()
    for _ in range(20):
        sizes = generator.integers(1, 6, 9).tolist()
        sets = [tuple(sorted(generator.choice(9, generator.integers(0, 4), replace=False).tolist())) for _ in range(15)]
        found = merged(sizes, sets, most_cells=60, most_axes=4)
        for axes in sets:
            assert any(set(axes) <= set(cover) for cover in found)
        for cover in found:
            assert (len(cover) <= 4 and np.prod([sizes[axis] for axis in cover], dtype=int) <= 60) or cover in sets
        assert len(found) <= len(set(sets))
    every = list(combinations(range(16), 2))
    # 4 by 4 blocks of two: far fewer statements than 120 pairs.
    assert len(merged((2,) * 16, every, most_cells=2**8)) <= 12


def test_keys_hold_as_many_columns_as_fit() -> None:
    sizes = (10,) * 100
    found = packed(sizes, tuple(range(100)))
    assert [axis for key in found for axis in key] == list(range(100))
    assert max(10 ** len(key) for key in found) < 2**62
    assert len(found) == 6


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP(1)], ids=str)
def test_thirty_columns_are_planned_without_their_table(loss: Loss) -> None:
    columns = tuple(Column(f"c{number}", Kind.INTEGER, lower=0, upper=9) for number in range(30))
    dataset = DataSet("wide", (Table("t", columns, "t.csv"),), ROW)
    sets = list(combinations([column.name for column in columns], 2))
    planned, ordered = plan_marginals(dataset, "t", sets, loss)
    release = planned.mechanism
    measured: Any = release.method
    assert isinstance(release.source, Margins)
    assert ordered == tuple(sets)
    assert release.loss(1) <= loss
    assert len(release.aggregations()) == 1
    alone = NoisyMarginals.calibrated(loss, attributes=planned.cells.attributes, marginals=sets)
    assert measured.variances.mean() <= alone.variances.mean() * (1 + 1e-9)


def test_cuboids_are_taken_where_they_err_less() -> None:
    bits = Attributes(tuple("abcdefghijkl"), (2,) * 12)
    chosen = best_method(PureDP(1), bits, bits.every(2))
    alone = NoisyMarginals.calibrated(PureDP(1), attributes=bits, marginals=bits.every(2))
    # By hand: 66 pairs share epsilon one by one, and a few cuboids of six bits hold them all.
    assert chosen.name == "data-cubes"
    assert chosen.variances.mean() < alone.variances.mean() / 2
    wide = Attributes(("x", "y"), (1000, 1000))
    assert best_method(PureDP(1), wide, [["x"], ["y"]]).name == "noisy-marginals"


def test_another_method_or_unit_is_refused() -> None:
    cells = cells_of(clinic(ROW), "visits", ("site", "drug"))
    other = NoisyMarginals.calibrated(PureDP(1), attributes=Attributes.of({"a": 2}), marginals=[["a"]])
    source = Margins.of_pairs(cells)
    with pytest.raises(InvalidParameter, match="on the columns site, drug"):
        Lifted(source=source, method=other)
    table = cells.attributes
    replaced = NoisyMarginals.calibrated(PureDP(1), attributes=table, marginals=[["site"]], unit=ROW_REPLACED)
    with pytest.raises(InvalidParameter, match="whose distance is"):
        Lifted(source=source, method=replaced)


def test_numbers_beyond_the_size_of_an_axis_are_as_missing() -> None:
    """Whoever made an axis: a row lies in a cell of every marginal or in none, so that the stated distance holds."""
    dataset = hospital(PERSONS, groups=50, rows_per_group=1)
    forged = Axis("age", Name("age"), (0, 1), None, is_numbered=True, is_ordered=False)
    relation = cells_of(dataset, "visits", "smokes").relation
    both = Cells(dataset, relation, (cells_of(dataset, "visits", "smokes").axes[0], forged))
    margins = Margins(both, ((0,),))
    person = [{"person": 1, "smokes": True, "age": age, "ward": None, "cost": 1.0, "day": None} for age in range(99)]
    found = margins.read(ReferenceEngine(dataset, {"visits": person})).count((0,))
    assert found.sum() <= margins.moves()[RECORDS]


def test_a_method_for_another_shape_is_refused() -> None:
    cells = cells_of(clinic(ROW), "visits", ("site", "drug"))
    for method in (Geometric(shape=(6,), scale=1), Geometric(shape=(3, 2), scale=1)):
        with pytest.raises(InvalidParameter, match="shape"):
            Lifted(source=cells, method=method)


def test_an_axis_refuses_cells_that_a_row_could_lie_in_twice() -> None:
    with pytest.raises(InvalidParameter, match="labels"):
        Axis("age", Name("age"), (1, 1), None, is_numbered=True, is_ordered=False)
    with pytest.raises(InvalidParameter, match="edges"):
        Axis("age", Name("age"), None, (0, 5, 5), is_numbered=True, is_ordered=True)
