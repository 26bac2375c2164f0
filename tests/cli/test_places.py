"""``dither places``: a check-in file becomes a map with contour lines, and a trip file synthetic journeys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app

SCHEMA = """
dataset: town
unit: person
contribution: {rows: 4}
tables:
  visits:
    source: visits.csv
    privacy id: who
    places:
      at: [lat, lon]
      box: [52.0, 13.0, 52.1, 13.1]
      trip: who
      time: when
      trips per person: 1
      points per trip: 4
    columns:
      who: {kind: integer}
      when: {kind: integer}
      lat: {kind: real}
      lon: {kind: real}
"""


def area(name: str, south: float, north: float) -> dict[str, Any]:
    """Return a band of the town."""
    ring = [[13.0, south], [13.1, south], [13.1, north], [13.0, north], [13.0, south]]
    return {
        "type": "Feature",
        "properties": {"name": name},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


#: Two of ten rows of cells and, a row left out in the north, seven more.
HALVES = {"type": "FeatureCollection", "features": [area("south", 52.0, 52.02), area("north", 52.02, 52.09)]}


def test_a_town_is_mapped_and_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{who},{when},{52.005 + 0.01 * when},13.025" for who in range(40) for when in range(4)]
    Path("visits.csv").write_text(
        "\n".join(["who,when,lat,lon", *rows, "99,1,0,0", "98,1,nan,13", "97,1,13,52", "96,1,,"])
    )
    Path("town.yaml").write_text(SCHEMA)

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["--home", "home", *words])
        assert done.exit_code == 0, done.output
        return done.output

    CliRunner().invoke(app, ["init", "home"])
    assert "dither places town synthesize" in run("add", "town.yaml", "--budget", "1000000")
    exactly = ("--epsilon", "100000", "--grid", "10")
    quoted = run("places", "town", "heatmap", *exactly, "--quote")
    assert "would cost epsilon = 100000" in quoted
    assert "the largest absolute error of any entry is at most" in quoted
    run("places", "town", "heatmap", *exactly, "--levels", "10,30", "-o", "map.html", "--key", "map")
    assert "30 in a cell" in Path("map.html").read_text()
    told = run("places", "town", "heatmap", *exactly, "-o", "plain.html", "--key", "map").splitlines()
    ruler = next(place for place, line in enumerate(told) if line.startswith("---"))
    assert [round(float(line.split()[4])) for line in told[ruler + 1 : ruler + 6]] == [40, 40, 40, 40, 0]
    assert "the largest counts are first" in told
    assert "and more" in Path("plain.html").read_text()  # colours are explained without lines, too
    run("places", "town", "heatmap", *exactly, "-o", "map.geojson", "--key", "map")
    cells = json.loads(Path("map.geojson").read_text())["features"]
    assert [round(cell["properties"]["count"]) for cell in cells] == [40] * 4
    run("places", "town", "contour", *exactly, "--levels", "10", "-o", "lines.geojson", "--key", "map")
    (line,) = json.loads(Path("lines.geojson").read_text())["features"]
    assert line["geometry"]["type"] == "MultiLineString"
    Path("halves.geojson").write_text(json.dumps(HALVES))
    halves = (*exactly, "--key", "map", "--regions", "halves.geojson")
    run("places", "town", "heatmap", *halves, "-o", "filled.geojson")
    filled = json.loads(Path("filled.geojson").read_text())
    assert [round(area["properties"]["count"]) for area in filled["features"]] == [80, 80]
    assert [area["properties"]["cells"] for area in filled["features"]] == [20, 70]
    run("places", "town", "heatmap", *halves, "-o", "halves.csv")
    assert Path("halves.csv").read_text().splitlines()[1].startswith('"south",20,')
    run("places", "town", "heatmap", *halves, "-o", "halves.html")
    assert "<path" in Path("halves.html").read_text()
    counted = ("places", "town", "regions", "--epsilon", "10000", "--regions", "halves.geojson")
    assert "would cost epsilon = 10000" in run(*counted, "--quote")
    run(*counted, "-o", "counted.csv")
    lines = [line.split(",") for line in Path("counted.csv").read_text().replace('"', "").splitlines()[1:]]
    assert [(line[0], round(float(line[1]))) for line in lines] == [("south", 80), ("north", 80)]
    run(*counted, "-o", "counted.svg")
    stops = ("places", "town", "stops", "--epsilon", "10000", "--count", "4")
    assert "would cost epsilon = 10000" in run(*stops, "--quote")
    run(*stops, "-o", "stops.geojson")
    points = json.loads(Path("stops.geojson").read_text())["features"]
    assert len(points) == 4
    assert all(abs(point["geometry"]["coordinates"][0] - 13.025) < 0.002 for point in points)
    run(*stops, "-o", "stops.html")
    run("places", "town", "synthesize", *exactly, "-o", "trips.csv")
    assert len(Path("trips.csv").read_text().splitlines()) == 161
    refusals = (
        (["nowhere"], "one of heatmap, contour, regions, flows, synthesize, stops"),
        (["contour"], "required for contour (counts in a cell"),
        (["flows"], "rows are trips"),
        (["heatmap", "--levels", "0"], "above 0"),
        (["heatmap", "--levels", "a"], "separated by commas"),
        (["heatmap", "--grid", "9y"], "such as 64x48"),
        (["heatmap", "--length", "3"], "not allowed for heatmap: an option of "),
        (["heatmap", "--times", "24"], "not allowed for heatmap: an option of "),
        (["synthesize", "--times", "24"], "bounds in the schema"),
        (["heatmap", "--cell", "1"], "cell must be larger"),
        (["heatmap", "--count", "3"], "not allowed for heatmap: an option of "),
        (["stops", "--grid", "3"], "not allowed for stops: an option of heatmap, contour, regions, flows, synthesize"),
        (["stops", "--count", "0"], "n_clusters"),
        (["synthesize", "--cell", "3"], "not allowed for synthesize: an option of heatmap, "),
        (["synthesize", "--levels", "3"], "not allowed for synthesize: an option of heatmap, "),
        (["heatmap", "-o", "map.tif"], "ending in"),
        (["heatmap", "--regions", "none.geojson"], "can be read"),
        (["heatmap", "--regions", "town.yaml"], "GeoJSON"),
        (["regions"], "required for regions (public areas: a GeoJSON file, or its content)"),
        (["regions", "--regions", "halves.geojson", "--named", "title"], "property 'title'"),
        (
            ["regions", "--regions", "halves.geojson", "--within", "title"],
            "not allowed for regions: an option of flows",
        ),
        (["heatmap", "--within", "title"], "not allowed for heatmap: an option of flows"),
        (["flows", "--within", "title"], "only for flows between polygons"),
        (["heatmap", "--regions", "halves.geojson", "--levels", "3"], "not allowed with regions"),
        (["synthesize", "--regions", "halves.geojson"], "not allowed for synthesize: an option of heatmap, "),
    )
    for words, said in refusals:
        done = CliRunner().invoke(app, ["--home", "home", "places", "town", *words, "--epsilon", "1"])
        assert done.exit_code != 0
        assert said in str(done.exception), words


RIDES = """
dataset: rides
unit: row
tables:
  rides:
    source: rides.csv
    places: {zones: [start, end]}
    columns: {start: {kind: integer, bounds: [1, 3]}, end: {kind: integer, bounds: [1, 3]}}
  moves:
    source: moves.csv
    places: {at: [lat, lon], to: [to_lat, to_lon], box: [52.0, 13.0, 52.1, 13.1]}
    columns: {lat: real, lon: real, to_lat: real, to_lon: real}
