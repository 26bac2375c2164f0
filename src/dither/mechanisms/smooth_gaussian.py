"""Smooth sensitivity with Gaussian noise: the lightest tails, for a delta.

Cost: one pass. Correction: the published rule asks for a standard deviation of 5 S sqrt(2 ln(2 / delta)) / epsilon.
Here the two densities are compared directly, which needs two fifths of that; calibration finds the smoothness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from dither.exact import exp_up, round_up, sqrt_up
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.gamma_edge import gamma_edge
from dither.mechanisms.smooth_sensitivity import LightTailed, examples_of
from dither.noise import Noise
from dither.noise.coins import Floats
from dither.privacy import L2, ApproxDP, Loss, Metric


def _examples() -> Iterator[Example]:
    yield from examples_of(
        SmoothGaussian(delta="1/100", least=3, smoothness="1/20", scale=3, grid=4),
        SmoothGaussian(delta="1/1000", least=10, smoothness="1/50", scale=20),
        SmoothGaussian(delta="1/100", least=3, smoothness="1/40", scale=3, grid=4, dimension=2),
    )


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 2; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 2.3.2",
)
@dataclass(frozen=True, kw_only=True)
class SmoothGaussian(LightTailed):
    """Add Gaussian noise of standard deviation ``scale`` * bound to every coordinate, and round it to a public grid.

    Guarantee: neighbours lose (epsilon, ``delta``) with epsilon the larger of ((w e^b + t)^2 - w^2) / 2 - d b and
    d b + w t + t^2 / 2, at t = 1 / scale, b = smoothness + 2^-15, d the dimension, and w^2 / 2 what a Gamma variable of
    shape d / 2, rounded up to an integer, exceeds with probability ``delta``; for one number w^2 = 2 ln(1 / delta).

    Args:
        delta: the probability that the epsilon bound may be exceeded.
        least: bounds below this count as this.
        smoothness: the bounds of neighbouring data lie within a factor of e^smoothness of each other.
        scale: the standard deviation of the noise for a bound of 1.
        grid: the step of the released numbers; by default a power of two near a thousandth of ``least``.
        dimension: how many coordinates the value has; the bound bounds its change in L2.

    >>> noisy = SmoothGaussian.calibrated(ApproxDP(1, "1e-6"), least=1)
    >>> float(noisy.scale), float(noisy.smoothness), noisy.loss(1) <= ApproxDP(1, "1e-6")
    (10.6..., 0.018..., True)

    """

    name: ClassVar[str] = "smooth-gaussian"
    version: ClassVar[int] = 1
    norm: ClassVar[Metric] = L2

    @classmethod
    def _scale_for(cls, within: ApproxDP, dimension: int) -> Fraction:
        edge = _edge(within.delta, dimension)
        # The t with w t + t^2 / 2 = epsilon / 2 is sqrt(w^2 + epsilon) - w.
        return (sqrt_up(edge * edge + within.epsilon) + edge) / within.epsilon

    def _chain_loss(self, length: int) -> Loss:
        edge, moved = _edge(self.delta, self.dimension), self._shift(length)
        drift, turned = self._drift(length), self.dimension * self._drift(length)
        # Edge and growth are bounds from above; both expressions grow with either.
        narrower = ((edge * exp_up(drift) + moved) ** 2 - edge * edge) / 2 - turned
        wider = turned + edge * moved + moved * moved / 2
        return ApproxDP(round_up(max(narrower, wider)), self.delta)

    def _noise(self, width: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], noise: Noise) -> Any:
        return noise.rounded_gaussian(width, offsets, exact_offset)


@lru_cache(maxsize=256)
def _edge(delta: Fraction, dimension: int) -> Fraction:
    """Return w that the length of a standard Gaussian vector exceeds with probability at most delta.

    Half its square is a Gamma variable of shape d / 2. An odd dimension is taken for the even one above it, whose
    vectors are longer.
    """
    return sqrt_up(2 * gamma_edge([Fraction(1)] * -(-dimension // 2), delta))
