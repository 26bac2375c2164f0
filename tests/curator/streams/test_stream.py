"""Streams through the door: prices, late rows, clocks, names, people, and what is refused before it costs anything."""

from __future__ import annotations

import contextlib
import copy
import datetime
import json
import pickle
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

from dither.curator.folder import Curator
from dither.curator.protected_paths import is_kept, kept_by
from dither.curator.session import Session
from dither.curator.streams.book import Book
from dither.curator.streams.stream import Stream
from dither.data import Column, Kind, Table
from dither.data.schema import DataSet
from dither.errors import BudgetExceeded, HandleMisuse, InvalidParameter, NotFound, StreamUnavailable
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.streams.examples import clinic_stream
from dither.verbs import streams

START = datetime.datetime(2025, 1, 1)
#: So much that no noise is left: answers are compared with the truth.
HUGE = 10**5
COUNTS = "SELECT site, COUNT(*) AS n FROM visits GROUP BY site"
COUNT = "SELECT COUNT(*) AS n FROM visits"


def row(hour: int, minute: int = 0, *, person: str = "ann", site: str = "east", cost: int = 1) -> dict[str, Any]:
    moment = START + datetime.timedelta(hours=hour, minutes=minute)
    return {"person": person, "at": moment, "site": site, "cost": cost}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as made:
        yield made


def session_on(curator: Curator, dataset: DataSet, *, rho: int | None = None) -> Session:
    curator.add(dataset, budget=PureDP(9 * HUGE) if rho is None else ZCDP(rho))
    return curator.session(dataset.name, analyst="ana")


@pytest.fixture
def session(curator: Curator) -> Session:
    return session_on(curator, clinic_stream(persons=False))


@contextlib.contextmanager
def opened(session: Session, name: str, text: str | None = COUNT, **how: Any) -> Iterator[Stream]:
    if text is not None and not how.keys() & {"epsilon", "rho"}:
        how["epsilon"] = HUGE
    with contextlib.closing(session.stream(name, text, **how)) as stream:
        yield stream


def numbers(found: Any, column: str = "n") -> list[Any]:
    return list(found.column(column, raw=True))


def test_a_stream_is_debited_once_for_all_of_its_ticks(session: Session) -> None:
    before = session.balance()
    assert session.quote(session.offer.stream(COUNT, epsilon=3)).loss == PureDP(3)
    assert session.balance().spent == before.spent
    with opened(session, "hourly", epsilon=3) as stream:
        assert session.balance().spent.pure == 3
        stream.feed([row(0)])
        stream.release()
    for _ in range(2):
        with opened(session, "hourly", epsilon=3):
            pass
    with opened(session, "hourly", None) as again:
        assert again.released == 4
        assert again.mechanism.loss(1) == PureDP(3)
        said = json.loads(json.dumps(again.to_dict()))
        assert (said["released"], said["ticks"], said["closed"]) == (4, 4, True)
    assert session.balance().spent.pure == 3
    assert session.long_lived().streams == ("hourly",)


def test_running_numbers_and_those_of_each_tick_are_the_truth(session: Session) -> None:
    rows = [row(0), row(0, site="west"), row(1), row(1, 59), row(3), row(3, site="west"), row(3, site="nowhere")]
    for released, east, west in (("running", [1, 3, 3, 4], [1, 1, 1, 2]), ("tick", [1, 2, 0, 1], [1, 0, 0, 1])):
        with opened(session, released, COUNTS, released=released) as stream:
            stream.feed(rows)
            found = stream.release()
            assert numbers(found) == [number for pair in zip(east, west, strict=True) for number in pair]
            assert found.column("site") == ("east", "west") * 4
            assert found.column("tick")[::2] == tuple(START + datetime.timedelta(hours=hour) for hour in range(4))


def test_sums_and_means_come_with_their_groups(session: Session) -> None:
    text = "SELECT SUM(cost) AS s, AVG(cost) AS m, COUNT(cost) AS n FROM visits WHERE site = 'east'"
    with opened(session, "costs", text) as stream:
        stream.feed(
            [row(0, cost=3), row(0, cost=9), row(0, cost=0), row(0, site="west", cost=2), {**row(0), "cost": None}]
        )
        found = stream.release(1)
        assert (numbers(found, "s"), numbers(found, "m"), numbers(found, "n")) == ([6], [2.0], [3])


