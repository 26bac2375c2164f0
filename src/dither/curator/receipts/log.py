"""The tree over the entries of a ledger: hashes of whole subtrees, kept in files from which proofs are read.

A leaf is the text of an entry with a salt before it. The salt follows from the folder's secret key and the number of
the entry, so that a hash tells nothing about an entry to whoever has not been shown its salt. A number that a restored
ledger has skipped has a leaf, too: that of no text.

The files hold nothing that does not follow from the ledger and the key, and nothing waits for them on the disk. So they
are not believed: the head that was shown last is kept beside them (``heads``), and they are made again where they are
missing, short or give another. Every proof is checked as whoever gets it will check it, and entries are followed along
the chain. Guarantee: what is signed is the tree of the ledger's entries, whatever became of the files, and it begins
with what was signed before.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from dither.curator.ledger import Entry, Ledger
from dither.curator.ledger.chain import canonical, first_link, link
from dither.curator.ledger.rules import Books
from dither.curator.receipts import tree
from dither.curator.receipts.checkpoint import Checkpoint, PublicKey
from dither.curator.receipts.heads import Head, Heads
from dither.curator.receipts.keyring import Keyring, alone
from dither.errors import InvalidParameter, LedgerCorrupted, NotFound

Result = TypeVar("Result")

_HASH: Final = 32
#: How many leaves are written together.
_TOGETHER: Final = 1000
#: Of a curator's folder: where the key and the tree are.
FOLDER: Final = "receipts"


class _Damaged(Exception):
    """A hash in the tree's files is missing, or not that of the ledger's entries."""


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
        self._heads = Heads(self._folder, self.origin, self._keyring.salting)

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

    def secret_for(self, purpose: str) -> bytes:
        """Return 32 secret bytes that every machine with this key knows, for one purpose and no other.

        Args:
            purpose: in public words.

        """
        return hmac.digest(self._keyring.key.secret, f"dither {purpose}".encode(), "sha256")

    def checkpoint(self) -> str:
        """Return the head of the tree, with all entries there are, signed."""
        return self._signed(self._grown())

    def consistency(self, earlier: int, size: int) -> list[str]:
        """Return the hashes that prove that the tree of ``size`` entries begins with the one of ``earlier``.

        Args:
            earlier: entries, 1 or more.
            size: entries, no fewer, and no more than there are.

        """

        def made(head: Head) -> list[str]:
            if not 1 <= earlier <= size <= head.size:
                raise InvalidParameter(
                    "earlier", earlier, "a number of entries from 1 to the number of entries of the ledger"
                )
            # From the head that is known down to the earlier ones, whose hashes stand in the files alone.
            middle, _ = self._begins(size, head.size, head.root)
            return [one.hex() for one in self._begins(earlier, size, middle)[1]]

        return self._sound(made)

    def receipt(self, number: int) -> dict[str, Any]:
        """Return the receipt of an answer: its entry and its debit, that both are in the tree, and the signed head.

        Args:
            number: of the answer's entry, from 1.

        """
        answer = self._ledger.entry(number)
        if answer is None or answer.kind != "answer":
            raise NotFound(f"entry {number} is no answer")
        proved = {"answer": answer, "debit": self._debit_of(answer), "registered": self._first_of(answer)}
        return self._sound(lambda head: self._receipt(1, proved, head))

    def published_receipt(self, number: int) -> dict[str, Any]:
        """Return the receipt of a publication, for everybody: it says neither who asked nor in which words.

        Args:
            number: of the publication's entry, from 1, or of one that states sums anew.

        """
        entry = self._ledger.entry(number)
        if entry is not None and entry.kind == "state":
            return self._sound(lambda head: self._receipt(3, {"stated": entry}, head))
        if entry is None or entry.kind != "publish":
            raise NotFound(f"entry {number} is no publication")
        if "answer" not in entry.record["stated"]:
            raise NotFound(
                f"entry {number} is of an earlier version and has no receipt: withdraw it, and publish it again"
            )
        return self._sound(lambda head: self._receipt(2, {"published": entry}, head))

    def _receipt(self, version: int, proved: dict[str, Entry], head: Head) -> dict[str, Any]:
        proofs = {name: self._proved(entry, head) for name, entry in proved.items()}
        return {"receipt": version, **proofs, "checkpoint": self._signed(head)}

    def _signed(self, head: Head) -> str:
        return Checkpoint(self.origin, head.size, head.root).signed(self._keyring.key)

    def _proved(self, entry: Entry, head: Head) -> dict[str, Any]:
        """Return an entry with what proves that it is in the tree, as whoever gets it will find."""
        text, salt, index = canonical(entry.record), self._salt(entry.number), entry.number - 1
        path = tree.inclusion(self._node, index, head.size)
        if not tree.is_included(salted_leaf(salt, text), index, head.size, path, head.root):
            raise _Damaged
        return {"entry": text, "salt": salt.hex(), "index": index, "path": [one.hex() for one in path]}

    def _begins(self, earlier: int, size: int, root: bytes) -> tuple[bytes, list[bytes]]:
        """Return the root of an earlier tree, and the hashes that prove that the one with a root begins with it."""
        first, path = tree.root_of(self._node, earlier), tree.consistency(self._node, earlier, size)
        if not tree.is_consistent(earlier, first, size, root, path):
            raise _Damaged
        return first, path

    def _sound(self, made: Callable[[Head], Result]) -> Result:
        """Return what is made from the tree, whose files are made again where it shows that they are damaged."""
        try:
            return made(self._grown())
        except _Damaged:
            head = self._grown(is_anew=True)
        try:
            return made(head)
        except _Damaged:
            raise LedgerCorrupted(self._ledger.place, "the tree over its entries is written by others") from None

    def _debit_of(self, answer: Entry) -> Entry:
        """Return the debit for which an answer was given."""
        number = self._ledger.debit_of(answer.number)
        found = None if number is None else self._ledger.entry(number)
        if found is None:
            raise NotFound(f"entry {answer.number} has no debit")
        return found

    def _first_of(self, answer: Entry) -> Entry:
        """Return the entry with which the data set of an answer was registered: it says whom a loss is for."""
        found = self._ledger.first_entry(str(answer.dataset))
        if found is None or found.kind != "register":
            raise NotFound(f"the entry that registered {answer.dataset} was lost when the ledger was restored")
        return found

    # From the ledger to the files.

    def _grown(self, *, is_anew: bool = False) -> Head:
        """Add what the ledger has gained, and return the head of all its entries.

        Args:
            is_anew: whether the files are made again from the first entry on; they are, too, where they are damaged.

        """
        with alone(self._folder):
            # A key that is no longer the ledger's neither writes nor signs.
            self._keyring.check()
            kept = self._heads.latest()
            edge = None if kept is None or is_anew else self._edge_of(kept)
            if kept is None or edge is not None:
                head, _ = self._extended(edge or tree.Edge(self._node, 0), kept)
            else:
                head, root = self._extended(tree.Edge(self._node, 0), None, at=kept.size)
                self._check_begins(kept, root)
            if head.size and head != kept:
                self._heads.keep(head)
        return head

    def _edge_of(self, kept: Head) -> tree.Edge | None:
        """Return the edge to which leaves are added, if the files have all hashes of a tree, and this edge is right."""
        entry = self._ledger.entry(kept.size)
        if entry is None or entry.hash != kept.link:
            return None
        try:
            sizes = [os.stat(self._level(level)).st_size for level in range(kept.size.bit_length())]
            edge = tree.Edge(self._node, kept.size)
        except (FileNotFoundError, _Damaged):
            return None
        is_long = all(size >= _HASH * (kept.size >> level) for level, size in enumerate(sizes))
        return edge if is_long and edge.root == kept.root else None

    def _extended(self, edge: tree.Edge, kept: Head | None, at: int = 0) -> tuple[Head, bytes | None]:
        """Write the hashes of all entries after an edge, each of which must follow from the one before.

        Returns the head, and the root of the first ``at`` entries, if there are that many. What was written is not read
        again: both are those of the entries, whatever the disk makes of the files.
        """
        last, root = first_link(self._ledger.id) if kept is None else kept.link, None
        leaves: list[bytes] = []
        for entry in self._ledger.entries(after=edge.size):
            text = canonical(entry.record)
            if entry.record.get("seq") != entry.number or link(last, text) != entry.hash:
                rule = f"entry {entry.number} does not follow from the one before it: 'dither ledger verify' says more"
                raise LedgerCorrupted(self._ledger.place, rule)
            for number in range(edge.size + len(leaves) + 1, entry.number + 1):
                leaves.append(salted_leaf(self._salt(number), text if number == entry.number else ""))
                if len(leaves) == _TOGETHER or number == at:
                    self._write(edge, leaves)
                    leaves, root = [], edge.root if number == at else root
            last = entry.hash
        self._write(edge, leaves)
        return Head(edge.size, last, edge.root), root

    def _check_begins(self, kept: Head, root: bytes | None) -> None:
        """Refuse a tree that does not begin with what was shown before, unless the ledger says that it was restored."""
        if root == kept.root:
            return
        for entry in self._ledger.entries(after=kept.size):
            # Its number is above all that was shown: no size has two roots.
            if entry.kind == "restore" and entry.record["shared"] < kept.size:
                return
        rule = (
            f"{kept.size} entries were signed that are not its first {kept.size} entries now, and no size is signed "
            "twice: 'dither ledger verify' says more; bring back the ledger that was signed, or begin another tree "
            "with 'dither receipt new-key --lost'"
        )
        raise LedgerCorrupted(self._ledger.place, rule)

    # Hashes of whole subtrees, level by level.

    def _salt(self, number: int) -> bytes:
        return hmac.digest(self._keyring.salting, number.to_bytes(8, "big"), "sha256")

    def _node(self, level: int, index: int) -> bytes:
        try:
            with open(self._level(level), "rb", buffering=0) as file:
                file.seek(index * _HASH)
                found = file.read(_HASH)
        except FileNotFoundError:
            raise _Damaged from None
        if len(found) != _HASH:
            raise _Damaged
        return found

    def _level(self, level: int) -> str:
        # A proof asks for dozens: plain texts are made in a tenth of the time of paths.
        return f"{self._folder}/level-{level:02}"

    def _write(self, edge: tree.Edge, leaves: list[bytes]) -> None:
        """Write the hashes of further leaves, and of all subtrees that they complete."""
        for level, (index, hashes) in enumerate(edge.add(leaves)):
            handle = os.open(self._level(level), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(handle, "wb") as file:
                file.seek(index * _HASH)
                file.write(b"".join(hashes))


def salted_leaf(salt: bytes, text: str) -> bytes:
    """Return the hash of an entry's leaf, for whoever was shown its salt."""
    return tree.leaf_hash(salt + text.encode())


def digest_of(answer: bytes) -> str:
    """Return the digest by which an entry names an answer."""
    return hashlib.sha256(answer).hexdigest()
