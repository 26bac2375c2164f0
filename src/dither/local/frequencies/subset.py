"""Subset response: report a set of answers, the true one more often among them than any other.

For a question with up to some thousand answers: of all randomisers the least variance at every epsilon, but for the
rounding of the size of the set. Cost: one coin and as many uniform numbers as a report has answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Whole
from dither.local.clients import Half
from dither.local.clients.subset import Subset
from dither.local.frequencies.oracle import SupportOracle
from dither.local.weights import epsilon_within, largest_weight, laws_within
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

_CELLS_AT_A_TIME: Final = 2**21


def _examples() -> Iterator[Example]:
    yield Example(SubsetResponse(categories=3, size_of_set=2, truth=3, bits=2), 0)
    yield Example(SubsetResponse.calibrated(PureDP(1), categories=5), 3)


@register(
    examples=_examples,
    source="Optimal Schemes for Discrete Distribution Estimation Under Local Differential Privacy (Ye, Barg 2018)",
    tasks={"local": "For the least variance of all, up to some thousand answers."},
    made_for={"categories": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class SubsetResponse(SupportOracle):
    """Report ``size_of_set`` answers: with probability ``truth / 2^bits`` the true one among them; the rest is uniform.

    Guarantee: any two answers lose the logarithm of ``truth (k - size) / ((2^bits - truth) size)``, rounded up, for k
    answers.

    Args:
        categories: the number of answers.
        size_of_set: how many answers a report has.
        truth: the weight of the reports with the true answer.
        bits: the weights of reports with it and without add up to 2 to this power.

    >>> SubsetResponse(categories=6, size_of_set=2, truth=3, bits=2).half.ratio
    Fraction(6, 1)

    """

    name: ClassVar[str] = "subset-response"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Subset

    categories: Whole = Whole(least=2, most=2**16)
    size_of_set: Whole = Whole(least=1, most=2**16 - 1)
    truth: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, categories: int, bits: int = 32) -> Self:
        """Return the response of the least variance with a loss within a target."""
        ideal = categories / (1 + math.exp(float(epsilon_within(within))))

        def make(size: int, kind: type[Self] = cls) -> Self:
            def ratio(weight: int) -> Fraction:
                return Fraction(weight * (categories - size), (2**bits - weight) * size)

            return kind(categories=categories, size_of_set=size, truth=largest_weight(ratio, within, bits), bits=bits)

        sizes = sorted({min(max(math.floor(ideal) + step, 1), categories - 1) for step in (-1, 0, 1, 2)})
        return min(laws_within(sizes, make), key=lambda law: law.squared_error)

    @property
    def hold_share(self) -> Fraction:
        """The probability that the true answer is reported."""
        return Fraction(self.truth, 2**self.bits)

    @property
    def stray_share(self) -> Fraction:
        """The probability that another answer is reported: a report has ``size_of_set`` answers in all."""
        return (self.size_of_set - self.hold_share) / (self.categories - 1)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each answer."""
        reports = np.zeros((len(cells), self.categories), dtype=np.int64)
        rows = max(1, _CELLS_AT_A_TIME // self.categories)
        for start in range(0, len(cells), rows):
            self._draw_part(reports[start : start + rows], cells[start : start + rows], noise)
        return reports

    def _draw_part(self, reports: NDArray[np.int64], cells: NDArray[np.int64], noise: Noise) -> None:
        """Fill in the reports of some answers: the first steps of a shuffle of the other answers, together."""
        others, rows = self.categories - 1, np.arange(len(cells))
        is_true = noise.uniform_below(2**self.bits, len(cells)) < self.truth
        order = np.tile(np.arange(others, dtype=np.uint16), (len(cells), 1))
        last = cells
        for step in range(self.size_of_set):
            place = step + noise.uniform_below(others - step, len(cells))
            found = order[rows, place].astype(np.int64)
            order[rows, place] = order[:, step]
            last = found + (found >= cells)
            reports[rows, last] = 1
        reports[rows, last] -= is_true
        reports[rows, cells] += is_true

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports have the right number of answers."""
        return np.asarray(reports.sum(axis=1) == self.size_of_set)

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports have each answer."""
        return np.asarray(reports.sum(axis=0, dtype=np.int64))
