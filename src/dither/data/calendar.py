"""Arithmetic of dates and timestamps in plain Python: NULL outside the years 1 to 9999, never an error."""

from __future__ import annotations

import calendar
import datetime
from typing import Final, TypeVar

_Moment = TypeVar("_Moment", bound=datetime.date)
_START: Final = datetime.datetime(1970, 1, 1)
_STEP: Final = datetime.timedelta(microseconds=1)
#: Months are counted from the year 0, whose months are not to be had.
_FIRST_MONTH, _LAST_MONTH = 12, 12 * 10_000 - 1
_FIRST: Final = (datetime.datetime.min - _START) // _STEP
_LAST: Final = (datetime.datetime.max - _START) // _STEP


def truncate_date(moment: datetime.date, unit: str) -> datetime.date:
    """Return the first day of the year, quarter, month, week or day in which a moment lies.

    >>> truncate_date(datetime.date(2024, 3, 3), "week")
    datetime.date(2024, 2, 26)
    """
    day = datetime.date(moment.year, moment.month, moment.day)
    if unit == "week":
        return day - datetime.timedelta(days=day.weekday())
    if unit == "day":
        return day
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1, "month": day.month}[unit]
    return datetime.date(day.year, month, 1)


def truncate_time(moment: datetime.datetime, unit: str) -> datetime.datetime:
    """Return the beginning of the hour, minute or second in which a moment lies.

    >>> truncate_time(datetime.datetime(2024, 3, 3, 4, 5, 6, 7), "minute")
    datetime.datetime(2024, 3, 3, 4, 5)
    """
    second = moment.replace(microsecond=0)
    if unit == "second":
        return second
    return second.replace(second=0) if unit == "minute" else second.replace(minute=0, second=0)


def add_days(day: datetime.date, days: int) -> datetime.date | None:
    """Return the date that number of days later."""
    ordinal = day.toordinal() + days
    return datetime.date.fromordinal(ordinal) if 1 <= ordinal <= datetime.date.max.toordinal() else None


def add_months(moment: _Moment, months: int) -> _Moment | None:
    """Return the moment that number of months later: the same day and time, or the last day of a shorter month.

    >>> add_months(datetime.date(2024, 1, 31), 1), add_months(datetime.date(1, 1, 1), -1)
    (datetime.date(2024, 2, 29), None)
    """
    total = moment.year * 12 + moment.month - 1 + months
    if not _FIRST_MONTH <= total <= _LAST_MONTH:
        return None
    year, month = total // 12, total % 12 + 1
    return moment.replace(year=year, month=month, day=min(moment.day, calendar.monthrange(year, month)[1]))


def microseconds(moment: datetime.datetime) -> int:
    """Return the number of microseconds since 1970-01-01 00:00:00.

    >>> microseconds(datetime.datetime(1969, 12, 31, 23, 59, 59))
    -1000000
    """
    return (moment - _START) // _STEP


def add_seconds(moment: datetime.datetime, seconds: int) -> datetime.datetime | None:
    """Return the moment that number of seconds later.

    >>> add_seconds(datetime.datetime(2024, 2, 28, 23, 0), 3600), add_seconds(datetime.datetime.max, 2**62)
    (datetime.datetime(2024, 2, 29, 0, 0), None)
    """
    total = microseconds(moment) + seconds * 1_000_000
    return _START + total * _STEP if _FIRST <= total <= _LAST else None
