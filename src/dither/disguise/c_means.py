"""C-means: rows gather around centres, and clusters that are too small join the ones next to them.

Source: clustering for k-anonymity as in Kar's thesis (Saskatchewan 2017, section 2.3), with weights for columns.
Numbers are scaled to deviation 1; of a text each value is a coordinate of its own. Centres begin at rows drawn one far
from the others (k-means++) and move to the averages of their clusters. Clusters that break a rule then join the
nearest. A cluster far larger than 2k is cut no further: ``mondrian`` is the better choice where rows are many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.microaggregation import Points, scaled_of, together
from dither.disguise.recoding import published
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator, public_generator

_ROUNDS: Final = 20
#: Texts with more values lie along one line, in the order of the alphabet.
_MOST_TEXTS: Final = 64


@disguise
@dataclass(frozen=True)
class CMeans(Disguise):
    """Clusters around centres, with ranges and sets as cells; those that break a rule join the next ones.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        weights: by column, how much it counts in distances; 1 if not given.
        centres: how many clusters are begun; the number of rows over 2k if not given.

    """

    name: ClassVar[str] = "c-means"
    source: ClassVar[str] = "weighted C-means with merging, Kar (Saskatchewan 2017), section 2.3"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness", "similarity")

    roles: Roles
    rules: Rules
    weights: Mapping[str, float] = field(default_factory=dict)
    centres: int | None = None

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in self.roles.quasi or not 0 <= weight < np.inf:
                raise InvalidParameter("weights", f"{name}: {weight}", "0 or more, of a quasi-identifier")
        if self.centres is not None and self.centres < 1:
            raise InvalidParameter("centres", self.centres, "1 or more")

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the cells of the clusters."""
        parts = [points_of(table[name]) * self.weights.get(name, 1.0) for name in self.roles.quasi]
        points = np.concatenate(parts, axis=1)
        count = self.centres or max(len(table) // (2 * self.rules.k), 1)
        began = around(points, count)
        of_row, count = together(points, began, trial)
        columns, penalty = published(table, self.roles.quasi, of_row, count, {})
        done = (f"{int(began.max()) + 1:,} clusters around centres, {count:,} after merging.",)
        return Recoded(columns, np.arange(len(table)), penalty, done)

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> CMeans:
        """Return the method with equal weights."""
        del table
        return cls(roles, rules)


def points_of(column: Column) -> Points:
    """Return where the rows of a column lie: scaled numbers and dates, a missing one far below; texts at distance 1."""
    numbers = column.scale()
    if numbers is not None:
        there = np.isfinite(numbers)
        low, high = float(numbers[there].min()), float(numbers[there].max())
        return scaled_of(np.where(there, numbers, low - (high - low) - 1.0)[column.codes][:, None])
    if len(column.values) > _MOST_TEXTS:
        return scaled_of(column.codes.astype(np.float64)[:, None])
    return np.asarray(np.eye(len(column.values))[column.codes] / np.sqrt(2))


def around(points: Points, count: int) -> Codes:
    """Return the cluster of each point: that of the nearest centre, where centres are averages, as nearly as rounds go.

    Args:
        points: a row each.
        count: of centres, at most; those that no point is nearest to are left out.

    """
    from scipy.spatial import KDTree

    drawn = public_generator()
    centres = points[_far_apart(points, min(count, len(points)), drawn)]
    of_row = np.zeros(len(points), dtype=np.int64)
    for _ in range(_ROUNDS):
        nearest = KDTree(centres).query(points)[1]
        found, after = np.unique(nearest, return_inverse=True)
        sizes = np.bincount(after, minlength=len(found))
        sums = [np.bincount(after, weights=line, minlength=len(found)) for line in points.T]
        centres = np.stack(sums, axis=1) / sizes[:, None]
        if np.array_equal(after, of_row):
            break
        of_row = after.astype(np.int64)
    return of_row


def _far_apart(points: Points, count: int, drawn: Generator) -> list[int]:
    """Return rows drawn with the squared distance from those drawn before; many are drawn evenly at once."""
    if count > 1000:
        return list(drawn.permutation(len(points))[:count].tolist())
    chosen = [int(drawn.integers(len(points)))]
    far = np.sum((points - points[chosen[0]]) ** 2, axis=1)
    while len(chosen) < count and far.sum() > 0:
        chosen.append(
            int(np.searchsorted(np.cumsum(far), drawn.uniform() * far.sum(), side="right").clip(max=len(far) - 1))
        )
        far = np.minimum(far, np.sum((points - points[chosen[-1]]) ** 2, axis=1))
    return chosen
