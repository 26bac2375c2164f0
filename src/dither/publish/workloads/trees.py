"""Trees over one axis: weighted Haar wavelets, hierarchies of sums, and wavelets on nominal trees.

All entries are integers. A Haar row is the sum of the left half of a node minus that of the right half, and the
first row is the total: with noise of one scale on all of them that is Privelet's weighting. On a power of two the
transform and its inverse take one pass over the levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.publish.workloads.matrices import (
    MOST_SQUARE,
    Array,
    ColumnNorms,
    Dense,
    Floats,
    Matrix,
    _OneAxis,
    cell_count,
    refuse_dense,
)
from dither.publish.workloads.symmetric import Symmetric

_MOST_LEAVES = MOST_SQUARE


@dataclass(frozen=True)
class Haar(_OneAxis):
    """The total, and the left half minus the right half of every node of a binary tree over N = 2^l cells.

    Every cell lies in the total and in one node of each of the l levels with entry 1 or -1: column norms are 1 + l.

    >>> Haar(4).dense().astype(int).tolist()
    [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]
    """

    kind: ClassVar[str] = "haar"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size & (self.size - 1):
            raise InvalidParameter("cells", self.size, "a power of two; pad the domain with empty cells")

    @property
    def levels(self) -> int:
        """The number of levels of nodes."""
        return self.size.bit_length() - 1

    @property
    def queries(self) -> int:
        """One per cell."""
        return self.size

    @property
    def row_bound(self) -> Fraction:
        """All cells."""
        return Fraction(self.size)

    def times(self, x: Array) -> Array:
        """Return the transform: the total, then the nodes from the root down."""
        refuse_dense(self.size * x.shape[1], "the product")
        differences, sums = [], x
        while len(sums) > 1:
            differences.append(sums[0::2] - sums[1::2])
            sums = sums[0::2] + sums[1::2]
        return np.concatenate([sums, *reversed(differences)])

    def transposed_times(self, y: Array) -> Array:
        """Return, for every cell, the signed sum of its rows."""
        refuse_dense(self.size * y.shape[1], "the product")
        return self._down(y, halve=False)

    def _down(self, y: Array, *, halve: bool) -> Array:
        sums, start = y[:1], 1
        while start < self.size:
            node = y[start : 2 * start]
            both = np.stack([sums + node, sums - node], axis=1).reshape(2 * start, -1)
            sums, start = (both / 2 if halve else both), 2 * start
        return sums

    def column_norms(self, power: int) -> ColumnNorms:
        """Return 1 + l for all."""
        return ColumnNorms(np.array([1 + self.levels], dtype=np.int64), Fraction(1))

    def covariance(self) -> Symmetric:
        """Return the covariance of the inverse transform."""
        return HaarCovariance(self)

    def solve(self, y: Floats) -> Floats:
        """Return the inverse transform: halves of sum plus and minus difference, from the root down."""
        return self._down(y, halve=True)


@dataclass(frozen=True, eq=False)
class HaarCovariance(Symmetric):
    """The covariance of the inverse Haar transform of independent noise of variance 1.

    The rows of the transform A are orthogonal, with squared lengths the node sizes D. So the inverse is A' / D and the
    covariance A' D^-2 A.
    """

    haar: Haar

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.haar.size

    @cached_property
    def _sizes(self) -> Floats:
        """The squared length of every row: the number of cells that it touches."""
        levels = self.haar.levels
        counts = [1, *(2**level for level in range(levels))]
        lengths = [self.size, *(self.size >> level for level in range(levels))]
        return np.repeat(np.array(lengths, dtype=np.float64), counts)[:, None]

    def apply(self, x: Floats) -> Floats:
        """Return transform, division and transposed transform."""
        return self.haar.transposed_times(self.haar.times(x) / self._sizes**2)

    def diagonal(self) -> Floats:
        """Return the same variance for every cell: one row of each level, over its squared size."""
        lengths = [self.size, *(self.size >> level for level in range(self.haar.levels))]
        return np.full(self.size, math.fsum(1 / length**2 for length in lengths))

    def range_variances(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats:
        """Return the sums over levels: only the total and the nodes that contain one end of the range matter."""
        end = last + 1
        total = ((end - first) / self.size) ** 2
        for level in range(self.haar.levels):
            size = self.size >> level
            for node in (first // size, last // size):
                start, middle = node * size, node * size + size // 2
                left = np.minimum(end, middle) - np.maximum(first, start)
                right = np.minimum(end, start + size) - np.maximum(first, middle)
                seen = (np.maximum(left, 0) - np.maximum(right, 0)) / size
                # Both ends in one node count it once.
                share = np.where(first // size == last // size, 0.5, 1.0)
                total = total + share * seen**2
        return np.asarray(total)


@dataclass(frozen=True)
class Hierarchy(_OneAxis):
    """Sums over the nodes of a tree in which each node joins ``branching`` nodes below; the last may join fewer.

    Args:
        size: the number of cells, which are the leaves.
        branching: how many nodes are joined.
        weights: an integer for each level from the leaves up; 0 leaves a level out. Empty means 1 for all.

    >>> Hierarchy(3, 2).dense().astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1]]

    """

    kind: ClassVar[str] = "hierarchy"
    branching: int = 2
    weights: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "branching", whole("branching", self.branching, least=2, most=2**20))
        if not isinstance(self.weights, tuple | list):
            raise InvalidParameter("weights", self.weights, "a tuple of integers")
        weights = tuple(self.weights) or (1,) * len(self._widths)
        if len(weights) != len(self._widths) or not any(weights):
            raise InvalidParameter("weights", self.weights, f"{len(self._widths)} integers, not all 0")
        object.__setattr__(self, "weights", tuple(whole("weights", weight, most=2**30) for weight in weights))

    @property
    def _widths(self) -> list[int]:
        """The number of cells that a node of each level covers, leaves first."""
        widths = [1]
        while widths[-1] < self.size:
            widths.append(widths[-1] * self.branching)
        return widths

    def _levels(self) -> Iterator[tuple[int, int]]:
        """Yield the width and weight of every existing level, leaves first."""
        return ((width, weight) for width, weight in zip(self._widths, self.weights, strict=True) if weight)

    @property
    def queries(self) -> int:
        """The nodes of all levels."""
        return sum(-(-self.size // width) for width, _ in self._levels())

    @property
    def row_bound(self) -> Fraction:
        """The widest node."""
        return Fraction(max(min(width, self.size) * weight for width, weight in self._levels()))

    def times(self, x: Array) -> Array:
        """Return the sums, level by level."""
        refuse_dense(self.queries * x.shape[1], "the product")
        return np.concatenate(
            [np.add.reduceat(x, np.arange(0, self.size, width), axis=0) * weight for width, weight in self._levels()]
        )

    def transposed_times(self, y: Array) -> Array:
        """Return, for every cell, the sum over the nodes that contain it."""
        refuse_dense(self.size * y.shape[1], "the product")
        total, start = np.zeros((self.size, y.shape[1]), dtype=y.dtype), 0
        for width, weight in self._levels():
            nodes = -(-self.size // width)
            total += np.repeat(y[start : start + nodes] * weight, width, axis=0)[: self.size]
            start += nodes
        return total

    def column_norms(self, power: int) -> ColumnNorms:
        """Return the same number for all: a cell lies in one node of each level."""
        total = sum(weight**power for _, weight in self._levels())
        return ColumnNorms(np.array([total], dtype=object), Fraction(1))

    @property
    def _is_complete(self) -> bool:
        return self._widths[-1] == self.size and self.weights[0] > 0

    def covariance(self) -> Symmetric:
        """Return the covariance of least squares: level by level if the tree is complete."""
        return HierarchyCovariance(self) if self._is_complete else super().covariance()


@dataclass(frozen=True, eq=False)
class HierarchyCovariance(Symmetric):
    """The inverse of the Gram matrix of a complete tree.

    That matrix is the sum over levels of weight^2 times width times the projection on vectors that are constant on
    nodes of that level. The projections are nested, so the differences of neighbouring ones are its eigenspaces.
    """

    tree: Hierarchy

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.tree.size

    @cached_property
    def _inverse(self) -> list[tuple[int, float]]:
        """Every width, and the inverse eigenvalue of what is constant on nodes of that width but not on the next."""
        total, found = 0.0, []
        for width, weight in zip(self.tree._widths, self.tree.weights, strict=True):
            total += width * float(weight) ** 2
            found.append((width, 1 / total))
        return found

    def apply(self, x: Floats) -> Floats:
        """Return the sum over eigenspaces."""
        result = np.zeros_like(x)
        levels = self._inverse
        means = x
        for place, (width, inverse) in enumerate(levels):
            above = levels[place + 1][0] if place + 1 < len(levels) else None
            coarser = None if above is None else means.reshape(-1, self.tree.branching, x.shape[1]).mean(axis=1)
            part = means if coarser is None else means - np.repeat(coarser, self.tree.branching, axis=0)
            result += np.repeat(part * inverse, width, axis=0)
            means = means if coarser is None else coarser
        return result

    def diagonal(self) -> Floats:
        """Return the same variance for every cell."""
        levels = self._inverse
        ranks = [self.size // width for width, _ in levels]
        spaces = [here - above for here, above in zip(ranks, [*ranks[1:], 0], strict=True)]
        trace = math.fsum(rank * inverse for rank, (_, inverse) in zip(spaces, levels, strict=True))
        return np.full(self.size, trace / self.size)


#: A nominal tree: a leaf is the number 1, a node the tuple of what is below it; a number k is k leaves.
Node = Any


@dataclass(frozen=True)
class NominalTree(Matrix):
    """Privelet's transform for categories: every node minus the average of its siblings, weighted.

    A node in a family of f has the row (L / (2f - 2)) (f * its own sum - its parent's sum); the root has L times the
    total, L being the least number that makes all rows whole. A cell moves the f rows of one family by L in all, so
    column norms are L times the number of levels above the cell, the root's included.

    Args:
        tree: nested tuples; an integer k stands for a family of k leaves. Every family has at least two members.

    >>> NominalTree((2, 2)).norm(1), NominalTree((2, 2)).domain
    (Fraction(6, 1), (4,))

    """

    kind: ClassVar[str] = "nominal tree"
    tree: Node

    def __post_init__(self) -> None:
        if isinstance(self.tree, int) and not isinstance(self.tree, bool):
            object.__setattr__(self, "tree", (1,) * whole("tree", self.tree, least=2, most=_MOST_LEAVES))
        if _leaves(self.tree, 0) > _MOST_LEAVES:
            raise InvalidParameter("tree", f"{_leaves(self.tree, 0)} leaves", f"at most {_MOST_LEAVES} leaves")

    @cached_property
    def _written(self) -> Dense:
        """The rows, written out."""
        families: list[tuple[int, int, list[tuple[int, int]]]] = []
        leaves = _families(self.tree, 0, families)
        step = math.lcm(*(2 * len(children) - 2 for _, _, children in families))
        rows = [np.full(leaves, step, dtype=np.int64)]
        for start, end, children in families:
            share = step // (2 * len(children) - 2)
            for first, last in children:
                row = np.zeros(leaves, dtype=np.int64)
                row[start:end] = -share
                row[first:last] += share * len(children)
                rows.append(row)
        from dither.mechanisms.core.public import PublicArray

        return Dense(PublicArray(np.array(rows)))

    @property
    def domain(self) -> tuple[int, ...]:
        """The leaves."""
        return self._written.domain

    @property
    def queries(self) -> int:
        """The nodes, leaves included."""
        return self._written.queries

    @property
    def row_bound(self) -> Fraction:
        """The bound of the rows."""
        return self._written.row_bound

    def times(self, x: Array) -> Array:
        """Return the product."""
        return self._written.times(x)

    def transposed_times(self, y: Array) -> Array:
        """Return the product with the transpose."""
        return self._written.transposed_times(y)

    def column_norms(self, power: int) -> ColumnNorms:
        """Return the norms of the rows."""
        return self._written.column_norms(power)


def _leaves(node: Node, depth: int) -> int:
    if isinstance(node, int) and not isinstance(node, bool):
        return cell_count("tree", node)
    if not isinstance(node, tuple) or len(node) < 2 or depth > 64:
        raise InvalidParameter("tree", node, "nested tuples of at least two members, or numbers of leaves")
    return sum(_leaves(child, depth + 1) for child in node)


def _families(node: Node, start: int, found: list[Any]) -> int:
    """Add the families below a node that starts at leaf ``start``, and return the leaf where it ends."""
    if node == 1:
        return start + 1
    children, place = [], start
    below: list[Any] = []
    for child in (1,) * node if isinstance(node, int) else node:
        end = _families(child, place, below)
        children.append((place, end))
        place = end
    found.append((start, place, children))
    found.extend(below)
    return place
