"""Cuts: how far each attribute is specialised, the steps that are possible next, and how a step is scored.

A cut of a taxonomy is a set of nodes that has every value below exactly one of them; a cut of ordered cells is a
division into intervals. Cuts are made of released choices, so they are public. A score looks at private counts of
classes below the nodes that a step would make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.publish.microdata.taxonomy import Hierarchy, OrderedCells, Taxonomy

Counts = NDArray[np.int64]
#: Steps of an information gain per bit.
BIT: Final = 64


class Cut(ABC):
    """How far one attribute is specialised."""

    #: How many steps there are in all: inner nodes, or edges that an interval may be cut at.
    steps: int

    @abstractmethod
    def available(self) -> list[int]:
        """Return the numbers of the steps that are possible now."""

    @abstractmethod
    def added(self, step: int) -> int:
        """Return how many groups of values a step adds."""

    @abstractmethod
    def take(self, step: int) -> None:
        """Take a possible step."""

    @abstractmethod
    def groups(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the groups of values, each with its label, in the order of the tree or of the values."""

    @abstractmethod
    def sums(self, table: Counts) -> Counts:
        """Return what ``below`` needs, from the classes of each value: a row per value, a column per class."""

    @abstractmethod
    def below(self, step: int, sums: Counts) -> Counts:
        """Return the classes of the groups that a step would make: a row per group, a column per class."""


class TreeCut(Cut):
    """A cut of a taxonomy; step i specialises the i-th inner node."""

    def __init__(self, tree: Taxonomy) -> None:
        self._tree, self.steps = tree, len(tree.inner)
        self._nodes = {0}
        self._numbers = {node: number for number, node in enumerate(tree.inner)}

    def available(self) -> list[int]:
        """Return the inner nodes of the cut."""
        return sorted(self._numbers[node] for node in self._nodes if node in self._numbers)

    def added(self, step: int) -> int:
        """Return the number of children minus the node that they replace."""
        return len(self._tree.children(self._tree.inner[step])) - 1

    def take(self, step: int) -> None:
        """Replace a node by its children."""
        node = self._tree.inner[step]
        self._nodes = (self._nodes - {node}) | set(self._tree.children(node))

    def groups(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the nodes of the cut."""
        return [(self._tree.label(node), self._tree.values(node)) for node in sorted(self._nodes)]

    def sums(self, table: Counts) -> Counts:
        """Return the classes below every node."""
        found = np.zeros((len(self._tree.labels), table.shape[1]), dtype=np.int64)
        found[list(self._tree.leaves)] = table
        for node in range(len(self._tree.labels) - 1, 0, -1):
            found[self._tree.parents[node]] += found[node]
        return found

    def below(self, step: int, sums: Counts) -> Counts:
        """Return the classes of the children."""
        return sums[list(self._tree.children(self._tree.inner[step]))]


class OrderedCut(Cut):
    """A division of ordered cells into intervals; step i cuts between the values i and i + 1."""

    def __init__(self, cells: OrderedCells) -> None:
        self._cells, self.steps = cells, cells.size - 1
        self._ends = [0, cells.size]

    def available(self) -> list[int]:
        """Return the edges that are not cut yet."""
        taken = set(self._ends)
        return [edge - 1 for edge in range(1, self._cells.size) if edge not in taken]

    def added(self, step: int) -> int:
        """Return 1: two intervals replace one."""
        return 1

    def take(self, step: int) -> None:
        """Cut the interval around an edge."""
        self._ends = sorted([*self._ends, step + 1])

    def groups(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the intervals."""
        pairs = zip(self._ends, self._ends[1:], strict=False)
        return [(self._cells.label(start, end), tuple(range(start, end))) for start, end in pairs]

    def sums(self, table: Counts) -> Counts:
        """Return the classes of all values before each edge."""
        return np.concatenate([np.zeros((1, table.shape[1]), dtype=np.int64), np.cumsum(table, axis=0)])

    def below(self, step: int, sums: Counts) -> Counts:
        """Return the classes of the two intervals on the sides of the edge."""
        edge = step + 1
        start = max(end for end in self._ends if end < edge)
        stop = min(end for end in self._ends if end > edge)
        return np.stack([sums[edge] - sums[start], sums[stop] - sums[edge]])


def cut_of(tree: Hierarchy) -> Cut:
    """Return the coarsest cut: everything in one group."""
    return TreeCut(tree) if isinstance(tree, Taxonomy) else OrderedCut(tree)


def majority(classes: Counts) -> int:
    """Return how many records are in the largest class of their group.

    A record more adds 0 or 1: it is in one group at most. So all such scores move the same way, by at most 1.

    >>> majority(np.array([[2, 1], [0, 1]]))
    3

    """
    return int(classes.max(axis=1).sum())


class Gain:
    """Information gain in steps of 1/64 bit, times the number of records: how much better groups predict the class.

    With H(m) standing for m log2 m, a division of classes k into groups c gains
    H(N) - sum_k H(N_k) - sum_c [H(N_c) - sum_k H(N_ck)]. Here H is the sum of whole increments g(0) <= g(1) <= ..., the
    rounded increments of 64 m log2 m, none of which is larger than g(records). One record of class k in group c more
    moves the gain by [g(N) - g(N_k)] - [g(N_c) - g(N_ck)], and both brackets are between 0 and g(records): so by at
    most ``sensitivity``, for any data whatever, however many records there are.

    Args:
        records: from how many on an increment stays as it is; public. It need not bound the number of records.

    >>> gain = Gain(1000)
    >>> gain.sensitivity, gain(np.array([[8, 0], [0, 8]])) / 64, gain(np.array([[4, 4], [4, 4]]))
    (730, 16.0, 0)

    """

    def __init__(self, records: int) -> None:
        self._increments, self._sums = _increments(records)
        #: How far a gain moves per record.
        self.sensitivity = int(self._increments[-1])

    def _entropy(self, counts: Any) -> Counts:
        """Return H of integers: the sum of the first increments."""
        numbers = np.asarray(counts, dtype=np.int64)
        inside = np.minimum(numbers, self._sums.size - 1)
        return np.asarray(self._sums[inside] + (numbers - inside) * self.sensitivity)

    def __call__(self, classes: Counts) -> int:
        """Return the gain of dividing the sum of these groups into them: a row per group, a column per class."""
        together = self._entropy(classes.sum()) - self._entropy(classes.sum(axis=0)).sum()
        apart = self._entropy(classes.sum(axis=1)).sum() - self._entropy(classes).sum()
        return int(together - apart)


@lru_cache(maxsize=8)
def _increments(records: int) -> tuple[Counts, Counts]:
    """Return g(0), ..., g(records), and the sums of the first 0, 1, ... of them."""
    numbers = np.arange(1, records + 1, dtype=np.float64)
    exact = np.concatenate([[0.0], np.log2(numbers + 1) + numbers * np.log1p(1 / numbers) / np.log(2)])
    # Floats may round neighbours the wrong way round; the proof needs them in order.
    steps = np.maximum.accumulate(np.rint(BIT * exact).astype(np.int64))
    return steps, np.concatenate([[0], np.cumsum(steps)])


def members_of(groups: Sequence[tuple[str, tuple[int, ...]]], size: int) -> NDArray[np.int64]:
    """Return each value's group number."""
    places = np.empty(size, dtype=np.int64)
    for number, (_, values) in enumerate(groups):
        places[list(values)] = number
    return places
