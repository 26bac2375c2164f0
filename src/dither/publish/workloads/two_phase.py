"""TwoPhase: rough answers first, then answers whose noise suits their size.

The baseline of iReduct: one part of the loss buys rough answers of all queries, the rest answers in which small ones
get less noise. For batches of counts of very different size. Cost: two draws. Correction: the second draw is one vector
of whole multiples with noise of one scale, so that its price is fixed in advance, whatever the rough answers were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import FAR, Number, Of, Positive, Whole, positive, probability
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import Purse, one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.workloads.matrices import Floats
from dither.publish.workloads.mechanism import WHOLE_NUMBERS, is_whole, neighbours_of
from dither.publish.workloads.workload import Workload

_LARGEST_ROW = 2**40


def _examples() -> Iterator[Example]:
    few = TwoPhase(
        workload=Workload.matrix_of([[1, 0], [1, 1]]),
        rough=Geometric(scale=4),
        noise=Geometric(scale=32),
        steps=8,
        floor=1,
    )
    yield Example(few, np.array([0, 9]), neighbours_of((2,)))


@register(
    examples=_examples,
    source="iReduct: Differential Privacy with Reduced Relative Errors (Xiao, Bender, Hay, Gehrke 2011), the baseline; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.4",
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class TwoPhase(Composed[Any, Any]):
    """Answer queries twice: roughly, then with noise chosen from the rough answers, less for small answers.

    Guarantee: counts ``d_in`` apart in L1 lose what ``rough`` loses at ``d_in`` times the workload's sensitivity, and
    what ``noise`` loses at ``d_in`` times ``steps`` times that sensitivity.

    One row of the answers, and one row of the integer by which each was multiplied before noise was added.

    Args:
        workload: queries with integer entries; public.
        rough: the noise of a rough answer.
        noise: the noise of a multiplied answer.
        steps: multiples are integers whose weighted sums over queries average at most this, in every column.
        floor: smaller answers count as this when relative errors are compared.

    >>> from dither.privacy import PureDP
    >>> few = Workload.matrix_of([[1, 0], [1, 1]])
    >>> TwoPhase.calibrated(PureDP(1), sensitivity=1, workload=few, floor=1).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "two-phase"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = (
        "how the noise is shared depends on the answers; an interval comes with the release"
    )

    workload: Of[Workload] = Of(Workload, where=is_whole, rule=WHOLE_NUMBERS)
    rough: Of[Geometric] = Of(Geometric, **one_number(Geometric))
    noise: Of[Geometric] = Of(Geometric, **one_number(Geometric))
    steps: Whole = Whole(least=2, most=2**10)
    floor: Positive = Positive(least=Fraction(1, FAR), most=FAR)

    def __post_init__(self) -> None:
        if self.workload.queries * self.workload.cells > 2**24 or self.workload.matrix.row_bound > _LARGEST_ROW:
            found = f"{self.workload.queries} x {self.workload.cells}"
            raise InvalidParameter("workload", found, "of at most 2^24 entries, with rows that add up to at most 2^40")
        if self.workload.sensitivity(L1) == 0:
            raise InvalidParameter("workload", "zeros", "one with an entry other than 0")
        if self._reach > LARGEST_VALUE:
            found = f"{self.stability} x {self.steps} x {self.workload.cells}"
            raise InvalidParameter("workload", found, "one whose sensitivity x steps x cells is at most 2^60")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        sensitivity: Number,
        workload: Workload,
        floor: Number,
        share: Number = "1/4",
        steps: int = 64,
    ) -> Self:
        """Return the mechanism whose loss at ``sensitivity`` is within a pure ``within``.

        Args:
            within: a pure loss not to exceed.
            sensitivity: how far the counts move in L1 per unit of data.
            workload: queries with integer entries.
            floor: smaller answers count as this.
            share: how much of the loss the rough answers take.
            steps: how finely the noise is shared out.

        """
        purse, part = Purse.within(within), probability("share", share, open_below=True)
        reach = workload.sensitivity(L1) * positive("sensitivity", sensitivity)
        rough, noise = purse.share(part).geometric_noise(reach), purse.share(1 - part).geometric_noise(reach * steps)
        return cls(workload=workload, rough=rough, noise=noise, steps=steps, floor=floor)

    @property
    def distance(self) -> Metric:
        """L1 on counts."""
        return L1

    @property
    def first(self) -> Geometric:
        """The noise for all rough answers."""
        return replace(self.rough, shape=(self.workload.queries,))

    @property
    def second(self) -> Geometric:
        """The noise for all multiplied answers."""
        return replace(self.noise, shape=(self.workload.queries,))

    @cached_property
    def stability(self) -> Fraction:
        """How far the answers move when one count moves by 1."""
        return self.workload.sensitivity(L1)

    @property
    def _reach(self) -> int:
        """The largest multiplied answer for counts of 1: ``steps`` times the sensitivity for each cell."""
        return ceil(self.stability) * self.steps * self.workload.cells

    def plan(self) -> Plan:
        """Rough answers, then multiplied ones, which move by at most ``steps`` times as much."""
        return InOrder.of(Use(self.first, self.stability), Use(self.second, self.stability * self.steps))

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the answers, and their multiples."""
        limit = LARGEST_VALUE // self._reach
        counts = np.clip(IntegerArray(self.workload.domain).admit(data), -limit, limit)
        exact = self.workload.matrix.times(counts.reshape(-1, 1))[:, 0]
        seen = np.asarray(run(self.first, exact, stability=self.stability), dtype=np.float64)
        multiples = self.multiples(seen)
        noisy = run(self.second, exact * multiples, stability=self.stability * self.steps)
        return np.stack([np.asarray(noisy, dtype=np.float64) / multiples, multiples.astype(np.float64)])

    def multiples(self, rough: Floats) -> NDArray[np.int64]:
        """Return a positive integer for each query, proportional to one over the root of its rough answer.

        Guarantee: no column of the workload, its rows multiplied so, has a sum above ``steps`` times the sensitivity.
        """
        wanted = 1 / np.sqrt(np.maximum(np.abs(rough), float(self.floor)))
        room = int(self.stability) * (self.steps - 1)
        # At first what fits in real numbers; rounding down, and less where floats were too optimistic.
        factor = room / max(float((wanted @ self._absolute.astype(np.float64)).max()), 1e-300)
        while True:
            more = np.floor(np.minimum(wanted * factor, room)).astype(np.int64)
            load = more.astype(object) @ self._absolute
            if int(load.max()) <= room:
                return self._filled(more, load, room, np.argsort(-wanted, kind="stable")) + 1
            factor *= 0.999

    def _filled(self, more: NDArray[np.int64], load: Any, room: int, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the multiples, raised as far as their own columns leave room, small answers first."""
        for query in order.tolist():
            row = self._absolute[query]
            touched = np.flatnonzero(row)
            if touched.size:
                step = min((room - load[cell]) // row[cell] for cell in touched.tolist())
                more[query] += step
                load = load + row * step
        return more

    @cached_property
    def _absolute(self) -> NDArray[Any]:
        """The absolute entries of the workload, as Python integers."""
        return np.abs(np.rint(self.workload.matrix.dense()).astype(np.int64)).astype(object)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals for all answers at once: given the multiples, the noise is that of the second draw."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = discrete_laplace_reach(self.noise.scale, share_of_failure(wanted, self.workload.queries))
        width = np.stack([reach / out[1], np.zeros(len(out[1]))])
        return Interval(out - width, out + width, wanted)
