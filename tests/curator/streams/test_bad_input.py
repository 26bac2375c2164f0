"""Bad input of a stream, one by one: an error before any budget, or the rule that the schema states."""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
import tracemalloc
import zoneinfo
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from dither.curator.card import release_card
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.curator.streams.book import Book
from dither.data.schema import DataSet
from dither.data.ticks import Ticks
from dither.errors import BudgetExceeded, InvalidParameter, StreamUnavailable
from dither.privacy import ApproxDP, PureDP
from dither.publish.streams.examples import clinic_stream

START = datetime.datetime(2025, 1, 1)
HUGE = 10**5
COUNT = "SELECT COUNT(*) AS n FROM visits"


def row(at: Any, cost: Any = 1) -> dict[str, Any]:
    return {"person": "ann", "at": at, "site": "east", "cost": cost}


def hour(number: float) -> datetime.datetime:
    return START + datetime.timedelta(hours=number)


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as made:
        yield made


def session_on(curator: Curator, dataset: DataSet, budget: Any = None) -> Session:
    curator.add(dataset, budget=budget or PureDP(9 * HUGE))
    return curator.session(dataset.name, analyst="ana")


@pytest.fixture
def session(curator: Curator) -> Session:
    return session_on(curator, clinic_stream(persons=False))


def counts(stream: Any) -> list[Any]:
    return list(stream.answers().column("n", raw=True))


def test_rows_come_in_any_order_and_count_in_their_own_ticks(session: Session) -> None:
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE, released="tick")) as stream:
        stream.feed([row(hour(3.5)), row(hour(0.5)), row(hour(3))])
        stream.feed([row(hour(1))])
        stream.release()
        assert counts(stream) == [1, 1, 0, 2]


def test_rows_before_the_start_and_after_the_end_do_not_count_and_an_empty_tick_is_released(session: Session) -> None:
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE, released="tick")) as stream:
        stream.feed([row(hour(-0.01)), row(hour(4)), row(hour(10**5)), row(datetime.datetime(1, 1, 1))])
        assert len(stream.release().rows) == 4
        assert counts(stream) == [0, 0, 0, 0]


@pytest.mark.parametrize("horizon", [0, -1, 2**26, 1.5])
def test_a_horizon_of_nothing_is_refused(session: Session, horizon: Any) -> None:
    with pytest.raises(InvalidParameter, match="horizon"):
        session.stream("s", COUNT, epsilon=1, horizon=horizon)
    with pytest.raises(InvalidParameter, match="horizon"):
        Ticks("at", 3600, START, horizon)
    assert session.balance().releases == 0


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
#: The last hour before clocks are put forward in Berlin, the next one, and one in the year's first moments.
ZONED = [
    datetime.datetime(2025, 3, 30, 1, 30, tzinfo=BERLIN),
    datetime.datetime(2025, 3, 30, 3, 30, tzinfo=BERLIN),
    datetime.datetime(1, 1, 1, tzinfo=BERLIN),
]


def frames_of(moments: list[Any]) -> dict[str, Any]:
    """Return the same rows in every form that can be fed."""
    rows = [row(moment) for moment in moments]
    late = [moment for moment in moments if moment.year > 1]
    kept = pandas.DataFrame([row(None) for _ in late]).assign(at=pandas.DatetimeIndex(late))
    arrow = pyarrow.Table.from_pylist([row(moment) for moment in late])
    return {
        "list": rows,
        "objects": pandas.DataFrame(rows).assign(at=pandas.Series(moments, dtype=object)),
        "pandas": kept,
        "polars": polars.from_arrow(arrow),
        # One cell that is of no type of Polars makes objects of all moments.
        "polars objects": polars.DataFrame([row(None) for _ in (*late, 0)]).with_columns(
            polars.Series("at", [*late, object()], dtype=polars.Object)
        ),
        "arrow": arrow,
        "batch": arrow.to_batches()[0],
    }


@pytest.mark.parametrize("form", list(frames_of(ZONED)))
def test_moments_with_a_zone_are_instants(curator: Curator, form: str) -> None:
    """01:30 and 03:30 in Berlin are 00:30 and 01:30 UTC in the night in which clocks are put forward."""
    dataset = clinic_stream(persons=False)
    spring = replace(dataset.tables[0], stream=Ticks("at", 3600, datetime.datetime(2025, 3, 30), 4))
    session = session_on(curator, replace(dataset, tables=(spring,)))
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE, released="tick")) as stream:
        stream.feed(frames_of(ZONED)[form])
        with pytest.raises(InvalidParameter, match="zone"):
            stream.release(now=datetime.datetime(2025, 4, 2, tzinfo=BERLIN))
        stream.release()
        assert counts(stream) == [1, 1, 0, 0]


def test_days_have_24_hours() -> None:
    """Berlin's 30 March 2025 has 23; these are ticks of 24."""
    daily = Ticks("at", 86_400, datetime.datetime(2025, 3, 29), 4)
    assert [daily.begin(tick).hour for tick in range(4)] == [0, 0, 0, 0]


def test_a_row_or_zone_that_raises_is_no_row_and_says_nothing_of_others(session: Session) -> None:
    class Loud(datetime.tzinfo):
        def utcoffset(self, moment: Any) -> Any:
            raise RuntimeError("what a zone says")

    class Masked:
        @property
        def __class__(self) -> Any:  # type: ignore[override]
            raise RuntimeError("what a row says of its class")

    rows = [row(hour(0)), Masked(), row(hour(0).replace(tzinfo=Loud())), row(hour(1))]
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE, released="tick")) as stream:
        stream.feed(rows)
        stream.release()
        assert counts(stream) == [1, 1, 0, 0]


