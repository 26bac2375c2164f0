"""Smooth sensitivity with generalised Cauchy noise: a pure epsilon for values that rarely move far.

For medians, counts of triangles, spanning trees: statistics whose worst case is far from the data at hand. Cost: one
pass. Corrections: the published scale 6 S / epsilon at smoothness epsilon / 6 (Cauchy, power 2) is three times what is
needed on both counts; the rule 2 S / epsilon at smoothness epsilon / (2 p) holds for power 2 alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Whole, exp_up, log_up, round_up, whole
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.smooth_sensitivity import ROUNDING, SmoothNoise, examples_of
from dither.noise import Noise
from dither.noise.cauchy import LARGEST_POWER
from dither.noise.coins import Floats
from dither.privacy import Loss, PureDP, laplace_scale


def _examples() -> Iterator[Example]:
    yield from examples_of(
        SmoothCauchy(power=2, least=2, smoothness="1/2", scale=2, grid=4),
        SmoothCauchy(power=4, least=2, smoothness="1/10", scale=3, grid="1/2"),
        SmoothCauchy(power=6, least=10, smoothness="1/20", scale=20),
        SmoothCauchy(power=2, least=3, smoothness="1/4", scale=2, grid=4, dimension=2),
    )


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 2; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 2.3.2",
)
@dataclass(frozen=True, kw_only=True)
class SmoothCauchy(SmoothNoise):
    """Add noise ``scale`` * bound * Z, Z with density proportional to 1 / (1 + |z|^power), and round it to a grid.

    Guarantee: neighbours lose epsilon = (power - 1)^((power - 1) / power) / scale + dimension * (power - 1) *
    (smoothness + 2^-15), and pairs that a chain of ``d_in`` neighbours connects ``d_in`` times that.

    Args:
        power: an even number; 2 is the Cauchy law, which has no mean, 4 has variance 1 and is the default.
        least: bounds below this count as this.
        smoothness: the bounds of neighbouring data lie within a factor of e^smoothness of each other.
        scale: the scale of the noise for a bound of 1.
        grid: the step of the released numbers; by default a power of two near a thousandth of ``least``.
        dimension: how many coordinates the value has; the bound bounds its change in L1.

    >>> noisy = SmoothCauchy.calibrated(PureDP(1), least=1, power=2)
    >>> noisy.scale, float(noisy.smoothness), noisy.loss(1).epsilon
    (Fraction(2, 1), 0.49996..., Fraction(1, 1))

    """

    name: ClassVar[str] = "smooth-cauchy"
    version: ClassVar[int] = 1

    power: Whole = Whole(4, least=2, most=LARGEST_POWER)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power % 2:
            raise InvalidParameter("power", self.power, "an even number")

    @classmethod
    def calibrated(
        cls, within: Loss, *, least: Number, power: int = 4, dimension: int = 1, grid: Number | None = None
    ) -> SmoothCauchy:
        """Return the mechanism that spends half of ``within`` on the value and half on the bound.

        Its ``smoothness`` is what the bounds must be computed with.
        """
        degree, epsilon = whole("power", power, least=2, most=LARGEST_POWER), 1 / laplace_scale(within, 1)
        size = whole("dimension", dimension, least=1)
        smoothness = min(epsilon / (2 * size * (degree - 1)) - ROUNDING, Fraction(1))
        if smoothness <= 0:
            raise NoGuarantee(f"no smoothness reaches {within} with power {power}")
        scale = round_up(2 * steepness(degree) / epsilon, bits=64)
        return cls(least=least, smoothness=smoothness, scale=scale, grid=grid, power=power, dimension=size)

    def _chain_loss(self, length: int) -> Loss:
        each = steepness(self.power) * self._shift(1) + self.dimension * (self.power - 1) * self._drift(1)
        return PureDP(length * each)

    def _noise(self, width: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], noise: Noise) -> Any:
        return noise.rounded_cauchy(width, offsets, exact_offset, power=self.power)


@lru_cache(maxsize=64)
def steepness(power: int) -> Fraction:
    """Return an upper bound, nearly tight, on the slope of ln(1 + z^p): (p - 1)^((p - 1) / p).

    >>> steepness(2), float(steepness(4))
    (Fraction(1, 1), 2.27950...)
    """
    return exp_up(Fraction(power - 1, power) * log_up(Fraction(power - 1)))
