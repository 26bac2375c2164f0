"""Change as many weights as possible so that the shortest paths of chosen pairs stay the shortest.

Edges on no chosen path grow; edges on all of them shrink; each of the others is moved once, those on most paths first,
towards the true lengths: up if more of its paths are at or below their true length than above, else down, by a random
part of the slack. Every chosen path stays the shortest, by construction and measured afresh at the end; where it was
the only shortest one it still is. Lengths are kept near by trying, not by proof.

Corrected against the source: both directions of an undirected edge bound its fall, a weight never falls to zero, a
bridge is bounded by the reach, an edge without slack (a tie) is left as it is, and with no pairs at all every edge
grows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from dither.disguise.labels import KENTUCKY
from dither.disguise.networks.contract import NetworkDisguise
from dither.disguise.networks.graph import Numbers, Weighted
from dither.disguise.networks.measures import kept_figures
from dither.disguise.networks.paths import Pairs, pairs_of
from dither.disguise.networks.slack import Slack
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator, public_generator

#: Draws keep this share of the slack from both of its ends.
_MARGIN: Final = 0.01


@dataclass(frozen=True)
class KeptPaths(NetworkDisguise):
    """Greedy perturbation that keeps chosen shortest paths.

    Args:
        pairs: pairs of nodes whose shortest path must stay; none is allowed.
        reach: no weight moves by more than this share of itself, above 0 and below 1.

    """

    pairs: Pairs
    reach: float = 0.5

    name: ClassVar[str] = "greedy perturbation"
    source: ClassVar[str] = f"{KENTUCKY}, section 4.2"
    leaks: ClassVar[str] = (
        "Edges on no chosen path only grow and edges on all of them only shrink: the new weight bounds the true one. "
        "Every preserved path is an inequality between true weights."
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", pairs_of(self.pairs))
        if not 0 < self.reach < 1:
            raise InvalidParameter("reach", self.reach, "above 0 and below 1")

    def reweigh(self, graph: Weighted) -> tuple[Numbers, tuple[str, ...], tuple[tuple[str, float], ...]]:
        """Return weights under which the chosen paths are still the shortest."""
        drawn = public_generator()
        slack = Slack(graph, self.pairs)
        true = slack.path_lengths()
        uses = slack.paths.uses()
        nowhere, everywhere = uses == 0, (uses > 0) & (uses == len(slack.paths))
        parts = _inside(drawn, len(uses))
        sign = np.where(nowhere, 1.0, np.where(everywhere, -1.0, 0.0))
        slack.restart(graph.weights * (1 + sign * self.reach * parts))
        some = np.flatnonzero(~nowhere & ~everywhere)
        order = some[np.argsort(-uses[some], kind="stable")]
        left = self._move_each(slack, true, order, _inside(drawn, len(order)))
        done = (
            f"{int(nowhere.sum()):,} edges on none of {len(slack.paths):,} chosen paths grew, "
            f"{int(everywhere.sum()):,} on all of them shrank, {len(order) - left:,} on some of them moved within "
            f"their slack; {left:,} without slack stayed.",
        )
        return slack.weights, done, kept_figures(graph, graph.reweighted(slack.weights), self.pairs)

    def _move_each(self, slack: Slack, true: Numbers, order: Iterable[int], parts: Numbers) -> int:
        """Move each edge once, and return how many had no slack."""
        left = 0
        for edge, part in zip(order, parts.tolist(), strict=True):
            using = slack.paths.using(edge)
            above = int(np.sum(slack.path_lengths(using) > true[using]))
            grows = len(using) - above > above
            most = self.reach * slack.weight(edge)
            room = min(slack.up(edge) if grows else slack.down(edge), most)
            if room <= slack.none:
                left += 1
            else:
                slack.move(edge, part * room if grows else -part * room)
        return left


def _inside(drawn: Generator, count: int) -> Numbers:
    return drawn.uniform(_MARGIN, 1 - _MARGIN, size=count)
