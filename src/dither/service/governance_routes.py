"""Decisions of curators over HTTP, and what everybody may see without a token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dither.curator.people import Bearer
from dither.errors import InvalidParameter
from dither.service.desk import Desk
from dither.service.forms import split
from dither.service.limits import line_of
from dither.service.queue import FairPool


class Governing:
    """The handlers of decisions and publications; what else they use is the service's."""

    desk: Desk
    _read: Callable[..., Any]
    _write: Callable[..., Any]
    _shown: Callable[..., Any]
    _adding: FairPool

    async def _add(self, _request: Request, bearer: Bearer, body: Any) -> Response:
        # Files are read to their end: whoever reads public facts meanwhile does not wait for it.
        future = self._adding.submit(bearer.person.name, lambda: self.desk.add(body))
        return JSONResponse(await asyncio.shield(asyncio.wrap_future(future)))

    async def _grants(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        after = name_of(request, "after")
        return JSONResponse(await self._read(bearer.person.name, lambda: self.desk.grants(_name(request), after)))

    async def _grant(self, request: Request, bearer: Bearer, body: Any) -> Response:
        return await self._decided(bearer, lambda: self.desk.grant(bearer, _name(request), body))

    async def _end_grant(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        person = str(request.path_params["person"])
        return await self._decided(bearer, lambda: self.desk.end_grant(_name(request), person))

    async def _stage(self, request: Request, bearer: Bearer, body: Any) -> Response:
        return await self._decided(bearer, lambda: self.desk.stage(bearer, _name(request), body))

    async def _budget(self, request: Request, bearer: Bearer, body: Any) -> Response:
        return await self._decided(bearer, lambda: self.desk.budget(bearer, _name(request), body))

    async def _questions(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        after = number_of(request, "after")
        return JSONResponse(await self._read(bearer.person.name, lambda: self.desk.questions(after)))

    async def _answer_question(self, request: Request, bearer: Bearer, body: Any) -> Response:
        number = checked_number("question", str(request.path_params["question"]))
        return await self._decided(bearer, lambda: self.desk.answer_question(bearer, number, body))

    async def _publish(self, request: Request, bearer: Bearer, body: Any) -> Response:
        return await self._decided(bearer, lambda: self.desk.publish(bearer, _name(request), body))

    async def _withdraw(self, request: Request, bearer: Bearer, _body: Any) -> Response:
        release, because = str(request.path_params["entry"]), name_of(request, "because")
        return await self._decided(bearer, lambda: self.desk.withdraw(bearer, _name(request), release, because))

    async def _published(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        after = number_of(request, "after")
        return JSONResponse(await self._read(line_of(request), lambda: self.desk.published(after)))

    async def _published_answer(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        entry, form = split(str(request.path_params["entry"]))
        receipt = await self._read(line_of(request), lambda: self.desk.published_answer(entry))
        response: Response = await self._shown(request, line_of(request), receipt, form, {})
        return response

    async def _published_receipt(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        entry = str(request.path_params["entry"])
        content = await self._read(line_of(request), lambda: self.desk.published_receipt(entry))
        return Response(content, media_type="application/json")

    async def _decided(self, bearer: Bearer, work: Callable[[], Any]) -> Response:
        return JSONResponse(await self._write(bearer.person.name, work))


def number_of(request: Request, name: str) -> int:
    """Return a number of the query, 0 where it is left out."""
    return checked_number(name, request.query_params.get(name, "0"))


def name_of(request: Request, name: str) -> str:
    """Return a text of the query, nothing where it is left out."""
    return request.query_params.get(name, "")


def checked_number(name: str, text: str) -> int:
    """Return the number of an entry, or how many there are."""
    if not (text.isdecimal() and text.isascii() and len(text) <= 18):
        raise InvalidParameter(name, text, "a number of entries")
    return int(text)


def _name(request: Request) -> str:
    return str(request.path_params["dataset"])
