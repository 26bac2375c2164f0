"""The copies of a pattern in a small graph, one by one: private, for programmes that give each copy a share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from dither.publish.graphs.patterns import CLIQUES, STARS
from dither.publish.graphs.simple_graph import Ints, SimpleGraph

Flags = NDArray[np.bool_]


def copies_of(graph: SimpleGraph, pattern: str, k: int) -> Ints:
    """Return the nodes of every copy, one copy a row; copies on the same nodes have a row each.

    Args:
        graph: small enough that all copies in a complete graph fit into memory; the caller decides that by the number
            of nodes.
        pattern: stars, k-triangles or cliques.
        k: of the pattern.

    >>> from dither.publish.graphs.simple_graph import graph_of
    >>> complete = graph_of([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], 4)
    >>> [copies_of(complete, *what).shape for what in (("stars", 2), ("k-triangles", 2), ("cliques", 4))]
    [(12, 3), (6, 4), (1, 4)]

    """
    is_joined = np.zeros((graph.nodes, graph.nodes), dtype=np.bool_)
    is_joined[graph.edges[:, 0], graph.edges[:, 1]] = True
    if pattern == CLIQUES:
        return _cliques(graph.edges, is_joined, k)
    is_joined |= is_joined.T
    heads = np.arange(graph.nodes)[:, None] if pattern == STARS else graph.edges
    found = [np.empty((0, heads.shape[1] + k), dtype=np.int64), *_with_others(heads, is_joined, k)]
    return np.concatenate(found)


def _cliques(edges: Ints, is_later: Flags, k: int) -> Ints:
    """Return cliques in the order of their nodes, grown by one later node at a time that all are joined to."""
    found, common = edges, is_later[edges[:, 0]] & is_later[edges[:, 1]]
    for _ in range(k - 2):
        row, new = np.nonzero(common)
        found, common = np.column_stack([found[row], new]), common[row] & is_later[new]
    return found


def _with_others(heads: Ints, is_joined: Flags, k: int) -> Iterator[Ints]:
    """Yield some nodes, and any k others that are joined to all of them."""
    places: dict[int, Ints] = {}
    for head in heads:
        others = np.flatnonzero(np.logical_and.reduce(is_joined[head], axis=0))
        many = len(others)
        if many not in places:
            chosen = chain.from_iterable(combinations(range(many), k))
            places[many] = np.fromiter(chosen, dtype=np.int64).reshape(-1, k)
        rest = others[places[many]]
        yield np.column_stack([np.tile(head, (len(rest), 1)), rest])
