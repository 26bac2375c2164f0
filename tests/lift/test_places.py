"""Places from an engine: cells as a slow reading has them, and journeys of which few of a person count."""

from __future__ import annotations

import csv
import datetime
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.data import Aggregated, Column, Kind, Table, wire
from dither.data.columns import ColumnRows
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.places.trips import Trips
from dither.data.reference import ReferenceEngine
from dither.data.schema import DataSet, Owner, person_unit
from dither.errors import InvalidParameter
from dither.lift.journeys import Journeys
from dither.lift.places import grid_shape, heat_cells, places_table
from dither.privacy import RECORDS
from dither.publish.places.examples import journey_data, point, some_points


def slow_cell(row: dict[str, Any], rows: int, columns: int, outside: str) -> int | None:
    """Return the cell of a point in the box from (50, 10) to (53, 13), one rule after the other."""
    lat, lon = row["lat"], row["lon"]
    if lat is None or lon is None or math.isnan(lat) or math.isnan(lon) or (lat == 0 and lon == 0):
        return None
    places = []
    for value, low, many in ((lat, 50.0, rows), (lon, 10.0, columns)):
        if not low <= value <= low + 3:
            if outside == "drop":
                return None
            value = min(max(value, low), low + 3)
        places.append(min(math.floor((value - low) / 3 * many), many - 1))
    return places[0] * columns + places[1]


def many_points() -> list[dict[str, Any]]:
    rng = np.random.default_rng()
    found = [
        point(int(rng.integers(0, 9)), f"t{rng.integers(0, 3)}", float(rng.integers(0, 4)), lat, lon)
        for lat, lon in rng.uniform([49.5, 9.5], [53.5, 13.5], (120, 2))
    ]
    return [*some_points(), *found]


