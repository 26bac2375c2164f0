"""The book of a stream: what it keeps, what it refuses, and what it hides."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.curator.streams.book import Book
from dither.curator.streams.marks import Marks
from dither.curator.streams.seal import Seal
from dither.errors import HandleMisuse, InvalidParameter, StreamUnavailable
from dither.publish.streams.tally import Standing

ABOUT = {"digest": "abc", "name": "hourly"}
FIRST, SECOND = np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])
ONE, OTHER = np.array([[9]]), np.array([[10]])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "streams" / "hourly.sqlite"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "anchors" / "hourly.key"


@pytest.fixture
def book(path: Path, key: Path) -> Iterator[Book]:
    made = Book.create(path, key, ABOUT)
    yield made
    made.close()


def plain(found: Iterable[Any]) -> list[Any]:
    return [one.tolist() for one in found]


def opened(path: Path, key: Path) -> closing[Book]:
    return closing(Book(path, key))


def test_what_is_frozen_and_stored_is_found_again(book: Book, path: Path, key: Path) -> None:
    assert (book.frozen, book.answered, book.about) == (0, 0, ABOUT)
    book.freeze([(FIRST, {b"a" * 16: Standing(1, 0)}), (SECOND, {b"a" * 16: Standing(2, 1)})])
    book.store([ONE])
    book.close()
    with opened(path, key) as again:
        assert (again.frozen, again.answered, again.about) == (2, 1, ABOUT)
        assert plain(again.numbers()) == plain([FIRST, SECOND])
        assert plain(again.numbers(1)) == plain([SECOND])
        assert plain(again.answers()) == plain([ONE])
        assert again.standings([b"a" * 16, b"b" * 16]) == {b"a" * 16: Standing(2, 1)}
        again.store([OTHER])
        assert plain(again.answers(1)) == plain([OTHER])


def test_an_answer_is_stored_once_and_for_a_frozen_tick(book: Book) -> None:
    with pytest.raises(StreamUnavailable, match="never frozen"):
        book.store([ONE])
    book.freeze([(FIRST, {})])
    with pytest.raises(StreamUnavailable, match="never frozen"):
        book.store([ONE, OTHER])
    assert book.answered == 0


def test_a_tick_that_fails_half_way_is_not_frozen(book: Book) -> None:
    def half() -> Iterator[tuple[Any, dict[bytes, Standing]]]:
        yield FIRST, {b"a" * 16: Standing(1, 0)}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        book.freeze(half())
    assert (book.frozen, book.standings([b"a" * 16])) == (0, {})


def test_a_batch_is_taken_once_and_leaves_its_name(book: Book) -> None:
    assert book.arrive("monday", {"rows": 1})
    assert not book.arrive("monday", {"rows": 2})
    assert book.arrive(None, {"rows": 3})
    assert book.arrive(None, {"rows": 4})
    assert book.waiting() == [{"rows": 1}, {"rows": 3}, {"rows": 4}]
    book.freeze([(FIRST, {})], rest={"rows": 5})
    assert book.waiting() == [{"rows": 5}]
    assert not book.arrive("monday", {"rows": 6})
    assert book.arrive("tuesday", {"rows": 7}, b"seven")
    assert not book.arrive("tuesday", {"rows": 7}, b"seven")
    with pytest.raises(InvalidParameter, match="other rows"):
        book.arrive("tuesday", {"rows": 8}, b"eight")
    # A book of before knows no fingerprints.
    assert not book.arrive("monday", {"rows": 9}, b"nine")


def test_two_cannot_have_one_book(book: Book, path: Path, key: Path) -> None:
    with pytest.raises(StreamUnavailable, match="open already"):
        Book(path, key)
    with pytest.raises(StreamUnavailable, match="open already"):
        Book.create(path, key, ABOUT)


def test_a_book_from_a_backup_is_refused(book: Book, path: Path, key: Path) -> None:
    """It would freeze the same ticks again, with other rows and the same noise."""
    book.freeze([(FIRST, {})])
    book.close()
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    with opened(path, key) as later:
        later.freeze([(SECOND, {})])
    shutil.copy(backup, path)
    with pytest.raises(StreamUnavailable, match="older copy"):
        Book(path, key)


def test_a_tick_that_was_not_marked_is_marked_before_it_is_answered(book: Book, path: Path, key: Path) -> None:
    """A process may die between the two: whoever goes on answers that tick, and a backup without it is refused."""
    book.close()
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    marks = key.with_suffix(".ticks")
    with opened(path, key) as torn:
        torn.freeze([(FIRST, {})])
    marks.write_bytes(b"")
    with opened(path, key) as again:
        again.store([ONE])
    shutil.copy(backup, path)
    with pytest.raises(StreamUnavailable, match="older copy"):
        Book(path, key)


def test_a_copy_of_a_book_shares_its_key_with_nobody(book: Book, path: Path, key: Path) -> None:
    """Two copies of a folder have two books and one key: both would noise other rows the same."""
    copy = path.parent.with_name("copy") / path.name
    copy.parent.mkdir()
    shutil.copy(path, copy)
    with pytest.raises(StreamUnavailable, match="open already"):
        Book(copy, key)
    book.freeze([(FIRST, {})])
    book.close()
    with pytest.raises(StreamUnavailable, match="older copy"):
        Book(copy, key)
    copy.unlink()
    with pytest.raises(StreamUnavailable, match="moved or deleted"):
        Book.create(copy, key, ABOUT)
    with opened(path, key) as again:
        assert again.frozen == 1


def test_a_book_of_another_past_is_refused(book: Book, path: Path, key: Path) -> None:
    book.close()
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    with opened(path, key) as one:
        one.freeze([(FIRST, {})])
    shutil.copy(backup, path)
    marks = key.with_suffix(".ticks")
    kept = marks.read_bytes()
    marks.write_bytes(b"")
    with opened(path, key) as other:
        other.freeze([(SECOND, {})])
    marks.write_bytes(kept)
    with pytest.raises(StreamUnavailable, match="not the one that was written"):
        Book(path, key)


def test_a_book_with_ticks_is_refused_without_its_marks(book: Book, path: Path, key: Path) -> None:
    """Else a copy of the book from earlier would answer its next tick a second time, with the same noise."""
    book.close()
    marks = key.with_suffix(".ticks")
    marks.unlink()
    with opened(path, key) as unused:
        unused.freeze([(FIRST, {})])
    marks.unlink()
    for _ in range(2):
        with pytest.raises(StreamUnavailable, match="ticks, which records its frozen ticks, is missing"):
            Book(path, key)
        assert not marks.exists()


def test_a_torn_mark_says_nothing(book: Book, path: Path, key: Path) -> None:
    book.freeze([(FIRST, {})])
    book.close()
    with key.with_suffix(".ticks").open("ab") as file:
        file.write(b"\n99 abc")
    with opened(path, key) as again:
        again.freeze([(SECOND, {})])
    with opened(path, key) as again:
        assert again.frozen == 2


def test_without_its_key_a_book_says_nothing(book: Book, path: Path, key: Path) -> None:
    book.freeze([(np.array([[0x4142434445464748]]), {})])
    book.close()
    key.unlink()
    with pytest.raises(StreamUnavailable, match="key"):
        Book(path, key)
    Seal.new().write(key)
    with opened(path, key) as forged, pytest.raises(StreamUnavailable, match="not what was written"):
        list(forged.numbers())
    whole = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"ABCDEFGH" not in whole
    assert b"HGFEDCBA" not in whole
    assert b"hourly" not in whole


def test_records_are_not_exchanged(book: Book) -> None:
    sealed = book.seal.close("tick 1", {"rows": 1})
    with pytest.raises(StreamUnavailable):
        book.seal.open("tick 2", sealed)


def test_who_came_when_is_not_in_the_clear(book: Book) -> None:
    """How many people came last at which tick is an exact number, and needs no key to be counted."""
    book.freeze([(FIRST, {bytes([n]) * 16: Standing(7, 0) for n in range(3)})])
    kept = sqlite3.connect(book.path).execute("SELECT * FROM people").fetchall()
    assert len(kept) == 3
    assert all(isinstance(cell, bytes) for row in kept for cell in row)
    assert len({row[1] for row in kept}) == 3


def test_a_book_that_was_made_meanwhile_is_not_replaced(book: Book, path: Path, key: Path) -> None:
    """Whoever found no book may come to make it after another has made it, paid for it and released from it."""
    book.freeze([(FIRST, {})])
    book.store([ONE])
    book.close()
    with closing(Book.create(path, key, {"digest": "other"})) as found:
        assert found.about == ABOUT
        assert plain(found.answers()) == plain([ONE])


def test_numbers_are_those_of_their_tick(book: Book) -> None:
    book.freeze([(FIRST, {})], first=0)
    with pytest.raises(StreamUnavailable, match="meanwhile"):
        book.freeze([(SECOND, {})], first=0)
    assert plain(book.numbers()) == plain([FIRST])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_no_book(book: Book) -> None:
    """It has the lock of its parent, and both would freeze."""
    child = os.fork()
    if not child:
        refused = 0
        for act in (lambda: book.freeze([(FIRST, {})]), lambda: book.arrive(None, []), lambda: book.frozen):
            try:
                act()
            except HandleMisuse:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    book.freeze([(FIRST, {})])
    assert book.frozen == 1


def test_nobody_else_can_read_a_book_or_its_key(book: Book, path: Path, key: Path) -> None:
    book.freeze([(FIRST, {})])
    for file in (*path.parent.iterdir(), *key.parent.iterdir()):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_a_creation_that_died_has_left_is_replaced(path: Path, key: Path) -> None:
    key.parent.mkdir(parents=True)
    path.parent.mkdir(parents=True)
    Seal.new().write(key)
    path.with_suffix(".new").write_bytes(b"half")
    with closing(Book.create(path, key, ABOUT)) as made:
        assert made.frozen == 0


def test_closing_a_stream_is_for_ever(book: Book, path: Path, key: Path) -> None:
    assert not book.is_closed
    book.close_stream()
    book.close_stream()
    book.close()
    with opened(path, key) as again:
        assert again.is_closed


def test_a_checkpoint_is_used_by_what_computed_it_and_after_the_same_ticks(book: Book, path: Path, key: Path) -> None:
    by = ["1.0", [["numpy", "2"]]]
    assert book.checkpoint(by) == (0, None)
    book.freeze([(FIRST, {}), (SECOND, {})])
    book.store([ONE])
    book.keep_checkpoint(by, {"totals": [4]})
    assert book.checkpoint(by) == (1, {"totals": [4]})
    assert book.checkpoint(["1.1", []]) == (0, None)
    book.store([OTHER])
    book.keep_checkpoint(by, {"totals": [5]})
    book.close()
    with opened(path, key) as again:
        assert again.checkpoint(by) == (2, {"totals": [5]})
    # A power failure took an answer, and the state is of later.
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute("DELETE FROM answers WHERE number = 1")
    with opened(path, key) as again:
        assert again.checkpoint(by) == (0, None)
    # Whoever has no key can take it away, and not change it.
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute(
            "UPDATE about SET sealed = (SELECT sealed FROM about WHERE name = 'about') WHERE name = 'checkpoint'"
        )
    with opened(path, key) as again, pytest.raises(StreamUnavailable):
        again.checkpoint(by)


def test_a_checkpoint_of_other_ticks_is_not_used(book: Book, path: Path, key: Path) -> None:
    """A copy of the book went another way, and its checkpoint came into this one."""
    book.freeze([(FIRST, {})])
    book.close()
    copy = path.with_name("copy.sqlite")
    shutil.copy(path, copy)
    marks = key.with_suffix(".ticks").read_bytes()
    with opened(copy, key) as other:
        other.freeze([(FIRST, {})])
        other.store([ONE, ONE])
        other.keep_checkpoint("here", 3)
    key.with_suffix(".ticks").write_bytes(marks)
    with closing(sqlite3.connect(copy)) as rows:
        (sealed,) = rows.execute("SELECT sealed FROM about WHERE name = 'checkpoint'").fetchone()
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute("INSERT INTO about VALUES ('checkpoint', ?)", (sealed,))
    with opened(path, key) as again:
        again.freeze([(SECOND, {})])
        again.store([ONE, OTHER])
        assert again.checkpoint("here") == (0, None)


def test_the_last_mark_is_found_behind_much_that_is_torn(book: Book, path: Path, key: Path) -> None:
    book.freeze([(FIRST, {}), (SECOND, {})])
    book.close()
    marks = key.with_suffix(".ticks")
    last = marks.read_text().rsplit("\n", 1)[1]
    marks.write_text("1 odd\n" * 999 + last + "\n" + "2 torn\n" * 4999 + "3 ")
    with closing(Marks(marks)) as read:
        assert read.last == (2, last.split()[1])
