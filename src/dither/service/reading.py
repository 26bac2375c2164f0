"""What comes in: a request is refused as early as it can be, for what it is, before anything is done for it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from starlette.requests import Request

from dither.errors import InvalidParameter
from dither.service.problems import ELSEWHERE, Problem, Refused
from dither.service.routes import Route

LONGEST_HEADERS: Final = 2**14
NO_PATH: Final = Problem(404, "NotFound", "there is no such path; /v1/openapi.json lists all there are")


#: What a request has once at most: of two, one reader would take the first and another the last.
_ONCE: Final = frozenset(
    name.encode()
    for name in ("authorization", "content-encoding", "content-type", "idempotency-key", "origin", "sec-fetch-site")
)


def check_headers(request: Request) -> None:
    """Refuse headers that are longer than anybody needs, and those that are there twice and may be once."""
    single = [name for name, _ in request.headers.raw if name in _ONCE]
    if len(single) > len(set(single)):
        twice = next(name for name in single if single.count(name) > 1).decode()
        raise InvalidParameter("header", twice, "sent once: two values would be ambiguous")
    if sum(len(name) + len(value) for name, value in request.headers.raw) > LONGEST_HEADERS:
        raise Refused(Problem(431, "HeadersTooLarge", f"headers of at most {LONGEST_HEADERS} bytes together"))


def check_names(request: Request) -> None:
    """Refuse names in a path that nothing can have: not every database takes them as a question."""
    if any("\0" in str(name) for name in request.path_params.values()):
        raise Refused(NO_PATH)


def check_query(route: Route, request: Request) -> None:
    """Refuse parameters that the table does not have, and any that is there twice: nobody would know which counts."""
    if route.is_open or not request.scope["query_string"]:
        return
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in route.query or times > 1:
            known = ", ".join(route.query)
            rule = (
                f"in the address once each, of these: {known}" if known else "absent: this address takes no parameters"
            )
            raise InvalidParameter("parameter", name[:80], rule)
    for name, value in request.query_params.items():
        pattern = route.query[name].get("pattern")
        # As ECMA has it: the end of the text is the end, and not before a last line break.
        if pattern is not None and not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value):
            raise InvalidParameter(name, value[:80], f"a string that matches {pattern}")


def check_site(request: Request) -> None:
    """Refuse what a page of another site makes a browser send; programs send neither header."""
    if request.method in ("GET", "HEAD"):
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_ours = site in ("same-origin", "none")
    else:
        is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if not is_ours:
        raise Refused(ELSEWHERE)


async def read_body(request: Request, largest: int) -> bytes:
    """Return the body, or refuse it; encoded ones are not unpacked."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused(Problem(415, "UnsupportedEncoding", "a body without content-encoding"))
    said = request.headers.get("content-length", "0")
    if not said.isdecimal() or int(said[:20]) > largest:
        raise Refused(Problem(413, "TooLarge", f"a body of at most {largest} bytes"))
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise Refused(Problem(413, "TooLarge", f"a body of at most {largest} bytes"))
        parts.append(part)
    return b"".join(parts)
