"""Cells of regions: as a slow reading with exact fractions has them, whatever the borders do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data.places import Box, Extent, RegionMap, read_regions, region_map
from dither.errors import InvalidParameter

_CORNER = st.tuples(st.integers(-3, 11), st.integers(-3, 11))
_RING = st.lists(_CORNER, min_size=3, max_size=6)
_REGIONS = st.lists(st.lists(_RING, min_size=1, max_size=2), min_size=1, max_size=4)
_PLANE = Extent.of(0, 0, 8, 8, plane=True)


def file_of(regions: list[Any]) -> dict[str, Any]:
    """Return GeoJSON of lists of rings of (east, north)."""
    features = [
        {
            "type": "Feature",
            "properties": {"name": f"region {number}"},
            "geometry": {"type": "Polygon", "coordinates": [[*map(list, ring), list(ring[0])] for ring in rings]},
        }
        for number, rings in enumerate(regions)
    ]
    return {"type": "FeatureCollection", "features": features}


def slow_region(regions: list[Any], north: Fraction, east: Fraction) -> int:
    """Return the first region of whose borders an odd number lie to the east, the lower end counting."""
    for number, rings in enumerate(regions):
        crossed = 0
        for ring in rings:
            for (x, y), (next_x, next_y) in zip(ring, [*ring[1:], ring[0]], strict=True):
                if min(y, next_y) <= north < max(y, next_y):
                    crossed += east < x + (north - y) / Fraction(next_y - y) * (next_x - x)
        if crossed % 2:
            return number
    return -1


@given(_REGIONS, st.sampled_from([(1, 1), (4, 8), (16, 2)]))
def test_cells_are_those_of_a_slow_reading(regions: list[Any], shape: tuple[int, int]) -> None:
    """Middles are multiples of a quarter of a metre: exact in steps."""
    found = region_map(read_regions(file_of(regions), _PLANE), shape)
    rows, columns = shape
    wanted = [
        slow_region(regions, Fraction(8 * (2 * row + 1), 2 * rows), Fraction(8 * (2 * column + 1), 2 * columns))
        for row in range(rows)
        for column in range(columns)
    ]
    assert found.cells.tolist() == wanted
    assert found.sizes.tolist() == [wanted.count(number) for number in range(len(regions))]


@pytest.mark.parametrize(
    ("box", "far"),
    [
        (Extent.of(-90, -180, 90, 180), (180, 90)),
        (Extent.of(-(2**24), -(2**24), 2**24, 2**24, plane=True), (2**24, 2**24)),
    ],
)
def test_places_and_cells_agree_on_the_largest_areas(box: Extent, far: tuple[int, int]) -> None:
    """Products of steps pass 64 bits in the plane. Corners and middles are exact in steps."""
    rng = np.random.default_rng()
    corners = [[[(int(x), int(y)) for x, y in rng.integers(-np.array(far), far, (7, 2))]] for _ in range(3)]
    rows, columns = 16, 32
    up = [-far[1] + Fraction(far[1] * (2 * row + 1), rows) for row in range(rows)]
    along = [-far[0] + Fraction(far[0] * (2 * column + 1), columns) for column in range(columns)]
    slow = [slow_region(corners, north, east) for north in up for east in along]
    regions = read_regions(file_of(corners), box)
    assert region_map(regions, (rows, columns)).cells.tolist() == slow
    flat = [float(north) for north in up for _ in along], [float(east) for _ in up for east in along]
    assert regions.region_of(*flat).tolist() == slow


def test_a_box_is_an_extent_and_large_ones_have_regions() -> None:
    square = [[(0, 0), (10, 0), (10, 10), (0, 10)]]
    assert region_map(read_regions(file_of([square]), Box.of(0, 0, 20, 20, plane=True)), (2, 2)).numbers == (0, -1)
    with pytest.raises(InvalidParameter, match="swapped"):
        Extent.of(-122, 37, -121, 38)
    with pytest.raises(InvalidParameter, match="date line"):
        Extent.of(10, 170, 20, -170)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"names": ()}, "1 to"),
        ({"names": ("a", "a")}, "its own name"),
        ({"shape": (4, 2**20)}, "at most"),
        ({"shape": (4,)}, "two coordinates"),
        ({"starts": (1, 2)}, "ascending"),
        ({"starts": (0, 0)}, "ascending"),
        ({"starts": (0, 8)}, "ascending"),
        ({"numbers": (0,)}, "each run"),
        ({"numbers": (0, 2)}, "each run"),
        ({"numbers": (0, -2)}, "each run"),
    ],
)
def test_maps_check_themselves(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        RegionMap(**{"names": ("a", "b"), "shape": (2, 4), "starts": (0, 3), "numbers": (0, -1), **words})


def test_borders_that_would_take_too_long_are_refused() -> None:
    zigzag = [(place % 7, (place % 2) * 8) for place in range(9000)]
    regions = read_regions(file_of([[zigzag]]), _PLANE)
    with pytest.raises(InvalidParameter, match="fewer corners"):
        region_map(regions, (1024, 1024))
    assert region_map(regions, (4, 4)).cells.size == 16
    with pytest.raises(InvalidParameter, match="at most"):
        region_map(regions, (2**11, 2**10))
