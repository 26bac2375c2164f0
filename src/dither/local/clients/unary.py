"""The client half of unary response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dither.errors import InvalidParameter
from dither.local.clients.half import Half, between, check_weight
from dither.noise.client_words import Words


@dataclass(frozen=True)
class Unary(Half):
    """Report one bit for each cell: 1 with probability ``hold / 2^bits`` at the true cell, else ``stray / 2^bits``.

    Words: one coin for each cell, in their order.

    Args:
        categories: how many cells there are.
        hold: the weight of a 1 at the true cell.
        stray: the weight of a 1 at each other cell.
        bits: weights are out of 2 to this power.

    """

    name: ClassVar[str] = "unary-response"
    categories: int
    hold: int
    stray: int
    bits: int = 32

    def check(self) -> None:
        """Refuse a true cell that is not more likely to be reported than others."""
        between("categories", self.categories, 2, 2**16)
        check_weight("hold", self.hold, self.bits)
        check_weight("stray", self.stray, self.bits)
        if self.hold <= self.stray:
            raise InvalidParameter("hold", self.hold, "above stray: a true answer is reported more often than others")

    @property
    def cells(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        """One bit for each cell."""
        return (1,) * self.categories

    @property
    def ratio(self) -> Fraction:
        """Two cells differ: the odds of a 1 at the one over those of a 1 at the other."""
        total = 2**self.bits
        return Fraction(self.hold * (total - self.stray), self.stray * (total - self.hold))

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the bits."""
        weights = [self.stray] * self.categories
        weights[cell] = self.hold
        return tuple([int(words.heads(weight, self.bits)) for weight in weights])
