"""Patterns that are counted in graphs: their counts, ladders and worst cases, and what mechanisms for them share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from dither.data.graphs import MOST_NODES
from dither.errors import InvalidParameter
from dither.exact import OneOf, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.privacy import EDGE, Unit
from dither.publish.graphs import cliques, counts, local, products
from dither.publish.graphs.simple_graph import Ints, SimpleGraph

EDGES, TRIANGLES, STARS, K_TRIANGLES, CLIQUES = PATTERNS = ("edges", "triangles", "stars", "k-triangles", "cliques")
#: Counted as a part of assortativity, and not asked for by itself.
PRODUCTS: Final = "degree-products"
#: What is called k: neighbours of a star, nodes over the edge of a k-triangle, nodes of a clique; the least there is.
_LEAST_K: Final = {STARS: 2, K_TRIANGLES: 2, CLIQUES: 3}
_LARGEST_K: Final = 16
#: Ladders have no more rungs than this; from there on all are as wide as can be.
_MOST_RUNGS: Final = 2**16
#: Neither a change nor a ladder of changes may reach beyond 64-bit integers.
_FARTHEST: Final = 2**58


@dataclass(frozen=True, kw_only=True)
class PatternCount(Composed[Any, Any]):
    """A count of a pattern in a graph of a public number of nodes, under edge privacy."""

    numerics: ClassVar[Numerics] = Numerics.EXACT

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    pattern: OneOf = OneOf(*PATTERNS, PRODUCTS)
    k: Whole = Whole(0, most=_LARGEST_K)

    def __post_init__(self) -> None:
        check_pattern(self.pattern, self.k)
        if self.reach * (self.rungs + self.k + 2) >= _FARTHEST:
            rule = f"fewer: one edge moves the number of {named(self.pattern, self.k)} by too much; take a smaller k"
            raise InvalidParameter("nodes", self.nodes, rule)

    @property
    def distance(self) -> Unit:
        """One edge."""
        return EDGE

    @property
    def takes_directed(self) -> bool:
        """Whether the input may be directed: no pattern but the edge itself has a meaning there."""
        return False

    @property
    def takes_degrees(self) -> bool:
        """Whether degrees decide the count, so that the input may be a row of them."""
        return self.pattern in (EDGES, STARS)

    @property
    def reach(self) -> int:
        """How far one edge moves the count in any graph, at least 1."""
        return max(reach(self.nodes, self.pattern, self.k), 1)

    @property
    def rungs(self) -> int:
        """How many local sensitivities are computed."""
        return min(2 * self.nodes, _MOST_RUNGS)


def check_pattern(pattern: str, k: int) -> None:
    """Refuse a k that a pattern does not have: 2 and above for stars and k-triangles, 3 for cliques, 0 for others."""
    least = _LEAST_K.get(pattern, 0)
    if least and k < least:
        raise InvalidParameter("k", k, f"{least} to {_LARGEST_K} for {pattern}")
    if not least and k != 0:
        raise InvalidParameter("k", k, f"not allowed for {pattern}")


def named(pattern: str, k: int) -> str:
    """Return the pattern in words.

    >>> named("stars", 3), named("k-triangles", 2), named("edges", 0)
    ('3-stars', '2-triangles', 'edges')
    """
    return pattern if not k else f"{k}-{pattern.removeprefix('k-')}"


def count(graph: SimpleGraph, pattern: str, k: int) -> int:
    """Return the exact count, which is private."""
    if pattern == EDGES:
        return counts.edge_count(graph)
    if pattern == TRIANGLES:
        return counts.triangle_count(graph)
    if pattern == CLIQUES:
        return cliques.clique_count(graph, k)
    if pattern == PRODUCTS:
        return products.product_count(graph)
    return counts.star_count(graph, k) if pattern == STARS else counts.k_triangle_count(graph, k)


def ladder(graph: SimpleGraph, pattern: str, k: int, rungs: int) -> Ints:
    """Return bounds on the local sensitivity 0, 1, 2, ... edges away, which are private."""
    if pattern == EDGES:
        return np.ones(rungs, dtype=np.int64)
    if pattern == TRIANGLES:
        return local.triangle_ladder(graph, rungs)
    if pattern == CLIQUES:
        return cliques.clique_ladder(graph, rungs, k)
    if pattern == PRODUCTS:
        return products.product_ladder(graph, rungs)
    return local.star_ladder(graph, rungs, k) if pattern == STARS else local.k_triangle_ladder(graph, rungs, k)


def reach(nodes: int, pattern: str, k: int) -> int:
    """Return how far one edge moves the count in any graph of that many nodes, at most."""
    if pattern == EDGES:
        return 1
    if pattern == TRIANGLES:
        return local.triangle_reach(nodes)
    if pattern == CLIQUES:
        return cliques.clique_reach(nodes, k)
    if pattern == PRODUCTS:
        return products.product_reach(nodes)
    return local.star_reach(nodes, k) if pattern == STARS else local.k_triangle_reach(nodes, k)


def largest_count(nodes: int, pattern: str, k: int) -> int:
    """Return the count in the complete graph, which is the largest."""
    pairs = math.comb(nodes, 2)
    if pattern == EDGES:
        return pairs
    if pattern == TRIANGLES:
        return math.comb(nodes, 3)
    if pattern == CLIQUES:
        return math.comb(nodes, k)
    if pattern == PRODUCTS:
        return pairs * (nodes - 1) ** 2
    return nodes * math.comb(nodes - 1, k) if pattern == STARS else pairs * math.comb(nodes - 2, k)


def bound_growth(pattern: str, k: int) -> tuple[int, int]:
    """Return c and j such that one edge moves the local sensitivity by at most c C(b, j), b the ``base`` of either."""
    if pattern == STARS:
        return 1, k - 2
    if pattern == K_TRIANGLES:
        return k + 2, k - 1
    if pattern == PRODUCTS:
        return 2, 1
    return 1, k - 3 if pattern == CLIQUES else 0


def base(graph: SimpleGraph, pattern: str) -> int:
    """Return a private number that one edge moves by at most 1, and that bounds how the local sensitivity grows."""
    if pattern in (STARS, PRODUCTS):
        return int(graph.degrees.max(initial=0)) + 2 * (pattern == PRODUCTS)
    return counts.largest_common(graph) + (pattern == K_TRIANGLES)
