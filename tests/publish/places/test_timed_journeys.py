"""Journeys with times: beginnings by block and part of time, and drawn journeys that begin when true ones did."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.data import Column, Kind
from dither.data.places.trips import Trips
from dither.errors import InvalidParameter, InvalidValue
from dither.lift.start_times import MOST_PARTS, StartTimes
from dither.mechanisms.core.release import perform
from dither.privacy import PureDP
from dither.publish.places import JourneySynthesis, TimedJourneys
from dither.publish.places.timed_journeys import beginnings
from dither.publish.places.walks import Plane


def build(loss: Any) -> JourneySynthesis:
    return JourneySynthesis.calibrated(loss, shape=(4, 4), length=5)


def test_beginnings_are_counted_as_slowly() -> None:
    rng, plane = np.random.default_rng(), Plane(4, 6)
    began, origins = rng.integers(-2, 5, 500), rng.integers(-2, 26, 500)
    blocks = plane.blocks(2)
    wanted = Counter(
        (int(blocks[cell]), int(part))
        for part, cell in zip(began, origins, strict=True)
        if 0 <= cell < 24 and 0 <= part < 3
    )
    found = beginnings(began, origins, blocks, plane, (4, 3))
    assert {tuple(place): int(found[tuple(place)]) for place in np.argwhere(found).tolist()} == dict(wanted)


def test_journeys_begin_when_those_of_their_block_did() -> None:
    """Noise is 0, and a block has times of its own, but for a chance far below 1e-9."""
    rows = np.array([[0, 0, 1, 2, 3]] * 60 + [[2, 15, 14, 13, 12]] * 40 + [[9, 5, 6, 7, 7]] * 10)
    drawn = perform(TimedJourneys.calibrated(PureDP(10**12), build=build, times=3), rows, stability=1)
    assert drawn.shape == (110, 6)
    assert {int(row[0]) for row in drawn if row[1] == 0} == {0}
    assert {int(row[0]) for row in drawn if row[1] == 15} == {2}
    flat = rows[:, 1:].ravel()
    trips = Trips(flat, np.arange(0, flat.size, 4), rows[:, 0])
    again = perform(TimedJourneys.calibrated(PureDP(10**12), build=build, times=3), trips, stability=1)
    assert Counter(map(tuple, again.tolist())) == Counter(map(tuple, drawn.tolist()))


def test_no_journeys_and_no_times_are_no_error() -> None:
    method = TimedJourneys.calibrated(PureDP(1000), build=build, times=24)
    assert perform(method, np.zeros((0, 3), dtype=np.int64), stability=1).shape[1] == 6
    nobody = Trips(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert perform(method, nobody, stability=1).shape[1] == 6
    with pytest.raises(InvalidValue, match="a part of time"):
        perform(method, np.zeros((3, 1), dtype=np.int64), stability=1)


def test_parts_of_the_day_are_those_of_the_calendar() -> None:
    start, rng = datetime.datetime(1970, 1, 1), np.random.default_rng()
    moments = [start + datetime.timedelta(microseconds=int(one)) for one in rng.integers(-(2**55), 2**55, 300)]
    moments += [datetime.datetime(2026, 3, 25), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)]
    numbers = [(moment - start) // datetime.timedelta(microseconds=1) for moment in moments]
    hours = StartTimes(Column("time", Kind.TIMESTAMP), 24)
    assert hours.of(numbers, len(numbers)).tolist() == [moment.hour for moment in moments]
    assert hours.of(np.array(numbers), len(numbers)).tolist() == [moment.hour for moment in moments]
    masked = np.ma.masked_array(np.array(numbers), mask=np.arange(len(numbers)) == 0)
    assert hours.of(masked, len(numbers)).tolist()[:2] == [-1, moments[1].hour]
    assert hours.labels[7] == "07:00"


@pytest.mark.parametrize("odd", [None, "x", True, 2**63, 10**30, float("nan"), float("inf"), -1.0, 10.5])
def test_what_is_no_time_begins_in_no_part(odd: Any) -> None:
    parts = StartTimes(Column("minute", Kind.REAL, lower=0.0, upper=10.0), 5)
    assert parts.of([odd, 10.0], 2).tolist() == [-1, 4]
    if isinstance(odd, float):
        assert parts.of(np.array([odd, 0.0]), 2).tolist() == [-1, 0]
    assert parts.of(None, 3).tolist() == [-1, -1, -1]


def test_parts_of_dates_and_numbers_lie_between_the_bounds() -> None:
    march = Column("day", Kind.DATE, lower=datetime.date(2026, 3, 1), upper=datetime.date(2026, 3, 31))
    days = StartTimes(march, 3)
    first = (datetime.date(2026, 3, 1) - datetime.date(1970, 1, 1)).days
    assert days.of([first - 1, first, first + 10, first + 30, first + 31], 5).tolist() == [-1, 0, 1, 2, -1]
    assert days.labels == ["2026-03-01", "2026-03-11", "2026-03-21"]
    assert StartTimes(Column("km", Kind.INTEGER, lower=0, upper=100), 4).labels == [0.0, 25.0, 50.0, 75.0]


def test_parts_without_public_ends_are_refused() -> None:
    plain = Column("when", Kind.INTEGER)
    for column, parts in (
        (plain, 24),
        (Column("when", Kind.DATE), 4),
        (Column("n", Kind.REAL, lower=1.0, upper=1.0), 2),
    ):
        with pytest.raises(InvalidParameter, match="bounds in the schema"):
            StartTimes(column, parts)
    stamps = Column("time", Kind.TIMESTAMP)
    for parts in (0, 1, True, 24.0, "24", MOST_PARTS + 1, 7):
        with pytest.raises(InvalidParameter, match="times"):
            StartTimes(stamps, parts)  # type: ignore[arg-type]
