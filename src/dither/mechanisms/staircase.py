"""The staircase mechanism: the noise of least expected magnitude for one integer under pure differential privacy.

For one number whose sensitivity is large compared with the noise that is wanted, at an epsilon of 2 and more; below
that, and for arrays, geometric noise is as good or better. Cost: one pass over the entries. The noise lives on the
integers: for real numbers put each record on a grid first, and count the sensitivity in its steps.
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
from dither.exact import Number, Positive, Whole, non_negative, positive
from dither.mechanisms.core.additive import Additive
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import IntegerArray, saturating_sum
from dither.noise import Noise
from dither.noise.source import LARGEST_SCALE, SMALLEST_SCALE
from dither.privacy import L1, Loss, Metric, PureDP, laplace_scale

# Probabilities are widened by this share, far above the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9


def _examples() -> Iterator[Example]:
    yield Example(Staircase(epsilon=1, sensitivity=3, width=1), 0)
    yield Example(Staircase(epsilon=2, sensitivity=1, width=1), 7)
    yield Example(Staircase(epsilon="1/2", sensitivity=4, width=2, shape=2), np.array([1, 2**62]))


@register(
    examples=_examples,
    source="The Optimal Mechanism in Differential Privacy (Geng, Viswanath 2014), section on integer-valued queries",
)
@dataclass(frozen=True, kw_only=True)
class Staircase(Additive):
    """Add staircase noise to integers: its probabilities fall by a factor e^-epsilon every ``sensitivity`` steps.

    Guarantee: integers at most ``sensitivity`` apart lose ``epsilon``, and integers ``d_in`` apart
    ``epsilon * ceil(d_in / sensitivity)``. In an array every entry that moves pays at least ``epsilon``.

    P[noise = x] is proportional to e^(-epsilon * floor((|x| + sensitivity - width) / sensitivity)).

    Args:
        epsilon: the loss at the distance ``sensitivity``.
        sensitivity: the width of a stair: how far the value moves, a public integer.
        width: how far the flat centre reaches: |x| < width.
        shape: the shape of the value; ``()`` is one integer.

    >>> Staircase(epsilon=1, sensitivity=10, width=4).loss(10)
    PureDP('1')
    >>> print(Staircase(epsilon=1, sensitivity=10, width=4).error(0.95))
    the absolute error is at most 30 with probability 0.95

    """

    name: ClassVar[str] = "staircase"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    epsilon: Positive = Positive()
    sensitivity: Whole = Whole(least=1, most=2**60)
    width: Whole = Whole(least=1)

    def __post_init__(self) -> None:
        if not SMALLEST_SCALE <= 1 / self.epsilon <= LARGEST_SCALE:
            raise InvalidParameter("epsilon", str(self.epsilon), "between 2^-1000 and 2^40")
        if self.width > self.sensitivity:
            raise InvalidParameter("width", self.width, f"at most the sensitivity, {self.sensitivity}")

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, width: int | None = None, shape: tuple[int, ...] = ()
    ) -> Staircase:
        """Return the mechanism whose loss at ``sensitivity`` is within ``within``; by default of least expected size.

        Args:
            within: the loss not to exceed.
            sensitivity: how far the value moves, rounded up to an integer.
            width: the reach of the flat centre; by default the one with the least expected absolute noise.
            shape: the shape of the value.

        """
        whole_sensitivity = math.ceil(positive("sensitivity", sensitivity))
        plain = cls(epsilon=1, sensitivity=whole_sensitivity, width=1, shape=shape)
        epsilon = 1 / laplace_scale(within, plain.stairs(whole_sensitivity))
        chosen = best_width(epsilon, whole_sensitivity) if width is None else width
        return cls(epsilon=epsilon, sensitivity=whole_sensitivity, width=chosen, shape=shape)

    @property
    def gamma(self) -> Fraction:
        """The centre's share of a stair, gamma in the literature."""
        return Fraction(self.width, self.sensitivity)

    @property
    def distance(self) -> Metric:
        """L1."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """Integers of the declared shape."""
        return IntegerArray(self.draw_shape)

    def stairs(self, d_in: Number) -> int:
        """Return the largest total number of stairs between integers ``d_in`` apart, over all entries."""
        change = math.ceil(non_negative("d_in", d_in))
        # The worst is one step in every entry that can be moved, and all the rest in one of them.
        moved = min(change, math.prod(self.draw_shape))
        return moved - 1 + -(-(change - moved + 1) // self.sensitivity) if change else 0

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon times the number of stairs."""
        return PureDP(self.epsilon * self.stairs(d_in))

    def reach(self, failure: float) -> int:
        """Return the least x with P[|X| > x] <= failure."""
        high = 1
        while self._beyond(high) * _OUTWARDS > failure:
            high *= 2
        low = -1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._beyond(middle) * _OUTWARDS <= failure else (middle, high)
        return high

    def _beyond(self, x: int) -> float:
        """Return P[|X| > x], to float precision."""
        rate, period = float(self.epsilon), self.sensitivity
        # A whole side beyond the centre weighs period * b / (1 - b), with b = e^-epsilon.
        side = period * _odds(rate)
        total = 2 * self.width - 1 + 2 * side
        if x < self.width:
            return (2 * (self.width - 1 - x) + 2 * side) / total
        stair, place = divmod(x + 1 - self.width, period)
        return 2 * math.exp(-min(rate * stair, 700.0)) * (side - place * math.exp(-min(rate, 700.0))) / total

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of value + X."""
        values = self.domain.admit(value)
        drawn = noise.staircase(self.epsilon, count * values.size, width=self.width, period=self.sensitivity)
        return saturating_sum(values, drawn.reshape(count, values.size)).reshape(count, *self.draw_shape)


def best_width(epsilon: Fraction, sensitivity: int) -> int:
    """Return the width with the least expected absolute noise, found in floats: any width is private.

    >>> best_width(Fraction(1), 1000), best_width(Fraction(8), 1000)
    (378, 18)
    """
    rate = float(epsilon)
    odds = _odds(rate)
    # E|X| is (w^2 + s w + c) / (2 w + s) with these s and c; its derivative is zero at (sqrt(4 c - s^2) - s) / 2.
    s = 2 * sensitivity * odds - 1
    c = 2 * sensitivity * odds * ((sensitivity - 1) / 2 + sensitivity * odds)
    middle = (math.sqrt(max(0.0, 4 * c - s * s)) - s) / 2

    def size(width: int) -> float:
        return (width * width + s * width + c) / (2 * width + s)

    near = {min(max(1, math.floor(middle) + step), sensitivity) for step in (-1, 0, 1, 2)}
    return min(sorted(near), key=size)


def _odds(rate: float) -> float:
    """Return b / (1 - b) for b = e^-rate."""
    return math.exp(-rate) / -math.expm1(-rate) if rate < 700 else 0.0
