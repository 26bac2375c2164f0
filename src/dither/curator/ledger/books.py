"""The ledger's rules, over any database that has transactions.

Every change is one transaction that reads, decides and writes: nothing is checked first and done later. What a kind of
database has to bring is a writing transaction that excludes every other and is durable when it ends, and a reading one
that sees one state.
"""

from __future__ import annotations

import json
import os
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from dither.curator.ledger.admission import Certificates, limit_of
from dither.curator.ledger.amounts import ZERO, Amount, checked_loss, is_no_less
from dither.curator.ledger.anchor import Anchor, Memory, once_kept_at
from dither.curator.ledger.chain import answer_digest
from dither.curator.ledger.interface import (
    LARGEST_ANSWER,
    MOST_ATTEMPTS,
    Account,
    Balance,
    Entry,
    Ledger,
    Receipt,
    Reservation,
    Stored,
    Verification,
    checked_name,
    checked_text,
)
from dither.curator.ledger.orders import Answer, Debit, Decision, Order, decide
from dither.curator.ledger.page import Page, Purse, Request, Rows, limit_text
from dither.curator.ledger.queue import Turns
from dither.curator.ledger.replay import Replay
from dither.curator.ledger.restore import contradiction, restore
from dither.errors import (
    BudgetExceeded,
    DitherError,
    HandleMisuse,
    IncompatibleDistance,
    InvalidParameter,
    KeyReused,
    LedgerBehindAnchor,
    LedgerCorrupted,
    LedgerUnavailable,
    QuotaExceeded,
    RequestSealed,
    UnknownDataset,
)
from dither.privacy import ZCDP, Loss, PureDP

Result = TypeVar("Result")

_MOMENTS = ("asked", "posted", "written", "committed", "anchored", "told")
#: The points of a release at which a process may die. Whoever makes a ledger may be told when each is reached. Who
#: carries requests out for others reaches what lies between ``posted`` and ``told`` for them.
STEPS = tuple(f"{verb}: {moment}" for verb in ("reserve", "complete") for moment in _MOMENTS)
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


