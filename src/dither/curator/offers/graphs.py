"""Graphs: counts of patterns, degrees, clustering and assortativity, edges between groups, lengths."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dither.data import wire
from dither.data.evaluation import cell
from dither.data.expressions import Value
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.lift.lifted import Lifted
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.privacy import EDGE, WEIGHT, Loss, stated_loss
from dither.publish.queries import QueryResult

if TYPE_CHECKING:
    from dither.lift.edges import GraphSource

#: The longest row of a table of degrees: a name, a degree and its ends, in bytes.
_ROW, _HEAD = 2**11, 2**16
_BETWEEN: Final = "edges-between"
Moment: TypeAlias = str | datetime.date | None
#: What is released in words, the mechanism, and what makes a table of its release.
Planned: TypeAlias = tuple[str, Lifted, Callable[[Any], QueryResult]]


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
    error: Number | None = None,
    worth: Sequence[int] | None = None,
    start: Any = None,
    end: Any = None,
    group: str | None = None,
    since: Moment = None,
    until: Moment = None,
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer a count of a graph, its degrees, or a length in it.

    Args:
        dataset: the schema.
        what: "edges", "triangles", "stars", "k-triangles", "cliques", "degrees" (how many nodes have which degree,
            fitted), "degree-histogram" (the same with an interval for each degree), "degrees-by-node", "clustering",
            "assortativity" or "edges-between" (the groups of a table of nodes); where nodes are protected, "degree-sum"
            (what the degrees of all nodes are worth); where the unit is a weight, "spanning-tree" or "path".
        table: the table of edges; may be left out, as there is one.
        k: the neighbours of a star or the nodes over the edge of a k-triangle: 2 and above; the nodes of a clique: 3
            and above.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: of a count: "ladder", "smooth", "laplace", "noisy-local" (a delta, and an interval), "truncated" (a
            delta, and an error of at most a public bound), or "auto" for the one with the least error, by public facts;
            where nodes are protected "projection", "flow", "race", "recursive", "programmes", "quick", or "auto", which
            chooses a bound privately.
        error: of a count, in place of a loss: the largest absolute error, at ``confidence``, whose price is then what
            the release may lose; with noise for the worst case.
        worth: of "degree-sum": what a node of degree 1, 2, 3, ... counts, in whole numbers that never fall; a node of a
            higher degree counts as the last does. (1,) counts the nodes that have an edge.
        start: the node where a path begins.
        end: the node where it ends.
        group: of "edges-between": a column of the table of nodes.
        since: only edges of this date or time, or a later one, count; as a text in ISO 8601, or a date.
        until: only edges of an earlier date or time count.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        confidence: of the intervals, where there are any.

    """
    from dither.publish.graphs.expecting import expected_error

    level = probability("confidence", confidence, open_below=True)
    edges = dataset.table(graph_table(dataset, table))
    if error is not None:
        _left_out("a stated error", epsilon=epsilon, delta=delta, rho=rho, loss=loss)
        stated, method = _priced(dataset, edges, what, k, method, error, level), "laplace"
    else:
        stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    asked: dict[str, Any] = {"what": what, "k": k, "method": method, "confidence": str(level)}
    period = [_moment(edges, name, given) for name, given in (("since", since), ("until", until))]
    if dataset.unit == WEIGHT:
        _left_out(what, k=k, group=group, since=since, until=until, worth=worth)
        planned = _length(dataset, edges, stated, what, start, end, method, level)
    elif what == _BETWEEN:
        if dataset.unit != EDGE:
            raise InvalidParameter("what", what, "left out where nodes are protected: one node may move it by too much")
        _left_out(what, k=k, start=start, end=end, worth=worth, method=None if method == "auto" else method)
        planned = _groups(dataset, edges, stated, group, period, level)
    else:
        _left_out(what, start=start, end=end, group=group)
        planned = _counted(dataset, edges, stated, what, k, method, worth, period, level)
    words, made, present = planned
    asked |= {"source": wire.encode(made.source)} | ({"ends": [str(start), str(end)]} if start is not None else {})
    asked |= {} if worth is None else {"worth": list(worth)}

    def shown(out: Any) -> bytes:
        return present(out).within(LARGEST_ANSWER).to_json().encode()

    expected = expected_error(made, stated, level)
    return Offer("graph", words, made, asked, stated, shown, QueryResult.stored, key, expected=expected)


def _priced(
    dataset: DataSet, edges: Table, what: str, k: int | None, method: str, error: Number, level: Fraction
) -> Loss:
    """Return the loss at which a count keeps an error."""
    from dither.publish.graphs.choosing import LAPLACE, loss_for_error
    from dither.publish.graphs.patterns import PATTERNS

    if what not in PATTERNS or method not in ("auto", LAPLACE) or dataset.unit != EDGE or edges.graph is None:
        rule = (
            f"left out, but for a count where edges are protected, by noise for the worst case: {', '.join(PATTERNS)}"
        )
        raise InvalidParameter("error", error, rule)
    moved = edges.graph.moved_edges(edges.nodes)
    return loss_for_error(error, level, nodes=edges.nodes, pattern=what, k=k or 0, moved=moved)


