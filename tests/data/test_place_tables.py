"""Places in a schema: what is refused, by name, and what is written is read back."""

from __future__ import annotations

from typing import Any

import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.files import dump_schema, loads
from dither.data.place_tables import Places
from dither.data.schema import person_unit
from dither.errors import InvalidParameter

BOX = (52.0, 13.0, 53.0, 14.0)
COLUMNS = (
    Column("who", Kind.INTEGER),
    Column("lat", Kind.REAL),
    Column("lon", Kind.INTEGER),
    Column("trip", Kind.TEXT),
    Column("when", Kind.TIMESTAMP),
    Column("zone", Kind.TEXT, categories=("a", "b")),
    Column("other", Kind.INTEGER, lower=1, upper=3),
)


def journeys(**changed: Any) -> DataSet:
    words: dict[str, Any] = {"at": ("lat", "lon"), "box": BOX} | changed
    table = Table("points", COLUMNS, "points.csv", person="who", places=Places(**words))
    return DataSet("points", (table,), person_unit("who"), rows=9)


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"coordinates": "metres", "box": (-5.0, 1e6, 5.5, 1.5e6), "outside": "clamp"},
        {"trip": "trip", "time": "when", "trips": 3, "points": 40},
        {"at": (), "box": (), "zones": ("zone", "other")},
        {"to": ("other", "who")},
    ],
)
def test_places_are_read_as_they_were_written(words: dict[str, Any]) -> None:
    dataset = journeys(**words)
    assert loads(dump_schema(dataset)) == dataset


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"at": ()}, "zones in their place"),
        ({"zones": ("zone", "other")}, "zones in their place"),
        ({"at": ("lat",)}, "two different columns"),
        ({"at": ("lat", "lat")}, "two different columns"),
        ({"box": ()}, "four finite numbers"),
        ({"box": (52.0, 13.0, float("nan"), 14.0)}, "four finite numbers"),
        ({"box": (113.0, 52.0, 114.0, 53.0)}, "latitude first"),
        ({"box": (52.0, -181.0, 53.0, 14.0)}, "between -180 and 180"),
        ({"box": (52.0, 170.0, 53.0, -170.0)}, "date line"),
        ({"box": (52.0, 13.0, 52.0, 14.0)}, "area above 0"),
        ({"coordinates": "feet"}, "'degrees' or 'metres'"),
        ({"outside": "ignore"}, "'drop' or 'clamp'"),
        ({"trip": "trip"}, "set together with time"),
        ({"trip": "trip", "time": "when", "trips": 3}, "set exactly if"),
        ({"trip": "trip", "time": "when", "trips": 0, "points": 4}, "trips"),
        ({"to": ("lat", "other")}, "other than those"),
        ({"at": ("lat", "long")}, "one of its columns"),
        ({"at": ("lat", "trip")}, "real numbers or integers"),
        ({"at": (), "box": (), "zones": ("zone", "who")}, "with categories"),
        ({"trip": "lat", "time": "when", "trips": 3, "points": 4}, "text or integers"),
        ({"trip": "trip", "time": "zone", "trips": 3, "points": 4}, "numbers, dates or timestamps"),
        ({"at": (), "box": (), "zones": ("zone", "other"), "trip": "trip"}, "not allowed where zones"),
    ],
)
def test_what_is_no_place_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        journeys(**words)


def test_a_public_table_has_no_places() -> None:
    with pytest.raises(InvalidParameter, match="public table"):
        Table("points", COLUMNS, "points.csv", is_public=True, places=Places(("lat", "lon"), BOX))
