"""Boxes, planes, cells and regions: exact, and never farther from the ellipsoid than they say."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import Kind, Name, wire
from dither.data.evaluation import evaluate
from dither.data.places import Box, CellGrid, read_regions
from dither.data.places.projection import LONGEST_SIDE, meridian_radius, parallel_radius
from dither.errors import InvalidParameter


def shortest_way(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the length of the geodesic on WGS 84, by Vincenty's series (Survey Review 23, 1975), to a millimetre."""
    axis, flat = 6_378_137.0, 1 / 298.257223563
    minor = axis * (1 - flat)
    up, down = (math.atan((1 - flat) * math.tan(math.radians(place[0]))) for place in (first, second))
    turn = wanted = math.radians(second[1] - first[1])
    for _ in range(200):
        across = math.hypot(
            math.cos(down) * math.sin(turn),
            math.cos(up) * math.sin(down) - math.sin(up) * math.cos(down) * math.cos(turn),
        )
        if across == 0:
            return 0.0
        along = math.sin(up) * math.sin(down) + math.cos(up) * math.cos(down) * math.cos(turn)
        angle = math.atan2(across, along)
        sine = math.cos(up) * math.cos(down) * math.sin(turn) / across
        square = 1 - sine * sine
        middle = along - 2 * math.sin(up) * math.sin(down) / square if square else 0.0
        c = flat / 16 * square * (4 + flat * (4 - 3 * square))
        before, turn = (
            turn,
            wanted + (1 - c) * flat * sine * (angle + c * across * (middle + c * along * (2 * middle * middle - 1))),
        )
        if abs(before - turn) < 1e-14:
            break
    u = square * (axis * axis - minor * minor) / minor**2
    big = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
    small = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
    delta = small * across * (
        middle
        + small / 4 * (
            along * (2 * middle**2 - 1)
            - small / 6 * middle * (4 * across**2 - 3) * (4 * middle**2 - 3)
        )
    )  # fmt: skip
    return minor * big * (angle - delta)


def box_around(latitude: float, longitude: float, kilometres: float) -> Box:
    up = 500 * kilometres / meridian_radius(latitude) * 180 / math.pi
    along = 500 * kilometres / parallel_radius(max(abs(latitude) - up, 0)) * 180 / math.pi
    return Box.of(latitude - up, longitude - along, latitude + up, longitude + along)


@given(
    st.floats(-59, 79),
    st.floats(-170, 170),
    st.sampled_from([1.0, 30.0, 199.0]),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
)
def test_distances_in_the_plane_enclose_the_shortest_way(
    latitude: float, longitude: float, kilometres: float, parts: list[float]
) -> None:
    try:
        box = box_around(latitude, longitude, kilometres)
    except InvalidParameter:  # an edge beyond the latitudes that are taken
        return
    south, west, north, east = box.edges
    places = np.array(
        [[south + int((north - south) * up), west + int((east - west) * along)] for up, along in (parts[:2], parts[2:])]
    )
    plane = box.projection.metres(places)
    away = float(np.hypot(*(plane[0] - plane[1])))
    true = shortest_way(*(tuple(place / 1e7) for place in places))
    low, high = box.projection.true_distance(away)
    assert low - 0.002 <= true <= high + 0.002


def test_the_known_length_of_a_geodesic_checks_the_check() -> None:
    # Vincenty's paper, line (a) on another ellipsoid is not WGS 84; this pair is from the manual of GeographicLib.
    assert abs(shortest_way((40.6, -73.8), (51.6, -0.5)) - 5_551_759.400) < 0.01


@pytest.mark.parametrize(("latitude", "most"), [(0, 0.01), (40, 0.025), (60, 0.05), (75, 0.11)])
def test_the_bound_is_small(latitude: float, most: float) -> None:
    stretch = box_around(latitude, 10, 199).projection
    assert float(stretch.most - 1) < most
    assert float(1 - stretch.least) < most
    near = box_around(latitude, 10, 10).projection
    assert float(near.most - near.least) < most / 9


def test_metres_are_exact_products() -> None:
    box = box_around(77.0, 20.0, 199.0)
    for place in (box.edges[:2], box.edges[2:], (900_000_000, 1_800_000_000), (-900_000_000, -1_800_000_000)):
        found = box.projection.metres(np.array(place))
        exact = [
            (place[1] - box.projection.centre[1]) * box.projection.east,
            (place[0] - box.projection.centre[0]) * box.projection.north,
        ]
        assert [Fraction(one) for one in found.tolist()] == exact


def test_records_survive_a_request() -> None:
    grid = CellGrid(Box.of("40.7", "-74.01", 40.8, -73.9), 3, 4)
    regions = read_regions(collection(feature("a", ring(0, 0, 9, 9))), _PLANE)
    for record in (grid, regions):
        assert wire.loads(wire.dumps(record)) == record


