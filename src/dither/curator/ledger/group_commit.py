"""How a ledger changes: one transaction at a time, which an anchor remembers, with those who wait going together.

What a kind of database has to bring is a writing transaction that excludes every other and is durable when it ends, and
a reading one that sees one state.
"""

from __future__ import annotations

import os
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.anchor import Anchor, Memory, once_kept_at
from dither.curator.ledger.commands import Decision, Order, decide
from dither.curator.ledger.follow import Followed, opened
from dither.curator.ledger.holds import Hold, Holds, Locks
from dither.curator.ledger.interface import Ledger, checked_text
from dither.curator.ledger.queue import Turns
from dither.curator.ledger.restore import FIX, contradiction, restore
from dither.curator.ledger.rows import Rows
from dither.curator.ledger.transaction import Page
from dither.errors import HandleMisuse, InvalidParameter, LedgerBehindAnchor, LedgerCorrupted, LedgerUnavailable

Result = TypeVar("Result")

_MOMENTS = ("asked", "posted", "written", "committed", "anchored", "told")
#: The points of a release at which a process may die. Whoever makes a ledger may be told when each is reached. Who
#: carries requests out for others reaches what lies between ``posted`` and ``told`` for them.
STEPS = tuple(f"{verb}: {moment}" for verb in ("reserve", "draw", "complete") for moment in _MOMENTS)
#: What is counted, so that whoever remembers something that was decided knows whether it may still: everything but
#: releases, which decide nothing for others, and who waits for them.
_COUNTED = "SELECT number FROM changes"
_COUNT = "UPDATE changes SET number = number + 1"
_NOT_COUNTED = frozenset({"job"})
#: How many requests of one process, and how many bytes, are carried out together.
MOST_TOGETHER = 8
MOST_BYTES_TOGETHER = 2**20


def ignore_step(step: str) -> None:
    """Do nothing at a step."""


class _Asked:
    """A request of one thread, and what became of it."""

    __slots__ = ("decision", "is_alone", "order")

    def __init__(self, order: Order) -> None:
        self.order = order
        self.decision: Decision | None = None
        #: Whether it failed in company, and is tried on its own now.
        self.is_alone = False


