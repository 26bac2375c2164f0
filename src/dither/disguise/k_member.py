"""k-member clustering: clusters of k rows, each grown by the row that makes its cells least wider.

Source: Byun, Kamra, Bertino and Li (2007). A cluster begins with the row farthest from where the last one began. The
fewer than k rows that are left at the end go where they cost least. Clusters that do not fulfil the other rules join
the cluster next to them. Time grows with the square of the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.disguise.classes import Figures
from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.microaggregation import together
from dither.disguise.recoding import published
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Column, Table


@disguise
@dataclass(frozen=True)
class KMember(Disguise):
    """Clusters of k rows or more with narrow cells: ranges of numbers, sets of texts.

    Args:
        roles: of the columns.
        rules: that every class fulfils.

    >>> KMember(Roles(("age",)), Rules(k=2)).apply({"age": [20, 60, 22, 64]}).frame()["age"]
    ['20-22', '60-64', '20-22', '60-64']

    """

    name: ClassVar[str] = "k-member"
    source: ClassVar[str] = "Byun, Kamra, Bertino, Li (2007)"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness", "similarity")

    roles: Roles
    rules: Rules

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the cells of the clusters."""
        lines = [line_of(table[name]) for name in self.roles.quasi]
        of_row, count = together(_points(lines), clusters(lines, self.rules.k), trial)
        columns, penalty = published(table, self.roles.quasi, of_row, count, {})
        return Recoded(columns, np.arange(len(table)), penalty, (f"{count:,} clusters of rows.",))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> KMember:
        """Return the method for all quasi-identifiers."""
        return cls(roles, rules)


@dataclass(frozen=True, eq=False)
class Line:
    """A quasi-identifier: numbers from 0 to 1, or codes of texts.

    Args:
        places: of the rows.
        texts: how many different texts there are; 0 for numbers.

    """

    places: Figures
    texts: int = 0


def line_of(column: Column) -> Line:
    """Return numbers and dates scaled to 0 to 1, a missing one as far below as they reach, and codes of all else."""
    numbers = column.scale()
    if numbers is None:
        return Line(column.codes.astype(np.float64), len(column.values))
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    reach = high - low if high > low else 1.0
    return Line(np.where(np.isnan(numbers), -1.0, (numbers - low) / reach)[column.codes])


def clusters(lines: Sequence[Line], k: int) -> Codes:
    """Return the cluster of each row: at least k rows each.

    Args:
        lines: the quasi-identifiers.
        k: the size of clusters.

    """
    rows = len(lines[0].places)
    of_row = np.full(rows, -1, dtype=np.int64)
    grown: list[_Cluster] = []
    last = 0
    while np.count_nonzero(of_row < 0) >= k:
        left = np.flatnonzero(of_row < 0)
        last = int(left[_Cluster(lines, last).wider(left).argmax()])
        made = _Cluster(lines, last)
        of_row[last] = len(grown)
        for _ in range(k - 1):
            left = np.flatnonzero(of_row < 0)
            row = int(left[made.wider(left).argmin()])
            made.add(row)
            of_row[row] = len(grown)
        grown.append(made)
    for row in np.flatnonzero(of_row < 0).tolist():
        costs = [one.cost(row) for one in grown]
        place = int(np.argmin(costs))
        grown[place].add(row)
        of_row[row] = place
    return of_row


class _Cluster:
    """The cells of a growing cluster."""

    def __init__(self, lines: Sequence[Line], row: int) -> None:
        self._lines = lines
        self._size = 1
        self._low = [float(line.places[row]) for line in lines]
        self._high = list(self._low)
        self._seen = [np.arange(line.texts) == int(line.places[row]) for line in lines]

    def wider(self, rows: Codes) -> Figures:
        """Return how wide the cells would be with each row."""
        total = np.zeros(len(rows))
        for line, low, high, seen in zip(self._lines, self._low, self._high, self._seen, strict=True):
            places = line.places[rows]
            if line.texts:
                new = ~seen[places.astype(np.int64)]
                total += (int(seen.sum()) - 1 + new) / max(line.texts - 1, 1)
            else:
                total += np.maximum(high, places) - np.minimum(low, places)
        return total

    def cost(self, row: int) -> float:
        """Return how much more the cells of all rows lose with one more row."""
        own = sum(
            (int(seen.sum()) - 1) / max(line.texts - 1, 1) if line.texts else high - low
            for line, low, high, seen in zip(self._lines, self._low, self._high, self._seen, strict=True)
        )
        return float((self._size + 1) * self.wider(np.array([row]))[0] - self._size * own)

    def add(self, row: int) -> None:
        """Take a row in."""
        self._size += 1
        for place, line in enumerate(self._lines):
            value = float(line.places[row])
            self._low[place] = min(self._low[place], value)
            self._high[place] = max(self._high[place], value)
            self._seen[place] |= np.arange(line.texts) == int(value)


def _points(lines: Sequence[Line]) -> Figures:
    """Return where rows lie: texts by their codes."""
    return np.column_stack([line.places / max(line.texts - 1, 1) for line in lines])
