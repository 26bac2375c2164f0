"""The recursive mechanism: edges or triangles where nodes are protected, with a bound that is noisy by a factor.

Two sequences follow a graph when nodes are taken out, one after the other: the first what is left of the count, the
second how much one node has of it. From the second a bound follows whose logarithm one node moves by a public step. It
is drawn with noise, and then the count within it. For reference: a bound that is chosen among candidates errs less.
Cost: the copies on every edge, and one linear programme.

Corrections: the first sequence is relaxed to linear programmes, as in the paper, of which only the least value over the
sequence is needed: it is the dual of one programme. The second one is bounded from above in integers. Logarithms are
whole numbers of steps, so that nothing is rounded after noise was drawn.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.data.graphs import MOST_NODES
from dither.exact import OneOf, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import NODE, InOrder, Loss, Plan, Unit, Use
from dither.publish.graphs.copy_blocks import Copies, triangles_of
from dither.publish.graphs.counts import supports
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.packing import PARTS, most_bound, moved, packed
from dither.publish.graphs.patterns import EDGES, TRIANGLES
from dither.publish.graphs.simple_graph import Ints, SimpleGraph, graph_of
from dither.publish.graphs.standing_out import UNIT, from_units, in_units

#: Steps of a bound to a doubling, and the largest bound in doublings.
DOUBLING: Final = 32
_DOUBLINGS: Final = 20
#: How many steps a node is worth for a scale of one node, and by how many a bound is raised: e^(1/5) and e^(1/2).
_PACE: Final = Fraction(37, 2)
_LEAD: Final = 23


def _examples() -> Iterator[Example]:
    for pattern in (EDGES, TRIANGLES):
        made = RecursiveCount(
            nodes=NODES, pattern=pattern, pace=3, lead=4, step_noise=Geometric(scale=6), noise=Geometric(scale=2 * UNIT)
        )
        yield Example(made, SOME_EDGES, node_neighbours())


@cache
def bounds_by_step() -> tuple[int, ...]:
    """Return the bound of each step: 2^(step / 32), rounded up.

    >>> bounds_by_step()[:2], bounds_by_step()[32], bounds_by_step()[33]
    ((1, 2), 2, 3)
    """
    found = []
    for step in range(DOUBLING * _DOUBLINGS + 1):
        # A float says where to look; whole numbers decide.
        near = max(int(2.0 ** (step / DOUBLING)) - 1, 1)
        found.append(next(bound for bound in range(near, near + 4) if bound**DOUBLING >= 1 << step))
    return tuple(found)


def last_step(nodes: int) -> int:
    """Return the last step that is drawn for a public number of nodes: of a larger bound the programme might not fit.

    >>> last_step(100) == len(bounds_by_step()) - 1, bounds_by_step()[last_step(2**24)]
    (True, 48)
    """
    return max(bisect_right(bounds_by_step(), most_bound(nodes)) - 1, 0)


def step_of(copies: int, last: int) -> int:
    """Return the first step whose bound is at least a number of copies; the last one where none is."""
    return min(bisect_left(bounds_by_step(), copies), last)


def left_at_nodes(graph: SimpleGraph, pattern: str) -> Iterator[Ints]:
    """Yield for k = 0, 1, 2, ... a number for each node that bounds its copies when any k others are taken out.

    Of edges k fewer; of triangles half of those on its edges, rounded up, without the k edges that have the most and
    less k on each other.
    """
    if pattern == EDGES:
        for k in range(graph.nodes + 1):
            yield np.maximum(graph.degrees - k, 0)
        return
    each = supports(graph)
    node, on_edge = np.concatenate([graph.edges[:, 0], graph.edges[:, 1]]), np.concatenate([each, each])
    order = np.lexsort((-on_edge, node))
    node, on_edge = node[order], on_edge[order]
    rank = np.arange(len(node)) - np.searchsorted(node, node)
    for k in range(graph.nodes + 1):
        kept = (rank >= k) & (on_edge > k)
        node, on_edge, rank = node[kept], on_edge[kept], rank[kept]
        twice = np.bincount(node, on_edge - k, minlength=graph.nodes).astype(np.int64)
        yield -(-twice // 2)


def steps_of_bound(graph: SimpleGraph, pattern: str, pace: int) -> int:
    """Return the least, over k, of k paces and the step of what the node after the first k has, k nodes away.

    >>> steps_of_bound(graph_of([(0, other) for other in range(1, 9)], 9), "edges", 1)
    1
    """
    best = last = last_step(graph.nodes)
    for k, left in enumerate(left_at_nodes(graph, pattern)):
        if k * pace >= best:
            break
        # At most k nodes have more than this.
        after = int(np.partition(left, -k - 1)[-k - 1]) if k < len(left) else 0
        best = min(best, k * pace + step_of(after, last))
    return best


@register(
    examples=_examples,
    reference=True,
    source="Recursive Mechanism: Towards Node Differential Privacy and Unrestricted Joins (Chen, Zhou 2013)",
)
@dataclass(frozen=True, kw_only=True)
class RecursiveCount(Composed[Any, Any]):
    """Release a bound on the copies at a node, and the number of copies within it, where nodes are protected.

    Guarantee: graphs that differ by all edges of one node lose what ``step_noise`` loses at ``pace`` for the bound, and
    what ``noise`` loses at 2^34 for the number.

    Args:
        nodes: how many there may be; public.
        pattern: edges or triangles.
        pace: how many steps of the bound one node is worth; 32 steps are a factor of 2.
        lead: by how many steps the bound is raised, so that noise seldom puts it too low; public.
        step_noise: for the steps.
        noise: for the count, which is put on a grid of which one node moves it by 2^34 steps.

    >>> from dither.privacy import PureDP
    >>> RecursiveCount.calibrated(PureDP(1), nodes=1000, pattern="triangles").loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "recursive-count"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "copies beyond the bound are missing, and how many is private"
    no_interval_because: ClassVar[str] = no_error_because

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    pattern: OneOf = OneOf(EDGES, TRIANGLES)
    pace: Whole = Whole(least=1, most=DOUBLING * _DOUBLINGS)
    lead: Whole = Whole(_LEAD, most=DOUBLING * _DOUBLINGS)
    step_noise: OneCount = OneCount()
    noise: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, pattern: str = TRIANGLES) -> Self:
        """Return noise within a loss for graphs one node apart: half of it for the bound.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            pattern: edges or triangles.

        """
        purse = Purse.within(within).share(Fraction(1, 2))
        # The more a node may lose, the more steps it is worth: noise in steps stays about the same.
        pace = min(max(round(_PACE / purse.choice(one_way=True)), 1), DOUBLING * _DOUBLINGS)
        return cls(nodes=nodes, pattern=pattern, pace=pace, step_noise=purse.noise(pace), noise=purse.noise(UNIT))

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    def plan(self) -> Plan:
        """Draw the steps of the bound, then the count."""
        return InOrder.of(Use(self.step_noise, self.pace), Use(self.noise, UNIT))

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return two integers: the bound, and about the number of copies of which a node has no more than that."""
        graph, bounds = graph_of(data, self.nodes), bounds_by_step()
        drawn = int(run(self.step_noise, steps_of_bound(graph, self.pattern, self.pace), stability=self.pace))
        bound = bounds[min(max(drawn + self.lead, 0), last_step(self.nodes))]
        copies = Copies.of(graph.edges, self.nodes) if self.pattern == EDGES else triangles_of(graph)
        value = packed(copies, bound)
        noisy = int(run(self.noise, in_units(value, moved(bound)), stability=UNIT))
        return np.array([bound, from_units(noisy, moved(bound), PARTS)], dtype=np.int64)