class TransactedLedger(Ledger):
    """A ledger in a database, without the rules of what it may hold.

    Args:
        place: where it is, for messages and for the anchor.
        anchors: the folder of anchors.
        clock: tells the time that entries carry; nothing depends on it.
        reach: called at each of ``STEPS``; for tests that kill.

    """

    def __init__(
        self,
        place: str,
        anchors: Path,
        *,
        clock: Callable[[], float] = time.time,
        reach: Callable[[str], None] = ignore_step,
    ) -> None:
        self._where = place
        self._folder = anchors
        self._clock = clock
        self._reach = reach
        self._is_watched = reach is not ignore_step
        self._turns = Turns()
        self._process = os.getpid()
        self._is_closed = False
        self._highest_seen = 0
        self._is_anchor_late = False
        self._id = ""
        self._anchor: Anchor | None = None
        self._holds: Holds | None = None
        self._followed: Followed | None = None
        self._certificates = Certificates()
        self._asked: list[_Asked] = []
        self._asked_guard = threading.RLock()

    # What a kind of database brings.

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Rows]:
        """Begin a transaction that excludes other writers; durable when the block ends, undone when it raises."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Rows]:
        """Begin a transaction that sees one durable state."""

    def _turn(self) -> AbstractContextManager[None]:
        """Wait for one's turn among processes, where the database itself does not see to that."""
        return nullcontext()

    @abstractmethod
    def _damages(self, rows: Rows) -> list[str]:
        """Return what the database itself finds damaged."""

    @abstractmethod
    def _locks(self) -> Locks:
        """Return the locks that go with the processes which have them."""

    @abstractmethod
    def _explained(self) -> AbstractContextManager[None]:
        """Turn what the database or its locks say into an error of ours."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Let go of the database."""

    # Opening and closing.

    def _refuse_lost_place(self) -> None:
        """Refuse to begin anew where a ledger with entries was kept: deleting one would give its budgets back."""
        lost = once_kept_at(self._folder, self._where)
        if lost is not None:
            raise LedgerBehindAnchor(
                self._where, f"a ledger existed here and is gone: restore it, or remove {lost} to start a new one"
            )

    def _start(self, *, restored_because: str | None = None) -> None:
        """Compare with the anchor; called once the tables are there."""
        try:
            self._anchor = self._find_anchor()
            # The anchor is read first: whatever it names was committed before, and must be found afterwards.
            memory = self._anchor.read()
            problem = self._compare(memory)
            if restored_because is not None:
                self._accept(memory, problem, checked_text("reason", restored_because))
            elif problem is not None:
                raise LedgerBehindAnchor(self._where, f"{problem}; {FIX}")
            self._anchor.keep_place(self._where)
        except OSError as error:
            raise LedgerUnavailable(self._where, f"its anchor in {self._folder}: {error.strerror}") from None
        with self._explained():
            self._holds = Holds(self._id, self._locks())

    def _find_anchor(self) -> Anchor:
        with self._reading() as rows:
            page = Page(rows, self._clock)
        self._id = page.ledger
        return Anchor(self._folder, page.ledger)

    def _compare(self, memory: Memory) -> str | None:
        """Return how the ledger contradicts its anchor, or None and bring the anchor up to date."""
        with self._reading() as rows:
            page = Page(rows, self._clock)
            if page.seq and page.hash_of(page.seq) != page.hash:
                raise LedgerCorrupted(self._where, "its head is not its last entry")
            problem = contradiction(page, memory)
            if problem is not None:
                return problem
            self._followed, is_known = opened(page, memory)
            whole = page.whole_memory() if page.seq > memory.seq or not is_known else None
        self._highest_seen = page.seq
        if whole is not None and self._anchor is not None:
            self._anchor.append(whole)
        return None

    def contradiction(self) -> str | None:
        """Return how the ledger, as it is now, contradicts its anchor; None where it does not."""
        self._check_usable()
        try:
            # Read before the ledger, as on opening.
            memory = Memory() if self._anchor is None else self._anchor.read()
        except OSError as error:
            raise LedgerUnavailable(self._where, f"its anchor in {self._folder}: {error.strerror}") from None
        return self._look(lambda page: contradiction(page, memory))

    def _accept(self, memory: Memory, problem: str | None, reason: str) -> None:
        if problem is None or self._anchor is None:
            raise InvalidParameter("ledger", self._where, "behind its anchor; this one is not, and needs no acceptance")
        with self._turns.turn(), self._turn(), self._writing() as rows:
            page = Page(rows, self._clock)
            restore(page, memory, problem, reason)
            page.rows.do(_COUNT)
            page.flush()
            whole, self._followed = page.whole_memory(), Followed.tables(page)
        self._highest_seen = page.seq
        self._anchor.replace(whole)

    @property
    def id(self) -> str:
        """A name that no other ledger has."""
        return self._id

    @property
    def place(self) -> str:
        """Where the ledger is kept."""
        return self._where

    def close(self) -> None:
        """Let go of the ledger."""
        if self._is_closed or os.getpid() != self._process:
            return
        self._is_closed = True
        if self._holds is not None:
            self._holds.close()
        if self._turns.is_inside:
            self._disconnect()
        else:
            # A thread that still writes, because nobody waited for it, is not left with a connection that is gone.
            with self._turns.turn():
                self._disconnect()
        if self._anchor is not None:
            try:
                self._anchor.close()
            except OSError as error:
                raise LedgerUnavailable(self._where, f"its anchor in {self._folder}: {error.strerror}") from None

    def _hold(self, request: tuple[str, ...], seconds: float) -> Hold | None:
        """Hold a request that nobody else works on; None if somebody still does when the time is over."""
        self._check_usable()
        if self._holds is None:
            raise HandleMisuse("the ledger is closed")
        with self._explained():
            return self._holds.take(request, seconds)

    # The one way to change anything.

    def _change(self, verb: str, work: Callable[[Page], Result]) -> Result:
        """Run ``work`` in a transaction of its own: undone if it raises, durable when this returns."""
        self._check_usable()

        def counted(page: Page) -> Result:
            result = work(page)
            if verb not in _NOT_COUNTED:
                page.rows.do(_COUNT)
            return result

        with self._turns:
            with self._turn():
                result = self._transact({verb}, counted)
            self._tidy_anchor()
        return result

    def changes(self) -> int:
        """Return how often something was decided about people, grants, tokens or data sets, by any process.

        What was read when this was the same number still stands. Releases are not counted, nor is what is edited
        behind the ledger's back.
        """
        row = self._glance(_COUNTED)
        if row is None:
            raise LedgerCorrupted(self._where, "it does not say how often something was decided")
        return int(row[0])

    def _glance(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row of one statement, as the last durable state has it."""
        return self._look(lambda page: page.rows.one(statement, *values))

    @property
    def is_read_at_once(self) -> bool:
        """Whether ``changes`` waits for nobody, within ``at_once``."""
        return False

    def at_once(self) -> AbstractContextManager[None]:
        """Let this thread wait for no lock meanwhile: what cannot be read at once is ``LedgerUnavailable``."""
        return nullcontext()

    def _transact(self, verbs: Collection[str], work: Callable[[Page], Result]) -> Result:
        """Do the same when one's turn has come."""
        if self._is_anchor_late:
            self._catch_up()
        with self._writing() as rows:
            page = self._page(rows)
            result = work(page)
            page.flush()
            self._reach_all(verbs, "written")
        self._highest_seen = page.seq
        if self._followed is not None:
            self._followed.adopt(page)
        self._reach_all(verbs, "committed")
        self._tell_anchor(page.memory)
        self._reach_all(verbs, "anchored")
        return result

    def _page(self, rows: Rows) -> Page:
        """Begin a page whose accounts are compared with what the chain says."""
        page = Page(rows, self._clock, self._followed)
        self._check_not_behind(page, self._highest_seen)
        if self._followed is not None:
            self._followed.catch_up(page)
        return page

    def _check_not_behind(self, page: Page, seen: int) -> None:
        if page.seq < seen:
            raise LedgerBehindAnchor(self._where, f"entry {seen} was there and is gone; {FIX}")

    def _reach_all(self, verbs: Collection[str], moment: str) -> None:
        if self._is_watched:
            for verb in verbs:
                self._reach(f"{verb}: {moment}")

    def _ask(self, order: Order) -> Decision:
        """Have a step of a release carried out, together with what other threads and processes ask for."""
        self._check_usable()
        self._reach_all((order.verb,), "asked")
        mine = _Asked(order)
        with self._asked_guard:
            self._asked.append(mine)
        try:
            with self._turns:
                if mine.decision is None:
                    self._settle_with(mine)
        except BaseException:
            with self._asked_guard:
                if mine in self._asked:
                    self._asked.remove(mine)
            raise
        if mine.decision is None:
            raise LedgerUnavailable(self._where, "a request was given up")
        self._reach_all((order.verb,), "told")
        return mine.decision

    def _settle_with(self, mine: _Asked) -> None:
        """Settle a thread's request, and those of the threads that wait behind it."""
        together = [mine]
        with self._asked_guard:
            self._asked.remove(mine)
            if self._asked and not mine.is_alone:
                together += self._company(mine.order.size)
                for one in together[1:]:
                    self._asked.remove(one)
        try:
            decisions = self._settle([one.order for one in together])
        except BaseException:
            with self._asked_guard:
                for one in together[1:]:
                    one.is_alone = True
                    self._asked.append(one)
            raise
        for one, decision in zip(together, decisions, strict=True):
            one.decision = decision
        self._tidy_anchor()

    def _company(self, size: int) -> list[_Asked]:
        """Return the requests of other threads that go together with one of a size."""
        found: list[_Asked] = []
        for other in self._asked:
            size += other.order.size
            if len(found) == MOST_TOGETHER - 1 or size > MOST_BYTES_TOGETHER:
                break
            if not other.is_alone:
                found.append(other)
        return found

    def _settle(self, orders: Sequence[Order]) -> Sequence[Decision]:
        """Carry orders out, durably; if this raises, none of them is decided."""
        with self._turn():
            return self._transact(
                {order.verb for order in orders},
                lambda page: [decide(page, order, self._certificates) for order in orders],
            )

    def _tell_anchor(self, memory: Memory) -> None:
        """Append to the anchor; what fails here is made good before the next change."""
        if memory.seq and self._anchor is not None:
            try:
                self._anchor.append(memory)
            except OSError:
                # The debit or the answer is durable: to fail now would only waste it.
                self._is_anchor_late = True

    def _tidy_anchor(self) -> None:
        """Do what the anchor needs from time to time, when other processes have their turn again."""
        if self._anchor is not None:
            try:
                self._anchor.tidy()
            except OSError:
                self._is_anchor_late = True

    def _catch_up(self) -> None:
        with self._reading() as rows:
            whole = Page(rows, self._clock).whole_memory()
        try:
            if self._anchor is not None:
                self._anchor.append(whole)
        except OSError as error:
            raise LedgerUnavailable(self._where, f"its anchor in {self._folder}: {error.strerror}") from None
        self._is_anchor_late = False

    def _look(self, work: Callable[[Page], Result]) -> Result:
        """Read one state, whatever it holds."""
        self._check_usable()
        with self._turns.turn(), self._reading() as rows:
            return work(Page(rows, self._clock))

    def _look_closely(self, work: Callable[[Page], Result]) -> Result:
        """Read one state, and refuse accounts that are not what the chain says."""
        self._check_usable()
        with self._turns.turn(), self._reading() as rows:
            return work(self._page(rows))

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise HandleMisuse("a ledger stays in the process that opened it: open it again in this one")
        if self._is_closed:
            raise HandleMisuse("the ledger is closed")
