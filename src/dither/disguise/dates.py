"""Dates as cells have them: days on a scale, and texts that put the day or the month first.

A date of a frame, or a text such as 2021-04-03 or 2021-04-03 10:30, lies on a scale of days, so that classes are cut
between days and published as spans. A text such as 03/04/2021 says one of two days; which one is declared, never
guessed.
"""

from __future__ import annotations

import datetime
import re
from typing import Any, Final, Literal, get_args

from dither.errors import InvalidParameter

#: How local dates are written: which of the first two numbers is the day.
LocalDates = Literal["day-first", "month-first"]
LOCAL_DATES: Final = get_args(LocalDates)
_STANDARD: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)
_LOCAL: Final = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})", re.ASCII)
_SHORT: Final = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{2}", re.ASCII)


def day_of(value: Any) -> float | None:
    """Return a date, or a text that is one, in days; None for anything else.

    >>> day_of("2021-04-03") == day_of(datetime.date(2021, 4, 3)), day_of("03/04/2021"), day_of("2021-02-30")
    (True, None, None)

    """
    if isinstance(value, str):
        if _STANDARD.fullmatch(value) is None:
            return None
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime.datetime):
        at = value if value.tzinfo is None else value.astimezone(datetime.UTC)
        seconds: float = at.hour * 3600 + at.minute * 60 + at.second + at.microsecond / 1e6
        return float(at.toordinal()) + seconds / 86400
    return float(value.toordinal()) if isinstance(value, datetime.date) else None


def written(value: Any) -> str:
    """Return a value as text; a moment at midnight is a date.

    >>> written(datetime.datetime(2021, 4, 3)), written(7)
    ('2021-04-03', '7')

    """
    if isinstance(value, datetime.datetime) and value.time() == datetime.time() and value.tzinfo is None:
        return value.date().isoformat()
    return str(value)


def is_local(value: Any) -> bool:
    """Return whether a value is a text of the form 03/04/2021, with slashes, points or hyphens."""
    return isinstance(value, str) and _LOCAL.fullmatch(value.strip()) is not None


def is_short(value: Any) -> bool:
    """Return whether a value is a text of the form 03/04/21: its year is never guessed."""
    return isinstance(value, str) and _SHORT.fullmatch(value.strip()) is not None


def standard(text: str, how: LocalDates) -> str:
    """Return a local date as year, month and day.

    >>> standard("3/4/2021", "day-first"), standard("3/4/2021", "month-first")
    ('2021-04-03', '2021-03-04')

    """
    if how not in LOCAL_DATES:
        raise InvalidParameter("dates", how, f"one of {', '.join(LOCAL_DATES)}")
    found = _LOCAL.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        one, other, year = int(found[1]), int(found[3]), int(found[4])
        day, month = (one, other) if how == "day-first" else (other, one)
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        raise InvalidParameter("dates", text, f"such as 03/04/2021, {how}") from None
