"""Noisy local sensitivity: release a bound on how far a value moves here, then the value with noise for that bound.

For values whose local sensitivity itself moves little, where a small delta is allowed, and where the reader needs an
interval: the width of the noise is released with the value. Cost: two or three draws. Correction: the printed bounds
are for continuous noise, and for values whose bound depends on a third one they leave the scale of the second draw to
the reader; here all three are one mechanism on the integers, with one delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, Probability, Whole, log_up, non_negative, probability
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.mechanism import Interval, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_SUM, IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import NOTHING, ApproxDP, Loss, Metric
from dither.privacy.calibration import plain_approx

#: Released bounds keep this many binary digits: widths are few, and noise is drawn for many values at once.
_DIGITS = 6
_LARGEST_BASE = 2**26
_LARGEST_BOUND = 2**59
_LONGEST_CHAIN = 64


def growth(base: int, factor: int, order: int, most: int) -> int:
    """Return factor * C(base, order) between 1 and ``most``: how far one change moves the bound.

    >>> growth(10, 4, 1, 1000), growth(0, 4, 1, 1000), growth(10, 1, 0, 1000)
    (40, 1, 1)
    """
    return min(max(factor * math.comb(max(base, 0), order), 1), most)


class LocalTriples(Metric):
    """The number of neighbouring steps that lead from one value, bound and base to another.

    Neighbours have values no farther apart than either bound, bounds no farther apart than ``growth`` of either base,
    and bases at most 1 apart. Bounds below 1 count as 1. Without an order bases do not count.

    >>> metric = LocalTriples(4, 1, 1000)
    >>> metric.measure([50, 9, 2], [59, 9, 3]), metric.measure([0, 0, 0], [2, 2, 1])
    (Fraction(1, 1), Fraction(2, 1))
    """

    def __init__(self, factor: int, order: int, most: int) -> None:
        super().__init__("LOCAL", "the steps between neighbouring triples of a value, its bound and a base of that")
        self._facts = (factor, order, most)

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the least number of steps; None where that is above 64, or inputs are no triples."""
        if (np.shape(first), np.shape(second)) != ((3,), (3,)):
            return None
        (value, bound, base), (other, bound_there, base_there) = (self._read(each) for each in (first, second))
        if (value, bound, base) == (other, bound_there, base_there):
            return Fraction(0)
        for steps in range(1, _LONGEST_CHAIN + 1):
            if abs(base - base_there) > steps:
                continue
            # On the way base and bound are as large as both ends allow.
            bases = [min(base + step, base_there + steps - step) for step in range(steps + 1)]
            moves = [growth(min(bases[step : step + 2]), *self._facts) for step in range(steps)]
            if abs(bound - bound_there) > sum(moves):
                continue
            bounds = [min(bound + sum(moves[:step]), bound_there + sum(moves[step:])) for step in range(steps + 1)]
            if abs(value - other) <= sum(min(bounds[step : step + 2]) for step in range(steps)):
                return Fraction(steps)
        return None

    def _read(self, given: Any) -> tuple[int, int, int]:
        value, bound, base = (int(each) for each in np.asarray(given, dtype=object))
        _, order, most = self._facts
        return value, min(max(bound, 1), most), min(max(base, 0), _LARGEST_BASE) if order else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalTriples) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts)


def _examples() -> Iterator[Example]:
    flat = NoisyLocal(most=50, bound_scale=2, value_scale=2, delta="1/1000000")
    yield Example(flat, [7, 3, 0], (([7, 3, 0], [10, 4, 0], 1), ([0, 0, 0], [0, 2, 0], 1), ([0, 0, 0], [3, 3, 5], 2)))
    steep = NoisyLocal(most=900, factor=4, order=1, base_scale=3, bound_scale=3, value_scale=3, delta="1/1000000")
    yield Example(steep, [90, 20, 5], (([90, 20, 5], [70, 40, 6], 1), ([0, 0, 0], [1, 1, 1], 1)))


