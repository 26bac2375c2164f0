"""Timestamps and dates of Arrow columns in the units that Spark has, without an overflow at either end.

Arrow's own casts multiply and divide as they are: near the ends of 64 bits they wrap around to a moment that was never
written, and before 1970 they round upwards. Here a moment belongs to the microsecond and the day in which it lies, and
what is outside the years 1 to 9999 is NULL.
"""

from __future__ import annotations

from typing import Any, Final

#: Seconds from 1970-01-01 to the first moment of the year 1, and to that of the year 10,000.
_FIRST: Final = -62_135_596_800
_BEYOND: Final = 253_402_300_800
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY: Final = 86_400


def timestamps(column: Any) -> Any:
    """Return a column of timestamps of any unit in microseconds, those with a zone in UTC."""
    import pyarrow
    import pyarrow.compute

    kind = column.type
    per_second = _PER_SECOND[kind.unit]
    whole = _within(column.cast(pyarrow.int64()), _FIRST * per_second, _BEYOND * per_second)
    if per_second > 10**6:
        whole = _floor(whole, per_second // 10**6)
    else:
        whole = pyarrow.compute.multiply(whole, 10**6 // per_second)
    return whole.cast(pyarrow.timestamp("us"))


def dates(column: Any) -> Any:
    """Return a column of dates in milliseconds as one in days."""
    import pyarrow

    milliseconds = _within(column.cast(pyarrow.int64()), _FIRST * 1000, _BEYOND * 1000)
    return _floor(milliseconds, 1000 * _DAY).cast(pyarrow.int32()).cast(pyarrow.date32())


def _within(whole: Any, first: int, beyond: int) -> Any:
    """Return integers, NULL outside [first, beyond); limits that 64 bits do not hold exclude nothing."""
    import pyarrow.compute as compute

    for limit, test in ((first, compute.greater_equal), (beyond, compute.less)):
        if -(2**63) <= limit < 2**63:
            whole = compute.if_else(test(whole, limit), whole, None)
    return whole


def _floor(whole: Any, by: int) -> Any:
    """Return integers divided towards minus infinity; Arrow divides towards zero."""
    import pyarrow
    import pyarrow.compute as compute

    quotient = compute.divide(whole, by)
    is_above = compute.less(compute.subtract(whole, compute.multiply(quotient, by)), 0)
    return compute.subtract(quotient, is_above.cast(pyarrow.int64()))
