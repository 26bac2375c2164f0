"""Whatever becomes of the tree's files, what is signed is the tree of the ledger's entries, and no size has two."""

from __future__ import annotations

import hmac
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dither.curator.ledger import Account, Reservation, accept_restored, open_ledger
from dither.curator.ledger.chain import canonical, link
from dither.curator.ledger.rules import Books
from dither.curator.receipts import Log, begin_anew, read_checkpoint, tree, verify_receipt
from dither.errors import LedgerCorrupted
from dither.privacy import PureDP
from tests.curator.test_receipts import slow_root


class Home:
    """A ledger in a file, and the folder of its receipts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.anchors = folder, folder / "ledger.sqlite", folder / "anchors"
        self.files = folder / "receipts"
        self.ledger = open_ledger(self.path, anchors=self.anchors)
        assert isinstance(self.ledger, Books)
        self.ledger.register("clinic", budget=PureDP(100), unit="people")

    def release(self, *keys: str) -> None:
        """Debit and answer, three entries each."""
        for key in keys:
            held = self.ledger.reserve(Account("clinic", "ana"), key, f"digest of {key}", PureDP("1/8"))
            assert isinstance(held, Reservation)
            self.ledger.begin_draw(held)
            self.ledger.complete(held, f"answer to {key}".encode())

    def leaves(self) -> list[bytes]:
        """What the leaves must be, from the key's file and the ledger alone: those of skipped numbers have no text."""
        first = self.files / "first-key"
        key = (first if first.exists() else self.files / "key").read_bytes()
        salting = hmac.digest(key, b"dither salts of leaves", "sha256")
        texts = {entry.number: canonical(entry.record) for entry in self.ledger.entries()}
        numbers = range(1, max(texts) + 1)
        return [hmac.digest(salting, n.to_bytes(8, "big"), "sha256") + texts.get(n, "").encode() for n in numbers]

    def check(self, log: Log) -> None:
        """Check that all that is signed and proved is about this ledger and no other."""
        leaves = self.leaves()
        head = read_checkpoint(log.checkpoint(), log.public_key)
        assert (head.size, head.root) == (len(leaves), slow_root(leaves))
        for entry in self.ledger.entries():
            if entry.kind == "answer":
                assert verify_receipt(log.receipt(entry.number), log.public_key).entry == entry.number
        for earlier in range(1, head.size + 1):
            path = [bytes.fromhex(one) for one in log.consistency(earlier, head.size)]
            assert tree.is_consistent(earlier, slow_root(leaves[:earlier]), head.size, head.root, path)

    def edit(self, *statements: str, **words: Any) -> None:
        """Change the file behind the ledger's back."""
        with closing(sqlite3.connect(self.path)) as database:
            database.execute("DROP TRIGGER IF EXISTS entries_stay")
            for statement in statements:
                database.execute(statement, words)
            database.commit()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.ledger.close()


def zeroed(path: Path, last: int) -> None:
    """Leave zeros at the end of a file, as a power loss may."""
    content = path.read_bytes()
    path.write_bytes(content[:-last] + b"\0" * last)


