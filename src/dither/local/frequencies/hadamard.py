"""Hadamard response: report a place of a table, from the half of a block that belongs to the answer, or not.

For questions with very many answers: a report has the bits of one number, and a server decodes all answers together
with a fast transform. Cost: one coin and two uniform numbers; the estimate takes n + k log k steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.estimate.walsh_hadamard import walsh_hadamard
from dither.exact import Whole
from dither.local.clients import Half
from dither.local.clients.hadamard import Hadamard
from dither.local.frequencies.oracle import Floats, Oracle
from dither.local.weights import largest_weight, laws_within
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP


def _examples() -> Iterator[Example]:
    yield Example(HadamardResponse(categories=3, order=2, blocks=1, truth=3, bits=2), 0)
    yield Example(HadamardResponse.calibrated(PureDP(2), categories=5), 3)


@register(
    examples=_examples,
    source="Hadamard Response: Estimating Distributions Privately, Efficiently (Acharya, Sun, Zhang 2019)",
    tasks={"local": "For very many answers that are all listed: a report is one number, a server is fast."},
    made_for={"categories": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class HadamardResponse(Oracle):
    """Report a place of a table of ``blocks`` times 2^order: of the half of a block that belongs to the answer, or not.

    Guarantee: any two answers lose the logarithm of the weight of one place inside over that of one outside, rounded
    up.

    Args:
        categories: the number of answers.
        order: the logarithm of the length of a block.
        blocks: how many blocks there are.
        truth: the weight of the places of the answer.
        bits: the weights of its places and of all others add up to 2 to this power.

    >>> HadamardResponse(categories=3, order=2, blocks=1, truth=3, bits=2).half.ratio
    Fraction(3, 1)

    """

    name: ClassVar[str] = "hadamard-response"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Hadamard

    categories: Whole = Whole(least=2, most=2**24)
    order: Whole = Whole(least=1, most=25)
    blocks: Whole = Whole(1, least=1, most=2**24)
    truth: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, categories: int, bits: int = 32) -> Self:
        """Return the response of the least variance with a loss within a target, over all shapes of the table."""

        def make(order: int, kind: type[Self] = cls) -> Self:
            rows = 2**order - 1
            blocks = -(-categories // rows)
            inside, outside = 2 ** (order - 1), blocks * 2**order - 2 ** (order - 1)

            def ratio(weight: int) -> Fraction:
                return Fraction(weight * outside, (2**bits - weight) * inside)

            truth = largest_weight(ratio, within, bits)
            return kind(categories=categories, order=order, blocks=blocks, truth=truth, bits=bits)

        orders = range(1, categories.bit_length() + 1)
        return min(laws_within(orders, make), key=lambda law: law.squared_error)

    @property
    def _inside(self) -> Fraction:
        """The probability of the half that belongs to the answer."""
        return Fraction(self.truth, 2**self.bits)

    @property
    def _beside(self) -> Fraction:
        """The probability of the other half of its block."""
        return (1 - self._inside) * Fraction(1, 2 * self.blocks - 1)

    @property
    def slope(self) -> Fraction:
        """One half of the block counts 1, the other -1."""
        return self._inside - self._beside

    @property
    def base(self) -> Fraction:
        """Other answers of the block have equally many places in both halves."""
        return Fraction(0)

    def scatter(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the variances; a score is not 0 where the report is from the block, likelier for its own answers."""
        own, strange = float(self._inside + self._beside), 2 * float(self._beside)
        rows = 2**self.order - 1
        filled = np.zeros(self.blocks * rows)
        filled[: self.categories] = shares
        of_block = np.clip(filled.reshape(self.blocks, rows).sum(axis=1), 0, 1).repeat(rows)[: self.categories]
        return of_block * own + (1 - of_block) * strange, np.full(self.categories, -(float(self.slope) ** 2))

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each answer."""
        count, rows, length = len(cells), 2**self.order - 1, 2**self.order
        block, row = cells // rows, 1 + cells % rows
        is_true = noise.uniform_below(2**self.bits, count) < self.truth
        inside = noise.uniform_below(length // 2, count)
        outside = noise.uniform_below(self.blocks * length - length // 2, count)
        beyond = outside - length // 2
        other = beyond // length
        other += other >= block
        beside = block * length + _with_parity(row, np.minimum(outside, length // 2 - 1), 1)
        lie = np.where(beyond < 0, beside, other * length + beyond % length)
        return np.asarray(np.where(is_true, block * length + _with_parity(row, inside, 0), lie), dtype=np.int64)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports are places of the table."""
        return np.asarray(reports < self.blocks * 2**self.order)

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each answer the reports from its half less those from the other half of its block."""
        counts = np.bincount(reports, minlength=self.blocks * 2**self.order).astype(np.int64)
        table = counts.reshape(self.blocks, *(2,) * self.order)
        signed = walsh_hadamard(table, range(1, self.order + 1)).reshape(self.blocks, -1)[:, 1:]
        return np.asarray(signed.reshape(-1)[: self.categories], dtype=np.int64)


def _with_parity(row: NDArray[np.int64], bits: NDArray[np.int64], parity: int) -> NDArray[np.int64]:
    """Return the numbers made of bits by putting one in at the highest place of a row, for a parity."""
    top = np.frexp(row.astype(np.float64))[1].astype(np.int64) - 1
    number = ((bits >> top) << (top + 1)) | (bits & ((np.int64(1) << top) - 1))
    odd = np.bitwise_count(row & number).astype(np.int64) & 1
    return np.asarray(number | ((odd ^ parity) << top), dtype=np.int64)
