"""Groups of attributes from private moments: counts, sums and products of all pairs, measured once with exact noise.

For finding attributes that belong together before their joint histograms are paid for. Codes are read as equally spaced
numbers from -1 to 1, on a grid of integers, so that moments are whole and their sensitivity is known exactly.
Cost: a marginal for every pair of attributes. Corrections: principal components of the bare data, their variances and
the groups made of them are releases for which the printed method does not pay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Of, OneOf, Probability, Whole, sqrt_up
from dither.lift.attributes import MOST_CELLS, Attributes
from dither.lift.records import Records, counts_of, records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Loss, Metric, Plan, Use
from dither.publish.histograms.common import variance_of
from dither.publish.microdata.grouping import RULES, Groups, correlations_of, grouped

#: Integers from -GRID to GRID stand for numbers from -1 to 1.
GRID: Final = 16
_MOST_ATTRIBUTES: Final = 512
_STANDARD_DEVIATIONS: Final = 3.0


@dataclass(frozen=True)
class Grouping:
    """Released groups, and the correlations behind them.

    Args:
        groups: the names of the attributes of each group; every attribute is in one.
        correlations: a noisy one for every two attributes.

    """

    groups: Groups
    correlations: PublicArray

    def __repr__(self) -> str:
        return f"Grouping({', '.join(' + '.join(group) for group in self.groups)})"


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3, "c": 1})
    rows = np.array([[0, 1, 0], [1, 2, 0], [5, -3, 9]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(MomentGrouping(attributes=table, node=DiscreteGaussian(sigma=4)), rows, pairs)
    yield Example(MomentGrouping(attributes=table, node=Geometric(scale=2), rule="components"), rows, pairs)


@register(
    examples=_examples,
    source="A study on privacy preserving data publishing with differential privacy (Kar 2017), section 3.4.2; Analyze "
    "Gauss (Dwork, Talwar, Thakurta, Zhang 2014) for noise on a matrix of second moments",
)
@dataclass(frozen=True, kw_only=True)
class MomentGrouping(Composed[Any, Grouping]):
    """Measure the number of records, all sums and all products of two attributes, and use them to group attributes.

    Guarantee: records ``d_in`` apart lose what ``node`` loses at ``d_in`` times m (geometric noise) or the root of m
    (Gaussian noise), where m = 1 + p + p (p + 1) / 2 for p attributes that have more than one value.

    Args:
        attributes: names and sizes; public.
        node: the noise of a moment, for moments of numbers from -1 to 1.
        rule: ``correlation``, ``components`` or ``variance``.
        most_cells: how many combinations a group may have.
        least: the least mean absolute correlation that joins groups, for the rule ``correlation``.

    >>> from dither.privacy import PureDP
    >>> grouping = MomentGrouping.calibrated(PureDP(1), attributes=Attributes.of({"a": 2, "b": 5, "c": 9}))
    >>> grouping.moments, grouping.loss(1), grouping.node.scale
    (10, PureDP('1'), Fraction(10, 1))

    """

    name: ClassVar[str] = "moment-grouping"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "groups are right or wrong only with regard to what is done with them"
    no_interval_because: ClassVar[str] = "groups of attributes have no interval"

    attributes: Of[Attributes] = Of(Attributes)
    node: OneCount = OneCount()
    rule: OneOf = OneOf(*RULES, default=RULES[0])
    most_cells: Whole = Whole(2**10, least=1, most=MOST_CELLS)
    least: Probability = Probability(Fraction(1, 10))

    def __post_init__(self) -> None:
        if len(self.attributes.sizes) > _MOST_ATTRIBUTES:
            raise InvalidParameter("attributes", f"{len(self.attributes.sizes)} of them", f"at most {_MOST_ATTRIBUTES}")
        for first, second in combinations_with_replacement(sorted(self.attributes.sizes)[-2:], 2):
            if first * second > MOST_CELLS:
                raise InvalidParameter("attributes", f"{first} and {second} values", f"pairs of {MOST_CELLS} at most")

    @classmethod
    def calibrated(cls, within: Loss, *, attributes: Attributes, **parameters: Any) -> Self:
        """Return the least noise within ``within`` for records 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            parameters: the other fields: ``rule``, ``most_cells``, ``least``.

        """
        moments = Fraction(moments_of(attributes))
        return cls(attributes=attributes, node=Purse.within(within).noise(moments, sqrt_up(moments)), **parameters)

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @property
    def moments(self) -> int:
        """The number of moments that a record can move."""
        return moments_of(self.attributes)

    @cached_property
    def part(self) -> CountNoise:
        """The noise for all moments, on the grid: GRID^2 times as wide."""
        width = len(self.attributes.sizes)
        shape, unit = (1 + width + width * (width + 1) // 2,), GRID * GRID
        if isinstance(self.node, Geometric):
            return replace(self.node, scale=self.node.scale * unit, shape=shape)
        return replace(self.node, sigma=self.node.sigma * unit, shape=shape)

    @cached_property
    def stability(self) -> Fraction:
        """How far all moments move together per record: each that can move, by at most GRID^2."""
        root = isinstance(self.node, DiscreteGaussian)
        return GRID * GRID * (sqrt_up(Fraction(self.moments)) if root else Fraction(self.moments))

    def plan(self) -> Plan:
        """One draw for all moments."""
        return Use(self.part, self.stability)

    def release(self, data: Any, run: Runner) -> Grouping:
        """Return the groups."""
        exact = measured_moments(records_of(self.attributes, data))
        noisy = np.asarray(run(self.part, exact, stability=self.stability), dtype=np.float64) / GRID**2
        covariances = covariances_of(noisy, len(self.attributes.sizes))
        # A covariance within a few standard deviations of the noise may be nothing but noise.
        reach = _STANDARD_DEVIATIONS * math.sqrt(variance_of(self.node)) / max(float(noisy[0]), 1.0)
        groups = grouped(self.attributes, covariances, self.rule, self.most_cells, float(self.least), reach)
        return Grouping(groups, PublicArray(correlations_of(covariances, reach)))


def moments_of(attributes: Attributes) -> int:
    """Return how many moments a record can move: the count, and the sums and products of attributes that vary."""
    varying = sum(size > 1 for size in attributes.sizes)
    return 1 + varying + varying * (varying + 1) // 2


def numbers_on_grid(size: int) -> NDArray[np.int64]:
    """Return the integers from -GRID to GRID that an attribute's codes stand for; 0 if there is only one code.

    >>> numbers_on_grid(3).tolist(), numbers_on_grid(1).tolist()
    ([-16, 0, 16], [0])

    """
    if size == 1:
        return np.zeros(1, dtype=np.int64)
    return (2 * GRID * np.arange(size, dtype=np.int64) + (size - 1) // 2) // (size - 1) - GRID


def measured_moments(records: Records) -> NDArray[np.int64]:
    """Return GRID^2 times the number of records, GRID times every sum, and every product of two attributes. Private."""
    sizes = records.attributes.sizes
    numbers = [numbers_on_grid(size) for size in sizes]
    sums, products = [], []
    for first, here in enumerate(numbers):
        single = _held(counts_of(records, (first,)))
        sums.append(GRID * int(single @ here))
        products.append(int(single @ (here * here)))
        for second in range(first + 1, len(sizes)):
            pair = _held(counts_of(records, (first, second)))
            products.append(int(here @ pair @ numbers[second]))
    total = int(_held(counts_of(records, ()).reshape(1))[0])
    return np.array([GRID * GRID * total, *sums, *products], dtype=np.int64)


def _held(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts clipped so that no moment overflows; this moves no two tables farther apart."""
    return np.minimum(counts, LARGEST_VALUE // (GRID * GRID * counts.size))


def covariances_of(moments: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return estimated covariances, from noisy moments, of numbers from -1 to 1: post-processing."""
    total = max(float(moments[0]), 1.0)
    means = moments[1 : 1 + width] / total
    products = np.zeros((width, width))
    products[np.triu_indices(width)] = moments[1 + width :] / total
    products += np.triu(products, 1).T
    return products - np.outer(means, means)
