"""Propose-test-release: propose a bound on a value's change, test privately that it holds nearby, release or refuse.

For values that move little between ordinary data sets and much between a few odd ones, such as a median. Whoever
computes the value also computes its distance: how many units would have to change before the value can move by more
than the bound. Cost: two draws. Correction: the printed threshold is for continuous noise; here delta is that of the
discrete noise, also for groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Whole, exp_down, exp_up, non_negative, positive, probability, round_up, whole
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_SUM, IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import ApproxDP, Loss, Metric, PureDP
from dither.privacy.calibration import plain_approx

_MOST_THRESHOLD = 2**60


def discrete_laplace_tail(scale: Fraction, least: int) -> Fraction:
    """Return P[X >= least] for discrete Laplace noise, rounded up at about the thirtieth digit.

    >>> float(discrete_laplace_tail(Fraction(1), 0)), float(discrete_laplace_tail(Fraction(1), 3))
    (0.731058..., 0.036397...)
    """
    if least <= 0:
        # P[X >= k] = 1 - P[X >= 1 - k].
        return 1 - exp_down((least - 1) / scale) / (1 + exp_up(-1 / scale))
    return round_up(exp_up(-least / scale) / (1 + exp_down(-1 / scale)))


def passing_delta(scale: Fraction, threshold: int, units: Fraction) -> Fraction:
    """Return the probability that a distance below ``units`` passes the test: 0 + ... + noise >= threshold."""
    delta = discrete_laplace_tail(scale, threshold - math.ceil(units) + 1)
    if delta >= 1:
        raise NoGuarantee(f"for {units} units together the test says nothing: its delta would be 1")
    return delta


def threshold_for(scale: Fraction, delta: Fraction) -> int:
    """Return the least threshold that a distance of 0 passes with probability at most ``delta``."""
    low, high = 0, 1
    while discrete_laplace_tail(scale, high) > delta:
        low, high = high, 2 * high
        if high > _MOST_THRESHOLD:
            raise NoGuarantee(f"no threshold up to 2^60 reaches delta = {float(delta)}")
    while high - low > 1:
        between = (low + high) // 2
        low, high = (low, between) if discrete_laplace_tail(scale, between) <= delta else (between, high)
    return high


class Guarded(Metric):
    """Between pairs of a distance and a value: the number of units between two data sets that have them.

    A distance moves by 1 per unit. A value moves by at most ``bound`` per unit, unless both distances are 0.
    """

    def __init__(self, bound: int) -> None:
        super().__init__(f"GUARDED({bound})", f"units, each moving the value by {bound} unless both distances are 0")
        self.bound = bound

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guarded) and self.bound == other.bound

    def __hash__(self) -> int:
        return hash(self.bound)

    def measure(self, first: Any, second: Any) -> Fraction:
        """Return the least number of units."""
        (here, value), (there, other) = (map(int, pair) for pair in (first, second))
        near, far = sorted((max(here, 0), max(there, 0)))
        direct = -(-abs(value - other) // self.bound)
        return Fraction(max(far - near, min(direct, far + 1)))


def _examples() -> Iterator[Example]:
    # Both at the edge, where the value may move by any amount; then the value and its distance move as far as allowed.
    pairs = (([0, 0], [0, 10**6], 1), ([1, 0], [2, 2], 1), ([0, 5], [1, 3], 1), ([2, 0], [2, -900], 3))
    yield Example(ProposeTestRelease(bound=2, test_scale=1, threshold=2, value_scale=2), [3, 7], pairs)
    yield Example(ProposeTestRelease(bound=2, test_scale=3, threshold=9, value_scale="1/2"), [0, -4], pairs[:3])


@register(
    examples=_examples,
    source="Differential Privacy and Robust Statistics (Dwork, Lei 2009); Differential Privacy and Applications (Zhu "
    "et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class ProposeTestRelease(Primitive[Any, Any]):
    """Release [1, value + noise] if the noisy distance to instability reaches a threshold, else [0, 0].

    Guarantee: data ``d_in`` units apart loses epsilon = ``d_in / test_scale + d_in * bound / value_scale`` and
    delta = P[X >= threshold - d_in + 1], X the noise of the test. It holds for pairs [distance, value] of which the
    distance moves by at most 1 per unit, and the value by at most ``bound`` unless both distances are 0.

    Args:
        bound: the proposed bound, in steps of the value: how far the value moves to any neighbour of data whose
            distance is at least 1.
        test_scale: the scale of the discrete Laplace noise of the distance.
        threshold: what the noisy distance must reach.
        value_scale: the scale of the discrete Laplace noise of the value, in its steps.

    >>> ProposeTestRelease(bound=3, test_scale=2, threshold=30, value_scale=6).loss(1)
    ApproxDP('1', '...')
    >>> float(ProposeTestRelease(bound=3, test_scale=2, threshold=30, value_scale=6).loss(1).delta)
    1.90...e-07

    """

    name: ClassVar[str] = "propose-test-release"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "a refusal says nothing about the value"

    bound: Whole = Whole(least=1, most=2**60)
    test_scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=_MOST_THRESHOLD)
    value_scale: DiscreteScale = DiscreteScale()

    @classmethod
    def calibrated(cls, within: Loss, *, bound: int, test_share: Number = "1/2") -> ProposeTestRelease:
        """Return the mechanism whose loss for one unit is within ``within``, ``test_share`` of it for the test."""
        share, wanted = probability("test_share", test_share, open_below=True), plain_approx(within)
        scale = 1 / (share * wanted.epsilon)
        return cls(
            bound=bound,
            test_scale=scale,
            threshold=threshold_for(scale, wanted.delta),
            value_scale=whole("bound", bound, least=1) / ((1 - share) * wanted.epsilon),
        )

    @property
    def distance(self) -> Metric:
        """Units of data, as far as they can be told from a distance and a value."""
        return Guarded(self.bound)

    @property
    def domain(self) -> IntegerArray:
        """A distance and a value; a distance below 0 means 0."""
        return IntegerArray((2,))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """Whether the test passed, and the noisy value."""
        return (2,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / test_scale + d_in * bound / value_scale, and the delta of the test."""
        units = non_negative("d_in", d_in)
        if units == 0:
            return PureDP(0)
        epsilon = units / self.test_scale + units * self.bound / self.value_scale
        return ApproxDP(epsilon, passing_delta(self.test_scale, self.threshold, units))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of a released value."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = discrete_laplace_reach(self.value_scale, share_of_failure(wanted))
        return Bound(float(reach), wanted, "the absolute error of a value that is released")

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return the reach of the noise around a released value; the test's noise does not affect it."""
        bound = self.error(confidence)
        if not out[0]:
            return None
        around = min(int(bound.value), LARGEST_SUM)
        return Interval(int(out[1]) - around, int(out[1]) + around, bound.confidence)

    def needed_distance(self, chance: Number) -> int:
        """Return a distance that passes the test with at least that probability."""
        failure = float(1 - positive("chance", chance, at_most=1))
        if failure == 0:
            raise InvalidParameter("chance", chance, "below 1")
        return self.threshold + discrete_laplace_reach(self.test_scale, failure)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return rows of [1, value + X] or [0, 0]; both noises are drawn whether or not the test passes."""
        distance, steps = self.domain.admit(value).reshape(2, 1)
        tested = saturating_sum(np.maximum(distance, 0), noise.discrete_laplace(self.test_scale, count))
        noisy = saturating_sum(steps, noise.discrete_laplace(self.value_scale, count))
        passed = tested >= self.threshold
        return np.stack([passed.astype(np.int64), np.where(passed, noisy, 0)], axis=1)
