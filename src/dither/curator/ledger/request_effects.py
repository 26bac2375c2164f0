"""What a piece of work has done so far: what it has debited, and whether its time may follow from rows.

A service writes one line down for each debit, and tells at once what was refused by public facts alone. Both are known
where they happen: the ledger says here that it has debited something, and whatever is about to read private rows, or
has waited for somebody who may, says so. Nobody listens who has not said so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dither.curator.ledger.interface import Reservation


class Noticed:
    """What one piece of work has done, in whichever thread.

    Args:
        late: told of a debit that is made after all debits were taken to be told; in the thread that makes it.

    """

    def __init__(self, late: Callable[[Reservation], None] | None = None) -> None:
        #: Whether nothing was debited, no private row was read, and nobody was waited for who may have read some.
        self.is_public = True
        self._late, self._is_taken = late, False
        self._debits: list[Reservation] = []
        self._guard = threading.Lock()

    def add(self, debit: Reservation) -> None:
        """Notice a debit; a further attempt at what was debited before is none."""
        self.is_public = False
        if debit.attempt > 1:
            return
        with self._guard:
            is_late = self._is_taken
            if not is_late:
                self._debits.append(debit)
        if is_late and self._late is not None:
            self._late(debit)

    def take(self) -> tuple[Reservation, ...]:
        """Return the debits that nobody has taken, for whoever tells them: each is given once."""
        with self._guard:
            self._is_taken = True
            taken, self._debits = tuple(self._debits), []
        return taken


class _Here(threading.local):
    noticed: Noticed | None = None


_here = _Here()


@contextmanager
def noticing(noticed: Noticed) -> Iterator[None]:
    """Notice what this thread does meanwhile.

    Args:
        noticed: where.

    """
    before, _here.noticed = _here.noticed, noticed
    try:
        yield
    finally:
        _here.noticed = before


def notice_debit(debit: Reservation) -> None:
    """Say that something was debited durably."""
    if _here.noticed is not None:
        _here.noticed.add(debit)


def notice_private() -> None:
    """Say that private rows are about to be read, or that somebody was waited for who may have read some."""
    if _here.noticed is not None:
        _here.noticed.is_public = False