@register(
    examples=_examples,
    source="Private Analysis of Graph Structure (Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011), section 4; "
    "Differential Privacy and Applications (Zhu et al. 2017), sections 4.4.1 and 9.3.2",
)
@dataclass(frozen=True, kw_only=True)
class NoisyLocal(Primitive[Any, Any]):
    """Release a noisy value, a bound on its local sensitivity by which the noise is scaled, and the bound's own base.

    The input is a value, a bound on how far it moves from here, and the base by which that bound is bounded in turn:
    one change moves the base by at most 1, the bound by at most ``factor * C(base, order)`` and the value by at most
    the bound, of either of two neighbours. With ``order`` 0 the bound moves by at most ``factor``, and the base is
    left alone.

    Guarantee: neighbours lose epsilon = ``1 / bound_scale + 1 / value_scale``, with ``1 / base_scale`` added where the
    order is above 0, and ``delta``; chains of ``d_in`` neighbours lose that as a group.

    Args:
        most: no change moves the value by more, anywhere; public.
        factor: of the growth.
        order: of the growth.
        base_scale: the scale of the discrete Laplace noise of the base.
        bound_scale: that of the bound, for a growth of 1.
        value_scale: that of the value, for a bound of 1.
        delta: the probability that a released bound is below the true one.

    >>> NoisyLocal(most=98, bound_scale=4, value_scale=2, delta="1e-6").loss(1)
    ApproxDP('3/4', '1/1000000')

    """

    name: ClassVar[str] = "noisy-local"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the width of the noise is released with the value, and not known before"

    most: Whole = Whole(least=1, most=_LARGEST_BOUND)
    factor: Whole = Whole(1, least=1, most=2**20)
    order: Whole = Whole(0, most=16)
    base_scale: Positive = Positive(1, least=Fraction(1, 2**30), most=2**30)
    bound_scale: Positive = Positive(least=Fraction(1, 2**30), most=2**30)
    value_scale: Positive = Positive(least=Fraction(1, 2**30), most=2**30)
    delta: Probability = Probability()

    def __post_init__(self) -> None:
        if not self.delta > 0:
            raise InvalidParameter("delta", str(self.delta), "a number in (0, 1)")

    @classmethod
    def calibrated(cls, within: Loss, *, most: int, factor: int = 1, order: int = 0) -> Self:
        """Return the mechanism within a loss with a delta: half or more of epsilon for the value.

        Args:
            within: what neighbours may lose.
            most: no change moves the value by more.
            factor: of the growth of the bound.
            order: of that growth.

        """
        wanted = plain_approx(within)
        shares = ("1/8", "3/8", "1/2") if order else ("1", "1/5", "4/5")
        base, bound, value = (1 / (Fraction(share) * wanted.epsilon) for share in shares)
        return cls(
            most=most,
            factor=factor,
            order=order,
            base_scale=base if order else 1,
            bound_scale=bound,
            value_scale=value,
            delta=wanted.delta,
        )

    @property
    def distance(self) -> Metric:
        """The number of neighbouring steps between triples."""
        return LocalTriples(self.factor, self.order, self.most)

    @property
    def domain(self) -> IntegerArray:
        """A value, a bound and a base; what is out of range is the nearest in range."""
        return IntegerArray((3,))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The noisy value, the bound by which its noise was scaled, and the base."""
        return (3,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the sum of the parts' epsilons and the delta; for several steps that of a group."""
        units = non_negative("d_in", d_in)
        if units == 0:
            return NOTHING
        epsilon = 1 / self.bound_scale + 1 / self.value_scale + (1 / self.base_scale if self.order else 0)
        return ApproxDP(epsilon, self.delta).group(math.ceil(units))

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the reach of the noise around the value, by the bound that was released."""
        wanted = probability("confidence", confidence, open_below=True)
        width = min(max(int(out[1]), 1), self.most) * self.value_scale
        around = min(discrete_laplace_reach(width, share_of_failure(wanted)), LARGEST_SUM)
        return Interval(int(out[0]) - around, int(out[0]) + around, wanted)

    @cached_property
    def _margins(self) -> tuple[Fraction, Fraction]:
        """How far the base, and the bound for a growth of 1, are raised: noise is below that with the rest of delta."""
        parts = 2 if self.order else 1
        logarithm = log_up(parts / Fraction(self.delta))
        return self.base_scale * logarithm, self.bound_scale * logarithm

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return rows of [value + X, bound, base], drawn from the base to the value."""
        start, bound, base = (int(each) for each in self.domain.admit(value))
        raised, lifted = self._margins
        drawn = np.empty((count, 3), dtype=object)
        drawn[:, 2] = 0
        if self.order:
            near = saturating_sum(
                np.full(count, min(max(base, 0), _LARGEST_BASE)), noise.discrete_laplace(self.base_scale, count)
            )
            drawn[:, 2] = [min(max(int(each) + math.ceil(raised), 0), _LARGEST_BASE) for each in near.tolist()]
        for found in sorted(set(drawn[:, 2].tolist())):
            rows = np.flatnonzero(drawn[:, 2] == found)
            moves = growth(found, self.factor, self.order, self.most)
            noisy = noise.discrete_laplace(moves * self.bound_scale, len(rows))
            margin = min(max(bound, 1), self.most) + math.ceil(moves * lifted)
            drawn[rows, 1] = [min(_shortened(max(margin + int(each), 1)), self.most) for each in noisy.tolist()]
        for width in sorted(set(drawn[:, 1].tolist())):
            rows = np.flatnonzero(drawn[:, 1] == width)
            here = np.full(len(rows), start, dtype=np.int64)
            drawn[rows, 0] = saturating_sum(here, noise.discrete_laplace(width * self.value_scale, len(rows)))
        return drawn


def _shortened(number: int) -> int:
    """Return the least integer with few binary digits that is not below a positive one.

    >>> _shortened(63), _shortened(65), _shortened(1000)
    (63, 66, 1008)
    """
    spare = max(number.bit_length() - _DIGITS, 0)
    return -(-number >> spare) << spare
