"""Choosing a method for a graph by public facts: what is asked, how many nodes there are, and what is protected.

Nothing here reads edges, so choosing is free. It says what ``session.graph`` takes as "auto", and why.
"""

from __future__ import annotations

from typing import Final

from dither.errors import InvalidParameter
from dither.exact import Number, whole
from dither.mechanisms.core.purse import Purse
from dither.privacy import EDGE, NODE, Loss, Unit, stated_loss
from dither.publish.graphs.choosing import GraphChoice, choose_count
from dither.publish.graphs.chosen_copies import check_listed
from dither.publish.graphs.node_planning import check_node_wish, triangle_bounds
from dither.publish.graphs.node_planning import is_quick as is_one_programme
from dither.publish.graphs.patterns import CLIQUES, K_TRIANGLES, PATTERNS, TRIANGLES
from dither.publish.graphs.synthesis.planning import clearest

DEGREES, SYNTHESIS = "degrees", "synthesize"
_BY_NODE: Final = {
    "edges": ("chosen-edges", "a maximum flow with a bound on degrees that is chosen privately"),
    DEGREES: ("chosen-degrees", "a convex programme with a bound on degrees that is chosen privately"),
    "stars": ("chosen-stars", "a projection to a bound on degrees that is chosen privately"),
    K_TRIANGLES: ("chosen-copies", "linear programmes with a bound that is chosen privately"),
    CLIQUES: ("chosen-copies", "linear programmes with a bound that is chosen privately"),
    "degree-sum": ("chosen-degree-sum", "a convex programme with a bound on degrees that is chosen privately"),
}


def choose_graph(
    what: str,
    nodes: int,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    unit: Unit = EDGE,
    k: int = 0,
    degree: int | None = None,
    edges: int | None = None,
    moves: int | None = None,
) -> GraphChoice:
    """Return the method for a release of a graph, by what is public.

    Args:
        what: edges, triangles, stars, k-triangles, cliques, degrees or synthesize; with the unit ``NODE`` degree-sum.
        nodes: their number.
        epsilon: what the release may lose; with ``delta``, or ``rho`` in place of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: the same as a record.
        unit: ``EDGE`` or ``NODE``.
        k: of stars, k-triangles and cliques.
        degree: where nodes are protected, the largest bound on the edges of one.
        edges: for a synthetic graph, how many there are at most, if that is declared.
        moves: how far one edge moves a count in such a graph, guessed from public knowledge.

    >>> choose_graph("triangles", 5000, epsilon=1).method
    'ladder'
    >>> from dither.privacy import NODE
    >>> print(choose_graph("degrees", 5000, epsilon=1, unit=NODE, degree=100))
    chosen-degrees: a convex programme with a bound on degrees that is chosen privately
    >>> choose_graph("synthesize", 1000, epsilon=1).method
    'clustered'

    """
    stated, nodes = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss), whole("nodes", nodes, least=2)
    if unit == NODE:
        return _by_node(what, nodes, degree, k)
    if unit != EDGE:
        raise InvalidParameter("unit", unit, "EDGE or NODE")
    if what == DEGREES:
        return GraphChoice("degree-tail", {}, "one edge moves the numbers of nodes above each degree by 2 together")
    if what == SYNTHESIS:
        method = clearest(nodes, edges, float(Purse.pure_within(stated).amount))
        because = "most retained pairs are true edges" if method == "top-edges" else "it keeps degrees and triangles"
        return GraphChoice(method, {}, because)
    if what not in PATTERNS:
        raise InvalidParameter("what", what, f"one of {', '.join((*PATTERNS, DEGREES, SYNTHESIS))}")
    return choose_count(stated, nodes=nodes, pattern=what, k=k, moves=moves)


def _by_node(what: str, nodes: int, degree: int | None, k: int) -> GraphChoice:
    check_node_wish(what, "auto")
    if what in (K_TRIANGLES, CLIQUES):
        check_listed(nodes, what, k)
    if what == TRIANGLES:
        most = whole("degree", 0 if degree is None else degree, least=1)
        if is_one_programme(nodes, triangle_bounds(nodes, most)):
            return GraphChoice("quick-triangles", {}, "one linear programme: for all bounds they would take too long")
        return GraphChoice("chosen-triangles", {}, "linear programmes with a bound that is chosen privately")
    method, because = _BY_NODE[what]
    return GraphChoice(method, {}, because)
