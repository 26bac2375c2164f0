"""A query on a stream whose memory may be seized: what is kept of an open tick is noisy, and on disk are answers alone.

For machines that may be searched, stolen or subpoenaed. Noise stands in the memory of a tick before its first row
comes, and fresh noise goes into its answer, so that whoever reads the memory once in a tick, and all answers, learns as
much as from one answer. Nothing else is kept from tick to tick. Cost: two draws a tick and group, and an error of
running sums that grows with the root of the number of ticks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, Of, OneOf, TupleOf, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Handle, Runner, quietly
from dither.mechanisms.pan_private import Intrusion, PanPrivateCounter
from dither.mechanisms.prefix_sums import _laplace_sum_reach
from dither.privacy import InOrder, Loss, Parallel, Plan, PureDP, Use
from dither.publish.queries.query import Query
from dither.publish.queries.result import QueryResult
from dither.publish.queries.split import check_shares
from dither.publish.streams.arrivals import Arrivals
from dither.publish.streams.asked import StreamAnswer, moved_by_unit, steps_of
from dither.publish.streams.present import presented
from dither.publish.streams.ticked import RUNNING, TICK, check_shown, weights_of

#: The word for it at the door.
NOISY: Final = "noisy"
#: Values of a tick come in any number of pieces; the answer is asked for when it ends.
_PIECES: Final = 2**40
_MOST_TICKS: Final = 2**20
#: Noise of all ticks together stays within 64 bits, so that intervals do.
_LARGEST_SCALE: Final = 2**40


def _examples() -> Iterator[Example]:
    from dither.publish.streams.examples import seizable_examples

    return seizable_examples()


@register(
    examples=_examples,
    source="Pan-Private Streaming Algorithms (Dwork, Naor, Pitassi, Rothblum, Yekhanin 2010); Differential Privacy "
    "under Continual Observation (Dwork, Naor, Pitassi, Rothblum 2010)",
)
@dataclass(frozen=True, kw_only=True)
class SeizableAnswer(StreamAnswer):
    """Answer a query on a stream at the end of every tick, with a memory that is as private as the answers.

    Guarantee: streams one row apart lose what the counters lose at how far one row moves what each of them is fed,
    added up: from all answers, and the memory at one moment of anyone's choice in every tick, together. Event level.

    Args:
        query: what is asked.
        steps: how many ticks there are; public.
        released: "running" for everything since the start, "tick" for each tick by itself.
        counters: one for each thing that is measured; each tick has a counter of its own.

    >>> from dither.publish.streams.examples import COUNT, clinic_stream, stream_query
    >>> visits = plan_seizable(stream_query(clinic_stream(persons=False), COUNT), PureDP(1), released="tick")
    >>> visits.loss(1), visits.reach(3, 0, "0.95")
    (PureDP('1'), 7)

    """

    name: ClassVar[str] = "seizable-answer"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    #: No sums fade out in it.
    decay: ClassVar[None] = None

    released: OneOf = OneOf(RUNNING, TICK)
    counters: TupleOf = TupleOf(Of(PanPrivateCounter), least=1, rule="counters, one for each thing measured")

    def __post_init__(self) -> None:
        """Refuse people, and counters that do not fit what is measured."""
        check_events(self.arrivals)
        if self.steps is None or self.steps > _MOST_TICKS:
            raise InvalidParameter("steps", self.steps, f"known, and at most {_MOST_TICKS}")
        if len(self.counters) != len(self.arrivals.measured):
            rule = f"{len(self.arrivals.measured)}, one for each thing measured"
            raise InvalidParameter("counters", len(self.counters), rule)
        for one in self.counters:
            if (one.shape, one.steps, one.every, one.announced) != ((self.cells,), _PIECES, _PIECES, 1):
                rule = f"of {self.cells} numbers, shown once"
                raise InvalidParameter("counters", one, rule)
            if one.scale > _LARGEST_SCALE:
                rule = f"of noise of scale at most {_LARGEST_SCALE}; add up values in larger units, or lose more"
                raise InvalidParameter("counters", one, rule)

    @property
    def is_running(self) -> bool:
        """Whether numbers are those of all ticks so far."""
        return bool(self.released == RUNNING)

    @property
    def shown(self) -> str:
        """What is released of the numbers, in words."""
        return "so far, at the end of each tick" if self.is_running else "of each tick"

    @property
    def answer_shape(self) -> tuple[int, int]:
        """A row for each group, a column for each thing that is measured."""
        return self.cells, len(self.arrivals.measured)

    def plan(self) -> Plan:
        """Return a counter for each of disjoint ticks, for each thing that is measured."""
        pairs = zip(self.counters, self.moved, strict=True)
        return InOrder(tuple(Parallel(Use(one, moved.most), self.steps, 1) for one, moved in pairs))

    def open(self, data: None, run: Runner) -> SeizableConversation:
        """Return the conversation; ``data`` is None, because ticks arrive one by one."""
        return SeizableConversation(self, run)

    def reach(self, tick: int, measure: int, confidence: Number) -> int:
        """Return how far one number of a tick errs at most, at a confidence.

        Args:
            tick: counted from 0.
            measure: which of the things that are measured.
            confidence: for one number.

        """
        wanted = probability("confidence", confidence, open_below=True)
        draws = 2 * (tick + 1) if self.is_running else 2
        return int(_laplace_sum_reach(self.counters[measure].scale, draws, share_of_failure(wanted, 1)))

    def presented(self, noisy: NDArray[np.int64], first: int, confidence: Fraction, receipt: str) -> QueryResult:
        """Return released ticks as a table: a row for each tick and group."""
        return presented(self, noisy, first, confidence, receipt, loss=self.loss(1))

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the answers."""
        return (*super().notes, "rows of a tick that is not released are lost if the process ends")


