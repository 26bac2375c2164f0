"""A graph of a session: counts and degrees by name, each a release of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.publish.queries import QueryResult


class GraphAnswers:
    """What can be asked of a declared graph. Every answer is charged; ``session.offer.graph_answer`` prices the same.

    All take what a release may lose (``epsilon``, with or without ``delta``, ``rho`` or ``loss``), ``key``,
    ``confidence``, and counts also ``method``: "auto", "ladder", "smooth" or "laplace"; where nodes are protected
    "auto", "projection", "flow" or "race".
    """

    def __init__(self, release: Callable[..., QueryResult], table: str) -> None:
        self._release, self.table = release, table

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

    def degrees(self, **options: Any) -> QueryResult:
        """Release how many nodes have which degree."""
        return self._release("degrees", **options)

    def degrees_by_node(self, **options: Any) -> QueryResult:
        """Release the degree of every node."""
        return self._release("degrees-by-node", **options)

    def __repr__(self) -> str:
        return f"<graph {self.table}: edges, triangles, stars, k_triangles, degrees, degrees_by_node>"