def test_rows_that_come_late_are_dropped_or_count_in_the_next_tick_as_declared(curator: Curator) -> None:
    for late, expected in (("drop", [1, 1, 1, 1]), ("next", [1, 2, 2, 2])):
        dataset = clinic_stream(persons=False)
        table = dataset.tables[0]
        assert table.stream is not None
        named = replace(dataset, name=late, tables=(replace(table, stream=replace(table.stream, late=late)),))
        with opened(session_on(curator, named), "hourly") as stream:
            stream.feed([row(0)])
            first = stream.release(1)
            stream.feed([row(0, 30), row(-1), row(4), row(99)])
            assert numbers(stream.release()) == expected[1:]
            assert numbers(stream.answers()) == expected
            assert numbers(first) == expected[:1]


def test_a_batch_with_a_name_counts_once(session: Session) -> None:
    with opened(session, "hourly") as stream:
        assert stream.feed([row(0)], batch="one")
        assert not stream.feed([row(0)], batch="one")
        assert stream.feed([row(0)])
    with opened(session, "hourly", None) as stream:
        assert not stream.feed([row(0)], batch="one")
        assert numbers(stream.release(1)) == [2]


def test_other_rows_with_the_name_of_a_batch_are_refused_and_a_new_order_of_the_same_is_not(session: Session) -> None:
    both = [row(0, cost=1), row(1, site="west", cost=2), row(0, cost=1)]
    with opened(session, "hourly", "SELECT site, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY site") as stream:
        assert stream.feed(both, batch="one")
        assert not stream.feed(both[::-1], batch="one")
        assert stream.release(1).notes == stream.answers().notes
        assert not stream.feed(both, batch="one")
        others = (both[:2], [*both, row(3)], [*both[:2], row(0, cost=2)], [*both[:2], row(0, site="west", cost=1)], [])
        for rows in (*others, [both[0], both[1], row(0, 1, cost=1)]):
            with pytest.raises(InvalidParameter, match="other rows came with it before"):
                stream.feed(rows, batch="one")
        assert stream.feed(both[:1], batch="two")


def test_rows_may_come_with_a_release_and_wait_for_the_disk_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []
    whole = Book._transaction

    def watched(book: Book, *, waits: bool = True) -> Any:
        waited.append(waits)
        return whole(book, waits=waits)

    with opened(session, "hourly") as stream:
        stream.release(2, rows=[row(0), row(1)], batch="start")
        monkeypatch.setattr(Book, "_transaction", watched)
        assert numbers(stream.release(3, rows=[row(2), row(2)], batch="third")) == [4]
        # The rows and the answer come with the numbers of the tick.
        assert waited == [False, True, False]
        # The same call again, as after a death, counts nothing twice.
        assert len(stream.release(3, rows=[row(2), row(2)], batch="third").rows) == 0
        assert waited[3:] == [True]
        assert numbers(stream.release(4)) == [4]
        for wrong in ({"rows": [row(3)]}, {"batch": "fourth"}):
            with pytest.raises(InvalidParameter, match="batch"):
                stream.release(**wrong)


def test_a_release_before_anything_was_fed_says_so(session: Session) -> None:
    with opened(session, "hourly") as stream:
        assert "nothing was ever fed" in stream.release(1).notes[-1]


def test_a_table_is_fed_where_the_rows_of_another_are_not_at_hand(curator: Curator, tmp_path: Path) -> None:
    clinic = clinic_stream(persons=True)
    visits = clinic.tables[0]
    (tmp_path / "sites.csv").write_text("site,beds\neast,3\nwest,4\n")
    site, beds = visits.column("site"), Column("beds", Kind.INTEGER, lower=0, upper=9)
    sites = Table("sites", (site, beds), str(tmp_path / "sites.csv"), is_public=True, key=("site",))
    both = replace(clinic, tables=(replace(visits, name="others"), visits, sites))
    (tmp_path / "rows.csv").write_text("person,at,site,cost\nann,2025-01-01 00:10:00,east,1\n")
    frame = pandas.DataFrame([row(1, person="bob")])
    joined = "SELECT COUNT(*) AS n FROM visits v JOIN sites s ON s.site = v.site WHERE s.beds = 3"
    session = session_on(curator, both)
    for name, text in (("plain", COUNT), ("joined", joined)):
        with opened(session, name, text) as stream:
            assert stream.feed(tmp_path / "rows.csv", batch="file")
            assert stream.feed(frame, batch="frame")
            assert numbers(stream.release(2)) == [1, 2]


