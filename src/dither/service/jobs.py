"""Releases that are waited for: begun once, by whoever comes first, and found again by anybody who comes later.

A job is a release under its name. While a process works on it, it is known in memory; what its client was told to come
back for is kept in the ledger's database with what it asks, so that any process finds it, and goes on with it where the
one before has died. How far it has come follows from the books: what is debited, answered, sealed, or waits for others
to agree. Two processes that work on one job share one debit and one answer, as the ledger sees to.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from dither.curator.ledger import Account, Receipt
from dither.curator.ledger.governed import GovernedBooks, JobRow
from dither.curator.ledger.terms import moment_of
from dither.curator.remote_release import is_usual
from dither.errors import ApprovalDeclined, KeyReused, NotApproved, ReleaseFailed, RequestCancelled, RequestUnderWay
from dither.service.pace import TooLate
from dither.service.problems import problem_of
from dither.service.queue import FairPool

#: How a job may end. Whatever waits for an approval is begun again by whoever asks for it once others have agreed.
ENDED: Final = ("answered", "failed", "sealed", "cancelled", "declined", "expired")
WAITING: Final = "waiting for approval"
_MOST_ENDS: Final = 10_000
_STATES: Final = {"answered": "answered", "sealed": "sealed", "reserved": "running"}


@dataclass(frozen=True)
class Ticket:
    """A release as the books know it.

    Args:
        dataset: the name that its data set is registered with.
        person: on whose quota.
        key: the name of the request.
        digest: of what it asks.
        asked: verb and words as they came, in JSON.

    """

    dataset: str
    person: str
    key: str
    digest: str
    asked: str

    @property
    def name(self) -> str:
        """The public name of the job: one for a key, which is bound to one request, and nothing that tells the key."""
        text = "\n".join((self.dataset, self.person, self.key))
        return hashlib.sha256(f"dither job\n{text}".encode()).hexdigest()[:32]

    @property
    def row(self) -> JobRow:
        """The job as the table keeps it."""
        whose = (self.dataset, self.person, self.key, self.name)
        return JobRow(*whose, self.digest, self.asked, "begun", None, "")


@dataclass(frozen=True)
class Progress:
    """How far a job has come.

    Args:
        state: queued, waiting for approval, running, answered, failed, sealed, cancelled, declined or expired.
        place: how many stand before it, where it is queued here.
        question: the number of the question that others have to agree to.
        problem: what is told of it, where it failed or was declined.

    """

    state: str
    place: int | None = None
    question: int | None = None
    problem: Any = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state in ENDED


class Jobs:
    """The releases that this process works on, and those that the table knows of.

    Args:
        pool: carries them out.
        books: where they are kept.

    """

    def __init__(self, pool: FairPool, books: GovernedBooks) -> None:
        self._pool, self._books = pool, books
        self._here: dict[str, Future[Receipt]] = {}
        #: What each of them asks, as a digest.
        self._digests: dict[str, str] = {}
        #: Until when those that have a strict time must be there, by ``time.monotonic``.
        self._ends: dict[str, float] = {}
        self._alone = threading.Lock()

    def begin(self, ticket: Ticket, work: Callable[[], Receipt], ends: float = math.inf) -> Future[Receipt]:
        """Put a release into its person's line, or find it there.

        Args:
            ticket: which.
            work: debits, runs and stores it.
            ends: when it counts as failed if it runs on, by ``time.monotonic``.

        Raises:
            KeyReused: another request is under way under the same key.

        """
        with self._alone:
            known = self._here.get(ticket.name)
            if known is not None and not known.done():
                if self._digests[ticket.name] != ticket.digest:
                    raise KeyReused(ticket.key)
                return known
            future = self._pool.submit(ticket.person, lambda: self._carried_out(ticket, work))
            self._here[ticket.name], self._ends[ticket.name] = future, ends
            self._digests[ticket.name] = ticket.digest
            if len(self._ends) > _MOST_ENDS:
                # Of those that are over: by then the table's own time decides the same.
                self._ends = {name: end for name, end in self._ends.items() if name in self._here}
        future.add_done_callback(lambda done: self._forget(ticket.name, done))
        return future

    def working_on(self, name: str) -> Future[Receipt] | None:
        """Return the release that this process works on under a name, if it does."""
        return self._here.get(name)

    def keep(self, ticket: Ticket) -> None:
        """Keep a job where every process finds it."""
        self._books.keep_job(ticket.row)

    def bind(self, ticket: Ticket, *, is_told: bool = False) -> None:
        """Bind a key to what its request asks, durably; one that was cancelled or has failed may be debited again.

        A key that nobody has chosen is made of the digest, and needs no row. What is asked is stored with a key only
        where somebody is told to come back: a key that is only bound is free again if its request is refused.

        Args:
            ticket: the request, before it is begun.
            is_told: whether the client is told the name of the job, whatever becomes of it.

        Raises:
            KeyReused: the key is bound to another request.

        """
        known = self._books.binding(Account(ticket.dataset, ticket.person), ticket.key)
        if known is not None and known[0] != ticket.digest:
            raise KeyReused(ticket.key)
        has_ended = known is not None and known[1] in ("failed", "cancelled")
        if is_told or has_ended:
            self._books.keep_job(ticket.row, reopens=has_ended)
        elif known is None and not is_usual(ticket.key):
            self._books.keep_job(ticket.row._replace(asked=""))

    def row(self, dataset: str, person: str, name: str) -> JobRow | None:
        """Return what the table knows of a job."""
        return self._books.job(dataset, person, name)

    def cancel(self, ticket: Ticket) -> bool:
        """Let a job never be debited; return False where it was already."""
        if self._books.job(ticket.dataset, ticket.person, ticket.key, is_key=True) is None:
            self._books.keep_job(ticket.row)
        if not self._books.cancel_job(ticket.row):
            return False
        with self._alone:
            # Whoever asks anew begins anew: one that still runs finds out by itself that it was cancelled.
            future = self._here.pop(ticket.name, None)
            self._ends.pop(ticket.name, None)
            self._digests.pop(ticket.name, None)
        if future is not None:
            future.cancel()
        return True

    def progress(self, row: JobRow, strict: float | None = None) -> Progress:
        """Return how far a job has come, as the books and the line tell.

        Args:
            row: the job as the table has it.
            strict: after how many seconds one that is debited has failed if it has no answer; when it has in truth
                depends on rows. None where times are not strict.

        """
        account = Account(row.dataset, row.analyst)
        state, asked = self._books.progress(account, row.key, row.digest)
        future = self._here.get(row.id)
        if state in ("answered", "sealed"):
            return Progress(_STATES[state])
        if row.state == "cancelled":
            return Progress("cancelled")
        if state is not None and strict is not None:
            ends = self._ends.get(row.id)
            is_over = _age(row.since) >= strict if ends is None else ends <= time.monotonic()
            problem = problem_of(ReleaseFailed()).to_dict()
            return Progress("failed", problem=problem) if is_over else Progress("running")
        if future is not None and not future.done():
            if future.running() and self._ends.get(row.id, math.inf) <= time.monotonic():
                # As those are told that failed in time: when it ends is nobody's business.
                return Progress("failed", problem=problem_of(ReleaseFailed()).to_dict())
            place = self._pool.place(future)
            return Progress("running" if place is None else "queued", place)
        if row.state == "failed":
            return Progress("failed", problem=json.loads(row.problem or "{}"))
        if state is not None:
            return Progress(_STATES[state])
        if asked is None or asked.state in ("approved", "used"):
            return Progress("queued")
        said = WAITING if asked.state == "waiting" else asked.state
        number = asked.question.entry
        why = ApprovalDeclined(row.dataset, number, asked.because) if said == "declined" else None
        return Progress(said, question=number, problem=None if why is None else problem_of(why).to_dict())

    def _carried_out(self, ticket: Ticket, work: Callable[[], Receipt]) -> Receipt:
        try:
            return work()
        except (NotApproved, RequestCancelled, RequestUnderWay, TooLate):
            raise  # the books say what became of it
        except Exception as error:
            row = self._books.job(ticket.dataset, ticket.person, ticket.key, is_key=True)
            if row is not None and row.digest == ticket.digest:
                self._books.fail_job(row, json.dumps(problem_of(error).to_dict()))
            raise

    def _forget(self, name: str, done: Future[Receipt]) -> None:
        with self._alone:
            if self._here.get(name) is done:
                del self._here[name]
                self._digests.pop(name, None)
                if math.isinf(self._ends.get(name, 0.0)):
                    del self._ends[name]


def _age(since: str) -> float:
    """Return how many seconds ago a job was kept; none where a clock tells nothing."""
    begun = moment_of(since)
    return 0.0 if begun is None else (datetime.now(UTC) - begun).total_seconds()
