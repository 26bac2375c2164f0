"""A table of totals over two columns with its margins, and what an attacker makes of those of its cells that are shown.

The attacker knows that cells add up to their margins, that no contribution is negative, and which cells are empty. The
interval of a cell is found by two linear programmes, its smallest and its largest value in all tables that fit.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from dither.disguise.classes import Figures
from dither.disguise.microaggregation import numbers_of
from dither.disguise.rules import Mask, ordered_values
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Totals:
    """The contributions to each cell, largest first; margins are the last row and the last column.

    Args:
        rows: the values of one column.
        columns: the values of the other.
        pieces: by row and column.

    >>> sold = {"town": ["a", "a", "b"], "trade": ["x", "y", "x"], "sales": [3, 4, 5]}
    >>> Totals.of(sold, ("town", "trade"), "sales").values.tolist()
    [[3.0, 4.0, 7.0], [5.0, 0.0, 5.0], [8.0, 4.0, 12.0]]

    """

    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    pieces: tuple[tuple[Figures, ...], ...]

    @classmethod
    def of(cls, table: Any, by: tuple[str, str], value: str, giver: str | None = None) -> Totals:
        """Return the totals of a column of numbers over two others.

        Args:
            table: a frame of pandas or Polars, an Arrow table, a mapping from names to columns, or a table.
            by: the two columns.
            value: contributions, none of them negative or missing.
            giver: who contributes, so that several rows of one count as one contribution to a cell; each row, if not
                given.

        """
        given = Table.of(table)
        if isinstance(by, str) or len(by) != 2 or by[0] == by[1]:
            raise InvalidParameter("by", by, "two different columns: only tables of one level are protected")
        if not len(given):
            raise InvalidParameter("table", 0, "one or more rows long")
        amounts = numbers_of(given, value)
        if amounts.min() < 0:
            raise InvalidParameter(value, float(amounts.min()), "at least 0, as every contribution")
        first, second = (_ordered(given[name]) for name in by)
        givers = range(len(given)) if giver is None else given[giver].cells()
        height, width = len(first[0]), len(second[0])
        sums: dict[tuple[int, int], dict[Any, float]] = defaultdict(lambda: defaultdict(float))
        places = zip(first[1], second[1], givers, amounts.tolist(), strict=True)
        for row, column, who, amount in places:
            for cell in ((row, column), (row, width), (height, column), (height, width)):
                sums[cell][who] += amount
        pieces = tuple(
            tuple(np.sort(np.array(list(sums[row, column].values())))[::-1] for column in range(width + 1))
            for row in range(height + 1)
        )
        return cls(first[0], second[0], pieces)

    @cached_property
    def values(self) -> Figures:
        """The totals, with their margins."""
        height, width = len(self.rows), len(self.columns)
        made = np.zeros((height + 1, width + 1))
        made[:height, :width] = [[cell.sum() for cell in row[:width]] for row in self.pieces[:height]]
        # Margins are sums of cells, to the last digit.
        made[height, :width] = made[:height, :width].sum(axis=0)
        made[:, width] = made[:, :width].sum(axis=1)
        return made

    @cached_property
    def empty(self) -> Mask:
        """Which cells nobody contributes to."""
        return np.array([[not len(cell) for cell in row] for row in self.pieces])


def _ordered(column: Column) -> tuple[tuple[Any, ...], list[int]]:
    present = set(column.codes.tolist())
    order = [place for place in ordered_values(column).tolist() if place in present]
    ranks = {place: rank for rank, place in enumerate(order)}
    return tuple(column.values[place] for place in order), [ranks[code] for code in column.codes.tolist()]


def sums_to_margins(height: int, width: int) -> coo_array:
    """Return the equations of a table with margins: a line for each row and column, cells by cells, that sums to 0."""
    cells = np.arange(height * width).reshape(height, width)
    lines, places, signs = [], [], []
    for line, members in enumerate([*cells, *cells.T]):
        lines += [line] * len(members)
        places += members.tolist()
        signs += [1.0] * (len(members) - 1) + [-1.0]
    return coo_array((signs, (lines, places)), shape=(height + width, height * width))


def attacker_intervals(low: Figures, high: Figures, asked: Mask) -> tuple[Figures, Figures]:
    """Return the smallest and the largest value of cells in all tables that fit what is known.

    Args:
        low: the least that each cell may be, margins last.
        high: the most; infinite where nothing is known.
        asked: the cells whose intervals are looked for; all others are as given.

    >>> shown = np.array([[2.0, 1.0, 3.0], [4.0, 3.0, 7.0], [6.0, 4.0, 10.0]])
    >>> hidden = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]], dtype=bool)
    >>> least, most = attacker_intervals(np.where(hidden, 0, shown), np.where(hidden, np.inf, shown), hidden)
    >>> least[0].tolist(), most[0].tolist()
    ([0.0, 0.0, 3.0], [3.0, 3.0, 3.0])

    """
    equations = sums_to_margins(*low.shape)
    scale = float(max(low.max(), high[np.isfinite(high)].max(initial=0.0))) or 1.0
    bounds = np.column_stack([low.ravel(), high.ravel()]) / scale
    least, most = low.astype(np.float64), high.astype(np.float64)
    for cell in np.flatnonzero(asked.ravel()).tolist():
        for sign, ends in ((1.0, least), (-1.0, most)):
            cost = np.zeros(len(bounds))
            cost[cell] = sign
            found = linprog(cost, A_eq=equations, b_eq=np.zeros(equations.shape[0]), bounds=bounds, method="highs")
            if found.status == 2:
                raise InvalidParameter("cells", "no table", "consistent: no table has these cells")
            # Nothing bounds the cell if there is no optimum.
            ends.flat[cell] = sign * found.fun * scale if found.status == 0 else -sign * np.inf
    return least, most
