"""Releases of a graph whose nodes are protected: which method, with which candidates for a bound, and what it says.

Everything follows from public facts: the number of nodes, and the declared degree, which is the largest bound on the
edges of one node that may be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.lift.edges import GraphSource
from dither.privacy import Loss
from dither.publish.graphs.chosen_copies import ChosenCopies
from dither.publish.graphs.chosen_degree_sum import ChosenDegreeSum
from dither.publish.graphs.chosen_degrees import ChosenDegrees
from dither.publish.graphs.chosen_edges import ChosenEdges
from dither.publish.graphs.chosen_stars import ChosenStars
from dither.publish.graphs.chosen_triangles import ChosenTriangles
from dither.publish.graphs.flow_edges import FlowEdges
from dither.publish.graphs.packing import most_bound
from dither.publish.graphs.patterns import CLIQUES, EDGES, K_TRIANGLES, STARS, TRIANGLES, largest_count, named
from dither.publish.graphs.projected_degrees import ProjectedDegrees
from dither.publish.graphs.projected_edges import ProjectedEdges
from dither.publish.graphs.quick_triangles import QuickTriangles
from dither.publish.graphs.race import GraphRace
from dither.publish.graphs.recursive_count import RecursiveCount
from dither.publish.graphs.standing_out import LARGEST_BOUND, doubling
from dither.publish.graphs.truncated_count import restricted_reach

DEGREES, DEGREE_SUM = "degrees", "degree-sum"
#: The methods for what may be asked.
_METHODS: Final = {
    EDGES: ("auto", "projection", "flow", "race", "recursive"),
    DEGREES: ("auto", "projection"),
    TRIANGLES: ("auto", "programmes", "quick", "race", "recursive"),
    STARS: ("auto", "programmes"),
    K_TRIANGLES: ("auto",),
    CLIQUES: ("auto",),
    DEGREE_SUM: ("auto",),
}
_LEAST_TRIANGLES: Final = 16
#: Programmes for all bounds are solved where the largest bound allows no more corners of triangles than this.
_MOST_CORNERS: Final = 2**28


#: What releases its bound beside the count.
_WITH_BOUND: Final = (ChosenDegreeSum, ChosenEdges, ChosenStars, ChosenTriangles, QuickTriangles, RecursiveCount)


def check_node_wish(wish: str, method: str) -> None:
    """Refuse what is not released where nodes are protected, and a method that is not for it."""
    if wish not in _METHODS:
        rule = (
            f"one of {', '.join(_METHODS)} where nodes are protected: one node may move anything else by far too much"
        )
        raise InvalidParameter("what", wish, rule)
    if method not in _METHODS[wish]:
        rule = f"one of {', '.join(_METHODS[wish])} for {wish} where nodes are protected"
        raise InvalidParameter("method", method, rule)


def node_method(
    within: Loss, source: GraphSource, degree: int, wish: str, k: int, method: str, worth: Sequence[int] = ()
) -> Any:
    """Return the method for a wish.

    Args:
        within: what graphs one node apart may lose.
        source: the edges.
        degree: the largest bound on the edges of one node.
        wish: edges, degrees, triangles, stars, k-triangles, cliques or degree-sum.
        k: of stars, k-triangles and cliques.
        method: "auto", or another for the wish.
        worth: of a sum over degrees, what a node of degree 1, 2, 3, ... counts.

    """
    nodes = source.nodes
    if method == "projection":
        return (ProjectedEdges if wish == EDGES else ProjectedDegrees).calibrated(within, nodes=nodes, degree=degree)
    if method == "recursive":
        return RecursiveCount.calibrated(within, nodes=nodes, pattern=wish)
    if method == "flow":
        return FlowEdges.calibrated(within, nodes=nodes, degree=degree)
    if wish == TRIANGLES:
        bounds = triangle_bounds(nodes, degree)
        if method == "race":
            return GraphRace.calibrated(within, nodes=nodes, pattern=wish, bounds=bounds)
        one = is_quick(nodes, bounds) if method == "auto" else method == "quick"
        return (QuickTriangles if one else ChosenTriangles).calibrated(within, nodes=nodes, bounds=bounds)
    if wish in (STARS, K_TRIANGLES, CLIQUES):
        if degree < restricted_degree(wish, k):
            rule = f"smaller: of the declared degree, {degree}, no node is in one of the {named(wish, k)}"
            raise InvalidParameter("k", k, rule)
        if wish != STARS or method == "programmes":
            bounds = copy_bounds(nodes, degree, wish, k)
            return ChosenCopies.calibrated(within, nodes=nodes, pattern=wish, k=k, bounds=bounds)
        return ChosenStars.calibrated(within, nodes=nodes, k=k, bounds=doubling(k, degree))
    most = min(degree, LARGEST_BOUND)
    if wish == DEGREE_SUM:
        # A bound within the table would cut off what the table tells apart.
        bounds = doubling(max(min(len(worth), most), 1), most)
        return ChosenDegreeSum.calibrated(within, nodes=nodes, worth=worth, bounds=bounds)
    bounds = doubling(1, most)
    if method == "race":
        return GraphRace.calibrated(within, nodes=nodes, pattern=wish, bounds=bounds)
    return (ChosenEdges if wish == EDGES else ChosenDegrees).calibrated(within, nodes=nodes, bounds=bounds)


def triangle_bounds(nodes: int, degree: int) -> tuple[int, ...]:
    """Return candidates for the triangles at a node, from 16 to what the degree and a programme's size allow.

    >>> triangle_bounds(1000, 20), triangle_bounds(100_000, 4)
    ((16, 32, 64, 128, 190), (6,))
    """
    most = max(min(math.comb(degree, 2), most_bound(nodes), LARGEST_BOUND), 1)
    return doubling(min(_LEAST_TRIANGLES, most), most)


def restricted_degree(pattern: str, k: int) -> int:
    """Return the least degree at which a node has a copy of a pattern.

    >>> restricted_degree("stars", 3), restricted_degree("k-triangles", 3), restricted_degree("cliques", 3)
    (3, 4, 2)
    """
    return {STARS: k, K_TRIANGLES: k + 1, CLIQUES: k - 1}[pattern]


def copy_bounds(nodes: int, degree: int, pattern: str, k: int) -> tuple[int, ...]:
    """Return candidates for the copies at a node, from 16 to what the degree and the number of nodes allow.

    >>> copy_bounds(100, 8, "cliques", 4), copy_bounds(5, 100, "cliques", 4)
    ((16, 32, 56), (4,))
    """
    most = min(restricted_reach(min(degree, nodes - 1), pattern, k), largest_count(nodes, pattern, k), LARGEST_BOUND)
    return doubling(min(_LEAST_TRIANGLES, max(most, 1)), max(most, 1))


def is_quick(nodes: int, bounds: tuple[int, ...]) -> bool:
    """Whether programmes for all bounds would be too large, so that one is solved."""
    return nodes * bounds[-1] > _MOST_CORNERS


def count_of(method: Any, out: Any) -> Any:
    """Return the count of what was released."""
    return out[1] if isinstance(method, _WITH_BOUND) else out


def notes_of(method: Any, out: Any) -> tuple[str, ...]:
    """Return what a bound means for a reader."""
    if isinstance(method, ChosenDegrees):
        return (_said("edges", len(out) - 1),)
    if isinstance(method, _WITH_BOUND):
        of_triangles = isinstance(method, ChosenTriangles | QuickTriangles)
        what = TRIANGLES if of_triangles or getattr(method, "pattern", EDGES) == TRIANGLES else EDGES
        what = named(method.pattern, method.k) if isinstance(method, ChosenCopies) else what
        return (_said(what, int(out[0])), "no interval: what the bound cuts off is private")
    if isinstance(method, GraphRace):
        return ("the largest of several noisy counts, most often a little below the truth; no interval",)
    if isinstance(method, FlowEdges):
        return (f"of a node at most {method.degree} edges count, unless the graph is dense; no interval",)
    return ()


def _said(what: str, bound: int) -> str:
    counted = f"{what.removesuffix('s')} counts" if bound == 1 else f"{what} count"
    return f"of a node at most {bound} {counted}: that bound was chosen privately"
