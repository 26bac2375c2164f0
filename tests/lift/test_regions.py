"""Regions from an engine: as a slow reading counts them, on two engines; all rows of a person may lie in one region."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.data import Aggregated, Column, Kind, Table, wire
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.place_tables import Places
from dither.data.places import RegionMap
from dither.data.reference import ReferenceEngine
from dither.data.schema import DataSet, person_unit
from dither.errors import InvalidParameter
from dither.lift.regions import RegionCells
from dither.mechanisms import Geometric
from dither.privacy import L1, L2, ROW, ROW_REPLACED
from dither.publish.places.examples import journey_data, point
from tests.lift.test_places import many_points, slow_cell, written

#: Of three by three cells, the first and last rows and a part of the second.
BANDS = RegionMap(("north & south", "middle"), (3, 3), (0, 3, 5, 6), (0, 1, -1, 0))


@pytest.mark.parametrize("outside", ["drop", "clamp"])
def test_positions_are_counted_by_the_region_of_their_cell(outside: str, tmp_path: Path) -> None:
    dataset = journey_data(person_unit("who"), outside=outside)
    source = RegionCells(dataset, "points", BANDS)
    rows = [row for row in many_points() if row["who"] is not None]
    for number, row in enumerate(rows):
        row["who"] = number
    regions = [0, 0, 0, 1, 1, None, 0, 0, 0]
    found = [slow_cell(row, 3, 3, outside) for row in rows]
    told = [regions[cell] for cell in found if cell is not None]
    wanted = [told.count(0), told.count(1)]
    assert source.read(ReferenceEngine(dataset, {"points": rows})).tolist() == wanted
    written(rows, tmp_path)
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        assert source.read(engine).tolist() == wanted
    assert wire.decode(wire.encode(source)) == source
    assert [axis.labels for axis in source.axes] == [BANDS.names]


def rides(unit: Any, rows: list[tuple[float | None, ...]]) -> tuple[RegionCells, ReferenceEngine]:
    """Return trips in a box of three by three metres, and an engine that has some."""
    columns = tuple(Column(name, Kind.REAL) for name in ("y", "x", "to_y", "to_x"))
    places = Places(("y", "x"), (0.0, 0.0, 3.0, 3.0), coordinates="metres", to=("to_y", "to_x"))
    dataset = DataSet("rides", (Table("rides", columns, "rides.csv", places=places),), unit)
    named = [dict(zip(("y", "x", "to_y", "to_x"), row, strict=True)) for row in rows]
    return RegionCells(dataset, "rides", BANDS, are_trips=True), ReferenceEngine(dataset, {"rides": named})


def test_trips_are_counted_between_regions() -> None:
    rows: list[tuple[float | None, ...]] = [
        (0.5, 0.5, 1.5, 0.5),
        (0.5, 2.5, 1.5, 1.5),
        (2.5, 0.5, 0.5, 0.5),
        (1.5, 2.5, 0.5, 0.5),  # begins in no region
        (0.5, 0.5, 1.5, 2.5),  # ends in none
        (0.0, 0.0, 3.0, 3.0),  # both 0 are metres here
        (None, 0.5, 0.5, 0.5),
        (9.0, 0.5, 0.5, 0.5),
    ]
    source, engine = rides(ROW, rows)
    assert source.read(engine).tolist() == [[2, 2], [0, 0]]
    assert source.moves() == {L1: Fraction(1), L2: Fraction(1)}
    assert source.shape == (2, 2)


def test_one_unit_moves_regions_as_far_as_is_said() -> None:
    """All rows of a person in one region, in different cells of it; a row that is replaced goes to another."""
    dataset = journey_data(person_unit("who"))
    source = RegionCells(dataset, "points", BANDS)
    rows = [point(1, "t", place, 50.5, 10.5 + place % 3) for place in range(20)]
    assert source.read(ReferenceEngine(dataset, {"points": rows})).tolist() == [8, 0]
    assert source.moves() == {L1: Fraction(8), L2: Fraction(8)}
    here, there = (rides(ROW_REPLACED, [(place, 0.5, 0.5, 0.5)]) for place in (0.5, 1.5))
    apart = here[0].read(here[1]) - there[0].read(there[1])
    assert np.abs(apart).sum() == here[0].moves()[L1] == 2
    assert np.sqrt((apart**2).sum()) <= float(here[0].moves()[L2]) < 1.4143


def test_odd_answers_of_an_engine_are_left_out() -> None:
    source = RegionCells(journey_data(person_unit("who")), "points", BANDS)
    keys: list[Any] = [(0,), (8,), (4,), (9,), (-1,), (True,), ("x",), (None,), ()]
    assert source.counted(Aggregated(tuple(keys), tuple((2,) for _ in keys))).tolist() == [4, 2]
    assert source.counted(Aggregated((), ())).tolist() == [0, 0]


def test_what_does_not_fit_is_refused() -> None:
    dataset = journey_data(person_unit("who"))
    with pytest.raises(InvalidParameter, match="whose rows are trips"):
        RegionCells(dataset, "points", BANDS, are_trips=True)
    with pytest.raises(InvalidParameter, match="for the shape"):
        RegionCells(dataset, "points", BANDS).check(Geometric(shape=(3,), scale=1))
    zones = [Column(name, Kind.TEXT, categories=("a", "b")) for name in ("from", "to")]
    table = Table("rides", tuple(zones), "rides.csv", places=Places(zones=("from", "to")))
    with pytest.raises(InvalidParameter, match="zones"):
        RegionCells(DataSet("rides", (table,), ROW), "rides", BANDS)
    many = RegionMap(tuple(map(str, range(5000))), (1, 1), (0,), (0,))
    trips = rides(ROW, [])[0].dataset
    with pytest.raises(InvalidParameter, match="pairs of regions"):
        RegionCells(trips, "rides", many, are_trips=True)


def test_every_small_map_gives_every_cell_one_region() -> None:
    for numbers in itertools.product((-1, 0, 1), repeat=4):
        drawn = RegionMap(("a", "b"), (2, 2), (0, 1, 2, 3), numbers)
        assert drawn.cells.tolist() == list(numbers)
