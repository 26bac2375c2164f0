"""Bad input of a stream, one by one: an error before any budget, or the rule that the schema states."""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def test_moments_with_a_zone_are_instants_and_days_have_24_hours(session: Session) -> None:
    """An hour that clocks skip, or have twice, is an hour: 01:30 in Berlin is 00:30 UTC in winter."""
    berlin = datetime.timezone(datetime.timedelta(hours=1))
    with contextlib.closing(session.stream("s", COUNT, epsilon=HUGE, released="tick")) as stream:
        stream.feed([row(datetime.datetime(2025, 1, 1, 1, 30, tzinfo=berlin)), row("2025-01-01T02:30:00+01:00")])
        with pytest.raises(InvalidParameter, match="zone"):
            stream.release(now=datetime.datetime(2025, 1, 2, tzinfo=berlin))
        stream.release()
        assert sum(counts(stream)) == counts(stream)[0] + counts(stream)[1]
    daily = Ticks("at", 86_400, datetime.datetime(2025, 3, 29), 4)
    # Berlin's 30 March 2025 has 23 hours; these are ticks of 24.
    assert [daily.begin(tick).hour for tick in range(4)] == [0, 0, 0, 0]


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
    assert session.streams() == ()


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
