"""The square-root counter: running sums on a stream with correlated Gaussian noise, close to the least there can be.

For counts that are published tick by tick over a public number of ticks, under zCDP. Where a tree adds up a handful of
independent noises, here the noise of each tick is a mixture of all noise so far, weighted so that sums keep little of
it: its largest standard error over 65,536 ticks is 0.28 of that of a binary tree at the same loss. Cost: two Fourier
transforms of the horizon at the beginning, an addition a tick. Correction: the literature adds floats; here the noise
is rounded to integers, and the law of what is rounded is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Whole, non_negative, positive, probability, sqrt_up, whole
from dither.mechanisms.core.accuracy import gaussian_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, IntegerArray
from dither.noise import Noise
from dither.noise.running import MOST_TICKS, coefficients
from dither.privacy import L1, ZCDP, Loss, Metric, gaussian_sigma

#: Noise much wider than the integers would need digits that floats do not have, tick after tick.
_LARGEST_SIGMA = 2**20


def _examples() -> Iterator[Example]:
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, 0, 0], [1, 0, 0], 1),
        ([2, 5, 0], [2, 5, -1], 1),
        ([0, 3, 0], [1, 3, 1], 2),
    )
    yield Example(SquareRootCounter(sigma=2, steps=3), [1, 0, 2], pairs)
    yield Example(SquareRootCounter(sigma="1/2", steps=1), [4], (([0], [1], 1),))


@dataclass
class _State:
    """The secret state: the exact sum, and the noise of every tick."""

    noises: NDArray[np.int64]
    total: int = 0
    fed: int = 0


@register(
    examples=_examples,
    source="Constant Matters: Fine-grained Complexity of Differentially Private Continual Observation (Fichtenberger, "
    "Henzinger, Upadhyay 2023); Improved Differential Privacy for SGD via Optimal Private Linear Operators on Adaptive "
    "Streams (Denisov, McMahan, Rush, Smith, Thakurta 2022)",
)
@dataclass(frozen=True, kw_only=True)
class SquareRootCounter(InteractivePrimitive[int, int]):
    """Add up a stream, and answer each tick with the sum so far and correlated Gaussian noise.

    Guarantee: streams that differ by ``d_in`` in L1 lose rho = ``(d_in * length / sigma)^2 / 2`` over all ticks, where
    length^2 is the sum of the squares of C(2k, k) / 4^k for k below ``steps``; also if values are chosen by who has
    seen the answers to earlier ones.

    Args:
        sigma: the standard deviation of the noise that is mixed.
        steps: how many ticks the stream has; public.

    >>> counter = SquareRootCounter(sigma=4, steps=8760)
    >>> round(float(counter.length), 3), round(counter.standard_error(8759), 2)
    (1.989, 7.96)

    """

    name: ClassVar[str] = "square-root-counter"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "an answer alone does not say which tick it is of: see interval_at"

    sigma: DiscreteScale = DiscreteScale()
    steps: Whole = Whole(least=1, most=MOST_TICKS)

    def __post_init__(self) -> None:
        if self.sigma > _LARGEST_SIGMA:
            raise InvalidParameter("sigma", self.sigma, f"at most {_LARGEST_SIGMA}; add up values in larger units")

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, steps: int) -> SquareRootCounter:
        """Return the counter with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed, for the whole stream.
            sensitivity: how far the values of all ticks together move in L1 per unit of data.
            steps: how many ticks the stream has.

        """
        length = cls(sigma=1, steps=steps).length
        found = cls(sigma=gaussian_sigma(within, positive("sensitivity", sensitivity) * length), steps=steps)
        if not found.loss(sensitivity) <= within:
            raise NoGuarantee(f"nothing in rho alone is within {within!r}: state it as ZCDP")
        return found

    @cached_property
    def length(self) -> Fraction:
        """How far one value moves what the noise is added to, in L2, rounded up."""
        return sqrt_up(coefficients(self.steps).square)

    @property
    def distance(self) -> Metric:
        """L1 over all values: an event moves the value of its tick only."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """One integer at a time."""
        return IntegerArray(())

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together."""
        return ZCDP((non_negative("d_in", d_in) * self.length / self.sigma) ** 2 / 2)

    def standard_error(self, tick: int) -> float:
        """Return the standard deviation of the noise at a tick, counted from 0, rounding to integers included."""
        place = whole("tick", tick, most=self.steps - 1)
        square = float(np.square(coefficients(self.steps).floats[: place + 1]).sum())
        return math.sqrt(float(self.sigma) ** 2 * square + 1 / 12)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every answer."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = gaussian_reach(self.sigma * self.length, share_of_failure(wanted, self.steps)) + 0.5
        return Bound(reach, wanted, "the largest absolute error of any running sum")

    def interval_at(self, tick: int, out: int, confidence: Number) -> Interval:
        """Return an interval for the sum at one tick, counted from 0."""
        wanted = probability("confidence", confidence, open_below=True)
        whole("tick", tick, most=self.steps - 1)
        spread = sqrt_up(coefficients(tick + 1).square) * self.sigma
        reach = math.floor(gaussian_reach(spread, share_of_failure(wanted)) + 0.5)
        return Interval(out - reach, out + reach, wanted)

    def begin(self, noise: Noise) -> _State:
        """Return the noise of the whole stream, which does not depend on its values."""
        return _State(noise.rounded_running_gaussian(self.sigma, self.steps))

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[int, bool]:
        """Return the noisy sum up to this tick, and whether it was the last one."""
        limit = LARGEST_VALUE // self.steps
        state.total += min(max(int(self.domain.admit(value)[0]), -limit), limit)
        shown = state.total + int(state.noises[state.fed])
        state.fed += 1
        return min(max(shown, -LARGEST_SUM), LARGEST_SUM), state.fed == self.steps
