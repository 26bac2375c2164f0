"""Fourier perturbation: a series of counts from noisy values of its slowest waves.

For a series that is published once, as a whole, and is smooth: the more slowly it changes, the fewer waves it is made
of, and the less noise there is. Cost: the number of ticks times the number of waves. Corrections: printed noise is for
a vector of length 1 among all series; here it is for one event, which moves one tick, and the waves are rounded to
integers, so that the sensitivity is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Whole, positive, sqrt_up
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, Loss, Metric, Plan, Use

#: The height of a wave in integers.
_HEIGHT = 2**14
_MOST_ENTRIES = 2**26


def _examples() -> Iterator[Example]:
    here = np.array([3, 0, 5, 1])
    pairs = ((here, np.array([3, 1, 5, 1]), 1), (here, np.array([4, 0, 5, 0]), 2))
    yield Example(FourierSeries(steps=4, waves=2, node=Geometric(scale=2**15)), here, pairs)
    yield Example(FourierSeries(steps=4, waves=4, node=DiscreteGaussian(sigma=2**15)), here, pairs)


@register(
    examples=_examples,
    source="Differentially Private Aggregation of Distributed Time-Series with Transformation and Encryption (Rastogi, "
    "Nath 2010), section 4",
)
@dataclass(frozen=True, kw_only=True)
class FourierSeries(Composed[Any, Any]):
    """Release a series of integers from the noisy coefficients of its slowest cosine waves.

    Guarantee: series ``d_in`` apart in L1 lose what ``node`` loses at ``d_in`` times the longest column of the waves,
    in L1 for geometric and in L2 for Gaussian noise.

    Args:
        steps: how many ticks the series has; public.
        waves: how many waves are measured, the slowest first; public.
        node: the noise of one coefficient, in units of 1 / 16384 of a wave's height.

    >>> from dither.privacy import ZCDP
    >>> series = FourierSeries.calibrated(ZCDP("1/2"), sensitivity=1, steps=8760, waves=40)
    >>> round(series.standard_error, 3)
    0.006

    """

    name: ClassVar[str] = "fourier-series"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "what the waves omit is as large as the series is rough; see standard_error"
    no_interval_because: ClassVar[str] = no_error_because

    steps: Whole = Whole(least=1, most=2**20)
    waves: Whole = Whole(least=1, most=2**14)
    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        if not (self.waves <= self.steps and self.waves * self.steps <= _MOST_ENTRIES):
            raise InvalidParameter("waves", self.waves, "at most the number of steps, and 2^26 divided by it")

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, steps: int, waves: int) -> Self:
        """Return the series with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise.
            sensitivity: how far the series moves in L1 per unit of data.
            steps: how many ticks the series has.
            waves: how many waves are measured.

        """
        purse, moved = Purse.within(within), positive("sensitivity", sensitivity)
        kind: CountNoise = Geometric(scale=1) if purse.is_pure else DiscreteGaussian(sigma=1)
        draft = cls(steps=steps, waves=waves, node=kind)
        return replace(draft, node=purse.noise(moved * draft.stability))

    @property
    def distance(self) -> Metric:
        """L1: an event moves one tick by 1."""
        return L1

    @cached_property
    def coefficients(self) -> CountNoise:
        """The noise of all coefficients."""
        return replace(self.node, shape=(self.waves,))

    @cached_property
    def stability(self) -> Fraction:
        """How far all coefficients together move when one tick moves by 1: the longest column, in integers."""
        table = _waves(self.steps, self.waves).astype(np.int64)
        if isinstance(self.node, Geometric):
            return Fraction(int(np.abs(table).sum(axis=0).max()))
        return sqrt_up(Fraction(int(np.square(table).sum(axis=0).max())))

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise of a tick, root mean square over all; what is left out is not in it."""
        spread = (
            float(self.node.sigma) ** 2 if isinstance(self.node, DiscreteGaussian) else 2 * float(self.node.scale) ** 2
        )
        return float(np.sqrt(spread * np.square(_inverse(self.steps, self.waves)).sum() / self.steps))

    def plan(self) -> Plan:
        """Return one draw for all coefficients."""
        return Use(self.coefficients, self.stability)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return an estimate of the series."""
        limit = LARGEST_VALUE // (_HEIGHT * self.steps)
        values = np.clip(IntegerArray((self.steps,)).admit(data), -limit, limit)
        # Exact: each product is below 2^60 / steps.
        measured = np.array([int(wave.astype(np.int64) @ values) for wave in _waves(self.steps, self.waves)])
        drawn = np.asarray(run(self.coefficients, measured, stability=self.stability))
        return np.asarray(_inverse(self.steps, self.waves) @ drawn.astype(np.float64))


@lru_cache(maxsize=4)
def _waves(steps: int, waves: int) -> NDArray[np.int16]:
    """Return cosine waves of 0, 1/2, 1, ... periods, rounded to integers, a row for each."""
    table = np.empty((waves, steps), dtype=np.int16)
    middles = (np.arange(steps) + 0.5) / steps
    for wave in range(waves):
        table[wave] = np.rint(_HEIGHT * np.cos(np.pi * wave * middles))
    return table


@lru_cache(maxsize=4)
def _inverse(steps: int, waves: int) -> NDArray[np.float64]:
    """Return what makes a series of coefficients: cosines are orthogonal, and rounding them hardly changes that."""
    middles = (np.arange(steps) + 0.5) / steps
    cosines = np.cos(np.pi * np.arange(waves) * middles[:, None])
    heights = np.where(np.arange(waves) == 0, 1.0, 2.0) / (_HEIGHT * steps)
    return np.asarray(cosines * heights)
