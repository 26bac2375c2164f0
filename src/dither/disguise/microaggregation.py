"""Microaggregation: groups of at least k rows that lie close together, all published with their average.

Source: MDAV (Domingo-Ferrer, Mateo-Sanz 2002; Domingo-Ferrer, Torra 2005). The row farthest from the average of all
takes the k - 1 rows next to it, and so does the row farthest from that one, until fewer than 2k are left. Time grows
with the square of the number of rows over k. Groups that do not fulfil the rules join the group next to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.recoding import published
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter

Points = NDArray[np.float64]


@disguise
@dataclass(frozen=True)
class Microaggregation(Disguise):
    """Averages of groups of k rows or more, by MDAV; all quasi-identifiers are numbers.

    Args:
        roles: of the columns.
        rules: that every class fulfils.

    >>> made = Microaggregation(Roles(("age",)), Rules(k=2)).apply({"age": [20, 60, 22, 64]})
    >>> made.frame()["age"]
    [21.0, 62.0, 21.0, 62.0]

    """

    name: ClassVar[str] = "microaggregation"
    source: ClassVar[str] = "MDAV (Domingo-Ferrer, Torra 2005)"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness", "similarity")

    roles: Roles
    rules: Rules

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the averages."""
        points = np.column_stack([numbers_of(table, name) for name in self.roles.quasi])
        return averaged(table, self.roles.quasi, points, mdav(scaled_of(points), self.rules.k), trial)

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> Microaggregation:
        """Return the method for the quasi-identifiers that are numbers."""
        numbers = tuple(name for name in roles.quasi if table[name].numbers() is not None)
        return cls(Roles(numbers, roles.sensitive, roles.identifiers, roles.others), rules)


def numbers_of(table: Table, name: str) -> NDArray[np.float64]:
    """Return the numbers of a column, a row each, if it has one in every row."""
    column = table[name]
    if not len(table):
        raise InvalidParameter("table", 0, "one or more rows long")
    numbers = column.numbers()
    if numbers is None:
        offender = next(value for value in column.values if Column.of([value]).numbers() is None)
        raise InvalidParameter(name, offender, "a number in every row")
    cells = numbers[column.codes]
    if np.isnan(cells).any():
        row = int(np.flatnonzero(np.isnan(cells))[0]) + 1
        raise InvalidParameter(name, f"nothing in row {row}", "a number in every row")
    return cells


def scaled_of(points: Points) -> Points:
    """Return points with average 0 and deviation 1 in every column that is not constant."""
    spread = points.std(axis=0)
    return np.asarray((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1))


def averaged(table: Table, quasi: tuple[str, ...], points: Points, groups: Codes, trial: Trial) -> Recoded:
    """Return the averages of groups; those that do not fulfil the rules join others first.

    Args:
        table: as it was.
        quasi: its quasi-identifiers.
        points: their numbers, a row each.
        groups: the group of each row.
        trial: of the rules.

    """
    scaled = scaled_of(points)
    of_row, count = together(scaled, groups, trial)
    sizes = np.bincount(of_row, minlength=count)
    columns = {}
    inside = 0.0
    for place, name in enumerate(quasi):
        means = np.bincount(of_row, weights=points[:, place], minlength=count) / sizes
        made = Column.of(np.round(means, 6).tolist())
        columns[name] = Column(made.values, made.codes[of_row])
        within = np.bincount(of_row, weights=scaled[:, place], minlength=count) / sizes
        inside += float(np.sum((scaled[:, place] - within[of_row]) ** 2))
    # How wide a group is, as for cells that are ranges.
    penalty = published(table, quasi, of_row, count, {})[1]
    whole = float(np.sum(scaled**2))
    done = (
        f"{count:,} groups, each published with its averages.",
        f"{inside / whole if whole else 0.0:.2%} of the variance is within groups and is lost.",
    )
    return Recoded(columns, np.arange(len(table)), penalty, done)


def mdav(points: Points, k: int) -> Codes:
    """Return the group of each point; all groups have at least k points, and fewer than 2k.

    Args:
        points: a row each.
        k: the size of groups.

    """
    of_row = np.zeros(len(points), dtype=np.int64)
    left, rows = np.ascontiguousarray(points.T), np.arange(len(points))
    group = 0

    def take(target: Points) -> None:
        nonlocal left, rows, group
        near = np.argpartition(_squares(left, target), k - 1)[:k]
        of_row[rows[near]] = group
        stays = np.ones(len(rows), dtype=np.bool_)
        stays[near] = False
        left, rows, group = left[:, stays], rows[stays], group + 1

    while len(rows) >= 3 * k:
        first = left[:, _squares(left, left.mean(axis=1)).argmax()]
        take(first)
        take(left[:, _squares(left, first).argmax()])
    if len(rows) >= 2 * k:
        take(left[:, _squares(left, left.mean(axis=1)).argmax()])
    of_row[rows] = group
    return of_row


def _squares(points: Points, target: Points) -> Points:
    total = np.zeros(points.shape[1])
    for line, place in zip(points, target, strict=True):
        total += (line - place) ** 2
    return total


def together(points: Points, of_row: Codes, trial: Trial) -> tuple[Codes, int]:
    """Return groups that fulfil the rules: those that do not join the group next to them, round by round."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    count = int(of_row.max()) + 1
    while True:
        sizes = np.bincount(of_row, minlength=count)
        bad = np.flatnonzero(~trial.holds(of_row, sizes))
        if not len(bad):
            return of_row, count
        centres = np.column_stack([np.bincount(of_row, weights=line, minlength=count) / sizes for line in points.T])
        two = KDTree(centres).query(centres[bad], k=2)[1]
        # Where centres coincide, the first one found may be another group's.
        nearest = np.where(two[:, 0] == bad, two[:, 1], two[:, 0])
        links = coo_array((np.ones(len(bad)), (bad, nearest)), shape=(count, count))
        count, joined = connected_components(links, directed=False)
        of_row = joined.astype(np.int64)[of_row]
