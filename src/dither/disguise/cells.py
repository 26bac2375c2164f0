"""Generalisation cell by cell: the same value may become a range in one row and stay as it is in another.

Source: bottom-up local recoding (Xu, Wang, Pei, Wang, Shi, Fu 2006). At the beginning rows with equal values are a
class. The smallest class that breaks a rule joins the class with which the cells of both lose least, until none is
left. Time grows with the square of the number of different rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dither.disguise.classes import Counts, classes_of
from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.k_member import Line, line_of
from dither.disguise.recoding import published
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Table
from dither.errors import InvalidParameter


@disguise
@dataclass(frozen=True)
class Cell(Disguise):
    """Classes that join the one with which they lose least: ranges of numbers, sets or labels of texts, by the row.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        hierarchies: whose labels are written for texts; sets of values without one.

    >>> Cell(Roles(("age",)), Rules(k=2)).apply({"age": [20, 22, 60, 60, 60]}).frame()["age"]
    ['20-22', '20-22', 60, 60, 60]

    """

    name: ClassVar[str] = "cell"
    source: ClassVar[str] = "Utility-Based Anonymization Using Local Recoding (Xu et al. 2006)"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness", "similarity", "minimality")

    roles: Roles
    rules: Rules
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the cells of the classes."""
        for name in self.hierarchies:
            if name not in self.roles.quasi:
                raise InvalidParameter("hierarchies", name, "of quasi-identifiers alone")
        of_row, count = joined_classes(table, self.roles.quasi, trial)
        columns, penalty = published(table, self.roles.quasi, of_row, count, self.hierarchies)
        return Recoded(columns, np.arange(len(table)), penalty, (f"{count:,} classes, joined one by one.",))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> Cell:
        """Return the method without hierarchies."""
        del table
        return cls(roles, rules)


def joined_classes(table: Table, quasi: tuple[str, ...], trial: Trial) -> tuple[Codes, int]:
    """Return the class of each row, and how many there are: each fulfils the rules.

    Args:
        table: as it was.
        quasi: its quasi-identifiers.
        trial: of the rules.

    """
    first = classes_of(table, quasi)
    rows = np.unique(first.of_row, return_index=True)[1]
    boxes = _Boxes([line_of(table[name]) for name in quasi], rows, first.sizes)
    home = np.arange(len(first))
    bad = set(np.flatnonzero(~trial.holds(first.of_row, first.sizes)).tolist())
    members = {one: [one] for one in range(len(first))}
    by_class = np.split(np.argsort(first.of_row, kind="stable"), np.cumsum(first.sizes)[:-1])
    while bad:
        one = min(bad, key=lambda name: (boxes.sizes[name], name))
        other = boxes.nearest(one)
        boxes.join(one, other)
        members[one] += members.pop(other)
        home[members[one]] = one
        bad -= {one, other}
        inside = np.concatenate([by_class[part] for part in members[one]])
        if not trial.holds(np.zeros(len(inside), dtype=np.int64), np.array([len(inside)]), inside)[0]:
            bad.add(one)
    found, of_class = np.unique(home, return_inverse=True)
    return of_class.astype(np.int64)[first.of_row], len(found)


class _Boxes:
    """The cells of every class that is left, and what two of them would lose as one."""

    def __init__(self, lines: list[Line], rows: Codes, sizes: Counts) -> None:
        self.sizes = sizes.astype(np.float64)
        self._is_left = np.ones(len(rows), dtype=np.bool_)
        self._low = np.stack([line.places[rows] for line in lines if not line.texts] or [np.zeros(len(rows))])
        self._high = self._low.copy()
        # A text that a class has, by quasi-identifier.
        self._seen = [np.eye(line.texts, dtype=np.bool_)[line.places[rows].astype(int)] for line in lines if line.texts]

    def nearest(self, one: int) -> int:
        """Return the class that loses least together with a class."""
        left = np.flatnonzero(self._is_left)
        left = left[left != one]
        wide = self._wide(np.maximum(self._high[:, left], self._high[:, [one]]) - self._low_with(one, left))
        alone = self._wide(self._high[:, left] - self._low[:, left])
        own = float(self._wide(self._high[:, [one]] - self._low[:, [one]])[0])
        for seen in self._seen:
            most = max(seen.shape[1] - 1, 1)
            wide += ((seen[left] | seen[one]).sum(axis=1) - 1) / most
            alone += (seen[left].sum(axis=1) - 1) / most
            own += (int(seen[one].sum()) - 1) / most
        sizes = self.sizes[left]
        cost = wide * (sizes + self.sizes[one]) - alone * sizes - own * self.sizes[one]
        return int(left[cost.argmin()])

    def join(self, one: int, other: int) -> None:
        """Make one class of two."""
        self._low[:, one] = np.minimum(self._low[:, one], self._low[:, other])
        self._high[:, one] = np.maximum(self._high[:, one], self._high[:, other])
        for seen in self._seen:
            seen[one] |= seen[other]
        self.sizes[one] += self.sizes[other]
        self._is_left[other] = False

    def _low_with(self, one: int, left: Codes) -> np.ndarray:
        return np.asarray(np.minimum(self._low[:, left], self._low[:, [one]]))

    @staticmethod
    def _wide(ends: np.ndarray) -> np.ndarray:
        return np.asarray(ends.sum(axis=0))