class SeizableConversation:
    """The conversation of a ``SeizableAnswer``: rows of the open tick are added to noise, and nothing else is kept."""

    def __init__(self, answer: SeizableAnswer, run: Runner) -> None:
        self._answer = answer
        self._runs = [run.parallel(answer.steps) for _ in answer.counters]
        self._handles: list[Handle[Any, Any]] = []
        self._tick = 0
        #: What was answered last: released numbers, to which running sums add the next tick.
        self._last = np.zeros(answer.answer_shape, dtype=np.int64)

    def go_on(self, tick: int, last: NDArray[np.int64]) -> None:
        """Go on with a later tick, after what was answered last."""
        if tick < self._tick or self._handles:
            raise HandleMisuse("a stream continues with a later tick, before any row of it")
        self._tick, self._last = tick, last

    @quietly
    def add(self, numbers: NDArray[np.int64]) -> None:
        """Add exact numbers of the open tick, a row for each group, to what is kept of it."""
        if self._tick == self._answer.steps:
            raise HandleMisuse(f"the stream ended after {self._tick} ticks, as its price allows")
        if not self._handles:
            parts = zip(self._answer.counters, self._answer.moved, self._runs, strict=True)
            self._handles = [runs[self._tick].open(one, stability=moved.most) for one, moved, runs in parts]
        for place, handle in enumerate(self._handles):
            handle.ask(numbers[:, place])

    @quietly
    def report(self) -> NDArray[np.int64]:
        """End the open tick, and return its noisy numbers, or those of all ticks so far."""
        if not self._handles:
            self.add(np.zeros(self._answer.answer_shape, dtype=np.int64))
        shown = [np.asarray(handle.ask(Intrusion.ANNOUNCED), dtype=np.int64) for handle in self._handles]
        found = np.stack(shown, axis=1)
        self._last = self._last + found if self._answer.is_running else found
        self._handles, self._tick = [], self._tick + 1
        return self._last

    def feed(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the noisy numbers of a tick whose rows come at once."""
        self.add(numbers)
        return self.report()


def check_events(arrivals: Arrivals) -> None:
    """Refuse what a noisy memory cannot bound: how much of a person has counted is exact."""
    if arrivals.table.identifying or arrivals.query.dataset.is_replaced:
        rule = "rows added or removed, for a stream that keeps noisy numbers only: whose rows count would be exact"
        raise InvalidParameter("unit", str(arrivals.query.dataset.unit), rule)
    if not arrivals.is_fed:
        rule = "'frames', for a stream that keeps noisy numbers only: the rows of this one stay where they are read"
        raise InvalidParameter("source", arrivals.table.source, rule)


def plan_seizable(
    query: Query,
    loss: Loss,
    *,
    released: str = RUNNING,
    horizon: int | None = None,
    shares: Mapping[str, Number] | None = None,
) -> SeizableAnswer:
    """Return the release of a query on a stream that keeps noisy numbers only, within a loss for all of its ticks.

    Args:
        query: what is asked.
        loss: the most that one row may lose over all ticks; its epsilon is spent.
        released: "running" for everything since the start, "tick" for each tick by itself.
        horizon: how many ticks there are; by default as the schema declares.
        shares: how the loss is divided among the aggregates, by name; by default equally.

    """
    if released not in (RUNNING, TICK):
        raise InvalidParameter("released", released, f"{RUNNING!r} or {TICK!r}, for a stream that keeps noisy numbers")
    arrivals = Arrivals(query)
    check_events(arrivals)
    steps, cells = steps_of(arrivals.ticks, horizon), len(arrivals.groups)
    if steps is None:
        raise InvalidParameter("horizon", None, "required for a stream that keeps noisy numbers only")
    check_shown(query, is_running=released == RUNNING, cells=cells)
    weights = weights_of(arrivals, check_shares(shares, [one.name for one in query.aggregates]))
    epsilon, all_weights = Purse.pure_within(loss).amount, sum(weights.values())
    counters = tuple(
        PanPrivateCounter.calibrated(
            PureDP(epsilon * weight / all_weights),
            sensitivity=moved_by_unit(
                part, arrivals.ticks, is_running=released == RUNNING, cells=cells, is_replaced=False
            ).most,
            steps=_PIECES,
            every=_PIECES,
            announced=1,
            shape=(cells,),
        )
        for part, weight in weights.items()
    )
    return SeizableAnswer(query=query, steps=steps, released=released, counters=counters)
