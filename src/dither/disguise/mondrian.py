"""Mondrian: cut the rows in two along one quasi-identifier after another, as long as both halves fulfil the rules.

Source: Mondrian Multidimensional K-Anonymity (LeFevre, DeWitt, Ramakrishnan 2006). All parts are cut at once, round by
round: in a round every part tries the next of its quasi-identifiers, the widest first, and cuts between two different
values next to the middle (*strict*). Where all of these fail it may be cut in the middle, wherever equal values fall
(*relaxed*): the classes are then parts of the strict ones, and their cells at most as wide. Time is that of sorting
the rows once a round; there are about as many rounds as the logarithm of the number of classes and twice the number of
quasi-identifiers.

Numbers are published as ranges of what a class has, and texts as sets, or as the lowest label of their hierarchy that
stands for all of them. Where cuts fall depends on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.recoding import published
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial, ordered_values
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter

_MOST_KEYS: Final = 1 << 63
_AFTER: Final = 4.0


@disguise
@dataclass(frozen=True)
class Mondrian(Disguise):
    """Classes by cutting the rows in two, again and again.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        relaxed: whether rows with equal values may come into different classes.
        hierarchies: of quasi-identifiers that are texts; others are published as sets of values.

    >>> people = {"age": [21, 25, 43, 47], "ill": ["flu", "cold", "flu", "cold"]}
    >>> made = Mondrian(Roles(("age",), ("ill",)), Rules(k=2, l=2)).apply(people)
    >>> made.frame()["age"], made.risk.prosecutor
    (['21-25', '21-25', '43-47', '43-47'], 0.5)

    """

    name: ClassVar[str] = "mondrian"
    source: ClassVar[str] = "Mondrian Multidimensional K-Anonymity (LeFevre, DeWitt, Ramakrishnan 2006)"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness", "similarity", "definetti")

    roles: Roles
    rules: Rules
    relaxed: bool = False
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the quasi-identifiers of the classes."""
        for name, tree in self.hierarchies.items():
            if name not in self.roles.quasi:
                raise InvalidParameter("hierarchies", name, "of quasi-identifiers alone")
            tree.covers(name, table[name])
        axes = [axis_of(table[name], self.hierarchies.get(name)) for name in self.roles.quasi]
        parts, count = _cut(axes, trial, relaxed=self.relaxed)
        columns, penalty = published(table, self.roles.quasi, parts, count, self.hierarchies)
        how = "relaxed" if self.relaxed else "strict"
        done = (f"Cut along {', '.join(self.roles.quasi)} ({how}), to {count:,} parts.",)
        return Recoded(columns, np.arange(len(table)), penalty, done)

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> Mondrian:
        """Return strict cuts without hierarchies."""
        del table
        return cls(roles, rules)


@dataclass(frozen=True, eq=False)
class Axis:
    """A quasi-identifier along which rows can be cut.

    Args:
        codes: of the rows, in the order of the values.
        places: of the values, as shares of the whole range.

    """

    codes: Codes
    places: NDArray[np.float64]


def axis_of(column: Column, hierarchy: Hierarchy | None) -> Axis:
    """Return the axis of a column: numbers, dates by size, texts as in their hierarchy, else by the alphabet."""
    order, numbers = ordered_values(column), column.scale()
    if hierarchy is not None:
        # By the labels from the top down, so that what has a common label stands together.
        keys = [
            tuple(hierarchy.label(value, level) for level in range(hierarchy.height, -1, -1)) for value in column.values
        ]
        order, numbers = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64), None
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    if numbers is None:
        places = np.arange(len(order)) / max(len(order) - 1, 1)
    else:
        ordered = numbers[order]
        low, high = np.nanmin(ordered), np.nanmax(ordered)
        # What is missing lies as far below all numbers as these are apart, and is cut off first.
        places = np.nan_to_num((ordered - low) / (high - low if high > low else 1.0), nan=-1.0)
    return Axis(ranks[column.codes], places)


