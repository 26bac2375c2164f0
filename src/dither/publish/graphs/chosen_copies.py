"""Stars, k-triangles or cliques where nodes are protected: the programmes for triangles, for other patterns.

Every copy of the pattern gets a share, and a bound on the shares at a node is chosen privately. For small graphs: all
copies are listed, and whether those of a complete graph would fit is decided by the number of nodes. Cost: a linear
programme for each candidate, over the copies at nodes above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from dither.errors import InvalidParameter
from dither.exact import OneOf, Whole
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss
from dither.publish.graphs.chosen_triangles import ChosenTriangles, divided
from dither.publish.graphs.copies import copies_of
from dither.publish.graphs.copy_blocks import Copies
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.patterns import CLIQUES, K_TRIANGLES, STARS, check_pattern, largest_count, named
from dither.publish.graphs.simple_graph import SimpleGraph
from dither.publish.graphs.standing_out import UNIT

#: How many copies a complete graph may have: what fits into memory.
MOST_COPIES: Final = 2**22


def most_listed(nodes: int, pattern: str, k: int) -> int:
    """Return how many copies of a pattern, or of a smaller clique on the way, are in memory in the worst graph.

    >>> most_listed(100, "cliques", 4), most_listed(10, "cliques", 9)
    (3921225, 252)
    """
    sizes = range(2, k + 1) if pattern == CLIQUES else (k,)
    return max(largest_count(nodes, pattern, size) for size in sizes)


def check_listed(nodes: int, pattern: str, k: int) -> None:
    """Refuse a pattern whose copies may not fit into memory, by public facts alone."""
    check_pattern(pattern, k)
    if most_listed(nodes, pattern, k) > MOST_COPIES:
        rule = f"so few that a complete graph has at most {MOST_COPIES:,} {named(pattern, k)}"
        raise InvalidParameter("nodes", nodes, rule)


def _examples() -> Iterator[Example]:
    for pattern, k in ((STARS, 2), (K_TRIANGLES, 2), (CLIQUES, 4)):
        made = ChosenCopies(
            nodes=NODES,
            pattern=pattern,
            k=k,
            bounds=(1, 2, 4),
            penalty=2,
            choice_scale=4,
            noise=Geometric(scale=2 * UNIT),
        )
        yield Example(made, SOME_EDGES, node_neighbours())


@register(
    examples=_examples,
    source="Analyzing Graphs with Node Differential Privacy (Kasiviswanathan, Nissim, Raskhodnikova, Smith 2013), for "
    "the programme; Lipschitz Extensions for Node-Private Graph Statistics and the Generalized Exponential Mechanism "
    "(Raskhodnikova, Smith 2016), for the choice",
)
@dataclass(frozen=True, kw_only=True)
class ChosenCopies(ChosenTriangles):
    """Release a bound on the copies of a pattern at a node, and the number of copies within it, nodes protected.

    Guarantee: graphs that differ by all edges of one node lose epsilon = ``1 / choice_scale`` for the bound, and what
    ``noise`` loses at 2^34 for the number.

    Args:
        nodes: how many there may be, such that a complete graph has at most 2^22 copies; public.
        pattern: stars, k-triangles or cliques.
        k: the neighbours of a star, the nodes over the edge of a k-triangle, or those of a clique.
        bounds: the candidates for a bound, rising; public.
        penalty: how many of its bounds a candidate is set back; public.
        choice_scale: the scale of the choice, in units of relative scores.
        flips: whether the bound is chosen by permute-and-flip; else by the exponential mechanism.
        noise: for the count, which is put on a grid of which one node moves it by 2^34 steps.

    >>> from dither.privacy import PureDP
    >>> ChosenCopies.calibrated(PureDP(1), nodes=100, pattern="cliques", k=4, bounds=(16, 32)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "chosen-copies"
    version: ClassVar[int] = 1
    no_error_because: ClassVar[str] = "copies beyond the chosen bound are missing, and how many is private"
    no_interval_because: ClassVar[str] = no_error_because

    pattern: OneOf = OneOf(STARS, K_TRIANGLES, CLIQUES, default=CLIQUES)
    k: Whole = Whole(4, most=16)

    def __post_init__(self) -> None:
        check_listed(self.nodes, self.pattern, self.k)

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, bounds: Sequence[int], pattern: str = CLIQUES, k: int = 4) -> Self:
        """Return a choice and noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            bounds: the candidates for a bound.
            pattern: stars, k-triangles or cliques.
            k: of the pattern.

        """
        return cls(nodes=nodes, pattern=pattern, k=k, bounds=tuple(bounds), **divided(within))

    def copies(self, graph: SimpleGraph) -> Copies:
        """Return the nodes of all copies, which are private."""
        return Copies.of(copies_of(graph, self.pattern, self.k), self.nodes)
