"""Cells that change places: permutation, swapping of pairs, and swapping of near ranks.

All three keep how often every value of a column occurs, and lose how columns belong together. Sources: swapping of
pairs, Dalenius and Reiss (1982); rank swapping, Moore (1996). A value that only one person has still says that this
person is in the table. After a rank swap, the true value lies within a known distance of the published one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.disguise.classes import classes_of
from dither.disguise.perturbation.contract import Perturbation, columns_named, perturbation
from dither.disguise.rules import ordered_values
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator, public_generator


@perturbation
@dataclass(frozen=True)
class Permutation(Perturbation):
    """Every column in an order of its own, drawn uniformly.

    Args:
        columns: to be permuted.
        together: all in one and the same order, so that what these columns say of each other stays.

    >>> sorted(Permutation(("pay",)).apply({"pay": [1, 2, 3]}).frame()["pay"])
    [1, 2, 3]

    """

    columns: tuple[str, ...]
    together: bool = False

    name: ClassVar[str] = "permutation"
    source: ClassVar[str] = "Saskatchewan thesis, section 2.2"
    attacks: ClassVar[tuple[str, ...]] = ("background",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", columns_named(self.columns))

    def perturb(self, table: Table) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the permuted columns."""
        drawn = public_generator()
        one = drawn.permutation(len(table))
        made = {
            name: table[name].taken(one if self.together else drawn.permutation(len(table))) for name in self.columns
        }
        how = "in one random order" if self.together else "each in its own random order"
        return made, (f"Permuted, {how}: {', '.join(self.columns)}.",)

    @classmethod
    def example(cls, numbers: str, texts: str) -> Permutation:
        """Return the permutation of both columns."""
        return cls((numbers, texts))


@perturbation
@dataclass(frozen=True)
class Swapping(Perturbation):
    """Cells of pairs of rows, drawn at random, change places.

    Args:
        columns: the cells that change places, all of a row at once.
        share: of the rows that are in a pair, rounded down to whole pairs.
        within: columns in which both rows of a pair agree, so that counts over these and one swapped column stay.

    >>> Swapping(("pay",), share=1.0).apply({"pay": [1, 2]}).frame()["pay"]
    [2, 1]

    """

    columns: tuple[str, ...]
    share: float = 0.1
    within: tuple[str, ...] = ()

    name: ClassVar[str] = "swapping"
    source: ClassVar[str] = "Dalenius, Reiss (1982)"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background")

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", columns_named(self.columns))
        if self.within:
            object.__setattr__(self, "within", columns_named(self.within))
        if set(self.within) & set(self.columns):
            raise InvalidParameter("within", list(self.within), "other columns than those that are swapped")
        if not 0 < self.share <= 1:
            raise InvalidParameter("share", self.share, "above 0 and at most 1")

    def perturb(self, table: Table) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the swapped columns."""
        drawn = public_generator()
        order = drawn.permutation(len(table))
        if self.within:
            of_row = classes_of(table, self.within).of_row[order]
            order = order[np.argsort(of_row, kind="stable")]
            sizes = np.bincount(of_row)
        else:
            sizes = np.array([len(order)])
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes // 2)
        of_pair = np.arange(len(starts)) - np.repeat(np.cumsum(sizes // 2) - sizes // 2, sizes // 2)
        first = starts + 2 * of_pair
        asked = int(self.share * len(table) + 1e-9) // 2
        taken = drawn.permutation(first)[:asked]
        places = np.arange(len(table))
        places[order[taken]], places[order[taken + 1]] = order[taken + 1], order[taken]
        done = [f"{len(taken):,} pairs of rows swapped {', '.join(self.columns)}."]
        if len(taken) < asked:
            done.append(f"{asked:,} pairs were requested; there are no more that agree in {', '.join(self.within)}.")
        return {name: table[name].taken(places) for name in self.columns}, tuple(done)

    @classmethod
    def example(cls, numbers: str, texts: str) -> Swapping:
        """Return swaps of numbers between rows of the same text."""
        return cls((numbers,), share=0.5, within=(texts,))


@perturbation
@dataclass(frozen=True)
class RankSwapping(Perturbation):
    """Each cell changes places with one of a near rank, drawn at random; each column by itself.

    Args:
        columns: of numbers, or of texts by the alphabet; what is missing comes first.
        width: how far apart in rank the two cells of a swap are, at most, as a share of the rows.

    >>> RankSwapping(("pay",), width=0.5).apply({"pay": [5, 9]}).frame()["pay"]
    [9, 5]

    """

    columns: tuple[str, ...]
    width: float = 0.05

    name: ClassVar[str] = "rank-swapping"
    source: ClassVar[str] = "Moore (1996)"
    attacks: ClassVar[tuple[str, ...]] = ("similarity", "background")

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", columns_named(self.columns))
        if not 0 < self.width <= 1:
            raise InvalidParameter("width", self.width, "above 0 and at most 1")

    def perturb(self, table: Table) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the swapped columns."""
        reach = int(self.width * len(table) + 1e-9)
        if not reach:
            raise InvalidParameter("width", self.width, f"at least one rank wide: 1/{len(table)} or more")
        drawn = public_generator()
        made = {name: table[name].taken(_near(table[name], reach, drawn)) for name in self.columns}
        return made, (f"Cells changed places with others at most {reach:,} ranks away: {', '.join(self.columns)}.",)

    @classmethod
    def example(cls, numbers: str, texts: str) -> RankSwapping:
        """Return swaps of both columns."""
        return cls((numbers, texts), width=0.25)


def _near(column: Column, reach: int, drawn: Generator) -> Codes:
    """Return the row whose cell each row gets: equal values are ranked at random."""
    values = ordered_values(column)
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[values] = np.arange(len(values))
    mixed = drawn.permutation(len(column.codes))
    order = mixed[np.argsort(ranks[column.codes[mixed]], kind="stable")]
    free = np.ones(len(order), dtype=np.bool_)
    places = np.arange(len(order))
    for rank in range(len(order)):
        if not free[rank]:
            continue
        partners = np.flatnonzero(free[rank + 1 : rank + 1 + reach])
        if not len(partners):
            continue
        other = rank + 1 + int(partners[drawn.integers(len(partners))])
        free[other] = False
        places[order[rank]], places[order[other]] = order[other], order[rank]
    return places
