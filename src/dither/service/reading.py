"""What comes in: a request is refused as early as it can be, for what it is, before anything is done for it.

Nothing in it is called, imported or opened.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final, NoReturn

from starlette.requests import Request

from dither.errors import DitherError, InvalidParameter
from dither.service.problems import ELSEWHERE, Problem, Refused
from dither.service.routes import Route

LONGEST_HEADERS: Final = 2**14
DEEPEST: Final = 200
NO_PATH: Final = Problem(404, "NotFound", "there is no such path; /v1/openapi.json lists all there are")


def check_headers(request: Request) -> None:
    """Refuse headers that are longer than anybody needs."""
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
            rule = f"in the address once each, of these: {known}" if known else "left out: this address takes none"
            raise InvalidParameter("parameter", name[:80], rule)


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


def read_object(content: bytes) -> dict[str, Any]:
    """Return the object that a body is, or refuse it; nothing in it is called, imported or opened."""
    if _nests(content):
        raise InvalidParameter("body", "a deep tree", f"one object in JSON, at most {DEEPEST} levels deep")
    try:
        # One encoding, and no half characters: what no text can hold is not taken up, nor told back.
        text = content.decode("utf-8")
        body = json.loads(text, object_pairs_hook=_pairs, parse_float=_no_float, parse_constant=_no_float)
        if "\\" in text:
            json.dumps(body, ensure_ascii=False).encode()
    except DitherError:
        raise
    except (ValueError, RecursionError):
        raise InvalidParameter("body", "something else", "one object in JSON, in UTF-8") from None
    if not isinstance(body, dict):
        raise InvalidParameter("body", type(body).__name__, "one object in JSON")
    return body


def _nests(content: bytes) -> bool:
    """Whether there may be more levels than anybody needs: brackets in texts count, where there are very many."""
    if content.count(b"[") + content.count(b"{") <= DEEPEST:
        return False
    depth, is_text, is_quoted = 0, False, False
    for sign in content:
        if is_quoted:
            is_quoted = False
        elif is_text:
            is_quoted, is_text = sign == 0x5C, sign != 0x22
        elif sign == 0x22:
            is_text = True
        elif sign in b"[{":
            depth += 1
            if depth > DEEPEST:
                return True
        elif sign in b"]}":
            depth -= 1
    return False


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidParameter("body", "a repeated key", "JSON in which every key of an object occurs once")
    return found


def _no_float(text: str) -> NoReturn:
    raise InvalidParameter("body", text[:40], 'without numbers that have a fraction: write {"number": "1/10"}')
