"""Conversations about more than 2^20 cells, through the door: true, kept, of a public size, refused in words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.curator.conversations import Talk
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data import Column, DataSet, Kind, Table
from dither.errors import InvalidParameter
from dither.privacy import ROW

#: So much that no noise is left: answers are compared with the truth.
HUGE = 10**5
NAMES = [f"c{number}" for number in range(7)]
ROWS = [[(7 * row + 3 * number) % 10 for number in range(7)] for row in range(60)]


@contextlib.contextmanager
def asked_by(folder: Path, rows: list[list[int]] = ROWS) -> Iterator[Session]:
    """Give a session about seven columns of ten values."""
    folder.mkdir(exist_ok=True)
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in rows)]
    (folder / "wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = tuple(Column(name, Kind.INTEGER, lower=0, upper=9) for name in NAMES)
    with contextlib.closing(Curator.create(folder / "home", anchors=folder / "anchors")) as curator:
        curator.add(DataSet("wide", (Table("wide", columns, str(folder / "wide.csv")),), ROW), epsilon=9 * HUGE)
        yield curator.session("wide", analyst="ana")


@contextlib.contextmanager
def opened(session: Session, epsilon: int | str = HUGE) -> Iterator[Talk]:
    with contextlib.closing(session.conversation("talk", "wide", NAMES, epsilon=epsilon)) as talk:
        yield talk


def test_answers_are_true_and_kept_and_paid_for_once(tmp_path: Path) -> None:
    questions = {
        "SELECT COUNT(*) FROM wide": lambda row: True,
        "c0 < 5": lambda row: row[0] < 5,
        "c0 < 5 AND c3 % 2 = 0": lambda row: row[0] < 5 and row[3] % 2 == 0,
        "c0 < 5 AND c3 > 2 AND c6 IN (1, 2, 3, 4)": lambda row: row[0] < 5 and row[3] > 2 and 1 <= row[6] <= 4,
        "NOT (c1 < 3 OR c2 < 3) AND c4 BETWEEN 2 AND 8 AND c5 > 0": lambda row: (
            row[1] >= 3 and row[2] >= 3 and 2 <= row[4] <= 8 and row[5] > 0
        ),
    }
    with asked_by(tmp_path) as session:
        with opened(session) as talk:
            assert talk.to_dict()["cells"] == 10**7
            before = {}
            for question, holds in questions.items():
                before[question] = talk.ask(question)
                assert before[question].count == sum(map(holds, ROWS)), question
            spent = session.balance().spent
            for question, rule in (("c0 = 1 OR c1 = 1", "with AND between them"), ("c0 = c1", "AND"), ("x = 1", "x")):
                with pytest.raises(InvalidParameter, match=rule):
                    talk.ask(question)
        with opened(session) as again:
            assert {question: again.ask(question) for question in reversed(questions)} == before
            assert again.answers() == tuple(before.values())
        assert session.balance().spent == spent


def test_a_question_that_was_written_down_before_a_death_is_answered_from_what_was_frozen(tmp_path: Path) -> None:
    question = "c0 < 5 AND c3 > 2 AND c6 = 1"
    with asked_by(tmp_path) as session:
        with opened(session, "0.5") as talk:
            talk.ask("c0 < 5")
            record = {"question": question, "truth": "QEIPAAAAAAA="}
            talk._book.freeze([(record, {})])
        with opened(session, "0.5") as again:
            first = again.ask(question)
            assert again.asked == 2
        with opened(session, "0.5") as third:
            assert third.ask(question) == first


def test_the_book_has_the_same_size_whatever_the_rows(tmp_path: Path) -> None:
    """Neither how many cells are not empty nor how large a count is can be learned from a length."""
    sizes = set()
    for name, rows in (("none", [[0] * 7]), ("many", ROWS), ("one", [[3] * 7] * 3000)):
        with asked_by(tmp_path / name, rows) as session, opened(session, "0.5") as talk:
            for value in range(1, 9):
                talk.ask(f"c0 < {value} AND c1 >= {value} AND c2 <> {value}")
            sizes.add(tuple(len(talk._book.packed(one)) for one in talk._book.numbers()))
    assert len(sizes) == 1