def _counted(
    dataset: DataSet,
    edges: Table,
    loss: Loss,
    what: str,
    k: int | None,
    method: str,
    worth: Sequence[int] | None,
    period: list[Value],
    level: Fraction,
) -> Planned:
    """Return a count or degrees: words, mechanism, and what makes a table of its release."""
    from dither.publish.graphs.planning import BY_NODE, HISTOGRAM, WISHES, plan_graph, source_for, words_of
    from dither.publish.graphs.presenting import present_graph

    if what not in WISHES:
        rule = f"one of {', '.join((*WISHES, _BETWEEN))}, or synthesize; with the unit weight, spanning-tree or path"
        raise InvalidParameter("what", what, rule)
    source = source_for(dataset, edges.name, what, method, since=period[0], until=period[1])
    made = plan_graph(source, loss, what, k=k, method=method, worth=worth)
    if what in (BY_NODE, HISTOGRAM):
        check_length("nodes", source.nodes, _ROW, _HEAD)
    return (
        words_of(what, k, source.table),
        made,
        lambda out: present_graph(made, out, what, k=k, confidence=level, labels=lambda: nodes_of(edges)),
    )


def _length(
    dataset: DataSet, edges: Table, loss: Loss, what: str, start: Any, end: Any, method: str, level: Fraction
) -> Planned:
    """Return a length of private weights."""
    from dither.lift.edges import EdgeWeights
    from dither.publish.graphs.further_plans import plan_weights, present_length

    source = EdgeWeights(dataset, edges.name)
    ends = [None if given is None else _number(edges, name, given) for name, given in (("start", start), ("end", end))]
    made = plan_weights(source, loss, what, start=ends[0], end=ends[1], method=method)
    words = f"a {what.replace('-', ' ')} of the graph {edges.name}"
    return words, made, lambda out: present_length(made, out, what, level)


def _groups(
    dataset: DataSet, edges: Table, loss: Loss, group: str | None, period: list[Value], level: Fraction
) -> Planned:
    """Return the numbers of edges between groups."""
    from dither.lift.edge_groups import EdgeGroups
    from dither.publish.graphs.further_plans import plan_groups, present_groups

    if group is None:
        raise InvalidParameter("group", None, "given: a column of the table of nodes")
    source = EdgeGroups(dataset, edges.name, group, *period)
    check_length("groups", len(source.groups) ** 2, _ROW, _HEAD)
    made = plan_groups(source, loss)
    return f"edges between groups of the graph {edges.name}", made, lambda out: present_groups(made, out, level)


def _left_out(what: str, **given: Any) -> None:
    """Refuse what has no meaning for a wish."""
    for name, value in given.items():
        if value is not None:
            raise InvalidParameter(name, value, f"left out for {what}")


def nodes_of(edges: Table) -> list[Any]:
    """Return the declared nodes in the order of their numbers."""
    found = edges.column(edges.graph.ends[0] if edges.graph is not None else "")
    if found.categories is not None:
        return list(found.categories)
    first = found.lower if isinstance(found.lower, int) else 0
    return list(range(first, first + edges.nodes))


def _number(edges: Table, name: str, node: Any) -> int:
    """Return the number of a declared node, given as it stands in the table, or as a text."""
    names = [str(each) for each in nodes_of(edges)]
    if str(node) not in names:
        raise InvalidParameter(name, node, f"a declared node of {edges.name}")
    return names.index(str(node))


def _moment(edges: Table, name: str, given: Moment) -> Value:
    """Return a date or time of the kind of the graph's time."""
    if given is None:
        return None
    time = None if edges.graph is None else edges.graph.time
    if time is None:
        raise InvalidParameter(name, given, "left out: the graph declares no time")
    found = cell(given, edges.column(time).kind)
    if found is None:
        raise InvalidParameter(name, given, "a date or a time, such as 2026-01-31")
    return found


def node_labels(source: GraphSource) -> list[Any]:
    """Return the declared nodes in the order of their numbers."""
    return nodes_of(source.dataset.table(source.table))


def graph_table(dataset: DataSet, table: str | None) -> str:
    """Return the name of the table of edges; refuse a data set without one."""
    found = [one.name for one in dataset.tables if one.graph is not None]
    if not found:
        raise InvalidParameter("dataset", dataset.name, "one whose schema declares a graph, with the unit edge")
    if table is not None and table.lower() != found[0].lower():
        raise InvalidParameter("table", table, f"{found[0]}, the table of edges")
    return found[0]
