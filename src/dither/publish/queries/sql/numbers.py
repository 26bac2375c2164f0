"""Numbers in a query: read by one rule, with limits, so that none takes long and none raises.

The digits and the exponent of a number are capped before it is read (by ``dither.exact``): ``1e999999999`` would fill
the memory, and Python itself refuses to read thousands of digits.
"""

from __future__ import annotations

import re
from typing import Final

from dither.data.expressions import LARGEST_INTEGER
from dither.errors import InvalidParameter
from dither.exact import exact

#: What a number in a query must be, for messages.
RULE: Final = "a number within a double's range, of at most 400 digits before and after the point"
_WHOLE: Final = re.compile(r"[0-9]{1,400}")


def number(text: str) -> int | float | None:
    """Return the integer or nearest double that a text denotes; None if it is not a number within the limits.

    >>> number("12"), number("0.5"), number("1e999999999"), number("9" * 4500)
    (12, 0.5, None, None)
    """
    if _WHOLE.fullmatch(text) and int(text) <= LARGEST_INTEGER:
        return int(text)
    try:
        return float(exact("number", text))
    except (InvalidParameter, OverflowError):
        return None


def whole_number(text: str, most: int) -> int | None:
    """Return the integer from 0 to ``most`` that a text of plain digits denotes, else None.

    >>> whole_number("007", 10), whole_number("11", 10), whole_number("9" * 4500, 10)
    (7, None, None)
    """
    found = int(text) if _WHOLE.fullmatch(text) else None
    return found if found is not None and found <= most else None
