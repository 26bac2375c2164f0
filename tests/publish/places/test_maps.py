"""Maps: contour lines, GeoJSON, pages without a network, and advice."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dither.data.place_tables import Places
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.privacy import PureDP
from dither.publish.histograms import IdentityHistogram
from dither.publish.places.contours import checked_levels, contour_lines
from dither.publish.places.examples import journey_data
from dither.publish.places.planning import plan_heat, public_error
from dither.publish.places.recommending import recommended
from dither.publish.places.shown import HEATMAP, JOURNEYS, PlaceMap
from dither.publish.queries import QueryResult, ResultColumn

BERLIN = Places(("lat", "lon"), (52.0, 13.0, 53.0, 14.0))


def heat_map(counts: np.ndarray, places: Places = BERLIN) -> PlaceMap:
    """Return a map of counts that somebody released."""
    (south, north), (west, east) = places.sides
    rows, columns = counts.shape
    table = []
    for row in range(rows):
        for column in range(columns):
            ends = (south + (north - south) * row / rows, south + (north - south) * (row + 1) / rows)
            sides = (west + (east - west) * column / columns, west + (east - west) * (column + 1) / columns)
            table.append((*ends, *sides, float(counts[row, column])))
    names = ("lat_from", "lat_to", "lon_from", "lon_to")
    keys = tuple(ResultColumn(name, "real", is_key=True) for name in names)
    nothing = tuple((None,) * 5 for _ in table)
    told = (*keys, ResultColumn("count", "real", is_key=False))
    result = QueryResult(told, tuple(table), nothing, nothing, Fraction(19, 20), True, PureDP(1), "people")
    return PlaceMap(result, HEATMAP, places)


def test_a_level_below_the_error_of_a_cell_is_dashed_and_the_key_has_the_error() -> None:
    counts = np.zeros((4, 4))
    counts[1, 1], counts[2, 2] = 9.0, 60.0
    bare = heat_map(counts)
    ends = [tuple((*(None,) * 4, max(row[4] + side, 0.0)) for row in bare.result.rows) for side in (-12.4, 12.4)]
    sure = PlaceMap(replace(bare.result, low=ends[0], high=ends[1]), HEATMAP, BERLIN)
    drawn = sure.chart(levels=[5, 50])
    assert "a cell is within ± 13 (95 %)" in drawn.body
    assert "Dashed lines are below the error of a cell" in drawn.description
    # One line in the key and one on the map.
    assert drawn.body.count('stroke-dasharray="5 3"') == 2
    assert [line["properties"] for line in sure.geojson(levels=[5, 50])["features"]] == [
        {"count": 5.0, "below_error": True},
        {"count": 50.0, "below_error": False},
    ]
    unknown = bare.chart(levels=[5, 50])
    assert "within" not in unknown.body
    assert "dasharray" not in unknown.body


def test_every_crossing_of_a_level_is_on_one_closed_line() -> None:
    rng = np.random.default_rng()
    for _ in range(30):
        density = rng.normal(0, 1, (7, 9))
        above = np.pad(density, 1) >= 0.4
        crossings = int((above[1:] != above[:-1]).sum() + (above[:, 1:] != above[:, :-1]).sum())
        lines = contour_lines(density, 0.4)
        assert all(line[0] == line[-1] for line in lines)
        assert sum(len(line) - 1 for line in lines) == crossings


def test_a_line_lies_where_the_slope_says() -> None:
    slope = np.tile(np.arange(10.0), (10, 1))
    (line,) = contour_lines(slope, 4.25)
    inside = [column for row, column in line if 0 <= row <= 9 and column < 8]
    assert inside
    assert inside == pytest.approx([4.25] * len(inside))
    peaks = np.zeros((5, 5))
    peaks[1, 1] = peaks[2, 2] = 1.0
    assert len(contour_lines(peaks, 0.6)) == 2, "a saddle below the level keeps two peaks apart"
    assert len(contour_lines(peaks, 0.4)) == 1


@pytest.mark.parametrize("levels", [[], [0], [-1], [1, 1], [float("nan")], [float("inf")], ["x"], [True], [1] * 65])
def test_levels_are_different_finite_numbers_above_0(levels: list[object]) -> None:
    with pytest.raises(InvalidParameter, match="levels"):
        checked_levels(levels)


def test_geojson_has_longitude_first_and_leaves_out_empty_cells() -> None:
    counts = np.zeros((2, 4))
    counts[1, 3] = 7
    shown = heat_map(counts)
    (cell,) = shown.geojson()["features"]
    assert cell["properties"] == {"count": 7.0}
    assert cell["geometry"]["coordinates"][0][0] == [13.75, 52.5]
    (line,) = shown.geojson(levels=[3.5])["features"]
    assert line["geometry"]["type"] == "MultiLineString"
    assert [13.875, 52.5] in line["geometry"]["coordinates"][0], "half way from the middle of the cell below"


def test_a_hundred_thousand_cells_are_a_small_page_that_loads_nothing(tmp_path: Path) -> None:
    counts = np.random.default_rng().integers(0, 2000, (316, 317)).astype(float)
    shown = heat_map(counts)
    page = shown.save(tmp_path / "map.html").read_text()
    assert len(page) < 5 * 10**6
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace('http-equiv="Content-Security', "")
    small = heat_map(counts[:9, :9])
    json.loads(small.save(tmp_path / "map.geojson").read_text())
    assert "in a cell" in small.save(tmp_path / "map.svg", levels=[500, 1500]).read_text()
    with pytest.raises(InvalidParameter, match="ending in"):
        shown.save(tmp_path / "map.tif")


def test_maps_of_nothing_and_of_journeys_are_drawn() -> None:
    assert "<svg" in heat_map(np.zeros((3, 3))).chart().svg()
    names = ("trip", "place", "lat", "lon")
    rows = ((0, 0, 52.1, 13.1), (0, 1, 52.2, 13.2), (1, 0, 52.5, 13.5))
    columns = tuple(ResultColumn(name, "real", is_key=True) for name in names)
    nothing = ((None,) * 4,) * 3
    result = QueryResult(columns, rows, nothing, nothing, Fraction(1, 2), False, PureDP(1), "people")
    drawn = PlaceMap(result, JOURNEYS, BERLIN)
    lines = [one["geometry"]["coordinates"] for one in drawn.geojson()["features"]]
    assert lines == [[[13.1, 52.1], [13.2, 52.2]], [[13.5, 52.5], [13.5, 52.5]]]
    assert "journeys" in drawn.chart().svg()
    with pytest.raises(InvalidParameter, match="heat map"):
        drawn.contours([1])


def test_advice_is_the_nearest_of_the_crowded_cells() -> None:
    counts = np.zeros((10, 10))
    counts[5, 5], counts[5, 6], counts[9, 9] = 100, 90, 300
    found = recommended(heat_map(counts), (52.55, 13.55), within=20_000)
    assert [advice.count for advice in found] == [100, 90]
    assert found[1].metres == pytest.approx(0.1 * 111_195 * np.cos(np.radians(52.55)), rel=0.01)
    assert [advice.count for advice in recommended(heat_map(counts), (52.55, 13.55), within=10**5, most=1)] == [100]
    with pytest.raises(InvalidParameter, match="finite coordinates"):
        recommended(heat_map(counts), (float("nan"), 13.0), within=1)


def test_a_heat_map_has_a_count_for_every_cell() -> None:
    dataset = journey_data(person_unit("who"))
    with pytest.raises(InvalidParameter, match="every cell"):
        plan_heat(dataset, dataset.tables[0], PureDP(1), grid=8, method="sparse-histogram")


def test_a_heat_map_takes_the_method_whose_public_error_is_smaller() -> None:
    """For cells unless rectangles are asked for. On coarse grids squares lose for both."""
    dataset = journey_data(person_unit("who"))
    for grid, questions, name in (
        (16, None, "identity-histogram"),
        (64, None, "identity-histogram"),
        (64, "cells", "identity-histogram"),
        (8, "rectangles", "identity-histogram"),
        (96, "rectangles", "pruned-plane"),
        (300, "rectangles", "pruned-plane"),
    ):
        for loss in (PureDP("1/5"), PureDP(2)):
            made = plan_heat(dataset, dataset.tables[0], loss, grid=grid, questions=questions).mechanism
            assert made.method.name == name
    for words in ({"questions": "circles"}, {"questions": "cells", "method": "identity"}):
        with pytest.raises(InvalidParameter, match="questions"):
            plan_heat(dataset, dataset.tables[0], PureDP(1), grid=8, **words)


def test_the_public_error_of_rectangles_is_that_of_their_noise() -> None:
    """Of plain noise: its deviation times the root of the mean number of cells."""
    plain = IdentityHistogram(shape=(4, 4), node=DiscreteGaussian(sigma=3))
    spans = [1, 1, 1, 1, 2, 2, 2, 3, 3, 4]  # ends at 0, 1, 2, 3 and 4
    area = np.mean([one * other for one in spans for other in spans])
    assert public_error(plain, "rectangles") == pytest.approx(3 * np.sqrt(area))
    assert public_error(plain, "cells") == pytest.approx(3)
