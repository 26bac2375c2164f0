"""Verbs about a declared graph: counts of patterns, degrees, ratios, edges between groups, lengths, synthetic edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Final, Unpack

from dither.data import wire
from dither.data.evaluation import cell
from dither.data.expressions import Value
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter
from dither.exact import Number, whole
from dither.lift.lifted import Lifted
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.lift.verb import LOSSES, About, Arg, M, Measured, Terms, level_of, loss_of, verb
from dither.privacy import EDGE, WEIGHT, Loss
from dither.publish.queries import QueryResult
from dither.verbs.arguments import Moment, integers

#: The longest row of a table of degrees: a name, a degree and its ends, in bytes.
_ROW, _HEAD = 2**11, 2**16
#: Bytes of a stored edge beside its two names, of a letter of a name, and the letters of a node that is a number.
_EDGE, _LETTER, _NUMBER = 64, 12, 20
_COUNTING: Final = ("auto", "ladder", "smooth", "laplace", "noisy-local", "truncated")
_OF_NODES: Final = ("projection", "flow", "race", "recursive", "programmes", "quick")
_SYNTHESIS: Final = (
    *("auto", "clustered", "top-edges", "joint-degrees", "communities", "degrees", "densities", "kronecker"),
    "hierarchy",
)

Since = Annotated[Moment, Arg("count only edges of this date or time or a later one, in ISO 8601")]
Until = Annotated[Moment, Arg("count only edges of an earlier date or time, in ISO 8601")]
CountMethod = Annotated[
    str,
    Arg(
        "auto, ladder, smooth or laplace; with a delta also noisy-local (an interval) and truncated (a public bound "
        "on the error); where nodes are protected projection, flow, race, recursive, programmes or quick",
        choices=(*_COUNTING, *_OF_NODES),
        default="auto",
    ),
]
DegreeMethod = Annotated[str, Arg("auto; where nodes are protected also projection", choices=("auto", "projection"))]
Error = Annotated[
    Number | None,
    Arg("in place of a loss: the largest absolute error, at the confidence level, by noise for the worst case"),
]
Stars = Annotated[int, Arg("the neighbours of a star: 2 or more")]
Over = Annotated[int, Arg("the nodes over the edge of a k-triangle: 2 or more")]
Clique = Annotated[int, Arg("the nodes of a clique: 3 or more")]
Worth = Annotated[
    Sequence[int],
    Arg(
        "what a node of degree 1, 2, 3, ... counts, for example 1,2,3: integers that never fall, the last one for "
        "all higher degrees",
        read=integers,
        metavar="N,N,...",
        schema={"type": "array", "items": {"type": "integer"}},
    ),
]
GroupColumn = Annotated[str, Arg("a column of the table of nodes")]
Start = Annotated[Any, Arg("the node where the path begins", schema={"type": ["string", "integer"]})]
End = Annotated[Any, Arg("the node where the path ends", schema={"type": ["string", "integer"]})]
TreeMethod = Annotated[str, Arg("auto, laplace or ladder", choices=("auto", "laplace", "ladder"))]
PathMethod = Annotated[str, Arg("auto or laplace", choices=("auto", "laplace"))]
Synthesis = Annotated[str, Arg("auto (chosen by public facts), or one of the methods", choices=_SYNTHESIS)]
MostEdges = Annotated[int | None, Arg("the largest number of synthetic edges, if fewer than the schema allows")]


class Period(Measured, total=False):
    """Arguments of answers about the edges of a period."""

    since: Since
    until: Until


class Counting(Period, total=False):
    """Arguments of a count of a pattern."""

    method: CountMethod
    error: Error


@dataclass(frozen=True)
class GraphTable:
    """A data set and its table of edges."""

    dataset: DataSet
    table: Table

    @classmethod
    def of(cls, dataset: DataSet, table: str | None) -> GraphTable:
        """Return the table of edges; refuse a data set without one."""
        found = [one for one in dataset.tables if one.graph is not None]
        if not found:
            raise InvalidParameter("dataset", dataset.name, "one whose schema declares a graph, with the unit edge")
        if table is not None and table.lower() != found[0].name.lower():
            raise InvalidParameter("table", table, f"{found[0].name}, the table of edges")
        return cls(dataset, found[0])

    def period(self, terms: Period) -> tuple[Value, Value]:
        """Return the first and the last moment whose edges count."""
        return self._moment("since", terms.get("since")), self._moment("until", terms.get("until"))

    def _moment(self, name: str, given: Moment) -> Value:
        """Return a date or time of the kind of the graph's time."""
        if given is None:
            return None
        time = None if self.table.graph is None else self.table.graph.time
        if time is None:
            raise InvalidParameter(name, given, "not allowed: the graph declares no time")
        found = cell(given, self.table.column(time).kind)
        if found is None:
            raise InvalidParameter(name, given, "a date or a time, such as 2026-01-31")
        return found

    def number(self, name: str, node: Any) -> int:
        """Return the number of a declared node, which is named as in the table or as a string."""
        known = [str(each) for each in nodes_of(self.table)]
        if str(node) not in known:
            raise InvalidParameter(name, node, f"a declared node of {self.table.name}")
        return known.index(str(node))


