"""When journeys begin: equal public parts of the day, or of the declared bounds of the column of times.

The parts follow from the schema and a declared number alone. A time in none of them begins in no part: it is counted in
no part, and its journey counts as before.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Kind
from dither.data.columns import Values
from dither.data.schema import Column
from dither.errors import InvalidParameter
from dither.exact import whole

#: Parts of the day, or of the bounds, at most: the minutes of a day.
MOST_PARTS: Final = 1440
_DAY: Final = 86_400_000_000
_EPOCH: Final = datetime.date(1970, 1, 1)
#: Numbers beyond are no time: their differences would not be exact in doubles.
_FARTHEST: Final = 2.0**62


@dataclass(frozen=True)
class StartTimes:
    """Equal parts of time.

    Args:
        column: of times.
        parts: how many.

    >>> StartTimes(Column("time", Kind.TIMESTAMP), 4).labels
    ['00:00', '06:00', '12:00', '18:00']
    >>> StartTimes(Column("minute", Kind.INTEGER, lower=0, upper=60), 3).of([0, 19, 20, 60, 61, None], 6).tolist()
    [0, 0, 1, 2, -1, -1]

    """

    column: Column
    parts: int

    def __post_init__(self) -> None:
        """Reject a column of which no public ends are known."""
        whole("times", self.parts, least=2, most=MOST_PARTS)
        if self.column.kind is Kind.TIMESTAMP:
            if 1440 % self.parts:
                raise InvalidParameter(
                    "times", self.parts, "a number of equal parts of the day in whole minutes: 24, 96"
                )
        elif self.column.lower is None or not self._ends[0] < self._ends[1]:
            rule = (
                f"not allowed unless {self.column.name} is a timestamp or has two bounds in the schema: parts are "
                "public"
            )
            raise InvalidParameter("times", self.parts, rule)

    @property
    def _ends(self) -> tuple[float, float]:
        return _number(self.column.lower), _number(self.column.upper)

    def of(self, moments: Values, length: int) -> NDArray[np.int64]:
        """Return the part in which each moment lies, -1 for none: a function of that moment.

        Args:
            moments: microseconds since 1970 for timestamps, days since then for dates, else the numbers themselves.
            length: how many there are; all of them are NULL where there is no column.

        """
        found = np.full(length, -1, dtype=np.int64)
        if moments is None:
            return found
        if isinstance(moments, np.ndarray) and moments.dtype.kind in "iuf":
            is_known = ~np.ma.getmaskarray(moments) & (np.abs(np.ma.getdata(moments).astype(np.float64)) < _FARTHEST)
            values = np.where(is_known, np.ma.getdata(moments), 0)
        else:
            listed = moments if isinstance(moments, list) else moments.tolist()
            is_known = np.array([type(one) in (int, float) and abs(one) < _FARTHEST for one in listed], dtype=np.bool_)
            kind = np.int64 if self.column.kind is Kind.TIMESTAMP else np.float64
            values = np.array([one if known else 0 for one, known in zip(listed, is_known, strict=True)], dtype=kind)
        if self.column.kind is Kind.TIMESTAMP:
            part = (values.astype(np.int64) % _DAY) * self.parts // _DAY
            return np.where(is_known, part, found)
        low, high = self._ends
        numbers = np.asarray(values, dtype=np.float64)
        is_known = is_known & (numbers >= low) & (numbers <= high)
        share = np.where(is_known, numbers - low, 0.0) / (high - low)
        return np.where(is_known, np.minimum(np.floor(share * self.parts), self.parts - 1), -1).astype(np.int64)

    @property
    def labels(self) -> list[Any]:
        """Where each part begins: a time of the day, a date, or a number."""
        if self.column.kind is Kind.TIMESTAMP:
            minutes = [part * MOST_PARTS // self.parts for part in range(self.parts)]
            return [f"{one // 60:02d}:{one % 60:02d}" for one in minutes]
        low, high = self._ends
        found = [low + (high - low) * part / self.parts for part in range(self.parts)]
        if self.column.kind is Kind.DATE:
            return [str(_EPOCH + datetime.timedelta(days=math.ceil(one))) for one in found]
        return found


def _number(bound: Any) -> float:
    return float((bound - _EPOCH).days) if isinstance(bound, datetime.date) else float(bound)
