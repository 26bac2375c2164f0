"""Synthetic graphs of a declared one: chosen and planned from public facts, presented as a table of edges."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.lift.edges import Edges
from dither.lift.lifted import Lifted
from dither.mechanisms.core.purse import Purse
from dither.privacy import EDGE, Loss
from dither.publish.graphs.synthesis.clustered_graph import ClusteredGraph
from dither.publish.graphs.synthesis.community_graph import CommunityGraph
from dither.publish.graphs.synthesis.degree_graph import DegreeGraph
from dither.publish.graphs.synthesis.density_graph import DensityGraph
from dither.publish.graphs.synthesis.drawn import limit_of
from dither.publish.graphs.synthesis.grown_hierarchy import GrownHierarchy
from dither.publish.graphs.synthesis.joint_degree_graph import JointDegreeGraph
from dither.publish.graphs.synthesis.kronecker_graph import KroneckerGraph
from dither.publish.graphs.synthesis.top_edges_graph import TopEdgesGraph
from dither.publish.queries import QueryResult, ResultColumn

AUTO: Final = "auto"
KINDS: Final[dict[str, type[Any]]] = {
    "clustered": ClusteredGraph,
    "top-edges": TopEdgesGraph,
    "joint-degrees": JointDegreeGraph,
    "communities": CommunityGraph,
    "degrees": DegreeGraph,
    "densities": DensityGraph,
    "kronecker": KroneckerGraph,
    "hierarchy": GrownHierarchy,
}
#: Which keep what a node is called: the synthetic node is like the one of that name.
_NAMED: Final = ("top-edges", "joint-degrees", "communities", "densities", "hierarchy")
#: How far epsilon must be above the logarithm of the pairs for one edge, so that 19 of 20 kept edges are true.
_CLEAR: Final = 3.0
_LIKE: Final = "each synthetic node is like the node of its name, as far as noise allows"
_NOBODY: Final = "synthetic nodes have no counterpart: a name says nothing about the node of that name"
_MADE: Final = "edges are synthetic: what one of them reveals about a true edge is bounded by the loss"


def chosen_synthesis(source: Edges, loss: Loss, method: str) -> str:
    """Return the method: the one asked for, or by public facts the one that comes closest.

    Where epsilon is so large that most kept pairs are true edges, those; else degrees and triangles.

    Args:
        source: the edges.
        loss: what may be lost.
        method: one of ``KINDS``, or "auto".

    """
    if method != AUTO:
        if method not in KINDS:
            raise InvalidParameter("method", method, f"one of {', '.join((AUTO, *KINDS))}")
        return method
    most = None if source.graph.edges is None else source.graph.most_edges(source.nodes)
    return clearest(source.nodes, most, float(Purse.pure_within(loss).amount / source.graph.moved_edges(source.nodes)))


def clearest(nodes: int, most: int | None, epsilon: float) -> str:
    """Return which method comes closest: true edges, if epsilon is large for so few as are declared.

    >>> clearest(1000, 5000, 1.0), clearest(1000, 5000, 10.0), clearest(1000, None, 10.0)
    ('clustered', 'top-edges', 'clustered')
    """
    is_clear = most is not None and epsilon >= math.log(math.comb(nodes, 2) / most) + _CLEAR
    return "top-edges" if is_clear else "clustered"


def plan_synthesis(source: Edges, loss: Loss, *, method: str = AUTO, most: int | None = None) -> Lifted:
    """Return the release of a synthetic graph.

    Args:
        source: the edges.
        loss: what it may lose.
        method: one of ``KINDS``, or "auto".
        most: the most synthetic edges, where fewer than the schema allows are wanted.

    """
    if source.dataset.unit != EDGE:
        rule = "a data set with the unit edge: where nodes are protected no synthetic graph is offered"
        raise InvalidParameter("dataset", source.dataset.name, rule)
    kind = KINDS[chosen_synthesis(source, loss, method)]
    declared = source.graph.most_edges(source.nodes)
    limit = limit_of(source.nodes, declared if most is None else min(most, declared))

    def build(within: Loss) -> Any:
        return kind.calibrated(within, nodes=source.nodes, most=limit)

    return Lifted.calibrated(loss, source=source, build=build)


def present_synthesis(made: Lifted, out: Any, *, confidence: Fraction, labels: Any) -> QueryResult:
    """Return synthetic edges as a table with the columns of the graph.

    Args:
        made: the mechanism.
        out: what it released.
        confidence: of intervals, of which there are none.
        labels: gives the nodes in the order of their numbers.

    """
    source: Any = made.source
    nodes, edges = labels(), np.asarray(out, dtype=np.int64)
    kind = "text" if nodes and isinstance(nodes[0], str) else "integer"
    rows = tuple((nodes[one], nodes[other]) for one, other in edges.tolist())
    method: Any = made.method
    found = next(name for name, one in KINDS.items() if isinstance(method, one))
    return QueryResult(
        tuple(ResultColumn(end, kind, is_key=True) for end in source.graph.ends),
        rows,
        ((None, None),) * len(rows),
        ((None, None),) * len(rows),
        confidence,
        is_simultaneous=False,
        loss=made.loss(1),
        unit=str(made.distance),
        notes=(f"{len(rows)} edges, by the method {found}", _MADE, _LIKE if found in _NAMED else _NOBODY),
    )
