"""K-ary response: report the true answer, or one of the others.

For a question with few answers, up to about 3 e^epsilon: there nothing has a smaller variance. Cost: one coin and one
uniform number; the report is the number of an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Whole
from dither.local.clients import Half
from dither.local.clients.kary import Kary
from dither.local.frequencies.oracle import SupportOracle
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP


def _examples() -> Iterator[Example]:
    yield Example(KaryResponse(categories=3, truth=11, bits=4), 0)
    yield Example(KaryResponse.calibrated(PureDP(1), categories=5), 3)


@register(
    examples=_examples,
    source="Using Randomized Response for Differential Privacy Preserving Data Collection (Wang, Wu, Hu 2016)",
    tasks={"local": "For a question with few answers, up to about 3 e^epsilon."},
    made_for={"categories": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class KaryResponse(SupportOracle):
    """Report the true answer with probability ``truth / 2^bits``, else another one, all equally likely.

    Guarantee: any two answers lose the logarithm of ``truth (categories - 1) / (2^bits - truth)``, rounded up.

    Args:
        categories: the number of answers.
        truth: the weight of the truth.
        bits: the weights of truth and lie add up to 2 to this power.

    >>> KaryResponse(categories=4, truth=3, bits=2).half.ratio
    Fraction(9, 1)
    >>> print(KaryResponse.calibrated(PureDP(1), categories=10).loss(1))
    epsilon = 1

    """

    name: ClassVar[str] = "kary-response"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Kary

    categories: Whole = Whole(least=2, most=2**31)
    truth: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, categories: int, bits: int = 32) -> Self:
        """Return the response that reports the truth most often with a loss within a target."""
        others = categories - 1
        truth = largest_weight(lambda weight: Fraction(weight * others, 2**bits - weight), within, bits)
        return cls(categories=categories, truth=truth, bits=bits)

    @property
    def hold_share(self) -> Fraction:
        """The probability of the truth."""
        return Fraction(self.truth, 2**self.bits)

    @property
    def stray_share(self) -> Fraction:
        """The probability of one false answer."""
        return (1 - self.hold_share) / (self.categories - 1)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each answer."""
        is_true = noise.uniform_below(2**self.bits, len(cells)) < self.truth
        shift = 1 + noise.uniform_below(self.categories - 1, len(cells))
        return np.where(is_true, cells, (cells + shift) % self.categories).astype(np.int64)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports are numbers of answers."""
        return reports < self.categories

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports there are of each answer."""
        return np.bincount(reports, minlength=self.categories).astype(np.int64)
