"""Truncated discrete Laplace noise: an error of at most a public bound, at the price of a delta.

For counts that must not be off by more than so much, and where a small delta is allowed. Cost: one pass over the
entries. Correction: noise that is drawn again until it falls within the bound has this law, and a delta; it is not
private without one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import NoGuarantee
from dither.exact import Number, Whole, exp_down, exp_up, non_negative, positive, round_up
from dither.mechanisms.core.additive import Additive, DiscreteScale
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_SUM, IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import L1, NOTHING, ApproxDP, Loss, Metric
from dither.privacy.calibration import check_loss

# Beyond this e^x is not worth computing.
_LARGE = 4000


def _examples() -> Iterator[Example]:
    yield Example(TruncatedLaplace(scale=1, bound=8), 0)
    yield Example(TruncatedLaplace(scale=3, bound=6), 7)
    yield Example(TruncatedLaplace(scale=2, bound=30, shape=2), np.array([1, 2**62]))


@register(
    examples=_examples,
    source="Tight Analysis of Privacy and Utility Tradeoff in Approximate Differential Privacy (Geng et al. 2020)",
)
@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace(Additive):
    """Add discrete Laplace noise of at most a public bound to an integer or an array of integers.

    Guarantee: integers ``d_in`` apart in L1 lose epsilon = ``d_in / scale`` with delta the probability of the
    ``d_in`` largest values of the noise; nothing is promised beyond twice the bound.

    Args:
        scale: P[noise = x] is proportional to e^(-|x| / scale).
        bound: the largest noise there is, on both sides.
        shape: the shape of the value; ``()`` is one integer.

    >>> print(TruncatedLaplace(scale=2, bound=40).loss(1))
    epsilon = 0.5, delta = 5.04815e-10
    >>> print(TruncatedLaplace(scale=2, bound=4).error("0.999999"))
    the absolute error is at most 4 with probability 0.999999

    """

    name: ClassVar[str] = "truncated-laplace"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    scale: DiscreteScale = DiscreteScale()
    bound: Whole = Whole(least=1, most=LARGEST_SUM)

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, shape: tuple[int, ...] = ()) -> TruncatedLaplace:
        """Return the mechanism with scale sensitivity / epsilon and the least bound that keeps ``within``."""
        check_loss(within)
        distance = positive("sensitivity", sensitivity)
        if not (isinstance(within, ApproxDP) and within.delta and within.epsilon):
            raise NoGuarantee(f"no truncated noise reaches {within}: it needs an epsilon and a delta")
        scale = distance / within.epsilon

        def keeps(bound: int) -> bool:
            return _delta(scale, bound, math.ceil(distance)) <= within.delta

        low, high = 0, 1
        while not keeps(high):
            low, high = high, 2 * high
            if high > LARGEST_SUM:
                raise NoGuarantee(f"no bound up to 2^62 reaches {within}")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if keeps(middle) else (middle, high)
        found = cls(scale=scale, bound=high, shape=shape)
        if not found.loss(distance) <= within:
            raise NoGuarantee(f"no truncated noise reaches {within}: its rho is stated")
        return found

    @property
    def distance(self) -> Metric:
        """L1."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """Integers of the declared shape."""
        return IntegerArray(self.draw_shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale, and delta = the probability of the d_in largest values, rounded up."""
        change = non_negative("d_in", d_in)
        if change == 0:
            return NOTHING
        delta = _delta(self.scale, self.bound, math.ceil(change))
        if delta >= 1:
            raise NoGuarantee(f"noise of at most {self.bound} promises nothing at distance {d_in}")
        return ApproxDP(change / self.scale, delta)

    def reach(self, failure: float) -> int:
        """Return the least x with P[|X| > x] <= failure, at most the bound."""
        rate = float(1 / self.scale)
        end = math.exp(-min((self.bound + 1) * rate, 700.0))
        # P[|X| > x] is 2 (q^(x+1) - q^(bound+1)) / (1 + q - 2 q^(bound+1)).
        share = end + failure / 2 * (1 + math.exp(-min(rate, 700.0)) - 2 * end)
        needed = -math.log(share) / rate * (1 + 1e-9) + 1e-14 / rate
        return min(self.bound, max(0, math.ceil(needed) - 1))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of value + X."""
        values = self.domain.admit(value)
        drawn = noise.truncated_laplace(self.scale, self.bound, count * values.size).reshape(count, values.size)
        return saturating_sum(values, drawn).reshape(count, *self.draw_shape)


def _delta(scale: Fraction, bound: int, change: int) -> Fraction:
    """Return an upper bound, at most 1, on the probability of the ``change`` largest values of the noise.

    With q = e^(-1 / scale) and N = 1 + q - 2 q^(bound + 1) it is (e^(change / scale) - 1) q^(bound + 1) / N up to the
    middle, and 1 - (q^(change - bound) - q^(bound + 1)) / N beyond it. It is also at most the number of these values
    times the largest of their weights, divided by 1 + 2 bound q^bound.
    """
    if change > 2 * bound:
        return Fraction(1)
    largest = exp_up(-max(bound + 1 - change, 0) / scale)
    flat = change * largest / (1 + 2 * bound * exp_down(-bound / scale))
    return min(Fraction(1), round_up(min(flat, _tail(scale, bound, change))))


def _tail(scale: Fraction, bound: int, change: int) -> Fraction:
    end_up, end_down = exp_up(-(bound + 1) / scale), exp_down(-(bound + 1) / scale)
    least = 1 + exp_down(-1 / scale) - 2 * end_up
    exponent = change / scale
    if least <= 0 or exponent > _LARGE:
        # Where the noise is nearly flat, N loses all its digits.
        return Fraction(1)
    if change <= bound + 1:
        growth = exp_up(exponent)
        # For small x the difference e^x - 1 loses digits, and x e^x is the better bound.
        return min(growth - 1, exponent * growth) * end_up / least
    most = 1 + exp_up(-1 / scale) - 2 * end_down
    return 1 - (exp_down(-(change - bound) / scale) - end_up) / most
