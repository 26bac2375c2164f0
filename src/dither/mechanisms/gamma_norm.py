"""The Gamma-norm mechanism: a noise vector whose Euclidean length is a Gamma variable and whose direction is uniform.

For real vectors whose change is bounded in L2, under pure differential privacy: the K-norm mechanism of the Euclidean
ball, and the noise of output perturbation. Cost: about three draws an entry. Correction: the textbook draws "a noise
vector from a Gamma distribution"; entries that are Gamma variables themselves are one-sided and not private at all.
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
from dither.mechanisms.core.vector_noise import rounded_vectors, spherical_reach
from dither.noise import Noise
from dither.privacy import L2, Metric


def _examples() -> Iterator[Example]:
    yield Example(GammaNorm(scale=2, grid=4, shape=2), np.array([0, 0]))
    yield Example(GammaNorm(scale="3/2", grid="1/4"), 0.3)
    yield Example(GammaNorm(scale=10, shape=(2, 2)), np.array([[1.5, -2.25], [1e6, 0.0]]))


@register(
    examples=_examples,
    source="On the Geometry of Differential Privacy (Hardt, Talwar 2010), section 4; "
    "Differentially Private Empirical Risk Minimization (Chaudhuri et al. 2011), section 3.1",
)
@dataclass(frozen=True, kw_only=True)
class GammaNorm(NormNoise):
    """Add a vector with density proportional to e^(-|z| / scale), |z| its Euclidean length, and round to a grid.

    Guarantee: values ``d_in`` apart in L2 lose epsilon = ``d_in / scale``.

    Args:
        scale: the scale b of the noise; its length is Gamma distributed with shape d, the number of entries, and mean
            d * b.
        grid: the step of the released numbers; by default a power of two near a thousandth of the scale.
        shape: the shape of the value; ``()`` is one number.

    >>> GammaNorm(scale=2, shape=10).loss(1)
    PureDP('1/2')
    >>> print(GammaNorm(scale=2, grid="1/16", shape=10).error(0.95))
    the largest absolute error of any entry is at most 27.6... with probability 0.95

    """

    name: ClassVar[str] = "gamma-norm"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @property
    def distance(self) -> Metric:
        """L2."""
        return L2

    def reach(self, failure: float) -> float:
        """Return the reach of one entry of the noise plus half a step of the grid."""
        return spherical_reach(math.prod(self.draw_shape), self.width, failure) + float(self.step) / 2

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + Z) to the grid."""
        drawn = rounded_vectors(
            self.domain.admit(value),
            self.width,
            self.step,
            lambda width, steps: noise.rounded_spherical(width, steps.offset, steps.exact_offset, count),
        )
        return drawn.reshape(count, *self.draw_shape)
