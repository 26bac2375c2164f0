"""The geometric mechanism with public bounds: add discrete Laplace noise, and clamp the sum to the value's range.

For counts and ratings with a known range. Clamping is post-processing, so it costs nothing, and the error only falls;
the ends of the range then carry the probability of all that lies beyond. Cost: one pass over the entries. Correction:
noise that is drawn again until the sum falls within the bounds is another law, which is not private at this price.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Whole, non_negative, positive
from dither.mechanisms.core.accuracy import discrete_laplace_reach
from dither.mechanisms.core.additive import Additive, DiscreteScale
from dither.mechanisms.core.mechanism import Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import L1, Loss, Metric, PureDP, laplace_scale


def _examples() -> Iterator[Example]:
    yield Example(BoundedGeometric(scale=1, low=0, high=20), 3)
    yield Example(BoundedGeometric(scale="1/3", low=-5, high=5), 7)
    yield Example(BoundedGeometric(scale=100, low=0, high=1000, shape=(2, 2)), np.array([[1, 2], [3, 2**62]]))


@dataclass(frozen=True)
class BoundedIntegers(IntegerArray):
    """Integers of a public shape within public bounds; an integer beyond them is moved to the nearest bound."""

    low: int = -LARGEST_VALUE
    high: int = LARGEST_VALUE

    def admit(self, value: Any) -> NDArray[np.int64]:
        """Return a flat int64 array within the bounds."""
        return np.clip(super().admit(value), self.low, self.high)


@register(
    examples=_examples,
    source="Universally Utility-Maximizing Privacy Mechanisms (Ghosh, Roughgarden, Sundararajan 2009), section 2",
)
@dataclass(frozen=True, kw_only=True)
class BoundedGeometric(Additive):
    """Add discrete Laplace noise to integers in a known range, and clamp the sums to that range.

    Guarantee: integers ``d_in`` apart in L1 lose epsilon = ``d_in / scale``, and never more than the whole range of
    all entries loses.

    Args:
        scale: P[noise = x] is proportional to e^(-|x| / scale).
        low: the least value; public. A smaller one counts as this.
        high: the largest value; public. A larger one counts as this.
        shape: the shape of the value; ``()`` is one integer.

    >>> BoundedGeometric(scale=2, low=0, high=5).loss(1), BoundedGeometric(scale=2, low=0, high=5).loss(100)
    (PureDP('1/2'), PureDP('5/2'))
    >>> print(BoundedGeometric(scale=2, low=0, high=5).error(0.95))
    the absolute error is at most 5 with probability 0.95

    """

    name: ClassVar[str] = "bounded-geometric"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    scale: DiscreteScale = DiscreteScale()
    low: Whole = Whole(least=-LARGEST_VALUE, most=LARGEST_VALUE)
    high: Whole = Whole(least=-LARGEST_VALUE, most=LARGEST_VALUE)

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidParameter("high", self.high, f"above low, {self.low}")

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, low: int, high: int, shape: tuple[int, ...] = ()
    ) -> BoundedGeometric:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` is within ``within``."""
        plain = cls(scale=1, low=low, high=high, shape=shape)
        distance = plain.farthest(positive("sensitivity", sensitivity))
        return cls(scale=laplace_scale(within, distance), low=low, high=high, shape=shape)

    @property
    def distance(self) -> Metric:
        """L1."""
        return L1

    @property
    def domain(self) -> BoundedIntegers:
        """Integers of the declared shape, within the bounds."""
        return BoundedIntegers(self.draw_shape, self.low, self.high)

    def farthest(self, d_in: Fraction) -> Fraction:
        """Return the largest distance, once clamped to the bounds, between values ``d_in`` apart."""
        return min(d_in, Fraction((self.high - self.low) * math.prod(self.draw_shape)))

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale, with d_in capped at the largest distance that the bounds allow."""
        return PureDP(self.farthest(non_negative("d_in", d_in)) / self.scale)

    def reach(self, failure: float) -> int:
        """Return the reach of the noise, or the whole range if that is less."""
        return min(discrete_laplace_reach(self.scale, failure), self.high - self.low)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals of the clamped values: the noise's reach around the released numbers, within the bounds."""
        around = super().interval(out, confidence)
        low, high = (np.clip(end, self.low, self.high) for end in (around.low, around.high))
        one = isinstance(out, int)
        return Interval(int(low) if one else low, int(high) if one else high, around.confidence)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of value + X, clamped to the bounds."""
        values = self.domain.admit(value)
        drawn = noise.discrete_laplace(self.scale, count * values.size).reshape(count, values.size)
        return np.clip(saturating_sum(values, drawn), self.low, self.high).reshape(count, *self.draw_shape)
