"""Small tables of places on which releases are checked: journeys of a few people, and neighbours where much moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dither.data import Column, DataSet, Kind, Table
from dither.data.place_tables import Places
from dither.data.places import RegionMap
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.lift.journeys import Journeys
from dither.lift.lifted import Lifted
from dither.lift.regions import RegionCells
from dither.mechanisms.core.registry import Example
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, Unit

Rows = list[dict[str, Any]]


def journey_data(unit: Unit, *, outside: str = "drop") -> DataSet:
    """Return a schema of journeys in a box of three by three degrees, two trips of four points a person.

    Args:
        unit: a person, added or replaced.
        outside: what becomes of positions outside the box.

    """
    columns = (
        Column("who", Kind.INTEGER),
        Column("trip", Kind.TEXT),
        Column("when", Kind.REAL),
        Column("lat", Kind.REAL),
        Column("lon", Kind.REAL),
    )
    places = Places(
        ("lat", "lon"), (50.0, 10.0, 53.0, 13.0), outside=outside, trip="trip", time="when", trips=2, points=4
    )
    table = Table("points", columns, "points.csv", person="who", places=places)
    return DataSet("journeys", (table,), unit, rows=8)


def point(who: Any, trip: Any, when: Any, lat: Any, lon: Any) -> dict[str, Any]:
    """Return one row."""
    return {"who": who, "trip": trip, "when": when, "lat": lat, "lon": lon}


def some_points() -> Rows:
    """Return ordinary and odd points: out of order, at one moment, unknown, outside, of nobody."""
    return [
        point(1, "a", 2, 51.5, 10.5),
        point(1, "a", 1, 50.5, 10.5),
        point(1, "a", 3, 52.5, 12.5),
        point(1, "b", 1, 52.5, 12.5),
        point(2, "a", 1, 50.5, 12.5),
        point(2, "a", 1, 51.5, 12.5),
        point(3, None, 1, 51.5, 11.5),
        point(3, "y", None, 52.5, 10.5),
        point(3, "z", 1, 0.0, 0.0),
        point(3, "z", 2, float("nan"), 11.0),
        point(4, "a", 1, 10.5, 51.5),
        point(None, "a", 1, 51.5, 11.5),
    ]


def _far() -> Rows:
    """Return a person with more trips, and longer ones, than count."""
    return [
        point(9, f"trip {trip}", step, 50.5 + step % 3, 10.5 + (trip + step) % 3)
        for trip in range(4)
        for step in range(9)
    ]


def lifted_examples() -> Iterator[Example]:
    """Return methods lifted to tables of places."""
    from dither.publish.places.flow_table import FlowTable
    from dither.publish.places.markov_journeys import MarkovJourneys

    for replaced in (False, True):
        dataset = journey_data(person_unit("who", replaced=replaced), outside="clamp" if replaced else "drop")
        one = point(9, "a", 1, 51.5, 11.5)
        pairs = [([*some_points(), *_far()], [*some_points(), one])]
        if not replaced:
            pairs = [(some_points(), [*some_points(), *_far()]), ([], [one]), ([*_far(), one], [])]
        engines = tuple((_engine(dataset, here), _engine(dataset, there), 1) for here, there in pairs)
        weight = Geometric(scale=2**18)
        method = MarkovJourneys(shape=(3, 3), length=4, most=6, trips=Geometric(scale=4), first=weight, second=weight)
        data = _engine(dataset, some_points())
        yield Example(Lifted(source=Journeys(dataset, "points", (3, 3)), method=method), data, engines)
    yield _flows(FlowTable(shape=(2, 2), cell=Geometric(scale=2), total=Geometric(scale=4)))
    for replaced in (False, True):
        yield _regions(replaced)


def _regions(replaced: bool) -> Example:
    """Return points of people, counted by regions of three by three cells."""
    dataset = journey_data(person_unit("who", replaced=replaced), outside="clamp" if replaced else "drop")
    crowd = [point(9, "a", step, 50.5 + step % 2, 10.5) for step in range(20)]
    pairs = [([*some_points(), *crowd], [*some_points(), *_far()])]
    if not replaced:
        pairs = [(some_points(), [*some_points(), *crowd]), ([], _far()), (crowd, [])]
    engines = tuple((_engine(dataset, here), _engine(dataset, there), 1) for here, there in pairs)
    source = RegionCells(dataset, "points", RegionMap(("a", "b"), (3, 3), (0, 2, 4, 7), (0, 1, -1, 0)))
    method = DiscreteGaussian(shape=(2,), sigma=9) if replaced else Geometric(shape=(2,), scale=8)
    return Example(Lifted(source=source, method=method), _engine(dataset, some_points()), engines)


def _flows(method: Any) -> Example:
    """Return trips between two positions, each a unit of its own, by regions of two by two cells."""
    columns = tuple(Column(name, Kind.REAL) for name in ("y", "x", "to_y", "to_x"))
    places = Places(("y", "x"), (0.0, 0.0, 100.0, 100.0), coordinates="metres", to=("to_y", "to_x"))
    dataset = DataSet("rides", (Table("rides", columns, "rides.csv", places=places),), ROW)
    rows: Rows = [
        {"y": 0.0, "x": 0.0, "to_y": 99.0, "to_x": 1.0},
        {"y": 10.0, "x": 70.0, "to_y": 10.0, "to_x": 70.0},
        {"y": 500.0, "x": 70.0, "to_y": 10.0, "to_x": 70.0},
        {"y": None, "x": 70.0, "to_y": 10.0, "to_x": 70.0},
    ]

    def engine(given: Rows) -> ReferenceEngine:
        return ReferenceEngine(dataset, {"rides": given})

    pairs = ((engine(rows), engine(rows[1:]), 1), (engine([]), engine(rows[1:2]), 1))
    halves = RegionMap(("west", "south east"), (2, 2), (0, 1, 2, 3), (0, 1, 0, -1))
    source = RegionCells(dataset, "rides", halves, are_trips=True)
    return Example(Lifted(source=source, method=method), engine(rows), pairs)


def _engine(dataset: DataSet, rows: Rows) -> ReferenceEngine:
    return ReferenceEngine(dataset, {"points": rows})
