"""A k-ary response that is stored, and k-ary responses to it in every round.

For a question with few answers that is repeated over time. Cost: that of two k-ary responses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Whole
from dither.local.clients.chains import KaryChain, kary_rounds
from dither.local.clients.half import Half
from dither.local.rounds.chain import ChainShares, kary_block, two_steps, weights_of
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP


def _examples() -> Iterator[Example]:
    yield Example(MemoisedKary(categories=3, hold=3, show=2, bits=2), 0)
    yield Example(MemoisedKary.calibrated(PureDP(2), categories=5), 3)


@register(
    examples=_examples,
    source="Improving the Utility of Locally Differentially Private Protocols for Longitudinal and Multidimensional "
    "Frequency Estimates (Arcolezi et al. 2022), L-GRR",
    tasks={"local": "For a question with few answers that is repeated over time."},
    made_for={"categories": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class MemoisedKary(ChainShares):
    """Draw a k-ary response once, store it, and report a k-ary response to it in every round.

    Guarantee: one report loses ``loss(1)``. All reports of a device that keeps its first value together lose
        ``losses(...).lasting``: the logarithm of ``hold (categories - 1) / (2^bits - hold)``, rounded up. If reports
        follow a value that changes, each round is a loss: ``losses(...).changed``.

    Args:
        categories: the number of answers.
        hold: the weight with which the stored response is the truth.
        show: the weight with which a report is the stored response.
        bits: the weights of each add up to 2 to this power.

    >>> law = MemoisedKary.calibrated(PureDP(2), categories=4)
    >>> losses = law.losses(rounds=10)
    >>> print(losses.one), print(losses.lasting)
    epsilon = 1
    epsilon = 2
    (None, None)

    """

    name: ClassVar[str] = "memoised-kary"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = KaryChain

    categories: Whole = Whole(least=2, most=2**31)
    hold: Whole = Whole(least=1, most=2**32 - 1)
    show: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, categories: int, first: Loss | None = None, bits: int = 32) -> Self:
        """Return the chain with the largest weights whose lasting loss is within a target.

        Args:
            within: what all reports from one stored response may lose.
            categories: the number of answers.
            first: what one report may lose; half of it where this is omitted.
            bits: of the sums of weights.

        """

        def ratio(hold: int, show: int) -> Fraction:
            return kary_rounds(hold, show, bits, categories, 1)

        hold, show = weights_of(within, first, categories, bits, ratio)
        return cls(categories=categories, hold=hold, show=show, bits=bits)

    @property
    def hold_share(self) -> Fraction:
        """The probability that a report is the truth."""
        return two_steps(self.hold, self.show, self.bits, self.categories)

    @property
    def stray_share(self) -> Fraction:
        """The probability of any one other answer."""
        return (1 - self.hold_share) / (self.categories - 1)

    def draw_states(self, cells: NDArray[np.int64], noise: Noise) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return nothing that is drawn once, and stored answers."""
        return np.zeros((len(cells), 0), dtype=np.int64), kary_block(
            cells, self.hold, self.bits, self.categories, noise
        )

    def draw_round(self, own: NDArray[np.int64], states: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return an answer for each stored one."""
        return kary_block(states, self.show, self.bits, self.categories, noise)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports are numbers of answers."""
        return reports < self.categories

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports there are of each answer."""
        return np.bincount(reports, minlength=self.categories).astype(np.int64)
