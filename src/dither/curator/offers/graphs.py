"""Graphs: counts of edges, triangles, stars and k-triangles, and degrees."""

from __future__ import annotations

from typing import Any

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.privacy import Loss, stated_loss
from dither.publish.queries import QueryResult

#: The longest row of a table of degrees: a name, a degree and its ends, in bytes.
_ROW, _HEAD = 2**11, 2**16


def graph_answer(
    dataset: DataSet,
    what: str,
    table: str | None = None,
    *,
    k: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer a count of a graph, or its degrees.

    Args:
        dataset: the schema.
        what: "edges", "triangles", "stars", "k-triangles", "degrees" (how many nodes have which degree) or
            "degrees-by-node".
        table: the table of edges; may be left out, as there is one.
        k: the neighbours of a star, or the nodes over the edge of a k-triangle: 2 and above.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: of a count: "ladder", "smooth", "laplace", or "auto" for the one with the least error, by public facts;
            where nodes are protected "projection", "flow", "race", or "auto", which chooses a bound privately.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        confidence: of the intervals, where there are any.

    """
    from dither.lift.edges import Edges
    from dither.publish.graphs.planning import BY_NODE, plan_graph, present_graph, words_of

    level = probability("confidence", confidence, open_below=True)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    source = Edges(dataset, graph_table(dataset, table))
    made = plan_graph(source, stated, what, k=k, method=method)
    if what == BY_NODE:
        check_length("nodes", source.nodes, _ROW, _HEAD)
    asked: dict[str, Any] = {
        "source": wire.encode(source),
        "what": what,
        "k": k,
        "method": method,
        "confidence": str(level),
    }

    def labels() -> list[Any]:
        found = dataset.table(source.table).column(source.graph.ends[0])
        if found.categories is not None:
            return list(found.categories)
        first = found.lower if isinstance(found.lower, int) else 0
        return list(range(first, first + source.nodes))

    def present(out: Any) -> bytes:
        shown = present_graph(made, out, what, k=k, confidence=level, labels=labels)
        return shown.within(LARGEST_ANSWER).to_json().encode()

    words = words_of(what, k, source.table)
    return Offer("graph", words, made, asked, stated, present, QueryResult.stored, key)


def graph_table(dataset: DataSet, table: str | None) -> str:
    """Return the name of the table of edges; refuse a data set without one."""
    found = [one.name for one in dataset.tables if one.graph is not None]
    if not found:
        raise InvalidParameter("dataset", dataset.name, "one whose schema declares a graph, with the unit edge")
    if table is not None and table.lower() != found[0].lower():
        raise InvalidParameter("table", table, f"{found[0]}, the table of edges")
    return found[0]
