"""Families in an engine: counted as a plain loop counts them, bounded by the limits, priced at one and at most."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.mechanisms import perform
from dither.privacy import ROW, ZCDP, ApproxDP, PureDP
from dither.publish.synthetic import SyntheticFamilies, codings_of, plan_families
from dither.publish.synthetic.counted_families import children_of, families_within, parents_of

HOUSES = (Column("home", Kind.TEXT), Column("area", Kind.TEXT, categories=("hill", "lake"), nullable=True))
PEOPLE = (
    Column("house", Kind.TEXT),
    Column("area", Kind.TEXT, categories=("born", "moved")),
    Column("age", Kind.INTEGER, lower=0, upper=9),
)
TABLES = (Table("houses", HOUSES, "houses.csv", "home"), Table("people", PEOPLE, "people.csv", "house"))


def town(rows: int = 4, *, replaced: bool = False) -> DataSet:
    return DataSet("town", TABLES, person_unit("home", replaced=replaced), rows=rows)


def some_rows() -> dict[str, list[dict[str, Any]]]:
    rng = np.random.default_rng()
    houses = [{"home": f"h{n}", "area": ("hill", "lake", None, "moon")[n % 4]} for n in range(30)]
    people = [
        {
            "house": f"h{int(rng.integers(0, 35))}",
            "area": ("born", "moved", "?")[n % 3],
            "age": int(rng.integers(-2, 12)),
        }
        for n in range(60)
    ]
    return {"houses": houses, "people": [*people, {"house": None, "area": "born", "age": 1}]}


def counted(rows: dict[str, list[dict[str, Any]]]) -> tuple[Counter[Any], Counter[Any]]:
    """Return parents with the number of their children, and children with parents, by a plain loop."""
    areas: dict[Any, int] = {"hill": 0, "lake": 1, None: 2}
    above: Counter[Any] = Counter()
    below: Counter[Any] = Counter()
    for house in rows["houses"]:
        if house["area"] not in areas:
            continue
        own = [one for one in rows["people"] if one["house"] == house["home"] and one["area"] in ("born", "moved")]
        above[areas[house["area"]], len(own)] += 1
        for one in own:
            age = min(max(one["age"], 0), 9)
            below[areas[house["area"]], ("born", "moved").index(one["area"]), age] += 1
    return above, below


def as_counter(table: Any) -> Counter[Any]:
    return Counter({tuple(map(int, place)): int(table[tuple(place)]) for place in np.argwhere(table)})


def test_families_are_counted_as_a_plain_loop_counts_them() -> None:
    """More children are allowed than anybody has, so that nothing is left out by the limits."""
    pyarrow = pytest.importorskip("pyarrow")
    dataset, rows = town(60), some_rows()
    parents, children = (codings_of(dataset, name)[0] for name in ("houses", "people"))
    meant = counted(rows)
    frames = {name: pyarrow.Table.from_pylist(table) for name, table in rows.items()}
    for engine in (ReferenceEngine(dataset, rows), DuckDBEngine(dataset, frames=frames, threads=1)):
        families = (parents_of(parents, children, 60), children_of(parents, children, 60))
        found = tuple(as_counter(cells.table(engine.aggregate(cells.asked))) for cells in families)
        assert found == meant


@pytest.mark.parametrize(("limit", "most"), [(4, 4), (4, 2), (1, 1)])
def test_no_more_children_are_read_than_count(limit: int, most: int) -> None:
    dataset = town(limit)
    parents, children = (codings_of(dataset, name)[0] for name in ("houses", "people"))
    people = [{"house": "h0", "area": "born", "age": age} for age in range(10)]
    houses = [{"home": "h0", "area": area} for area in ("hill", "lake", None)]
    engine = ReferenceEngine(dataset, {"houses": houses, "people": [*people, {**people[0], "house": "nobody"}]})
    above = parents_of(parents, children, most)
    ((place, number),) = as_counter(above.table(engine.aggregate(above.asked))).items()
    assert (place[1], number) == (most, 1)
    below = children_of(parents, children, most)
    assert int(below.table(engine.aggregate(below.asked)).sum()) == most


def test_the_price_is_one_parent_and_as_many_children_as_count() -> None:
    for replaced, touched in ((False, 1), (True, 2)):
        for loss in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
            release = plan_families(town(replaced=replaced), "houses", "people", loss, children=3).mechanism
            assert release.loss(1) <= loss
            spent = release.of_parents.loss(touched) + release.of_children.loss(3 * touched)
            assert spent == release.loss(1)
            # Nothing worth mentioning is left over.
            assert release.loss(1).rho > spent.rho * 99 / 100


def test_what_is_released_is_written_and_read_again() -> None:
    planned = plan_families(town(), "houses", "people", PureDP(50), bins={"age": 2})
    made = planned.present(perform(planned.mechanism, ReferenceEngine(town(), some_rows())), "here")
    again = SyntheticFamilies.from_json(made.to_json())
    assert again == made
    drawn = again.sample(12)
    assert drawn["houses"].columns["home"].tolist() == [str(number) for number in range(1, 13)]
    assert set(drawn["people"].columns["house"].tolist()) <= set(drawn["houses"].columns["home"].tolist())
    assert list(drawn["people"].columns) == ["house", "area", "age"]
    above, below = again.views()
    assert above.codings[-1].column == "number of children"
    assert [name for name, _ in below.columns] == ["houses.area", "people.area", "people.age"]
    record = json.loads(made.to_json())
    for damaged in (
        {**record, "synthetic families": 2},
        {**record, "parents": {**record["parents"], "codings": []}},
        {name: value for name, value in record.items() if name != "children"},
        {**record, "unit": 3},
        [],
    ):
        with pytest.raises(InvalidParameter, match="text"):
            SyntheticFamilies.from_json(json.dumps(damaged))
    with pytest.raises(InvalidParameter, match="text"):
        SyntheticFamilies.from_json("{")


def test_what_is_no_family_is_refused() -> None:
    alone = DataSet("alone", tuple(Table(one.name, one.columns, one.source) for one in TABLES), ROW)
    with pytest.raises(InvalidParameter, match="unit is a person"):
        plan_families(alone, "houses", "people", PureDP(1))
    parents, children = (codings_of(town(), name)[0] for name in ("houses", "people"))
    with pytest.raises(InvalidParameter, match="two different tables"):
        families_within(PureDP(1), parents, parents)
    with pytest.raises(InvalidParameter, match="unit is a person"):
        families_within(PureDP(1), parents, codings_of(alone, "people", ["age"])[0])
    with pytest.raises(InvalidParameter, match="at most 4"):
        families_within(PureDP(1), parents, children, most=5)
