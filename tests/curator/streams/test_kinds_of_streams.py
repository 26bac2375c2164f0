"""Streams of every kind through the door: truth, what survives, what is lost by rule, and what is said about it."""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.long_lived import book_paths
from dither.curator.session import Session
from dither.curator.streams.book import Book
from dither.curator.streams.seizable import SEIZABLE
from dither.curator.streams.stream import KIND
from dither.data.schema import DataSet
from dither.errors import InvalidParameter, StreamUnavailable
from dither.privacy import ApproxDP, PureDP
from dither.publish.streams.examples import clinic_stream
from dither.verbs.offers import Offers
from dither.verbs.streams import ticked_of

START = datetime.datetime(2025, 1, 1)
#: So much that no noise is left: answers are compared with the truth.
HUGE = 10**5
COUNTS = "SELECT site, COUNT(*) AS n FROM visits GROUP BY site"
COUNT = "SELECT COUNT(*) AS n FROM visits"


def row(hour: int, site: str = "east", cost: int = 1) -> dict[str, Any]:
    return {"person": "ann", "at": START + datetime.timedelta(hours=hour, minutes=5), "site": site, "cost": cost}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as made:
        yield made


def session_on(curator: Curator, dataset: DataSet) -> Session:
    curator.add(dataset, budget=PureDP(9 * HUGE))
    return curator.session(dataset.name, analyst="ana")


@pytest.fixture
def session(curator: Curator) -> Session:
    return session_on(curator, clinic_stream(persons=False, horizon=6))


def test_decayed_sums_go_on_after_a_restart(session: Session) -> None:
    rows = [row(0)] * 8 + [row(2)] * 4
    with contextlib.closing(session.stream("d", COUNT, epsilon=HUGE, released="decayed", decay="1/2")) as stream:
        stream.feed(rows)
        stream.release(2)
    with contextlib.closing(session.stream("d")) as again:
        again.release(4)
        assert again.answers().column("n", raw=True) == (8, 4, 6, 3)
        assert "1/2 times" in str(again)


def test_quantiles_go_on_after_a_restart(session: Session) -> None:
    text = "SELECT site, cost, COUNT(*) AS n FROM visits GROUP BY site, cost"
    how: dict[str, Any] = {"released": "quantiles", "ranks": ["1/2", 1]}
    with contextlib.closing(session.stream("q", text, epsilon=HUGE, **how)) as stream:
        stream.feed([row(0, cost=cost) for cost in (0, 2, 3)] + [row(1, cost=0)] * 3 + [row(1, "west", 1)])
        stream.release(1)
    with contextlib.closing(session.stream("q")) as again:
        found = again.release(2)
        assert [value[1:] for value in found.rows] == [("east", 0, 3), ("west", 1, 1)]
        assert again.answers(0, 1).rows[0][1:] == ("east", 2, 3)
        assert "again and again" not in again.picture("p50").alone()


def test_a_list_goes_on_after_a_restart(session: Session) -> None:
    how: dict[str, Any] = {"released": "top", "top": 1, "changes": 1, "threshold": 2}
    with contextlib.closing(session.stream("t", COUNTS, epsilon=HUGE, **how)) as stream:
        stream.feed([row(0)] + [row(1, "west")] * 9 + [row(2)] * 99)
        stream.release(1)
    with contextlib.closing(session.stream("t")) as again:
        again.release(3)
        assert [value[1:] for value in again.answers().rows] == [(1, "east"), (1, "west"), (1, "west")]
        again.picture()


def test_a_stream_without_a_horizon_goes_on_and_on(curator: Curator) -> None:
    dataset = clinic_stream(persons=False)
    table = dataset.tables[0]
    assert table.stream is not None
    endless = replace(dataset, tables=(replace(table, stream=replace(table.stream, horizon=None)),))
    session = session_on(curator, endless)
    for released in ("running", "tick"):
        with contextlib.closing(session.stream(released, COUNT, epsilon=HUGE, released=released)) as stream:
            stream.feed([row(0), row(70), row(70)])
            stream.release(60)
            with pytest.raises(InvalidParameter, match="at most"):
                stream.release(2**25)
        with contextlib.closing(session.stream(released)) as again:
            assert not again.is_closed
            assert again.release(71).column("n", raw=True)[-1] == (3 if released == "running" else 2)
            assert "no end is known" in str(again)
    known = session.quote(session.offer.stream(COUNT, epsilon=1, horizon=10))
    assert known.loss == PureDP(1)
    with pytest.raises(InvalidParameter, match="horizon"):
        session.offer.stream(COUNT, epsilon=1, horizon=0)


def test_an_answer_that_a_power_failure_took_is_the_same_again(session: Session) -> None:
    """Answers after the first two do not wait for the disk: what is lost of them follows from what is frozen."""
    with contextlib.closing(session.stream("hourly", COUNTS, epsilon="1/10")) as stream:
        stream.feed([row(hour) for hour in range(5)])
        sent = [stream.release(tick).rows for tick in range(1, 6)]
    path, key = book_paths(session, "streams", "hourly")
    with contextlib.closing(sqlite3.connect(path)) as rows, rows:
        rows.execute("DELETE FROM answers WHERE number >= 2")
    # Marks may be lost with it, since they are forced now and then.
    marks = key.with_suffix(".ticks")
    marks.write_bytes(marks.read_bytes()[:100])
    with contextlib.closing(session.stream("hourly")) as again:
        assert again.released == 2
        assert again.release(5).rows == sum((tuple(one) for one in sent[2:]), ())


