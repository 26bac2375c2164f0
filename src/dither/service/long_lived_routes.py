"""What lives longer than a call, over HTTP: paid for once under a name, asked and released under its address."""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dither.curator.ledger.request_effects import Noticed, noticing
from dither.curator.people import Bearer
from dither.service.debits import Watch
from dither.service.desk import Desk
from dither.service.forms import check_form
from dither.service.governance_routes import name_of, number_of
from dither.service.logs import Log
from dither.service.long_lived_kinds import SERVED, Step
from dither.service.pace import Pace, Strict, Timing
from dither.service.problems import STOPPING, Refused
from dither.service.queue import FairPool
from dither.service.releasing import PUBLIC, key_of
from dither.service.routes import Route
from dither.service.waiting import has_ended, outcome

Handler = Callable[[Request, Any, Any], Awaitable[Response]]


class Talking:
    """The handlers of what lives longer than a call; what else they use is the service's."""

    desk: Desk
    log: Log
    _releasing: FairPool
    _timing: Timing
    _stopping: threading.Event
    _about: Callable[..., Awaitable[Response]]
    _plan: Callable[..., Any]
    _answered: Callable[..., Awaitable[Response]]
    _told_by: Callable[[Noticed, Pace | Strict], Pace | Strict]

    @property
    @abstractmethod
    def _at_once(self) -> Pace:
        """The pace of what depends on public facts alone."""

    def _handler_of(self, route: Route) -> Handler:
        """Return what handles a route: the method of its name, or what all kinds have."""
        found: dict[str, Handler] = {}
        for kind in SERVED.values():
            found |= {kind.lists: partial(self._listed, kind.verb), kind.opens: partial(self._open_one, kind.verb)}
            found |= {step.name: partial(self._go_on, kind.verb, step) for step in kind.steps}
            found[kind.verb] = partial(self._look_at, route)
        written: Handler | None = getattr(self, f"_{route.name}", None)
        return written or found[route.name]

    async def _listed(self, kind: str, request: Request, bearer: Bearer, _body: Any) -> Response:
        return await self._about(request, bearer, self.desk.names_of, kind, name_of(request, "after"))

    async def _look_at(self, route: Route, request: Request, bearer: Bearer, _body: Any) -> Response:
        query = dict(_query(route, request))
        return await self._about(request, bearer, self.desk.long_lived, route.name, _called(request), query)

    async def _open_one(self, kind: str, request: Request, bearer: Bearer, body: Any) -> Response:
        name, work = _name(request), self.desk.open_long_lived
        return await self._paced(request, bearer, kind, lambda came: work(bearer, name, kind, body, came))

    async def _go_on(self, kind: str, step: Step, request: Request, bearer: Bearer, body: Any) -> Response:
        asked = _name(request), kind, step, _called(request), body or {}
        return await self._paced(request, bearer, kind, lambda came: self.desk.go_on(bearer, *asked, came))

    async def _ask_part(self, request: Request, bearer: Bearer, body: Any) -> Response:
        check_form(request.headers.get("accept", ""))
        asked = _name(request), _called(request), body, key_of(request)
        # What is stored is told at once: that it is, is public.
        receipt = await self._plan(request, bearer.person.name, lambda: self.desk.stored_part(bearer, *asked))
        if receipt is None:
            receipt = await self._in_time(
                request, bearer, "parts", lambda came: self.desk.ask_part(bearer, *asked, came)
            )
        request.state.facts |= {"verb": "parts", "digest": receipt.request_digest}
        return await self._answered(request, bearer, asked[0], receipt)

    async def _paced(
        self, request: Request, bearer: Bearer, verb: str, work: Callable[[Pace | Strict], Any]
    ) -> Response:
        found = await self._in_time(request, bearer, verb, work)
        if "receipt" in found:
            # Where the charge is written down.
            request.state.facts["entry"] = str(found["receipt"]).split(":")[1]
        return JSONResponse(found)

    async def _in_time(self, request: Request, bearer: Bearer, verb: str, work: Callable[[Pace | Strict], Any]) -> Any:
        """Carry out what reads rows or draws noise; neither answer nor failure is told before its time.

        What is refused by public facts is told at once, where nothing was debited and no row was read.
        """
        request.state.facts["verb"] = verb
        line = {**request.state.who, "person": bearer.person.name, "dataset": _name(request), "verb": verb}
        came = self._timing.pace(verb, self._stopping)
        noticed = request.state.noticed = Watch(self.log, line, came).noticed

        def noticed_work() -> Any:
            with noticing(noticed):
                return work(came)

        future = self._releasing.submit(bearer.person.name, noticed_work)
        told = came
        try:
            await has_ended(future, came, None)
            if future.cancelled():
                # It was dropped from its line, before anything was done for it.
                told = self._at_once
                raise Refused(STOPPING, {"Retry-After": "5"})
            return outcome(future, came)
        except PUBLIC:
            told = self._told_by(noticed, came)
            raise
        finally:
            await asyncio.sleep(told.left())


def _name(request: Request) -> str:
    return str(request.path_params["dataset"])


def _called(request: Request) -> str:
    return str(request.path_params["name"])


def _query(route: Route, request: Request) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of an address, each as its schema says; those without a default may be absent."""
    for name, schema in route.query.items():
        if name in request.query_params or "default" in schema:
            is_number = schema["type"] == "integer"
            yield name, number_of(request, name) if is_number else request.query_params.get(name, schema["default"])
