"""Smooth sensitivity with Laplace noise: lighter tails than Cauchy noise, for a delta.

Cost: one pass. Correction: the published proof gives delta * (1 + e^(epsilon / 2)) / 2 where it claims delta. Here both
bounds of a pair of neighbours bound the change of the value, which lets the width change first; the delta is then that
of the change of width alone, and is the exact one, in any dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither.exact import exp_down, exp_up, round_up
from dither.exact.enclosure import round_down
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.gamma_edge import gamma_edge
from dither.mechanisms.smooth_sensitivity import LightTailed, examples_of
from dither.noise import Noise
from dither.noise.coins import Floats
from dither.privacy import ApproxDP, Loss


def _examples() -> Iterator[Example]:
    yield from examples_of(
        SmoothLaplace(delta="1/100", least=3, smoothness="1/10", scale=2, grid=4),
        SmoothLaplace(delta="1/1000", least=10, smoothness="1/20", scale=20),
        SmoothLaplace(delta="1/100", least=3, smoothness="1/20", scale=2, grid=4, dimension=4),
    )


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 2; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 2.3.2",
)
@dataclass(frozen=True, kw_only=True)
class SmoothLaplace(LightTailed):
    """Add Laplace noise of scale ``scale`` * bound to every coordinate, and round the sum to a public grid.

    Guarantee: neighbours lose (epsilon, ``delta``) with epsilon = 1 / scale + max(d b, (e^b - 1) y - d b) at b =
    smoothness + 2^-15, d the dimension, and y such that e^-y times the sum over k < d of (1 - e^(-(d - k) b)) y^k / k!
    is ``delta``; for one number y = ln((1 - e^-b) / delta).

    Args:
        delta: the probability that the epsilon bound may be exceeded.
        least: bounds below this count as this.
        smoothness: the bounds of neighbouring data lie within a factor of e^smoothness of each other.
        scale: the scale of the noise for a bound of 1.
        grid: the step of the released numbers; by default a power of two near a thousandth of ``least``.
        dimension: how many coordinates the value has; the bound bounds its change in L1.

    >>> noisy = SmoothLaplace.calibrated(ApproxDP(1, "1e-6"), least=1)
    >>> noisy.scale, float(noisy.smoothness), noisy.loss(1) <= ApproxDP(1, "1e-6")
    (Fraction(2, 1), 0.049..., True)

    """

    name: ClassVar[str] = "smooth-laplace"
    version: ClassVar[int] = 1

    @classmethod
    def _scale_for(cls, within: ApproxDP, dimension: int) -> Fraction:
        return 2 / within.epsilon

    def _chain_loss(self, length: int) -> Loss:
        drift, size = self._drift(length), self.dimension
        tail = (exp_up(drift) - 1) * gamma_edge(_weights(drift, size), Fraction(self.delta)) - size * drift
        return ApproxDP(round_up(self._shift(length) + max(size * drift, tail)), self.delta)

    def _noise(self, width: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], noise: Noise) -> Any:
        return noise.rounded_laplace(width, offsets, exact_offset)


def _weights(drift: Fraction, dimension: int) -> list[Fraction]:
    """Return 1 - e^(-(d - k) drift) for k = 0, ..., d - 1, or slightly more; they fall with k."""
    factor = exp_down(-drift)
    powers = [factor]
    while len(powers) < dimension:
        powers.append(round_down(powers[-1] * factor))
    return [1 - power for power in reversed(powers)]
