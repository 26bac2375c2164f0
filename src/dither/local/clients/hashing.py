"""The client half of local hashing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dither.errors import InvalidParameter
from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.noise.client_words import Words


@dataclass(frozen=True)
class Hashing(Half):
    """Report a random hash function, and one of its 2^group_bits groups: that of the true cell, or another one.

    The function is ``((a x + b) mod 2^width) >> (width - group_bits)``. Two cells of a domain of at most
    2^(width - group_bits) are in the same group with probability exactly 2^-group_bits.

    Words: a, b, the coin, then which of the other groups.

    Args:
        categories: how many cells there are.
        group_bits: the logarithm of the number of groups.
        truth: the weight of the true group.
        bits: the weights of the true group and of the others add up to 2 to this power.
        width: of a and b.

    """

    name: ClassVar[str] = "local-hashing"
    categories: int
    group_bits: int
    truth: int
    bits: int = 32
    width: int = 32

    def check(self) -> None:
        """Refuse a domain in which cells collide too often."""
        between("group_bits", self.group_bits, 1, 30)
        between("width", self.width, self.group_bits + 1, 62)
        between("categories", self.categories, 2, 2**40)
        if self.categories > 2 ** (self.width - self.group_bits):
            rule = f"at most 2^{self.width - self.group_bits}, 2 to the power of width - group_bits"
            raise InvalidParameter("categories", self.categories, rule)
        check_weight("truth", self.truth, self.bits)
        check_ratio("truth", self.truth, self.ratio)

    @property
    def cells(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        """The function by a and b, and the group."""
        return self.width, self.width, self.group_bits

    @property
    def ratio(self) -> Fraction:
        """The weight of the true group over that of one other; the function does not depend on the cell."""
        return Fraction(self.truth * (2**self.group_bits - 1), 2**self.bits - self.truth)

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return a, b and a group."""
        factor, shift = words.take(self.width), words.take(self.width)
        group = ((factor * cell + shift) % 2**self.width) >> (self.width - self.group_bits)
        is_true = words.heads(self.truth, self.bits)
        other = 1 + words.below(2**self.group_bits - 1)
        return factor, shift, group if is_true else (group + other) % 2**self.group_bits