class Books(Ledger):
    """A ledger in a database.

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
        self._certificates = Certificates()
        self._asked: list[_Asked] = []
        self._asked_guard = threading.Lock()

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
    def _disconnect(self) -> None:
        """Let go of the database."""

    # Opening and closing.

    def _refuse_lost_place(self) -> None:
        """Refuse to begin anew where a ledger with entries was kept: deleting one would give its budgets back."""
        lost = once_kept_at(self._folder, self._where)
        if lost is not None:
            raise LedgerBehindAnchor(
                self._where, f"a ledger was kept here and is gone: restore it, or remove {lost} to begin anew"
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
                raise LedgerBehindAnchor(self._where, problem)
            self._anchor.keep_place(self._where)
        except OSError as error:
            raise LedgerUnavailable(self._where, f"its anchor in {self._folder}: {error.strerror}") from None

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
            whole = page.whole_memory() if page.seq > memory.seq else None
        self._highest_seen = page.seq
        if whole is not None and self._anchor is not None:
            self._anchor.append(whole)
        return None

    def _accept(self, memory: Memory, problem: str | None, reason: str) -> None:
        if problem is None or self._anchor is None:
            raise InvalidParameter("ledger", self._where, "behind its anchor; this one is not, and needs no acceptance")
        with self._turns.turn(), self._turn(), self._writing() as rows:
            page = Page(rows, self._clock)
            restore(page, memory, problem, reason)
            page.flush()
            whole = page.whole_memory()
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
        self._disconnect()
        if self._anchor is not None:
            try:
                self._anchor.close()
            except OSError as error:
                raise LedgerUnavailable(self._where, f"its anchor in {self._folder}: {error.strerror}") from None

    # The one way to change anything.

    def _change(self, verb: str, work: Callable[[Page], Result]) -> Result:
        """Run ``work`` in a transaction of its own: undone if it raises, durable when this returns."""
        self._check_usable()
        with self._turns:
            with self._turn():
                result = self._transact({verb}, work)
            self._tidy_anchor()
        return result

    def _transact(self, verbs: Collection[str], work: Callable[[Page], Result]) -> Result:
        """Do the same when one's turn has come."""
        if self._is_anchor_late:
            self._catch_up()
        with self._writing() as rows:
            page = Page(rows, self._clock)
            self._check_not_behind(page, self._highest_seen)
            result = work(page)
            page.flush()
            self._reach_all(verbs, "written")
        self._highest_seen = page.seq
        self._reach_all(verbs, "committed")
        self._tell_anchor(page.memory)
        self._reach_all(verbs, "anchored")
        return result

    def _check_not_behind(self, page: Page, seen: int) -> None:
        if page.seq < seen:
            raise LedgerBehindAnchor(self._where, f"entry {seen} was there and is gone")

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
        self._check_usable()
        with self._turns.turn(), self._reading() as rows:
            return work(Page(rows, self._clock))

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise HandleMisuse("a ledger stays in the process that opened it: open it again in this one")
        if self._is_closed:
            raise HandleMisuse("the ledger is closed")

    # Budgets.

    def register(self, dataset: str, *, budget: Loss, unit: str) -> None:
        """Open the account of a data set, or find it open with the same budget and unit."""
        checked_name("dataset", dataset)
        checked_name("unit", unit)
        checked_loss("budget", budget)

        def work(page: Page) -> None:
            found = page.find_dataset(dataset)
            if found is None:
                page.enter("register", dataset=dataset, unit=unit, budget=budget.to_json())
                page.keep_dataset(dataset, unit, Purse(limit_text(budget), ZERO, 0))
            elif found[0] != unit:
                raise IncompatibleDistance("unit", found[0], unit)
            elif found[1].limit != limit_text(budget):
                rule = f"the one {dataset!r} is registered with, {_limit(found[1])}; it can be raised"
                raise InvalidParameter("budget", budget, rule)

        self._change("register", work)

    def raise_budget(self, dataset: str, budget: Loss, *, reason: str) -> None:
        """Give a data set a larger budget of the same kind."""
        checked_name("dataset", dataset)
        checked_loss("budget", budget)
        checked_text("reason", reason)

        def work(page: Page) -> None:
            unit, purse = page.dataset(dataset)
            before = _limit(purse)
            if not is_no_less(budget, before):
                raise InvalidParameter("budget", budget, f"of the same kind as {before}, and no less in any figure")
            page.enter("raise", dataset=dataset, budget=budget.to_json(), reason=reason)
            page.keep_dataset(dataset, unit, Purse(limit_text(budget), purse.spent, purse.releases))

        self._change("raise", work)

    def set_quota(self, dataset: str, analyst: str, quota: Loss) -> None:
        """Limit what one analyst may spend of a data set's budget."""
        account = Account(dataset, analyst)
        checked_loss("quota", quota)

        def work(page: Page) -> None:
            _, purse = page.dataset(dataset)
            budget = _limit(purse)
            if isinstance(quota, ZCDP) != isinstance(budget, ZCDP) or not quota <= budget:
                raise InvalidParameter("quota", quota, f"of the same kind as the budget, {budget}, and within it")
            page.enter("quota", dataset=dataset, analyst=analyst, quota=quota.to_json())
            mine = page.analyst(account)
            page.keep_analyst(account, Purse(limit_text(quota), mine.spent, mine.releases))

        self._change("quota", work)

    # Releases.

    def reserve(
        self, account: Account, key: str, request_digest: str, loss: Loss, *, description: str = ""
    ) -> Reservation | Stored:
        """Debit ``loss`` durably, before the first random bit is drawn."""
        checked_name("key", key)
        checked_name("request_digest", request_digest)
        checked_text("description", description)
        charge = Amount.of(loss)
        try:
            decision = self._ask(Debit(account, key, request_digest, charge, description))
        except LedgerUnavailable:
            # What was answered can be told again even where nothing can be written.
            stored = self._stored(account, key, request_digest)
            if stored is None:
                raise
            return stored
        if decision.kind == "reserved" and decision.charge is not None:
            debited = decision.charge.loss()
            return Reservation(account, key, request_digest, debited, decision.attempt, decision.entry, decision.hash)
        if decision.kind == "answered":
            stored = self._stored(account, key, request_digest)
            if stored is None:
                raise LedgerCorrupted(self._where, "an answered request is gone")
            return stored
        raise self._refusal(decision, account, key, loss)

    def _refusal(self, decision: Decision, account: Account, key: str, loss: Loss | None = None) -> DitherError:
        """Return why nothing was done, now that whatever led to it is durable."""
        spent = (decision.charge or ZERO).loss
        limit = PureDP(0) if decision.limit is None else limit_of(decision.limit)
        match decision.kind:
            case "unknown":
                return UnknownDataset(account.dataset)
            case "reused":
                return KeyReused(key)
            case "sealed":
                return RequestSealed(key, MOST_ATTEMPTS)
            case "dearer":
                rule = f"at most what key {key!r} was debited, {spent()}; a new key is a new request"
                return InvalidParameter("loss", loss, rule)
            case "budget":
                return BudgetExceeded(loss, spent(), limit)
            case "quota":
                return QuotaExceeded(loss, spent(), limit, account.analyst)
            case _:
                return InvalidParameter("reservation", key, "one that this ledger holds")

    def _stored(self, account: Account, key: str, request_digest: str) -> Stored | None:
        """Return the answer that is stored for a request, if there is one; waits for no writer."""

        def work(page: Page) -> Stored | None:
            known = page.request(account, key)
            is_answer = known is not None and known.state == "answered" and known.digest == request_digest
            return Stored(self._receipt(page, account, key, known)) if known is not None and is_answer else None

        return self._look(work)

    def complete(self, reservation: Reservation, answer: bytes) -> Receipt:
        """Store the answer durably, before it is sent."""
        if not isinstance(reservation, Reservation):
            raise InvalidParameter("reservation", reservation, "what reserve returned")
        if not (isinstance(answer, bytes) and len(answer) <= LARGEST_ANSWER):
            rule = f"at most {LARGEST_ANSWER} bytes"
            # The answer is not shown: until it is stored it is nobody's.
            raise InvalidParameter("answer", type(answer), rule)
        account, key = reservation.account, reservation.key
        decision = self._ask(
            Answer(account, key, reservation.request_digest, reservation.entry, reservation.hash, answer)
        )
        if decision.kind == "stored" and decision.charge is not None:
            loss, digest = decision.charge.loss(), answer_digest(answer)
            return Receipt(
                self._id, account, key, reservation.request_digest, loss, decision.entry, decision.hash, digest, answer
            )
        if decision.kind == "answered":
            stored = self._stored(account, key, reservation.request_digest)
            if stored is None:
                raise LedgerCorrupted(self._where, "an answered request is gone")
            return stored.receipt
        raise self._refusal(decision, account, key)

    def _receipt(self, page: Page, account: Account, key: str, known: Request) -> Receipt:
        entry, answer = known.answered, known.answer
        digest = None if entry is None else page.hash_of(entry)
        if entry is None or answer is None or digest is None:
            raise LedgerCorrupted(self._where, "an answered request has no answer")
        loss, content = known.charge.loss(), answer_digest(answer)
        return Receipt(self._id, account, key, known.digest, loss, entry, digest, content, answer)

    # Looking.

    def balance(self, dataset: str, analyst: str | None = None) -> Balance:
        """Return what is spent and what is left."""
        checked_name("dataset", dataset)
        account = None if analyst is None else Account(dataset, analyst)

        def work(page: Page) -> Balance:
            unit, purse = page.dataset(dataset)
            mine = purse if account is None else page.analyst(account)
            left = purse.room()
            share = left if mine is purse else mine.room()
            if left is None or (share is not None and not left <= share):
                left = share or PureDP(0)
            waiting = page.waiting(dataset, analyst)
            reserved = [charge for state, charge in waiting if state == "reserved"]
            return Balance(
                dataset=dataset,
                analyst=analyst,
                unit=unit,
                budget=_limit(purse if mine.limit is None else mine),
                spent=mine.spent.loss(),
                reserved=sum(reserved, ZERO).loss(),
                left=left,
                releases=mine.releases,
                waiting=len(reserved),
                sealed=len(waiting) - len(reserved),
            )

        return self._look(work)

    def would_admit(self, account: Account, loss: Loss) -> bool:
        """Whether ``loss`` would be admitted now."""
        charge = Amount.of(loss)

        def work(page: Page) -> bool:
            purses = page.dataset(account.dataset)[1], page.analyst(account)
            return all(purse.admits(charge, self._certificates) for purse in purses)

        return self._look(work)

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all registered data sets, sorted."""
        return self._look(lambda page: tuple(sorted(str(row[0]) for row in page.rows.all("SELECT name FROM datasets"))))

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """Yield every line, from the oldest, a thousand at a time."""
        lines = self._lines(dataset, 0)
        while lines:
            for line in lines:
                yield _entry(self._where, *line)
            lines = self._lines(dataset, lines[-1][0])

    def _lines(self, dataset: str | None, after: int) -> list[tuple[int, str, str]]:
        return self._look(lambda page: page.lines(dataset, after))

    def verify(self) -> Verification:
        """Walk the whole chain, play it again, and compare it with the sums, the answers and the anchor."""
        self._check_usable()
        # Read before the ledger, as on opening.
        memory = Memory() if self._anchor is None else self._anchor.read()

        def work(page: Page) -> Verification:
            again = Replay(page.ledger)
            again.walk(page)
            again.compare(page)
            again.compare_anchor(contradiction(page, memory))
            return Verification(
                ledger=page.ledger,
                entries=again.entries,
                datasets=len(again.datasets),
                releases=sum(purse.releases for _, purse in again.datasets.values()),
                head=page.hash,
                problems=(*self._damages(page.rows), *again.problems),
            )

        return self._look(work)


def _limit(purse: Purse) -> Loss:
    return PureDP(0) if purse.limit is None else limit_of(purse.limit)


def _entry(place: str, seq: int, text: str, digest: str) -> Entry:
    """Return a line as the export shows it."""
    try:
        record = json.loads(text)
        charge = record.get("charge")
        loss = None if charge is None else Amount.from_json(charge).loss()
        dataset, analyst, key = (record.get(name) for name in ("dataset", "analyst", "key"))
        return Entry(seq, record["kind"], record["time"], dataset, analyst, key, loss, record, digest)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise LedgerCorrupted(place, f"entry {seq} cannot be read; verify says more") from None
