"""``python -m tools.receipts``: change receipts and ledgers bit by bit, and count what is not found; time proofs.

A receipt in which a bit was changed must prove nothing. A ledger that is shorter than it was, or of which an entry that
was seen has changed, must be found by a witness. A proof among a million entries must be small and quick.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import secrets
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

from dither.curator.folder import Curator
from dither.curator.keys import SigningKey, is_signed
from dither.curator.ledger.chain import answer_text, link
from dither.curator.receipts import (
    Log,
    PublicKey,
    checkpoint,
    read_checkpoint,
    read_receipt,
    receipt_text,
    tree,
    verify_receipt,
)
from dither.curator.receipts.checkpoint import Checkpoint
from dither.errors import InvalidParameter
from dither.service.witness import compared
from tools.faults.served import COUNT, EACH, made

ORIGIN: Final = "dither/tried"


@dataclass
class Tally:
    """What was tried, and what passed that must not."""

    tried: int = 0
    passed: list[str] = field(default_factory=list)


def flips(receipts: int, each: int | None, processes: int = 1, *, says: bool = False) -> Tally:
    """Change bits of receipts, each alone.

    Args:
        receipts: how many.
        each: how many bits of each, drawn at random; None for every bit.
        processes: how many work at once.
        says: whether to print how far it has come.

    """
    tally = Tally()
    texts, key = _receipts(receipts)
    tasks = (texts, itertools.repeat(str(key)), itertools.repeat(each))
    with _mapped(processes) as mapped:
        for done, (tried, passed) in enumerate(mapped(_flip, *tasks), 1):
            tally.tried += tried
            tally.passed += passed
            if says and done % 50 == 0:
                print(f"  {done} receipts, {tally.tried} bits, {len(tally.passed)} not found", flush=True)
    return tally


def _receipts(count: int) -> tuple[list[bytes], PublicKey]:
    """Return receipts of a new ledger, and its key."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder, "50")
        with Curator.open(folder / "home", anchors=folder / "anchors") as curator:
            with curator.session("clinic", analyst="ana") as session:
                for number in range(count):
                    session.sql(COUNT, epsilon=EACH, key=str(number))
            log = Log(curator.ledger, curator.folder)
            answers = [entry.number for entry in curator.ledger.entries() if entry.kind == "answer"]
            return [receipt_text(log.receipt(number)).encode() for number in answers], log.public_key


@contextmanager
def _mapped(processes: int) -> Iterator[Any]:
    """Give a ``map`` that works in this process, or in several at once."""
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield pool.map


