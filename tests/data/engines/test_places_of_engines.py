"""Places on every engine: cells, regions, positions for stops and journeys are those of the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dither.data.engines.protocol import Engine
from dither.data.places import RegionMap
from dither.data.reference import ReferenceEngine
from dither.data.schema import DataSet, person_unit
from dither.lift.journeys import Journeys
from dither.lift.places import counted_rows, heat_cells
from dither.lift.regions import RegionCells
from dither.lift.rows import Rows
from dither.publish.places.examples import journey_data, point, some_points

Factory = Callable[..., Engine]


def rows() -> list[dict[str, Any]]:
    """Return odd points, and some within limits: on borders of cells and of the box, far away, at one moment."""
    edges = [50.0, 51.0, 51.00000001, 52.99999999, 53.0, 53.00000001, 1e300, -1e300]
    found = [point(20 + place, "a", float(place % 2), lat, 10.0 + place / 3) for place, lat in enumerate(edges)]
    return [row for row in [*some_points(), *found] if row["lat"] == row["lat"]]


def told(dataset: DataSet, engine: Engine) -> tuple[Any, ...]:
    """Return the counts of cells and regions, the positions that count, and the journeys that an engine finds."""
    bands = RegionMap(("a", "b"), (3, 4), (0, 3, 6, 7), (0, 1, -1, 0))
    regions = RegionCells(dataset, "points", bands).read(engine)
    positions = Rows(dataset, counted_rows(dataset, dataset.tables[0]), ("lat", "lon")).read(engine)
    cells = heat_cells(dataset, dataset.tables[0], (3, 4)).read(engine)
    walked = Journeys(dataset, "points", (3, 4)).read(engine)
    journeys = sorted(tuple(row[row >= 0].tolist()) for row in walked.rows(4))
    return cells.ravel().tolist(), regions.tolist(), sorted(map(tuple, positions.tolist())), journeys


@pytest.mark.parametrize("outside", ["drop", "clamp"])
def test_an_engine_has_the_cells_and_journeys_of_the_reference(outside: str, open_engine: Factory) -> None:
    dataset = journey_data(person_unit("who"), outside=outside)
    wanted = told(dataset, ReferenceEngine(dataset, {"points": rows()}))
    assert told(dataset, open_engine(dataset, {"points": rows()})) == wanted
    assert sum(wanted[0]) > 8


def test_spark_has_them_too(factories: Mapping[str, Factory]) -> None:
    dataset = journey_data(person_unit("who"))
    wanted = told(dataset, ReferenceEngine(dataset, {"points": rows()}))
    with factories["spark"](dataset, {"points": rows()}) as engine:
        assert told(dataset, engine) == wanted
