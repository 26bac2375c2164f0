"""mu-weighted k-anonymity: move single weights so that an edge looks like others of its node.

An edge is anonymous if at least k edges of its node, itself among them, weigh within mu of it. Edges are taken once
each, those on most chosen paths first, because they have the least room. An edge that is not anonymous moves to the
point of its slack that lies within mu of most others of its node, the nearest such point, and only if there are more of
them than before: a problem of stabbing intervals. Chosen paths stay the shortest, and their lengths stay within the
tolerance.

Corrected against the source, whose conditions let weights only fall: the range of a change is the slack that the greedy
perturbation uses too. A later change may undo what an earlier one gained, so the edges are counted at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from dither.disguise.labels import KENTUCKY
from dither.disguise.networks.contract import NetworkDisguise
from dither.disguise.networks.graph import Numbers, Places, Weighted
from dither.disguise.networks.measures import alike_edges, kept_figures
from dither.disguise.networks.paths import Pairs, pairs_of
from dither.disguise.networks.slack import Slack
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator

#: By how many chosen paths use an edge, or by chance; the last two are there for comparison.
Order = Literal["descending", "ascending", "random"]
_ORDERS: Final = get_args(Order)
#: Changes keep this share of the slack from its open ends.
_MARGIN: Final = 0.01


@dataclass(frozen=True)
class AlikeWeights(NetworkDisguise):
    """Single-edge changes towards mu-weighted k-anonymity, on a directed network.

    Args:
        k: how many edges of a node must look alike.
        mu: how near their weights must be.
        pairs: pairs of nodes whose shortest path must stay; none is allowed.
        tolerance: how far the length of a chosen path may move, as a share of itself.
        order: in which order the edges are taken.
        rounds: how often all edges are taken; a later round wins back what an earlier one undid.

    """

    k: int
    mu: float
    pairs: Pairs
    tolerance: float = 0.1
    order: Order = "descending"
    rounds: int = 1

    name: ClassVar[str] = "mu-weighted k-anonymity"
    source: ClassVar[str] = f"{KENTUCKY}, sections 5.2 and 5.3"
    leaks: ClassVar[str] = (
        "An edge hides among others of its node, and weights that are not moved are the true ones. Every preserved "
        "path is an inequality between true weights."
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", pairs_of(self.pairs))
        if self.k < 1:
            raise InvalidParameter("k", self.k, "at least 1")
        if not 0 < self.mu < float("inf"):
            raise InvalidParameter("mu", self.mu, "above 0 and finite")
        if not 0 <= self.tolerance < 1:
            raise InvalidParameter("tolerance", self.tolerance, "at least 0 and below 1")
        if self.rounds < 1:
            raise InvalidParameter("rounds", self.rounds, "at least 1")
        if self.order not in _ORDERS:
            raise InvalidParameter("order", self.order, f"one of {', '.join(_ORDERS)}")

    def reweigh(self, graph: Weighted) -> tuple[Numbers, tuple[str, ...], tuple[tuple[str, float], ...]]:
        """Return weights of which more look alike."""
        if not graph.directed:
            raise InvalidParameter("graph", "undirected", "directed; both_ways() makes two edges of each")
        slack = Slack(graph, self.pairs)
        true = slack.path_lengths()
        siblings = _siblings(graph)
        order = self._ordered(slack.paths.uses()).tolist()
        for _ in range(self.rounds):
            moved = 0
            for edge in order:
                change = self._change(slack, true, edge, siblings[int(graph.ends[edge, 0])])
                if change:
                    slack.move(edge, change)
                    moved += 1
            if not moved:
                break
        made = graph.reweighted(slack.weights)
        shares = [float(alike_edges(one, self.k, self.mu).mean()) for one in (graph, made)]
        anonymous = (("anonymous edges before", shares[0]), ("anonymous edges", shares[1]))
        changed = int(np.sum(made.weights != graph.weights))
        done = (f"{changed:,} of {len(graph.weights):,} weights were moved towards others of their node.",)
        return slack.weights, done, (*anonymous, *kept_figures(graph, made, self.pairs))

    def _ordered(self, uses: Places) -> Places:
        if self.order == "random":
            return public_generator().permutation(len(uses))
        return np.argsort(-uses if self.order == "descending" else uses, kind="stable")

    def _change(self, slack: Slack, true: Numbers, edge: int, every: Places) -> float:
        """Return the change that brings an edge near most of its siblings; 0 if it stays."""
        weight = slack.weight(edge)
        others = slack.weights[every[every != edge]] - weight
        near = self.mu * (1 - 1e-9)
        now = int(np.sum(np.abs(others) <= near))
        if not len(others) or now >= min(self.k - 1, len(others)):
            return 0.0
        low, high = self._room(slack, true, edge)
        if high - low <= slack.none:
            return 0.0
        left, right = np.sort(others - near), np.sort(others + near)
        points = np.concatenate([left, right, [low], [high]])
        points = points[(points >= low) & (points <= high) & np.isfinite(points)]
        if not len(points):
            return 0.0
        cover = np.searchsorted(left, points, side="right") - np.searchsorted(right, points, side="left")
        best = points[cover == cover.max()]
        return float(best[np.argmin(np.abs(best))]) if cover.max() > now else 0.0

    def _room(self, slack: Slack, true: Numbers, edge: int) -> tuple[float, float]:
        """Return the changes between which chosen paths stay the shortest and their lengths near the true ones."""
        down, up = slack.range(edge)
        low, high = -(1 - _MARGIN) * down, (1 - _MARGIN) * up
        using = slack.paths.using(edge)
        if len(using):
            now, wanted = slack.path_lengths(using), true[using]
            low = max(low, float(np.max((1 - self.tolerance) * wanted - now)))
            high = min(high, float(np.min((1 + self.tolerance) * wanted - now)))
        return min(low, 0.0), max(high, 0.0)


def _siblings(graph: Weighted) -> dict[int, Places]:
    """Return the edges that leave each node."""
    order = np.argsort(graph.ends[:, 0], kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(graph.ends[order, 0])) + 1)
    return {int(graph.ends[edges[0], 0]): edges for edges in groups}
