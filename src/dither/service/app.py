"""The application: from a request to the desk and back, with limits, deadlines and one way to fail.

A request is refused as early as it can be: too large, encoded, without a token that holds, beyond its role, then by the
curator's own rules. Work is done on bounded pools: for what reads public facts, for what is planned, for what writes to
the ledger, for what waits for an issuer, and for releases; none waits for another. A client that goes away ends its
planning and changes nothing else: what is debited is carried out and stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import os
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path

from dither.curator.ledger import Receipt
from dither.curator.people import Bearer
from dither.errors import DitherError, LedgerUnavailable
from dither.service.body import read_object
from dither.service.debits import debit_lines
from dither.service.desk import Desk
from dither.service.forms import JSON, Form, etag, split, wanted_form, written
from dither.service.front import Front, openapi_text
from dither.service.governance import NotYours
from dither.service.governance_routes import Governing, name_of, number_of
from dither.service.jobs import Jobs
from dither.service.limits import Limits, address_of, line_of
from dither.service.logs import Log
from dither.service.long_lived_routes import Talking
from dither.service.metrics import Metrics
from dither.service.oidc import Issuer
from dither.service.pace import Timing, TooLate, sent_after
from dither.service.problems import (
    FAILED,
    MEDIA_TYPE,
    NO_METHOD,
    NOT_ALLOWED,
    NOT_KNOWN,
    NOT_READY,
    NOT_THERE,
    STOPPING,
    TOO_MANY,
    Problem,
    Refused,
    problem_of,
)
from dither.service.queue import FairPool, LineFull
from dither.service.reading import NO_PATH, check_headers, check_names, check_query, check_site, read_body
from dither.service.releasing import Releasing
from dither.service.repeats import LARGEST, Repeats
from dither.service.routes import BY_NAME, METHODS, ROUTES, Rate, Route, methods_at
from dither.service.settings import Settings
from dither.service.sign_in import Link
from dither.service.signing_in import SigningIn, shown_token
from dither.service.waiting import planned

_DOORS: Final = 2
_READERS: Final = 4
#: One for each person at a time: two who plan without end leave the others room.
_PLANNERS: Final = 4
_WRITERS: Final = 4
_TIDY_SECONDS: Final = 600
_ASKING_ISSUER: Final = 4
#: Of every answer, unless it says otherwise.
HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_NOBODY: Final = ""
#: For how long a ledger whose file was locked is read by threads alone.
_LOCKED_SECONDS: Final = 60.0
#: For how long somebody is kept at the door until it is written down that they came.
_MOMENT: Final = 1.0
#: Statuses of requests whose data set was found: others may name anything, and a log does not repeat it.
_TOLD_OF_A_SET: Final = (200, 202, 304, 409, 410, 422, 500, 501)


class Service(Front, SigningIn, Releasing, Governing, Talking):
    """A desk behind HTTP.

    Args:
        desk: what is asked.
        settings: how.
        log: where one line is written for every request.
        link: the one that works once, if there is one.
        metrics: where requests are counted.

    """

    def __init__(
        self, desk: Desk, settings: Settings, log: Log, link: Link | None = None, metrics: Metrics | None = None
    ) -> None:
        self.desk, self.settings, self.log = desk, settings, log
        self.metrics = metrics or Metrics()
        self._link = link
        self._limits = Limits(settings.requests_per_second)
        # Whoever shows a token, or reads, waits for nothing that others plan, write or ask an issuer.
        self._doors = FairPool(_DOORS, "door")
        self._readers = FairPool(_READERS, "read")
        self._planners = FairPool(_PLANNERS, "plan", most=1)
        self._writers = FairPool(_WRITERS, "write")
        self._asking_issuer = FairPool(_ASKING_ISSUER, "issuer")
        many = -(-(settings.releasing or (os.cpu_count() or 1) + 2) // settings.workers)
        self._timing = Timing.read(settings.timing)
        # As many again: half of them wait for the disk, or are held back, and do nothing meanwhile.
        self._releasing = FairPool(2 * many, "release")
        self._adding = FairPool(1, "add")
        self._jobs = Jobs(self._releasing, desk.curator.books)
        self._stopping = threading.Event()
        self._issuer = Issuer.of(settings)
        self._repeats = Repeats(desk)
        self._watches, self._watching = WeakKeyDictionary(), set()
        self._is_read_at_once = desk.curator.books.is_read_at_once
        #: From when on the ledger is read by the thread that serves all: not for a while after a lock was met.
        self._at_once_from = 0.0
        desk.admissions.later = self._later

    @property
    def _is_stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether no release is under way."""
        return self._releasing.is_idle

    def application(self) -> Starlette:
        """Return the ASGI application."""

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            tidying = asyncio.create_task(self._tidy())
            yield
            tidying.cancel()
            await self.stop()

        paths = [Path(route.path, self._endpoint(route), methods=[route.method]) for route in ROUTES]
        handlers = {404: _no_such_path, 405: _no_such_path}
        for path in paths:
            # What the table does not have cannot be reached: nobody uses up a link by asking for its head.
            path.methods = {method for method in path.methods or () if method != "HEAD"}
        application = Starlette(routes=paths, lifespan=lifespan, exception_handlers=handlers)
        application.router.redirect_slashes = False
        return application

    async def _tidy(self) -> None:
        """Erase secrets that have served, also while nothing is released."""
        while True:
            with contextlib.suppress(LineFull, DitherError):
                await self._write(_NOBODY, self.desk.curator.erase_secrets)
            await asyncio.sleep(_TIDY_SECONDS)

    def begin_stop(self) -> None:
        """Take nothing more: whatever is not debited yet is told to come again."""
        self._stopping.set()
        self._releasing.drop()
        self._adding.drop()

    async def stop(self) -> None:
        """Take nothing more; let what is debited end."""
        self.begin_stop()
        await asyncio.to_thread(self._releasing.close, self.settings.patience)
        await asyncio.to_thread(self._adding.close, self.settings.patience)
        await self.tell_rest(self.settings.patience)
        for pool in (self._planners, self._writers, self._asking_issuer, self._readers, self._doors):
            await asyncio.to_thread(pool.close, 1)
        self.desk.close()

    # One request.

    def _endpoint(self, route: Route) -> Callable[[Request], Awaitable[Response]]:
        handle = self._handler_of(route)

        async def endpoint(request: Request) -> Response:
            begun, name, person = time.monotonic(), uuid.uuid4().hex, _NOBODY
            request.state.facts, request.state.noticed = {}, None
            request.state.who = {"request": name, "route": route.name}
            try:
                check_headers(request)
                check_names(request)
                check_site(request)
                if route.roles is None:
                    await self._check_often(route, request)
                bearer = None if route.roles is None else await self._admitted(route, request)
                person = bearer.person.name if bearer else _NOBODY
                check_query(route, request)
                content = None if route.body is None else await read_body(request, route.largest)
                response = await self._repeated(route.name, request, bearer, content)
                if response is None:
                    response = await handle(request, bearer, None if content is None else read_object(content))
                if route.is_tagged:
                    response = _tagged(route, request, response)
            except Refused as refused:
                response = _told(refused.problem, refused.headers)
            except NotYours:
                response = _told(NOT_THERE)
            except (LineFull, TooLate):
                response = _told(STOPPING if self._is_stopping else TOO_MANY, {"Retry-After": "1"})
            except asyncio.CancelledError:
                if not self._is_stopping:
                    raise
                response = _told(STOPPING, {"Retry-After": "5"})
            except DitherError as error:
                response = _told(problem_of(error))
            except Exception:
                response = _told(FAILED)
            for header, value in HEADERS.items():
                response.headers.setdefault(header, value)
            response.headers["X-Request-Id"] = name
            self._write_down(request, response, begun, {**request.state.who, "person": person})
            return response

        return endpoint

    def _write_down(self, request: Request, response: Response, begun: float, who: Mapping[str, str]) -> None:
        """Write one line about a request, and count it; what names nothing that is there is not repeated."""
        seconds, status = sent_after(time.monotonic() - begun, "buckets"), response.status_code
        noticed = request.state.noticed
        debits = () if noticed is None else noticed.take()
        is_named = who["person"] and (debits or status in _TOLD_OF_A_SET)
        dataset = str(request.path_params.get("dataset", ""))[:64] if is_named else ""
        line = {**who, "dataset": dataset, "status": status, "entry": response.headers.get("Dither-Entry", "")}
        for told in debit_lines({**line, **request.state.facts, "seconds": seconds}, debits):
            self.log.write(**told)
        self.metrics.count(who["route"], status, seconds)
        self.metrics.set_waiting(self._releasing.waiting)

    async def _check_often(self, route: Route, request: Request) -> None:
        """Let anybody in, and nobody too often: whether the process lives is always told."""
        if route.counted is Rate.NOBODY:
            return
        who = line_of(request)
        if route.counted is Rate.ADDRESS:
            with contextlib.suppress(DitherError, LineFull):
                # Whoever shows a token that holds is counted as themselves, whatever others at their address do.
                bearer = await self._bearer(request)
                who = who if bearer is None else bearer.person.name
        if not self._limits.admits(who):
            raise Refused(TOO_MANY, {"Retry-After": "1"})
        # Whoever signs in is a stranger, and each try asks the issuer something.
        is_strange = route.counted is Rate.STRANGER and self._issuer is not None
        if is_strange and not self._limits.admits_stranger(address_of(request)):
            raise Refused(TOO_MANY, {"Retry-After": "10"})

    async def _bearer(self, request: Request) -> Bearer | None:
        """Return who shows a token that holds, if anybody does."""
        scheme, token = shown_token(request)
        if scheme != "bearer":
            return None
        admissions = self.desk.admissions
        # Wrong tokens wait in the line of their address, and keep nobody from the door who was let in before.
        line = admissions.remembered(token) or line_of(request)
        # Whoever was let in before need not be handed to a thread, where what was decided since is read at once.
        bearer = self._known_at_once(token)
        if bearer is None:
            bearer = await asyncio.wrap_future(self._doors.submit(line, lambda: admissions.admitted(token)))
        return bearer

    async def _admitted(self, route: Route, request: Request) -> Bearer:
        """Return who asks, or refuse: a wrong token and none are told apart by nothing."""
        if self._is_stopping:
            raise Refused(STOPPING, {"Retry-After": "5"})
        bearer = await self._bearer(request)
        if bearer is None:
            # Who shows a token that holds is let in whatever others at the same address do.
            if not self._limits.admits_stranger(address_of(request)):
                raise Refused(TOO_MANY, {"Retry-After": "10"})
            raise Refused(NOT_KNOWN, {"WWW-Authenticate": "Bearer"})
        if not self._limits.admits(bearer.person.name):
            raise Refused(TOO_MANY, {"Retry-After": "1"})
        if route.roles is not None and bearer.person.role not in route.roles:
            raise Refused(NOT_ALLOWED)
        if route.scope is not None and route.scope not in bearer.scopes:
            raise Refused(NOT_ALLOWED)
        return bearer

    def _known_at_once(self, token: str) -> Bearer | None:
        """Return who shows a token that was looked up before; None where that is not known at once."""
        if not self._is_read_at_once or time.monotonic() < self._at_once_from:
            return None
        try:
            with self.desk.curator.books.at_once():
                return self.desk.admissions.known(token)
        except LedgerUnavailable:
            self._at_once_from = time.monotonic() + _LOCKED_SECONDS
            return None

    def _later(self, work: Callable[[], None]) -> None:
        """Write down what nobody waits for, but for a moment."""
        with contextlib.suppress(LineFull, TimeoutError, DitherError):
            self._writers.submit(_NOBODY, work).result(_MOMENT)

    async def _read(self, person: str, work: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(self._readers.submit(person, work))

    async def _write(self, person: str, work: Callable[[], Any]) -> Any:
        """Do what writes to the ledger, and may have to wait for others who do."""
        return await asyncio.shield(asyncio.wrap_future(self._writers.submit(person, work)))

    async def _plan(self, request: Request, person: str, work: Callable[[], Any]) -> Any:
        return await planned(self._planners, person, request, work)

    # Routes.

    async def _health(self, _request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        return JSONResponse({"status": "alive"})

    async def _ready(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        is_ready = not self._is_stopping and await self._read(line_of(request), self.desk.ready)
        if not is_ready:
            raise Refused(NOT_READY, {"Retry-After": "5"})
        return JSONResponse({"status": "ready"})

    async def _openapi(self, _request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        return Response(openapi_text(), media_type=JSON.media_type)

    _root_openapi = _openapi

    async def _me(self, _request: Request, bearer: Bearer, _body: Any) -> Response:
        return JSONResponse(await self._read(bearer.person.name, lambda: self.desk.me(bearer)))

    async def _datasets(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        after = name_of(request, "after")
        return JSONResponse(await self._read(bearer.person.name, lambda: self.desk.datasets(bearer, after)))

    async def _dataset(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        return await self._about(request, bearer, self.desk.dataset)

    async def _card(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        return await self._about(request, bearer, self.desk.card)

    async def _balance(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        return await self._about(request, bearer, self.desk.balance)

    async def _room(self, request: Request, bearer: Bearer, body: Any) -> Response:
        return await self._about(request, bearer, self.desk.room, body)

    async def _quote(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name, facts = str(request.path_params["dataset"]), request.state.facts
        work = functools.partial(self.desk.quote, bearer, name, body, facts)
        return JSONResponse(await self._plan(request, bearer.person.name, work))

    async def _loss_for_error(self, request: Request, bearer: Bearer, body: Any) -> Response:
        work = functools.partial(self.desk.loss_for_error, bearer, str(request.path_params["dataset"]), body)
        return JSONResponse(await self._plan(request, bearer.person.name, work))

    async def _about(self, request: Request, bearer: Bearer, work: Callable[..., Any], *more: Any) -> Response:
        name = str(request.path_params["dataset"])
        return JSONResponse(await self._read(bearer.person.name, lambda: work(bearer, name, *more)))

    async def _releases(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        return await self._about(request, bearer, self.desk.releases, _after(request))

    async def _answer(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        name, entry, form = _named(request)
        receipt = await self._read(bearer.person.name, lambda: self.desk.answer(bearer, name, entry))
        return await self._answered(request, bearer, name, receipt, form)

    async def _receipt(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        name, entry, _ = _named(request)
        content = await self._read(bearer.person.name, lambda: self.desk.receipt(bearer, name, entry))
        return Response(content, media_type="application/json")

    async def _answered(
        self, request: Request, bearer: Bearer, name: str, receipt: Receipt, form: Form | None = None
    ) -> Response:
        """Return a stored answer: the bytes themselves, or what is made of them."""
        headers = {
            "Dither-Entry": str(receipt.entry),
            "Dither-Place": f"{receipt.ledger}:{receipt.entry}:{receipt.hash}",
            "Location": BY_NAME["answer"].path.format(dataset=name, entry=receipt.entry),
        }
        return await self._shown(request, bearer.person.name, receipt, form, headers)

    async def _shown(
        self, request: Request, person: str, receipt: Receipt, form: Form | None, headers: Mapping[str, str]
    ) -> Response:
        """Return an answer in the form that is asked for; whoever has it already is told so."""
        wanted = form or wanted_form(request.headers.get("accept", ""))
        tag = etag(receipt, wanted)
        fixed = {**headers, "ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
        if request.method == "GET" and _has(request, tag):
            return Response(status_code=304, headers=fixed)
        is_quick = wanted is JSON and len(receipt.answer) <= LARGEST
        try:
            content, kind = (
                written(receipt, wanted) if is_quick else await self._read(person, lambda: written(receipt, wanted))
            )
        except Refused:
            if request.method == "GET":
                raise
            # It is paid for: as it is stored rather than not at all.
            content, kind = receipt.answer, JSON.media_type
            fixed["ETag"] = etag(receipt, JSON)
        return Response(content, media_type=kind, headers=fixed)

    async def _balances(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        after = name_of(request, "after")
        return JSONResponse(await self._read(bearer.person.name, lambda: self.desk.balances(after)))

    async def _entries(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        after = _after(request)
        return JSONResponse(await self._read(bearer.person.name, lambda: self.desk.entries(after)))

    async def _verification(self, _request: Request, bearer: Bearer, _body: Any) -> Response:
        return JSONResponse(await self._read(bearer.person.name, self.desk.verification))

    async def _key(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        key = await self._read(line_of(request), lambda: str(self.desk.receipts.public_key))
        return Response(f"{key}\n", media_type="text/plain; charset=utf-8")

    async def _keys(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        return JSONResponse({"changes": await self._read(line_of(request), lambda: self.desk.receipts.changes)})

    async def _checkpoint(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        note = await self._read(line_of(request), lambda: self.desk.receipts.checkpoint())
        return Response(note, media_type="text/plain; charset=utf-8")

    async def _consistency(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        earlier, size = number_of(request, "earlier"), number_of(request, "size")
        path = await self._read(line_of(request), lambda: self.desk.receipts.consistency(earlier, size))
        return JSONResponse({"path": path})


async def _no_such_path(request: Request, _error: Exception) -> Response:
    """Return that there is no such path, or that the path does not have the method, with those that it has."""
    allowed = methods_at(request.scope["path"])
    if allowed or request.method not in METHODS:
        return _told(NO_METHOD, {**HEADERS, "Allow": ", ".join(allowed or METHODS)})
    return _told(NO_PATH, HEADERS)


def _tagged(route: Route, request: Request, response: Response) -> Response:
    """Return an answer with the tag of its bytes; whoever has these already is told so, and no more."""
    if "etag" in response.headers or response.status_code != route.status:
        return response
    tag = f'"{hashlib.sha256(response.body).hexdigest()}"'
    if _has(request, tag):
        response = Response(status_code=304)
    response.headers["ETag"] = tag
    if route.roles is None:
        # Anybody may keep what is public, and asks whether it is still so; what is private is kept nowhere.
        response.headers["Cache-Control"] = "no-cache"
    return response


def _has(request: Request, tag: str) -> bool:
    """Whether a client says that it has the bytes of a tag; proxies that pack answers make tags weak."""
    said = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    return tag in said or said == ["*"]


def _after(request: Request) -> int:
    return number_of(request, "after")


def _named(request: Request) -> tuple[str, str, Form | None]:
    entry, form = split(str(request.path_params["entry"]))
    return str(request.path_params["dataset"]), entry, form


def _told(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(problem.to_dict(), problem.status, headers=dict(headers or {}), media_type=MEDIA_TYPE)
