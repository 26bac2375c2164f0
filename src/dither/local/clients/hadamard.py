"""The client half of Hadamard response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dither.errors import InvalidParameter
from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.noise.client_words import Words


@dataclass(frozen=True)
class Hadamard(Half):
    """Report a place of a table of ``blocks`` times 2^order: from the half of a block that belongs to the true cell.

    Cell x belongs to the block ``x // (2^order - 1)``, and to the row ``j = 1 + x mod (2^order - 1)`` of a Hadamard
    matrix: its places are those y of the block with an even number of bits in ``j & y``.

    Words: the coin, a place of the half (``order - 1`` bits), then one of all places outside of the half. A place in a
    half is made of ``order - 1`` bits by putting in the bit at the highest place of j that makes the parity right.
    Places outside come in this order: the other half of the block, then the other blocks.

    Args:
        categories: how many cells there are.
        order: the logarithm of the length of a block.
        blocks: how many blocks there are.
        truth: the weight of the places of the true cell.
        bits: the weights of its places and of all others add up to 2 to this power.

    """

    name: ClassVar[str] = "hadamard-response"
    categories: int
    order: int
    blocks: int
    truth: int
    bits: int = 32

    def check(self) -> None:
        """Refuse a table that has too few rows."""
        between("categories", self.categories, 2, 2**24)
        between("order", self.order, 1, 25)
        between("blocks", self.blocks, 1, 2**24)
        if self.blocks * (2**self.order - 1) < self.categories:
            raise InvalidParameter("blocks", self.blocks, "enough that all blocks have a row for each category")
        check_weight("truth", self.truth, self.bits)
        check_ratio("truth", self.truth, self.ratio)

    @property
    def cells(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        """One field: the number of a place."""
        return ((self.blocks * 2**self.order - 1).bit_length(),)

    @property
    def outside(self) -> int:
        """How many places do not belong to a cell."""
        return (self.blocks << self.order) - (1 << (self.order - 1))

    @property
    def ratio(self) -> Fraction:
        """The weight of one place inside over that of one outside."""
        return Fraction(self.truth * self.outside, (2**self.bits - self.truth) * 2 ** (self.order - 1))

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the number of a place."""
        rows, length = 2**self.order - 1, 2**self.order
        block, row = cell // rows, 1 + cell % rows
        is_true = words.heads(self.truth, self.bits)
        inside = words.take(self.order - 1)
        outside = words.below(self.outside)
        beyond = outside - length // 2
        other = beyond // length
        other += other >= block
        lie = block * length + _with_parity(row, outside, 1) if beyond < 0 else other * length + beyond % length
        return (block * length + _with_parity(row, inside, 0) if is_true else lie,)


def _with_parity(row: int, bits: int, parity: int) -> int:
    """Return the number that is made of bits by putting one in at the highest place of a row, for a parity."""
    top = row.bit_length() - 1
    number = ((bits >> top) << (top + 1)) | (bits & ((1 << top) - 1))
    return number | ((((row & number).bit_count() & 1) ^ parity) << top)
