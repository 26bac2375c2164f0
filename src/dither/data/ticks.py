"""Ticks: how the rows of a table arrive over time, and how much of one person counts in them.

A stream is a table whose rows have a moment. Time is cut into *ticks* of one fixed length from a public start; what is
released about a tick is final, whatever arrives afterwards. Ticks are instants: a moment is read as UTC, and a day is
always 24 hours, so that clocks put forward and back do not exist here.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import numpy as np
from numpy.typing import NDArray

from dither.data.expressions import Kind, Value
from dither.data.kinds import Declaration, Key, declares
from dither.errors import InvalidParameter
from dither.exact import typed, whole

if TYPE_CHECKING:
    from dither.data.schema import DataSet, Table
    from dither.data.yaml_tree import Node

#: How many ticks a stream may have, and how long one may be: a leap year of seconds, and ten thousand days.
MOST_TICKS: Final = 2**25
_LONGEST: Final = 10_000 * 86_400
_LENGTHS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_WORDS: Final = re.compile(r"(\d{1,9})? ?(second|minute|hour|day|week)s?")
_LENGTH: Final = "a fixed length of time, such as 1 hour, 15 minutes or 7 days"
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
#: What becomes of a row whose tick was released before it came.
LATE: Final = ("drop", "next")


def _seconds(node: Node, _: object) -> int:
    words = node.text(_LENGTH)
    found = seconds_of(words)
    if found is None:
        raise node.refuse(words, _LENGTH)
    return found


@declares
@dataclass(frozen=True)
@typed
class Ticks(Declaration):
    """How the rows of a table arrive.

    Args:
        time: the column that holds the moment of a row, a timestamp or a date. A row without one does not exist.
        seconds: the length of a tick.
        start: the moment at which the first tick begins. Earlier rows do not count.
        horizon: the number of ticks; None where it is not known.
        watermark: how many seconds after its end a tick may be released, so that what comes late still counts.
        late: "drop" where a row does not count if its tick was released before it came; "next" where it counts in the
            first tick that is not yet released. Only rows that are fed can be late in that sense: a table that is read
            tick by tick is never looked at behind the last one.
        rows: how many rows of one person count in a tick: the first by time.
        ticks: in how many ticks one person counts: the first ones.
        gap: the least number of ticks from one tick in which a person counts to the next such tick.

    >>> hourly = Ticks("at", 3600, datetime.datetime(2025, 1, 1), 8760)
    >>> hourly.begin(24), hourly.number(datetime.datetime(2025, 1, 2, 0, 59))
    (datetime.datetime(2025, 1, 2, 0, 0), 24)

    """

    time: str
    seconds: int
    start: Value
    horizon: int | None = None
    watermark: int = 0
    late: str = "drop"
    rows: int | None = None
    ticks: int | None = None
    gap: int = 1

    kind: ClassVar[str] = "stream"
    called: ClassVar[str] = "how rows arrive"
    keys: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"time": "time", "tick": "seconds", "start": "start", "horizon": "horizon", "watermark": "watermark"}
        | {"late": "late", "rows per tick": "rows", "ticks per person": "ticks", "ticks between": "gap"}
    )
    written: ClassVar[Mapping[str, Key]] = MappingProxyType(
        {
            **dict.fromkeys(("seconds", "watermark"), Key(_seconds, lambda length, _: words_of(length))),
            "start": Key(lambda node, read: read(node, Kind.TIMESTAMP), lambda start, _: f'"{start}"'),
        }
    )

    def __post_init__(self) -> None:
        """Refuse what is not a stream."""
        whole("tick", self.seconds, least=1, most=_LONGEST)
        if not isinstance(self.start, datetime.datetime) or self.start.tzinfo is not None:
            raise InvalidParameter("start", self.start, "a moment without a zone, which is read as UTC")
        if self.horizon is not None:
            whole("horizon", self.horizon, least=1, most=MOST_TICKS)
            if self.start.year + self.horizon * self.seconds // (366 * 86_400) >= 9998:
                raise InvalidParameter(
                    "horizon", self.horizon, "small enough that the last tick ends before the year 9999"
                )
        whole("watermark", self.watermark, least=0, most=_LONGEST)
        if self.late not in LATE:
            raise InvalidParameter("late", self.late, f"one of {', '.join(LATE)}")
        for name, limit in (("rows per tick", self.rows), ("ticks per person", self.ticks)):
            if limit is not None:
                whole(name, limit, least=1, most=MOST_TICKS)
        whole("ticks between", self.gap, least=1, most=MOST_TICKS)
        if (self.rows is None) != (self.ticks is None) or (self.ticks is None and self.gap != 1):
            given = {"rows per tick": self.rows, "ticks per person": self.ticks, "ticks between": self.gap}
            rule = "both rows per tick and ticks per person, for people; none of them where rows are protected"
            raise InvalidParameter("limits of the stream", given, rule)

    def check(self, table: Table) -> None:
        """Refuse a stream without a time of its rows, and limits that depend on rows which are yet to come."""
        time = next((column for column in table.columns if column.name == self.time), None)
        if table.is_public or time is None or time.kind not in (Kind.DATE, Kind.TIMESTAMP):
            rule = "a date or a timestamp of a private table"
            raise InvalidParameter(f"stream of {table.name}", self.time, rule)
        if table.rows_per_person is not None:
            rule = "not allowed for a stream: set rows per tick and ticks per person instead"
            raise InvalidParameter(f"rows per person of {table.name}", table.rows_per_person, rule)

    def check_in(self, table: Table, dataset: DataSet) -> None:
        """Refuse limits of people where rows are protected, and people without limits."""
        if (self.ticks is not None) != dataset.protects_persons:
            rule = "with rows per tick and ticks per person exactly when the unit is a person"
            raise InvalidParameter(f"stream of {table.name}", self.time, rule)

    def limits(self, table: Table) -> dict[str, Any]:
        """Return how much of one person counts."""
        limits = {"rows_per_tick": self.rows, "ticks_per_person": self.ticks, "ticks_between": self.gap}
        return {f"ticks_of_{table.name}": {**limits, "tick_seconds": self.seconds, "ticks": self.horizon}}

    def first_command(self, dataset: DataSet, called: str) -> str:
        """Return how a query is opened."""
        return f"dither stream open {called} NAME QUERY"

    @property
    def length(self) -> datetime.timedelta:
        """The length of a tick."""
        return datetime.timedelta(seconds=self.seconds)

    @property
    def first(self) -> datetime.datetime:
        """The moment at which the first tick begins."""
        # As checked when the record was made.
        return cast("datetime.datetime", self.start)

    def begin(self, tick: int) -> datetime.datetime:
        """Return the moment at which a tick begins, counted from 0."""
        return self.first + self.length * tick

    def number(self, moment: datetime.datetime) -> int:
        """Return the tick in which a moment lies; negative before the start."""
        return (moment - self.first) // self.length

    def closed(self, now: datetime.datetime) -> int:
        """Return how many ticks may be released at a moment: those that ended at least a watermark ago."""
        # Watermark and moment are both lengths of time since the start: a moment may be as early as there is one.
        ended = max((now - self.first - datetime.timedelta(seconds=self.watermark)) // self.length, 0)
        return ended if self.horizon is None else min(ended, self.horizon)

    def numbers(self, moments: NDArray[Any]) -> NDArray[np.int64]:
        """Return the ticks of many moments, an array of ``datetime64[us]``."""
        since = (moments.astype("datetime64[us]") - np.datetime64(self.first, "us")).astype(np.int64)
        return since // (self.length // _MICROSECOND)


def seconds_of(words: str) -> int | None:
    """Return a fixed length of time in seconds, or None where the words are not one.

    >>> seconds_of("1 hour"), seconds_of("15 minutes"), seconds_of("day"), seconds_of("1 month")
    (3600, 900, 86400, None)
    """
    found = _WORDS.fullmatch(words.strip().lower())
    return None if found is None else int(found[1] or 1) * _LENGTHS[found[2]]


def words_of(seconds: int) -> str:
    """Return a length of time in the largest unit that fits.

    >>> words_of(3600), words_of(900), words_of(90), words_of(0)
    ('1 hour', '15 minutes', '90 seconds', '0 seconds')
    """
    units = [unit for unit, length in _LENGTHS.items() if seconds and seconds % length == 0]
    unit = units[-1] if units else "second"
    many = seconds // _LENGTHS[unit]
    return f"{many} {unit}" if many == 1 else f"{many} {unit}s"
