"""Clustering and assortativity of a graph, from counts that are released beside them.

A ratio of counts has no useful sensitivity, its parts have. With a delta every part has a released width, and the ratio
an interval; under a pure epsilon parts are ladders, whose widths stay private, and there is none. Cost: that of the
parts, which share the loss evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.data.graphs import MOST_NODES
from dither.errors import InvalidParameter
from dither.exact import Number, Of, OneOf, TupleOf, Whole, probability
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.privacy import EDGE, ApproxDP, InOrder, Loss, Plan, Unit, Use
from dither.privacy.calibration import plain_approx
from dither.privacy.losses import states_rho
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.ladder_count import LadderCount
from dither.publish.graphs.laplace_count import LaplaceCount
from dither.publish.graphs.local_count import LocalCount
from dither.publish.graphs.measures import degree_correlation, transitivity
from dither.publish.graphs.patterns import EDGES, PRODUCTS, STARS, TRIANGLES, PatternCount

CLUSTERING, ASSORTATIVITY = RATIOS = ("clustering", "assortativity")
#: The counts each ratio is made of.
_PARTS: Final = {
    CLUSTERING: ((TRIANGLES, 0), (STARS, 2)),
    ASSORTATIVITY: ((EDGES, 0), (STARS, 2), (STARS, 3), (PRODUCTS, 0)),
}


def _examples() -> Iterator[Example]:
    for ratio, within in ((CLUSTERING, ApproxDP(1, "1/1000")), (ASSORTATIVITY, ApproxDP(2, 0))):
        yield Example(GraphRatio.calibrated(within, nodes=NODES, ratio=ratio), SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 9.2, for the counts; Assortative Mixing "
    "in Networks (Newman 2002)",
)
@dataclass(frozen=True, kw_only=True)
class GraphRatio(Composed[Any, Any]):
    """Release the clustering or the assortativity of a graph, and the counts it is made of.

    Guarantee: graphs ``d_in`` edges apart lose the sum of what the parts lose.

    Args:
        nodes: their number; public.
        ratio: "clustering", 3 triangles over 2-stars, or "assortativity", the correlation of degrees along edges.
        parts: the counts of that ratio: triangles and 2-stars; or edges, 2-stars, 3-stars and products of degrees.

    >>> from dither.privacy import PureDP
    >>> GraphRatio.calibrated(PureDP(1), nodes=100, ratio="clustering").loss(1)
    PureDP('1', rho='1/16')

    """

    name: ClassVar[str] = "graph-ratio"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the error of a ratio depends on the counts it is made of"
    no_interval_because: ClassVar[str] = "without a delta the widths of the counts' noise are private"

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    ratio: OneOf = OneOf(*RATIOS)
    parts: TupleOf = TupleOf(Of(LaplaceCount, LadderCount, LocalCount), rule="the counts of the ratio, in order")

    def __post_init__(self) -> None:
        made: tuple[PatternCount, ...] = self.parts
        if tuple((part.pattern, part.k) for part in made) != _PARTS[self.ratio]:
            raise InvalidParameter("parts", [part.pattern for part in made], f"the counts of {self.ratio}, in order")
        if any(part.nodes != self.nodes or part.takes_directed for part in made):
            raise InvalidParameter("parts", [part.nodes for part in made], f"undirected, for {self.nodes} nodes")

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, ratio: str) -> Self:
        """Return counts with intervals where there is a delta, and ladders else; the loss is shared evenly.

        Args:
            within: what graphs one edge apart may lose.
            nodes: their number.
            ratio: clustering or assortativity.

        """
        if ratio not in RATIOS:
            raise InvalidParameter("ratio", ratio, f"one of {', '.join(RATIOS)}")
        wanted = _PARTS[ratio]
        with_delta = isinstance(within, ApproxDP) and bool(within.delta) and not states_rho(within)
        parts: list[PatternCount] = []
        for pattern, k in wanted:
            if with_delta:
                most = plain_approx(within)
                share: Loss = ApproxDP(most.epsilon / len(wanted), most.delta / len(wanted))
            else:
                share = (Purse.within(within) / len(wanted)).loss
            if pattern == EDGES:
                pure = ApproxDP(share.epsilon, 0) if isinstance(share, ApproxDP) else share
                parts.append(LaplaceCount.calibrated(pure, nodes=nodes, pattern=pattern))
            else:
                kind = LocalCount if with_delta else LadderCount
                parts.append(kind.calibrated(share, nodes=nodes, pattern=pattern, k=k))
        return cls(nodes=nodes, ratio=ratio, parts=tuple(parts))

    @property
    def distance(self) -> Unit:
        """One edge."""
        return EDGE

    def plan(self) -> Plan:
        """All parts, one after another."""
        return InOrder(tuple(Use(part) for part in self.parts))

    def release(self, data: Any, run: Runner) -> NDArray[Any]:
        """Return the ratio's parts: one row each of the count and the bound of its noise, 0 where that is private."""
        found = np.zeros((len(self.parts), 3), dtype=object)
        for row, part in enumerate(self.parts):
            out = run(part, data, stability=1)
            found[row] = out if isinstance(part, LocalCount) else (out, 0, 0)
        return found

    def value(self, out: Any) -> Fraction:
        """Return the ratio of released counts, in its range."""
        counts = [max(int(row[0]), 0) for row in out]
        return transitivity(counts[0], counts[1]) if self.ratio == CLUSTERING else degree_correlation(*counts)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return the smallest and the largest ratio of counts that all lie in their intervals at once."""
        wanted = probability("confidence", confidence, open_below=True)
        if any(isinstance(part, LadderCount) for part in self.parts):
            return None
        each = 1 - (1 - wanted) / len(self.parts)
        sides: list[tuple[int, int]] = []
        for part, row in zip(self.parts, out, strict=True):
            found = part.interval(row if isinstance(part, LocalCount) else row[0], each)
            sides.append((max(int(found.low), 0), max(int(found.high), 0)))
        low, high = _clustered(sides) if self.ratio == CLUSTERING else _correlated(sides)
        return Interval(float(low), float(high), wanted)


def _clustered(sides: list[tuple[int, int]]) -> tuple[Fraction, Fraction]:
    (few, many), (least, most) = sides
    return transitivity(few, most), transitivity(many, least) if least else Fraction(1)


def _correlated(sides: list[tuple[int, int]]) -> tuple[Fraction, Fraction]:
    """Return bounds on (x - m) / (s - m), for x, s and m in intervals of their own, with the true s at least m."""
    edges, pairs, triples, products = sides
    if edges[0] <= 0:
        return Fraction(-1), Fraction(1)
    squares = [Fraction(pairs[end] + edges[end], edges[1 - end]) ** 2 for end in (0, 1)]
    cubes = [Fraction(3 * triples[end] + 3 * pairs[end] + edges[end], edges[1 - end]) for end in (0, 1)]
    means = [Fraction(products[end], edges[1 - end]) for end in (0, 1)]
    above = [means[0] - squares[1], means[1] - squares[0]]
    spread = [cubes[0] - squares[1], cubes[1] - squares[0]]
    if spread[0] <= 0:
        return Fraction(-1), Fraction(1)
    ends = [top / bottom for top in above for bottom in spread]
    return max(min(ends), Fraction(-1)), min(max(ends), Fraction(1))
