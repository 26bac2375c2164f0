"""The hybrid report of a number: by a window or by one bit, as a public coin decides.

For the mean of one number at every epsilon: never a larger worst variance than either of its parts. Cost: that of
both; the report says which part was used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Whole
from dither.local.clients.half import Half
from dither.local.clients.numbers import MOST_OUTPUTS, Hybrid
from dither.local.numbers.bit import bit_weights
from dither.local.numbers.means import Floats, Means, NumberRandomiser, Tally, level_of, normal_means
from dither.local.numbers.piecewise import piecewise_width
from dither.local.numbers.window import draw_window, inside_of, middle_and_ends, window_line, window_variances
from dither.local.weights import epsilon_within
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

#: Below this epsilon one bit alone has the smaller largest variance.
THRESHOLD = 0.61


def _examples() -> Iterator[Example]:
    yield Example(HybridNumber(places=3, share=2, low=1, step=1, stride=1, width=2, inside=3, bits=2), 0)
    yield Example(HybridNumber.calibrated(PureDP(1), places=5, stride=2), 4)


@register(
    examples=_examples,
    source="Collecting and Analyzing Multidimensional Data with Local Differential Privacy (Wang et al. 2019), "
    "section 3.3",
    tasks={"local": "For the mean of one number at every epsilon."},
    made_for={"places": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class HybridNumber(NumberRandomiser):
    """Report by a window with probability ``share / 2^bits``, else one bit, and which of them it was.

    Guarantee: any two numbers lose the larger of the losses of both parts.

    Args:
        places: how many numbers there are.
        share: the weight of the window.
        low: the weight of a 1 under the smallest number.
        step: what each number more adds to it.
        stride: how far the window moves from a number to the next.
        width: of a window, in outputs.
        inside: the weight of the window among outputs.
        bits: all weights add up to 2 to this power.

    >>> print(HybridNumber.calibrated(PureDP(1), places=101).loss(1))
    epsilon = 1

    """

    name: ClassVar[str] = "hybrid-number"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Hybrid

    places: Whole = Whole(least=2, most=MOST_OUTPUTS)
    share: Whole = Whole(least=1, most=2**32 - 1)
    low: Whole = Whole(least=1, most=2**32 - 1)
    step: Whole = Whole(least=1, most=2**32 - 1)
    stride: Whole = Whole(least=1, most=MOST_OUTPUTS)
    width: Whole = Whole(least=1, most=MOST_OUTPUTS)
    inside: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, places: int, stride: int = 0, bits: int = 32) -> Self:
        """Return the mixture with the least worst variance, both parts within a target.

        Args:
            within: the target.
            places: how many numbers there are.
            stride: how far the window moves from a number to the next; 0 for about a thousand outputs.
            bits: of the sum of all weights.

        """
        epsilon = float(epsilon_within(within))
        low, step = bit_weights(within, places, bits)
        far = stride or max(1, 1000 // (places - 1))
        width = piecewise_width(within, places, far)
        # Above the threshold the variance no longer depends on the number; below it one bit is better alone.
        share = 1 - math.exp(-epsilon / 2) if epsilon > THRESHOLD else 0.0
        weight = min(max(round(share * 2**bits), 1), 2**bits - 1)
        inside = inside_of(within, places, far, width, bits)
        return cls(places=places, share=weight, low=low, step=step, stride=far, width=width, inside=inside, bits=bits)

    @property
    def hybrid(self) -> Hybrid:
        """The client half."""
        return cast(Hybrid, self.half)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return the choice and the report of the chosen part, for each number."""
        is_window = noise.uniform_below(2**self.bits, len(cells)) < self.share
        bit = noise.uniform_below(2**self.bits, len(cells)) < self.low + self.step * cells
        output = draw_window(self.hybrid.window, cells, noise)
        return np.stack([is_window, np.where(is_window, output, bit)], axis=1).astype(np.int64)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports are outputs of a window, or one bit."""
        limit = np.where(reports[:, 0] == 1, self.hybrid.window.outputs, 2)
        return np.asarray(reports[:, 1] < limit)

    def tally(self, reports: NDArray[np.int64]) -> Tally:
        """Return how many bits and how many 1s there are; and of outputs the number, the sum and that of squares."""
        is_window, said = reports[:, 0] == 1, reports[:, 1]
        outputs = said[is_window]
        bits = said[~is_window]
        sums = [int(outputs.sum()), int((outputs * outputs).sum())]
        return np.array([len(bits), int(bits.sum()), len(outputs), *sums])

    def means(self, tally: Tally, confidence: Number = "0.95") -> Means:
        """Return the mean number: the average of what each report alone says without bias."""
        bits, ones, outputs, total, squares = (int(part) for part in tally)
        count = bits + outputs
        if not count:
            return normal_means(0, 0.0, 0.0, 0.0, self.places, level_of(confidence))
        base, slope = window_line(self.hybrid.window)
        zero, one = (Fraction(bit * 2**self.bits - self.low, self.step) for bit in (0, 1))
        # Sums over reports of each report's own estimate, and of its square.
        first = (bits - ones) * zero + ones * one + (total - outputs * base) / slope
        second = (bits - ones) * zero**2 + ones * one**2 + (squares - 2 * base * total + outputs * base**2) / slope**2
        mean = first / count
        variance = float(second / count - mean**2) * count / max(count - 1, 1)
        least = float(self.variances(middle_and_ends(self.places)).min())
        return normal_means(count, float(mean), variance, least, self.places, level_of(confidence))

    def variances(self, cells: NDArray[np.int64]) -> Floats:
        """Return the mixture of those of both parts: both are unbiased."""
        share = self.share / 2.0**self.bits
        chance = (self.low + self.step * cells) / 2.0**self.bits
        bit = chance * (1 - chance) * (2.0**self.bits / self.step) ** 2
        _, slope = window_line(self.hybrid.window)
        return np.asarray(share * window_variances(self.hybrid.window, cells) / float(slope) ** 2 + (1 - share) * bit)
