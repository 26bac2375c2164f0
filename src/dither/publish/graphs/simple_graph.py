"""Simple graphs in memory: private edges among a public number of nodes, as sorted arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.cell_values import whole_numbers, whole_of
from dither.data.graph_objects import foreign_edges
from dither.errors import InvalidValue
from dither.lift.edges import canonical
from dither.mechanisms.core.values import raw_entries

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Ints = NDArray[np.int64]
_RULE: Final = "edges: an array of shape (any, 2), a list of pairs, a sparse matrix or a graph"


@dataclass(frozen=True, eq=False)
class SimpleGraph:
    """An undirected graph without loops and repeats. Private: it never leaves a mechanism.

    Args:
        nodes: their number, public.
        edges: two columns of node numbers, the smaller first, in order.

    """

    nodes: int
    edges: Ints

    @cached_property
    def degrees(self) -> Ints:
        """The number of edges at each node."""
        return np.bincount(self.edges.ravel(), minlength=self.nodes).astype(np.int64)

    @cached_property
    def order(self) -> Ints:
        """The nodes by falling degree."""
        return np.argsort(-self.degrees, kind="stable").astype(np.int64)

    @cached_property
    def ranked(self) -> Ints:
        """The edges between places in the order of falling degree, the earlier place first; in the order of edges."""
        place = np.empty(self.nodes, dtype=np.int64)
        place[self.order] = np.arange(self.nodes)
        return np.sort(place[self.edges], axis=1)

    def matrix(self, weights: Ints | None = None) -> csr_matrix:
        """Return the symmetric matrix of the edges between places in the order of falling degree.

        Args:
            weights: a number for each edge; 1 where left out.

        """
        from scipy.sparse import csr_matrix

        first, second = self.ranked[:, 0], self.ranked[:, 1]
        each = np.ones(len(first), dtype=np.int64) if weights is None else weights
        rows, columns = np.concatenate([first, second]), np.concatenate([second, first])
        return csr_matrix((np.concatenate([each, each]), (rows, columns)), shape=(self.nodes, self.nodes))


def graph_of(data: Any, nodes: int) -> SimpleGraph:
    """Return the graph of a list of edges. What is no pair of two different numbers below ``nodes`` is no edge.

    Args:
        data: an array with two columns, a list of pairs, a sparse matrix or a NetworkX graph; refused for another type
            or shape alone, and not if it is empty. A row means the same in each of them: an end is a whole number of
            any type, or a text that spells one.
        nodes: the public number of nodes.

    >>> graph_of([(0, 1), (1, 0), (2, 2), (1, 9), "no edge"], 3).edges.tolist()
    [[0, 1]]

    """
    return SimpleGraph(nodes, canonical(ends_of(data, nodes), nodes))


def ends_of(data: Any, nodes: int) -> Ints:
    """Return the ends of a list of edges as two columns, whichever way they lead; -1 or no row where it is no pair.

    Args:
        data: an array with two columns, a list of pairs, a sparse matrix or a NetworkX graph; refused for another type
            or shape alone, and not if it is empty. A row means the same in each of them: an end is a whole number of
            any type, or a text that spells one.
        nodes: the public number of nodes.

    """
    other = foreign_edges(data)
    if other is not None:
        return ends_of(other, nodes)
    if isinstance(data, np.ndarray):
        if not data.size:
            # An array that is made of no edges has one axis, and a type that says nothing.
            return np.empty((0, 2), dtype=np.int64)
        if data.ndim == 1 and data.dtype.kind == "O":
            # One row that is no pair makes rows of Python's out of all of them.
            return ends_of(data.tolist(), nodes)
        if data.ndim != 2 or data.shape[1] != 2:
            raise InvalidValue("value", data, _RULE)
        # One end that is no number makes floats or texts of all of them: each counts by its own value.
        found = whole_numbers(data, -1)
        return np.where((found >= 0) & (found < nodes), found, np.int64(-1))
    if isinstance(data, list | tuple | set | frozenset):
        pairs = [pair for row in data if (pair := pair_of(raw_entries(row, 3), nodes)) is not None]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)
    raise InvalidValue("value", data, _RULE)


def pair_of(entries: list[Any] | None, nodes: int) -> tuple[int, int] | None:
    """Return the two nodes that the entries of a row are, None where they are not two nodes."""
    first, second = map(whole_of, entries) if entries is not None and len(entries) == 2 else (None, None)
    if first is None or second is None or not (0 <= first < nodes and 0 <= second < nodes):
        return None
    return first, second
