"""iReduct: answers with small relative error, by reducing the noise where answers are small.

For batches of counts of very different size, where what matters is the error as a share of the answer. All queries
start with much noise; the released answers say where less noise helps most; there the noise is reduced by the coupling
of noise reduction, so that all answers of a query together tell no more than the last one. Cost: one draw for each
query and level, and a step for each reduction. Corrections: textbooks explain the saving by parallel composition, and
fresh noise at every step would cost the sum of all steps; the source couples continuous noise, here it is discrete and
exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, lcm
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import FAR, Number, Of, Positive, non_negative, whole
from dither.mechanisms.core.additive import FallingScales
from dither.mechanisms.core.coupled import coupled_levels
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray, saturating_sum
from dither.privacy import L1, Loss, Metric, PureDP
from dither.publish.workloads.mechanism import WHOLE_NUMBERS, is_whole
from dither.publish.workloads.workload import Workload

_MOST_LEVELS = 64
#: So that every entry is a float without rounding.
_LARGEST_ROW = 2**50


def _examples() -> Iterator[Example]:
    one = IReduct(workload=Workload.total(2), scales=(2, 1), epsilon=1, floor=1)
    yield Example(one, np.array([0, 1]))
    both = IReduct(workload=Workload.matrix_of([[1, 0], [1, 1]]), scales=(4, 2, 1), epsilon=1, floor=1)
    yield Example(both, np.array([0, 9]))


@register(
    examples=_examples,
    source="iReduct: Differential Privacy with Reduced Relative Errors (Xiao, Bender, Hay, Gehrke 2011); Differential "
    "Privacy and Applications (Zhu et al. 2017), section 5.1.4",
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class IReduct(Primitive[Any, Any]):
    """Answer queries with noise that is reduced step by step where the released answers are small.

    Guarantee: counts ``d_in`` apart in L1 lose ``epsilon * d_in``, whatever was reduced.

    One row of the answers, and one row of the number of the level that each has reached.

    Args:
        workload: queries with integer entries; public.
        scales: the levels of noise, coarse to fine, the same for all queries.
        epsilon: no column's sum of |entry| / scale, over the queries at their levels, exceeds this.
        floor: smaller answers count as this when relative errors are compared.

    >>> workload = Workload.matrix_of([[1, 0], [1, 1]])
    >>> IReduct(workload=workload, scales=(4, 2, 1), epsilon=1, floor=1).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "ireduct"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "which queries lose their noise depends on the answers"
    no_interval_because: ClassVar[str] = (
        "where reduction stops depends on the answers, which makes intervals too narrow"
    )

    workload: Of[Workload] = Of(Workload, where=is_whole, rule=WHOLE_NUMBERS)
    scales: FallingScales = FallingScales(most=_MOST_LEVELS)
    epsilon: Positive = Positive()
    floor: Positive = Positive(least=Fraction(1, FAR), most=FAR)

    def __post_init__(self) -> None:
        if self.workload.queries * self.workload.cells > 2**24:
            raise InvalidParameter(
                "workload", f"{self.workload.queries} x {self.workload.cells}", "of at most 2^24 entries"
            )
        if self.workload.matrix.row_bound > _LARGEST_ROW:
            raise InvalidParameter("workload", "a row with a sum above 2^50", "one whose rows add up to at most 2^50")
        if self.workload.sensitivity(L1) == 0:
            raise InvalidParameter("workload", "zeros", "one with an entry other than 0")
        if self.workload.sensitivity(L1) / self.scales[0] > self.epsilon:
            raise InvalidParameter("scales", str(self.scales[0]), "coarse enough at first for epsilon")

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, workload: Workload, floor: Number, levels: int = 8
    ) -> Self:
        """Return levels from twice the noise of equal shares downwards, each with two thirds of the previous noise.

        Args:
            within: a pure loss not to exceed.
            sensitivity: how far the counts move in L1 per unit of data.
            workload: queries with integer entries.
            floor: smaller answers count as this.
            levels: how many levels there are.

        """
        purse = Purse.within(within).per(sensitivity)
        even = purse.geometric_noise(workload.sensitivity(L1)).scale
        count = whole("levels", levels, least=2, most=_MOST_LEVELS)
        scales = tuple(2 * even / Fraction(3, 2) ** level for level in range(count))
        return cls(workload=workload, scales=scales, epsilon=purse.amount, floor=floor)

    @property
    def distance(self) -> Metric:
        """L1 on counts."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """Counts of the workload's domain."""
        return IntegerArray(self.workload.domain)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """Answers above levels."""
        return (2, self.workload.queries)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon times the distance."""
        return PureDP(self.epsilon * non_negative("d_in", d_in))

    def draw_many(self, value: Any, count: int, noise: Any) -> NDArray[Any]:
        """Return draws: first all levels of noise, fine to coarse, then the reduction driven by the shown answers."""
        limit = max(1, floor(LARGEST_VALUE / self.workload.matrix.row_bound))
        counts = np.clip(self.domain.admit(value), -limit, limit)
        exact = self.workload.matrix.times(counts.reshape(-1, 1))[:, 0]
        size = count * self.workload.queries
        drawn = coupled_levels(self.scales, size, noise)
        levels = [saturating_sum(exact, each.reshape(count, -1)) for each in drawn]
        shown = np.stack(levels, axis=1)
        return np.stack([self._reduce(each) for each in shown])

    def _reduce(self, shown: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the answers and levels at which the reduction ends; levels not yet reached are not looked at."""
        queries = np.arange(self.workload.queries)
        level = np.zeros(self.workload.queries, dtype=np.int64)
        load, room = self._rates[0] * self._absolute.sum(axis=0), self._room
        is_open = np.full(level.size, len(self.scales) > 1)
        scales = np.array([float(scale) for scale in self.scales])
        while is_open.any():
            answers = np.maximum(np.abs(shown[level, queries]).astype(np.float64), float(self.floor))
            following = np.minimum(level + 1, len(scales) - 1)
            gain = (scales[level] - scales[following]) / answers
            price = self._weight * (1 / scales[following] - 1 / scales[level])
            worth = np.where(is_open, gain / np.maximum(price, 1e-300), -np.inf)
            best = int(np.argmax(worth))
            heavier = load + self._absolute[best] * (self._rates[level[best] + 1] - self._rates[level[best]])
            if int(heavier.max()) > room:
                is_open[best] = False
                continue
            load, level[best] = heavier, level[best] + 1
            is_open[best] = level[best] + 1 < len(scales)
        return np.stack([shown[level, queries], level])

    @cached_property
    def _absolute(self) -> NDArray[Any]:
        """The absolute entries of the workload, as Python integers, so that comparisons with epsilon are exact."""
        return np.abs(np.rint(self.workload.matrix.dense()).astype(np.int64)).astype(object)

    @cached_property
    def _weight(self) -> NDArray[np.float64]:
        """The share of the most expensive column that each query can take."""
        return np.asarray(np.maximum(self._absolute.max(axis=1).astype(np.float64), 1e-300))

    @cached_property
    def _step(self) -> int:
        return lcm(self.epsilon.denominator, *((1 / scale).denominator for scale in self.scales))

    @cached_property
    def _rates(self) -> list[int]:
        """One over every scale, in integer steps."""
        return [int(self._step / scale) for scale in self.scales]

    @property
    def _room(self) -> int:
        """Epsilon in integer steps."""
        return int(self._step * self.epsilon)
