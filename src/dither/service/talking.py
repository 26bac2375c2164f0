"""Streams and conversations over HTTP: paid for once under a name, asked and released under its address."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dither.curator.people import Bearer
from dither.service.desk import Desk
from dither.service.governing import number_of
from dither.service.pace import Pace, Strict, Timing
from dither.service.queue import FairPool
from dither.service.waiting import has_ended, outcome


class Talking:
    """The handlers of streams and conversations; what else they use is the service's."""

    desk: Desk
    _releasing: FairPool
    _timing: Timing
    _stopping: threading.Event
    _about: Callable[..., Any]

    async def _conversations(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.conversations)
        return found

    async def _conversation(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        confidence = request.query_params.get("confidence", "0.95")
        found: Response = await self._about(request, bearer, self.desk.conversation, _called(request), confidence)
        return found

    async def _open_conversation(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name = _name(request)
        return await self._paced(bearer, lambda came: self.desk.open_conversation(bearer, name, body, came))

    async def _converse(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(bearer, lambda came: self.desk.converse(bearer, name, called, body, came))

    async def _streams(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.streams)
        return found

    async def _stream(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        ticks = number_of(request, "first"), number_of(request, "end") if "end" in request.query_params else None
        confidence = request.query_params.get("confidence", "0.95")
        found: Response = await self._about(request, bearer, self.desk.stream, _called(request), ticks, confidence)
        return found

    async def _open_stream(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name = _name(request)
        return await self._paced(bearer, lambda came: self.desk.open_stream(bearer, name, body, came))

    async def _release_ticks(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(bearer, lambda came: self.desk.release_ticks(bearer, name, called, body, came))

    async def _end_stream(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(bearer, lambda _: self.desk.end_stream(bearer, name, called))

    async def _paced(self, bearer: Bearer, work: Callable[[Pace | Strict], Any]) -> Response:
        """Carry out what reads rows or draws noise; neither answer nor failure is told before its time."""
        came = self._timing.pace("", self._stopping)
        try:
            future = self._releasing.submit(bearer.person.name, lambda: work(came))
            await has_ended(future, came, None)
            return JSONResponse(outcome(future, came))
        finally:
            await asyncio.sleep(came.left())


def _name(request: Request) -> str:
    return str(request.path_params["dataset"])


def _called(request: Request) -> str:
    return str(request.path_params["name"])
