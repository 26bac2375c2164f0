"""Releases of a graph as tables, with what a reader must know: made of released numbers and public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from dither.lift.lifted import Lifted
from dither.mechanisms.core.mechanism import Interval
from dither.publish.graphs.graph_ratio import RATIOS, GraphRatio
from dither.publish.graphs.ladder_count import LadderCount
from dither.publish.graphs.laplace_count import LaplaceCount
from dither.publish.graphs.local_count import LocalCount
from dither.publish.graphs.node_planning import DEGREE_SUM, count_of, notes_of
from dither.publish.graphs.patterns import EDGES, largest_count, named
from dither.publish.graphs.planning import BY_NODE, DEGREES, HISTOGRAM
from dither.publish.graphs.projected_degrees import ProjectedDegrees
from dither.publish.graphs.projected_edges import ProjectedEdges
from dither.publish.graphs.smooth_count import SmoothCount
from dither.publish.queries import QueryResult, ResultColumn

Rows: TypeAlias = list[tuple[Any, ...]]
_UNBOUNDED: Final = (
    "no interval: the noise depends on the effect of one edge on this count in this graph, which is not released"
)
_ORDERED: Final = "degrees were released in order, without their nodes, and fitted to that order; no intervals"
_EITHER_WAY: Final = "edges are directed: one that leads there and one that leads back are two"
_METHODS: Final[dict[type[Any], str]] = {
    LadderCount: "by a ladder: noise for this graph and those around it",
    LaplaceCount: "with noise for the worst graph",
    LocalCount: "by noisy local sensitivity: the width of the noise was released with it",
    SmoothCount: "with noise scaled by a smooth bound",
}


@dataclass(frozen=True)
class _Shown:
    """The table of a result, and its remarks."""

    columns: tuple[ResultColumn, ...]
    rows: Rows
    low: Rows
    high: Rows
    raw: Rows
    notes: tuple[str, ...] = ()


def present_graph(
    made: Lifted,
    out: Any,
    wish: str,
    *,
    k: int | None = None,
    confidence: Fraction,
    labels: Callable[[], Sequence[Any]],
) -> QueryResult:
    """Return what was released as a table.

    Args:
        made: the mechanism.
        out: what it released.
        wish: what was asked.
        k: of stars, k-triangles and cliques.
        confidence: of intervals.
        labels: gives the nodes in the order of their numbers.

    """
    interval = made.interval(out, confidence)
    if wish == DEGREES:
        shown = _degrees(made, out)
    elif wish == BY_NODE:
        shown = _by_node(out, interval, labels())
    elif wish == HISTOGRAM:
        shown = _histogram(out, interval)
    elif wish in RATIOS:
        shown = _ratio(made, out, interval)
    else:
        shown = _count(made, out, wish, k or 0, interval)
    return QueryResult(
        shown.columns,
        tuple(shown.rows),
        tuple(shown.low),
        tuple(shown.high),
        confidence,
        is_simultaneous=wish in (BY_NODE, HISTOGRAM),
        loss=made.loss(1),
        unit=str(made.distance),
        notes=shown.notes,
        raw=tuple(shown.raw),
    )


def _degrees(made: Lifted, out: Any) -> _Shown:
    source: Any = made.source
    if source.graph.degree is not None:
        rows: Rows = [(degree, many) for degree, many in enumerate(np.asarray(out).tolist()) if many]
    else:
        degrees, many = np.unique(np.asarray(out, dtype=np.int64), return_counts=True)
        rows = list(zip(degrees.tolist(), many.tolist(), strict=True))
    none: Rows = [(None, None)] * len(rows)
    columns = (
        ResultColumn("degree", "integer", is_key=True),
        ResultColumn("nodes", "integer", is_key=False, estimand="how many nodes have about this degree"),
    )
    return _Shown(columns, rows, none, none, rows, (_ORDERED, *_projected(made), *notes_of(made.method, out)))


def _by_node(out: Any, interval: Interval | None, nodes: Sequence[Any]) -> _Shown:
    kind = "text" if nodes and isinstance(nodes[0], str) else "integer"
    columns = (
        ResultColumn("node", kind, is_key=True),
        ResultColumn("degree", "integer", is_key=False, estimand="the number of edges at the node"),
    )
    return _keyed(columns, nodes, out, interval, len(nodes) - 1)


def _histogram(out: Any, interval: Interval | None) -> _Shown:
    cells = len(np.asarray(out))
    columns = (
        ResultColumn("degree", "integer", is_key=True),
        ResultColumn("nodes", "integer", is_key=False, estimand="how many nodes have this degree"),
    )
    return _keyed(columns, range(cells), out, interval, cells)


def _keyed(
    columns: tuple[ResultColumn, ...], keys: Sequence[Any], out: Any, interval: Interval | None, most: int
) -> _Shown:
    """Return a number for every key, between 0 and a public bound."""
    raw: Rows = list(zip(keys, np.asarray(out).tolist(), strict=True))
    rows: Rows = [(key, min(max(number, 0), most)) for key, number in raw]
    ends = (None, None) if interval is None else (interval.low, interval.high)
    low, high = ([(None, _inside(end, most)) for end in np.asarray(side).tolist()] for side in ends)
    return _Shown(columns, rows, low, high, raw)


def _ratio(made: Lifted, out: Any, interval: Interval | None) -> _Shown:
    method: Any = made.method
    if not isinstance(method, GraphRatio):
        raise TypeError("a ratio is released by the method for ratios")
    value = float(method.value(out))
    column = ResultColumn(method.ratio, "real", is_key=False, estimand=f"the {method.ratio} of the graph")
    parts = ", ".join(
        f"{named(part.pattern, part.k)} {int(row[0]):,}" for part, row in zip(method.parts, out, strict=True)
    )
    notes: tuple[str, ...] = (f"made of released counts: {parts}",)
    if interval is None:
        notes += ("no interval without a delta: the widths of the counts' noise are not released",)
        return _Shown((column,), [(value,)], [(None,)], [(None,)], [(value,)], notes)
    return _Shown((column,), [(value,)], [(interval.low,)], [(interval.high,)], [(value,)], notes)


def _count(made: Lifted, out: Any, wish: str, k: int, interval: Interval | None) -> _Shown:
    source: Any = made.source
    method: Any = made.method
    if wish == DEGREE_SUM:
        most, estimand = source.nodes * method.worth[-1], "what the degrees of all nodes are worth, added up"
    else:
        most = largest_count(source.nodes, wish, k) * (2 if source.graph.directed else 1)
        estimand = f"the number of {named(wish, k)} in the graph"
    drawn = out[0] if isinstance(made.method, LocalCount) else count_of(made.method, out)
    value = round(float(drawn)) if isinstance(drawn, float) else int(drawn)
    column = ResultColumn(wish.replace("-", "_"), "integer", is_key=False, estimand=estimand)
    shown = min(max(value, 0), most)
    said = notes_of(made.method, out)
    notes = (*_joined(made), *_projected(made), *(said or _explained(made, wish, shown, interval)))
    low: Rows = [(None,)]
    high: Rows = [(None,)]
    if interval is not None:
        low, high = ([(_inside(end, most),)] for end in (interval.low, interval.high))
    return _Shown((column,), [(shown,)], low, high, [(value,)], notes)


def _explained(made: Lifted, wish: str, value: int, interval: Interval | None) -> tuple[str, ...]:
    """Return how a count was released, and how far it may be off beside itself."""
    if interval is None:
        return (_METHODS[type(made.method)], _UNBOUNDED) if type(made.method) in _METHODS else (_UNBOUNDED,)
    if wish == EDGES or type(made.method) not in _METHODS:
        return ()
    half = (float(interval.high) - float(interval.low)) / 2
    off = f"off by up to {100 * half / value:.2g} %" if value > 0 else "of unknown relative error"
    return (f"{_METHODS[type(made.method)]}; {off} at this confidence",)


def _joined(made: Lifted) -> tuple[str, ...]:
    """Return what the number of edges means where they are directed."""
    source: Any = made.source
    return (_EITHER_WAY,) if source.graph.directed else ()


def _projected(made: Lifted) -> tuple[str, ...]:
    """Return what a projection means for a reader."""
    method: Any = made.method
    if not isinstance(method, ProjectedEdges | ProjectedDegrees):
        return ()
    return (f"of a node at most {method.degree} edges count, chosen by a public hash; others are cut off",)


def _inside(end: Any, most: int) -> int:
    """Return an end of an interval, where a count can lie."""
    return min(max(int(end), 0), most)
