"""The discrete Gaussian mechanism: Gaussian noise on integers.

For vectors of counts whose change is bounded in L2, such as many queries that one person touches. Cost: one pass over
the entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import NoGuarantee
from dither.exact import Number, non_negative
from dither.mechanisms.core.accuracy import discrete_gaussian_reach
from dither.mechanisms.core.additive import Additive, DiscreteScale
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import L2, ZCDP, Loss, Metric, gaussian_sigma


def _examples() -> Iterator[Example]:
    yield Example(DiscreteGaussian(sigma=1), 0)
    yield Example(DiscreteGaussian(sigma="1/3"), 7)
    yield Example(DiscreteGaussian(sigma=100, shape=(2, 2)), np.array([[1, 2], [3, 2**62]]))


@register(
    examples=_examples,
    source="The Discrete Gaussian for Differential Privacy (Canonne, Kamath, Steinke 2020), section 2",
)
@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(Additive):
    """Add discrete Gaussian noise to an integer or an array of integers.

    Guarantee: integers ``d_in`` apart in L2 lose rho = ``d_in^2 / (2 sigma^2)``.

    Args:
        sigma: P[noise = x] is proportional to e^(-x^2 / (2 sigma^2)).
        shape: the shape of the value; ``()`` is one integer.

    >>> DiscreteGaussian(sigma=2).loss(1)
    ZCDP('1/8')
    >>> print(DiscreteGaussian(sigma=2).error(0.95))
    the absolute error is at most 4 with probability 0.95

    """

    name: ClassVar[str] = "discrete-gaussian"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    sigma: DiscreteScale = DiscreteScale()

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, shape: tuple[int, ...] = ()) -> DiscreteGaussian:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` is within ``within``."""
        found = cls(sigma=gaussian_sigma(within, sensitivity), shape=shape)
        if not found.loss(sensitivity) <= within:
            raise NoGuarantee(f"no discrete Gaussian noise reaches {within!r}: only its rho is proved")
        return found

    @property
    def distance(self) -> Metric:
        """L2."""
        return L2

    @property
    def domain(self) -> IntegerArray:
        """Integers of the declared shape."""
        return IntegerArray(self.draw_shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return rho = d_in^2 / (2 sigma^2)."""
        return ZCDP((non_negative("d_in", d_in) / self.sigma) ** 2 / 2)

    def reach(self, failure: float) -> int:
        """Return the reach of the noise."""
        return discrete_gaussian_reach(self.sigma, failure)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of value + X."""
        values = self.domain.admit(value)
        drawn = noise.discrete_gaussian(self.sigma, count * values.size).reshape(count, values.size)
        return saturating_sum(values, drawn).reshape(count, *self.draw_shape)
