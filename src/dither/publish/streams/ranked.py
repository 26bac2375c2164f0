"""Running quantiles and maxima of a stream: the values below which a share of all rows so far lies, at every tick.

The values are the last group of a query, in their order. A tree over them is counted: a running counter for every node,
so that the rows up to any value are a few nodes, whatever the number of values. Quantiles of any rank follow from the
noisy nodes at no cost. Cost: a counter of as many entries as the tree has nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.returned import Group
from dither.errors import InvalidParameter
from dither.exact import Number, Of, Positive, TupleOf, Whole, probability, sqrt_up
from dither.mechanisms.core.mechanism import InteractivePrimitive, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.privacy import L1, Loss, Plan, Use
from dither.publish.queries.groups import key_kinds
from dither.publish.queries.query import Query
from dither.publish.queries.result import QueryResult, ResultColumn
from dither.publish.streams.arrivals import Arrivals
from dither.publish.streams.asked import StreamAnswer, moved_by_unit, only_counts, steps_of
from dither.publish.streams.choose import choose_counter
from dither.publish.streams.moved import Moved, reach_at, stability_of
from dither.publish.streams.present import TICK, rows_of

#: The word for it at the door.
QUANTILES: Final = "quantiles"
_BRANCHES: Final = (2, 4, 8, 16)


def levels_of(values: int, branch: int) -> tuple[int, ...]:
    """Return how many nodes each level of a tree over some values has, from the values up to at most ``branch``.

    >>> levels_of(100, 4)
    (100, 25, 7, 2)
    """
    found = [values]
    while found[-1] > branch:
        found.append(-(-found[-1] // branch))
    return tuple(found)


def _examples() -> Iterator[Example]:
    from dither.publish.streams.examples import ranked_examples

    return ranked_examples()


@register(
    examples=_examples,
    source="Differential Privacy under Continual Observation (Dwork, Naor, Pitassi, Rothblum 2010) for the counters; "
    "Boosting the Accuracy of Differentially Private Histograms Through Consistency (Hay et al. 2010) for the tree",
)
@dataclass(frozen=True, kw_only=True)
class RankedAnswer(StreamAnswer):
    """Answer each tick with quantiles of all rows so far, over the ordered values of the last group of a query.

    Guarantee: streams of rows one unit apart (``query.dataset.unit``) lose what the counter loses at the distance by
    which one unit moves the nodes of the tree; also if rows are chosen by who has seen earlier answers.

    Args:
        query: a count of rows, grouped by what is ranked; groups before the last have quantiles of their own.
        steps: how many ticks there are; public. None where no end is known.
        ranks: the shares of rows that lie at or below each quantile; 1 is the maximum.
        branch: how many children a node of the tree has.
        counter: of all nodes.

    >>> from dither.privacy import PureDP
    >>> from dither.publish.streams.examples import COUNT, clinic_stream, stream_query
    >>> query = stream_query(clinic_stream(persons=False), COUNT, by_site=True)
    >>> plan_ranked(query, PureDP(1), ranks=["1/2", 1]).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "ranked-answer"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    ranks: TupleOf = TupleOf(Positive(most=1), least=1, most=64, rule="a tuple of numbers in (0, 1]")
    branch: Whole = Whole(least=2, most=2**10)
    counter: Of[InteractivePrimitive[Any, Any]] = Of(InteractivePrimitive)

    def __post_init__(self) -> None:
        """Refuse a counter that does not fit the tree."""
        only_counts(self.query, QUANTILES)
        shape, steps = getattr(self.counter, "shape", None), getattr(self.counter, "steps", None)
        if shape != (self.outer * self.nodes,) or steps != self.steps:
            rule = f"of {self.outer * self.nodes} numbers a tick, for {self.steps or 'any number of'} ticks"
            raise InvalidParameter("counter", self.counter, rule)
        if stability_of(self.counter, self.moved[0]) is None:
            raise InvalidParameter("counter", self.counter, f"for people at {self.moved[0].ticks} ticks")

    @property
    def is_running(self) -> bool:
        """Quantiles are of all ticks so far."""
        return True

    @property
    def shown(self) -> str:
        """What is released of the numbers, in words."""
        key = self.query.keys[-1].name
        return f"as {', '.join(map(rank_name, self.ranks))} of {key} so far, at the end of each tick"

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The ordered values of the last group."""
        return tuple(dict.fromkeys(group[-1] for group in self.arrivals.groups))

    @property
    def outer(self) -> int:
        """The number of groups that have quantiles of their own."""
        return self.cells // len(self.values)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """How many nodes each level of a tree has."""
        return levels_of(len(self.values), self.branch)

    @property
    def nodes(self) -> int:
        """The number of nodes of one tree."""
        return sum(self.levels)

    @property
    def answer_shape(self) -> tuple[int, int]:
        """A row for each node of every tree."""
        return self.outer * self.nodes, 1

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the nodes, in the counter's distance: a row is in one node of every level."""
        moved = stability_of(self.counter, self.moved[0]) or Fraction(0)
        return moved * _spread(len(self.levels), is_pure=self.counter.distance == L1)

    def plan(self) -> Plan:
        """Use the counter once, for the whole stream."""
        return Use(self.counter, self.stability)

    def open(self, data: None, run: Runner) -> RankedConversation:
        """Return the conversation; ``data`` is None, because ticks arrive one by one."""
        return RankedConversation(self, run)

    def counted(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nodes of all trees for one tick, from the counts of all groups."""
        level = numbers.reshape(self.outer, len(self.values))
        found = [level]
        for size in self.levels[1:]:
            level = np.add.reduceat(level, np.arange(size) * self.branch, axis=1)
            found.append(level)
        return np.concatenate(found, axis=1).ravel()

    def below(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the noisy number of rows up to each value: at most ``branch`` nodes of each level are added up.

        Args:
            nodes: an array whose last axis is that of a tree's nodes.

        """
        starts = np.cumsum((0, *self.levels))
        found = np.cumsum(nodes[..., starts[-2] :], axis=-1)
        for place in range(len(self.levels) - 2, -1, -1):
            size, above = self.levels[place], self.levels[place + 1]
            level = np.zeros((*nodes.shape[:-1], above * self.branch), dtype=np.int64)
            level[..., :size] = nodes[..., starts[place] : starts[place + 1]]
            inside = np.cumsum(level.reshape(*nodes.shape[:-1], above, self.branch), axis=-1)
            before = np.concatenate([np.zeros_like(found[..., :1]), found[..., :-1]], axis=-1)
            found = (inside + before[..., None]).reshape(level.shape)[..., :size]
        return found

    def reach(self, tick: int, confidence: Number) -> int:
        """Return how far any of one tree's numbers of rows up to a value errs at most at a tick, at a confidence."""
        wanted = probability("confidence", confidence, open_below=True)
        one = reach_at(self.counter, tick, 1 - (1 - wanted) / self.nodes)
        return one * self.branch * len(self.levels)

    def slack(self, tick: int) -> int:
        """Return how many rows a maximum leaves out, so that noise alone does not make one."""
        return int(reach_at(self.counter, tick, "0.95") * (self.branch * len(self.levels)) ** 0.5)

    def presented(self, noisy: NDArray[np.int64], first: int, confidence: Fraction, receipt: str) -> QueryResult:
        """Return released ticks as a table: a row for each tick and group, a column for each rank."""
        ticks, values = len(noisy), self.values
        below = self.below(noisy.reshape(ticks, self.outer, self.nodes))
        places = range(first, first + ticks)
        reach = np.array([self.reach(tick, confidence) for tick in places], dtype=np.int64).reshape(ticks, 1)
        slack = np.array([self.slack(tick) for tick in places], dtype=np.int64).reshape(ticks, 1)
        total = self._total(noisy)
        shown: list[list[Any]] = []
        low: list[list[Any]] = []
        high: list[list[Any]] = []
        for rank in self.ranks:
            # The least number of rows that is this share of all: exact, as totals are.
            target = -(-total.astype(object) * rank.numerator // rank.denominator)
            least, most = (_first(below, target + side * 2 * reach) for side in (-1, 1))
            value = _first(below, target - slack if rank == 1 else target)
            for found, where in ((low, least), (high, most), (shown, np.clip(value, least, most))):
                found.append([values[place] for place in where.ravel().tolist()])
        groups: list[Group] = [group[:-1] for group in self.arrivals.groups[:: len(values)]]
        begins = [self.arrivals.ticks.begin(tick) for tick in places]
        keys = [(begin, *group) for begin in begins for group in groups]
        none = [(None,) * len(self.query.keys)] * len(keys)
        return QueryResult(
            columns=self._columns,
            rows=rows_of(keys, shown),
            low=rows_of(none, low),
            high=rows_of(none, high),
            confidence=confidence,
            is_simultaneous=False,
            loss=self.loss(1),
            unit=str(self.distance),
            notes=self.notes,
            receipt=receipt,
            raw=rows_of(keys, shown),
        )

    def _total(self, noisy: NDArray[np.int64]) -> NDArray[np.int64]:
        top = noisy.reshape(len(noisy), self.outer, self.nodes)[..., -self.levels[-1] :]
        return np.asarray(top.sum(axis=-1))

    @property
    def _columns(self) -> tuple[ResultColumn, ...]:
        kinds = key_kinds(self.query)
        keys = [
            ResultColumn(key.name, kind.value, is_key=True)
            for key, kind in zip(self.query.keys[:-1], kinds[:-1], strict=True)
        ]
        said = f"of {self.query.keys[-1].name}, from the start to the end of the tick"
        numbers = [
            ResultColumn(rank_name(rank), kinds[-1].value, is_key=False, estimand=f"{_estimand(rank)} {said}")
            for rank in self.ranks
        ]
        return (ResultColumn(TICK, "timestamp", is_key=True), *keys, *numbers)

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the answers."""
        last = self.slack(self.most_ticks - 1) if self.steps else self.slack(9_999)
        said = f"a maximum ignores the largest rows, about {last} of them in the end: noise alone must not make one"
        return (*super().notes, said) if 1 in self.ranks else super().notes


class RankedConversation:
    """The conversation of a ``RankedAnswer``. Its handle binds it to thread and process, and answers each tick once."""

    def __init__(self, answer: RankedAnswer, run: Runner) -> None:
        self._answer = answer
        self._handle = run.open(answer.counter, stability=answer.stability)

    @quietly
    def feed(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the noisy nodes of all trees, from the exact counts of a tick."""
        noisy = self._handle.ask(self._answer.counted(numbers[:, 0]))
        return np.asarray(noisy, dtype=np.int64)[:, None]


def plan_ranked(query: Query, loss: Loss, *, ranks: Any = None, horizon: int | None = None) -> RankedAnswer:
    """Return the running quantiles of a query on a stream, within a loss for all of its ticks.

    Args:
        query: a count of rows, grouped by what is ranked.
        loss: the most that one unit may lose over all ticks.
        ranks: the shares of rows at or below each quantile; by default the quartiles and the maximum.
        horizon: how many ticks there are; by default as the schema declares.

    """
    only_counts(query, QUANTILES)
    arrivals = Arrivals(query)
    if any(group[-1] is None for group in arrivals.groups):
        raise InvalidParameter("groups", query.keys[-1].name, "without a group for missing values: they have no rank")
    steps, cells = steps_of(arrivals.ticks, horizon), len(arrivals.groups)
    values = len({group[-1] for group in arrivals.groups})
    moved = moved_by_unit(
        arrivals.measured[0], arrivals.ticks, is_running=True, cells=cells, is_replaced=query.dataset.is_replaced
    )
    found = []
    for branch in dict.fromkeys((*_BRANCHES, max(2, min(values, 2**10)))):
        counter = _counter(loss, moved, levels_of(values, branch), steps=steps, outer=cells // values)
        chosen = ("1/4", "1/2", "3/4", 1) if ranks is None else tuple(ranks)
        answer = RankedAnswer(query=query, steps=steps, ranks=chosen, branch=branch, counter=counter)
        found.append((answer.slack((steps or 10_000) - 1), answer))
    return min(found, key=lambda pair: pair[0])[1]


def _counter(loss: Loss, moved: Moved, levels: tuple[int, ...], *, steps: int | None, outer: int) -> Any:
    spread = _spread(len(levels), is_pure=Purse.within(loss).is_pure)
    return choose_counter(
        loss,
        sensitivity=moved.most * moved.units * spread,
        steps=steps,
        shape=(outer * sum(levels),),
        ticks=moved.ticks,
        apart=moved.apart,
    ).counter


def _spread(levels: int, *, is_pure: bool) -> Fraction:
    """Return how much farther nodes move than values: in L1 once for each level, in L2 by its root."""
    return Fraction(levels) if is_pure else sqrt_up(Fraction(levels))


def _first(below: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first value up to which there are as many rows as the target; the last one where there are not."""
    enough = below >= target[..., None]
    return np.asarray(np.where(enough.any(axis=-1), enough.argmax(axis=-1), below.shape[-1] - 1))


def rank_name(rank: Fraction) -> str:
    """Return the name of the column of a quantile.

    >>> rank_name(Fraction(1, 2)), rank_name(Fraction(999, 1000)), rank_name(Fraction(1))
    ('p50', 'p99_9', 'max')
    """
    return "max" if rank == 1 else "p" + f"{float(100 * rank):.6g}".replace(".", "_")


def _estimand(rank: Fraction) -> str:
    return "the largest value" if rank == 1 else f"the value at or below which {float(100 * rank):.6g} % of rows are,"
