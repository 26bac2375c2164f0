"""Releases of a declared graph: planned from public facts, presented as tables. Nothing here reads edges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.lift.edges import Edges
from dither.lift.lifted import Lifted
from dither.privacy import ApproxDP, Loss, PureDP
from dither.publish.graphs.degree_sequence import DegreeSequence
from dither.publish.graphs.degree_vector import DegreeVector
from dither.publish.graphs.ladder_count import LadderCount
from dither.publish.graphs.laplace_count import LaplaceCount
from dither.publish.graphs.node_planning import check_node_wish, count_of, node_method, notes_of
from dither.publish.graphs.patterns import EDGES, PATTERNS, check_pattern, largest_count, named
from dither.publish.graphs.projected_degrees import ProjectedDegrees
from dither.publish.graphs.projected_edges import ProjectedEdges
from dither.publish.graphs.smooth_count import SmoothCount
from dither.publish.queries import QueryResult, ResultColumn

#: What may be asked of a graph.
DEGREES, BY_NODE = "degrees", "degrees-by-node"
WISHES: Final = (*PATTERNS, DEGREES, BY_NODE)
METHODS: Final = ("auto", "laplace", "ladder", "smooth")
_KINDS: Final[dict[str, type[Any]]] = {"laplace": LaplaceCount, "ladder": LadderCount, "smooth": SmoothCount}
_UNBOUNDED: Final = (
    "no interval: the noise follows how far one edge moves this count in this graph, and that is not released"
)
_ORDERED: Final = "degrees were released in order, without their nodes, and fitted to that order; no intervals"

_EITHER_WAY: Final = "edges are directed: one that leads there and one that leads back are two"


def plan_graph(source: Edges, loss: Loss, wish: str, *, k: int | None = None, method: str = "auto") -> Lifted:
    """Return the release of something about a graph.

    Args:
        source: its edges.
        loss: what it may lose.
        wish: one of ``WISHES``.
        k: of stars and k-triangles.
        method: for counts; "auto" takes the ladder, and for edges noise for the worst case, which is 1. Where nodes are
            protected "auto" chooses a bound privately; others are "projection", "flow" and "race".

    """
    if wish not in WISHES:
        raise InvalidParameter("what", wish, f"one of {', '.join(WISHES)}")
    degree = source.graph.degree
    if degree is not None:
        check_node_wish(wish, method)
    elif method not in METHODS:
        raise InvalidParameter("method", method, f"one of {', '.join(METHODS)}")
    if wish in PATTERNS:
        check_pattern(wish, 0 if k is None else k)
    elif k is not None or (method != "auto" and degree is None):
        raise InvalidParameter("k" if k is not None else "method", k if k is not None else method, f"left out: {wish}")

    def build(within: Loss) -> Any:
        if degree is not None:
            return node_method(within, source, degree, wish, k or 0, method)
        if wish == DEGREES:
            return DegreeSequence.calibrated(within, nodes=source.nodes)
        if wish == BY_NODE:
            return DegreeVector.calibrated(within, nodes=source.nodes)
        chosen = ("laplace" if wish == EDGES else "ladder") if method == "auto" else method
        # Other methods and patterns have no directions, and are refused with the source.
        ways = {"directed": True} if source.graph.directed and wish == EDGES and chosen == "laplace" else {}
        return _KINDS[chosen].calibrated(within, nodes=source.nodes, pattern=wish, k=0 if k is None else k, **ways)

    made = [Lifted.calibrated(within, source=source, build=build) for within in _ways(loss, method)]
    # The one with less noise; at an equal amount what was stated.
    return min(made, key=_width)


def _ways(loss: Loss, method: str) -> list[Loss]:
    """Return the losses that stay within the stated one: as it is, and without its delta."""
    is_split = isinstance(loss, ApproxDP) and bool(loss.delta) and method != "smooth"
    return [loss, PureDP(loss.epsilon)] if is_split and isinstance(loss, ApproxDP) else [loss]


def _width(made: Lifted) -> Fraction:
    """Return how wide the noise is, as far as that is public: half the variance, or the scale of a ladder squared."""
    method: Any = made.method
    noise = getattr(method, "noise", None) or getattr(method, "node", method)
    if hasattr(noise, "sigma"):
        return Fraction(noise.sigma) ** 2 / 2
    return Fraction(noise.scale) ** 2


def words_of(wish: str, k: int | None, table: str) -> str:
    """Return what would be released, in one line."""
    what = named(wish, k or 0) if wish in PATTERNS else wish.replace("-", " ")
    return f"{what} of the graph {table}"


def present_graph(
    made: Lifted, out: Any, wish: str, *, k: int | None = None, confidence: Fraction, labels: Any
) -> QueryResult:
    """Return what was released as a table.

    Args:
        made: the mechanism.
        out: what it released.
        wish: what was asked.
        k: of stars and k-triangles.
        confidence: of intervals.
        labels: gives the nodes in the order of their numbers.

    """
    interval = made.interval(out, confidence)
    source: Any = made.source
    rows: list[tuple[Any, ...]]
    low: list[tuple[Any, ...]]
    high: list[tuple[Any, ...]]
    columns: tuple[ResultColumn, ...]
    notes: tuple[str, ...] = ()
    if wish == DEGREES:
        if source.graph.degree is not None:
            rows = [(degree, many) for degree, many in enumerate(np.asarray(out).tolist()) if many]
        else:
            degrees, many = np.unique(np.asarray(out, dtype=np.int64), return_counts=True)
            rows = list(zip(degrees.tolist(), many.tolist(), strict=True))
        low = high = [(None, None)] * len(rows)
        columns = (
            ResultColumn("degree", "integer", is_key=True),
            ResultColumn("nodes", "integer", is_key=False, estimand="how many nodes have about this degree"),
        )
        raw, notes = rows, (_ORDERED, *_projected(made), *notes_of(made.method, out))
    elif wish == BY_NODE:
        nodes, flat = labels(), np.asarray(out).tolist()
        most = len(nodes) - 1
        raw = list(zip(nodes, flat, strict=True))
        rows = [(node, min(max(degree, 0), most)) for node, degree in raw]
        ends = (None, None) if interval is None else (interval.low, interval.high)
        low, high = ([(None, _inside(end, most)) for end in np.asarray(side).tolist()] for side in ends)
        kind = "text" if nodes and isinstance(nodes[0], str) else "integer"
        columns = (
            ResultColumn("node", kind, is_key=True),
            ResultColumn("degree", "integer", is_key=False, estimand="the number of edges at the node"),
        )
    else:
        most = largest_count(source.nodes, wish, k or 0) * (2 if source.graph.directed else 1)
        count = count_of(made.method, out)
        value = round(float(count)) if isinstance(count, float) else int(count)
        name = named(wish, k or 0)
        columns = (
            ResultColumn(
                wish.replace("-", "_"), "integer", is_key=False, estimand=f"the number of {name} in the graph"
            ),
        )
        raw, rows = [(value,)], [(min(max(value, 0), most),)]
        low, high = [(None,)], [(None,)]
        notes = (*_joined(made), *_projected(made))
        if interval is None:
            notes = notes_of(made.method, out) or (_UNBOUNDED,)
        else:
            low, high = ([(_inside(end, most),)] for end in (interval.low, interval.high))
    return QueryResult(
        columns,
        tuple(rows),
        tuple(low),
        tuple(high),
        confidence,
        is_simultaneous=wish == BY_NODE,
        loss=made.loss(1),
        unit=str(made.distance),
        notes=notes,
        raw=tuple(raw),
    )


def _joined(made: Lifted) -> tuple[str, ...]:
    """Return what the number of edges means where they are directed."""
    source: Any = made.source
    return (_EITHER_WAY,) if source.graph.directed else ()


def _projected(made: Lifted) -> tuple[str, ...]:
    """Return what a projection means for a reader."""
    method: Any = made.method
    if not isinstance(method, ProjectedEdges | ProjectedDegrees):
        return ()
    return (f"of a node at most {method.degree} edges count, chosen by a public hash: further ones are left out",)


def _inside(end: Any, most: int) -> int:
    """Return an end of an interval, where a count can lie."""
    return min(max(int(end), 0), most)