class Graph(About[M]):
    """Counts, degrees and lengths of a declared graph: ``session.graph("friends").triangles(epsilon=1)``."""

    kind = "graph"

    @staticmethod
    def find(dataset: DataSet, table: str | None) -> GraphTable:
        """Return the graph of a data set."""
        return GraphTable.of(dataset, table)

    @verb
    @staticmethod
    def edges(graph: GraphTable, **terms: Unpack[Counting]) -> Offer[QueryResult]:
        """Release the number of edges."""
        return _pattern(graph, "edges", terms)

    @verb
    @staticmethod
    def triangles(graph: GraphTable, **terms: Unpack[Counting]) -> Offer[QueryResult]:
        """Release the number of triangles: three nodes that all know each other."""
        return _pattern(graph, "triangles", terms)

    @verb
    @staticmethod
    def stars(graph: GraphTable, k: Stars, **terms: Unpack[Counting]) -> Offer[QueryResult]:
        """Release the number of k-stars: a node and k of its neighbours."""
        return _pattern(graph, "stars", terms, k=k)

    @verb
    @staticmethod
    def k_triangles(graph: GraphTable, k: Over, **terms: Unpack[Counting]) -> Offer[QueryResult]:
        """Release the number of k-triangles: an edge and k nodes that are joined to both of its ends."""
        return _pattern(graph, "k-triangles", terms, k=k)

    @verb
    @staticmethod
    def cliques(graph: GraphTable, k: Clique, **terms: Unpack[Counting]) -> Offer[QueryResult]:
        """Release the number of k-cliques: k nodes that all know each other."""
        return _pattern(graph, "cliques", terms, k=k)

    @verb
    @staticmethod
    def clustering(graph: GraphTable, **terms: Unpack[Period]) -> Offer[QueryResult]:
        """Release the share of the pairs of neighbours of a node that know each other; with a delta, an interval."""
        return _counted(graph, "clustering", terms)

    @verb
    @staticmethod
    def assortativity(graph: GraphTable, **terms: Unpack[Period]) -> Offer[QueryResult]:
        """Release how the degrees at the two ends of an edge are correlated; with a delta, an interval."""
        return _counted(graph, "assortativity", terms)

    @verb
    @staticmethod
    def degrees(graph: GraphTable, *, method: DegreeMethod = "auto", **terms: Unpack[Period]) -> Offer[QueryResult]:
        """Release how many nodes have which degree, fitted."""
        return _counted(graph, "degrees", terms, method=method)

    @verb
    @staticmethod
    def degree_histogram(graph: GraphTable, **terms: Unpack[Period]) -> Offer[QueryResult]:
        """Release how many nodes have each degree, with an interval for each; ``degrees`` has a smaller error."""
        return _counted(graph, "degree-histogram", terms)

    @verb
    @staticmethod
    def degrees_by_node(graph: GraphTable, **terms: Unpack[Period]) -> Offer[QueryResult]:
        """Release the degree of every node."""
        return _counted(graph, "degrees-by-node", terms)

    @verb
    @staticmethod
    def degree_sum(graph: GraphTable, worth: Worth, **terms: Unpack[Period]) -> Offer[QueryResult]:
        """Release the sum of a function of the degrees of all nodes; where nodes are protected.

        ``degree_sum((1,))`` counts the nodes that have an edge; ``degree_sum((1, 2, 3))`` at most three edges of each.
        """
        return _counted(graph, "degree-sum", terms, worth=worth)

    @verb
    @staticmethod
    def edges_between(graph: GraphTable, group: GroupColumn, **terms: Unpack[Period]) -> Offer[QueryResult]:
        """Release how many edges there are between any two groups of nodes, by a column of the table of nodes."""
        from dither.lift.edge_groups import EdgeGroups
        from dither.publish.graphs.further_plans import plan_groups, present_groups

        if graph.dataset.unit != EDGE:
            rule = "edge: where nodes are protected, one node may move the counts by too much"
            raise InvalidParameter("unit", str(graph.dataset.unit), rule)
        stated, level = loss_of(terms), level_of(terms)
        source = EdgeGroups(graph.dataset, graph.table.name, group, *graph.period(terms))
        check_length("groups", len(source.groups) ** 2, _ROW, _HEAD)
        made = plan_groups(source, stated)
        words = f"edges between groups of the graph {graph.table.name}"
        asked = _asked("edges-between", made, level)
        return _offer(words, made, asked, stated, level, lambda out: present_groups(made, out, level))

    @verb
    @staticmethod
    def spanning_tree(
        graph: GraphTable, *, method: TreeMethod = "auto", **terms: Unpack[Measured]
    ) -> Offer[QueryResult]:
        """Release the cost of a minimum spanning tree, where the unit is a weight."""
        return _length(graph, "spanning-tree", method, terms)

    @verb
    @staticmethod
    def path(
        graph: GraphTable, start: Start, end: End, *, method: PathMethod = "auto", **terms: Unpack[Measured]
    ) -> Offer[QueryResult]:
        """Release the length of a shortest path between two nodes, where the unit is a weight."""
        return _length(graph, "path", method, terms, (start, end))

    @verb(doing="drawing")
    @staticmethod
    def synthesize(
        graph: GraphTable, *, method: Synthesis = "auto", most: MostEdges = None, **terms: Unpack[Terms]
    ) -> Offer[QueryResult]:
        """Release synthetic edges: a table with the columns of the graph, on the declared nodes."""
        from dither.lift.edges import Edges
        from dither.publish.graphs.synthesis.planning import plan_synthesis, present_synthesis

        stated = loss_of(terms)
        source = Edges(graph.dataset, graph.table.name)
        # What a ledger stores is limited, and with it the synthetic edges: by public facts.
        known = nodes_of(graph.table)
        longest = max((len(name) for name in known if isinstance(name, str)), default=_NUMBER)
        limit = (LARGEST_ANSWER - _HEAD) // (_EDGE + 2 * _LETTER * longest)
        wanted = limit if most is None else min(whole("most", most, least=1), limit)
        made = plan_synthesis(source, stated, method=method, most=wanted)
        asked = {"source": wire.encode(source), "method": method, "most": most}

        def present(out: Any) -> bytes:
            shown = present_synthesis(made, out, confidence=Fraction(19, 20), labels=lambda: known)
            return shown.within(LARGEST_ANSWER).to_json().encode()

        words = f"a synthetic graph like {source.table}"
        expected = "not known before: how near a synthetic graph comes follows from the private one"
        return Offer("graph", words, made, asked, stated, present, QueryResult.stored, expected=expected)


