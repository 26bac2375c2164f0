"""``dither add checkins.csv``: the wizard asks for places, proposes no box, and writes the schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.cli import curate
from dither.data.files import load_schema
from dither.data.place_tables import Places
from dither.data.suggest import suggest
from tests.cli.test_curate import home, record, run
from tests.cli.test_owners import typed

__all__ = ["home"]

VISITS = "user_id,lat,lng\n" + "".join(f"{who},52.{40 + who % 9},13.4\n" for who in range(20))


@pytest.fixture(autouse=True)
def screen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curate, "is_screen", lambda: True)


def test_a_check_in_file_becomes_places(home: Path) -> None:
    (home / "visits.csv").write_text(VISITS)
    answers = (
        "", "", "", "3", "",  # columns, whose, and how many rows and groups
        "lat", "lat, user_name", "",  # the position, proposed by its name
        "feet", "",
        "", "y", "?", "13, 52, 14", "13.1, 52.3, 13.8, 52.7", "52.3, 13.8, 52.7, 13.1", "52.3, 13.1, 52.7, 13.8",
        "n",  # no trips
        "1", "y",
    )  # fmt: skip
    shown = run("add", "visits.csv", text=typed(*answers))
    for words in (
        "lat, lng (from the name)", "not two columns", "not 'degrees' or 'metres'", "nothing is proposed: type a value",
        "would publish where the outermost people are", "not four numbers", "date line", "swapped?",
        "dither places visits heatmap --epsilon 0.1",
    ):  # fmt: skip
        assert words in shown, words
    schema = load_schema(home / "visits.yaml")
    assert schema.table("visits").places == Places(("lat", "lng"), (52.3, 13.1, 52.7, 13.8))
    assert schema.rows == 3
    assert record("places", "visits", "heatmap", "--epsilon", "0.5", "--grid", "2")["rows"]


def test_trips_and_journeys_are_asked_for(home: Path) -> None:
    (home / "rides.csv").write_text("pickup_lat,pickup_lon,dropoff_lat,dropoff_lon\n52.5,13.4,52.6,13.3\n")
    box = "52.3, 13.1, 52.7, 13.8"
    run("add", "rides.csv", "--budget", "1", text=typed("", "", "row", "", "", box, "", "y"))
    rides = load_schema(home / "rides.yaml").table("rides")
    assert rides.places == Places(
        ("pickup_lat", "pickup_lon"), (52.3, 13.1, 52.7, 13.8), to=("dropoff_lat", "dropoff_lon")
    )
    (home / "tracks.csv").write_text(
        "user,trip,when,y,x\na,1,2024-01-01 10:00:00,5.5,6.5\na,1,2024-01-01 10:01:00,9,9\n"
    )
    answers = (
        "", "", "user", "40", "", "", "", "0, 0, 100, 100", "", "", "0", "2", "20",  # the time is text by now
        "public 3", "20", "y",
    )  # fmt: skip
    shown = run("add", "tracks.csv", "--budget", "1", text=typed(*answers))
    assert "not an integer from 1" in shown
    places = load_schema(home / "tracks.yaml").table("tracks").places
    assert places == Places(
        ("y", "x"), (0.0, 0.0, 100.0, 100.0), coordinates="metres", trip="trip", time="when", trips=2, points=20
    )


def test_positions_that_are_left_out_are_numbers(home: Path) -> None:
    (home / "visits.csv").write_text(VISITS)
    answers = ("2 range 50..60; 3 range 10..20", "", "", "", "3", "", "n")
    run("add", "visits.csv", "--budget", "1", text=typed(*answers, "y"))
    table = load_schema(home / "visits.yaml").table("visits")
    assert table.places is None
    assert table.column("lat").lower == 50


def test_a_draft_says_how_places_are_declared(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(VISITS)
    assert "# places: {at: [lat, lng], box: [SOUTH, WEST, NORTH, EAST]}" in suggest(tmp_path / "visits.csv").text
    (tmp_path / "rides.csv").write_text("from_y,from_x,to_y,to_x\n")
    drafted = suggest(tmp_path / "rides.csv").text
    assert "{at: [from_y, from_x], to: [to_y, to_x], box: [SOUTH, WEST, NORTH, EAST], coordinates: metres}" in drafted
    (tmp_path / "shop.csv").write_text("id,cost\n")
    assert "places:" not in suggest(tmp_path / "shop.csv").text.replace("'places:", "")
