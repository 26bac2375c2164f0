"""Local suppression: single cells are struck out, as few as possible, until every class fulfils the rules.

A row keeps some quasi-identifiers and shows a star in the others; rows that keep the same ones with the same values are
a class. For k alone the fewest stars are found by an integer programme (SciPy's HiGHS) over all kinds of rows and all
choices of columns to keep. With other rules, or where the programme would be too large, choices are gone through from
the largest down, and each takes the rows that it makes good classes of; what is left over takes whole classes with it.

A star is a value of its own here: a class is what looks alike, stars included. Programs that let a star match anything
need fewer stars, and promise less: whoever knows what was struck out tells such rows apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from dither.disguise.classes import classes_of, joined, numbered
from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.hierarchies import ANYTHING
from dither.disguise.roles import Roles
from dither.disguise.rules import Mask, Rules, Trial
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter

#: What is more is not solved exactly, or not at all.
_MOST_UNKNOWNS: Final = 4000
_MOST_COLUMNS: Final = 12
_SECONDS: Final = 20.0


@disguise
@dataclass(frozen=True)
class LocalSuppression(Disguise):
    """Stars in single cells, as few as possible; the columns of other roles stay as they are.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        exact: whether the fewest stars are asked for; a table that is too large for it is then refused. If None, it is
            tried where the table is small enough.

    >>> made = LocalSuppression(Roles(("age", "ward")), Rules(k=2)).apply({"age": [3, 3, 4, 4], "ward": list("abcc")})
    >>> made.frame()
    {'age': [3, 3, 4, 4], 'ward': ['*', '*', 'c', 'c']}

    """

    name: ClassVar[str] = "local-suppression"
    source: ClassVar[str] = "optimal suppression of cells (Meyerson, Williams 2004), by an integer programme"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness", "similarity")

    roles: Roles
    rules: Rules
    exact: bool | None = None

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the quasi-identifiers with stars."""
        quasi = self.roles.quasi
        if len(quasi) > _MOST_COLUMNS:
            raise InvalidParameter("quasi", len(quasi), f"at most {_MOST_COLUMNS} columns for local suppression")
        for name in quasi:
            if ANYTHING in table[name].values:
                raise InvalidParameter(name, ANYTHING, "without stars, which mark suppressed cells")
        kinds = classes_of(table, quasi)
        size = len(kinds) * 2 ** len(quasi)
        if self.exact and (trial.rules.about_values or size > _MOST_UNKNOWNS):
            rule = f"not allowed with rules beyond k, or beyond {_MOST_UNKNOWNS} kinds of rows times choices of columns"
            raise InvalidParameter("exact", self.exact, rule)
        kept = None
        if self.exact is not False and not trial.rules.about_values and size <= _MOST_UNKNOWNS:
            kept = fewest_stars(table, quasi, self.rules.k)
            if kept is None and self.exact:
                raise InvalidParameter(
                    "exact", self.exact, f"False where no exact result is found within {_SECONDS:g} seconds"
                )
        is_best = kept is not None
        if kept is None:
            kept = few_stars(table, quasi, trial)
        columns = {name: starred(table[name], kept[:, place]) for place, name in enumerate(quasi)}
        stars = int(kept.size - kept.sum())
        how = "the fewest that there are" if is_best else "by a quick search"
        return Recoded(columns, np.arange(len(table)), stars / kept.size, (f"{stars:,} cells struck out, {how}.",))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> LocalSuppression:
        """Return the method for all quasi-identifiers."""
        del table
        return cls(roles, rules)


def starred(column: Column, kept: Mask) -> Column:
    """Return a column with stars where a cell is not kept."""
    return Column((*column.values, ANYTHING), np.where(kept, column.codes, len(column.values)))


def _choices(columns: int) -> Iterator[tuple[int, ...]]:
    """Yield all sets of columns, larger ones first."""
    for size in range(columns, -1, -1):
        yield from itertools.combinations(range(columns), size)


def _grouped(table: Table, quasi: tuple[str, ...], some: tuple[int, ...], rows: Codes) -> tuple[Codes, int]:
    if not some:
        return np.zeros(len(rows), dtype=np.int64), min(len(rows), 1)
    columns = [table[quasi[place]] for place in some]
    return numbered(joined([one.codes[rows] for one in columns], [len(one.values) for one in columns])[0])


