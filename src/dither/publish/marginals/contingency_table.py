"""The contingency table: noise on every cell of the full table, and marginals as sums of noisy cells.

For tables of few attributes whose cells are wanted themselves, and as the yardstick of the other methods. Cost: linear
in the cells. Marginals agree with one another because they are sums of one table; the price is that a marginal adds up
the noise of all cells that it adds up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.lift.attributes import MOST_CELLS, Attributes, Axes, checked_sets
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.marginals.common import MarginalRelease
from dither.publish.marginals.measuring import Measurement, node_within


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3]])
    yield Example(ContingencyTable(attributes=table, marginals=[["a", "b"]], node=Geometric(scale=1)), rows)
    gaussian = DiscreteGaussian(sigma=2)
    yield Example(ContingencyTable(attributes=table, marginals=[["a"], ["b"]], node=gaussian, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 5.2; Privacy, Accuracy, and Consistency "
    "Too (Barak et al. 2007), section 1",
)
@dataclass(frozen=True, kw_only=True)
class ContingencyTable(MarginalRelease):
    """Add noise to every cell of the table of all attributes, and release marginals of it.

    Guarantee: records ``d_in`` rows apart lose what ``node`` loses at ``d_in``; replaced rows twice the distance
    (geometric noise) or the root of 2 times it (Gaussian noise).

    Args:
        attributes: names and sizes, with at most 2^24 cells together; public.
        marginals: sets of names; public. That of all attributes is the table itself.
        unit: ROW or ROW_REPLACED.
        node: the noise of one cell.

    >>> table = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> from dither.privacy import PureDP
    >>> full = ContingencyTable.calibrated(PureDP(1), attributes=table, marginals=[["sex", "age"]])
    >>> round(full.variance(["sex", "age"]) / full.cell_variance)
    16

    """

    name: ClassVar[str] = "contingency-table"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_dense(self.attributes)

    @classmethod
    def calibrated(
        cls, within: Loss, *, attributes: Attributes, marginals: Sequence[Sequence[str]], unit: Unit = ROW
    ) -> Self:
        """Return the least noise whose loss for one unit is within ``within``; geometric for a pure target."""
        checked_sets(attributes, marginals)
        _check_dense(attributes)
        node = node_within(within, attributes, (_all(attributes),), (1,), unit)
        return cls(attributes=attributes, marginals=marginals, unit=unit, node=node)

    @cached_property
    def measurement(self) -> Measurement:
        """The one draw."""
        return Measurement(self.attributes, (_all(self.attributes),), (1,), self.node, self.unit)

    @property
    def nodes(self) -> tuple[CountNoise, ...]:
        """The noise."""
        return (self.node,)

    @property
    def cell_variance(self) -> float:
        """The variance of a cell of the full table."""
        return variance_of(self.node)

    def plan(self) -> Plan:
        """One draw for all cells."""
        return self.measurement.plan()

    @cached_property
    def marginal_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each marginal: the table's cell variance times the number of cells it sums."""
        return tuple(self.cell_variance * (self.attributes.cells // size) for size in self.sizes)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the marginals of the noisy table."""
        (noisy,) = self.measurement.draw(data, run).values()
        parts = []
        for axes in self.sets:
            dropped = tuple(axis for axis in _all(self.attributes) if axis not in axes)
            parts.append(np.asarray(noisy.sum(axis=dropped)).ravel())
        return np.concatenate(parts)


def _all(attributes: Attributes) -> Axes:
    return tuple(range(len(attributes.names)))


def _check_dense(attributes: Attributes) -> None:
    # NumPy has no arrays of more axes.
    if attributes.cells > MOST_CELLS or len(attributes.names) > 32:
        rule = (
            f"at most 32, with at most {MOST_CELLS} cells together; residual-planner and noisy-marginals release "
            "marginals of larger tables without writing them out"
        )
        raise InvalidParameter("attributes", f"{len(attributes.names)} with {attributes.cells} cells", rule)
