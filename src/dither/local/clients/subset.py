"""The client half of subset response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.noise.client_words import Words


@dataclass(frozen=True)
class Subset(Half):
    """Report ``size_of_set`` cells: with probability ``truth / 2^bits`` the true one among them; the rest is uniform.

    Words: the coin, then as many cells of the others without replacement, by the first steps of a shuffle of them: the
    step i takes ``i + below(categories - 1 - i)``. Where the true cell is reported, the last of them is not.

    Args:
        categories: how many cells there are.
        size_of_set: how many cells a report has.
        truth: the weight of the reports with the true cell.
        bits: the weights of reports with it and without add up to 2 to this power.

    """

    name: ClassVar[str] = "subset-response"
    categories: int
    size_of_set: int
    truth: int
    bits: int = 32

    def check(self) -> None:
        """Refuse reports of all cells."""
        between("categories", self.categories, 2, 2**16)
        between("size_of_set", self.size_of_set, 1, self.categories - 1)
        check_weight("truth", self.truth, self.bits)
        check_ratio("truth", self.truth, self.ratio)

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
        """One set with the true cell against one without: their weights over how many there are of each."""
        size, total = self.size_of_set, 2**self.bits
        return Fraction(self.truth * (self.categories - size), (total - self.truth) * size)

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return a bit for each cell."""
        is_true = words.heads(self.truth, self.bits)
        others, moved, drawn = self.categories - 1, dict[int, int](), [0] * self.categories
        last = cell
        for step in range(self.size_of_set):
            place = step + words.below(others - step)
            found = moved.get(place, place)
            moved[place] = moved.get(step, step)
            last = found + (found >= cell)
            drawn[last] = 1
        drawn[last] -= is_true
        drawn[cell] += is_true
        return tuple(drawn)
