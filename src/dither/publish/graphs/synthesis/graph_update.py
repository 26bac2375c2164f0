"""Graph Update, made sound: degrees of asked nodes from a synthetic graph that is corrected where it errs grossly.

As the book has it, in the way of private multiplicative weights: pairs of nodes are the universe, a sparse vector
compares the synthetic degree with the true one, and the few that fail are measured by the gap and learned from. There
for reference: noise on all degrees at once (``degree-vector``) errs by 2 / epsilon for any number of questions, and
this by tens. Cost: linear in the edges, the questions and the synthetic edges. Corrections: whether an answer is
measured is decided by noise and not by the truth; updates change the synthetic graph and never the true one; the number
of updates is bounded and paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Of
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.examples import NODES, SOME_EDGES, edge_neighbours
from dither.publish.graphs.simple_graph import Ints, graph_of
from dither.publish.graphs.synthesis.drawn import SyntheticGraph, limit_of
from dither.publish.graphs.synthesis.settled import Floats, Settled
from dither.publish.graphs.synthesis.wiring import edges_of, graphical, wired
from dither.publish.interactive.construction import comparing

#: How many answers are measured by default, and how often the weights are set to what was measured.
UPDATES: Final = 10
_PASSES: Final = 4
_MOST_ASKED: Final = 2**20


def _examples() -> Iterator[Example]:
    asked = PublicArray(np.array([0, 3, 6, 1]))
    sparse = GapSparse(threshold=1, threshold_scale=2, query_scale=4, positives=2)
    made = GraphUpdate(nodes=NODES, most=21, asked=asked, total=Geometric(scale=1), sparse=sparse)
    yield Example(made, SOME_EDGES, edge_neighbours())


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 9.4, Graph Update; A Multiplicative "
    "Weights Mechanism for Privacy-Preserving Data Analysis (Hardt, Rothblum 2010)",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class GraphUpdate(SyntheticGraph):
    """Answer the degrees of asked nodes one after another from a synthetic graph, and release it with the answers.

    Guarantee: graphs ``d_in`` edges apart lose what ``total`` and ``sparse`` lose at ``d_in``, added up.

    Releases the answers, in the order of the questions, and the synthetic edges.

    Args:
        nodes: their number; public.
        most: the most edges that are drawn; public.
        asked: the nodes whose degrees are asked, in order; public.
        total: the noise for the number of edges.
        sparse: compares answers with the graph, and measures those that err.

    >>> from dither.privacy import PureDP
    >>> GraphUpdate.calibrated(PureDP(1), nodes=1000, asked=PublicArray([5, 7])).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "graph-update"
    version: ClassVar[int] = 1

    asked: PublicArray
    total: OneCount = OneCount()
    sparse: Of[GapSparse] = Of(
        GapSparse,
        where=lambda one: one.margin is None and not one.one_way,
        rule="GapSparse without a margin, for changes either way",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.asked, PublicArray):
            raise InvalidParameter("asked", type(self.asked).__name__, "a PublicArray of numbers of nodes")
        nodes = self.asked.values
        if nodes.ndim != 1 or not 1 <= len(nodes) <= _MOST_ASKED or nodes.dtype.kind not in "iu":
            raise InvalidParameter("asked", f"an array of shape {nodes.shape}", "a list of numbers of nodes")
        if nodes.min() < 0 or nodes.max() >= self.nodes:
            raise InvalidParameter("asked", "numbers out of range", f"numbers of nodes below {self.nodes}")

    @classmethod
    def calibrated(
        cls, within: Loss, *, nodes: int, asked: PublicArray, updates: int = UPDATES, most: int | None = None
    ) -> Self:
        """Return the least noise within a loss for graphs one edge apart: a tenth for the number of edges.

        Args:
            within: what they may lose; its epsilon is spent.
            nodes: their number.
            asked: the nodes whose degrees are asked, in order.
            updates: how many answers are measured.
            most: the most edges that are drawn; by default what the nodes allow.

        """
        purse = Purse.pure_within(within)
        if not isinstance(asked, PublicArray):
            raise InvalidParameter("asked", type(asked).__name__, "a PublicArray of numbers of nodes")
        sparse = comparing(purse.share("9/10").loss, updates, max(len(asked.values), 1))
        total = purse.share("1/10").geometric_noise(1)
        return cls(nodes=nodes, most=limit_of(nodes, most), asked=asked, total=total, sparse=sparse)

    def plan(self) -> Plan:
        """Ask for the number of edges, then compare."""
        return InOrder.of(Use(self.total), Use(self.sparse, 1))

    def release(self, data: Any, run: Runner) -> tuple[Ints, Ints]:
        """Return the answers, and synthetic edges, the smaller end first, in order."""
        graph = graph_of(data, self.nodes)
        edges = max(int(run(self.total, len(graph.edges))), 0)
        weights = _Weights(self.nodes, min(edges, self.most))
        handle = run.open(self.sparse, stability=1)
        answers, known = [], dict[int, int]()
        for node in self.asked.values.tolist():
            expected = known.get(node, weights.degree(node))
            if node not in known and not handle.is_over:
                # An integer, whose distance from a released integer one edge moves by 1 at most.
                lead = int(graph.degrees[node]) - expected
                for sign in (1, -1):
                    gap = None if handle.is_over else handle.ask(sign * lead)
                    if gap is not None:
                        expected = expected + sign * (self.sparse.threshold + gap.above)
                        weights.learn(node, expected)
                        break
                known[node] = expected
            answers.append(min(max(expected, 0), self.nodes - 1))
        degrees = graphical(weights.degrees(), self.most)
        numbers = Settled(answers, edges)
        return np.array(answers, dtype=np.int64), edges_of(wired(degrees, numbers), self.nodes, self.most)


class _Weights:
    """Fractional edges: the weight of a pair is the product of the factors of its ends, which updates multiply.

    Args:
        nodes: their number.
        edges: the weight of all pairs together, at first.

    """

    def __init__(self, nodes: int, edges: int) -> None:
        self._factors: Floats = np.full(nodes, float(np.sqrt(2 * edges / (nodes * max(nodes - 1, 1)))))
        self._told: dict[int, int] = {}

    def degree(self, node: int) -> int:
        """Return the degree of a node, as a whole number."""
        factor = float(self._factors[node])
        return round(min(factor * (float(self._factors.sum()) - factor), len(self._factors) - 1.0))

    def degrees(self) -> Ints:
        """Return all degrees, as whole numbers."""
        found = self._factors * (self._factors.sum() - self._factors)
        return np.asarray(np.rint(np.clip(found, 0, len(self._factors) - 1)), dtype=np.int64)

    def learn(self, node: int, measured: int) -> None:
        """Set the weights at a node so that they add up to what was measured, and at those before again."""
        self._told[node] = min(max(measured, 0), len(self._factors) - 1)
        for _ in range(_PASSES):
            for told, degree in self._told.items():
                others = float(self._factors.sum() - self._factors[told])
                self._factors[told] = min(degree / others, 1e6) if others > 1e-9 else 0.0
