"""Who was let in before, remembered until anything is decided: a token is looked up once, and not at every request.

What is remembered holds while the ledger's count of decisions stays what it was when the token was looked up. Any
process that revokes a token, removes a person or gives one another role raises that count in the same transaction, so
that a revocation works at once for every process that shares the ledger. Only tokens that held are remembered, by
their SHA-256.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from dither.curator.people import Bearer, People

_MOST = 4096


class Admissions:
    """People who have shown tokens that hold.

    Args:
        people: who looks tokens up.
        clock: tells the time.

    Set ``later`` to have the day on which a token was used written down by somebody else: a ledger that cannot be
    written keeps nobody out who only reads.

    """

    def __init__(self, people: People, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._people, self._clock = people, clock
        self.later: Callable[[Callable[[], None]], None] | None = None
        self._known: OrderedDict[bytes, Bearer] = OrderedDict()
        self._guard = threading.Lock()

    def remembered(self, token: str) -> str | None:
        """Return the name of the person who was let in with a token before, whether it still holds or not.

        Args:
            token: as it was shown.

        """
        bearer = self._known.get(_mark(token))
        return None if bearer is None else bearer.person.name

    def known(self, token: str) -> Bearer | None:
        """Return who shows a token that was looked up before and still holds; None says nothing about a token.

        Args:
            token: as it was shown.

        """
        mark = _mark(token)
        bearer = self._known.get(mark)
        if bearer is None:
            return None
        now = self._clock()
        # Which day a token was used last is written down: on a new day it is looked up.
        if bearer.seen == self._people.changes() and bearer.holds_until > now and bearer.day == now.date():
            return bearer
        with self._guard:
            self._known.pop(mark, None)
        return None

    def admitted(self, token: str) -> Bearer | None:
        """Return who shows a token, or None: whatever is wrong with it, the same is done and said.

        Args:
            token: as it was shown.

        """
        bearer = self.known(token)
        if bearer is not None:
            return bearer
        bearer = self._people.authenticate(token, self.later)
        if bearer is not None:
            with self._guard:
                self._known[_mark(token)] = bearer
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return bearer


def _mark(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
