"""What a table still gives away, and what it has lost: measured on the table itself, and no more than that.

Risks of being found again are those of ARX and sdcMicro. The *prosecutor* knows that the target is in the table, the
*journalist* has a register of everybody, and the *marketer* wants to find as many as possible. All three are averages
over what happened to be in this table. None of them is a promise about an attacker who knows anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dither.disguise.checkers import presence
from dither.disguise.classes import Classes, classes_of, group
from dither.disguise.table import Table
from dither.errors import InvalidParameter


@dataclass(frozen=True)
class Guess:
    """What an attacker who knows the class of everybody makes of one sensitive column.

    Args:
        column: the sensitive one.
        right: the share of rows whose value is guessed right, by the most frequent one of their class.
        blind: the same without the table's quasi-identifiers: the share of the most frequent value.
        certain: the share of rows in classes that have one value only.
        gain: how many times as frequent a value is in a class as in the table, at most.
        distinct: how many different values a class has, at least: the table is l-diverse for this l.
        entropy: e to the entropy of the values of a class, at least.
        closeness: the earth mover's distance of a class from the table, at most, by the equal distance.

    """

    column: str
    right: float
    blind: float
    certain: float
    gain: float
    distinct: int
    entropy: float
    closeness: float


@dataclass(frozen=True)
class Risk:
    """What a table gives away.

    Args:
        rows: of the table.
        classes: of rows that look alike.
        smallest: the size of the smallest class: the table is k-anonymous for this k.
        average: the size of a class, on average.
        largest: the size of the largest class.
        uniques: rows that nobody else looks like.
        prosecutor: the greatest probability of finding a row again for one who knows that it is there.
        marketer: the share of rows that are found again on average, if everybody is looked for.
        journalist: the greatest probability by a register of the population; None without one.
        by_size: a power of two, and how many rows are in classes at least so large and less than twice as large.
        guesses: about each sensitive column.

    """

    rows: int
    classes: int
    smallest: int
    average: float
    largest: int
    uniques: int
    prosecutor: float
    marketer: float
    journalist: float | None
    by_size: tuple[tuple[int, int], ...]
    guesses: tuple[Guess, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            **asdict(self),
            "by_size": [list(pair) for pair in self.by_size],
            "guesses": [asdict(one) for one in self.guesses],
        }


@dataclass(frozen=True)
class Blur:
    """What a table has lost.

    Args:
        suppressed: rows that are left out.
        ncp: the normalised certainty penalty, from 0 to 1: how wide cells of quasi-identifiers are, on average; a row
            that is left out counts as 1. None where only the outcome is known.
        discernibility: the sum over all rows of how many rows each looks like; a row left out looks like all.
        class_size: the average size of classes, as a multiple of k. None where no k was asked for.
        bits: what cells of rows that are left leave open about their true values, on average (non-uniform entropy):
            minus the logarithm of a value's share among rows with the same label. None where only the outcome is known.

    """

    suppressed: int
    ncp: float | None
    discernibility: int
    class_size: float | None
    bits: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


def risk_of(table: Table, quasi: Sequence[str], sensitive: Sequence[str] = (), population: Table | None = None) -> Risk:
    """Return what a table gives away.

    Args:
        table: any table, made here or elsewhere.
        quasi: the columns that others may know of people.
        sensitive: the columns that they should not learn.
        population: a register with the same quasi-identifiers, for the journalist.

    """
    if not len(table):
        raise InvalidParameter("table", 0, "one or more rows long")
    classes = classes_of(table, quasi)
    rows, count = len(table), len(classes)
    return Risk(
        rows=rows,
        classes=count,
        smallest=classes.k,
        average=rows / count,
        largest=int(classes.sizes.max()),
        uniques=int(np.count_nonzero(classes.sizes == 1)),
        prosecutor=1 / classes.k,
        marketer=count / rows,
        journalist=None if population is None else 1 / presence(table, population, quasi).k,
        by_size=_by_size(classes),
        guesses=tuple(_guess(table, classes, name) for name in sensitive),
    )


def _by_size(classes: Classes) -> tuple[tuple[int, int], ...]:
    powers = np.frexp(classes.sizes)[1] - 1
    rows = np.rint(np.bincount(powers, weights=classes.sizes)).astype(np.int64)
    return tuple((1 << power, count) for power, count in enumerate(rows.tolist()))


def _guess(table: Table, classes: Classes, name: str) -> Guess:
    """Return what is learned of a column; only values that a class has are looked at, which may be few of many."""
    column = table[name]
    rows, size = len(table), len(column.values)
    whole = np.bincount(column.codes, minlength=size) / rows
    pairs, counts = np.unique(classes.of_row * size + column.codes, return_counts=True)
    of_pair = pairs // size
    starts = np.flatnonzero(np.diff(of_pair, prepend=-1))
    most = np.maximum.reduceat(counts, starts)
    shares, usual = counts / classes.sizes[of_pair], whole[pairs % size]
    return Guess(
        column=name,
        right=int(most.sum()) / rows,
        blind=float(whole.max()),
        certain=int(classes.sizes[most == classes.sizes].sum()) / rows,
        gain=float((shares / usual).max()),
        distinct=int(np.diff(starts, append=len(pairs)).min()),
        entropy=float(np.exp(np.add.reduceat(-shares * np.log(shares), starts).min())),
        # What goes into the values of a class comes from those that it has too few of.
        closeness=float(np.add.reduceat(np.maximum(shares - usual, 0), starts).max()),
    )


def bits_lost(true: Table, shown: Table, quasi: Sequence[str]) -> float:
    """Return how many bits a cell leaves open about the true value, on average over rows and columns.

    >>> bits_lost(Table.of({"a": [1, 2, 3, 4]}), Table.of({"a": ["x", "x", 3, 4]}), ["a"])
    0.5

    """
    total = 0.0
    for name in quasi:
        both = group([true[name].codes, shown[name].codes], [len(true[name].values), len(shown[name].values)])
        labels = np.bincount(shown[name].codes)[shown[name].codes]
        total += float(np.log2(labels / both.sizes[both.of_row]).mean())
    return total / len(quasi)


def blur_of(
    classes: Classes, *, rows: int, ncp: float | None = None, k: int | None = None, bits: float | None = None
) -> Blur:
    """Return what was lost on the way to some classes.

    Args:
        classes: of the rows that are left.
        rows: how many there were.
        ncp: the penalty, if it is known.
        k: what was asked for, if anything was.
        bits: that cells leave open, if it is known.

    """
    left = int(classes.sizes.sum())
    gone = rows - left
    count = len(classes)
    size = left / count / k if k else None
    return Blur(gone, ncp, int(np.sum(classes.sizes**2)) + gone * rows, size, bits)