def few_stars(table: Table, quasi: tuple[str, ...], trial: Trial) -> Mask:
    """Return which cells are kept, by a search that takes classes as they come, larger choices of columns first."""
    kept = np.zeros((len(table), len(quasi)), dtype=np.bool_)
    left = np.arange(len(table))
    made: list[tuple[int, Codes]] = []
    for some in _choices(len(quasi)):
        if not len(left):
            break
        of_row, count = _grouped(table, quasi, some, left)
        good = trial.holds(of_row, np.bincount(of_row, minlength=count), left)
        chosen = good[of_row]
        for one in np.flatnonzero(good).tolist():
            made.append((len(some), left[of_row == one]))
        kept[np.ix_(left[chosen], np.array(some, dtype=np.int64))] = True
        left = left[~chosen]
    # Rows that no choice makes a good class of show stars only, with the classes that lose least by it.
    made.sort(key=lambda one: (one[0] * len(one[1]), len(one[1])))
    for _, rows in made:
        if not len(left) or trial.holds(np.zeros(len(left), dtype=np.int64), np.array([len(left)]), left)[0]:
            break
        kept[rows] = False
        left = np.concatenate([left, rows])
    return kept


def fewest_stars(table: Table, quasi: tuple[str, ...], k: int) -> Mask | None:
    """Return which cells are kept so that every class has k rows and the fewest cells are struck out.

    None if the programme is not solved in time. Unknown are how many rows of each kind keep each set of columns, and
    which classes there are.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    kinds = classes_of(table, quasi)
    first = np.unique(kinds.of_row, return_index=True)[1]
    weights = kinds.sizes
    cost, unknowns, homes = [], [], []
    classes = 0
    for some in _choices(len(quasi)):
        of_kind, count = _grouped(table, quasi, some, first)
        held = np.bincount(of_kind, weights=weights, minlength=count)
        for kind in np.flatnonzero(held[of_kind] >= k).tolist():
            unknowns.append((kind, some))
            homes.append(classes + int(of_kind[kind]))
            cost.append(len(quasi) - len(some))
        classes += count
    used, home = np.unique(homes, return_inverse=True)
    rows, size = len(unknowns), len(unknowns) + len(used)
    kind_of = np.array([kind for kind, _ in unknowns])
    most = np.bincount(home, weights=weights[kind_of])
    places = np.arange(rows)
    # All rows of a kind go somewhere; a class has no rows, or k at least and no more than there are.
    every = coo_array((np.ones(rows), (kind_of, places)), shape=(len(weights), size))
    least = coo_array(
        (
            np.concatenate([np.ones(rows), np.full(len(used), -float(k))]),
            (np.concatenate([home, np.arange(len(used))]), np.arange(size)),
        ),
        shape=(len(used), size),
    )
    upper = coo_array(
        (
            np.concatenate([np.ones(rows), -most]),
            (np.concatenate([home, np.arange(len(used))]), np.arange(size)),
        ),
        shape=(len(used), size),
    )
    found = milp(
        np.concatenate([np.array(cost, dtype=np.float64), np.zeros(len(used))]),
        constraints=[
            LinearConstraint(every.tocsr(), weights, weights),
            LinearConstraint(least.tocsr(), 0, np.inf),
            LinearConstraint(upper.tocsr(), -np.inf, 0),
        ],
        integrality=np.ones(size),
        bounds=Bounds(0, np.concatenate([weights[kind_of], np.ones(len(used))])),
        options={"time_limit": _SECONDS},
    )
    if found.status != 0:
        return None
    counts = np.rint(found.x[:rows]).astype(np.int64)
    kept = np.zeros((len(table), len(quasi)), dtype=np.bool_)
    by_kind = np.split(np.argsort(kinds.of_row, kind="stable"), np.cumsum(weights)[:-1])
    begun = np.zeros(len(weights), dtype=np.int64)
    for (kind, some), count in zip(unknowns, counts.tolist(), strict=True):
        chosen = by_kind[kind][begun[kind] : begun[kind] + count]
        begun[kind] += count
        kept[np.ix_(chosen, np.array(some, dtype=np.int64))] = True
    return kept