def _pattern(graph: GraphTable, what: str, terms: Counting, *, k: int | None = None) -> Offer[QueryResult]:
    """Return the offer of a count of a pattern, at a stated loss or for a stated error."""
    method, error = terms.get("method", "auto"), terms.get("error")
    if error is None:
        return _counted(graph, what, terms, k=k, method=method)
    return _counted(graph, what, terms, k=k, method="laplace", stated=_priced(graph, what, k, method, error, terms))


def _counted(
    graph: GraphTable,
    what: str,
    terms: Period,
    *,
    k: int | None = None,
    worth: Sequence[int] | None = None,
    method: str = "auto",
    stated: Loss | None = None,
) -> Offer[QueryResult]:
    """Return the offer of a count, a ratio or degrees."""
    from dither.publish.graphs.planning import BY_NODE, HISTOGRAM, plan_graph, source_for, words_of
    from dither.publish.graphs.presenting import present_graph

    stated, level = loss_of(terms) if stated is None else stated, level_of(terms)
    if graph.dataset.unit == WEIGHT:
        rule = f"edge or node for {what.replace('-', '_')}: of weights, spanning_tree and path are released"
        raise InvalidParameter("unit", str(graph.dataset.unit), rule)
    since, until = graph.period(terms)
    source = source_for(graph.dataset, graph.table.name, what, method, since=since, until=until)
    made = plan_graph(source, stated, what, k=k, method=method, worth=worth)
    if what in (BY_NODE, HISTOGRAM):
        check_length("nodes", source.nodes, _ROW, _HEAD)
    asked = _asked(what, made, level, k=k, method=method) | ({} if worth is None else {"worth": list(worth)})
    table = graph.table

    def shown(out: Any) -> QueryResult:
        return present_graph(made, out, what, k=k, confidence=level, labels=lambda: nodes_of(table))

    return _offer(words_of(what, k, source.table), made, asked, stated, level, shown)