def test_people_count_in_few_ticks_and_the_first_rows_of_each(curator: Curator) -> None:
    """Two rows a tick, two ticks, at least two apart."""
    session = session_on(curator, clinic_stream(persons=True))
    with opened(session, "hourly", "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits") as stream:
        stream.feed([row(0, 9, cost=3), row(0, 1, cost=1), row(0, 2, cost=2)])
        stream.feed([row(1), row(2, cost=2), row(3), row(3, person="bob", cost=0)])
        stream.release(1)
    with opened(session, "hourly", None) as stream:
        stream.release()
        assert numbers(stream.answers()) == [2, 2, 3, 4]
        assert numbers(stream.answers(), "s") == [3, 3, 5, 5]


def test_people_who_have_come_so_far_are_counted_once(curator: Curator) -> None:
    session = session_on(curator, clinic_stream(persons=True))
    people = [row(0), row(0), row(0, person="bob"), row(2), row(2, person="cyd"), row(3, person="bob")]
    with opened(session, "people", "SELECT COUNT(DISTINCT person) AS n FROM visits") as stream:
        stream.feed(people)
        assert numbers(stream.release()) == [2, 2, 3, 3]
    with opened(session, "people-a-tick", "SELECT COUNT(DISTINCT person) AS n FROM visits", released="tick") as stream:
        stream.feed(people)
        assert numbers(stream.release()) == [2, 0, 2, 1]
    with pytest.raises(InvalidParameter, match="without groups"):
        session.stream("no", "SELECT site, COUNT(DISTINCT person) AS n FROM visits GROUP BY site", epsilon=1)


def test_a_zero_concentrated_loss_gives_gaussian_counters(curator: Curator) -> None:
    session = session_on(curator, clinic_stream(persons=True), rho=10**6)
    with opened(session, "hourly", COUNTS, rho=10**5) as stream:
        assert stream.mechanism.loss(1) <= ZCDP(10**5)
        stream.feed([row(0), row(2, site="west")])
        assert numbers(stream.release()) == [1, 0, 1, 0, 1, 1, 1, 1]


