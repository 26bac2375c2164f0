"""The largest groups of a stream over time: a list that is told at every tick, and chosen anew when it has to be.

At every tick a sparse vector compares the largest group that is not on the list with the smallest that is, behind a
noisy threshold; each time it says yes buys a fresh choice of the largest groups. After the last of a public number of
choices the list stays. Cost: a draw a tick. Correction: that a list stays the same is an answer as well; comparing goes
through the threshold, and is paid for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Of, whole
from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.top_k import TopK
from dither.privacy import InOrder, Loss, Plan, PureDP, Repeat, Use
from dither.publish.queries.groups import key_kinds
from dither.publish.queries.query import Query
from dither.publish.queries.result import QueryResult, ResultColumn
from dither.publish.streams.arrivals import Arrivals
from dither.publish.streams.asked import StreamAnswer, moved_by_unit, only_counts, steps_of
from dither.publish.streams.present import TICK

#: The word for it at the door.
TOP: Final = "top"
#: For how many ticks the threshold is wide enough, where no end is known.
_LONG: Final = 10_000
#: How often a list is chosen of which that was not kept.
FORMER_CHANGES: Final = 10


def _examples() -> Iterator[Example]:
    from dither.publish.streams.examples import leading_examples

    return leading_examples()


@register(
    examples=_examples,
    source="Differential Privacy under Continual Observation (Dwork, Naor, Pitassi, Rothblum 2010), section 5, for the "
    "threshold; Practical Differentially Private Top-k Selection (Durfee, Rogers 2019) for the choice",
)
@dataclass(frozen=True, kw_only=True)
class LeadingGroups(StreamAnswer):
    """Answer each tick with a list of the largest groups so far, chosen anew where another group has overtaken one.

    Guarantee: streams of rows one unit apart (``query.dataset.unit``) lose what ``test`` loses at the distance by which
    one unit moves a count so far, and as many times what ``choice`` loses there as ``test`` has positives; also if rows
    are chosen by who has seen earlier answers.

    Args:
        query: a count of rows, grouped.
        steps: how many ticks there are; public. None where no end is known.
        test: the sparse vector that compares; its positives cap how often the list is chosen.
        choice: how the list is chosen.

    >>> from dither.publish.streams.examples import COUNT, clinic_stream, stream_query
    >>> sites = stream_query(clinic_stream(persons=False), COUNT, by_site=True)
    >>> plan_leading(sites, PureDP(1), top=1).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "leading-groups"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "after the last choice any group may overtake"
    no_interval_because: ClassVar[str] = "a list has no interval"

    test: Of[AboveThreshold] = Of(
        AboveThreshold, where=lambda test: not test.one_way, rule="an AboveThreshold that is not one-way"
    )
    choice: Of[TopK] = Of(TopK)

    def __post_init__(self) -> None:
        """Refuse a choice that is not one of these groups."""
        only_counts(self.query, TOP)
        if self.choice.candidates != self.cells or self.choice.one_way:
            raise InvalidParameter("choice", self.choice, f"among {self.cells} groups, and not one-way")

    @property
    def is_running(self) -> bool:
        """Groups are compared by all ticks so far."""
        return True

    @property
    def top(self) -> int:
        """How many groups are on the list."""
        chosen: int = self.choice.chosen
        return chosen

    @property
    def shown(self) -> str:
        """What is released of the numbers, in words."""
        return f"as a list of the {self.top} largest so far, at the end of each tick"

    @property
    def answer_shape(self) -> tuple[int, int]:
        """The place of each group on the list, the largest first."""
        return self.top, 1

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the count of a group so far, and the lead of one group over another, at most."""
        moved = self.moved[0]
        return Fraction(moved.most * moved.units * moved.ticks)

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the answers."""
        times = self.test.positives
        said = (
            f"the list is chosen at most {times} times; after that it stays. Before the first it is in declared order"
        )
        return (*super().notes, said)

    def plan(self) -> Plan:
        """Return the test, and a choice for every time that it may say yes."""
        chosen = Repeat(Use(self.choice, self.stability), self.test.positives)
        return InOrder.of(Use(self.test, self.stability), chosen)

    def open(self, data: None, run: Runner) -> LeadingConversation:
        """Return the conversation; ``data`` is None, because ticks arrive one by one."""
        return LeadingConversation(self, run)

    def presented(self, noisy: NDArray[np.int64], first: int, confidence: Fraction, receipt: str) -> QueryResult:
        """Return released ticks as a table: a row for each tick and place on the list."""
        arrivals = self.arrivals
        rows = tuple(
            (arrivals.ticks.begin(first + tick), place + 1, *arrivals.groups[int(group)])
            for tick, found in enumerate(noisy)
            for place, group in enumerate(found[:, 0].tolist())
        )
        kinds = [(key.name, kind.value) for key, kind in zip(self.query.keys, key_kinds(self.query), strict=True)]
        columns = [ResultColumn(name, kind, is_key=True) for name, kind in ((TICK, "timestamp"), *kinds)]
        place = ResultColumn(
            "place", "integer", is_key=False, estimand="the place on the list, 1 for the largest group"
        )
        none = tuple((None,) * (len(columns) + 1) for _ in rows)
        return QueryResult(
            columns=(columns[0], place, *columns[1:]),
            rows=rows,
            low=none,
            high=none,
            confidence=confidence,
            is_simultaneous=False,
            loss=self.loss(1),
            unit=str(self.distance),
            notes=(*self.notes, *self._never_chosen(noisy, first)),
            receipt=receipt,
            raw=rows,
        )

    def _never_chosen(self, noisy: NDArray[np.int64], first: int) -> Iterator[str]:
        """Say up to when a list is that of the start, as far as the released lists tell."""
        is_first = (noisy[:, :, 0] == np.arange(self.top)).all(axis=1)
        many = len(is_first) if is_first.all() else int(np.argmin(is_first))
        if not many or self.top == self.cells:
            return
        start = "the first groups in declared order, for any counts"
        if many == len(is_first):
            lead = f"a group has to lead by about {self.test.threshold} rows"
            yield f"NOT CHOSEN YET: no other list than that of the start was chosen so far: {start}; {lead}"
        else:
            yield f"NOT CHOSEN before {self.arrivals.ticks.begin(first + many)}: up to then {start}"


