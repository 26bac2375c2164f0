"""The max-norm mechanism: a noise vector whose largest absolute entry is a Gamma variable.

For real vectors each entry of which moves by at most so much, under pure differential privacy: the K-norm mechanism of
the cube. For d entries that all may move, its noise has less than half the standard deviation of Laplace noise. Cost:
about two draws an entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.norm_noise import NormNoise
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.vector_noise import gamma_reach, rounded_vectors
from dither.noise import Noise
from dither.privacy import LARGEST, Metric


def _examples() -> Iterator[Example]:
    yield Example(MaxNorm(scale=2, grid=4, shape=2), np.array([0, 0]))
    yield Example(MaxNorm(scale="3/2", grid="1/4"), 0.3)
    yield Example(MaxNorm(scale=10, shape=(2, 2)), np.array([[1.5, -2.25], [1e6, 0.0]]))


@register(examples=_examples, source="On the Geometry of Differential Privacy (Hardt, Talwar 2010), section 4")
@dataclass(frozen=True, kw_only=True)
class MaxNorm(NormNoise):
    """Add a vector with density proportional to e^(-max |z_i| / scale), and round the sum to a public grid.

    Guarantee: values no entry of which differs by more than ``d_in`` lose epsilon = ``d_in / scale``.

    Args:
        scale: the scale b of the noise; its largest entry is Gamma distributed with shape d, the number of entries.
        grid: the step of the released numbers; by default a power of two near a thousandth of the scale.
        shape: the shape of the value; ``()`` is one number.

    >>> MaxNorm(scale=2, shape=10).loss(1)
    PureDP('1/2')
    >>> print(MaxNorm(scale=2, grid="1/16", shape=10).error(0.95))
    the largest absolute error of any entry is at most 40.0... with probability 0.95

    """

    name: ClassVar[str] = "max-norm"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @property
    def distance(self) -> Metric:
        """The largest absolute change."""
        return LARGEST

    def reach(self, failure: float) -> float:
        """Return the reach of the largest entry of the noise plus half a step of the grid."""
        return gamma_reach(math.prod(self.draw_shape), self.width, failure) + float(self.step) / 2

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + Z) to the grid."""
        drawn = rounded_vectors(
            self.domain.admit(value),
            self.width,
            self.step,
            lambda width, steps: noise.rounded_cubical(width, steps.offset, steps.exact_offset, count),
        )
        return drawn.reshape(count, *self.draw_shape)
