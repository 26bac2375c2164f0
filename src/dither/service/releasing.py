"""Releases over HTTP: answered at once where they can be, else told to come back for.

``Prefer: respond-async`` asks for the address of a job and no more, ``Prefer: wait=S`` waits for S seconds, and without
either the answer is waited for. A client that goes away changes nothing: what was begun ends, and is stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dither.curator.ledger import Receipt
from dither.curator.ledger.request_effects import Noticed, noticing
from dither.curator.people import Bearer
from dither.curator.remote_release import is_usual
from dither.errors import (
    AnalystUnknown,
    ApprovalPending,
    BudgetExceeded,
    DataSetNotOpen,
    DataSetRetired,
    IncompatibleDistance,
    InvalidParameter,
    KeyReused,
    MissingExtra,
    NoGuarantee,
    NotApproved,
    NotFound,
    NotSerialisable,
    RequestCancelled,
    Unanswerable,
    UnknownMechanism,
)
from dither.service.debits import Watch
from dither.service.desk import Desk, LookedUp, Wanted, wanted_of
from dither.service.forms import JSON, check_form, wanted_form
from dither.service.jobs import WAITING, Jobs, Progress, Ticket
from dither.service.logs import Log
from dither.service.metrics import Metrics
from dither.service.pace import Pace, Strict, Timing, TooLate
from dither.service.problems import STOPPING, Problem, Refused, problem_of
from dither.service.queue import LineFull
from dither.service.repeats import Repeats
from dither.service.routes import BY_NAME
from dither.service.waiting import has_ended, outcome

LONGEST_KEY: Final = 200
#: How long a client that asks how far its job has come is made to wait, at most.
LONGEST_WAIT: Final = 60.0
_PAUSE: Final = 0.5
_WAIT: Final = re.compile(r"^wait=([0-9]{1,6})$")
#: What is refused by public facts, wherever nothing was debited and no row was read. What else may be raised may follow
#: from rows, or from when somebody else was ready.
PUBLIC: Final = (
    *(AnalystUnknown, BudgetExceeded, DataSetNotOpen, DataSetRetired, IncompatibleDistance, InvalidParameter),
    *(KeyReused, LineFull, MissingExtra, NoGuarantee, NotApproved, NotFound, NotSerialisable, RequestCancelled),
    *(Unanswerable, UnknownMechanism),
)
_DEBITED: Final = Problem(409, "NotCancelled", "it is debited already; its answer is stored when it is there")


class Releasing:
    """The handlers of releases and jobs; what else they use is the service's."""

    desk: Desk
    log: Log
    _jobs: Jobs
    metrics: Metrics
    _timing: Timing
    _stopping: threading.Event
    _repeats: Repeats
    _read: Callable[..., Any]
    _write: Callable[..., Any]
    _plan: Callable[..., Any]
    _answered: Callable[..., Any]
    #: The releases that this process works on, and those who wait for one to write a line about it.
    _watches: WeakKeyDictionary[Future[Receipt], Watch]
    _watching: set[asyncio.Task[None]]

    @property
    @abstractmethod
    def _is_stopping(self) -> bool:
        """Whether nothing more is taken."""

    async def _repeated(
        self, route: str, request: Request, bearer: Bearer | None, content: bytes | None
    ) -> Response | None:
        """Return the stored answer of a release whose very bytes were asked and answered before, if they were."""
        request.state.content = content
        if route != "release" or bearer is None or content is None:
            return None
        if wanted_form(request.headers.get("accept", "")) is not JSON:
            return None
        dataset = str(request.path_params["dataset"])
        found = self._repeats.find(bearer, (dataset, request.headers.get("idempotency-key")), content)
        if found is None:
            return None
        request.state.facts |= {"verb": found.verb, "digest": found.digest}
        self.metrics.count_answer(is_new=False)
        response: Response = await self._answered(request, bearer, dataset, found.receipt)
        return response

    async def _release(self, request: Request, bearer: Bearer, body: Any) -> Response:
        # Before anything is paid for: what cannot be told in any form is not asked for.
        check_form(request.headers.get("accept", ""))
        wanted = wanted_of(str(request.path_params["dataset"]), body, key_of(request))
        came = self._timing.pace(wanted.verb, self._stopping)
        person, patience, facts = bearer.person.name, _patience(request), request.state.facts
        facts["verb"] = wanted.verb
        found: LookedUp = await self._plan(request, person, lambda: self.desk.looked_up(bearer, wanted))
        ticket, stored, _ = found
        facts["digest"] = ticket.digest
        response: Response
        if stored is not None:
            self.metrics.count_answer(is_new=False)
            place = wanted.dataset, request.headers.get("idempotency-key")
            self._repeats.keep(bearer, place, request.state.content, wanted.verb, found)
            response = await self._answered(request, bearer, wanted.dataset, stored)
            return response
        if self._is_stopping:
            raise Refused(STOPPING, {"Retry-After": "5"})
        # Before it stands in any line, its key is bound to what it asks.
        await self._write(person, lambda: self._jobs.bind(ticket, is_told=patience == 0))
        future, watch = self._begun(request, bearer, wanted, ticket, came)
        # Whoever tells the outcome writes down what was debited.
        request.state.noticed = watch.noticed
        try:
            if not await has_ended(future, came, patience):
                request.state.noticed = None
                self._watch(future, watch)
                if patience:
                    await self._write(person, lambda: self._jobs.keep(ticket))
                return await self._told_later(person, wanted.dataset, ticket)
            if future.cancelled():
                # It was dropped from its line, before anything was done for it.
                came = self._at_once
            receipt = self._outcome(future, ticket, came)
            response = await self._answered(request, bearer, wanted.dataset, receipt)
            self.metrics.count_answer(is_new=True)
            return response
        except ApprovalPending:
            came = self._told_by(watch.noticed, came)
            await self._write(person, lambda: self._jobs.keep(ticket))
            return await self._told_later(person, wanted.dataset, ticket)
        except (*PUBLIC, TooLate):
            came = self._told_by(watch.noticed, came)
            raise
        finally:
            if future.done():
                # Answer or failure: neither is told before its time.
                await asyncio.sleep(came.left())

    def _told_by(self, noticed: Noticed, came: Pace | Strict) -> Pace | Strict:
        """Return when a refusal by public facts may be told: at once, where nothing was debited and no row was read."""
        return self._at_once if noticed.is_public else came

    async def _job(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        """Tell how far a job has come; where ``Prefer: wait=S`` is sent, once it has ended."""
        dataset, name = str(request.path_params["dataset"]), str(request.path_params["job"])
        person, patience = bearer.person.name, min(_patience(request) or 0.0, LONGEST_WAIT)
        until = time.monotonic() + patience
        while True:
            ticket, progress = await self._looked_at(request, bearer, dataset, name)
            left = until - time.monotonic()
            # Others may take days to agree: that is told, and not waited for.
            if progress.has_ended or progress.state == WAITING or left <= 0 or self._is_stopping:
                return await self._described(person, dataset, ticket, progress, 200)
            future = self._jobs.working_on(ticket.name)
            if future is None:
                await asyncio.sleep(min(_PAUSE, left))
            else:
                with contextlib.suppress(Exception):
                    await has_ended(future, self._at_once, left)

    async def _cancel(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        dataset, name = str(request.path_params["dataset"]), str(request.path_params["job"])
        person = bearer.person.name
        ticket = await self._read(person, lambda: self.desk.ticket(bearer, dataset, name))
        if not await self._write(person, lambda: self._jobs.cancel(ticket)):
            raise Refused(_DEBITED)
        return await self._described(person, dataset, ticket, Progress("cancelled"), 200)

    @property
    def _at_once(self) -> Pace:
        """The pace of what depends on public facts alone."""
        return Pace(0.0, "off", self._stopping)

    def _begun(
        self, request: Request, bearer: Bearer, wanted: Wanted, ticket: Ticket, came: Pace | Strict
    ) -> tuple[Future[Receipt], Watch]:
        """Begin a release, or find it begun."""
        line = {**request.state.who, "person": bearer.person.name, "dataset": wanted.dataset}
        watch = Watch(self.log, {**line, "verb": wanted.verb, "digest": ticket.digest}, came)

        def work() -> Receipt:
            with noticing(watch.noticed):
                return self.desk.release(bearer, wanted, came, ticket)

        future = self._jobs.begin(ticket, work, came.stored_by)
        return future, self._watches.setdefault(future, watch)

    # What is debited for releases whose outcome no request tells.

    def _watch(self, future: Future[Receipt], watch: Watch) -> None:
        """Write a line about a release once its time has come, unless a request tells of it before."""
        if not watch.is_watched:
            watch.is_watched = True
            task = asyncio.get_running_loop().create_task(self._written_down(future, watch))
            self._watching.add(task)
            task.add_done_callback(self._watching.discard)

    async def _written_down(self, future: Future[Receipt], watch: Watch) -> None:
        try:
            try:
                await has_ended(future, watch.came, None)
                receipt: Receipt = outcome(future, watch.came)
                found = 200, str(receipt.entry)
            except Refused as refused:
                found = refused.problem.status, ""
            except Exception as error:
                found = problem_of(error).status, ""
            await asyncio.sleep(watch.came.left())
            watch.write(*found)
        finally:
            # Where the service goes before, how it ends is not known; what was debited is.
            watch.write()

    async def tell_rest(self, seconds: float) -> None:
        """Write the lines of the releases that nobody waits for any more, once they are due, and at the end at once.

        Args:
            seconds: for how long they are waited for.

        """
        tasks = set(self._watching)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _outcome(self, future: Future[Receipt], ticket: Ticket, came: Pace | Strict) -> Receipt:
        if not future.cancelled():
            receipt: Receipt = outcome(future, came)
            return receipt
        raise Refused(STOPPING, {"Retry-After": "5"}) if self._is_stopping else RequestCancelled(ticket.key)

    async def _looked_at(self, request: Request, bearer: Bearer, dataset: str, name: str) -> tuple[Ticket, Progress]:
        """Return how far a job has come, having gone on with it where nobody does."""
        person = bearer.person.name
        ticket = await self._read(person, lambda: self.desk.ticket(bearer, dataset, name))

        def look() -> Progress:
            row = self._jobs.row(ticket.dataset, person, ticket.name) or ticket.row
            return self._jobs.progress(row, self._strict(ticket))

        progress: Progress = await self._read(person, look)
        if progress.state == "queued" and progress.place is None and not self._is_stopping:
            # Others have agreed meanwhile, or whoever worked on it has died.
            await self._write(person, lambda: self._jobs.keep(ticket))
            wanted = self.desk.wanted(ticket, dataset)
            with contextlib.suppress(LineFull):
                came = self._timing.pace(wanted.verb, self._stopping)
                self._watch(*self._begun(request, bearer, wanted, ticket, came))
        return ticket, progress

    def _strict(self, ticket: Ticket) -> float | None:
        """Return after how many seconds a job has failed that has no answer, where times are strict."""
        verb = self.desk.wanted(ticket, ticket.dataset).verb
        return Strict(0.0, self._timing.seconds(verb)).stored_by if self._timing.way == "strict" else None

    async def _told_later(self, person: str, dataset: str, ticket: Ticket) -> Response:
        def look() -> Progress:
            row = self._jobs.row(ticket.dataset, person, ticket.name) or ticket.row
            return self._jobs.progress(row, self._strict(ticket))

        progress = await self._read(person, look)
        return await self._described(person, dataset, ticket, progress, 202)

    async def _described(self, person: str, dataset: str, ticket: Ticket, progress: Progress, status: int) -> Response:
        place = BY_NAME["job"].path.format(dataset=dataset, job=ticket.name)
        answer = None
        if progress.state == "answered":
            entry = await self._read(person, lambda: self.desk.entry_of(ticket))
            answer = BY_NAME["answer"].path.format(dataset=dataset, entry=entry)
        said: dict[str, Any] = {"job": ticket.name, "dataset": dataset, "answer": answer, "state": progress.state}
        said |= {"place": progress.place, "question": progress.question, "problem": progress.problem}
        headers = {"Location": place} if status == 202 else {}
        return JSONResponse(said, status, headers=headers)


def _patience(request: Request) -> float | None:
    """Return for how many seconds an answer is waited for; None for as long as it takes."""
    for said in request.headers.get("prefer", "").lower().split(","):
        preference = said.strip()
        if preference == "respond-async":
            return 0.0
        found = _WAIT.match(preference)
        if found:
            return float(found[1])
    return None


def key_of(request: Request) -> str | None:
    """Return the caller's name for a request, if there is one."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    try:
        # What HTTP hands over byte by byte is read as UTF-8.
        key = key.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        key = ""
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable() or is_usual(key):
        raise InvalidParameter("Idempotency-Key", key, f"1 to {LONGEST_KEY} printable characters, not 'same-...'")
    return key