def written(rows: list[dict[str, Any]], folder: Path) -> None:
    with (folder / "points.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["who", "trip", "when", "lat", "lon"])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("outside", ["drop", "clamp"])
def test_positions_are_counted_where_a_slow_reading_has_them(outside: str, tmp_path: Path) -> None:
    dataset = journey_data(person_unit("who"), outside=outside)
    cells = heat_cells(dataset, dataset.tables[0], (4, 5))
    rows = [row for row in many_points() if row["who"] is not None]
    # One row a person, so that no limit decides.
    for number, row in enumerate(rows):
        row["who"] = number
    wanted = np.zeros(20, dtype=np.int64)
    for row in rows:
        place = slow_cell(row, 4, 5, outside)
        if place is not None:
            wanted[place] += 1
    assert cells.read(ReferenceEngine(dataset, {"points": rows})).ravel().tolist() == wanted.tolist()
    written(rows, tmp_path)
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        assert cells.read(engine).ravel().tolist() == wanted.tolist()


def as_sets(trips: Trips) -> list[tuple[int, ...]]:
    return sorted(tuple(row[row >= 0].tolist()) for row in trips.rows(9))


def test_journeys_are_in_the_order_of_time(tmp_path: Path) -> None:
    dataset = journey_data(person_unit("who"))
    source = Journeys(dataset, "points", (3, 3))
    wanted = [(0, 3, 8), (2, 5), (4,), (8,)]
    assert as_sets(source.read(ReferenceEngine(dataset, {"points": some_points()}))) == wanted
    written(some_points(), tmp_path)
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        assert as_sets(source.read(engine)) == wanted
    assert wire.decode(wire.encode(source)) == source


@pytest.mark.parametrize(
    ("kind", "moments"),
    [
        (Kind.DATE, [datetime.date(2024, 1, 1 + day) for day in (9, 1, 20)]),
        (Kind.TIMESTAMP, [datetime.datetime(2024, 1, 1, 10, 0, second) for second in (9, 1, 20)]),
        (Kind.INTEGER, [9, -1, 2**60]),
    ],
)
def test_days_and_moments_order_a_journey(kind: Kind, moments: list[Any], tmp_path: Path) -> None:
    """Seconds apart, too: an order by days would leave it to the number of the cell."""
    dataset = journey_data(person_unit("who"))
    (table,) = dataset.tables
    columns = tuple(Column("when", kind) if column.name == "when" else column for column in table.columns)
    dataset = replace(dataset, tables=(replace(table, columns=columns),))
    rows = [point(1, "t", when, lat, 10.5) for when, lat in zip(moments, (51.5, 52.5, 50.5), strict=True)]
    source = Journeys(dataset, "points", (3, 3))
    assert as_sets(source.read(ReferenceEngine(dataset, {"points": rows}))) == [(6, 3, 0)]
    written(rows, tmp_path)
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        assert as_sets(source.read(engine)) == [(6, 3, 0)]


def test_a_point_without_a_time_is_on_no_journey() -> None:
    dataset = journey_data(person_unit("who"))
    rows = [point(1, "t", None, 50.5, 10.5), point(1, "t", 2.0, 51.5, 11.5), point(2, "t", None, 50.5, 10.5)]
    found = Journeys(dataset, "points", (3, 3)).read(ReferenceEngine(dataset, {"points": rows}))
    assert [[cell for cell in row if cell >= 0] for row in found.rows(4).tolist()] == [[4]]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_person_has_few_journeys_and_engines_agree_on_how_many(replaced: bool, tmp_path: Path) -> None:
    dataset = journey_data(person_unit("who", replaced=replaced))
    source = Journeys(dataset, "points", (3, 3))
    long = [point(7, f"trip {trip}", step, 50.5 + step % 3, 11.5) for trip in range(5) for step in range(20)]
    found = source.read(ReferenceEngine(dataset, {"points": long}))
    assert np.diff(found.starts, append=found.cells.size).tolist() == [4, 4]
    assert (found.cells >= 0).all()
    written(long, tmp_path)
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        assert source.read(engine).rows(9).shape == (2, 9)
    assert source.moves() == {RECORDS: Fraction(4 if replaced else 2)}


def test_odd_answers_of_an_engine_are_left_out() -> None:
    dataset = journey_data(person_unit("who"))
    source = Journeys(dataset, "points", (3, 3))
    keys: list[Any] = [
        (1, "a", 1.0, 3),
        (1, "a", None, 4),
        (1, "a", "x", 5),
        (1, "a", 2.0, 99),
        (1, "a", 2.0, -1),
        (1, "a", 2.0, True),
        (1, "a"),
        "text",
        (None, None, None, None),
    ]
    answer = Aggregated(tuple(keys), tuple((1,) for _ in keys))
    assert as_sets(source.trips_of(answer)) == [(4, 5, 3)]
    assert source.trips_of(Aggregated((), ())).starts.size == 0


def test_a_column_of_times_that_an_engine_leaves_out_is_all_null() -> None:
    dataset = journey_data(person_unit("who"))
    (table,) = dataset.tables
    columns = tuple(replace(one, lower=0.0, upper=10.0) if one.name == "when" else one for one in table.columns)
    source = Journeys(replace(dataset, tables=(replace(table, columns=columns),)), "points", (3, 3), times=5)
    keys = ColumnRows([np.array([1, 1]), ["a", "b"], None, np.array([3, 4])], 2)
    found = source.trips_of(Aggregated(keys, ColumnRows([np.ones(2, dtype=np.int64)], 2)))
    assert as_sets(found) == [(3,), (4,)]
    assert found.began is not None
    assert found.began.tolist() == [-1, -1]


def test_journeys_of_an_owner_are_refused() -> None:
    """One trip under several keys of one person would be several rows."""
    dataset = journey_data(person_unit("who"))
    points = dataset.tables[0]
    cars = Table("cars", (Column("who", Kind.INTEGER), Column("car", Kind.INTEGER)), "cars.csv", person="who")
    owned = replace(points, columns=(*points.columns, Column("car", Kind.INTEGER)), person=None)
    owned = replace(owned, owner=Owner("cars", ("car",), ("car",)))
    with pytest.raises(InvalidParameter, match="has a privacy id, and not one with an owner"):
        Journeys(replace(dataset, tables=(cars, owned)), "points", (3, 3))


def test_tables_and_grids_that_do_not_fit_are_refused() -> None:
    dataset = journey_data(person_unit("who"))
    plain = DataSet("plain", (dataset.tables[0],), dataset.unit, rows=2)
    assert places_table(plain).name == "points"
    for grid in (0, True, (1, 2, 3), "3x3", 2.5, (4096, 4097), 10**6):
        with pytest.raises(InvalidParameter, match="grid"):
            grid_shape(grid)
    with pytest.raises(InvalidParameter, match="both coordinates"):
        Journeys(dataset, "points", (3,))
    with pytest.raises(InvalidParameter, match="table"):
        Journeys(dataset, "lines", (3, 3))


def test_memory_follows_the_points_and_not_the_limits() -> None:
    """A schema may allow each of many trips 4,096 points: what is held are the points there are."""
    dataset = journey_data(person_unit("who"))
    (table,) = dataset.tables
    wide = replace(table, places=replace(table.places, points=4096))
    source = Journeys(replace(dataset, tables=(wide,), rows=8192), "points", (3, 3))
    rows = [point(person, "t", step, 50.5 + step, 10.5) for person in range(50) for step in range(2)]
    found = source.read(ReferenceEngine(source.dataset, {"points": rows}))
    assert found.cells.size == 100
    assert found.rows(4).tolist() == [[0, 3, -1, -1]] * 50


def test_times_of_a_journey_are_those_of_its_first_point(tmp_path: Path) -> None:
    """Out of order, at one moment, missing: the engine and the reference agree, and a trip of one cell begins, too."""
    dataset = journey_data(person_unit("who"))
    (table,) = dataset.tables
    columns = tuple(replace(one, lower=0.0, upper=10.0) if one.name == "when" else one for one in table.columns)
    dataset = replace(dataset, tables=(replace(table, columns=columns),))
    source = Journeys(dataset, "points", (3, 3), times=5)
    rows = [
        *(point(1, "a", when, 50.5 + step, 10.5) for step, when in enumerate((9.0, 5.0, 3.0))),
        *(point(2, "a", 7.0, 50.5 + step, 10.5) for step in range(2)),
        point(3, "a", 11.0, 50.5, 10.5),
        point(3, "b", 10.0, 50.5, 10.5),
        point(4, "a", None, 50.5, 10.5),
    ]
    wanted = [((0,), -1), ((0,), 4), ((0, 3), 3), ((6, 3, 0), 1)]
    written(rows, tmp_path)
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        for read in (source.read(ReferenceEngine(dataset, {"points": rows})), source.read(engine)):
            assert read.began is not None
            cells = [tuple(row[row >= 0].tolist()) for row in read.rows(4)]
            assert sorted(zip(cells, read.began.tolist(), strict=True)) == wanted
    assert wire.decode(wire.encode(source)) == source
    assert "times" not in wire.encode(replace(source, times=None))


def test_trips_that_overlap_or_have_no_cell_are_refused() -> None:
    cells = np.arange(4)
    for starts in ([1, 2], [0, 2, 2], [0, 4], [0, 3, 1]):
        with pytest.raises(InvalidParameter, match="rising from 0"):
            Trips(cells, np.array(starts))
    with pytest.raises(InvalidParameter, match="one for each trip"):
        Trips(cells, np.array([0, 2]), np.array([1]))
