"""The Gaussian mechanism: continuous Gaussian noise, released on a public grid.

For real vectors whose change is bounded in L2. Cost: one pass over the entries. Corrections: the classical calibration
sigma = sqrt(2 ln(1.25 / delta)) / epsilon is not private for large epsilon and is not used; floats never decide what is
released.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Positive, non_negative
from dither.mechanisms.core.accuracy import gaussian_reach
from dither.mechanisms.core.additive import Additive
from dither.mechanisms.core.grid import Grid, Steps, on_grid, subdivision
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import RealArray
from dither.noise import Noise
from dither.privacy import L2, ApproxDP, GaussianDP, Loss, Metric, gaussian_sigma
from dither.privacy.gaussian_curve import analytic_sigma
from dither.privacy.losses import states_rho


def _examples() -> Iterator[Example]:
    yield Example(Gaussian(sigma=1, grid=1), 0)
    yield Example(Gaussian(sigma="3/2", grid="1/4"), 0.3)
    yield Example(Gaussian(sigma=2, grid=8), 2.5)
    yield Example(Gaussian(sigma=10, shape=3), np.array([1.5, -2.25, 1e6]))


@register(examples=_examples, source="Differential Privacy and Applications (Zhu et al. 2017), section 2.4.1")
@dataclass(frozen=True, kw_only=True)
class Gaussian(Additive):
    """Add Gaussian noise to a number or an array, and round the sum to a public grid.

    Guarantee: values ``d_in`` apart in L2 lose rho = ``d_in^2 / (2 sigma^2)``, and the (epsilon, delta) that the exact
    curve of Gaussian noise gives.

    Args:
        sigma: the standard deviation of the noise.
        grid: the step of the released numbers; by default a power of two near a thousandth of the sigma.
        shape: the shape of the value; ``()`` is one number.

    >>> Gaussian(sigma=2).loss(1)
    GaussianDP('1/8')
    >>> print(Gaussian(sigma=2).loss(1).to_approx("1e-5"))
    epsilon = 1.9931, delta = 1e-05
    >>> print(Gaussian(sigma=2, grid="1/16").error(0.95))
    the absolute error is at most 3.95118 with probability 0.95

    """

    name: ClassVar[str] = "gaussian"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    sigma: Positive = Positive()
    grid: Grid = Grid("sigma")

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, grid: Number | None = None, shape: tuple[int, ...] = ()
    ) -> Gaussian:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` is within ``within``.

        >>> from dither.privacy import ApproxDP
        >>> print(float(Gaussian.calibrated(ApproxDP(1, "1e-5"), sensitivity=1).sigma))
        3.7306...
        """
        if isinstance(within, ApproxDP) and within.delta and not states_rho(within):
            sigma = analytic_sigma(within.epsilon, within.delta, sensitivity=sensitivity)
        else:
            sigma = gaussian_sigma(within, sensitivity)
        return cls(sigma=sigma, grid=grid, shape=shape)

    @property
    def distance(self) -> Metric:
        """L2."""
        return L2

    @property
    def domain(self) -> RealArray:
        """Real numbers of the declared shape."""
        return RealArray(self.draw_shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return rho = d_in^2 / (2 sigma^2), with the exact curve of Gaussian noise."""
        return GaussianDP((non_negative("d_in", d_in) / self.sigma) ** 2 / 2)

    def reach(self, failure: float) -> float:
        """Return the reach of the noise plus half a step of the grid."""
        return gaussian_reach(self.sigma, failure) + float(self.grid) / 2

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + Z) to the grid."""
        halvings = subdivision(self.sigma, self.grid)
        steps = Steps.of(self.domain.admit(value), self.grid, halvings)
        width, entries = self.sigma / self.grid * 2**halvings, steps.whole.size
        offsets = np.tile(steps.offset, count)
        drawn = noise.rounded_gaussian(width, offsets, lambda index: steps.exact_offset(index % entries))
        return on_grid(steps.whole, drawn.reshape(count, entries), self.grid, halvings).reshape(count, *self.draw_shape)