class LeadingConversation:
    """The conversation of ``LeadingGroups``."""

    def __init__(self, answer: LeadingGroups, run: Runner) -> None:
        self._answer, self._run = answer, run
        self._test = run.open(answer.test, stability=answer.stability)
        self._counts = np.zeros(answer.cells, dtype=np.int64)
        self._list = np.arange(answer.top)

    @quietly
    def feed(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the list, chosen anew where a group that is not on it leads by more than the threshold."""
        answer, limit = self._answer, LARGEST_VALUE // self._answer.most_ticks
        self._counts = self._counts + np.clip(numbers[:, 0], -limit, limit)
        is_listed = np.zeros(answer.cells, dtype=bool)
        is_listed[self._list] = True
        if not self._test.is_over and not is_listed.all():
            lead = int(self._counts[~is_listed].max()) - int(self._counts[is_listed].min())
            if self._test.ask(lead):
                chosen = self._run(answer.choice, self._counts, stability=answer.stability)
                self._list = np.atleast_1d(np.asarray(chosen, dtype=np.int64))
        return self._list[:, None].copy()


def plan_leading(
    query: Query,
    loss: Loss,
    *,
    top: int,
    changes: int | None = None,
    threshold: int | None = None,
    horizon: int | None = None,
) -> LeadingGroups:
    """Return the list of the largest groups of a query on a stream, within a loss for all of its ticks.

    Half of the loss is for comparing, half for choosing.

    Args:
        query: a count of rows, grouped.
        loss: the most that one unit may lose over all ticks; its epsilon is spent.
        top: how many groups are on the list.
        changes: how often the list is chosen at most; by default half the number of times that one tick is doubled to
            make all of them: lists settle as counts grow.
        threshold: by how much a group has to lead before the list is chosen anew; by default so much that the noise of
            the comparison alone takes a quarter of the changes, and that of a choice seldom the next one.
        horizon: how many ticks there are; by default as the schema declares.

    """
    only_counts(query, TOP)
    arrivals = Arrivals(query)
    steps, cells = steps_of(arrivals.ticks, horizon), len(arrivals.groups)
    moved = moved_by_unit(
        arrivals.measured[0], arrivals.ticks, is_running=True, cells=cells, is_replaced=query.dataset.is_replaced
    )
    far = Fraction(moved.most * moved.units * moved.ticks)
    chosen, long = whole("top", top, least=1, most=cells), steps or _LONG
    usual = max(1, long.bit_length() // 2)
    times = whole("changes", usual if changes is None else changes, least=1, most=2**16)
    epsilon = Purse.pure_within(loss).amount
    half = PureDP(epsilon / 2)
    # The last candidate left costs nothing.
    scale = 2 * far * max(1, min(chosen, cells - 1)) * times / (epsilon / 2)
    if threshold is None:
        draft = AboveThreshold.calibrated(half, threshold=0, sensitivity=far, positives=times)
        # A list that the noise of its choice has made wrong would be chosen anew at once, and so until none is left.
        by_choice = float(scale) * (1 + math.log(cells))
        threshold = math.ceil(max(by_choice, float(draft.query_scale) * math.log(max(1.0, 2 * long / times))))
    test = AboveThreshold.calibrated(
        half, threshold=whole("threshold", threshold, least=0), sensitivity=far, positives=times
    )
    return LeadingGroups(query=query, steps=steps, test=test, choice=TopK(candidates=cells, chosen=chosen, scale=scale))


def former_terms(query: Query, loss: Loss, *, top: int, changes: int, horizon: int | None) -> dict[str, int]:
    """Return the terms of a list that were not kept when it was opened: such a list goes on by these.

    Args:
        query: a count of rows, grouped.
        loss: the most that one unit may lose over all ticks.
        top: how many groups are on the list.
        changes: how often the list is chosen at most.
        horizon: how many ticks there are.

    """
    draft = plan_leading(query, loss, top=top, changes=changes, threshold=0, horizon=horizon)
    threshold = math.ceil(float(draft.test.query_scale) * math.log(2 * (draft.steps or _LONG)))
    return {"top": top, "changes": changes, "threshold": threshold}
