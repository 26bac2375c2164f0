"""What mechanisms share that release a synthetic graph: nodes, a limit of edges, the unit, and two common parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from dither.data.graphs import MOST_NODES
from dither.exact import Positive, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.ladder import LARGEST_SCALE, LEAST_SCALE
from dither.privacy import EDGE, InOrder, Loss, Plan, Unit, Use
from dither.publish.graphs.degree_tail import DegreeTail
from dither.publish.graphs.degree_vector import moved_degrees
from dither.publish.graphs.ladder_count import LadderCount

#: The most edges of a synthetic graph, which are held in memory.
MOST_DRAWN: Final = 2**24
_NO_ERROR: Final = "the distance of a drawn graph from this one depends on what its model omits"


@dataclass(frozen=True, kw_only=True)
class SyntheticGraph(Composed[Any, Any]):
    """A graph that is drawn from released numbers, on the same public nodes, with a limited number of edges."""

    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = _NO_ERROR
    no_interval_because: ClassVar[str] = _NO_ERROR

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    most: Whole = Whole(least=1, most=MOST_DRAWN)

    @property
    def distance(self) -> Unit:
        """One edge."""
        return EDGE


@dataclass(frozen=True, kw_only=True)
class OfDegreesAndTriangles(SyntheticGraph):
    """A graph that is drawn from the degrees in order and the number of triangles."""

    node: OneCount = OneCount()
    scale: Positive = Positive(least=LEAST_SCALE, most=LARGEST_SCALE)

    @cached_property
    def sequence(self) -> DegreeTail:
        """The degrees in order."""
        return DegreeTail(nodes=self.nodes, node=self.node)

    @cached_property
    def triangles(self) -> LadderCount:
        """The number of triangles, with noise for this graph."""
        return LadderCount(nodes=self.nodes, pattern="triangles", scale=self.scale)

    def plan(self) -> Plan:
        """Ask for the degrees, then for the triangles."""
        return InOrder.of(Use(self.sequence), Use(self.triangles))


def vector_noise(purse: Purse) -> Any:
    """Return the noise of one degree by node, or of one part of it, that a purse buys for all of them."""
    return purse.noise(moved_degrees(is_pure=True), moved_degrees(is_pure=False))


def shares_of(within: Loss, *parts: str) -> list[Purse]:
    """Return the purses of parts whose shares are given as fractions."""
    whole = Purse.within(within)
    return [whole.share(part) for part in parts]


def limit_of(nodes: int, most: int | None) -> int:
    """Return the most edges to draw: as declared, or what the nodes allow.

    >>> limit_of(5, None), limit_of(5, 3), limit_of(10**7, None) == MOST_DRAWN
    (10, 3, True)
    """
    possible = max(min(math.comb(nodes, 2), MOST_DRAWN), 1)
    return possible if most is None else min(most, possible)