def test_places_come_back_from_the_plane() -> None:
    box = Box.of(40, -75, 41, -74)
    places = np.array([[405_000_123, -745_000_456], [400_000_000, -750_000_000]])
    assert np.abs(box.projection.place_of(box.projection.metres(places)) * 1e7 - places).max() < 1e-3


@pytest.mark.parametrize(
    ("edges", "word"),
    [
        ((40, -75, 90, -74), "swapped"),
        ((-80, -75, -70, -74), "swapped"),
        ((40, 179, 41, -179), "date line"),
        ((40, 179, 41, 181), "longitude"),
        ((40, -75, 40, -74), "below"),
        ((41, -75, 40, -74), "below"),
        ((40, -75, 40.000001, -74.999), "one metre"),
        ((40, -75, 42, -74), "200 km"),
        ((float("nan"), -75, 41, -74), "south"),
    ],
)
def test_odd_boxes_are_refused(edges: tuple[float, ...], word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        Box.of(*edges)


def test_a_plane_ends_somewhere() -> None:
    with pytest.raises(InvalidParameter, match="2\\^24"):
        Box.of(0, 0, 2**25, 10, plane=True)
    assert Box.of(0, 0, 2**24, 2**24, plane=True).projection.least == 1
    assert Box.of(0, 0, 1, 1).width < LONGEST_SIDE


def slow_cell(grid: CellGrid, place: tuple[int, int], clamps: bool) -> int:
    """Return the cell by looking at all of them."""
    south, west, north, east = grid.box.edges
    inside = south <= place[0] <= north and west <= place[1] <= east
    if not (inside or clamps):
        return -1
    up, along = min(max(place[0], south), north), min(max(place[1], west), east)
    rows = [n for n in range(grid.rows) if south + Fraction(n * (north - south), grid.rows) <= up]
    columns = [n for n in range(grid.columns) if west + Fraction(n * (east - west), grid.columns) <= along]
    return rows[-1] * grid.columns + columns[-1]


_BOX = Box.of("40.7", "-74.0", "40.70003", "-73.99995")


@given(
    st.integers(-40, 340),
    st.integers(-40, 540),
    st.sampled_from([(1, 1), (3, 7), (8, 8)]),
    st.sampled_from(["drop", "clamp"]),
)
def test_cells_of_arrays_and_expressions_agree_with_the_slow_way(
    up: int, along: int, shape: tuple[int, int], outside: str
) -> None:
    grid = CellGrid(_BOX, *shape)
    place = (_BOX.edges[0] + up, _BOX.edges[1] + along)
    degrees = (place[0] / 1e7, place[1] / 1e7)
    wanted = slow_cell(grid, place, outside == "clamp")
    assert grid.cell_of([degrees[0]], [degrees[1]], outside=outside).tolist() == [wanted]  # type: ignore[arg-type]
    assert _evaluated(grid, degrees, outside) == (None if wanted < 0 else wanted)


def _evaluated(grid: CellGrid, place: tuple[float | None, float | None], outside: str) -> object:
    asked = grid.cell_expression(Name("lat"), Name("lon"), outside=outside)  # type: ignore[arg-type]
    kinds = dict.fromkeys(("lat", "lon"), Kind.REAL)
    return evaluate(asked, {"lat": place[0], "lon": place[1]}, kinds)


@pytest.mark.parametrize("outside", ["drop", "clamp"])
@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e300, -1e300, 90.1, -181.0])
def test_what_is_not_a_place_has_no_cell(odd: float, outside: str) -> None:
    grid = CellGrid(_BOX, 3, 3)
    assert grid.cell_of([odd], [odd], outside=outside).tolist() == [-1]  # type: ignore[arg-type]
    stored = odd if math.isfinite(odd) else None
    assert _evaluated(grid, (stored, stored), outside) is None


def test_centres_lie_in_their_cells() -> None:
    for box in (Box.of(0, 0, 90, 70, plane=True), Box.of(40, -75, 41, -74)):
        grid = CellGrid(box, 7, 9)
        numbers = list(range(grid.cells))
        assert grid.cell_of_metres(grid.centres()).tolist() == numbers
        middles = box.projection.place_of(grid.centres())
        assert grid.cell_of(middles[:, 0], middles[:, 1]).tolist() == numbers
        south, west, north, east = grid.outline(grid.cells - 1)
        assert grid.cell_of([south + 1e-6, north], [west + 1e-6, east]).tolist() == [grid.cells - 1] * 2


