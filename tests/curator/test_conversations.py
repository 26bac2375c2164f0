"""Conversations through the door: prices, answers, what is refused at no cost, and going on after a death."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither.curator.conversations import Talk
from dither.curator.folder import Curator
from dither.curator.long_lived import book_paths
from dither.curator.session import Session
from dither.curator.streams.book import PlainBook
from dither.data import Column, DataSet, Kind, Table
from dither.data.schema import person_unit
from dither.errors import BudgetExceeded, DitherError, HandleMisuse, InvalidParameter, NotFound, StreamUnavailable
from dither.privacy import ROW, PureDP

#: So much that no noise is left: answers are compared with the truth.
HUGE = 10**5
ROWS = [
    {"site": site, "age": age, "weight": weight, "smokes": smokes}
    for site, age, weight, smokes in [
        ("north", 30, 55.5, True),
        ("north", 31, 80.0, None),
        ("south", 45, 99.0, False),
        ("south", 45, 20.0, True),
        ("south", 70, 61.0, None),
        ("nowhere", 70, 61.0, True),
    ]
]
COLUMNS = ["site", "age", "weight", "smokes"]


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as made:
        yield made


@pytest.fixture
def session(curator: Curator, tmp_path: Path) -> Session:
    lines = [",".join(COLUMNS)]
    lines += [",".join("" if row[name] is None else str(row[name]) for name in COLUMNS) for row in ROWS]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = (
        Column("site", Kind.TEXT, categories=("north", "south")),
        Column("age", Kind.INTEGER, lower=18, upper=99),
        Column("weight", Kind.REAL, lower=0, upper=100),
        Column("smokes", Kind.BOOLEAN, nullable=True),
        Column("name", Kind.TEXT),
    )
    people = DataSet("people", (Table("people", columns[:4], str(tmp_path / "people.csv")),), ROW)
    curator.add(people, epsilon=9 * HUGE)
    return curator.session("people", analyst="ana")


@contextlib.contextmanager
def opened(session: Session, name: str = "talk", table: str | None = "people", **how: Any) -> Iterator[Talk]:
    words: dict[str, Any] = {} if table is None else {"columns": COLUMNS, "epsilon": HUGE, "bins": {"weight": 4}}
    with contextlib.closing(session.conversation(name, table, **(words | how))) as talk:
        yield talk


TRUTHS = {
    "SELECT COUNT(*) FROM people": 5,
    "SELECT COUNT(*) AS n FROM people WHERE site = 'north'": 2,
    "age = 45 AND site = 'south'": 2,
    "age BETWEEN 31 AND 60 OR smokes": 4,
    "NOT smokes": 1,
    "smokes IS NULL": 2,
    "weight < 50": 1,
    "weight >= 75 AND age % 2 = 1": 2,
    "site IN ('north', 'south') AND age + 5 > 70": 1,
    "age > 98": 0,
}


def test_answers_are_the_truth_where_there_is_no_noise(session: Session) -> None:
    with opened(session) as talk:
        for question, count in TRUTHS.items():
            answer = talk.ask(question)
            assert (question, answer.count) == (question, count)
            assert (answer.low, answer.high) == (count, count)
            assert answer.source in ("measured", "from the model")


def test_a_table_that_bounds_the_rows_of_a_person_is_asked_like_others(curator: Curator, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id,site\n1,north\n1,north\n2,north\n3,south\n")
    columns = (Column("id", Kind.INTEGER), Column("site", Kind.TEXT, categories=("north", "south")))
    visits = Table("visits", columns, str(tmp_path / "visits.csv"), person="id", rows_per_person=1)
    curator.add(DataSet("visits", (visits,), person_unit("id"), rows=5), epsilon=HUGE)
    session = curator.session("visits", analyst="ana")
    with opened(session, table="visits", columns=["site"], bins={}) as talk:
        assert talk.ask("site = 'north'").count == 2
        assert talk.ask("SELECT COUNT(*) FROM visits").count == 3


def test_all_questions_are_paid_for_once(session: Session) -> None:
    offer = session.offer.conversation("people", COLUMNS, epsilon=3, bins={"weight": 4})
    assert session.quote(offer).loss <= PureDP(3)
    assert session.balance().spent.pure == 0
    with opened(session, epsilon=3) as talk:
        spent = session.balance().spent
        assert spent.pure == talk.loss.pure
        for age in range(18, 48):
            talk.ask(f"age > {age}")
        assert talk.asked == 30
        said = json.loads(json.dumps(talk.to_dict()))
        assert (said["name"], said["asked"], said["columns"]) == ("talk", 30, COLUMNS)
        assert session.balance().spent == spent
    with opened(session, epsilon=3) as again:
        assert again.asked == 30
    assert session.balance().spent == spent
    assert session.long_lived().conversations == ("talk",)


def test_one_that_is_opened_again_goes_on_with_the_same_counts_and_answers(session: Session, tmp_path: Path) -> None:
    asked = ["age > 40", "site = 'south'", "age > 40 AND site = 'south'", "smokes"]
    with opened(session, epsilon=1) as talk:
        before = [talk.ask(question) for question in asked]
    # The table changes: what was frozen counts.
    (tmp_path / "people.csv").write_text("site,age,weight,smokes\n" + "north,20,10,true\n" * 500, encoding="utf-8")
    with opened(session, table=None) as again:
        assert [again.ask(question) for question in reversed(asked)] == before[::-1]
        assert again.answers() == tuple(before)
        assert again.ask("weight < 50").count < 450


def test_a_question_that_was_written_down_before_a_death_is_answered_as_it_would_have_been(session: Session) -> None:
    """The noise follows from the key: whoever dies between the question and its answer draws nothing twice."""
    with opened(session, epsilon=1) as talk:
        talk.ask("age > 40")
        talk._book.freeze([({"question": "smokes"}, {})])
    with opened(session, table=None) as again:
        first = again.ask("smokes")
        assert again.asked == 2
    with opened(session, table=None) as third:
        assert third.ask("smokes") == first


def test_the_same_question_has_the_same_answer_and_is_kept_once(session: Session) -> None:
    with opened(session, epsilon="0.1") as talk:
        assert len({talk.ask("age > 40").count for _ in range(5)}) == 1
        assert talk.ask("age >= 41").count == talk.ask("age > 40").count
        assert talk.asked == 2


REFUSED: list[tuple[Any, str]] = [
    ("name = 'ann'", "name"),
    ("weight < 33", "begin at 0, 25.0, 50.0, 75.0, 100"),
    ("weight <= 50", "divides a cell"),
    ("SELECT SUM(age) FROM people", "COUNT"),
    ("SELECT site, COUNT(*) FROM people GROUP BY site", "groups"),
    ("SELECT COUNT(*) + 1 FROM people", "count"),
    ("FALSE", "can never be true"),
    ("", "1 to 10000 characters"),
    (7, "a string"),
]


def test_what_cannot_be_answered_is_refused_and_not_written_down(session: Session) -> None:
    with opened(session) as talk:
        for question, rule in REFUSED:
            with pytest.raises(DitherError, match=rule):
                talk.ask(question)
        assert talk.asked == 0


def test_refusals_come_before_any_debit(session: Session, curator: Curator) -> None:
    cases: list[tuple[type[Exception], dict[str, Any]]] = [
        (InvalidParameter, {"columns": None}),
        (InvalidParameter, {"columns": ["age", "age"]}),
        (DitherError, {"columns": ["name"]}),
        (InvalidParameter, {"bins": {"weight": 10**6}}),
        (InvalidParameter, {"corrections": 0}),
        (InvalidParameter, {"questions": 0}),
        (InvalidParameter, {"epsilon": None}),
        (BudgetExceeded, {"epsilon": 10 * HUGE}),
    ]
    for refusal, how in cases:
        with pytest.raises(refusal), opened(session, **how):
            pass
    for name in ("", "../x", "a b", 7):
        with pytest.raises(InvalidParameter), opened(session, name):
            pass
    with pytest.raises(NotFound), opened(session, "unknown", None):
        pass
    assert session.balance().spent.pure == 0
    assert not list((curator.folder / "conversations").glob("*"))


def test_a_name_is_taken_once_and_a_handle_ends(session: Session) -> None:
    with (
        opened(session, epsilon=1) as talk,
        pytest.raises(StreamUnavailable, match="open already"),
        opened(session, epsilon=1),
    ):
        pass
    with pytest.raises(HandleMisuse, match="let go of"):
        talk.ask("smokes")
    with pytest.raises(InvalidParameter, match="one of that name already"), opened(session, epsilon=2):
        pass


def test_a_lost_book_is_not_made_anew_under_the_same_debit(session: Session, curator: Curator) -> None:
    with opened(session, epsilon=1):
        pass
    for path in (curator.folder / "conversations").glob("*.sqlite*"):
        path.unlink()
    with pytest.raises(StreamUnavailable, match="its book is gone"), opened(session, epsilon=1):
        pass


def test_files_are_readable_by_their_owner_alone_and_show_no_question(session: Session, curator: Curator) -> None:
    with opened(session, epsilon=1) as talk:
        talk.ask("age > 41")
    for path in (curator.folder / "conversations").glob("*.sqlite"):
        assert path.stat().st_mode & 0o077 == 0
        assert b"age > 41" not in path.read_bytes()


def test_people_are_protected_with_all_their_rows(curator: Curator, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("person,site\n1,a\n1,b\n2,a\n", encoding="utf-8")
    columns = (Column("person", Kind.INTEGER), Column("site", Kind.TEXT, categories=("a", "b")))
    table = Table("visits", columns, str(tmp_path / "visits.csv"), person="person")
    curator.add(DataSet("persons", (table,), person_unit("person"), rows=2), epsilon=10)
    session = curator.session("persons", analyst="ana")
    with contextlib.closing(session.conversation("talk", "visits", ["site"], epsilon=2)) as talk:
        assert talk.planned.mechanism.stability == 2
        assert talk.loss == talk.planned.mechanism.method.loss(2)
        assert talk.loss <= PureDP(2)


def test_a_conversation_has_no_copies(session: Session) -> None:
    """Each would ask a conversation of its own: two questions would be answered with one noise, which cancels."""
    with opened(session, epsilon=1) as talk:
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(HandleMisuse, match="copied"):
                copied(talk)
        forced = object.__new__(Talk)
        forced.__dict__.update(talk.__dict__)
        talk.ask("age > 40")
        forced.ask("age > 41")
        with pytest.raises(StreamUnavailable, match="another question"):
            talk.ask("age > 42")
        answers = [talk.ask(f"age > {age}") for age in (40, 41, 42)]
    with opened(session, table=None) as again:
        assert again.answers() == tuple(answers)


# Newer Pythons warn of forks beside threads; here the child asks and leaves.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_conversation_stays_in_its_thread_and_process(session: Session) -> None:
    with opened(session, epsilon=1) as talk:
        talk.ask("smokes")
        with ThreadPoolExecutor(1) as other, pytest.raises(HandleMisuse, match="thread"):
            other.submit(talk.ask, "age > 40").result()
        child = os.fork()
        if not child:
            with contextlib.suppress(HandleMisuse):
                talk.ask("age > 40")
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert talk.asked == 1


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_one_whose_opening_broke_off_is_paid_for_by_its_columns_alone(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as torn:
        torn.setattr("dither.curator.long_lived.commit", _interrupted)
        with pytest.raises(KeyboardInterrupt), opened(session):
            pass
    with pytest.raises(StreamUnavailable, match="not paid for"), opened(session, table=None):
        pass
    assert session.balance().releases == 0
    with opened(session) as talk:
        assert talk.ask("site = 'north'").count == 2
    assert session.balance().releases == 1


def test_a_table_that_is_declared_otherwise_ends_its_conversations(curator: Curator, tmp_path: Path) -> None:
    """Counts of five rows a person would be answered with noise for one."""
    lines = [f"{number % 7},{number},{'north' if number % 2 else 'south'}" for number in range(60)]
    for file, end in (("visits", 60), ("later", 50)):
        (tmp_path / f"{file}.csv").write_text("\n".join(["id,card,site", *lines[:end]]))
    columns = (Column("id", Kind.INTEGER), Column("site", Kind.TEXT, categories=("north", "south")))
    visits = Table("visits", columns, str(tmp_path / "visits.csv"), person="id", rows_per_person=5)
    clinic = DataSet("clinic", (visits,), person_unit("id"), rows=5)

    def declared(table: Table) -> Session:
        curator.add(replace(clinic, tables=(table,)), epsilon=100)
        return curator.session("clinic", analyst="ana")

    with contextlib.closing(declared(visits).conversation("talk", "visits", ["site"], epsilon=1)) as talk:
        before, receipt = talk.ask("site = 'south'"), talk.receipt
    turned = replace(columns[1], categories=("south", "north"))
    for other in (
        replace(visits, rows_per_person=1),
        replace(visits, columns=(columns[0], turned)),
        replace(visits, columns=(replace(columns[0], source="card"), columns[1])),
    ):
        session = declared(other)
        with pytest.raises(StreamUnavailable, match="declared otherwise"):
            session.conversation("talk")
        with pytest.raises(StreamUnavailable, match="declared otherwise"):
            session.conversation("talk", "visits", ["site"], epsilon=1)
        # What was answered can be read, with the intervals that it had.
        with contextlib.closing(session.conversation("talk", only_read=True)) as read:
            assert read.answers() == (before,)
            assert (read.asked, read.receipt) == (1, receipt)
            with pytest.raises(HandleMisuse, match="the conversation talk was opened to be read only"):
                read.ask("site = 'north'")
    # Another edition of the rows changes nothing: the counts are frozen.
    session = declared(replace(visits, source=str(tmp_path / "later.csv")))
    with contextlib.closing(session.conversation("talk")) as talk:
        talk.ask("site = 'north'")
    assert session.balance().releases == 1


def test_no_stream_has_the_key_of_a_conversation(session: Session) -> None:
    keys = {book_paths(session, "streams", name)[1] for name in ("conversations-x", "x")}
    assert book_paths(session, "conversations", "x")[1] not in keys


def test_the_book_is_as_long_for_any_rows(curator: Curator, tmp_path: Path) -> None:
    """How many cells are empty can be learned neither from the length of a record nor from that of the file."""
    lengths = set()
    for name, ages in (("few", [30] * 50), ("many", range(20, 90))):
        (tmp_path / f"{name}.csv").write_text("\n".join(["age", *map(str, ages)]))
        table = Table("people", (Column("age", Kind.INTEGER, lower=18, upper=99),), str(tmp_path / f"{name}.csv"))
        curator.add(DataSet(name, (table,), ROW), epsilon=1)
        session = curator.session(name, analyst="ana")
        with contextlib.closing(session.conversation("talk", "people", ["age"], epsilon=1)) as talk:
            lengths.add(len(talk._book.packed(next(talk._book.numbers()))))
    assert len(lengths) == 1


def test_a_conversation_is_read_while_another_asks_and_errors_call_it_a_conversation(session: Session) -> None:
    with opened(session) as talk:
        first = talk.ask("age > 40")
        with contextlib.closing(session.conversation("talk", only_read=True)) as read:
            assert read.answers() == (first,)
        with pytest.raises(StreamUnavailable, match=r"the conversation talk-.* open already"), opened(session):
            pass
    with pytest.raises(InvalidParameter, match="only_read"):
        session.conversation("talk", "people", COLUMNS, epsilon=1, only_read=True)
    path, key = book_paths(session, "conversations", "talk")
    key.write_bytes(b"")
    with pytest.raises(StreamUnavailable, match="without it the conversation cannot continue") as refused:
        session.conversation("talk")
    assert "stream" not in str(refused.value)
    path.unlink()
    with (
        pytest.raises(StreamUnavailable, match=r"^the conversation talk cannot be used: it was paid for"),
        opened(session),
    ):
        pass


def test_a_book_that_does_not_say_how_its_table_was_declared_is_read_as_it_is_now(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = PlainBook.create

    def older(path: Path, key: Path, about: dict[str, Any]) -> PlainBook:
        return make(path, key, {name: one for name, one in about.items() if name != "dataset"})

    monkeypatch.setattr(PlainBook, "create", older)
    with opened(session) as talk:
        first = talk.ask("age > 40")
    with contextlib.closing(session.conversation("talk", only_read=True)) as read:
        assert read.answers() == (first,)
