"""Smooth sensitivity with Gaussian noise: the lightest tails, for a delta.

Cost: one pass. Correction: the published rule asks for a standard deviation of 5 S sqrt(2 ln(2 / delta)) / epsilon.
Here the two densities are compared directly, which needs two fifths of that; calibration finds the smoothness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Probability, exp_up, log_up, round_up, sqrt_up
from dither.mechanisms.grid import Steps
from dither.mechanisms.registry import Example, register
from dither.mechanisms.smooth_sensitivity import SmoothNoise, examples_of, smoothest
from dither.noise import Noise
from dither.privacy import ApproxDP, Loss


def _examples() -> Iterator[Example]:
    yield from examples_of(
        SmoothGaussian(delta="1/100", least=3, smoothness="1/20", scale=3, grid=4),
        SmoothGaussian(delta="1/1000", least=10, smoothness="1/50", scale=20),
    )


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 2; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 2.3.2",
)
@dataclass(frozen=True, kw_only=True)
class SmoothGaussian(SmoothNoise):
    """Add Gaussian noise of standard deviation ``scale`` * bound, and release the sum on a public grid.

    Guarantee: neighbours lose (epsilon, ``delta``) with epsilon the larger of ((w e^b + t)^2 - w^2) / 2 and
    b + w t + t^2 / 2, at w = sqrt(2 ln(1 / delta)), t = 1 / scale and b = smoothness + 2^-15.

    Args:
        delta: the probability outside which epsilon holds.
        least: bounds below this count as this.
        smoothness: the bounds of neighbouring data lie within a factor of e^smoothness of each other.
        scale: the standard deviation of the noise for a bound of 1.
        grid: the step of the released numbers; by default a power of two near a thousandth of ``least``.

    >>> noisy = SmoothGaussian.calibrated(ApproxDP(1, "1e-6"), least=1)
    >>> float(noisy.scale), float(noisy.smoothness), noisy.loss(1) <= ApproxDP(1, "1e-6")
    (10.6..., 0.017..., True)

    """

    name: ClassVar[str] = "smooth-gaussian"
    version: ClassVar[int] = 1

    delta: Probability = Probability()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delta > 0:
            raise InvalidParameter("delta", str(self.delta), "a number in (0, 1)")

    @classmethod
    def calibrated(cls, target: Loss, *, least: Number, grid: Number | None = None) -> SmoothGaussian:
        """Return the mechanism that spends half of epsilon on the value and the rest on the bound.

        Its ``smoothness`` is what the bounds must be computed with.
        """
        if not (isinstance(target, ApproxDP) and target.epsilon > 0 and target.delta > 0):
            raise NoGuarantee(f"no smooth Gaussian noise reaches {target}: it needs an epsilon and a delta")
        edge = _edge(target.delta)
        # The t with w t + t^2 / 2 = epsilon / 2 is sqrt(w^2 + epsilon) - w.
        scale = round_up((sqrt_up(edge * edge + target.epsilon) + edge) / target.epsilon, bits=64)
        return smoothest(
            lambda smoothness: cls(delta=target.delta, least=least, smoothness=smoothness, scale=scale, grid=grid),
            target,
        )

    def _chain_loss(self, length: int) -> Loss:
        edge, drift, moved = _edge(self.delta), self._drift(length), self._shift(length)
        # Edge and growth are bounds from above; both expressions grow with either.
        narrower = ((edge * exp_up(drift) + moved) ** 2 - edge * edge) / 2
        wider = drift + edge * moved + moved * moved / 2
        return ApproxDP(round_up(max(narrower, wider)), self.delta)

    def _noise(self, width: Fraction, steps: Steps, count: int, noise: Noise) -> NDArray[Any]:
        offsets = np.full(count, steps.offset[0])
        return noise.rounded_gaussian(width, offsets, lambda _: steps.exact_offset(0))


def _edge(delta: Fraction) -> Fraction:
    """Return w that a standard Gaussian variable exceeds in absolute value with probability delta at most."""
    return sqrt_up(2 * log_up(1 / delta))
