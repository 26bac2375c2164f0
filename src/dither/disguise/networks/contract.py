"""A frozen record of parameters, applied to a network, gives the same edges with other weights, and what they keep."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dither.disguise.labels import NO_GUARANTEE
from dither.disguise.networks.graph import Numbers, Weighted


@dataclass(frozen=True, eq=False)
class Reweighted:
    """A network with other weights, what was done, and what was measured. It carries no loss.

    Args:
        disguise: the name of the method.
        graph: the same nodes and edges.
        done: what was done, a sentence each.
        measured: shares and means by name.

    """

    disguise: str
    graph: Weighted
    done: tuple[str, ...]
    measured: tuple[tuple[str, float], ...]

    warning: ClassVar[str] = NO_GUARANTEE

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the weights as plain data."""
        return {
            "disguise": self.disguise,
            "warning": self.warning,
            "nodes": self.graph.nodes,
            "edges": len(self.graph.weights),
            "done": list(self.done),
            "measured": dict(self.measured),
        }

    def to_json(self) -> str:
        """Return everything but the weights as JSON."""
        return json.dumps(self.to_dict(), indent=2)


class NetworkDisguise(ABC):
    """A method that changes weights, with its parameters: a frozen dataclass."""

    name: ClassVar[str]
    #: Where it was published.
    source: ClassVar[str]
    #: What a reader still learns from it.
    leaks: ClassVar[str]

    def apply(self, graph: Weighted) -> Reweighted:
        """Return the same network with other weights."""
        weights, done, measured = self.reweigh(graph)
        changed = float(np.mean(weights != graph.weights))
        moved = float(np.mean(np.abs(weights - graph.weights) / graph.weights))
        shares = (("weights changed", changed), ("relative change of a weight, on average", moved))
        return Reweighted(self.name, graph.reweighted(weights), (*done, self.leaks), (*shares, *measured))

    @abstractmethod
    def reweigh(self, graph: Weighted) -> tuple[Numbers, tuple[str, ...], tuple[tuple[str, float], ...]]:
        """Return other weights, what was done, and what was measured."""
