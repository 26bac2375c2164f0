"""The residual planner: Gaussian noise on interactions, with the least weighted sum of variances for any marginals.

For marginals of tables with many attributes, under zCDP: no linear method with Gaussian noise has a smaller sum of
variances, and the plan is a formula, so a hundred attributes are planned at once. Cost: one pass over the rows for each
marginal that is asked for, and sums over its subsets. Corrections: measurements are integers with exact stability,
n (I - 11'/n) along each attribute in place of a basis with correlated noise, so that discrete noise can be added entry
by entry at the same price; and the plan knows replaced rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, positive, sqrt_up
from dither.lift.attributes import Attributes, Axes, checked_sets
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import Purse, one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.privacy import ROW, ROW_EXCHANGED, ROW_REPLACED, ZCDP, Loss, Unit
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.marginals.common import Counter, DrawnMarginals, Weights
from dither.publish.marginals.interactions import Interactions, cell_variance, centred, centred_share, closure, subsets

#: The largest multiplier of a measurement: fine enough that rounding costs nothing that shows, and counts have room.
_FINEST = 2**26
#: Counts up to this one are measured as they are, whatever the weights.
_ROOM = 2**26


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3})
    rows = np.array([[0, 1], [1, 2], [5, -3]])
    yield Example(ResidualPlanner.calibrated(ZCDP(1), attributes=table, marginals=[["a", "b"], ["b"]]), rows)
    replaced = ResidualPlanner(
        attributes=table, marginals=[["a"]], weights=(3, 1), node=DiscreteGaussian(sigma=4), unit=ROW_REPLACED
    )
    yield Example(replaced, rows)


@register(
    examples=_examples,
    source="An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss Functions (Xiao, He, Zhang, "
    "Kifer 2023)",
    takes="gaussian",
)
@dataclass(frozen=True, kw_only=True)
class ResidualPlanner(DrawnMarginals):
    """Release marginals from noisy interactions, each measured as precisely as the requested marginals need it.

    Guarantee: records ``d_in`` rows apart lose rho = d_in^2 stability^2 / (2 sigma^2), where stability^2 is the sum
    over all measured sets T of weight^2 times the product of n (n - 1) over the attributes of T; under replacement
    each term counts 2 m / (m - 1) times, m being the smallest n of T, and that of no attributes not at all.

    Args:
        attributes: names and sizes; public.
        marginals: sets of names; public.
        unit: ROW, ROW_REPLACED, or ROW_EXCHANGED for rows that may be exchanged for none.
        weights: an integer for each measured set of attributes, in the order of ``measured``.
        node: the noise of one measurement.

    >>> table = Attributes(tuple("abcdefghi"), (10,) * 9)
    >>> planner = ResidualPlanner.calibrated(ZCDP("1/2"), attributes=table, marginals=table.every(2))
    >>> table.cells, len(planner.measured), planner.loss(1) <= ZCDP("1/2")
    (1000000000, 46, True)

    """

    name: ClassVar[str] = "residual-planner"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    weights: Weights = Weights()
    node: Of[DiscreteGaussian] = Of(DiscreteGaussian, **one_number(DiscreteGaussian))

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.weights) != len(self.measured):
            raise InvalidParameter("weights", len(self.weights), f"one for each of {len(self.measured)} measured sets")
        for axes, weight in zip(self.measured, self.weights, strict=True):
            if weight * _reach(self.attributes, axes) > LARGEST_VALUE // _ROOM:
                raise InvalidParameter("weights", weight, f"so small that counts up to {_ROOM} stay within 2^60")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        marginals: Sequence[Sequence[str]],
        unit: Unit = ROW,
        importance: Sequence[Number] | None = None,
    ) -> Self:
        """Return the plan of least weighted variance whose loss for data one unit apart is within ``within``.

        Args:
            within: the loss not to exceed, in rho or with a delta.
            attributes: names and sizes.
            marginals: sets of names.
            unit: ROW, ROW_REPLACED, or ROW_EXCHANGED for rows that may be exchanged for none.
            importance: the weight of each marginal's cell variance; None for 1 each.

        """
        purse, sets = Purse.within(within), checked_sets(attributes, marginals)
        plan = best_plan(attributes, sets, unit, importance)
        roots = {axes: 1 / math.sqrt(spread) if spread else 0.0 for axes, spread in plan.spreads.items()}
        finest = max(roots.values()) or 1.0
        # What does not move at all can be measured as finely as there are numbers.
        wanted = [roots[axes] / finest or 1.0 for axes in plan.spreads]
        cells = [attributes.cells_of(axes) for axes in plan.spreads]
        weights = [max(1, round(_FINEST * part / size)) for part, size in zip(wanted, cells, strict=True)]
        shared = math.gcd(*weights)
        draft = cls(
            attributes=attributes,
            marginals=marginals,
            unit=unit,
            weights=tuple(weight // shared for weight in weights),
            node=purse.gaussian_noise(1),
        )
        return replace(draft, node=purse.gaussian_noise(draft.stability))

    @cached_property
    def measured(self) -> tuple[Axes, ...]:
        """The sets of attributes whose interactions are measured: subsets of the requested sets, except constants."""
        return measured_sets(self.attributes, self.sets)

    @cached_property
    def part(self) -> DiscreteGaussian:
        """The noise for all measurements."""
        return replace(self.node, shape=(sum(self.attributes.cells_of(axes) for axes in self.measured),))

    def moved(self, unit: Unit) -> Fraction:
        """Return how far all measurements move together per unit."""
        squares = (
            weight**2 * squared_move(self.attributes, axes, unit)
            for axes, weight in zip(self.measured, self.weights, strict=True)
        )
        return sqrt_up(Fraction(max(sum(squares), 1)))

    @cached_property
    def spreads(self) -> dict[Axes, float]:
        """The factor u_T of the covariance of each interaction; 0 if an attribute has only one value."""
        unit = variance_of(self.node)
        known = dict.fromkeys(closure(self.sets), 0.0)
        for axes, weight in zip(self.measured, self.weights, strict=True):
            known[axes] = unit / (weight * self.attributes.cells_of(axes)) ** 2
        return known

    @cached_property
    def marginal_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each marginal."""
        return tuple(cell_variance(self.attributes, self.spreads, axes) for axes in self.sets)

    def measurements(self, count: Counter) -> NDArray[np.int64]:
        """Return the interactions of all measured sets, times their sizes and weights."""
        counted = _Counted(self.attributes, count, self.sets)
        taken = []
        for axes, weight in zip(self.measured, self.weights, strict=True):
            # Cutting counts off moves no two tables farther apart, and keeps all products in range.
            counts = np.minimum(counted.table(axes), LARGEST_VALUE // (weight * _reach(self.attributes, axes)))
            taken.append(whole_interaction(counts).ravel() * weight)
        return np.concatenate(taken)

    def estimates(self, noisy: NDArray[Any]) -> Floats:
        """Return the marginals, consistent with one another."""
        sizes = [self.attributes.cells_of(axes) for axes in self.measured]
        pieces = np.split(np.asarray(noisy, dtype=np.float64), np.cumsum(sizes)[:-1])
        tables = {axes: np.zeros(self.attributes.shape_of(axes)) for axes in closure(self.sets)}
        for axes, weight, size, piece in zip(self.measured, self.weights, sizes, pieces, strict=True):
            tables[axes] = centred((piece / (weight * size)).reshape(self.attributes.shape_of(axes)))
        return Interactions(self.attributes, tables).flat(self.sets)


class BestPlan(NamedTuple):
    """The best factors u_T for a loss of rho = 1/2, and the weighted sum of variances they give."""

    spreads: dict[Axes, float]
    total: float


def best_plan(
    attributes: Attributes, sets: Sequence[Axes], unit: Unit = ROW, importance: Sequence[Number] | None = None
) -> BestPlan:
    """Return the plan with the least weighted sum of the variances of all cells of all marginals.

    The sum is the sum over T of c_T u_T, and rho is half the sum of p_T / u_T, where p_T is how far the interaction
    moves, squared. By Cauchy and Schwarz the product of both sums is at least (sum of sqrt(c_T p_T))^2, which u_T
    proportional to sqrt(p_T / c_T) attains.
    """
    factors = [1.0] * len(sets) if importance is None else [float(positive("importance", each)) for each in importance]
    if len(factors) != len(sets):
        raise InvalidParameter("importance", len(factors), f"one number above 0 for each of {len(sets)} marginals")
    costs = dict.fromkeys(measured_sets(attributes, sets), 0.0)
    for axes, factor in zip(sets, factors, strict=True):
        cells = attributes.cells_of(axes)
        for chosen in subsets(axes):
            if chosen in costs:
                share = (attributes.cells_of(chosen) / cells) ** 2 * centred_share(attributes, chosen)
                costs[chosen] += factor * cells * share
    moves = {axes: squared_move(attributes, axes, unit) / attributes.cells_of(axes) ** 2 for axes in costs}
    root = math.fsum(math.sqrt(cost * moves[axes]) for axes, cost in costs.items())
    return BestPlan({axes: root * math.sqrt(moves[axes] / cost) for axes, cost in costs.items()}, root * root)


def measured_sets(attributes: Attributes, sets: Sequence[Axes]) -> tuple[Axes, ...]:
    """Return all subsets of the sets whose interactions are not 0 for all data."""
    return tuple(axes for axes in closure(sets) if all(attributes.sizes[axis] > 1 for axis in axes))


def whole_interaction(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the interaction of a table of counts times its number of cells: integers."""
    for axis, size in enumerate(counts.shape):
        counts = counts * size - counts.sum(axis=axis, keepdims=True)
    return counts


def squared_move(attributes: Attributes, axes: Axes, unit: Unit) -> int:
    """Return the exact square of how far the integer interaction moves per unit, in L2.

    A row that comes or goes moves it by the product of n (n - 1). A replaced row moves it farthest when it changes in
    the attribute of the fewest values alone: by 2 m / (m - 1) times that, which is never less. The number of rows
    does not move when rows are replaced, unless one may be exchanged for none.
    """
    sizes = attributes.shape_of(axes)
    moved = math.prod(size * (size - 1) for size in sizes)
    if unit == ROW:
        return moved
    if not sizes:
        return 1 if unit == ROW_EXCHANGED else 0
    return 2 * moved * min(sizes) // (min(sizes) - 1)


def _reach(attributes: Attributes, axes: Axes) -> int:
    """Return the largest entry of the integer interaction for counts of at most 1 in absolute value."""
    return math.prod(2 * (attributes.sizes[axis] - 1) for axis in axes)


class _Counted:
    """Marginals, each requested one counted once, and their subsets summed from those."""

    def __init__(self, attributes: Attributes, count: Counter, sets: Sequence[Axes]) -> None:
        self._count = count
        self._sources: dict[Axes, Axes] = {}
        for axes in sorted(sets, key=attributes.cells_of, reverse=True):
            # The last one to be written has the fewest cells.
            self._sources.update(dict.fromkeys(subsets(axes), axes))
        self._tables: dict[Axes, NDArray[np.int64]] = {}

    def table(self, axes: Axes) -> NDArray[np.int64]:
        source = self._sources[axes]
        if source not in self._tables:
            self._tables[source] = self._count(source)
        dropped = tuple(place for place, axis in enumerate(source) if axis not in axes)
        summed: NDArray[np.int64] = self._tables[source].sum(axis=dropped)
        return summed
