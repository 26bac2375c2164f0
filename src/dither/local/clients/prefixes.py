"""The client half of prefix hashing: one prefix of a word, of a random length, by local hashing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dither.errors import InvalidParameter
from dither.local.clients.attributes import integers
from dither.local.clients.half import Half, between
from dither.local.clients.hashing import Hashing
from dither.noise.client_words import Words


@dataclass(frozen=True)
class Prefixes(Half):
    """Report a random hash function, and the group of a prefix of the word or another one.

    Which length the prefix has is drawn first, by rejection and without the word; then local hashing on the prefix, in
    the order of its words.

    Args:
        word_bits: the length of a word.
        lengths: of prefixes, in bits, the last one that of a word.
        group_bits: as for local hashing.
        truth: as for local hashing.
        bits: as for local hashing.
        width: as for local hashing.

    """

    name: ClassVar[str] = "prefix-hashing"
    word_bits: int
    lengths: tuple[int, ...]
    group_bits: int
    truth: int
    bits: int = 32
    width: int = 62

    def check(self) -> None:
        """Refuse lengths that do not grow up to the word's, and what local hashing refuses."""
        between("word_bits", self.word_bits, 1, 40)
        object.__setattr__(self, "lengths", integers("lengths", self.lengths))
        grows = all(a < b for a, b in zip((0, *self.lengths), self.lengths, strict=False))
        if not self.lengths or not grows or self.lengths[-1] != self.word_bits:
            raise InvalidParameter("lengths", self.lengths, f"growing lengths, the last of them {self.word_bits}")
        _ = self.hashing

    @property
    def hashing(self) -> Hashing:
        """The law of the prefix, for all lengths."""
        return Hashing(1 << self.word_bits, self.group_bits, self.truth, self.bits, self.width)

    @property
    def cells(self) -> int:
        """The number of values."""
        return 1 << self.word_bits

    @property
    def widths(self) -> tuple[int, ...]:
        """Which length, the function, and the group."""
        return (len(self.lengths) - 1).bit_length(), *self.hashing.widths

    @property
    def ratio(self) -> Fraction:
        """That of local hashing: the length does not depend on the word."""
        return self.hashing.ratio

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the number of a length, a function and a group."""
        chosen = words.below(len(self.lengths))
        prefix = cell >> (self.word_bits - self.lengths[chosen])
        return chosen, *self.hashing.draw(prefix, words)
