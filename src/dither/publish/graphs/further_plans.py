"""Releases of graphs with more than edges: lengths of private weights, and edges between groups of public nodes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.lift.edge_groups import EdgeGroups
from dither.lift.edges import EdgeWeights
from dither.lift.lifted import Lifted
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss
from dither.publish.graphs.choosing import LADDER, LAPLACE, ladder_median
from dither.publish.graphs.planning import least_noise
from dither.publish.graphs.spanning_tree import SpanningTreeCost
from dither.publish.graphs.weighted_length import LENGTHS, PATH, TREE, WeightedLength
from dither.publish.queries import QueryResult, ResultColumn

#: What may be asked of weights, and of edges between groups.
WEIGHT_WISHES: Final = LENGTHS
BETWEEN: Final = "edges-between"
#: The median size of a normal variable of deviation 1.
_NORMAL_MEDIAN: Final = 0.67449
#: A ladder has no interval: it is taken where its error is below this share of that of noise which has one.
_CLEARLY: Final = 0.9


def plan_weights(
    source: EdgeWeights, loss: Loss, wish: str, *, start: int | None, end: int | None, method: str = "auto"
) -> Lifted:
    """Return the release of a length in a graph whose weights are private.

    Args:
        source: its edges and weights.
        loss: what it may lose.
        wish: "spanning-tree" or "path".
        start: the number of the node where a path begins.
        end: that of the node where it ends.
        method: "laplace", for a tree also "ladder", or "auto": the one whose error in the worst graph is smaller, since
            how far one weight moves the cost in this graph is private.

    """
    if wish not in LENGTHS:
        raise InvalidParameter("what", wish, f"one of {', '.join(LENGTHS)}, where the unit is a weight")
    for name, given in (("start", start), ("end", end)):
        if (wish == PATH) != (given is not None):
            raise InvalidParameter(name, given, "required for a path, and not allowed otherwise")
    if method not in ("auto", LAPLACE, *([LADDER] if wish == TREE else [])):
        raise InvalidParameter("method", method, "auto, laplace, or for a spanning tree ladder")
    low, high = source.bounds
    facts: dict[str, Any] = {"nodes": source.nodes, "low": low, "high": high}

    def by_ladder(within: Loss) -> Any:
        return SpanningTreeCost.calibrated(within, **facts)

    def plainly(within: Loss) -> Any:
        return WeightedLength.calibrated(within, **facts, what=wish, start=start or 0, end=end or 0)

    if method == LADDER:
        return least_noise(loss, source, by_ladder)
    plain = least_noise(loss, source, plainly)
    if method == LAPLACE or wish != TREE:
        return plain
    ladder = least_noise(loss, source, by_ladder)
    return ladder if _worst_median(ladder) < _CLEARLY * _worst_median(plain) else plain


def _worst_median(made: Lifted) -> float:
    """Return the median error in the graph for which it is largest: a public number."""
    method: Any = made.method
    if isinstance(method, SpanningTreeCost):
        return ladder_median(method.span, method.span, float(2 / method.scale))
    noise = method.noise
    # The median of a large integer that is drawn stands between integers: that of the law over the reals serves both.
    return math.log(2) * float(noise.scale) if isinstance(noise, Geometric) else _NORMAL_MEDIAN * float(noise.sigma)


def plan_groups(source: EdgeGroups, loss: Loss) -> Lifted:
    """Return the release of the numbers of edges between groups: one edge moves one of them by 1.

    Args:
        source: the groups.
        loss: what it may lose.

    """
    return least_noise(loss, source, lambda within: replace(Purse.within(within).noise(1), shape=source.shape))


def present_length(made: Lifted, out: Any, wish: str, confidence: Fraction) -> QueryResult:
    """Return a released length as a table of one number.

    Args:
        made: the mechanism.
        out: what it released.
        wish: what was asked.
        confidence: of the interval, where there is one.

    """
    interval = made.interval(out, confidence)
    said = "the cost of a minimum spanning tree" if wish == TREE else "the length of a shortest path"
    column = ResultColumn("cost" if wish == TREE else "length", "integer", is_key=False, estimand=said)
    ends = (None, None) if interval is None else (int(interval.low), int(interval.high))
    notes: tuple[str, ...] = ("single weights are protected; which edges there are is not",)
    if interval is None:
        notes += ("no interval: the noise depends on the effect of one weight on this cost, which is not released",)
    rows = ((int(out),),)
    return QueryResult(
        (column,),
        rows,
        ((ends[0],),),
        ((ends[1],),),
        confidence,
        is_simultaneous=False,
        loss=made.loss(1),
        unit=str(made.distance),
        notes=notes,
        raw=rows,
    )


def present_groups(made: Lifted, out: Any, confidence: Fraction) -> QueryResult:
    """Return the released numbers of edges between groups, one row for each two groups.

    Args:
        made: the mechanism.
        out: what it released.
        confidence: of the intervals, which hold for all at once.

    """
    source: Any = made.source
    interval = made.interval(out, confidence)
    values = np.asarray(out)
    low, high = (values, values) if interval is None else (np.asarray(interval.low), np.asarray(interval.high))
    places = [
        (i, j) for i in range(len(source.groups)) for j in range(0 if source.graph.directed else i, len(source.groups))
    ]
    keys = [(source.groups[i], source.groups[j]) for i, j in places]
    kind = "text" if isinstance(source.groups[0], str) else "integer"
    columns = (
        ResultColumn("one", kind, is_key=True),
        ResultColumn("other", kind, is_key=True),
        ResultColumn("edges", "integer", is_key=False, estimand="the number of edges between the two groups"),
    )
    raw = tuple((*key, int(values[place])) for key, place in zip(keys, places, strict=True))
    return QueryResult(
        columns,
        tuple((*row[:2], max(row[2], 0)) for row in raw),
        tuple((None, None, max(int(low[place]), 0)) for place in places),
        tuple((None, None, max(int(high[place]), 0)) for place in places),
        confidence,
        is_simultaneous=True,
        loss=made.loss(1),
        unit=str(made.distance),
        notes=(),
        raw=raw,
    )
