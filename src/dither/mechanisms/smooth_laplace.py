"""Smooth sensitivity with Laplace noise: lighter tails than Cauchy noise, for a delta.

Cost: one pass. Correction: the published proof gives delta * (1 + e^(epsilon / 2)) / 2 where it claims delta. Here both
bounds of a pair of neighbours bound the change of the value, which lets the width change first; the delta is then that
of the change of width alone, and is the exact one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Probability, exp_down, exp_up, log_up, round_up
from dither.mechanisms.grid import Steps
from dither.mechanisms.registry import Example, register
from dither.mechanisms.smooth_sensitivity import SmoothNoise, examples_of, smoothest
from dither.noise import Noise
from dither.privacy import ApproxDP, Loss


def _examples() -> Iterator[Example]:
    yield from examples_of(
        SmoothLaplace(delta="1/100", least=3, smoothness="1/10", scale=2, grid=4),
        SmoothLaplace(delta="1/1000", least=10, smoothness="1/20", scale=20),
    )


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 2; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 2.3.2",
)
@dataclass(frozen=True, kw_only=True)
class SmoothLaplace(SmoothNoise):
    """Add Laplace noise of scale ``scale`` * bound, and release the sum on a public grid.

    Guarantee: neighbours lose (epsilon, ``delta``) with epsilon = 1 / scale + max(b, (e^b - 1) ln((1 - e^-b) / delta) -
    b) at b = smoothness + 2^-15.

    Args:
        delta: the probability outside which epsilon holds.
        least: bounds below this count as this.
        smoothness: the bounds of neighbouring data lie within a factor of e^smoothness of each other.
        scale: the scale of the noise for a bound of 1.
        grid: the step of the released numbers; by default a power of two near a thousandth of ``least``.

    >>> noisy = SmoothLaplace.calibrated(ApproxDP(1, "1e-6"), least=1)
    >>> noisy.scale, float(noisy.smoothness), noisy.loss(1) <= ApproxDP(1, "1e-6")
    (Fraction(2, 1), 0.049..., True)

    """

    name: ClassVar[str] = "smooth-laplace"
    version: ClassVar[int] = 1

    delta: Probability = Probability()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delta > 0:
            raise InvalidParameter("delta", str(self.delta), "a number in (0, 1)")

    @classmethod
    def calibrated(cls, target: Loss, *, least: Number, grid: Number | None = None) -> SmoothLaplace:
        """Return the mechanism that spends half of epsilon on the value and the rest on the bound.

        Its ``smoothness`` is what the bounds must be computed with.
        """
        if not (isinstance(target, ApproxDP) and target.epsilon > 0 and target.delta > 0):
            raise NoGuarantee(f"no smooth Laplace noise reaches {target}: it needs an epsilon and a delta")
        scale = round_up(2 / target.epsilon, bits=64)
        return smoothest(
            lambda smoothness: cls(delta=target.delta, least=least, smoothness=smoothness, scale=scale, grid=grid),
            target,
        )

    def _chain_loss(self, length: int) -> Loss:
        drift = self._drift(length)
        tail = (exp_up(drift) - 1) * log_up((1 - exp_down(-drift)) / self.delta) - drift
        return ApproxDP(round_up(self._shift(length) + max(drift, tail)), self.delta)

    def _noise(self, width: Fraction, steps: Steps, count: int, noise: Noise) -> NDArray[Any]:
        offsets = np.full(count, steps.offset[0])
        return noise.rounded_laplace(width, offsets, lambda _: steps.exact_offset(0))