def flipped(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "zeros at the end of the leaves": lambda files: zeroed(files / "level-00", 64),
    "zeros at the end of the pairs": lambda files: zeroed(files / "level-01", 32),
    "no pairs": lambda files: (files / "level-01").unlink(),
    "fewer pairs": lambda files: os.truncate(files / "level-01", 64),
    "fewer leaves": lambda files: os.truncate(files / "level-00", 33),
    "no leaves": lambda files: (files / "level-00").unlink(),
    "no files": lambda files: [path.unlink() for path in files.glob("level-*")],
    "an empty level": lambda files: (files / "level-02").write_bytes(b""),
    "a bit of an inner leaf": lambda files: flipped(files / "level-00", 100),
    "a bit of an inner pair": lambda files: flipped(files / "level-01", 40),
    "a bit of the top": lambda files: flipped(files / "level-03", 0),
    "no heads": lambda files: (files / "heads").unlink(),
    "zeros for heads": lambda files: (files / "heads").write_bytes(b"\0" * 4096),
    "the heads and the leaves": lambda files: [
        (files / name).write_bytes(b"x" * 320) for name in ("heads", "level-00")
    ],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_made_again_before_anything_is_signed(home: Home, damage: str) -> None:
    home.release("first", "second", "third", "fourth", "fifth")
    log = Log(home.ledger, home.folder)
    before = read_checkpoint(log.checkpoint(), log.public_key)
    assert before.size == 16
    DAMAGES[damage](home.files)
    home.check(log)
    DAMAGES[damage](home.files)
    home.release("sixth")
    home.check(Log(home.ledger, home.folder))
    path = [bytes.fromhex(one) for one in log.consistency(before.size, before.size + 3)]
    root = slow_root(home.leaves()[: before.size + 3])
    assert tree.is_consistent(before.size, before.root, before.size + 3, root, path)


def test_a_head_that_was_torn_is_no_head_and_the_one_before_it_is_judged_by(home: Home) -> None:
    log = Log(home.ledger, home.folder)
    # More often than there are places in the file.
    for number in range(20):
        home.release(str(number))
        log.checkpoint()
    content = (home.files / "heads").read_bytes()
    # A hash may end in these digits, too.
    (last,) = (found.start() for found in re.finditer(rb"(?<![0-9A-Za-z+/=])%d " % (3 * 20 + 1), content))
    (home.files / "heads").write_bytes(content[: last + 40] + b"\0" * 100 + content[last + 140 :])
    home.check(log)
    rewrite(home, 3)
    # It is not known any more that 61 entries were signed, and it is known that 58 were.
    (home.files / "heads").write_bytes(content[: last + 40] + b"\0" * 100 + content[last + 140 :])
    with pytest.raises(LedgerCorrupted, match="58 entries were signed"):
        Log(home.ledger, home.folder).checkpoint()


def rewrite(home: Home, number: int) -> None:
    """Change an entry and all hashes after it, so that the chain is whole."""
    entries = list(home.ledger.entries(after=number - 2))
    last, values = entries[0].hash, []
    for entry in entries[1:]:
        text = canonical({**entry.record, "time": "changed"} if entry.number == number else entry.record)
        last = link(last, text)
        values.append((text, last, entry.number))
    home.ledger.close()
    with closing(sqlite3.connect(home.path)) as database:
        for trigger in ("entries_stay", "head_advances"):
            database.execute(f"DROP TRIGGER {trigger}")
        database.executemany("UPDATE entries SET record = ?, hash = ? WHERE seq = ?", values)
        database.execute("UPDATE head SET hash = ?", (last,))
        database.commit()
    shutil.rmtree(home.anchors)
    home.ledger = open_ledger(home.path, anchors=home.anchors)


@pytest.mark.parametrize("damage", ["none", "no files"])
def test_no_size_is_signed_twice_with_another_root(home: Home, damage: str) -> None:
    home.release("first", "second")
    Log(home.ledger, home.folder).checkpoint()
    rewrite(home, 3)
    if damage in DAMAGES:
        DAMAGES[damage](home.files)
    log = Log(home.ledger, home.folder)
    for _ in range(2):
        with pytest.raises(LedgerCorrupted, match="7 entries were signed"):
            log.checkpoint()
    home.release("third")
    for asked in (log.checkpoint, lambda: log.receipt(4), lambda: log.consistency(1, 2)):
        with pytest.raises(LedgerCorrupted, match="new-key --lost"):
            asked()
    # Another key is another origin of trust, and has signed nothing yet.
    begin_anew(home.ledger, home.files)  # type: ignore[arg-type]
    home.check(Log(home.ledger, home.folder))


def test_an_entry_that_was_changed_alone_is_neither_signed_nor_proved(home: Home) -> None:
    home.release("first", "second")
    log = Log(home.ledger, home.folder)
    log.checkpoint()
    record = next(iter(home.ledger.entries(after=3))).record
    home.edit("UPDATE entries SET record = :text WHERE seq = 4", text=canonical({**record, "time": "changed"}))
    with pytest.raises(LedgerCorrupted, match="entry 4 does not follow"):
        log.receipt(4)
    DAMAGES["no files"](home.files)
    with pytest.raises(LedgerCorrupted, match="entry 4 does not follow"):
        log.checkpoint()


@pytest.mark.parametrize("shown", [False, True], ids=["not shown before", "shown before"])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_restored_ledger_is_signed_with_leaves_for_the_numbers_that_it_skipped(
    home: Home, lost: int, shown: bool
) -> None:
    home.release("first", "second")
    Log(home.ledger, home.folder).checkpoint()
    home.ledger.close()
    shutil.copy(home.path, home.folder / "backup")
    home.ledger = open_ledger(home.path, anchors=home.anchors)
    home.release(*(f"lost {number}" for number in range(lost)))
    if shown:
        Log(home.ledger, home.folder).checkpoint()
    home.ledger.close()
    shutil.copy(home.folder / "backup", home.path)
    home.ledger = accept_restored(home.path, reason="a test of the backup", anchors=home.anchors)
    log = Log(home.ledger, home.folder)
    home.check(log)
    home.release("after")
    home.check(log)
    head = read_checkpoint(log.checkpoint(), log.public_key)
    assert head.size == 7 + 3 * lost + 1 + 3
    # What was signed with entries that are lost was signed: the next tree is judged by this one.
    DAMAGES["no files"](home.files)
    home.check(Log(home.ledger, home.folder))


def test_adding_leaves_waits_for_no_disk_and_reads_only_what_is_new(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(home.ledger, home.folder)
    home.release(*map(str, range(30)))
    log.checkpoint()
    home.release("last")
    waited, read = [], []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, waited.append)
    lines: Any = Books._lines

    def counted(books: Books, dataset: str | None, after: int) -> Any:
        found = lines(books, dataset, after)
        read.append(len(found))
        return found

    monkeypatch.setattr(Books, "_lines", counted)
    log.checkpoint()
    assert (waited, sum(read)) == ([], 3)
    read.clear()
    verify_receipt(log.receipt(4), log.public_key)
    assert sum(read) == 0


def test_several_logs_of_one_folder_sign_one_tree(home: Home) -> None:
    notes, problems = [], []

    def work(number: int) -> None:
        try:
            log = Log(home.ledger, home.folder)
            for turn in range(6):
                home.release(f"{number} {turn}")
                if (number, turn) == (1, 3):
                    zeroed(home.files / "level-00", 64)
                notes.append((log.checkpoint(), log.public_key))
                entry = home.ledger.find_answers(f"{number} {turn}")[0].entry
                verify_receipt(log.receipt(entry), log.public_key)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    leaves = home.leaves()
    for note, key in notes:
        head = read_checkpoint(note, key)
        assert head.root == slow_root(leaves[: head.size])
