"""Cut queries: how many edges lead between two sets of nodes, for any number of sets at one price.

For graphs of up to 1,024 nodes. The pairs of nodes are the cells of a table, an edge is a row, and a cut is a set of
cells: iterative construction answers it, by default with the update of Frieze and Kannan, which suits a table whose
cells hold 0 or 1. Cost: a pass over all pairs for every question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Of
from dither.lift.attributes import Attributes
from dither.mechanisms.core.mechanism import Interactive, Interval, Numerics
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import EDGE, Derived, Loss, Plan, Unit
from dither.publish.graphs.simple_graph import graph_of
from dither.publish.interactive.construction import Answer, ModelTalk
from dither.publish.interactive.iterative_construction import IterativeConstruction

MOST_NODES: Final = 1024
_ENDS: Final = ("one", "other")


def _is_of_pairs(method: IterativeConstruction) -> bool:
    return method.attributes.names == _ENDS and len(set(method.attributes.sizes)) == 1


def _examples() -> Iterator[Example]:
    sparse = GapSparse(threshold=1, threshold_scale=2, query_scale=4, positives=2)
    pairs = Attributes.of(dict.fromkeys(_ENDS, 4))
    method = IterativeConstruction(attributes=pairs, total=Geometric(scale=1), sparse=sparse, update="frieze-kannan")
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    script = tuple(
        (np.array(one) == 1, np.array(two) == 1) for one, two in (([1, 1, 0, 0], [0, 0, 1, 1]), ([1, 0, 0, 0],) * 2)
    )
    script = (*script, (script[0][0], script[0][0]), script[0])
    moved = tuple(
        (Dialogue(here, script), Dialogue(there, script), 1)
        for here, there in ((ring, [*ring, (0, 2)]), ([], [(0, 3)]), (ring, ring[1:]))
    )
    yield Example(CutConversation(method=method), Dialogue(ring, script), moved)


@register(
    examples=_examples,
    source="Iterative Constructions and Private Data Release (Gupta, Roth, Ullman 2012); Differential Privacy and "
    "Applications (Zhu et al. 2017), sections 4.1.4 and 9.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class CutConversation(Interactive[Any, "Cuts"]):
    """Answer how many edges lead between two sets of nodes, for any sets that are asked for.

    Guarantee: graphs ``d_in`` edges apart lose what ``method`` loses at ``d_in``; whatever is asked, and however many
    questions there are.

    Args:
        method: the construction over all pairs of nodes, as ``calibrated`` makes it.

    >>> from dither.privacy import PureDP
    >>> CutConversation.calibrated(PureDP(1), nodes=100).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "cut-conversation"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = IterativeConstruction.no_error_because
    no_interval_because: ClassVar[str] = IterativeConstruction.no_interval_because

    method: Of[IterativeConstruction] = Of(
        IterativeConstruction, where=_is_of_pairs, rule="an IterativeConstruction over pairs of nodes"
    )

    @classmethod
    def calibrated(
        cls, within: Loss, *, nodes: int, update: str = "frieze-kannan", corrections: int = 20, questions: int = 1000
    ) -> Self:
        """Return the method that spends ``within`` on graphs one edge apart.

        Args:
            within: the loss not to exceed.
            nodes: their number; public.
            update: what the table learns from a measured answer.
            corrections: how many gross errors are measured.
            questions: about how many will be asked.

        """
        if type(nodes) is not int or not 2 <= nodes <= MOST_NODES:
            raise InvalidParameter("nodes", nodes, f"2 to {MOST_NODES}: all pairs are cells of a table")
        pairs = Attributes.of(dict.fromkeys(_ENDS, nodes))
        return cls(
            method=IterativeConstruction.calibrated(
                within, attributes=pairs, update=update, corrections=corrections, questions=questions
            )
        )

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return int(self.method.attributes.sizes[0])

    @property
    def distance(self) -> Unit:
        """Edges added or removed."""
        return EDGE

    def plan(self) -> Plan:
        """Use the construction once."""
        return Derived(self.method, 1)

    def open(self, data: Any, run: Runner) -> Cuts:
        """Return the conversation about a list of edges; what is no edge is as if not there."""
        edges = graph_of(data, self.nodes).edges
        table = np.zeros((self.nodes, self.nodes), dtype=np.int64)
        # Each edge is one cell, from the smaller node to the larger.
        table[edges[:, 0], edges[:, 1]] = 1
        return Cuts(self.nodes, run.converse(self.method, table, stability=1))

    def interval(self, out: Any, confidence: Any) -> Interval | None:
        """Return an interval for the true number of edges, or None where none is known."""
        return self.method.interval(out, confidence)


class Cuts:
    """The conversation of a ``CutConversation``.

    Args:
        nodes: their number.
        talk: the conversation about all pairs.

    """

    def __init__(self, nodes: int, talk: ModelTalk[Any]) -> None:
        self._nodes, self._talk = nodes, talk

    @property
    def is_compared(self) -> bool:
        """Whether answers are still compared with the graph."""
        return self._talk.is_compared

    def ask(self, question: Any) -> Answer:
        """Return the number of edges with one end in one set and the other in another; each edge once.

        Args:
            question: two arrays of bools, a place for each node; public. The same array twice asks for the edges
                within a set.

        """
        return self._talk.ask(cut_cells(question, self._nodes))


def cut_cells(question: Any, nodes: int) -> NDArray[np.bool_]:
    """Return the pairs of nodes, the smaller first, with an end in either set.

    >>> one, two = np.array([True, False, False]), np.array([False, False, True])
    >>> np.argwhere(cut_cells((two, one), 3)).tolist()
    [[0, 2]]

    """
    sets = question if isinstance(question, tuple) and len(question) == 2 else ()
    if not sets or any(
        not isinstance(one, np.ndarray) or one.dtype != np.bool_ or one.shape != (nodes,) for one in sets
    ):
        raise InvalidParameter("question", type(question).__name__, f"two arrays of {nodes} bools")
    one, two = sets
    either = (one[:, None] & two) | (two[:, None] & one)
    return np.asarray(np.triu(either, 1))