@pytest.mark.parametrize(
    "empty", [pandas.DataFrame(), pandas.DataFrame({"at": [], "site": []}), polars.DataFrame(), []]
)
def test_an_hour_without_rows_is_fed_like_any_other(session: Session, empty: Any) -> None:
    """A frame without rows has types that a library made up; to refuse them would tell that there are none."""
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE)) as stream:
        assert stream.feed(empty, batch="none")
        stream.release(1)
        assert counts(stream) == [0]


@pytest.mark.parametrize(
    ("method", "how"),
    [
        ("release", {"now": pandas.NaT}),
        ("release", {"now": START.date()}),
        ("feed", {"rows": [], "batch": "half \ud800"}),
        ("feed", {"rows": [], "batch": ""}),
        ("answers", {"end": "all"}),
        ("answers", {"end": -1}),
    ],
    ids=str,
)
def test_odd_words_are_one_clear_error(session: Session, method: str, how: dict[str, Any]) -> None:
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE)) as stream:
        with pytest.raises(InvalidParameter, match=list(how)[-1]):
            getattr(stream, method)(**how)
        assert stream.released == 0


def test_a_clock_at_the_first_of_all_moments_releases_nothing(curator: Curator) -> None:
    dataset = clinic_stream(persons=False)
    waits = replace(dataset.tables[0], stream=Ticks("at", 3600, START, 4, watermark=600))
    session = session_on(curator, replace(dataset, tables=(waits,)))
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE)) as stream:
        assert len(stream.release(now=datetime.datetime.min).rows) == 0


def test_one_long_id_takes_no_room_of_others(curator: Curator) -> None:
    """The fingerprint of a batch sorts people by their ids: an array of texts would have the longest in each row."""
    dataset = clinic_stream(persons=True)
    columns = tuple(replace(one, length=2**16) if one.name == "person" else one for one in dataset.tables[0].columns)
    session = session_on(curator, replace(dataset, tables=(replace(dataset.tables[0], columns=columns),)))
    rows = [{**row(hour(0)), "person": f"p{number}"} for number in range(200)]
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE)) as stream:
        stream.feed([], batch="warm")
        tracemalloc.start()
        try:
            assert stream.feed([{**rows[0], "person": "x" * 2**16}, *rows], batch="one")
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most < 200 * 2**16
        assert not stream.feed([*reversed(rows), {**rows[0], "person": "x" * 2**16}], batch="one")


def test_missing_numbers_are_nothing(session: Session) -> None:
    text = "SELECT SUM(cost) AS n FROM visits"
    with contextlib.closing(session.stream("s", text, epsilon=HUGE, released="tick")) as stream:
        odd = (float("nan"), float("inf"), -float("inf"), None, "much", 2)
        stream.feed([row(hour(0), cost) for cost in odd])
        stream.release(1)
        assert counts(stream)[0] in (2, 5)


def test_a_tick_is_not_closed_before_its_watermark(curator: Curator) -> None:
    dataset = clinic_stream(persons=False)
    table = dataset.tables[0]
    assert table.stream is not None
    waiting = replace(dataset, tables=(replace(table, stream=replace(table.stream, watermark=600)),))
    with contextlib.closing(session_on(curator, waiting).stream("s", COUNT, epsilon=HUGE)) as stream:
        with pytest.raises(InvalidParameter, match="may be released from 2025-01-01 01:10:00 UTC on"):
            stream.release(1, now=hour(1) + datetime.timedelta(minutes=9))
        assert len(stream.release(1, now=hour(1) + datetime.timedelta(minutes=10)).rows) == 1
        with pytest.raises(InvalidParameter, match="not before tick 0"):
            stream.release(now=hour(0.5))


def test_a_stream_is_open_once(session: Session) -> None:
    for kept in ("exact", "noisy"):
        with contextlib.closing(session.stream(kept, COUNT, epsilon=1, kept=kept)):
            with pytest.raises(StreamUnavailable, match="open already"):
                session.stream(kept)
            with contextlib.closing(session.stream(kept, only_read=True)) as reading:
                assert reading.released == 0


@pytest.mark.parametrize("kept", ["exact", "noisy"])
def test_a_full_disk_in_the_middle_of_a_tick_answers_nothing_and_loses_nothing_durable(
    session: Session, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE, kept=kept)) as stream:
        stream.feed([row(hour(0))])
        stream.release(1)

        def full(*_: Any) -> bytes:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as torn:
            torn.setattr(Book, "packed", staticmethod(full))
            with pytest.raises(StreamUnavailable, match="cannot be written"):
                stream.release(2)
        assert (stream.released, counts(stream)) == (1, [1])
        assert len(stream.release(2).rows) == 1
        assert counts(stream) == [1, 1]


def test_a_budget_says_why_it_has_no_room(curator: Curator) -> None:
    session = session_on(curator, clinic_stream(persons=False), ApproxDP(1, "1e-6"))
    with pytest.raises(
        BudgetExceeded,
        match=r"rho is short: at most rho = 0\.0\d+ would fit; with Laplace",
    ):
        session.stream("s", COUNT, rho=1)
    assert session.long_lived().streams == ()


def test_a_card_says_how_much_of_a_person_counts(curator: Curator) -> None:
    session = session_on(curator, clinic_stream(persons=True))
    limits = release_card(session.dataset, curator.ledger)["privacy_loss"]["contribution_limits"]
    assert limits["ticks_of_visits"] == {
        "rows_per_tick": 2,
        "ticks_per_person": 2,
        "ticks_between": 2,
        "tick_seconds": 3600,
        "ticks": 4,
    }