"""


def test_flows_between_areas_and_zones_of_regions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rides.csv").write_text("start,end\n" + "1,3\n" * 40 + "2,1\n" * 9)
    Path("moves.csv").write_text("lat,lon,to_lat,to_lon\n" + "52.01,13.05,52.05,13.05\n" * 30)
    Path("rides.yaml").write_text(RIDES)
    Path("halves.geojson").write_text(json.dumps(HALVES))
    Path("zones.csv").write_text("1,west\n2,west\n3,east\n")
    CliRunner().invoke(app, ["init", "home"])
    CliRunner().invoke(app, ["--home", "home", "add", "rides.yaml", "--budget", "1000000"], catch_exceptions=False)

    def flows(*words: str) -> Any:
        return CliRunner().invoke(app, ["--home", "home", "places", "rides", "flows", "--epsilon", "10000", *words])

    done = flows("--table", "moves", "--regions", "halves.geojson", "-o", "flows.geojson", "--json")
    assert done.exit_code == 0, done.output
    (line,) = json.loads(Path("flows.geojson").read_text())["features"]
    assert round(line["properties"]["count"]) == 30
    assert flows("--table", "moves", "--regions", "halves.geojson", "-o", "flows.html").exit_code == 0
    done = flows("--table", "rides", "--regions", "zones.csv", "-o", "flows.csv")
    assert done.exit_code == 0, done.output
    counts = [float(line.split(",")[2]) for line in Path("flows.csv").read_text().splitlines()[1:]]
    assert sum(counts) == pytest.approx(49)
    for file, text in (("zones.csv", "1,west\n1,east\n"), ("zones.csv", "1,a,b\n"), ("none.csv", None)):
        if text is not None:
            Path(file).write_text(text)
        assert "a zone and its region in each line" in str(flows("--table", "rides", "--regions", file).exception)
    Path("zones.csv").write_text("1,west\n")
    assert "without 2" in str(flows("--table", "rides", "--regions", "zones.csv").exception)
