"""A query on a stream: sums and counts of every public group, released at the end of every tick.

For a dashboard that shows the numbers so far, or those of each hour, for a year and at one price. Each thing that is
measured has a counter of its own over all groups; the loss is divided among them. Cost: what the counters cost; memory
for the groups, not for the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation, Name
from dither.data.engines.protocol import Engine
from dither.data.ticks import MOST_TICKS, Ticks
from dither.errors import InvalidParameter
from dither.exact import Number, Of, OneOf, TupleOf, Whole, whole
from dither.mechanisms.core.mechanism import Interactive, InteractivePrimitive, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.privacy import InOrder, Loss, Plan, Unit, Use
from dither.publish.queries.measures import Measured
from dither.publish.queries.query import Query
from dither.publish.queries.split import check_shares
from dither.publish.streams.arrivals import Arrivals
from dither.publish.streams.moved import Moved, counter_within, reach_at, stability_of

#: Everything since the start, or each tick by itself.
RUNNING: Final = "running"
TICK: Final = "tick"
#: The most groups of a stream.
_MOST_CELLS: Final = 2**20


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


def _examples() -> Iterator[Example]:
    from dither.publish.streams.examples import ticked_examples

    return ticked_examples()


@register(
    examples=_examples,
    source="Differential Privacy under Continual Observation (Dwork, Naor, Pitassi, Rothblum 2010); Private and "
    "Continual Release of Statistics (Chan, Shi, Song 2011)",
)
@dataclass(frozen=True, kw_only=True)
class TickedAnswer(Interactive[None, "TickedConversation"]):
    """Answer a query on a stream at the end of every tick: its sums and counts so far, or those of the tick.

    Guarantee: streams of rows one unit apart (``query.dataset.unit``) lose what the counters lose at the distance by
    which one unit moves what each of them is fed, added up; also if rows are chosen by who has seen earlier answers.

    Args:
        query: what is asked.
        released: "running" for everything since the start, "tick" for each tick by itself.
        steps: how many ticks there are; public.
        counters: one for each thing that is measured.

    >>> from dither.privacy import PureDP
    >>> from dither.publish.streams.examples import COUNT, clinic_stream, stream_query
    >>> hourly = plan_stream(stream_query(clinic_stream(persons=False), COUNT), PureDP(1))
    >>> hourly.loss(1), hourly.reach(3, 0, "0.95")
    (PureDP('1'), 8)

    """

    name: ClassVar[str] = "ticked-answer"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "every number has its own error: see reach"
    no_interval_because: ClassVar[str] = "every number has its own interval: see the result of the stream"

    query: Of[Query] = Of(Query, rule="a Query")
    released: OneOf = OneOf(RUNNING, TICK)
    steps: Whole = Whole(least=1, most=MOST_TICKS)
    counters: TupleOf = TupleOf(Of(InteractivePrimitive), least=1, rule="counters, one for each thing measured")

    def __post_init__(self) -> None:
        """Refuse counters that do not fit what is measured."""
        if len(self.counters) != len(self.arrivals.measured):
            rule = f"{len(self.arrivals.measured)}, one for each thing measured"
            raise InvalidParameter("counters", len(self.counters), rule)
        for counter, moved in zip(self.counters, self.moved, strict=True):
            if getattr(counter, "shape", None) != (self.cells,) or getattr(counter, "steps", None) != self.steps:
                rule = f"of {self.cells} numbers a tick, for {self.steps} ticks"
                raise InvalidParameter("counters", counter, rule)
            if stability_of(counter, moved) is None:
                rule = f"for people at {moved.ticks} ticks, at least {moved.apart} apart"
                raise InvalidParameter("counters", counter, rule)

    @cached_property
    def arrivals(self) -> Arrivals:
        """What is measured of the rows."""
        return Arrivals(self.query)

    @property
    def cells(self) -> int:
        """The number of groups."""
        return len(self.arrivals.groups)

    @property
    def is_running(self) -> bool:
        """Whether numbers are those of all ticks so far."""
        return bool(self.released == RUNNING)

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

    @cached_property
    def stabilities(self) -> tuple[Fraction, ...]:
        """How far one unit moves what each counter is fed, in its own distance."""
        pairs = zip(self.counters, self.moved, strict=True)
        return tuple(found for one, moved in pairs if (found := stability_of(one, moved)) is not None)

    def plan(self) -> Plan:
        """Use each counter once, for the whole stream."""
        return InOrder(tuple(Use(one, far) for one, far in zip(self.counters, self.stabilities, strict=True)))

    def open(self, data: None, run: Runner) -> TickedConversation:
        """Return the conversation; ``data`` is None, because ticks arrive one by one."""
        return TickedConversation(self, run)

    def reach(self, tick: int, measure: int, confidence: Number) -> int:
        """Return how far one number of a tick errs at most, at a confidence.

        Args:
            tick: counted from 0.
            measure: which of the things that are measured.
            confidence: for one number.

        """
        return reach_at(self.counters[measure], tick, confidence)

    @property
    def words(self) -> str:
        """What is released, in one line for people."""
        arrivals = self.arrivals
        names = ", ".join(one.name for one in self.query.aggregates)
        groups = "" if not self.query.keys else f" by {', '.join(key.name for key in self.query.keys)}"
        kind = "so far, at the end of each tick" if self.is_running else "of each tick"
        return f"{names} of {arrivals.table.name}{groups}, {kind}"

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


class TickedConversation:
    """The conversation of a ``TickedAnswer``. Its handles bind it to thread and process, and answer each tick once."""

    def __init__(self, answer: TickedAnswer, run: Runner) -> None:
        self._cells = answer.cells
        parts = zip(answer.counters, answer.stabilities, strict=True)
        self._handles = [run.open(counter, stability=far) for counter, far in parts]

    @quietly
    def feed(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the noisy numbers of a tick: a row for each group, a column for each thing that is measured.

        Args:
            numbers: the exact ones, of the same shape.

        """
        columns = [handle.ask(numbers[:, place]) for place, handle in enumerate(self._handles)]
        return np.stack([np.asarray(one, dtype=np.int64) for one in columns], axis=1)


