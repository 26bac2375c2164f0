"""The application: from a request to the desk and back, with limits, deadlines and one way to fail.

A request is refused as early as it can be: too large, encoded, without a token that holds, beyond its role, then by the
curator's own rules. Work is done on bounded pools, a light one for what reads public facts and one for releases. A
client that goes away changes nothing: what is debited is carried out and stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
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

import dither
from dither.curator.ledger import Receipt
from dither.curator.people import Bearer
from dither.errors import DitherError
from dither.service.body import read_object
from dither.service.debits import debit_lines
from dither.service.deciding import NotYours
from dither.service.desk import Desk
from dither.service.forms import JSON, Form, etag, split, wanted_form, written
from dither.service.governing import Governing, name_of, number_of
from dither.service.jobs import Jobs
from dither.service.limits import Limits, address_of, line_of
from dither.service.logs import Log
from dither.service.metrics import Metrics
from dither.service.oidc import Issuer
from dither.service.openapi import openapi
from dither.service.pace import Timing, TooLate, sent_after
from dither.service.problems import (
    FAILED,
    MEDIA_TYPE,
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
from dither.service.routes import BY_NAME, ROUTES, Rate, Route
from dither.service.settings import Settings
from dither.service.sign_in import Link
from dither.service.signing_in import SigningIn, shown_token
from dither.service.talking import Talking

_DOORS: Final = 2
_READERS: Final = 4
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_NOBODY: Final = ""
#: Statuses of requests whose data set was found: others may name anything, and a log does not repeat it.
_TOLD_OF_A_SET: Final = (200, 202, 304, 409, 410, 422, 500, 501)


class Service(SigningIn, Releasing, Governing, Talking):
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
        # Whoever shows a token does not wait for what others have planned.
        self._doors = FairPool(_DOORS, "door")
        self._readers = FairPool(_READERS, "read")
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
            yield
            await self.stop()

        paths = [Path(route.path, self._endpoint(route), methods=[route.method]) for route in ROUTES]
        handlers = {404: self._no_such_path, 405: self._no_such_path}
        for path in paths:
            # What the table does not have cannot be reached: nobody uses up a link by asking for its head.
            path.methods = {method for method in path.methods or () if method != "HEAD"}
        application = Starlette(routes=paths, lifespan=lifespan, exception_handlers=handlers)
        application.router.redirect_slashes = False
        return application

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
        await asyncio.to_thread(self._readers.close, 1)
        await asyncio.to_thread(self._doors.close, 1)
        self.desk.close()

    # One request.

    def _endpoint(self, route: Route) -> Callable[[Request], Awaitable[Response]]:
        handle: Callable[[Request, Bearer | None, Any], Awaitable[Response]] = getattr(self, f"_{route.name}")

        async def endpoint(request: Request) -> Response:
            begun, name, person = time.monotonic(), uuid.uuid4().hex, _NOBODY
            request.state.facts, request.state.noticed = {}, None
            request.state.who = {"request": name, "route": route.name}
            try:
                check_headers(request)
                check_names(request)
                check_site(request)
                if route.roles is None:
                    self._check_often(route, request)
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
            for header, value in _HEADERS.items():
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

    def _check_often(self, route: Route, request: Request) -> None:
        """Let anybody in, and no address too often; whether the process lives is always told."""
        if route.counted is not Rate.NOBODY and not self._limits.admits(line_of(request)):
            raise Refused(TOO_MANY, {"Retry-After": "1"})
        # Whoever signs in is a stranger, and each try asks the issuer something.
        is_strange = route.counted is Rate.STRANGER and self._issuer is not None
        if is_strange and not self._limits.admits_stranger(address_of(request)):
            raise Refused(TOO_MANY, {"Retry-After": "10"})

    async def _admitted(self, route: Route, request: Request) -> Bearer:
        """Return who asks, or refuse: a wrong token and none are told apart by nothing."""
        if self._is_stopping:
            raise Refused(STOPPING, {"Retry-After": "5"})
        address = address_of(request)
        scheme, token = shown_token(request)
        # Whoever was let in before need not be handed to a thread, where what was decided since is read at once.
        bearer = self.desk.admissions.known(token) if self._is_read_at_once else None
        if bearer is None:
            work = self._doors.submit(address, lambda: self.desk.admissions.admitted(token))
            bearer = await asyncio.wrap_future(work)
        if bearer is None or scheme != "bearer":
            # Who shows a token that holds is let in whatever others at the same address do.
            if not self._limits.admits_stranger(address):
                raise Refused(TOO_MANY, {"Retry-After": "10"})
            raise Refused(NOT_KNOWN, {"WWW-Authenticate": "Bearer"})
        if route.roles is not None and bearer.person.role not in route.roles:
            raise Refused(NOT_ALLOWED)
        if route.scope is not None and route.scope not in bearer.scopes:
            raise Refused(NOT_ALLOWED)
        if not self._limits.admits(bearer.person.name):
            raise Refused(TOO_MANY, {"Retry-After": "1"})
        return bearer

    async def _read(self, person: str, work: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(self._readers.submit(person, work))

    # Routes.

    async def _health(self, _request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        return JSONResponse({"status": "alive"})

    async def _ready(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        is_ready = not self._is_stopping and await self._read(line_of(request), self.desk.ready)
        if not is_ready:
            raise Refused(NOT_READY, {"Retry-After": "5"})
        return JSONResponse({"status": "ready"})

    async def _openapi(self, _request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        return Response(_openapi(), media_type=JSON.media_type)

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
        return await self._about(request, bearer, self.desk.quote, body, request.state.facts)

    async def _loss_for_error(self, request: Request, bearer: Bearer, body: Any) -> Response:
        return await self._about(request, bearer, self.desk.loss_for_error, body)

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

    async def _no_such_path(self, _request: Request, _error: Exception) -> Response:
        return _told(NO_PATH)


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


@functools.cache
def _openapi() -> bytes:
    return json.dumps(openapi(dither.__version__)).encode()


def _after(request: Request) -> int:
    return number_of(request, "after")


def _named(request: Request) -> tuple[str, str, Form | None]:
    entry, form = split(str(request.path_params["entry"]))
    return str(request.path_params["dataset"]), entry, form


def _told(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(problem.to_dict(), problem.status, headers=dict(headers or {}), media_type=MEDIA_TYPE)
