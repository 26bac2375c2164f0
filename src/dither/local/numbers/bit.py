"""One bit for one number: 1 with a probability that grows with it (Duchi).

For the mean of one number at a small epsilon, below about 1.3: there no other report has a smaller largest variance.
Cost: one coin; the report is one bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Whole
from dither.local.clients.half import Half
from dither.local.clients.numbers import MOST_PLACES, OneBit, bit_ratio
from dither.local.numbers.means import Floats, Means, NumberRandomiser, Tally, bit_means, level_of
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP


def _examples() -> Iterator[Example]:
    yield Example(OneBitNumber(places=3, low=3, step=5, bits=4), 0)
    yield Example(OneBitNumber.calibrated(PureDP(1), places=101), 40)


@register(
    examples=_examples,
    source="Local Privacy and Statistical Minimax Rates (Duchi, Jordan, Wainwright 2013); Differential Privacy and "
    "Applications (Zhu et al. 2017), section 15.6",
    tasks={"local": "For the mean of one number at epsilon below about 1.3."},
    made_for={"places": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class OneBitNumber(NumberRandomiser):
    """Report one bit, which is 1 with probability ``(low + step * cell) / 2^bits``.

    Guarantee: any two numbers lose the logarithm of the larger of the ratios of 1 and of 0 at both ends, rounded up.

    Args:
        places: how many numbers there are.
        low: the weight of a 1 under the smallest number.
        step: what each number more adds to it.
        bits: the weights of 1 and 0 add up to 2 to this power.

    >>> law = OneBitNumber.calibrated(PureDP(1), places=101)
    >>> print(law.loss(1))
    epsilon = 1
    >>> law.means(law.tally(np.array([1, 1, 0, 1]))).reports
    array([4])

    """

    name: ClassVar[str] = "one-bit-number"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = OneBit

    places: Whole = Whole(least=2, most=MOST_PLACES)
    low: Whole = Whole(least=1, most=2**32 - 1)
    step: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, places: int, bits: int = 32) -> Self:
        """Return the bit that differs most between the ends with a loss within a target."""
        low, step = bit_weights(within, places, bits)
        return cls(places=places, low=low, step=step, bits=bits)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one bit for each number."""
        return (noise.uniform_below(2**self.bits, len(cells)) < self.low + self.step * cells).astype(np.int64)

    def tally(self, reports: NDArray[np.int64]) -> Tally:
        """Return how many bits there are, and how many of them are 1."""
        return np.array([len(reports), int(reports.sum())])

    def means(self, tally: Tally, confidence: Number = "0.95") -> Means:
        """Return the mean number."""
        scale = 2.0**-self.bits
        low, step = np.array([self.low * scale]), np.array([self.step * scale])
        return bit_means(tally[1:2], tally[:1], low, step, np.array([self.places]), level_of(confidence))

    def variances(self, cells: NDArray[np.int64]) -> Floats:
        """Return those of a coin, in cells."""
        chance = (self.low + self.step * cells) / 2.0**self.bits
        return np.asarray(chance * (1 - chance) * (2.0**self.bits / self.step) ** 2)


def bit_weights(within: Loss, places: int, bits: int) -> tuple[int, int]:
    """Return the weight of a 1 under the smallest number, and the largest step that keeps the target."""
    between = Whole(least=2, most=MOST_PLACES).convert("places", places) - 1
    total: int = 2**bits
    widest = (total - 2) // between

    def low(step: int) -> int:
        return (total - step * between) // 2

    step = largest_weight(lambda step: bit_ratio(places, low(min(step, widest)), min(step, widest), bits), within, bits)
    return low(min(step, widest)), min(step, widest)