def _length(
    graph: GraphTable, what: str, method: str, terms: Measured, ends: tuple[Any, Any] | None = None
) -> Offer[QueryResult]:
    """Return the offer of a length of private weights."""
    from dither.lift.edges import EdgeWeights
    from dither.publish.graphs.further_plans import plan_weights, present_length

    stated, level = loss_of(terms), level_of(terms)
    if graph.dataset.unit != WEIGHT:
        rule = f"weight for {what.replace('-', '_')}: where edges or nodes are protected, lengths are not released"
        raise InvalidParameter("unit", str(graph.dataset.unit), rule)
    source = EdgeWeights(graph.dataset, graph.table.name)
    named = (
        [None, None]
        if ends is None
        else [graph.number(name, end) for name, end in zip(("start", "end"), ends, strict=True)]
    )
    made = plan_weights(source, stated, what, start=named[0], end=named[1], method=method)
    asked = _asked(what, made, level, method=method)
    asked |= {} if ends is None else {"ends": [str(end) for end in ends]}
    words = f"a {what.replace('-', ' ')} of the graph {graph.table.name}"
    return _offer(words, made, asked, stated, level, lambda out: present_length(made, out, what, level))


def _asked(what: str, made: Lifted, level: Fraction, *, k: int | None = None, method: str = "auto") -> dict[str, Any]:
    """Return what decides a release, as requests have it since before these verbs had names of their own."""
    asked = {"what": what, "k": k, "method": method, "confidence": str(level)}
    return {**asked, "source": wire.encode(made.source)}


def _offer(
    words: str,
    made: Lifted,
    asked: dict[str, Any],
    stated: Loss,
    level: Fraction,
    shown: Callable[[Any], QueryResult],
) -> Offer[QueryResult]:
    from dither.publish.graphs.expecting import expected_error

    def present(out: Any) -> bytes:
        return shown(out).within(LARGEST_ANSWER).to_json().encode()

    expected = expected_error(made, stated, level)
    return Offer("graph", words, made, asked, stated, present, QueryResult.stored, expected=expected)


def _priced(graph: GraphTable, what: str, k: int | None, method: str, error: Number, terms: Counting) -> Loss:
    """Return the loss at which a count keeps an error."""
    from dither.publish.graphs.choosing import LAPLACE, loss_for_error

    for name in LOSSES:
        if terms.get(name) is not None:
            raise InvalidParameter(name, terms.get(name), "not allowed with a stated error")
    about = graph.table.graph
    if method not in ("auto", LAPLACE) or graph.dataset.unit != EDGE or about is None:
        rule = "not allowed: it is only supported for edge-private counts with Laplace noise"
        raise InvalidParameter("error", error, rule)
    moved = about.moved_edges(graph.table.nodes)
    return loss_for_error(error, level_of(terms), nodes=graph.table.nodes, pattern=what, k=k or 0, moved=moved)


def nodes_of(edges: Table) -> list[Any]:
    """Return the declared nodes in the order of their numbers."""
    found = edges.column(edges.graph.ends[0] if edges.graph is not None else "")
    if found.categories is not None:
        return list(found.categories)
    first = found.lower if isinstance(found.lower, int) else 0
    return list(range(first, first + edges.nodes))
