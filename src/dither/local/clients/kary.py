"""The client half of k-ary response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.noise.client_words import Words


@dataclass(frozen=True)
class Kary(Half):
    """Report the true cell with probability ``truth / 2^bits``, else one of the others, all equally likely.

    Words: the coin, then which of the others (read also where the truth is reported).

    Args:
        categories: how many cells there are.
        truth: the weight of the truth.
        bits: the weights of truth and lie add up to 2 to this power.

    """

    name: ClassVar[str] = "kary-response"
    categories: int
    truth: int
    bits: int = 32

    def check(self) -> None:
        """Refuse a truth that is less likely than each false answer."""
        between("categories", self.categories, 2, 2**31)
        check_weight("truth", self.truth, self.bits)
        check_ratio("truth", self.truth, self.ratio)

    @property
    def cells(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        """One field: the number of a cell."""
        return ((self.categories - 1).bit_length(),)

    @property
    def ratio(self) -> Fraction:
        """The weight of the truth over that of one false answer."""
        return Fraction(self.truth * (self.categories - 1), 2**self.bits - self.truth)

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the number of a cell."""
        is_true = words.heads(self.truth, self.bits)
        shift = 1 + words.below(self.categories - 1)
        return (cell if is_true else (cell + shift) % self.categories,)
