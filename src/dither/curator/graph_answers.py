"""A graph of a session: counts and degrees by name, each a release of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dither.publish.queries import QueryResult


class GraphAnswers:
    """What can be asked of a declared graph. Every answer is charged; ``session.offer.graph_answer`` prices the same.

    All take what a release may lose (``epsilon``, with or without ``delta``, ``rho`` or ``loss``), ``key``,
    ``confidence``, ``since`` and ``until`` where the graph has a time, and counts also ``method``: "auto", "ladder",
    "smooth", "laplace", "noisy-local" or "truncated"; where nodes are protected "auto", "projection", "flow",
    "race", "recursive", "programmes" or "quick".
    """

    def __init__(self, release: Callable[..., QueryResult], table: str, synthesize: Callable[..., QueryResult]) -> None:
        self._release, self.table, self._synthesize = release, table, synthesize

    def edges(self, **options: Any) -> QueryResult:
        """Release the number of edges."""
        return self._release("edges", **options)

    def triangles(self, **options: Any) -> QueryResult:
        """Release the number of triangles: three nodes that all know each other."""
        return self._release("triangles", **options)

    def stars(self, k: int, **options: Any) -> QueryResult:
        """Release the number of k-stars: a node and k of its neighbours."""
        return self._release("stars", k=k, **options)

    def k_triangles(self, k: int, **options: Any) -> QueryResult:
        """Release the number of k-triangles: an edge and k nodes that are joined to both of its ends."""
        return self._release("k-triangles", k=k, **options)

    def cliques(self, k: int, **options: Any) -> QueryResult:
        """Release the number of k-cliques: k nodes that all know each other."""
        return self._release("cliques", k=k, **options)

    def clustering(self, **options: Any) -> QueryResult:
        """Release which share of the pairs of neighbours of a node know each other; with a delta, an interval."""
        return self._release("clustering", **options)

    def assortativity(self, **options: Any) -> QueryResult:
        """Release how the degrees at the two ends of an edge are correlated; with a delta, an interval."""
        return self._release("assortativity", **options)

    def degree_histogram(self, **options: Any) -> QueryResult:
        """Release how many nodes have each degree, with intervals; ``degrees`` errs less."""
        return self._release("degree-histogram", **options)

    def edges_between(self, group: str, **options: Any) -> QueryResult:
        """Release how many edges there are between any two groups of nodes, by a column of the table of nodes."""
        return self._release("edges-between", group=group, **options)

    def spanning_tree(self, **options: Any) -> QueryResult:
        """Release the cost of a minimum spanning tree, where the unit is a weight."""
        return self._release("spanning-tree", **options)

    def path(self, start: Any, end: Any, **options: Any) -> QueryResult:
        """Release the length of a shortest path between two nodes, where the unit is a weight."""
        return self._release("path", start=start, end=end, **options)

    def degrees(self, **options: Any) -> QueryResult:
        """Release how many nodes have which degree."""
        return self._release("degrees", **options)

    def degree_sum(self, worth: Sequence[int], **options: Any) -> QueryResult:
        """Release what the degrees of all nodes are worth: a number for degree 1, 2, 3, ...; where nodes are protected.

        ``degree_sum((1,))`` counts the nodes that have an edge; ``degree_sum((1, 2, 3))`` at most three edges of each.
        """
        return self._release("degree-sum", worth=worth, **options)

    def degrees_by_node(self, **options: Any) -> QueryResult:
        """Release the degree of every node."""
        return self._release("degrees-by-node", **options)

    def synthesize(self, **options: Any) -> QueryResult:
        """Release synthetic edges, as a table with the columns of the graph.

        Takes ``method``: "auto", "clustered", "top-edges", "joint-degrees", "communities", "degrees", "densities",
        "kronecker" or "hierarchy"; and ``most``, the most edges.
        """
        return self._synthesize(**options)

    def __repr__(self) -> str:
        counts = "edges, triangles, stars, k_triangles, cliques, clustering, assortativity, edges_between"
        degrees = "degrees, degrees_by_node, degree_histogram, degree_sum"
        return f"<graph {self.table}: {counts}, {degrees}, spanning_tree, path, synthesize>"