def _flip(content: bytes, key: str, each: int | None) -> tuple[int, list[str]]:
    """Change bits of one receipt; return how many, and those with which it still proves something."""
    public = PublicKey.read(key)
    # Nearly all changes leave the signed head as it was: the same question about the same bytes is decided once.
    with mock.patch.object(checkpoint, "is_signed", functools.lru_cache(1024)(is_signed)):
        verify_receipt(read_receipt(content.decode()), public)
        bits, passed = 8 * len(content), []
        chosen = range(bits) if each is None else {secrets.randbelow(bits) for _ in range(each)}
        for bit in chosen:
            changed = bytearray(content)
            changed[bit // 8] ^= 1 << bit % 8
            try:
                verify_receipt(read_receipt(changed.decode("utf-8", "replace")), public)
            except InvalidParameter:
                continue
            passed.append(f"bit {bit} of {bytes(changed[max(0, bit // 8 - 20) : bit // 8 + 20])!r}")
        return len(chosen), passed


class Tree:
    """The hashes of a tree, level by level, in memory."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.size, self._levels = len(leaves), [list(leaves)]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            pairs = range(0, len(below) - 1, 2)
            self._levels.append([tree.node_hash(below[place], below[place + 1]) for place in pairs])

    def __call__(self, level: int, index: int) -> bytes:
        """Return the hash of a whole subtree."""
        return self._levels[level][index]

    def note(self, key: SigningKey, size: int | None = None) -> str:
        """Return the signed head of the first leaves."""
        count = self.size if size is None else size
        return Checkpoint(ORIGIN, count, tree.root_of(self, count)).signed(key)


def ledgers(count: int) -> Tally:
    """Show witnesses ledgers that are stale or forked.

    Args:
        count: how many of each.

    """
    tally, key = Tally(), SigningKey(os.urandom(32))
    public = str(PublicKey(ORIGIN, key.public))
    leaves = [hashlib.sha256(number.to_bytes(8, "big")).digest() for number in range(2 * count)]
    whole = Tree(leaves)
    for number in range(count):
        seen = 1 + secrets.randbelow(2 * count - 1)
        known = {"key": public, "checkpoint": whole.note(key, seen)}
        place = secrets.randbelow(seen)
        forked = Tree([*leaves[:place], os.urandom(32), *leaves[place + 1 : seen + secrets.randbelow(9)]])
        stale = secrets.randbelow(seen)
        for other, size in ((whole, stale), (forked, forked.size)):
            tally.tried += 1
            note = other.note(key, size)
            honest = [one.hex() for one in tree.consistency(other, min(seen, size), size)] if size else []
            # The proof that the service would give, that of the ledger that was shown, and none.
            for path in (honest, [one.hex() for one in tree.consistency(whole, seen, whole.size)], []):
                if compared(known, public, note, lambda *_, path=path: path).is_consistent:
                    tally.passed.append(f"ledger {number} of {size} entries after {seen}")
        good = [one.hex() for one in tree.consistency(whole, seen, whole.size)]
        if not compared(known, public, whole.note(key), lambda *_, path=good: path).is_consistent:
            tally.passed.append(f"a true ledger was refused after {seen}")
    return tally


@dataclass(frozen=True)
class Timed:
    """How long receipts took, each in milliseconds, and how large they were.

    Args:
        entries: of the ledger.
        grown: seconds in which the tree was made from the ledger.
        waited: from the call to the receipt.
        worked: of that, on a processor.
        proved: for the hashes of one proof alone.
        proof: the most bytes of one proof.
        receipt: the most bytes of a receipt: three entries, their proofs, and the signed head.

    """

    entries: int
    grown: float
    waited: list[float]
    worked: list[float]
    proved: list[float]
    proof: int
    receipt: int

    def __str__(self) -> str:
        waited, worked, proved = (
            f"{statistics.median(times):.2f} ms ({sorted(times)[-1 - len(times) // 100]:.2f} ms)"
            for times in (self.waited, self.worked, self.proved)
        )
        return (
            f"a receipt among {self.entries} entries, median (99 of 100 within): {waited}, of which on a processor "
            f"{worked}; the hashes of one proof {proved}; at most {self.proof} bytes a proof and {self.receipt} a "
            f"receipt; the tree was made in {self.grown:.1f} s; load {os.getloadavg()[0]:.1f}"
        )


def proofs(entries: int, folder: Path, count: int = 1000) -> Timed:
    """Time receipts as whoever asks for one waits for them.

    Args:
        entries: of the ledger, but for a few more.
        folder: where the ledger and its tree are made.
        count: how many receipts are asked for.

    """
    made(folder, "50")
    answers = _release(folder, "early")
    _lengthen(folder / "home" / "ledger.sqlite", entries)
    answers += _release(folder, "late")
    with Curator.open(folder / "home", anchors=folder / "anchors") as curator:
        log = Log(curator.ledger, curator.folder)
        begun = time.perf_counter()
        size = read_checkpoint(log.checkpoint(), log.public_key).size
        grown = time.perf_counter() - begun
        waited, worked, proved, most, whole = [], [], [], 0, 0
        for _ in range(count):
            number = secrets.choice(answers)
            begun, spent = time.perf_counter(), time.process_time()
            receipt = log.receipt(number)
            worked.append(1000 * (time.process_time() - spent))
            waited.append(1000 * (time.perf_counter() - begun))
            whole = max(whole, len(receipt_text(receipt)))
            begun = time.perf_counter()
            path = tree.inclusion(log._node, secrets.randbelow(size), size)
            proved.append(1000 * (time.perf_counter() - begun))
            most = max(most, len(json.dumps([one.hex() for one in path])))
        verify_receipt(receipt, log.public_key)
    return Timed(size, grown, waited, worked, proved, most, whole)


def _release(folder: Path, name: str, count: int = 20) -> list[int]:
    """Ask some questions of the ledger in a folder; return the numbers of their entries."""
    with (
        Curator.open(folder / "home", anchors=folder / "anchors") as curator,
        curator.session("clinic", analyst="ana") as session,
    ):
        keys = [f"{name} {number}" for number in range(count)]
        return [int(session.sql(COUNT, epsilon=EACH, key=key).receipt.split(":")[1]) for key in keys]


def _lengthen(path: Path, entries: int) -> None:
    """Append entries to a ledger's chain without its rules, which would take hours: nothing is debited for them."""
    with closing(sqlite3.connect(path)) as database:
        seq, last = database.execute("SELECT seq, hash FROM head").fetchone()

        def lines() -> Iterator[tuple[int, str, str, str]]:
            nonlocal last
            for number in range(seq + 1, entries + 1):
                digest = hashlib.sha256(number.to_bytes(8, "big")).hexdigest()
                text = answer_text(number, "2026-01-01T00:00:00.000+00:00", ("clinic", "ana"), str(number), digest)
                last = link(last, text)
                yield number, "clinic", text, last

        database.executemany("INSERT INTO entries (seq, dataset, record, hash) VALUES (?, ?, ?, ?)", lines())
        database.execute("UPDATE head SET seq = ?, hash = ?", (max(seq, entries), last))
        database.commit()


def main() -> None:
    """Try all of it; exit 1 if anything passed that must not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--receipts", type=int, default=1000, help="how many are changed")
    parser.add_argument("--bits", type=int, default=None, help="of each, at random; every one unless said")
    parser.add_argument("--ledgers", type=int, default=1000, help="how many stale ones, and how many forked ones")
    parser.add_argument("--entries", type=int, default=1_000_000, help="among which proofs are made")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many change receipts at once")
    asked = parser.parse_args()
    changed = flips(asked.receipts, asked.bits, asked.processes, says=True)
    shown = ledgers(asked.ledgers)
    with tempfile.TemporaryDirectory() as name:
        timed = proofs(asked.entries, Path(name))
    print(f"{changed.tried} bits of {asked.receipts} receipts: {len(changed.passed)} not found")
    print(f"{shown.tried} stale or forked ledgers: {len(shown.passed)} not found")
    print(timed)
    for one in [*changed.passed, *shown.passed][:20]:
        print(f"  {one}")
    sys.exit(1 if changed.passed or shown.passed else 0)


if __name__ == "__main__":
    main()
