"""Ticks: where a moment lies, when a tick may be released, and what a schema may say of a stream."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import Column, DataSet, Kind, Table, wire
from dither.data.files import dump_schema, loads
from dither.data.ticks import Ticks, seconds_of, words_of
from dither.errors import InvalidParameter, InvalidSchema
from dither.privacy import ROW

START = datetime.datetime(2025, 1, 1)
HOURLY = Ticks("at", 3600, START, 24, watermark=600)
SCHEMA = """
dataset: clinic
unit: {unit}
{limits}
tables:
  visits:
    source: visits.csv
    {person}
    stream: {stream}
    columns:
      who: text
      at: timestamp
"""


def schema(stream: str, *, persons: bool = False) -> str:
    """Return a schema with one stream."""
    unit, limits, person = ("person", "contribution: {rows: 1}", "privacy id: who") if persons else ("row", "", "")
    return SCHEMA.format(unit=unit, limits=limits, person=person, stream=stream)


@given(
    st.integers(1, 10_000),
    st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)),
    st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2300, 1, 1)),
)
def test_a_moment_lies_between_the_beginnings_of_its_tick_and_the_next(
    seconds: int, start: datetime.datetime, moment: datetime.datetime
) -> None:
    ticks = Ticks("at", seconds, start)
    number = ticks.number(moment)
    assert ticks.begin(number) <= moment < ticks.begin(number + 1)
    assert ticks.numbers(np.array([moment], dtype="datetime64[us]")).tolist() == [number]


def test_a_tick_may_be_released_a_watermark_after_its_end_and_never_beyond_the_horizon() -> None:
    minute = datetime.timedelta(minutes=1)
    for moment, closed in (
        (START - 100 * minute, 0),
        (START + 69 * minute, 0),
        (START + 70 * minute, 1),
        (START + 129 * minute, 1),
        (START + 130 * minute, 2),
        (START + 10_000 * minute, 24),
    ):
        assert HOURLY.closed(moment) == closed


@given(st.integers(0, 10**7))
def test_lengths_are_read_back_as_they_are_written(seconds: int) -> None:
    assert seconds_of(words_of(seconds)) == seconds


@pytest.mark.parametrize("words", ["1 month", "hour and a half", "-1 hour", "1.5 hours", "", "3 fortnights"])
def test_what_has_no_fixed_length_is_not_a_tick(words: str) -> None:
    assert seconds_of(words) is None


@pytest.mark.parametrize(
    ("changed", "parameter"),
    [
        ({"seconds": 0}, "tick"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2**26}, "horizon"),
        ({"start": START.replace(tzinfo=datetime.UTC)}, "start"),
        ({"start": None}, "start"),
        ({"watermark": -1}, "watermark"),
        ({"late": "never"}, "late"),
        ({"rows": 2}, "limits of the stream"),
        ({"ticks": 2}, "limits of the stream"),
        ({"gap": 2}, "limits of the stream"),
        ({"rows": 1, "ticks": 1, "gap": 0}, "ticks between"),
        ({"rows": 0, "ticks": 1}, "rows per tick"),
    ],
)
def test_what_is_not_a_stream_is_refused(changed: dict[str, Any], parameter: str) -> None:
    given_to: dict[str, Any] = {"time": "at", "seconds": 3600, "start": START, "horizon": 24}
    with pytest.raises(InvalidParameter, match=parameter):
        Ticks(**{**given_to, **changed})


@pytest.mark.parametrize(
    ("stream", "persons"),
    [
        ("{time: at, tick: 1 hour, start: 2025-01-01T00:00:00}", False),
        ("{time: at, tick: 15 minutes, start: 2025-01-01, horizon: 9, watermark: 90 seconds, late: next}", False),
        ("{time: at, tick: 1 day, start: 2025-01-01, rows per tick: 2, ticks per person: 5}", True),
        ("{time: at, tick: 1 day, start: 2025-01-01, rows per tick: 2, ticks per person: 5, ticks between: 7}", True),
    ],
)
def test_a_stream_is_read_back_as_it_is_written(stream: str, persons: bool) -> None:
    dataset = loads(schema(stream, persons=persons))
    assert dataset.tables[0].stream is not None
    assert loads(dump_schema(dataset)) == dataset
    assert wire.loads(wire.dumps(dataset)) == dataset


@pytest.mark.parametrize(
    ("stream", "persons", "says"),
    [
        ("{time: at, tick: 1 month, start: 2025-01-01}", False, "tick .line"),
        ("{time: who, tick: 1 hour, start: 2025-01-01}", False, "stream"),
        ("{time: at, start: 2025-01-01}", False, "tick"),
        ("{time: at, tick: 1 hour, start: soon}", False, "start"),
        ("{time: at, tick: 1 hour, start: 2025-01-01, rows per tick: 1, ticks per person: 2}", False, "person"),
        ("{time: at, tick: 1 hour, start: 2025-01-01}", True, "person"),
        ("{time: at, tick: 1 hour, start: 2025-01-01, horizont: 3}", False, "did you mean 'horizon'"),
    ],
)
def test_a_schema_says_what_is_wrong_with_a_stream(stream: str, persons: bool, says: str) -> None:
    with pytest.raises(InvalidSchema, match=says):
        loads(schema(stream, persons=persons))


def test_the_limit_of_a_person_in_a_stream_is_one_of_ticks() -> None:
    """Which rows of all are kept would depend on rows that are yet to come."""
    text = schema("{time: at, tick: 1 hour, start: 2025-01-01, rows per tick: 1, ticks per person: 2}", persons=True)
    with pytest.raises(InvalidSchema, match="set rows per tick and ticks per person instead"):
        loads(text.replace("privacy id: who", "privacy id: who\n    rows per person: 1"))


def test_a_text_without_a_stream_is_what_it_was() -> None:
    table = Table("visits", (Column("at", Kind.TIMESTAMP),), "visits.csv")
    assert "stream" not in wire.dumps(DataSet("clinic", (table,), ROW))
