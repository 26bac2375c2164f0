"""Unary response: report one bit for each answer, each with its own coin.

For a question with more than about 3 e^epsilon answers, up to some thousand: the optimised form has the least variance
of those with one coin for each answer. Cost: one coin for each answer; the report has a bit for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.local.clients import Half
from dither.local.clients.unary import Unary
from dither.local.frequencies.oracle import SupportOracle
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

_COINS_AT_A_TIME: Final = 2**22


def _examples() -> Iterator[Example]:
    yield Example(UnaryResponse(categories=2, hold=2, stray=1, bits=2), 0)
    yield Example(UnaryResponse.calibrated(PureDP(1), categories=4), 3)


@register(
    examples=_examples,
    source="Locally Differentially Private Protocols for Frequency Estimation (Wang et al. 2017), section 4.2",
    tasks={"local": "For more answers, up to some thousand; reports are as long as the list of answers."},
    made_for={"categories": 4},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class UnaryResponse(SupportOracle):
    """Report a bit for each answer: 1 with probability ``hold / 2^bits`` at the true one, else ``stray / 2^bits``.

    Guarantee: any two answers lose the logarithm of the odds of ``hold`` over the odds of ``stray``, rounded up.

    Args:
        categories: the number of answers.
        hold: the weight of a 1 at the true answer.
        stray: the weight of a 1 at each other answer.
        bits: weights are out of 2 to this power.

    >>> UnaryResponse(categories=4, hold=2, stray=1, bits=2).half.ratio
    Fraction(3, 1)

    """

    name: ClassVar[str] = "unary-response"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Unary

    categories: Whole = Whole(least=2, most=2**16)
    hold: Whole = Whole(least=1, most=2**32 - 1)
    stray: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, categories: int, bits: int = 32, symmetric: bool = False) -> Self:
        """Return the response of the least variance with a loss within a target.

        Args:
            within: the target.
            categories: the number of answers.
            bits: weights are out of 2 to this power.
            symmetric: whether a bit is wrong with one probability at all answers, as in the first form of the method;
                else the true answer is reported with probability one half, which has the smaller variance.

        """
        total = 2**bits
        if symmetric:
            hold = largest_weight(lambda weight: Fraction(weight, total - weight) ** 2, within, bits)
            return cls(categories=categories, hold=hold, stray=total - hold, bits=bits)
        if bits < 2:
            raise InvalidParameter("bits", bits, "at least 2 where half of all true answers are reported")
        rest = largest_weight(lambda weight: Fraction(weight, total - weight), within, bits)
        return cls(categories=categories, hold=total // 2, stray=total - rest, bits=bits)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each answer."""
        reports = np.empty((len(cells), self.categories), dtype=np.int64)
        rows = max(1, _COINS_AT_A_TIME // self.categories)
        for start in range(0, len(cells), rows):
            part = cells[start : start + rows]
            weights = np.full((len(part), self.categories), self.stray)
            weights[np.arange(len(part)), part] = self.hold
            drawn = noise.uniform_below(2**self.bits, weights.size).reshape(weights.shape)
            reports[start : start + rows] = drawn < weights
        return reports

    @property
    def hold_share(self) -> Fraction:
        """The probability of a 1 at the true answer."""
        return Fraction(self.hold, 2**self.bits)

    @property
    def stray_share(self) -> Fraction:
        """The probability of a 1 at another answer."""
        return Fraction(self.stray, 2**self.bits)

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sums of the bits."""
        return np.asarray(reports.sum(axis=0, dtype=np.int64))
