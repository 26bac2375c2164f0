"""Places through a session: heat maps, flows and synthetic journeys, priced first and charged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither import Curator
from dither.errors import InvalidParameter
from dither.privacy import PureDP
from dither.testing.city import city_trips

POINTS = """
dataset: city
unit: person
contribution: {rows: 30}
tables:
  points:
    source: points.csv
    privacy id: who
    places:
      at: [lat, lon]
      box: [50.0, 10.0, 50.1, 10.1]
      trip: trip
      time: when
      trips per person: 1
      points per trip: 30
    columns:
      who: {kind: integer}
      trip: {kind: integer}
      when: {kind: integer}
      lat: {kind: real}
      lon: {kind: real}
"""
RIDES = """
dataset: rides
unit: row
tables:
  rides:
    source: rides.csv
    places: {zones: [from_zone, to_zone]}
    columns:
      from_zone: {kind: text, categories: [a, b, c]}
      to_zone: {kind: text, categories: [a, b, c]}
  moves:
    source: moves.csv
    places: {at: [y, x], to: [to_y, to_x], box: [0, 0, 1000, 1000], coordinates: metres}
    columns: {y: {kind: real}, x: {kind: real}, to_y: {kind: real}, to_x: {kind: real}}
"""


def schema(text: str, folder: Path) -> Path:
    (folder / "schema.yaml").write_text(text)
    return folder / "schema.yaml"


def test_a_map_and_journeys_of_a_city(curator: Curator, folder: Path) -> None:
    trips = city_trips(300, side=10, longest=30)
    lines = ["who,trip,when,lat,lon"]
    for person, trip in enumerate(trips.tolist()):
        for when, cell in enumerate(cell for cell in trip if cell >= 0):
            lines.append(f"{person},1,{when},{50 + (cell // 10 + 0.5) / 100},{10 + (cell % 10 + 0.5) / 100}")
    (folder / "points.csv").write_text("\n".join(lines))
    curator.add(schema(POINTS, folder), budget=PureDP(10**6))
    true = np.bincount(trips[trips >= 0], minlength=100).reshape(10, 10)
    with curator.session("city") as session:
        places = session.places()
        assert "would cost epsilon = 1" in str(session.quote(session.offer.places().heatmap(epsilon=1)))
        shown = places.heatmap(epsilon=10**5, grid=10, key="map")
        assert shown.density == pytest.approx(true, abs=0.01)
        again = places.heatmap(epsilon=10**5, grid=10, key="map")
        assert again.result.rows == shown.result.rows
        assert shown.contours([float(true.max()) / 2])
        drawn = places.synthesize(epsilon=10**5, grid=10, length=30)
        assert len(drawn.geojson()["features"]) == 300
        assert any("300 to 300 journeys count (95%)" in note for note in drawn.result.notes)
        assert any("no known law" in note for note in drawn.result.notes)
        with pytest.raises(InvalidParameter, match="bounds in the schema"):
            session.offer.places().synthesize(epsilon=1, times=24)
        with pytest.raises(InvalidParameter, match="rows are trips"):
            places.flows(epsilon=1)
        with pytest.raises(InvalidParameter, match="not allowed with a grid"):
            places.heatmap(epsilon=1, grid=4, cell=100)
        # About 11.1 by 7.2 kilometres.
        wide = session.offer.places().heatmap(epsilon=1, cell=2000)
        assert wide.mechanism.source.shape == (6, 4)
        with pytest.raises(InvalidParameter, match="at most 48"):
            session.offer.places().synthesize(epsilon=1, grid=60)
        with pytest.raises(InvalidParameter, match="one of auto"):
            session.offer.places().synthesize(epsilon=1, method="nothing")


def test_journeys_begin_at_the_hours_of_true_ones(curator: Curator, folder: Path) -> None:
    """Noise is 0 but for a chance far below 1e-9."""
    lines = ["who,trip,when,lat,lon"]
    for person in range(40):
        hour = 7 if person < 30 else 18
        for step in range(3):
            lat = 50.005 + 0.01 * (step if hour == 7 else 8 - step)
            lines.append(f"{person},1,2026-03-{person % 28 + 1:02d} {hour:02d}:{59 - 2 * step}:00,{lat},10.005")
    (folder / "points.csv").write_text("\n".join(lines))
    curator.add(
        schema(POINTS.replace("when: {kind: integer}", "when: {kind: timestamp}"), folder), budget=PureDP(10**6)
    )
    with curator.session("city") as session:
        drawn = session.places().synthesize(epsilon=10**5, grid=10, length=30, times=24, key="timed")
        assert drawn.result.names == ("trip", "place", "lat", "lon", "start")
        told = drawn.geojson()["features"]
        assert len(told) == 40
        for one in told:
            is_early = one["geometry"]["coordinates"][0][1] < 50.05
            assert one["properties"]["start"] == ("07:00" if is_early else "18:00")
        again = session.places().synthesize(epsilon=10**5, grid=10, length=30, times=24, key="timed")
        assert again.result.rows == drawn.result.rows
        for method in ("markov", "hierarchy", "prefix-tree"):
            shown = session.places().synthesize(epsilon=1, method=method, times=12)
            assert shown.result.names[-1] == "start"


def test_flows_between_zones_and_between_cells(curator: Curator, folder: Path) -> None:
    (folder / "rides.csv").write_text("from_zone,to_zone\n" + "a,b\n" * 30 + "c,c\n" * 5 + "a,nowhere\n" * 3)
    (folder / "moves.csv").write_text("y,x,to_y,to_x\n" + "10,10,990,10\n" * 20 + "10,10,2000,10\n" + "5,5,,1\n")
    curator.add(schema(RIDES, folder), budget=PureDP(10**6))
    with curator.session("rides") as session:
        with pytest.raises(InvalidParameter, match="named: rides, moves"):
            session.places()
        found = session.places("rides").flows(epsilon=10**5)
        assert [(row[0], row[1], round(row[2])) for row in found.result.rows] == [("a", "b", 30), ("c", "c", 5)]
        with pytest.raises(InvalidParameter, match="zones have no positions"):
            found.geojson()
        by_region = session.places("rides").flows(epsilon=10**5, regions={"a": "west", "b": "west", "c": "east"})
        assert sum(row[2] for row in by_region.result.rows) == pytest.approx(35)
        with pytest.raises(InvalidParameter, match="without 'c'"):
            session.offer.places("rides").flows(epsilon=1, regions={"a": "west", "b": "west"})
        moves = session.places("moves").flows(epsilon=10**5, grid=2)
        assert [row[:4] for row in moves.result.rows] == [(250.0, 250.0, 750.0, 250.0)]
        assert moves.result.rows[0][4] == pytest.approx(20)
        line = moves.geojson()["features"][0]["geometry"]["coordinates"]
        assert line == [[250.0, 250.0], [250.0, 750.0]]
        assert "metres" in json.dumps(moves.geojson()["dither"])
        with pytest.raises(InvalidParameter, match="this one has zones"):
            session.offer.places("rides").heatmap(epsilon=1)


def square(name: Any, south: float, west: float, side: float, **told: str) -> dict[str, Any]:
    corners = [(west, south), (west + side, south), (west + side, south + side), (west, south + side), (west, south)]
    shape = {"type": "Polygon", "coordinates": [[list(corner) for corner in corners]]}
    return {"type": "Feature", "properties": {"name": name, **told}, "geometry": shape}


def test_public_regions_are_counted_and_flows_between_them_agree(curator: Curator, folder: Path) -> None:
    (folder / "rides.csv").write_text("from_zone,to_zone\na,b\n")
    rows = "10,10,990,10\n" * 20 + "600,600,990,10\n" * 7 + "300,700,10,10\n" * 4 + "10,10,2000,10\n5,5,,1\nnan,1,1,1\n"
    (folder / "moves.csv").write_text("y,x,to_y,to_x\n" + rows)
    curator.add(schema(RIDES, folder), budget=PureDP(10**6))
    corners = [square("south west", 0, 0, 500, half="west"), square("north west", 500, 0, 500, half="west")]
    tree = {"type": "FeatureCollection", "features": [*corners, square("Ost 東", 0, 500, 1000, half="east")]}
    with curator.session("rides") as session:
        places = session.places("moves")
        found = places.regions(tree, epsilon=10**4)
        assert [(row[0], round(row[1])) for row in found.result.rows] == [
            ("south west", 22),
            ("north west", 0),
            ("Ost 東", 11),
        ]
        assert found.result.low[0][1] <= 22 <= found.result.high[0][1]
        assert found.geojson()["features"][2]["properties"]["half"] == "east"
        flows = places.flows(regions=tree, within="half", epsilon=10**4)
        assert [(*row[:2], round(row[2])) for row in flows.result.rows] == [
            ("south west", "north west", 20),
            ("Ost 東", "south west", 4),
            ("Ost 東", "north west", 7),
        ]
        line = flows.geojson()["features"][0]["geometry"]["coordinates"]
        assert line == [[pytest.approx(250), pytest.approx(250)], [pytest.approx(250), pytest.approx(750)]]
        # The price is what is stated, whatever the file.
        offer = session.offer.places("moves").regions(tree, epsilon=1)
        assert str(offer.loss) == "epsilon = 1"
        refused: list[tuple[str, str, dict[str, Any], str]] = [
            ("moves", "regions", {}, "missing a required argument: 'regions'"),
            ("moves", "regions", {"regions": "/etc/hosts"}, "an object"),
            ("moves", "regions", {"regions": tree, "within": "half"}, "unexpected keyword argument 'within'"),
            ("moves", "flows", {"within": "half"}, "only for flows"),
            ("moves", "flows", {"regions": tree, "within": ["half"]}, "a string"),
            ("moves", "regions", {"regions": tree, "named": ["name"]}, "a string"),
            ("moves", "flows", {"regions": tree, "within": "colour"}, "a property of each region"),
            ("moves", "heatmap", {"regions": tree}, "unexpected keyword argument 'regions'"),
            ("moves", "regions", {"regions": tree, "grid": 2048}, "at most"),
            ("rides", "regions", {"regions": tree}, "a table of positions"),
        ]
        for table, what, words, said in refused:
            with pytest.raises(InvalidParameter, match=said):
                session.offer.named(f"places.{what}", {"table": table, "epsilon": 1, **words})
