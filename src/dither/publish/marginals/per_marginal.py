"""Noise on each marginal: the budget is split among the requested marginals.

For a few marginals that are read one by one. Cost: one pass over the rows for each marginal. By default the split has
the least total variance, and the marginals are made to agree by least squares, which never makes a cell worse.
Correction: the same noise for all marginals, as it is usually printed, is not the best split where their sizes differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Flag
from dither.lift.attributes import Attributes, checked_sets
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Unit
from dither.publish.histograms.common import Floats
from dither.publish.marginals.common import Counter, DrawnMarginals, Weights, rounded_weights, stability_of
from dither.publish.marginals.interactions import cell_variance, fit, fitted_spreads
from dither.publish.marginals.measuring import Measurement, node_within


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3]])
    plain = NoisyMarginals(
        attributes=table, marginals=[["a"], ["b"]], weights=(2, 1), node=Geometric(scale=3), agreeing=False
    )
    yield Example(plain, rows)
    yield Example(
        NoisyMarginals(
            attributes=table,
            marginals=[["a"], ["a", "b"]],
            weights=(1, 1),
            node=DiscreteGaussian(sigma=2),
            unit=ROW_REPLACED,
        ),
        rows,
    )


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 5.2; Privacy, Accuracy, and Consistency "
    "Too (Barak et al. 2007), section 1; ResidualPlanner (Xiao et al. 2023), for the least squares",
)
@dataclass(frozen=True, kw_only=True)
class NoisyMarginals(DrawnMarginals):
    """Add noise to every requested marginal, each with a share of the budget.

    Guarantee: records ``d_in`` rows apart lose what ``node`` loses at ``d_in`` times the sum of the weights (geometric
    noise) or the root of the sum of their squares (Gaussian noise); under replacement twice the sum, or the root of
    twice the sum, and marginals of one cell do not count.

    Args:
        attributes: names and sizes; public.
        marginals: sets of names; public.
        unit: ROW, ROW_REPLACED, or ROW_EXCHANGED for rows that may be exchanged for none.
        weights: an integer for each marginal: twice the weight is half the noise.
        node: the noise of one count of weight 1.
        agreeing: whether overlapping marginals are made to agree by least squares.

    >>> from dither.privacy import PureDP
    >>> table = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> direct = NoisyMarginals.calibrated(PureDP(1), attributes=table, marginals=table.every(2))
    >>> direct.loss(1) <= PureDP(1), direct.sizes
    (True, (20, 32, 160))

    """

    name: ClassVar[str] = "noisy-marginals"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    weights: Weights = Weights()
    agreeing: Flag = Flag(True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.measurement

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        marginals: Sequence[Sequence[str]],
        unit: Unit = ROW,
        even: bool = False,
        agreeing: bool = True,
    ) -> Self:
        """Return the mechanism with the least noise whose loss for data one unit apart is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            marginals: sets of names.
            unit: ROW, ROW_REPLACED, or ROW_EXCHANGED for rows that may be exchanged for none.
            even: whether all marginals get the same noise; otherwise the split of the least sum of all variances
                before they are made to agree.
            agreeing: whether overlapping marginals are made to agree.

        """
        sets = checked_sets(attributes, marginals)
        # The sum of cells / weight^2 at a given sum of weights, or of their squares, is least at these powers.
        power = 0.0 if even else (1 / 3 if Purse.within(within).is_pure else 1 / 4)
        weights = rounded_weights([attributes.cells_of(axes) ** power for axes in sets])
        node = node_within(within, attributes, sets, weights, unit)
        return cls(attributes=attributes, marginals=marginals, unit=unit, weights=weights, node=node, agreeing=agreeing)

    @cached_property
    def measurement(self) -> Measurement:
        """The one draw."""
        return Measurement(self.attributes, self.sets, self.weights, self.node, self.unit)

    @cached_property
    def part(self) -> CountNoise:
        """The noise for all cells."""
        return self.measurement.part

    def moved(self, unit: Unit) -> Fraction:
        """Return how far all weighted marginals move together per unit."""
        return stability_of(self.node, unit, self.weights, self.sizes)

    @cached_property
    def marginal_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each marginal."""
        before = self.measurement.variances
        if not self.agreeing:
            return tuple(before[axes] for axes in self.sets)
        spreads = fitted_spreads(self.attributes, before)
        return tuple(cell_variance(self.attributes, spreads, axes) for axes in self.sets)

    def measurements(self, count: Counter) -> NDArray[np.int64]:
        """Return all marginals times their weights."""
        return self.measurement.weighted(count)

    def estimates(self, noisy: NDArray[Any]) -> Floats:
        """Return the noisy marginals, made consistent."""
        tables = self.measurement.unweighted(noisy)
        if self.agreeing:
            return fit(self.attributes, tables, self.measurement.variances).flat(self.sets)
        return np.concatenate([tables[axes].ravel() for axes in self.sets])