def test_a_table_is_read_tick_by_tick_and_never_behind(curator: Curator, tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    header = "person,at,site,cost\n"
    early = "a,2025-01-01 00:10:00,east,1\nb,2025-01-01 01:10:00,west,1\n"
    file.write_text(header + early)
    dataset = clinic_stream(persons=False)
    named = replace(dataset, tables=(replace(dataset.tables[0], source=str(file)),))
    session = session_on(curator, named)
    with opened(session, "hourly") as stream:
        assert numbers(stream.release(2)) == [1, 2]
        with pytest.raises(InvalidParameter, match="is read when ticks are released"):
            stream.feed([row(0)])
    file.write_text(header + early + "c,2025-01-01 00:20:00,east,1\nd,2025-01-01 02:20:00,east,1\n")
    curator.add(named, epsilon=9 * HUGE)
    with opened(curator.session("clinic", analyst="ana"), "hourly", None) as stream:
        assert numbers(stream.release()) == [3, 3]
        assert numbers(stream.answers()) == [1, 2, 3, 3]
    # A new edition may lie in another place; whoever opens the stream by its query goes on as well.
    moved = replace(named, tables=(replace(named.tables[0], source=str(file.rename(tmp_path / "later.csv"))),))
    curator.add(moved, epsilon=9 * HUGE)
    with opened(curator.session("clinic", analyst="ana"), "hourly") as stream:
        assert stream.released == 4
    with pytest.raises(InvalidParameter, match="another query or price"):
        curator.session("clinic", analyst="ana").stream("hourly", COUNT, epsilon=HUGE - 1)


def test_a_tick_that_has_not_ended_and_a_clock_that_was_put_back_are_refused(session: Session) -> None:
    hour = datetime.timedelta(hours=1)
    with opened(session, "hourly") as stream:
        assert numbers(stream.release(now=START - hour)) == []
        with pytest.raises(InvalidParameter, match="tick 1 may be released from 2025-01-01 02:00:00 UTC on"):
            stream.release(2, now=START + 1.5 * hour)
        assert numbers(stream.release(now=START + 2.5 * hour)) == [0, 0]
        with pytest.raises(InvalidParameter, match="not before tick 1"):
            stream.release(now=START + hour)
        with pytest.raises(InvalidParameter, match="now"):
            stream.release(now=datetime.datetime.now(datetime.UTC))
        with pytest.raises(InvalidParameter, match="until"):
            stream.release(5)


def test_a_name_is_one_stream(session: Session) -> None:
    with opened(session, "hourly"):
        with pytest.raises(StreamUnavailable, match="open already"):
            session.stream("hourly", COUNT, epsilon=HUGE)
        with contextlib.closing(session.stream("hourly", only_read=True)) as reader, pytest.raises(HandleMisuse):
            reader.release()
    for text, epsilon in ((COUNTS, HUGE), (COUNT, 1)):
        with pytest.raises(InvalidParameter, match="there is one of that name already"):
            session.stream("hourly", text, epsilon=epsilon)
    for name in ("", "a b", "../x", "x" * 61, 7):
        with pytest.raises(InvalidParameter, match="name"):
            session.stream(name, COUNT, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="there is hourly"):
        session.stream("daily")


def test_a_stream_that_spends_its_delta_is_found_by_the_same_words(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was opened before plans compared a delta with epsilon alone: a script that opens it every day goes on."""
    dataset = clinic_stream(persons=False)
    curator.add(dataset, budget=ApproxDP(10, "1e-3"))
    session = curator.session(dataset.name, analyst="ana")
    words: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    with monkeypatch.context() as former:
        former.setattr(streams, "_errors", lambda _: [])
        with opened(session, "hourly", **words) as stream:
            stream.feed([row(0)])
            stream.release(until=1)
            assert session.balance().spent.pure is None, "by rho, which the delta converts"
    # Today epsilon alone would be chosen: its errors are smaller.
    assert session.offer.stream(COUNT, **words).stated == PureDP(1)
    with opened(session, "hourly", **words) as again:
        assert again.released == 1
        assert again.release(until=2).rows
    assert session.balance().releases == 1


def test_a_closed_stream_and_one_that_was_let_go_of_answer_nothing_more(session: Session) -> None:
    with opened(session, "hourly") as stream:
        stream.feed([row(0)])
        stream.release(1)
        stream.end()
        for act in (stream.release, lambda: stream.feed([row(1)])):
            with pytest.raises(InvalidParameter, match="closed"):
                act()
    with pytest.raises(HandleMisuse, match="let go"):
        stream.release()
    with opened(session, "hourly", None) as again:
        assert again.is_closed
        assert numbers(again.answers()) == [1]
    assert session.balance().spent.pure == HUGE


def test_a_book_that_is_gone_is_not_made_anew_under_its_debit(session: Session, curator: Curator) -> None:
    with opened(session, "hourly") as stream:
        stream.release(1)
    for file in (curator.folder / "streams").iterdir():
        file.unlink()
    with pytest.raises(StreamUnavailable, match="its book is gone"):
        session.stream("hourly", COUNT, epsilon=HUGE)
    assert session.balance().spent.pure == HUGE


def test_a_stream_that_does_not_fit_leaves_nothing_behind(session: Session, curator: Curator) -> None:
    with pytest.raises(BudgetExceeded, match="epsilon = 900000 is left"):
        session.stream("hourly", COUNT, epsilon=10**6)
    assert session.long_lived().streams == ()
    assert session.balance().releases == 0
    assert not list(curator.anchors.glob("*.key"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT person, COUNT(*) AS n FROM visits GROUP BY person", "public"),
        ("SELECT MEDIAN(cost) AS m FROM visits", "counts and sums"),
        ("SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 3", "every group"),
        ("SELECT site, COUNT(*) AS n FROM visits GROUP BY site ORDER BY n LIMIT 1", "every group"),
        ("SELECT COUNT(*) * 2 AS n FROM visits", "aggregate alone"),
        ("SELECT COUNT(*) AS n FROM (SELECT site FROM visits) AS v", "unchanged"),
    ],
)
def test_what_a_stream_cannot_answer_is_refused_before_it_costs_anything(
    session: Session, text: str, says: str
) -> None:
    with pytest.raises(InvalidParameter, match=says):
        session.stream("hourly", text, epsilon=1)
    assert session.balance().releases == 0
    assert session.long_lived().streams == ()


def test_a_moment_is_a_moment(session: Session) -> None:
    """Otherwise reading rows would fail where there are some, and not where there are none."""
    with pytest.raises(InvalidParameter, match="date or a timestamp"):
        session.stream("hourly", "SELECT COUNT(*) AS n FROM (SELECT cost AS at FROM visits) AS v", epsilon=1)


@pytest.mark.parametrize(
    "inner",
    [
        "cost AS person, at",
        "CONCAT(person, site) AS person, at",
        "'ann' AS person, at",
        "site AS person, person AS id, at",
    ],
)
def test_a_person_is_who_the_schema_says_whatever_a_query_calls_so(curator: Curator, inner: str) -> None:
    """Another column called like the privacy id would part one person's rows, and each part would count."""
    session = session_on(curator, clinic_stream(persons=True))
    rows = [row(0, minute, site=site, cost=cost) for minute, site in ((1, "east"), (2, "west")) for cost in range(4)]
    text = COUNT.replace("visits", "(SELECT ... FROM visits) AS v").replace("...", inner)
    if " id" not in inner:
        with pytest.raises(InvalidParameter, match="unchanged"):
            session.stream("hourly", text, epsilon=HUGE)
        return
    with opened(session, "hourly", text) as stream:
        stream.feed(rows)
        assert numbers(stream.release(1)) == [2]


def test_reading_only_costs_nothing(session: Session) -> None:
    with pytest.raises(InvalidParameter, match="only_read"):
        session.stream("hourly", COUNT, epsilon=HUGE, only_read=True)
    assert session.balance().releases == 0
    assert session.long_lived().streams == ()


def test_a_stream_whose_opening_broke_off_is_paid_for_by_its_query_alone(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as torn:
        torn.setattr("dither.curator.long_lived.commit", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.stream("hourly", COUNT, epsilon=HUGE)
    for only_read in (True, False):
        with pytest.raises(StreamUnavailable, match="not paid for"):
            session.stream("hourly", only_read=only_read)
    assert session.balance().releases == 0
    with opened(session, "hourly") as stream:
        stream.feed([row(0)])
        assert numbers(stream.release(1)) == [1]
    assert session.balance().releases == 1


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_nothing_is_written_over_a_book(session: Session, curator: Curator, tmp_path: Path) -> None:
    with opened(session, "hourly"):
        kept = kept_by(curator)
        book = next((curator.folder / "streams").glob("*.sqlite"))
        (tmp_path / "soft.csv").symlink_to(book)
        (tmp_path / "hard.csv").hardlink_to(book)
        for path in (book, book.with_name("new.csv"), tmp_path / "soft.csv", tmp_path / "hard.csv"):
            assert is_kept(path, kept), path.name


def test_a_stream_has_no_copies(session: Session) -> None:
    """Each would feed its own conversation: the noise of one tick would be added to the rows of another."""
    with opened(session, "hourly", released="tick") as stream:
        stream.feed([row(0), row(1)])
        stream.release(1)
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(HandleMisuse, match="copied"):
                copied(stream)
        forced = object.__new__(Stream)
        forced.__dict__.update(stream.__dict__)
        forced.release(2)
        with pytest.raises(StreamUnavailable, match="another tick"):
            stream.release(3)
        assert numbers(stream.release(3)) == [0]
        assert numbers(stream.answers()) == [1, 1, 0]


def test_a_stream_stays_in_its_thread(session: Session) -> None:
    with opened(session, "hourly") as stream, ThreadPoolExecutor(1) as other:
        with pytest.raises(HandleMisuse, match="thread"):
            other.submit(stream.release, 1).result()
        assert numbers(stream.release(1)) == [0]


def test_a_table_that_is_declared_otherwise_ends_its_streams(curator: Curator) -> None:
    """Ids from another column are other people's, and each of them would count from the start."""
    dataset = clinic_stream(persons=True)
    with opened(session_on(curator, dataset), "hourly") as stream:
        stream.feed([row(0)])
        stream.release(1)
    table = dataset.tables[0]
    columns = tuple(replace(one, source="card") if one.name == "person" else one for one in table.columns)
    curator.add(replace(dataset, tables=(replace(table, columns=columns),)), budget=PureDP(9 * HUGE))
    session = curator.session("clinic", analyst="ana")
    with pytest.raises(StreamUnavailable, match="declared otherwise"):
        session.stream("hourly")
    with opened(session, "hourly", None, only_read=True) as stream:
        assert numbers(stream.answers()) == [1]


def test_a_table_that_declares_no_stream_is_named(curator: Curator) -> None:
    clinic = clinic_stream(persons=True)
    plain = replace(clinic.tables[0], name="others", stream=None, rows_per_person=1)
    session = session_on(curator, replace(clinic, tables=(clinic.tables[0], plain)))
    with pytest.raises(InvalidParameter, match="others has no 'stream' there, got 'others'"):
        session.stream("hourly", "SELECT COUNT(*) AS n FROM others", epsilon=1)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"released": "sometimes"}, "released"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 5}, "horizon"),
        ({"shares": {"m": 1}}, "shares"),
    ],
)
def test_odd_words_are_refused(session: Session, how: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        session.stream("hourly", COUNT, epsilon=1, **how)


def test_hostile_rows_do_not_raise_and_mean_what_a_table_would(session: Session) -> None:
    odd = [
        {},
        None,
        "row",
        {"at": None},
        {"at": "soon"},
        {"at": 3},
        {**row(0), "site": 5},
        {**row(0), "cost": float("nan")},
    ]
    with opened(session, "hourly", COUNTS) as stream:
        stream.feed(odd)
        assert numbers(stream.release(1)) == [1, 0]


def test_rows_after_the_last_tick_are_not_taken(session: Session) -> None:
    """Once all ticks are released nothing is taken, but a batch that came before may come again."""
    with opened(session, "hourly") as stream:
        assert stream.ends_at == START + datetime.timedelta(hours=4)
        assert stream.feed([row(0), row(9)], batch="first")
        assert numbers(stream.release(4)) == [1, 1, 1, 1]
        for batch in (None, "second"):
            with pytest.raises(InvalidParameter, match="were not taken"):
                stream.feed([row(2)], batch=batch)
        assert not stream.feed([row(0), row(9)], batch="first")
        with pytest.raises(InvalidParameter, match="were not taken"):
            stream.release(rows=[row(2)], batch="third")
        assert len(stream.release(rows=[row(0), row(9)], batch="first").rows) == 0


@pytest.mark.parametrize("released", ["running", "tick"])
@pytest.mark.parametrize("price", [{"epsilon": 2}, {"rho": "1/2"}], ids=str)
def test_a_stream_is_opened_again_at_a_cost_that_does_not_grow(
    curator: Curator, released: str, price: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise goes on from a checkpoint as it would from the first tick: what is made again is compared with it."""
    monkeypatch.setattr(Stream, "checkpoint_every", 3)
    dataset = clinic_stream(persons=False)
    table = dataset.tables[0]
    assert table.stream is not None
    long = replace(dataset, tables=(replace(table, stream=replace(table.stream, horizon=40)),))
    session = session_on(curator, long, rho=None if "epsilon" in price else 9)
    made: list[int] = []
    numbers_of = Book.numbers

    def counted(book: Book, first: int = 0) -> Iterator[Any]:
        for one in numbers_of(book, first):
            made.append(first)
            yield one

    monkeypatch.setattr(Book, "numbers", counted)
    with opened(session, "hourly", COUNTS, released=released, **price) as stream:
        stream.feed([row(hour, site="west") for hour in range(20)])
        path = stream._book.path
        stream.release(7)
    for tick in (8, 9, 20, 21, 22):
        made.clear()
        with opened(session, "hourly", None) as stream:
            stream.release(tick)
        assert len(made) <= 3
    # Without a checkpoint, or with one of another version, all is made again: it is refused if one bit is other.
    monkeypatch.setattr("dither.curator.streams.stream.computed_by", lambda: ("2.0",))
    made.clear()
    with opened(session, "hourly", None) as stream:
        stream.release(23)
    assert len(made) >= 22
    with contextlib.closing(sqlite3.connect(path)) as rows, rows:
        rows.execute("DELETE FROM about WHERE name = 'checkpoint'")
    with opened(session, "hourly", None) as stream:
        stream.release(24)
        assert len(stream.answers().rows) == 48


def test_a_stream_of_very_many_numbers_has_no_checkpoints(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its state may be larger than the book can store: a release must not fail of it."""
    session = session_on(curator, clinic_stream(persons=False))
    monkeypatch.setattr(Stream, "checkpoint_every", 1)
    for name, most, kept in (("many", 1, 0), ("few", 2, 2)):
        monkeypatch.setattr("dither.curator.streams.stream._MOST_IN_CHECKPOINTS", most)
        with opened(session, name, COUNTS) as stream:
            stream.release(2)
            assert stream._kept_at == kept
        with opened(session, name, None) as stream:
            assert len(stream.release(3).rows) == 2
