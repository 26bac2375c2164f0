"""Every answer of a service that is tested, compared with the table of routes: what it says there is what is told."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import jsonschema
from starlette.requests import Request
from starlette.responses import Response

from dither.service import records
from dither.service.answer_schemas import ANSWER, OTHER
from dither.service.app import Service
from dither.service.problems import MEDIA_TYPE, status_of
from dither.service.routes import BY_NAME, Route

_JSON = "application/json"


def watched(service: Service) -> list[str]:
    """Compare whatever a service will tell with its table; return the list of all that differs, which grows."""
    differs: list[str] = []
    made = service._endpoint

    def endpoint(route: Route) -> Callable[[Request], Awaitable[Response]]:
        told = made(route)

        async def compared(request: Request) -> Response:
            response = await told(request)
            differs.extend(f"{route.name}, {response.status_code}: {what}" for what in differences(route, response))
            return response

        return compared

    service._endpoint = endpoint  # type: ignore[method-assign]
    return differs


def differences(route: Route, response: Response) -> Iterator[str]:
    """Yield what of an answer is not as the table says."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    content = bytes(response.body)
    match response.status_code:
        case 304:
            if not route.is_tagged or content or "etag" not in response.headers:
                yield "nothing is told of a tag"
        case 202:
            if not route.is_new:
                yield "no release is waited for"
            yield from _wrong(_schema("job"), kind, _JSON, content)
        case route.status:
            if route.is_tagged and "etag" not in response.headers:
                yield "it has no tag"
            if not isinstance(route.answer, tuple):
                yield from _wrong(_schema(route.name), kind, _JSON, content)
            elif kind not in (route.answer or ("",)):
                yield f"{kind} is none of {route.answer}"
            elif kind == _JSON:
                yield from _wrong(_answer(content), kind, _JSON, content)
        case 499:
            # The client went away: nobody reads it, and no table promises it.
            return
        case status:
            yield from _wrong(_PROBLEM, kind, MEDIA_TYPE, content)
            title = json.loads(content)["title"]
            if title not in route.problems or status_of(title) != status:
                yield f"{title} is none of its problems"


_PROBLEM = jsonschema.Draft202012Validator(records.PROBLEM)


def _answer(content: bytes) -> Any:
    """Return the schema of a stored answer, by the mark that it begins with."""
    record = json.loads(content)
    for mark, version, schema in _MARKED:
        if isinstance(record, dict) and mark in record and version in (None, record[mark]):
            return schema
    return _OTHER


_MARKED = [
    (
        schema["required"][0],
        schema["properties"][schema["required"][0]].get("const"),
        jsonschema.Draft202012Validator(schema),
    )
    for schema in ANSWER["anyOf"][:-1]
]
_OTHER = jsonschema.Draft202012Validator(OTHER)


@functools.cache
def _schema(name: str) -> Any:
    return jsonschema.Draft202012Validator(BY_NAME[name].answer)


def _wrong(schema: Any, kind: str, wanted: str, content: bytes) -> Iterator[str]:
    if kind != wanted:
        yield f"{kind} is not {wanted}"
    else:
        yield from (f"{error.json_path}: {error.message}"[:500] for error in schema.iter_errors(json.loads(content)))