def test_grids_are_refused_before_rows_are_read() -> None:
    with pytest.raises(InvalidParameter, match="cells"):
        CellGrid(Box.of(0, 0, 9000, 9000, plane=True), 5000, 5000)
    with pytest.raises(InvalidParameter, match="step"):
        CellGrid(_BOX, 900, 1)
    with pytest.raises(InvalidParameter, match="drop or clamp"):
        CellGrid(_BOX, 1, 1).cell_of([0], [0], outside="keep")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="metres"):
        CellGrid.of_side(_BOX, 0)


def feature(name: object, *rings: object, kind: str = "Polygon") -> dict[str, object]:
    return {"type": "Feature", "properties": {"name": name}, "geometry": {"type": kind, "coordinates": list(rings)}}


def ring(west: float, south: float, east: float, north: float) -> list[list[float]]:
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def collection(*features: object) -> dict[str, object]:
    return {"type": "FeatureCollection", "features": list(features)}


_PLANE = Box.of(0, 0, 20, 20, plane=True)


def test_regions_have_holes_and_overlap_by_rule() -> None:
    holed = feature("holed", ring(0, 0, 10, 10), ring(4, 4, 6, 6))
    later = feature("later", ring(3, 3, 15, 15))
    regions = read_regions(collection(holed, later), _PLANE)
    found = regions.region_of([1, 5, 3.5, 12, 19, 30], [1, 5, 3.5, 12, 19, 30])
    assert found.tolist() == [0, 1, 0, 1, -1, -1]


def test_a_common_border_belongs_to_exactly_one_side() -> None:
    slant = [[0, 0], [10, 0], [13, 20], [0, 20], [0, 0]]
    other = [[10, 0], [20, 0], [20, 20], [13, 20], [10, 0]]
    regions = [read_regions(collection(feature("one", shape)), _PLANE) for shape in (slant, other)]
    along = np.linspace(0, 19.99, 500)
    up, east = np.meshgrid(along, np.concatenate([along, 10 + along * 3 / 20]))
    flat = (up.ravel(), east.ravel())
    both = [one.region_of(*flat) >= 0 for one in regions]
    assert (both[0] ^ both[1])[flat[1] < 20].all()


def test_numbers_are_names_too() -> None:
    regions = read_regions(collection(feature("west", ring(0, 0, 10, 20)), feature(7, ring(10, 0, 20, 10))), _PLANE)
    assert regions.names == ("west", "7")


@pytest.mark.parametrize(
    ("tree", "word"),
    [
        ({"type": "Point"}, "collection"),
        (collection(), "one or more"),
        (collection(feature("a", ring(0, 0, 1, 1)), feature("a", ring(0, 0, 1, 1))), "different name"),
        (collection(feature(None, ring(0, 0, 1, 1))), "property"),
        (collection(feature("a", ring(0, 0, 1, 1), kind="Point")), "Polygon"),
        (collection(feature("a", ring(0, 0, 1, 1)[:4])), "closed"),
        (collection(feature("a", [["x"]])), "longitude"),
        (collection(feature("a", ring(0, 0, float("nan"), 1))), "longitudes"),
        (collection("a"), "property"),
        (collection(feature("a", [[10**400, 0], [1, 0], [1, 1], [10**400, 0]])), "numbers"),
        (collection(feature("a", [["0", 0], [1, 0], [1, 1], ["0", 0]])), "numbers"),
        (collection(feature("a", [[True, 0], [1, 0], [1, 1], [True, 0]])), "numbers"),
        (collection(feature("a", [[0], [1, 0], [1, 1], [0]])), "numbers"),
        (collection(feature(10**5000, ring(0, 0, 1, 1))), "Unicode"),
        (collection(feature("half \ud800", ring(0, 0, 1, 1))), "Unicode"),
        (collection(feature("", ring(0, 0, 1, 1))), "property"),
        (collection(feature("a" * 300, ring(0, 0, 1, 1))), "Unicode"),
        (collection(feature("a", kind="MultiPolygon")), "one or more rings"),
        ("{", "GeoJSON"),
        ("no/such/file", "file"),
    ],
)
def test_odd_regions_are_refused(tree: object, word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        read_regions(tree, _PLANE)  # type: ignore[arg-type]


def test_a_file_may_begin_with_a_mark_and_corners_have_heights(tmp_path: Path) -> None:
    high = [[*corner, 500] for corner in ring(0, 0, 10, 10)]
    (tmp_path / "areas.geojson").write_text("\ufeff" + json.dumps(collection(feature("a", high))), encoding="utf-8")
    assert read_regions(tmp_path / "areas.geojson", _PLANE).region_of([5, 15], [5, 5]).tolist() == [0, -1]


def test_swapped_corners_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="before latitudes"):
        read_regions(collection(feature("a", ring(40, -122, 41, -121))), Box.of(37, -123, 38, -122))
