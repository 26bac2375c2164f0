"""Data cubes: measure a few cuboids, and compute all requested ones from them.

For the cuboids of a small lattice under pure differential privacy. A cuboid that is computed from a finer one adds up
noise; measuring more cuboids leaves less budget for each. The choice minimises the largest noise of any cuboid that is
asked for, or maximises the number of cuboids with less noise than a stated one, and needs no data (``cuboids``).
Correction: the released cuboids are combined by least squares over all of them, which is consistent and never
worse than the single finer cuboid that the choice counts with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.lift.attributes import Attributes, Axes, checked_sets
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Unit
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.marginals.common import Counter, DrawnMarginals, Names, stability_of
from dither.publish.marginals.cuboids import choose_cuboids, choose_most_precise
from dither.publish.marginals.interactions import cell_variance, fit, fitted_spreads
from dither.publish.marginals.measuring import Measurement, node_within


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3]])
    whole_cube = DataCubes(attributes=table, marginals=[["a"], ["b"]], cuboids=[["a", "b"]], node=Geometric(scale=1))
    yield Example(whole_cube, rows)
    two = DataCubes(
        attributes=table,
        marginals=[["a"], ["b"]],
        cuboids=[["a", "b"], ["b"]],
        node=DiscreteGaussian(sigma=2),
        unit=ROW_REPLACED,
    )
    yield Example(two, rows)


@register(
    examples=_examples,
    source="Differentially Private Data Cubes (Ding, Winslett, Han, Li 2011); Differential Privacy and "
    "Applications (Zhu et al. 2017), section 5.2.2",
)
@dataclass(frozen=True, kw_only=True)
class DataCubes(DrawnMarginals):
    """Measure a few cuboids, and release all requested ones from them by least squares.

    Guarantee: records ``d_in`` rows apart lose what ``node`` loses at ``d_in`` times the number of cuboids (geometric
    noise) or its root (Gaussian noise); replaced rows twice that, or the root of 2 times it.

    Args:
        attributes: names and sizes; public.
        marginals: the requested cuboids, sets of names; public.
        unit: ROW, ROW_REPLACED, or ROW_EXCHANGED for rows that may be exchanged for none.
        cuboids: the cuboids that are measured, sets of names; public. Each requested one lies within one of them.
        node: the noise of one count.

    >>> from dither.privacy import PureDP
    >>> table = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> cubes = DataCubes.calibrated(PureDP(1), attributes=table, marginals=[[], ["sex"], ["age"], ["sex", "age"]])
    >>> cubes.cuboids, cubes.node.scale
    ((('sex',), ('sex', 'age')), Fraction(2, 1))

    """

    name: ClassVar[str] = "data-cubes"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    cuboids: Names = Names()

    def __post_init__(self) -> None:
        super().__post_init__()
        measured = checked_sets(self.attributes, self.cuboids, "cuboids")
        object.__setattr__(self, "cuboids", tuple(self.attributes.named(axes) for axes in measured))
        orders = {len(axes) for axes in self.sets}
        held = {axes for cuboid in measured for order in orders for axes in combinations(cuboid, order)}
        for axes in self.sets:
            if axes not in held:
                rule = f"a list of which one holds {self.attributes.named(axes)}"
                raise InvalidParameter("cuboids", self.cuboids, rule)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        marginals: Sequence[Sequence[str]],
        unit: Unit = ROW,
        cuboids: Sequence[Sequence[str]] | None = None,
        precise_below: Number | None = None,
    ) -> Self:
        """Return the mechanism with the least noise whose loss for data one unit apart is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            marginals: the requested cuboids, sets of names.
            unit: ROW, ROW_REPLACED, or ROW_EXCHANGED for rows that may be exchanged for none.
            cuboids: the cuboids that are measured; None for a choice.
            precise_below: choose such that most requested cuboids have a variance a cell of at most this; None chooses
                such that the largest variance is least.

        """
        asked = checked_sets(attributes, marginals)
        if cuboids is None:
            power = 2 if Purse.within(within).is_pure else 1
            if precise_below is None:
                measured = choose_cuboids(attributes, asked, power)
            else:
                alone = node_within(within, attributes, (max(asked, key=attributes.cells_of),), (1,), unit)
                most = float(positive("precise_below", precise_below)) / variance_of(alone)
                measured = choose_most_precise(attributes, asked, most, power)
            cuboids = [attributes.named(axes) for axes in measured]
        elif precise_below is not None:
            raise InvalidParameter("precise_below", precise_below, "not allowed where the cuboids are stated")
        else:
            measured = checked_sets(attributes, cuboids, "cuboids")
        node = node_within(within, attributes, measured, (1,) * len(measured), unit)
        return cls(attributes=attributes, marginals=marginals, unit=unit, cuboids=cuboids, node=node)

    @cached_property
    def counted(self) -> tuple[Axes, ...]:
        """The cuboids that are measured."""
        return tuple(self.attributes.axes(names) for names in self.cuboids)

    @cached_property
    def measurement(self) -> Measurement:
        """The one draw."""
        return Measurement(self.attributes, self.counted, (1,) * len(self.counted), self.node, self.unit)

    @cached_property
    def part(self) -> CountNoise:
        """The noise for all cells."""
        return self.measurement.part

    def moved(self, unit: Unit) -> Fraction:
        """Return how far all cuboids move together per unit."""
        weights, sizes = self.measurement.weights, self.measurement.sizes
        return stability_of(self.node, unit, weights, sizes)

    @cached_property
    def marginal_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each cuboid."""
        spreads = fitted_spreads(self.attributes, self.measurement.variances)
        return tuple(cell_variance(self.attributes, spreads, axes) for axes in self.sets)

    def measurements(self, count: Counter) -> NDArray[np.int64]:
        """Return the counts of all measured cuboids."""
        return self.measurement.weighted(count)

    def estimates(self, noisy: NDArray[Any]) -> Floats:
        """Return the requested cuboids, consistent with one another."""
        tables = self.measurement.unweighted(noisy)
        return fit(self.attributes, tables, self.measurement.variances).flat(self.sets)