def plan_stream(
    query: Query,
    loss: Loss,
    *,
    released: str = RUNNING,
    horizon: int | None = None,
    shares: Mapping[str, Number] | None = None,
) -> TickedAnswer:
    """Return the release of a query on a stream within a loss for all of its ticks.

    Args:
        query: what is asked.
        loss: the most that one unit may lose over all ticks.
        released: "running" for everything since the start, "tick" for each tick by itself.
        horizon: how many ticks there are; by default as the schema declares.
        shares: how the loss is divided among the aggregates, by name; by default equally.

    """
    if released not in (RUNNING, TICK):
        raise InvalidParameter("released", released, f"{RUNNING!r} or {TICK!r}")
    arrivals = Arrivals(query)
    steps = steps_of(arrivals.ticks, horizon)
    cells = len(arrivals.groups)
    check_shown(query, is_running=released == RUNNING, cells=cells)
    given = check_shares(shares, [one.name for one in query.aggregates])
    weights = dict.fromkeys(arrivals.measured, Fraction(0))
    for statistic in arrivals.statistics:
        share = Fraction(1) if given is None else given[statistic.aggregate.name]
        for part in statistic.measured:
            weights[part] = max(weights[part], share / len(statistic.measured))
    purse, whole_weight = Purse.within(loss), sum(weights.values())
    counters = tuple(
        counter_within(
            purse.share(weight / whole_weight).loss,
            moved_by_unit(
                part,
                arrivals.ticks,
                is_running=released == RUNNING,
                cells=cells,
                is_replaced=query.dataset.is_replaced,
            ),
            steps=steps,
            cells=cells,
            is_running=released == RUNNING,
        )
        for part, weight in weights.items()
    )
    return TickedAnswer(query=query, released=released, steps=steps, counters=counters)


def steps_of(ticks: Ticks, horizon: int | None) -> int:
    """Return how many ticks a stream has: as it is said, or as the schema declares."""
    if horizon is None:
        if ticks.horizon is None:
            raise InvalidParameter(
                "horizon", None, "said: the schema declares none, and all ticks are paid for at once"
            )
        return ticks.horizon
    most = MOST_TICKS if ticks.horizon is None else ticks.horizon
    return whole("horizon", horizon, least=1, most=most)


def check_shown(query: Query, *, is_running: bool, cells: int) -> None:
    """Refuse what a stream does not show: expressions over aggregates, orders, limits.

    Args:
        query: what is asked.
        is_running: whether numbers are those of all ticks so far.
        cells: the number of groups.

    """
    names = {key.name for key in query.keys} | {one.name for one in query.aggregates}
    for name, value in query.outputs:
        if not isinstance(value, Name) or value.name not in names:
            raise InvalidParameter(
                "outputs", name, "a group or an aggregate by itself; compute the rest from the answers"
            )
    if query.having is not None or query.order or query.limit is not None:
        raise InvalidParameter("query", "HAVING, ORDER BY or LIMIT", "without them: a stream publishes every group")
    if cells > _MOST_CELLS:
        raise InvalidParameter("groups", cells, f"at most {_MOST_CELLS} in a stream")
    counts_people = any(one.function == "persons" for one in query.aggregates)
    if is_running and counts_people and query.keys and query.dataset.protects_persons:
        rule = "without groups: a person is counted at the first tick, and would be in one group alone"
        raise InvalidParameter("query", "COUNT(DISTINCT person) with GROUP BY", rule)
