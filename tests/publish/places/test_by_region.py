"""Counts by region: a slow twin asks the middle of each cell; holes and overlaps follow rules, bad files fail."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.data.columns import ColumnRows
from dither.data.place_tables import Places
from dither.errors import InvalidParameter
from dither.pages.clipping import clipped
from dither.privacy import PureDP
from dither.publish.places.by_region import RegionCounts, RegionFile
from dither.publish.places.shown import HEATMAP, PlaceMap
from dither.publish.queries import QueryResult, ResultColumn

PLANE = Places(("y", "x"), box=(0, 0, 80, 60), coordinates="metres")


def heat(counts: np.ndarray, places: Places = PLANE) -> PlaceMap:
    """Return a released map with these counts: the ends of each cell come first."""
    rows, columns = np.indices(counts.shape)
    columns_of = [ResultColumn(name, "real", is_key=True) for name in ("y", "y end", "x", "x end")]
    told = (*columns_of, ResultColumn("count", "real", is_key=False))
    keys = [rows.ravel(), rows.ravel() + 1, columns.ravel(), columns.ravel() + 1]
    listed = ColumnRows([*keys, counts.ravel().astype(float)], counts.size)
    nothing = ColumnRows([None] * 5, counts.size)
    result = QueryResult(told, listed, nothing, nothing, Fraction(19, 20), True, PureDP(1), "rows")
    return PlaceMap(result, HEATMAP, places)


def square(name: Any, south: float, west: float, side: float, *holes: tuple[float, float, float]) -> dict[str, Any]:
    """Return a square with square holes."""
    rings = [
        [[x, y], [x + wide, y], [x + wide, y + wide], [x, y + wide], [x, y]]
        for y, x, wide in ((south, west, side), *holes)
    ]
    return {
        "type": "Feature",
        "properties": {"name": name, "kind": "district"},
        "geometry": {"type": "Polygon", "coordinates": rings},
    }


def collection(*features: dict[str, Any]) -> dict[str, Any]:
    """Return a file."""
    return {"type": "FeatureCollection", "features": list(features)}


def test_sums_are_those_of_the_middles_that_lie_inside() -> None:
    counts = np.random.default_rng().integers(0, 50, (16, 12))
    file = collection(square("ring", 0, 0, 40, (10, 10, 20)), square("over", 20, 20, 35), square("afar", 900, 900, 5))
    found = heat(counts).by_region(file)
    wanted = {"ring": 0, "over": 0, "afar": 0}
    for row in range(16):
        for column in range(12):
            y, x = 5 * row + 2.5, 5 * column + 2.5
            if y < 40 and x < 40 and not (10 <= y < 30 and 10 <= x < 30):
                wanted["ring"] += counts[row, column]
            elif 20 <= y < 55 and 20 <= x < 55:
                wanted["over"] += counts[row, column]
    assert dict(zip(found.column("region"), found.column("count"), strict=True)) == pytest.approx(wanted)
    assert found.column("cells")[0] == 64 - 16
    filled = RegionFile.read(file, PLANE).geojson(found)
    assert filled["features"][0]["properties"]["kind"] == "district"
    assert filled["features"][0]["properties"]["count"] == pytest.approx(wanted["ring"])
    assert "count" not in file["features"][0]["properties"]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (collection(), "one or more"),
        (collection(square("a", 0, 0, 5), square("a", 9, 9, 5)), "different name"),
        (collection(square(None, 0, 0, 5)), "property 'name'"),
        ({"type": "Point"}, "GeoJSON"),
        ("{", "GeoJSON"),
    ],
)
def test_bad_files_are_refused(file: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        heat(np.zeros((4, 4))).by_region(file)


def test_zones_have_no_regions_and_boxes_of_any_size_do() -> None:
    with pytest.raises(InvalidParameter, match="zones"):
        RegionFile.read(collection(square("a", 0, 0, 5)), Places(zones=("from", "to")))
    world = Places(("lat", "lon"), box=(-50.0, -170.0, 70.0, 170.0))
    found = heat(np.ones((12, 34)), world).by_region(collection(square("a", 0, 0, 20)))
    assert found.column("count") == (4.0,)


def test_a_map_shows_borders_within_the_box_and_escapes_names(tmp_path: Path) -> None:
    names = "</title><script>x()</script>", "ring & over"
    file = collection(square(names[0], -900, -900, 920), square(names[1], 20, 20, 35, (25, 25, 9)))
    shown = RegionCounts(heat(np.ones((16, 12))).by_region(file), RegionFile.read(file, PLANE), PLANE)
    page = shown.save(tmp_path / "map.html").read_text()
    assert "<script" not in page
    assert not re.search("(src|href)=", page)
    assert shown.save(tmp_path / "map.geojson").read_text().count('"count"') == 2
    # The first square begins 900 m outside: its border is cut where the box ends.
    [borders] = re.findall(r' d="(M[^"]*)" fill="none"', shown.save(tmp_path / "map.svg").read_text())
    assert all(0 <= float(number) <= 1000 for number in re.findall(r"-?[0-9.]+", borders))


def test_lines_are_cut_at_the_edges() -> None:
    assert clipped([(-1.0, 0.5), (2.0, 0.5)], (0.0, 0.0), (1.0, 1.0), (0.1, 0.1)) == [[(0.0, 0.5), (1.0, 0.5)]]
    around = [(0.5, 0.5), (0.5, 2.0), (0.7, 2.0), (0.7, 0.5)]
    assert clipped(around, (0.0, 0.0), (1.0, 1.0), (0.1, 0.1)) == [[(0.5, 0.5), (0.5, 1.0)], [(0.7, 1.0), (0.7, 0.5)]]
    assert clipped([(5.0, 5.0), (6.0, 6.0)], (0.0, 0.0), (1.0, 1.0), (0.1, 0.1)) == []
