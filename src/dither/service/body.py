"""The body of a request: one object in JSON; whatever else it is, is refused at little cost.

Nothing in it is called, imported or opened. What it costs to refuse is bounded before it is parsed: by its bytes, by
how deep it is, and by how many lists and objects it has, since making an empty list costs as much as reading a long
text. A number with a fraction or an exponent is read as a double, which means its shortest decimal wherever a figure is
exact: ``0.1`` is one tenth. What no double holds is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import numpy as np

from dither.errors import DitherError, InvalidParameter

DEEPEST: Final = 200
#: How many lists and objects a body may have.
MOST: Final = 2**15
#: How many digits a whole number may have; more are written as a text.
LONGEST_NUMBER: Final = 400
_LONG: Final = re.compile(rb"[0-9]{%d}" % (LONGEST_NUMBER + 1))
_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def read_object(content: bytes) -> dict[str, Any]:
    """Return the object that a body is, or refuse it.

    Args:
        content: of the request.

    """
    _check_shape(content)
    try:
        # One encoding, and no half characters: what no text can hold is not taken up, nor told back.
        text = content.decode("utf-8")
        # Asked of each number only where one may be too long.
        whole = _whole if _LONG.search(content) else None
        body = json.loads(
            text, object_pairs_hook=_pairs, parse_int=whole, parse_float=_real, parse_constant=_no_constant
        )
        if "\\" in text:
            json.dumps(body, ensure_ascii=False).encode()
    except DitherError:
        raise
    except (ValueError, RecursionError):
        raise InvalidParameter("body", "something else", "one object in JSON, in UTF-8") from None
    if not isinstance(body, dict):
        raise InvalidParameter("body", type(body).__name__, "one object in JSON")
    return body


def check_fields(body: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a body with fields that nobody knows."""
    unknown = sorted(set(body) - set(known))
    if unknown:
        raise InvalidParameter("body", unknown[0][:80], f"an object of {', '.join(known)}")


def _check_shape(content: bytes) -> None:
    """Refuse more levels, or more lists and objects, than anybody needs; brackets in texts are none."""
    if content.count(b"[") + content.count(b"{") <= DEEPEST:
        return
    signs = np.frombuffer(_TEXT.sub(b"", content), dtype=np.uint8)
    opens, closes = ((signs == ord(one)) | (signs == ord(other)) for one, other in ("[{", "]}"))
    if opens.any() and int(np.max(np.cumsum(opens.astype(np.int32) - closes))) > DEEPEST:
        raise InvalidParameter("body", "a deep tree", f"one object in JSON, at most {DEEPEST} levels deep")
    if (many := int(np.count_nonzero(opens))) > MOST:
        raise InvalidParameter("body", f"{many} lists and objects", f"one object in JSON with at most {MOST} of them")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidParameter("body", "a repeated key", "JSON in which every key of an object occurs once")
    return found


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        rule = f'without integers of more than {LONGEST_NUMBER} digits: write {{"number": "..."}}'
        raise InvalidParameter("body", f"a number of {len(text)} digits that begins {text[:20]}", rule)
    return int(text)


def _real(text: str) -> float:
    """Return the double that a number is, where it is one: not infinite, and not 0 for what is almost so."""
    found = float(text) if len(text) <= LONGEST_NUMBER else math.inf
    is_lost = found == 0 and any(digit in "123456789" for digit in text.lower().partition("e")[0])
    if is_lost or not math.isfinite(found):
        raise InvalidParameter(
            "body", text[:40], 'made of numbers that a double holds: write others {"number": "1/10"}'
        )
    return found


def _no_constant(text: str) -> NoReturn:
    raise InvalidParameter("body", text[:40], "made of finite numbers: NaN and infinities are not allowed")
