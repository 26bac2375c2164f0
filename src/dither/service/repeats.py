"""Requests that were answered before, known by the very bytes they came as: the answer is read, and no more is done.

What is remembered was found by the whole way once: the words were planned, the grant was looked up, and the answer was
compared with the chain. It holds while nothing is decided, as the ledger counts, and while the declaration's file is
the same. Count and bytes are read in one statement, and the bytes are compared with their digest. Nothing is written.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from dither.curator.ledger import Receipt
from dither.curator.ledger.rules import Books
from dither.curator.people import Bearer
from dither.errors import LedgerUnavailable
from dither.service.desk import Desk, LookedUp

_MOST: Final = 4096
#: Longer answers are read where nobody waits for that.
LARGEST: Final = 2**16


@dataclass(frozen=True)
class Repeated:
    """A request that was answered.

    Args:
        receipt: with the bytes that are stored.
        verb: what was asked.
        digest: of what was asked.

    """

    receipt: Receipt
    verb: str
    digest: str


@dataclass(frozen=True)
class _Known:
    """What is remembered, as of a count of decisions and a declaration."""

    seen: int
    changed: int
    receipt: Receipt
    verb: str
    digest: str


class Repeats:
    """Requests that were answered before; for one thread.

    Args:
        desk: where they were.

    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        ledger = desk.curator.ledger
        #: None where a look at the ledger may have to be waited for.
        self._books = ledger if isinstance(ledger, Books) and ledger.is_read_at_once else None
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    def find(self, bearer: Bearer, place: tuple[str, str | None], body: bytes) -> Repeated | None:
        """Return the stored answer to a request of the same bytes; None says nothing about a request.

        Args:
            bearer: who asks, let in for this very request.
            place: the data set as it is called, and the key, if one is given.
            body: as it came.

        """
        mark = _mark(bearer, place, body)
        known = self._known.get(mark)
        if known is None or self._books is None:
            return None
        receipt = known.receipt
        try:
            with self._books.at_once():
                found = self._books.stored_bytes(receipt.account, receipt.key)
        except LedgerUnavailable:
            # The whole way may wait for a lock, and says what is wrong.
            return None
        is_same = found is not None and found[0] == known.seen
        if found is None or not is_same or known.changed != self._desk.changed(receipt.account.dataset):
            del self._known[mark]
            return None
        if hashlib.sha256(found[1]).hexdigest() != receipt.answer_digest:
            # The whole way says what is wrong with it.
            return None
        self._known.move_to_end(mark)
        return Repeated(replace(receipt, answer=found[1]), known.verb, known.digest)

    def keep(self, bearer: Bearer, place: tuple[str, str | None], body: bytes, verb: str, found: LookedUp) -> None:
        """Remember a request whose answer was found.

        Args:
            bearer: who asks; what was decided since they were let in is not known here.
            place: as for ``find``.
            body: as it came.
            verb: what it asks.
            found: what the whole way has found.

        """
        receipt = found.stored
        if self._books is None or receipt is None or len(receipt.answer) > LARGEST:
            return
        kept = replace(receipt, answer=b"")
        self._known[_mark(bearer, place, body)] = _Known(bearer.seen, found.changed, kept, verb, found.ticket.digest)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)


def _mark(bearer: Bearer, place: tuple[str, str | None], body: bytes) -> bytes:
    # A text in JSON ends where it ends: no body goes on with it.
    return hashlib.sha256(json.dumps([bearer.person.name, *place]).encode() + body).digest()
