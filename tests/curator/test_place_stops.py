"""Stops: centres of clusters of positions that count; what lies outside, or nowhere, does not move them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither import Curator, PureDP
from dither.errors import InvalidParameter
from tests.curator.test_places import schema

TOWN = """
dataset: town
unit: person
contribution: {rows: 1}
tables:
  visits:
    source: places.csv
    privacy id: who
    places: {at: [lat, lon], box: [60.0, 10.0, 60.1, 10.4]}
    columns: {who: integer, lat: real, lon: real}
"""


def test_positions_that_count_nowhere_are_no_stops(curator: Curator, folder: Path) -> None:
    """Half of the rows are NULL, unknown or elsewhere: as numbers they would be read as the middle, or as an edge."""
    spots = [("60.02", "10.05")] * 60 + [("60.08", "10.35")] * 40
    odd = [("", "10.2"), ("nan", "nan"), ("0", "0"), ("10.2", "60.05"), ("61", "10.2")] * 20
    rows = [f"{who},{lat},{lon}" for who, (lat, lon) in enumerate([*spots, *odd])]
    (folder / "places.csv").write_text("\n".join(["who,lat,lon", *rows]))
    curator.add(schema(TOWN, folder), budget=PureDP(10**6))
    with curator.session("town") as session:
        assert "would cost epsilon = 1" in str(session.quote(session.offer.places().stops(3, epsilon=1)))
        found = session.places().stops(2, epsilon=10**4, key="stops")
        (_, *first, count), (_, *second, other) = found.result.rows
        assert first == pytest.approx([60.02, 10.05], abs=0.004)
        assert second == pytest.approx([60.08, 10.35], abs=0.004)
        assert [count, other] == pytest.approx([60, 40], abs=1)
        assert found.geojson()["features"][0]["geometry"]["type"] == "Point"
        assert "Where people stop" in found.page()
        # Outside the box, though within the square around it, is nowhere.
        for row in session.places().stops(5, epsilon="0.001").result.rows:
            assert 60 <= row[1] <= 60.1
            assert 10 <= row[2] <= 10.4
        with pytest.raises(InvalidParameter, match="algorithm"):
            session.offer.places().stops(2, epsilon=1, algorithm="nothing")
