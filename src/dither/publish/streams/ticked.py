"""A query on a stream: sums and counts of every public group, released at the end of every tick.

For a dashboard that shows the numbers so far, or those of each hour, for a year and at one price. Each thing that is
measured has a counter of its own over all groups; the loss is divided among them. Cost: what the counters cost; memory
for the groups, not for the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, cast

import numpy as np
from numpy.typing import NDArray

from dither.data import Kind, Name
from dither.data.expressions import kind_of
from dither.errors import InvalidParameter
from dither.exact import Maybe, Number, Of, OneOf, Positive, TupleOf, probability
from dither.mechanisms.core.mechanism import InteractivePrimitive, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.decayed_counter import DecayedCounter
from dither.mechanisms.tick_noise import TickNoise
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.queries.measures import Measured
from dither.publish.queries.query import Aggregate, Query
from dither.publish.queries.result import QueryResult
from dither.publish.queries.split import check_shares
from dither.publish.streams.arrivals import Arrivals
from dither.publish.streams.asked import StreamAnswer, moved_by_unit, steps_of
from dither.publish.streams.moved import counter_within, largest_tick, reach_at, stability_of
from dither.publish.streams.present import presented

#: Everything since the start, or each tick by itself.
RUNNING: Final = "running"
TICK: Final = "tick"
#: All of them, the less the longer ago.
DECAYED: Final = "decayed"
#: The most groups of a stream.
_MOST_CELLS: Final = 2**20
#: Up to which tick limits are said where no end is known, and a number of rows in a tick that nobody has.
_LONG: Final = 2**20
_MANY_ROWS: Final = 2**31
#: Noise of a tick stays within this but for a chance of 2^-64, so that intervals of any use fit into 64 bits.
_FARTHEST: Final = 2**58
#: How many bits numbers have on the grids that are tried where noise is too wide for finer ones.
_COARSER_BITS: Final = (20, 18, 16, 14, 12, 10, 8, 6)


def _examples() -> Iterator[Example]:
    from dither.publish.streams.examples import ticked_examples

    return ticked_examples()


@register(
    examples=_examples,
    source="Differential Privacy under Continual Observation (Dwork, Naor, Pitassi, Rothblum 2010); Private and "
    "Continual Release of Statistics (Chan, Shi, Song 2011)",
)
@dataclass(frozen=True, kw_only=True)
class TickedAnswer(StreamAnswer):
    """Answer a query on a stream at the end of every tick: its sums and counts so far, or those of the tick.

    Guarantee: streams of rows one unit apart (``query.dataset.unit``) lose what the counters lose at the distance by
    which one unit moves what each of them is fed, added up; also if rows are chosen by who has seen earlier answers.

    Args:
        query: what is asked.
        steps: how many ticks there are; public. None where no end is known.
        released: "running" for everything since the start, "tick" for each tick by itself, "decayed" for sums in which
            a tick counts less with every further one.
        decay: how much of a tick is left after one more, for decayed sums.
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
    released: OneOf = OneOf(RUNNING, TICK, DECAYED)
    decay: Maybe = Maybe(Positive(most=1))
    counters: TupleOf = TupleOf(Of(InteractivePrimitive), least=1, rule="counters, one for each thing measured")

    def __post_init__(self) -> None:
        """Refuse counters that do not fit what is measured."""
        if (self.decay is not None) != (self.released == DECAYED):
            raise InvalidParameter(
                "decay", self.decay, f"required for {DECAYED!r} sums, and not allowed for other kinds"
            )
        if any((one.decay if isinstance(one, DecayedCounter) else None) != self.decay for one in self.counters):
            raise InvalidParameter("counters", self.counters, f"of the decay {self.decay}")
        if len(self.counters) != len(self.arrivals.measured):
            rule = f"{len(self.arrivals.measured)}, one for each thing measured"
            raise InvalidParameter("counters", len(self.counters), rule)
        for counter, moved in zip(self.counters, self.moved, strict=True):
            known = self.most_ticks if isinstance(counter, TickNoise) else self.steps
            if getattr(counter, "shape", None) != (self.cells,) or getattr(counter, "steps", None) != known:
                rule = f"of {self.cells} numbers a tick, for {self.steps or 'any number of'} ticks"
                raise InvalidParameter("counters", counter, rule)
            if stability_of(counter, moved) is None:
                rule = f"for people at {moved.ticks} ticks, at least {moved.apart} apart"
                raise InvalidParameter("counters", counter, rule)
            if isinstance(counter, TickNoise) and counter.node.reach(2.0**-64) > _FARTHEST:
                rule = f"of noise that stays within {_FARTHEST}; add up values in larger units, or lose more"
                raise InvalidParameter("counters", counter, rule)
            if largest_tick(counter, 1) < moved.most:
                # Cut off, the rows of one person alone would not be what is asked.
                rule = (
                    f"one in which a tick adds up {moved.most} steps of one person: set narrower bounds, or a faster "
                    "decay"
                )
                raise InvalidParameter("counters", counter.name, rule)

    @property
    def is_running(self) -> bool:
        """Whether numbers are those of all ticks so far."""
        return bool(self.released == RUNNING)

    @property
    def shown(self) -> str:
        """What is released of the numbers, in words."""
        if self.decay is not None:
            return f"of each tick and {self.decay} times those of the tick before it, and so on"
        return "so far, at the end of each tick" if self.is_running else "of each tick"

    @property
    def answer_shape(self) -> tuple[int, int]:
        """A row for each group, a column for each thing that is measured."""
        return self.cells, len(self.arrivals.measured)

    @cached_property
    def stabilities(self) -> tuple[Fraction, ...]:
        """How far one unit moves what each counter is fed, in its own distance."""
        pairs = zip(self.counters, self.moved, strict=True)
        return tuple(found for one, moved in pairs if (found := stability_of(one, moved)) is not None)

    def plan(self) -> Plan:
        """Use each counter once, for the whole stream."""
        return InOrder(tuple(Use(one, far) for one, far in zip(self.counters, self.stabilities, strict=True)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the answers, how large the numbers of a tick may be among it."""
        return (*super().notes, *self._cut_off())

    def _cut_off(self) -> Iterator[str]:
        """Yield from which number on the rows of a tick are too many to be added up, where that may happen."""
        fit = [
            largest_tick(counter, min(self.most_ticks, _LONG)) // max(abs(one.least), abs(one.most), 1)
            for counter, one in zip(self.counters, self.arrivals.measured, strict=True)
        ]
        if min(fit) < _MANY_ROWS:
            yield f"a tick adds up {min(fit)} rows of the largest numbers, in each group; beyond that it is cut off"

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

    def errors_at(self, tick: int) -> dict[str, int]:
        """Return how far counts err at most at a tick, 95 times of 100, by name."""
        counts = [one for one in self.arrivals.statistics if one.aggregate.function == "count"]
        places = {one.aggregate.name: one.measured for one in counts if len(one.measured) == 1}
        measured = self.arrivals.measured
        return {name: self.reach(tick, measured.index(one), "0.95") for name, (one,) in places.items()}

    def presented(self, noisy: NDArray[np.int64], first: int, confidence: Fraction, receipt: str) -> QueryResult:
        """Return released ticks as a table: a row for each tick and group."""
        return presented(self, noisy, first, confidence, receipt, loss=self._price)

    @cached_property
    def _price(self) -> Loss:
        """What all ticks together lose, computed once: every tick says it."""
        return self.loss(1)


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

    def freeze(self) -> list[dict[str, Any]]:
        """Return the state of each counter, as plain JSON data; it is secret."""
        return [handle._frozen() for handle in self._handles]

    def thaw(self, frozen: list[dict[str, Any]]) -> None:
        """Take up the states of the counters of a conversation with the same answer, before the first tick."""
        for handle, state in zip(self._handles, frozen, strict=True):
            handle._thaw(state)


def plan_stream(
    query: Query,
    loss: Loss,
    *,
    released: str = RUNNING,
    horizon: int | None = None,
    shares: Mapping[str, Number] | None = None,
    decay: Number | None = None,
) -> TickedAnswer:
    """Return the release of a query on a stream within a loss for all of its ticks.

    Args:
        query: what is asked.
        loss: the most that one unit may lose over all ticks.
        released: "running" for everything since the start, "tick" for each tick by itself, "decayed" for sums in which
            a tick counts less with every further one.
        horizon: how many ticks there are; by default as the schema declares, and any number where it declares none.
        shares: how the loss is divided among the aggregates, by name; by default equally.
        decay: how much of a tick is left after one more, for decayed sums.

    """
    if released not in (RUNNING, TICK, DECAYED):
        raise InvalidParameter("released", released, f"{RUNNING!r}, {TICK!r} or {DECAYED!r}")
    if (decay is not None) != (released == DECAYED):
        raise InvalidParameter("decay", decay, f"required for {DECAYED!r} sums, and not allowed for other kinds")
    rate = None if decay is None else probability("decay", decay, open_below=True)
    first: InvalidParameter | None = None
    for asked in coarser(query):
        try:
            return _planned(asked, loss, released=released, horizon=horizon, shares=shares, rate=rate)
        except InvalidParameter as problem:
            first = first or problem
    raise cast("InvalidParameter", first)


def _planned(
    query: Query,
    loss: Loss,
    *,
    released: str,
    horizon: int | None,
    shares: Mapping[str, Number] | None,
    rate: Fraction | None,
) -> TickedAnswer:
    """Return the release of a query with the grids that it has."""
    arrivals = Arrivals(query)
    steps = steps_of(arrivals.ticks, horizon)
    cells = len(arrivals.groups)
    check_shown(query, is_running=released == RUNNING, cells=cells)
    weights = weights_of(arrivals, check_shares(shares, [one.name for one in query.aggregates]))
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
            decay=rate,
        )
        for part, weight in weights.items()
    )
    return TickedAnswer(query=query, released=released, steps=steps, decay=rate, counters=counters)


def coarser(query: Query) -> Iterator[Query]:
    """Yield a query as it is, and with its numbers on coarser and coarser grids.

    The noise of a counter has a largest number of steps. A number whose grid was not said has the finest one
    whose noise fits: the loss, the bounds and the limits of people decide that, and no row.
    """
    yield query
    columns = query.relation.columns
    for bits in _COARSER_BITS if any(_may_be_coarser(one) for one in query.aggregates) else ():
        yield replace(query, aggregates=tuple(_on_steps(one, bits, columns) for one in query.aggregates))


def _may_be_coarser(aggregate: Aggregate) -> bool:
    return aggregate.granularity is None and len(aggregate.arguments) == len(aggregate.bounds) == 1


def _on_steps(aggregate: Aggregate, bits: int, columns: Mapping[str, Kind]) -> Aggregate:
    """Return an aggregate whose numbers have about ``2^bits`` steps; one that is a count stays as it is."""
    if not _may_be_coarser(aggregate):
        return aggregate
    lower, upper = aggregate.bounds[0]
    # Sums are counted from 0, all others from the middle of the range.
    size = max(abs(lower), abs(upper)) if aggregate.function == "sum" else upper - lower
    least = 1.0 if kind_of(aggregate.arguments[0], columns) is Kind.INTEGER else 0.0
    step = max(size / 2**bits, least)
    return replace(aggregate, granularity=step) if step > 0 else aggregate


def weights_of(arrivals: Arrivals, given: Mapping[str, Fraction] | None) -> dict[Measured, Fraction]:
    """Return how the loss is divided among all that is measured: as the aggregates are, and equally within each."""
    weights = dict.fromkeys(arrivals.measured, Fraction(0))
    for statistic in arrivals.statistics:
        share = Fraction(1) if given is None else given[statistic.aggregate.name]
        for part in statistic.measured:
            weights[part] = max(weights[part], share / len(statistic.measured))
    return weights


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
            raise InvalidParameter("outputs", name, "a group or an aggregate alone; compute the rest from the answers")
    if query.having is not None or query.order or query.limit is not None:
        raise InvalidParameter("query", "HAVING, ORDER BY or LIMIT", "without them: a stream publishes every group")
    if cells > _MOST_CELLS:
        raise InvalidParameter("groups", cells, f"at most {_MOST_CELLS} in a stream")
    counts_people = any(one.function == "persons" for one in query.aggregates)
    if is_running and counts_people and query.keys and query.dataset.protects_persons:
        rule = "without groups: a person is counted at the first tick, and would be in one group alone"
        raise InvalidParameter("query", "COUNT(DISTINCT person) with GROUP BY", rule)
