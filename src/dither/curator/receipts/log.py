"""The tree over the entries of a ledger: hashes of whole subtrees, kept in files from which proofs are read.

A leaf is the text of an entry with a salt before it. The salt follows from the folder's secret key and the number of
the entry, so that a hash tells nothing about an entry to whoever has not been shown its salt. The files hold nothing
that does not follow from the ledger and the key: they are made again where they are missing or are those of another
ledger, and nothing waits for them on the disk.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from typing import Any, Final

from dither.curator.ledger import Entry, Ledger
from dither.curator.ledger.books import Books
from dither.curator.ledger.chain import canonical
from dither.curator.receipts import tree
from dither.curator.receipts.checkpoint import Checkpoint, PublicKey
from dither.curator.receipts.keyring import Keyring, alone
from dither.errors import InvalidParameter, NotFound

_HASH: Final = 32
#: Of a curator's folder: where the key and the tree are.
FOLDER: Final = "receipts"


class Log:
    """The tree of a curator's ledger, and the key that signs its head.

    Args:
        ledger: whose entries are its leaves.
        folder: the curator's.

    """

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        if not isinstance(ledger, Books):
            raise InvalidParameter("ledger", ledger, "a file or a database: what lives in memory has no receipts")
        self._ledger, self._folder = ledger, folder / FOLDER
        self._keyring = Keyring(ledger, self._folder)
        self.origin = self._keyring.origin

    @property
    def public_key(self) -> PublicKey:
        """The key that outsiders check with."""
        return self._keyring.public

    @property
    def changes(self) -> list[str]:
        """The notes by which keys took the place of others, from the oldest."""
        return self._keyring.changes

    def change_key(self) -> PublicKey:
        """Sign with a new key from now on, as the old one signs; return the new one's public half.

        Receipts of the old key stay true, and are checked with the old key.
        """
        self._keyring.change()
        return self.public_key

    def sealed_key(self) -> tuple[bytes, str]:
        """Return the secret key as the content of a sealed file for another machine, and the code that opens it."""
        return self._keyring.sealed()

    def checkpoint(self) -> str:
        """Return the head of the tree, with all entries there are, signed."""
        size = self._grown()
        return self._signed(size)

    def consistency(self, earlier: int, size: int) -> list[str]:
        """Return the hashes that prove that the tree of ``size`` entries begins with the one of ``earlier``.

        Args:
            earlier: entries, 1 or more.
            size: entries, no fewer, and no more than there are.

        """
        if not 1 <= earlier <= size <= self._grown():
            raise InvalidParameter("earlier", earlier, "a number of entries from 1 to as many as there are")
        return [one.hex() for one in tree.consistency(self._node, earlier, size)]

    def receipt(self, number: int) -> dict[str, Any]:
        """Return the receipt of an answer: its entry and its debit, that both are in the tree, and the signed head.

        Args:
            number: of the answer's entry, from 1.

        """
        size = self._grown()
        answer = self._entry(number)
        if answer is None or answer.kind != "answer":
            raise NotFound(f"entry {number} is no answer")
        debit = self._debit_of(answer)
        return {
            "receipt": 1,
            "answer": self._proved(answer, size),
            "debit": self._proved(debit, size),
            "registered": self._proved(self._first_of(answer), size),
            "checkpoint": self._signed(size),
        }

    def published_receipt(self, number: int) -> dict[str, Any]:
        """Return the receipt of a publication, for everybody: it says neither who asked nor in which words.

        Args:
            number: of the publication's entry, from 1.

        """
        size = self._grown()
        entry = self._entry(number)
        if entry is None or entry.kind != "publish":
            raise NotFound(f"entry {number} is no publication")
        if "answer" not in entry.record["stated"]:
            raise NotFound(
                f"entry {number} is of an earlier version and has no receipt: withdraw it, and publish it anew"
            )
        return {"receipt": 2, "published": self._proved(entry, size), "checkpoint": self._signed(size)}

    def _signed(self, size: int) -> str:
        """Return the head of the tree of the first entries, signed, if the key here is still the ledger's."""
        self._keyring.check()
        return Checkpoint(self.origin, size, tree.root_of(self._node, size)).signed(self._keyring.key)

    def _proved(self, entry: Entry, size: int) -> dict[str, Any]:
        path = tree.inclusion(self._node, entry.number - 1, size)
        return {
            "entry": canonical(entry.record),
            "salt": self._salt(entry.number).hex(),
            "index": entry.number - 1,
            "path": [one.hex() for one in path],
        }

    def _entry(self, number: int) -> Entry | None:
        for entry in self._ledger.entries(after=number - 1):
            return entry if entry.number == number else None
        return None

    def _debit_of(self, answer: Entry) -> Entry:
        """Return the debit for which an answer was given."""
        number = self._ledger.debit_of(answer.number)
        found = None if number is None else self._entry(number)
        if found is None:
            raise NotFound(f"entry {answer.number} has no debit")
        return found

    def _first_of(self, answer: Entry) -> Entry:
        """Return the entry with which the data set of an answer was registered: it says whom a loss is for."""
        return next(iter(self._ledger.entries(answer.dataset)))

    # Hashes of whole subtrees, level by level.

    def _salt(self, number: int) -> bytes:
        return hmac.digest(self._keyring.salting, number.to_bytes(8, "big"), "sha256")

    def _leaf(self, entry: Entry) -> bytes:
        return tree.leaf_hash(self._salt(entry.number) + canonical(entry.record).encode())

    def _node(self, level: int, index: int) -> bytes:
        with open(self._level(level), "rb") as file:
            file.seek(index * _HASH)
            found = file.read(_HASH)
        if len(found) != _HASH:
            raise NotFound("a hash of the tree is gone; delete the files 'level-*' beside the key")
        return found

    def _level(self, level: int) -> Path:
        return self._folder / f"level-{level:02}"

    def _grown(self) -> int:
        """Add what the ledger has gained; return how many leaves there are."""
        with alone(self._folder):
            size = self._known()
            head = self._read_head(size)
            for entry in self._ledger.entries(after=size):
                self._append(entry.number - 1, self._leaf(entry))
                size, head = entry.number, entry.hash
            self._mark().write_text(f"{size} {head}\n", encoding="ascii")
        return size

    def _append(self, index: int, found: bytes) -> None:
        level = 0
        while True:
            with open(self._level(level), "r+b" if self._level(level).exists() else "w+b") as file:
                file.seek(index * _HASH)
                file.write(found)
            if not index & 1:
                return
            found = tree.node_hash(self._node(level, index - 1), found)
            index, level = index >> 1, level + 1

    def _known(self) -> int:
        """Return how many leaves are kept, where they are those of this ledger; none otherwise."""
        try:
            size, _, head = self._mark().read_text(encoding="ascii").strip().partition(" ")
            kept = os.stat(self._level(0)).st_size // _HASH
        except OSError:
            return 0
        if not size.isdecimal() or int(size) > kept:
            return 0
        entry = self._entry(int(size)) if int(size) else None
        return int(size) if entry is not None and entry.hash == head else 0

    def _read_head(self, size: int) -> str:
        return self._mark().read_text(encoding="ascii").split()[1] if size else "-"

    def _mark(self) -> Path:
        return self._folder / "size"


def salted_leaf(salt: bytes, text: str) -> bytes:
    """Return the hash of an entry's leaf, for whoever was shown its salt."""
    return tree.leaf_hash(salt + text.encode())


def digest_of(answer: bytes) -> str:
    """Return the digest by which an entry names an answer."""
    return hashlib.sha256(answer).hexdigest()
