"""The client half of padding and sampling: one item of a set, or a dummy, by k-ary response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.noise.client_words import Words

#: The random bits that choose one item of a set that is too large.
CHOICE_BITS: Final = 32


@dataclass(frozen=True)
class PaddedSetHalf(Half):
    """Pad a set with dummies, draw one of its members, and report it by k-ary response over items and dummies.

    A set is the number whose bits are its items, item 0 the lowest. Of up to ``length`` items the member is the one
    with a random number, dummies filling up; of more it is any item. So no item is drawn with more than ``1 / length``.

    Words: the member of a padded set, the choice in a large one, the coin and the shift; all are always read.

    Args:
        items: how many items there are.
        length: to which sets are padded.
        truth: the weight of the member that was drawn.
        bits: the weights of truth and lie add up to 2 to this power.

    """

    name: ClassVar[str] = "padded-set"
    items: int
    length: int
    truth: int
    bits: int = 32

    def check(self) -> None:
        """Refuse sets that are no numbers of 62 bits, and weights under which another report is as likely."""
        between("items", self.items, 1, 62)
        between("length", self.length, 1, 2**10)
        check_weight("truth", self.truth, self.bits)
        check_ratio("truth", self.truth, Fraction(self.truth * (self.reports - 1), 2**self.bits - self.truth))

    @property
    def reports(self) -> int:
        """How many different reports there are: items and dummies."""
        return self.items + self.length

    @property
    def cells(self) -> int:
        """The number of sets."""
        return 1 << self.items

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of an item or dummy."""
        return ((self.reports - 1).bit_length(),)

    @property
    def ratio(self) -> Fraction:
        """A member is drawn with probability ``1 / length`` at most, which divides the gain of the response."""
        gain = Fraction(self.truth * (self.reports - 1), 2**self.bits - self.truth)
        return 1 + (gain - 1) / self.length

    def member(self, cell: int, words: Words) -> int:
        """Return an item of a set, or a dummy."""
        place, choice = words.below(self.length), words.take(CHOICE_BITS)
        held = [item for item in range(self.items) if cell >> item & 1]
        if len(held) > self.length:
            return held[(choice * len(held)) >> CHOICE_BITS]
        return held[place] if place < len(held) else self.items + place

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the number of an item or dummy."""
        true = self.member(cell, words)
        is_true = words.heads(self.truth, self.bits)
        shift = 1 + words.below(self.reports - 1)
        return (true if is_true else (true + shift) % self.reports,)
