"""What every query on a stream shares: whose rows arrive, how many ticks there are, and what must be known to read it.

Nothing here draws. What is released of the ticks, and why that is private, is the affair of each kind.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.data.ticks import MOST_TICKS, Ticks
from dither.errors import InvalidParameter
from dither.exact import Maybe, Of, Whole, whole
from dither.mechanisms.core.mechanism import Interactive
from dither.privacy import Unit
from dither.publish.queries.measures import Measured
from dither.publish.queries.query import Query
from dither.publish.queries.result import QueryResult
from dither.publish.streams.arrivals import Arrivals
from dither.publish.streams.moved import Moved


@dataclass(frozen=True, kw_only=True)
class StreamAnswer(Interactive[None, Any]):
    """A query on a stream that is answered at the end of every tick, from the exact numbers of that tick.

    Args:
        query: what is asked.
        steps: how many ticks there are; public. None where no end is known.

    """

    no_error_because: ClassVar[str] = "every number has its own error: see the result of the stream"
    no_interval_because: ClassVar[str] = "every number has its own interval: see the result of the stream"

    query: Of[Query] = Of(Query, rule="a Query")
    steps: Maybe = Maybe(Whole(least=1, most=MOST_TICKS))

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Whether numbers are those of all ticks so far, and people are counted at their first tick alone."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """What is released of the numbers, in words."""

    @property
    @abstractmethod
    def answer_shape(self) -> tuple[int, int]:
        """The shape of what is stored of a tick: a table of integers."""

    @abstractmethod
    def presented(self, noisy: NDArray[np.int64], first: int, confidence: Fraction, receipt: str) -> QueryResult:
        """Return released ticks as a table.

        Args:
            noisy: what was stored, a table for each tick.
            first: the number of the first tick.
            confidence: the level of the intervals, each for one number.
            receipt: where the charge is written down.

        """

    def errors_at(self, tick: int) -> dict[str, int]:
        """Return how far numbers err at most at a tick, 95 times of 100, by name: public facts, where they are some."""
        return {}

    @cached_property
    def arrivals(self) -> Arrivals:
        """What is measured of the rows."""
        return Arrivals(self.query)

    @property
    def cells(self) -> int:
        """The number of groups."""
        return len(self.arrivals.groups)

    @property
    def most_ticks(self) -> int:
        """How many ticks can be answered: as many as were paid for; without a known end, more than will come."""
        return int(self.steps or MOST_TICKS)

    @cached_property
    def moved(self) -> tuple[Moved, ...]:
        """How far one unit moves each thing that is measured."""
        dataset = self.query.dataset
        return tuple(
            moved_by_unit(
                one,
                self.arrivals.ticks,
                is_running=self.is_running,
                cells=self.cells,
                is_replaced=dataset.is_replaced,
            )
            for one in self.arrivals.measured
        )

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.query.dataset.unit

    @property
    def words(self) -> str:
        """What is released, in one line for people."""
        names = ", ".join(one.name for one in self.query.aggregates)
        groups = "" if not self.query.keys else f" by {', '.join(key.name for key in self.query.keys)}"
        return f"{names} of {self.arrivals.table.name}{groups}, {self.shown}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the answers."""
        ticks = self.arrivals.ticks
        found = ["moments are read as UTC; rows that came after their tick was released are not in it"]
        if ticks.rows is not None:
            apart = "" if ticks.gap == 1 else f", at least {ticks.gap} ticks from one to the next"
            rows = "row" if ticks.rows == 1 else "rows"
            found.append(
                f"of one person at most {ticks.rows} {rows} a tick count, in at most {ticks.ticks} ticks{apart}"
            )
        return tuple(found)

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's first aggregations; it may refuse them before anything is charged."""
        return (self.arrivals.asked(0, 1),)

    def check_public(self, data: Engine) -> None:
        """Reject, by public rows alone, what cannot be released: nothing."""


def moved_by_unit(measured: Measured, ticks: Ticks, *, is_running: bool, cells: int, is_replaced: bool) -> Moved:
    """Return how far one unit moves one measure.

    Args:
        measured: what is measured, with the range of one row's contribution.
        ticks: how rows arrive, and how much of one person counts.
        is_running: whether people are counted at their first tick alone.
        cells: the number of groups.
        is_replaced: whether units are replaced, and not added or removed.

    """
    largest, units = max(abs(measured.least), abs(measured.most)), 2 if is_replaced else 1
    if ticks.rows is None or ticks.ticks is None:
        return Moved(largest, 1, 1, units)
    if measured.counts_units:
        return Moved(min(ticks.rows, cells), 1 if is_running else ticks.ticks, ticks.gap, units)
    return Moved(ticks.rows * largest, ticks.ticks, ticks.gap, units)


def steps_of(ticks: Ticks, horizon: int | None) -> int | None:
    """Return how many ticks a stream has, as it is said or as the schema declares; None where no end is known."""
    if horizon is None:
        return ticks.horizon
    most = MOST_TICKS if ticks.horizon is None else ticks.horizon
    return whole("horizon", horizon, least=1, most=most)


def only_counts(query: Query, released: str) -> None:
    """Refuse all but one count of rows over groups, where the groups themselves are what is released."""
    functions = [one.function for one in query.aggregates]
    if functions != ["count"] or not query.keys:
        rule = f"one COUNT(*) with GROUP BY, for {released!r}"
        raise InvalidParameter("query", ", ".join(functions), rule)
