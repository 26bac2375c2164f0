"""Noisy marginals of records: the measurement that several methods share.

All marginals are counted from the rows, each is multiplied by a whole weight, and one draw adds noise to all of them
together. A weight of 3 beside a weight of 1 is a third of the noise: budgets are split by weights, exactly, and the
price is that of one vector whose stability is a sum of integers (L1) or of their squares (L2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes, Axes
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.privacy import Loss, Plan, Unit, Use
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.marginals.common import Counter, stability_of


@dataclass(frozen=True)
class Measurement:
    """Marginals that are measured with weights: the draw, its stability, and the resulting noise."""

    attributes: Attributes
    sets: tuple[Axes, ...]
    weights: tuple[int, ...]
    node: CountNoise
    unit: Unit

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.sets):
            raise InvalidParameter("weights", self.weights, f"one for each of {len(self.sets)} measured marginals")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each measured marginal."""
        return tuple(self.attributes.cells_of(axes) for axes in self.sets)

    @property
    def part(self) -> CountNoise:
        """The noise for all cells."""
        return replace(self.node, shape=(sum(self.sizes),))

    @property
    def stability(self) -> Fraction:
        """How far all weighted marginals move together per unit."""
        return stability_of(self.node, self.unit, self.weights, self.sizes)

    def plan(self) -> Plan:
        """Return the plan of the one draw."""
        return Use(self.part, self.stability)

    @property
    def variances(self) -> Mapping[Axes, float]:
        """The variance of a cell of each measured marginal, after division by its weight."""
        unit = variance_of(self.node)
        return {axes: unit / weight**2 for axes, weight in zip(self.sets, self.weights, strict=True)}

    def draw(self, data: Any, run: Runner) -> dict[Axes, Floats]:
        """Return the noisy marginals of the records, divided by their weights."""
        codes = self.attributes.codes(data)
        exact = self.weighted(lambda axes: self.attributes.count(codes, axes))
        return self.unweighted(np.asarray(run(self.part, exact, stability=self.stability)))

    def weighted(self, count: Counter) -> NDArray[np.int64]:
        """Return all marginals times their weights, one after another."""
        counted = []
        for axes, weight in zip(self.sets, self.weights, strict=True):
            # Cutting counts off moves no two tables farther apart, and keeps the product in range.
            counted.append(np.minimum(count(axes), LARGEST_VALUE // weight).ravel() * weight)
        return np.concatenate(counted)

    def unweighted(self, noisy: NDArray[Any]) -> dict[Axes, Floats]:
        """Return the noisy marginals, divided by their weights."""
        pieces = np.split(np.asarray(noisy, dtype=np.float64), np.cumsum(self.sizes)[:-1])
        return {
            axes: (piece / weight).reshape(self.attributes.shape_of(axes))
            for axes, weight, piece in zip(self.sets, self.weights, pieces, strict=True)
        }


def node_within(
    within: Loss, attributes: Attributes, sets: tuple[Axes, ...], weights: tuple[int, ...], unit: Unit
) -> CountNoise:
    """Return the least noise for which one draw on these weighted marginals is within ``within``.

    A pure target gives geometric noise, any other Gaussian noise.
    """
    purse = Purse.within(within)
    # How far the marginals move is counted in the distance of the noise.
    return purse.noise(Measurement(attributes, sets, weights, purse.noise(), unit).stability)
