"""Streams, conversations and parts over HTTP: paid for once under a name, asked and released under its address."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dither.curator.people import Bearer
from dither.service.desk import Desk
from dither.service.forms import check_form
from dither.service.governing import name_of, number_of
from dither.service.pace import Pace, Strict, Timing
from dither.service.queue import FairPool
from dither.service.releasing import key_of
from dither.service.waiting import has_ended, outcome


class Talking:
    """The handlers of streams, conversations and parts; what else they use is the service's."""

    desk: Desk
    _releasing: FairPool
    _timing: Timing
    _stopping: threading.Event
    _about: Callable[..., Any]
    _read: Callable[..., Any]
    _answered: Callable[..., Any]

    async def _conversations(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.conversations, name_of(request, "after"))
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

    async def _partitions(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.partitions, name_of(request, "after"))
        return found

    async def _parts(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        found: Response = await self._about(request, bearer, self.desk.parts, _called(request))
        return found

    async def _open_parts(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name = _name(request)
        return await self._paced(bearer, lambda came: self.desk.open_parts(bearer, name, body, came))

    async def _ask_part(self, request: Request, bearer: Bearer, body: Any) -> Response:
        check_form(request.headers.get("accept", ""))
        asked = _name(request), _called(request), body, key_of(request)
        # What is stored is told at once: that it is, is public.
        receipt = await self._read(bearer.person.name, lambda: self.desk.stored_part(bearer, *asked))
        if receipt is None:
            receipt = await self._in_time(bearer, lambda came: self.desk.ask_part(bearer, *asked, came))
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
        return await self._paced(bearer, lambda came: self.desk.open_stream(bearer, name, body, came))

    async def _release_ticks(self, request: Request, bearer: Bearer, body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(bearer, lambda came: self.desk.release_ticks(bearer, name, called, body, came))

    async def _end_stream(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        name, called = _name(request), _called(request)
        return await self._paced(bearer, lambda _: self.desk.end_stream(bearer, name, called))

    async def _paced(self, bearer: Bearer, work: Callable[[Pace | Strict], Any]) -> Response:
        return JSONResponse(await self._in_time(bearer, work))

    async def _in_time(self, bearer: Bearer, work: Callable[[Pace | Strict], Any]) -> Any:
        """Carry out what reads rows or draws noise; neither answer nor failure is told before its time."""
        came = self._timing.pace("", self._stopping)
        try:
            future = self._releasing.submit(bearer.person.name, lambda: work(came))
            await has_ended(future, came, None)
            return outcome(future, came)
        finally:
            await asyncio.sleep(came.left())


def _name(request: Request) -> str:
    return str(request.path_params["dataset"])


def _called(request: Request) -> str:
    return str(request.path_params["name"])