def _cut(axes: list[Axis], trial: Trial, *, relaxed: bool) -> tuple[Codes, int]:
    """Return the part of each row, and how many parts there are."""
    total = len(axes[0].codes)
    final, count = np.zeros(total, dtype=np.int64), 0
    # The codes of a row stand together, narrow: rows are picked in ever new orders.
    narrow = np.int32 if max(len(axis.places) for axis in axes) < 1 << 31 else np.int64
    codes = np.stack([axis.codes.astype(narrow) for axis in axes], axis=1)
    rows = np.arange(total)
    starts = np.zeros(1, dtype=np.int64)
    # What each part has tried in vain: strict cuts of every axis, then relaxed ones, which may be forbidden.
    untried = np.repeat([False, not relaxed], len(axes))
    # A copy: what the whole table tried in vain, its parts may try again.
    tried = untried[None, :].copy()
    while len(rows):
        sizes = np.diff(starts, append=len(rows))
        inside = codes[rows]
        chosen, can = _widest(axes, inside, starts, tried)
        can &= sizes >= 2 * trial.rules.k
        part = np.repeat(np.arange(len(starts)), sizes)
        if not can.all():
            ended = ~can[part]
            numbers = count + np.cumsum(~can) - 1
            final[rows[ended]] = numbers[part[ended]]
            count += int(np.count_nonzero(~can))
            rows, inside = rows[~ended], inside[~ended]
            sizes, chosen, tried = sizes[can], chosen[can], tried[can]
            starts = np.cumsum(sizes) - sizes
            part = np.repeat(np.arange(len(sizes)), sizes)
            if not len(rows):
                break
        order, values = _sorted(part, inside[np.arange(len(rows)), (chosen % len(axes))[part]].astype(np.int64))
        rows = rows[order]
        middle = np.where(chosen < len(axes), _next_to_middle(values, starts, sizes), sizes // 2)
        is_right = np.arange(len(rows)) - starts[part] >= middle[part]
        halves = 2 * part + is_right
        both = np.column_stack([middle, sizes - middle])
        good = trial.holds(halves, both.ravel(), rows).reshape(-1, 2).all(axis=1)
        tried[np.flatnonzero(~good), chosen[~good]] = True
        pieces = np.where(good, 2, 1)
        fresh = np.repeat(good, pieces)
        tried = np.repeat(tried, pieces, axis=0)
        tried[fresh] = untried
        lengths = np.column_stack([np.where(good, middle, sizes), np.where(good, sizes - middle, 0)]).ravel()
        lengths = lengths[lengths > 0]
        starts = np.cumsum(lengths) - lengths
    return final, count


def _widest(
    axes: list[Axis], inside: NDArray[Any], starts: Codes, tried: NDArray[np.bool_]
) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the widest cut of each part that is not tried yet, and whether there is one between two values."""
    spans = np.empty((len(starts), 2 * len(axes)))
    lows, highs = np.minimum.reduceat(inside, starts, axis=0), np.maximum.reduceat(inside, starts, axis=0)
    for number, axis in enumerate(axes):
        low, high = lows[:, number], highs[:, number]
        spans[:, number] = np.where(low < high, axis.places[high] - axis.places[low], -np.inf)
    # Relaxed cuts come after all strict ones: no axis is longer than 2.
    spans[:, len(axes) :] = spans[:, : len(axes)] - _AFTER
    spans[tried] = -np.inf
    chosen = spans.argmax(axis=1)
    return chosen, np.isfinite(spans[np.arange(len(starts)), chosen])


def _sorted(part: Codes, values: Codes) -> tuple[Codes, Codes]:
    """Return the order of rows by part and value, earlier rows first, and the values in it."""
    size, rows = int(values.max()) + 1, len(values)
    # One number for part, value and row: sorting numbers is several times as fast as sorting places.
    if (int(part[-1]) + 1) * size * rows < _MOST_KEYS:
        keys = np.sort((part * size + values) * rows + np.arange(rows))
        order = keys % rows
    else:
        order = np.lexsort((values, part))
    return order, values[order]


def _next_to_middle(values: Codes, starts: Codes, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows of each part are left of the change of values that is next to its middle."""
    part = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.arange(len(values)) - starts[part]
    changes = np.zeros(len(values), dtype=np.bool_)
    changes[1:] = values[1:] != values[:-1]
    changes &= offset > 0
    # Twice the distance from the middle, and the side in the last bit.
    away = 2 * offset - sizes[part]
    keys = np.where(changes, 2 * np.abs(away) + (away > 0), np.iinfo(np.int64).max)
    best = np.minimum.reduceat(keys, starts)
    return (sizes + np.where(best % 2 == 1, best // 2, -(best // 2))) // 2


def refused_cuts(table: Table, quasi: Sequence[str], k: int, of_row: Codes) -> list[tuple[Codes, NDArray[np.bool_]]]:
    """Return the cuts of each class that left k rows on both sides, and that its sensitive values alone forbade.

    That they were refused is known to everybody who knows the method, and says something of the values.

    Args:
        table: as it was.
        quasi: its quasi-identifiers, which have no hierarchies.
        k: of the rules.
        of_row: the class of each row, as strict cuts made it.

    Returns:
        for each class with such cuts its rows, and a line for each cut: whether a row is right of it.

    """
    axes = [axis_of(table[name], None) for name in quasi]
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row))
    found = []
    for rows in np.split(order, ends[:-1]):
        cuts = []
        for axis in axes:
            codes = axis.codes[rows]
            if len(rows) < 2 * k or codes.min() == codes.max():
                continue
            ranks = np.argsort(codes, kind="stable")
            middle = int(_next_to_middle(codes[ranks], np.zeros(1, dtype=np.int64), np.array([len(rows)]))[0])
            if k <= middle <= len(rows) - k:
                is_right = np.zeros(len(rows), dtype=np.bool_)
                is_right[ranks[middle:]] = True
                cuts.append(is_right)
        if cuts:
            found.append((rows, np.stack(cuts)))
    return found
