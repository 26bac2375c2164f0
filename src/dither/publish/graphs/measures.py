"""Exact measures of a graph that are made of counts: private numbers, which nothing releases by themselves.

A ratio of exact counts moves by any amount between neighbours: an empty graph has no triangles and no stars. What is
released is made of released counts (``graph_ratio``).
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np

from dither.publish.graphs.counts import star_count, triangle_count
from dither.publish.graphs.products import product_count
from dither.publish.graphs.simple_graph import SimpleGraph


def mean_degree(graph: SimpleGraph) -> Fraction:
    """Return the mean number of edges at a node."""
    return Fraction(2 * len(graph.edges), graph.nodes)


def cut_size(graph: SimpleGraph, side: Collection[int]) -> int:
    """Return the number of edges between some nodes and all others."""
    is_there = np.zeros(graph.nodes, dtype=np.bool_)
    is_there[[node for node in side if 0 <= node < graph.nodes]] = True
    return int((is_there[graph.edges[:, 0]] != is_there[graph.edges[:, 1]]).sum())


def component_count(graph: SimpleGraph) -> int:
    """Return the number of connected parts; a node without edges is one."""
    from scipy.sparse.csgraph import connected_components

    return int(connected_components(graph.matrix(), directed=False, return_labels=False))


def clustering(graph: SimpleGraph) -> Fraction:
    """Return the share of pairs of neighbours of a node that are joined: 3 triangles over 2-stars; 0 without stars."""
    return transitivity(triangle_count(graph), star_count(graph, 2))


def transitivity(triangles: int, stars: int) -> Fraction:
    """Return 3 triangles over 2-stars, between 0 and 1; 0 without stars.

    >>> transitivity(1, 3), transitivity(5, 0)
    (Fraction(1, 1), Fraction(0, 1))
    """
    return min(max(Fraction(3 * triangles, stars), Fraction(0)), Fraction(1)) if stars > 0 else Fraction(0)


def assortativity(graph: SimpleGraph) -> Fraction:
    """Return the correlation of the degrees at the two ends of an edge; 0 where all degrees at ends are equal."""
    counts = len(graph.edges), star_count(graph, 2), star_count(graph, 3), product_count(graph)
    return degree_correlation(*counts)


def degree_correlation(edges: int, pairs: int, triples: int, products: int) -> Fraction:
    """Return the correlation of degrees from the numbers of edges, 2-stars, 3-stars and the sum of products.

    The sum of d^2 over nodes is 2 C(d, 2) + d, that of d^3 is 6 C(d, 3) + 6 C(d, 2) + d. Between -1 and 1.

    >>> degree_correlation(3, 3, 1, 9)  # a star: its centre knows only leaves
    Fraction(-1, 1)
    """
    if edges <= 0:
        return Fraction(0)
    mean = Fraction(2 * pairs + 2 * edges, 2 * edges)
    spread = Fraction(6 * triples + 6 * pairs + 2 * edges, 2 * edges) - mean**2
    if spread <= 0:
        return Fraction(0)
    return min(max((Fraction(products, edges) - mean**2) / spread, Fraction(-1)), Fraction(1))
