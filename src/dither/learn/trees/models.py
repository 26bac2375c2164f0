"""Released trees: sums of small tables for boosting, complete binary trees for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.models import Model, model, softmax
from dither.learn.rows import Floats
from dither.learn.trees.bins import Bins, Whole64
from dither.mechanisms.core.public import PublicArray

#: A column number that stands for no column: such a node splits nothing, and everything goes left.
NO_COLUMN = -1
#: How often what trees say on average is counted at most.
MOST_TOLD = 3.0


@dataclass(frozen=True)
class _Binned(Model):
    """A model of rows in public cells."""

    lower: PublicArray
    upper: PublicArray
    counts: PublicArray
    unordered: PublicArray

    @cached_property
    def bins(self) -> Bins:
        """The public cells."""
        return Bins(self.lower, self.upper, self.counts, self.unordered)


@model
@dataclass(frozen=True)
class BoostedModel(_Binned):
    """Scores that are sums over trees, each of which reads a few columns at once.

    Args:
        columns: the columns of each tree.
        parts: for each tree and each of its columns, the part to which each cell belongs.
        values: for each tree and each combination of parts, the addition to the scores.

    """

    kind: ClassVar[str] = "boosted-trees"

    columns: PublicArray
    parts: PublicArray
    values: PublicArray

    def __post_init__(self) -> None:
        trees, looked_at = self.columns.values.shape
        right = self.parts.values.shape == (trees, looked_at, self.bins.widest) and len(self.values.values) == trees
        chosen, part = self.columns.values, self.parts.values
        right = right and self.values.values.ndim == 3 and bool(np.all((chosen >= 0) & (chosen < self.bins.columns)))
        if not (
            right and bool(np.all(part >= 0)) and (int(part.max()) + 1) ** looked_at <= self.values.values.shape[1]
        ):
            raise InvalidParameter("values", self.values, "for each tree a value for each combination of its parts")

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of columns."""
        cells = self.bins.cells(values)
        found = np.zeros((len(cells), self.values.values.shape[2]))
        width = round(self.values.values.shape[1] ** (1 / self.columns.values.shape[1]))
        for columns, parts, table in zip(self.columns.values, self.parts.values, self.values.values, strict=True):
            found += table[combined(cells, columns, parts, width)]
        return found

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.columns.values)


def combined(cells: Whole64, columns: Whole64, parts: Whole64, width: int) -> Whole64:
    """Return the index of the combination of parts in which each record lies."""
    found = np.zeros(len(cells), dtype=np.int64)
    for column, part in zip(columns, parts, strict=True):
        found = found * width + part[cells[:, column]]
    return found


@model
@dataclass(frozen=True)
class ForestModel(_Binned):
    """Complete binary trees, each with noisy counts of classes in its leaves.

    Args:
        columns: for each tree and each inner node, the column it looks at, or -1 for none.
        right: for each tree and each inner node, 1 for the cells of that column that go right.
        leaves: for each tree, leaf and class, a noisy count.
        smoothing: the number of records, with the shares of all records, added to each leaf.

    """

    kind: ClassVar[str] = "forest"

    columns: PublicArray
    right: PublicArray
    leaves: PublicArray
    smoothing: float

    def __post_init__(self) -> None:
        trees, inner = self.columns.values.shape
        chosen = self.columns.values
        right = self.right.values.shape == (trees, inner, self.bins.widest) and self.smoothing > 0
        right = right and bool(np.all((chosen >= NO_COLUMN) & (chosen < self.bins.columns)))
        right = right and bool(np.all((self.right.values == 0) | (self.right.values == 1)))
        if not (right and self.leaves.values.ndim == 3 and self.leaves.values.shape[:2] == (trees, inner + 1)):
            raise InvalidParameter("leaves", self.leaves, "for each tree one leaf more than inner nodes")

    def probabilities(self, values: Floats) -> Floats:
        """Return the shares of the classes for each row."""
        return softmax(self.scores(values))

    def scores(self, values: Floats) -> Floats:
        """Return the logarithms of the shares of the classes for each row, up to one number for all classes of a row.

        What each tree says beyond the shares of all records is averaged in logarithms, and counted the square root of
        the number of trees times, at most thrice: a mean of shares would hardly ever leave the largest class, and a
        plain sum would count what trees have in common as often as there are trees.
        """
        cells = self.bins.cells(values)
        usual = np.log(self.usual_shares)
        told = (np.log(self.leaf_shares) - usual) * (min(np.sqrt(self.trees), MOST_TOLD) / self.trees)
        found = np.tile(usual, (len(cells), 1))
        for columns, right, leaves in zip(self.columns.values, self.right.values, told, strict=True):
            found += leaves[leaf_of(cells, columns, right)]
        return found

    @property
    def usual_shares(self) -> Floats:
        """The shares of the classes among all records."""
        whole = np.maximum(self.leaves.values.sum(axis=(0, 1)), 1.0)
        shares: Floats = whole / whole.sum()
        return shares

    @cached_property
    def leaf_shares(self) -> Floats:
        """The shares of the classes in each leaf, shrunk towards those of all records."""
        counts = self.leaves.values.astype(np.float64)
        kept = np.maximum(counts, 0.0) + self.smoothing * self.usual_shares
        shares: Floats = kept / kept.sum(axis=2, keepdims=True)
        return shares

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.columns.values)


def leaf_of(cells: Whole64, columns: Whole64, right: Whole64) -> Whole64:
    """Return the leaf of each record in a complete binary tree of ``len(columns) + 1`` leaves."""
    node = np.zeros(len(cells), dtype=np.int64)
    rows = np.arange(len(cells))
    while len(cells) and node[0] < len(columns):
        looked_at = columns[node]
        turn = np.where(looked_at == NO_COLUMN, 0, right[node, cells[rows, looked_at]])
        node = 2 * node + 1 + turn
    return node - len(columns)
