"""Randomised shortest paths: a walker prefers short edges, and the mean length of its walks stands for the shortest.

From a node it takes an edge with a probability inversely proportional to the weight; a whole walk is then reweighted by
exp(-theta times its length). As theta grows the mean length falls to the shortest; at a finite theta the most probable
walk need not be the shortest path, so paths are always checked by their lengths.

Corrected against the source: one inverse serves all pairs, and the matrix of mean lengths is Z (W o Q) Z / Z, less its
diagonal in the column of the end; a changed weight changes the whole row of its node, through the probabilities of the
others; weights are divided by their mean, because exp(-20 times 40) is zero in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dither.disguise.networks.graph import LARGEST, LEAST, Numbers, Weighted
from dither.errors import InvalidParameter

#: A walk that loses less of its weight at a node than this is not told from one that loses nothing.
_SINGULAR: Final = 1e-12
_TINY: Final = float(np.finfo(np.float64).tiny)
_NO_LOSS: Final = "walks hardly lose weight, and I - Q is singular"
_NO_WEIGHT: Final = "some walks weigh nothing in floating point"


@dataclass(frozen=True, eq=False)
class RandomisedPaths:
    """The walks of a network.

    Args:
        theta: how much walks prefer short ones, above 0, in units of the mean weight.
        unit: the mean weight.
        weights: the matrix of weights over the unit; infinite where there is no edge.
        walks: Q, the weight of one step.
        visits: Z, the sum of the weights of all walks, the inverse of I - Q.
        directed: an edge leads one way only.

    """

    theta: float
    unit: float
    weights: Numbers
    walks: Numbers
    visits: Numbers
    directed: bool

    @classmethod
    def of(cls, graph: Weighted, theta: float = 20.0) -> RandomisedPaths:
        """Return the walks of a network, by one inverse."""
        if not 0 < theta < float("inf"):
            raise InvalidParameter("theta", theta, "above 0 and finite")
        unit = float(graph.weights.mean())
        weights = graph.matrix() / unit
        walks = np.stack([_steps(row, theta) for row in weights])
        if walks.sum(axis=1).max() > 1 - _SINGULAR:
            raise InvalidParameter("theta", theta, f"larger: {_NO_LOSS}")
        visits = np.linalg.inv(np.eye(graph.nodes) - walks)
        reached = np.isfinite(graph.lengths())
        if (visits[reached] <= _TINY).any():
            raise InvalidParameter("theta", theta, f"smaller: {_NO_WEIGHT}")
        # Where no walk leads, rounding of the inverse may leave a trace.
        return cls(theta, unit, weights, walks, np.where(reached, visits, 0.0), graph.directed)

    def probabilities(self) -> Numbers:
        """Return the probability of each edge from its node, before walks are reweighted."""
        inverse = 1 / self.weights
        totals = inverse.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(inverse, totals, out=np.zeros_like(inverse), where=totals > 0))

    def mean_lengths(self) -> Numbers:
        """Return the mean length of the walks that end when they first reach their end; infinite where none leads."""
        steps = np.where(self.walks > 0, self.weights, 0.0) * self.walks
        through = self.visits @ steps @ self.visits
        there = self.visits > 0
        means = np.divide(through, self.visits, out=np.full_like(through, np.inf), where=there)
        return np.asarray(self.unit * (means - np.diag(means)))

    def with_weight(self, first: int, last: int, weight: float) -> RandomisedPaths:
        """Return the walks after the change of one weight, without a new inverse."""
        if not (0 <= first < len(self.weights) and 0 <= last < len(self.weights)):
            raise InvalidParameter("edge", (first, last), f"nodes from 0 to {len(self.weights) - 1}")
        if not np.isfinite(self.weights[first, last]):
            raise InvalidParameter("edge", (first, last), "an edge of the network")
        if not LEAST <= weight <= LARGEST:
            raise InvalidParameter("weight", weight, f"from {LEAST:g} to {LARGEST:g}")
        one = self._with_row(first, last, weight)
        return one if self.directed else one._with_row(last, first, weight)

    def _with_row(self, first: int, last: int, weight: float) -> RandomisedPaths:
        weights, walks = self.weights.copy(), self.walks.copy()
        weights[first, last] = weight / self.unit
        walks[first] = _steps(weights[first], self.theta)
        onward = (walks[first] - self.walks[first]) @ self.visits
        column = self.visits[:, first]
        if walks[first].sum() > 1 - _SINGULAR or 1 - onward[first] < _SINGULAR:
            raise InvalidParameter("weight", weight, f"larger, or theta is: {_NO_LOSS}")
        visits = self.visits + np.outer(column, onward) / (1 - onward[first])
        # The edges are the same, and so is what walks reach.
        if (visits[self.visits > 0] <= _TINY).any():
            raise InvalidParameter("weight", weight, f"smaller, or theta is: {_NO_WEIGHT}")
        return replace(self, weights=weights, walks=walks, visits=visits)


def _steps(row: Numbers, theta: float) -> Numbers:
    """Return a node's row of Q: the probability of each edge, times the weight of its length."""
    inverse = 1 / row
    total = inverse.sum()
    return inverse / total * np.exp(-theta * row) if total else inverse