def test_the_disk_is_waited_for_once_a_tick(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[bool] = []
    plain = Book._transaction

    def counted(book: Book, *, waits: bool = True) -> Any:
        waited.append(waits)
        return plain(book, waits=waits)

    with contextlib.closing(session.stream("hourly", COUNT, epsilon=HUGE)) as stream:
        stream.release(2)
        monkeypatch.setattr(Book, "_transaction", counted)
        for tick in range(3, 7):
            stream.release(tick)
    assert waited == [True, False] * 4


def test_what_is_noisy_keeps_answers_alone(session: Session) -> None:
    with contextlib.closing(session.stream("n", COUNTS, epsilon=HUGE, kept="noisy")) as stream:
        assert stream.feed([row(0), row(0, "west"), row(1)], batch="one")
        assert not stream.feed([row(0)], batch="one")
        assert stream.release(1).column("n", raw=True) == (1, 1)
        stream.feed([row(0), row(1)], batch="two")
        assert SEIZABLE in str(stream)
        assert stream.to_dict()["kind"] == SEIZABLE
    path, key = book_paths(session, "streams", "n")
    with contextlib.closing(Book(path, key)) as book:
        assert (book.frozen, book.answered, book.waiting()) == (1, 1, [])
        with contextlib.closing(sqlite3.connect(path)) as rows:
            ((sealed,),) = rows.execute("SELECT frozen FROM ticks").fetchall()
            assert rows.execute("SELECT count(*) FROM people").fetchone() == (0,)
        assert book.seal.open_bytes("tick 0", sealed) == b""
    with contextlib.closing(session.stream("n")) as again:
        # The process has ended: what was fed of the open tick is lost, by rule, and stays lost.
        assert not again.feed([row(1)], batch="two")
        assert again.feed([row(1, "west")], batch="three")
        assert again.release(2).column("n", raw=True) == (1, 2)
        assert again.answers(0, 1).column("n", raw=True) == (1, 1)
    assert session.balance().spent.pure == HUGE


def test_a_tick_of_a_noisy_stream_is_answered_once(session: Session) -> None:
    """A book from a backup would answer a tick again, with other noise."""
    import shutil

    path, _ = book_paths(session, "streams", "n")
    with contextlib.closing(session.stream("n", COUNT, epsilon=1, kept="noisy")) as stream:
        stream.release(1)
    shutil.copy(path, path.with_name("backup"))
    with contextlib.closing(session.stream("n")) as stream:
        stream.release(2)
        with pytest.raises(InvalidParameter, match="not before tick 1"):
            stream.release(now=START + datetime.timedelta(hours=1))
    shutil.copy(path.with_name("backup"), path)
    with pytest.raises(StreamUnavailable, match="older copy"):
        session.stream("n")


def test_an_interrupted_release_of_a_noisy_stream_loses_the_tick(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(session.stream("n", COUNT, epsilon=HUGE, kept="noisy")) as stream:
        stream.feed([row(0)])
        with monkeypatch.context() as torn:
            torn.setattr(Book, "report", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
            with pytest.raises(KeyboardInterrupt):
                stream.release(1)
        assert stream.released == 0
        assert stream.release(1).column("n", raw=True) == (0,)


def test_a_noisy_stream_is_for_rows_that_are_fed_one_by_one(curator: Curator) -> None:
    people = session_on(curator, clinic_stream(persons=True))
    with pytest.raises(InvalidParameter, match="rows added or removed"):
        people.stream("n", COUNT, epsilon=1, kept="noisy")
    assert people.balance().releases == 0
    with contextlib.closing(people.stream("x", COUNT, epsilon=1)) as exact:
        assert KIND in str(exact)


@pytest.mark.parametrize(
    ("released", "horizon", "delta", "spends"),
    [("running", 24, "1e-6", False), ("running", 4032, "1e-6", True), ("tick", 4032, "1e-6", False)],
)
def test_a_delta_is_spent_only_where_it_makes_errors_smaller(
    released: str, horizon: int, delta: str, spends: bool
) -> None:
    """Over all ticks, not at the first or the last: the offer errs by no more than one by epsilon alone."""
    dataset = clinic_stream(persons=False, horizon=horizon)
    query = "SELECT site, COUNT(*) AS n FROM visits GROUP BY site"
    plain, both = (
        Offers(dataset).stream(query, epsilon=1, released=released, **more) for more in ({}, {"delta": delta})
    )
    assert both.stated == (ApproxDP(1, delta) if spends else PureDP(1))
    ticks = range(0, horizon, max(horizon // 50, 1))
    errors = [sum(ticked_of(one).errors_at(tick)["n"] for tick in ticks) for one in (both, plain)]
    assert errors[0] <= errors[1]
