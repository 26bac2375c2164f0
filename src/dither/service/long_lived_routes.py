"""Streams, conversations and parts over HTTP: paid for once under a name, asked and released under its address."""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import Callable
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
from dither.service.pace import Pace, Strict, Timing
from dither.service.problems import STOPPING, Refused
from dither.service.queue import FairPool
from dither.service.releasing import PUBLIC, key_of
from dither.service.waiting import has_ended, outcome


class Talking:
    """The handlers of streams, conversations and parts; what else they use is the service's."""

    desk: Desk
    log: Log
    _releasing: FairPool
    _timing: Timing
    _stopping: threading.Event
    _about: Callable[..., Any]
    _plan: Callable[..., Any]
    _answered: Callable[..., Any]
    _told_by: Callable[[Noticed, Pace | Strict], Pace | Strict]

    @property
    @abstractmethod
    def _at_once(self) -> Pace:
        """The pace of what depends on public facts alone."""

    async def _conversations(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.conversations, name_of(request, "after"))
        return found

    async def _conversation(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        confidence = request.query_params.get("confidence", "0.95")
        found: Response = await self._about(request, bearer, self.desk.conversation, _called(request), confidence)
        return found

    async def _open_conversation(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name = _name(request)
        return await self._paced(
            request, bearer, "conversation", lambda came: self.desk.open_conversation(bearer, name, body, came)
        )

    async def _converse(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(
            request, bearer, "conversation", lambda came: self.desk.converse(bearer, name, called, body, came)
        )

    async def _partitions(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.partitions, name_of(request, "after"))
        return found

    async def _parts(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.parts, _called(request))
        return found

    async def _open_parts(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name = _name(request)
        return await self._paced(request, bearer, "parts", lambda came: self.desk.open_parts(bearer, name, body, came))

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
        response: Response = await self._answered(request, bearer, asked[0], receipt)
        return response

    async def _streams(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.streams, name_of(request, "after"))
        return found

    async def _stream(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        ticks = number_of(request, "first"), number_of(request, "end") if "end" in request.query_params else None
        confidence = request.query_params.get("confidence", "0.95")
        found: Response = await self._about(request, bearer, self.desk.stream, _called(request), ticks, confidence)
        return found

    async def _open_stream(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name = _name(request)
        return await self._paced(
            request, bearer, "stream", lambda came: self.desk.open_stream(bearer, name, body, came)
        )

    async def _release_ticks(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(
            request, bearer, "stream", lambda came: self.desk.release_ticks(bearer, name, called, body, came)
        )

    async def _end_stream(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(request, bearer, "stream", lambda _: self.desk.end_stream(bearer, name, called))

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
