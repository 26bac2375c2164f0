"""The geometric mechanism: discrete Laplace noise on integers.

For counts and other integers whose change is bounded in L1. Cost: one pass over the entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, non_negative
from dither.mechanisms.core.accuracy import discrete_laplace_reach
from dither.mechanisms.core.additive import Additive, DiscreteScale
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import L1, Loss, Metric, PureDP, laplace_scale


def _examples() -> Iterator[Example]:
    yield Example(Geometric(scale=1), 0)
    yield Example(Geometric(scale="1/3"), 7)
    yield Example(Geometric(scale=100, shape=(2, 2)), np.array([[1, 2], [3, 2**62]]))


@register(examples=_examples, source="Differential Privacy and Applications (Zhu et al. 2017), section 2.4.1")
@dataclass(frozen=True, kw_only=True)
class Geometric(Additive):
    """Add two-sided geometric (discrete Laplace) noise to an integer or an array of integers.

    Guarantee: integers ``d_in`` apart in L1 lose epsilon = ``d_in / scale``.

    Args:
        scale: P[noise = x] is proportional to e^(-|x| / scale).
        shape: the shape of the value; ``()`` is one integer.

    >>> Geometric(scale=2).loss(1)
    PureDP('1/2')
    >>> print(Geometric(scale=2).error(0.95))
    the absolute error is at most 6 with probability 0.95

    """

    name: ClassVar[str] = "geometric"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    scale: DiscreteScale = DiscreteScale()

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, shape: tuple[int, ...] = ()) -> Geometric:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` is within ``within``."""
        return cls(scale=laplace_scale(within, sensitivity), shape=shape)

    @property
    def distance(self) -> Metric:
        """L1."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """Integers of the declared shape."""
        return IntegerArray(self.draw_shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale."""
        return PureDP(non_negative("d_in", d_in) / self.scale)

    def reach(self, failure: float) -> int:
        """Return the reach of the noise."""
        return discrete_laplace_reach(self.scale, failure)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of value + X."""
        values = self.domain.admit(value)
        drawn = noise.discrete_laplace(self.scale, count * values.size).reshape(count, values.size)
        return saturating_sum(values, drawn).reshape(count, *self.draw_shape)
