"""A response table: report a category for a category, by a public table of whole weights.

For responses that were optimised elsewhere: whatever a solver says, the loss is that of the integers that are sampled,
for each unit of a public distance between categories. Cost: one draw. Nothing is rounded when it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, non_negative
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import Category
from dither.noise import Noise
from dither.privacy import Loss, Metric, PureDP

MOST_CATEGORIES: Final = 1024
#: The sum of a row of weights.
TOTAL: Final = 2**52
# Logarithms of such integers, and quotients of them, are right to far less than this.
_MARGIN: Final = 1e-12
_RULE = "a square table of integers above 0, a row for each category, all rows with the sum 2^52"


def _examples() -> Iterator[Example]:
    rows = np.array([[4, 2, 2], [2, 4, 2], [1, 2, 5]]) * (TOTAL // 8)
    yield Example(ResponseTable(weights=rows, apart=1 - np.eye(3)), 0)


class Apart(Metric):
    """A public distance between categories."""

    def __init__(self, apart: PublicArray) -> None:
        super().__init__("APART", "a public distance between categories")
        self._apart = apart

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the distance of two categories."""
        domain = Category(len(self._apart.values))
        return Fraction(float(self._apart.values[domain.admit(first), domain.admit(second)]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Apart) and self._apart == other._apart

    def __hash__(self) -> int:
        return hash(self._apart)


@register(
    examples=_examples,
    source="Optimal Geo-Indistinguishable Mechanisms for Location Privacy (Bordenabe et al. 2014), section 3",
)
@dataclass(frozen=True, kw_only=True)
class ResponseTable(Primitive[Any, int]):
    """Report a category for a category, by a table of whole weights.

    Guarantee: categories ``d_in`` apart lose epsilon = ``rate * d_in``, the rate being the largest logarithm of a ratio
        of
    weights of two categories for each unit of their distance.

    Args:
        weights: for each true category a row, for each reported one a column.
        apart: the public distance between any two categories, above 0 but for equal ones.

    >>> weights = [[TOTAL // 4 * 3, TOTAL // 4], [TOTAL // 2, TOTAL // 2]]
    >>> table = ResponseTable(weights=weights, apart=[[0, 100], [100, 0]])
    >>> round(float(table.loss(100).epsilon), 6)
    0.693147

    """

    name: ClassVar[str] = "response-table"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a report is one of several categories; their error depends on a prior"
    no_interval_because: ClassVar[str] = "a category has no interval"

    weights: Array = Array("int", axes=2, least=2, most=MOST_CATEGORIES, rule=_RULE)
    apart: Array = Array(
        "float",
        axes=2,
        least=2,
        most=MOST_CATEGORIES,
        within=(0, 1e12),
        rule="distances of at least 10^-6, the same both ways",
    )

    def __post_init__(self) -> None:
        """Refuse a table of another shape, rows without the common sum, and distances that are none."""
        table, away = self.weights.values, self.apart.values
        count = len(table)
        if table.shape != (count, count) or table.min() < 1 or not (table.sum(axis=1) == TOTAL).all():
            raise InvalidParameter("weights", self.weights, _RULE)
        others = ~np.eye(count, dtype=bool)
        if away.shape != table.shape or (away != away.T).any() or away.diagonal().any() or away[others].min() < 1e-6:
            raise InvalidParameter(
                "apart", self.apart, "distances of at least 10^-6, the same both ways, for the same categories"
            )

    @property
    def distance(self) -> Metric:
        """The public distance between categories."""
        return Apart(self.apart)

    @property
    def domain(self) -> Category:
        """The number of a category; one out of range is the nearest."""
        return Category(len(self.weights.values))

    @cached_property
    def rate(self) -> Fraction:
        """The smallest epsilon for each unit of distance that holds for all pairs, never too small."""
        logs = np.log(self.weights.values.astype(np.float64))
        worst = Fraction(0)
        for row in range(1, len(logs)):
            rates = (np.abs(logs[:row] - logs[row]).max(axis=1) + _MARGIN) / self.apart.values[row, :row]
            worst = max(worst, Fraction(float(rates.max() * (1 + _MARGIN))))
        return worst

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the rate times ``d_in``."""
        return PureDP(non_negative("d_in", d_in) * self.rate)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent reports: a uniform integer below the sum falls to one column."""
        row = self.weights.values[self.domain.admit(value)]
        drawn = np.asarray(noise.uniform_below(TOTAL, count), dtype=np.int64)
        return np.searchsorted(np.cumsum(row), drawn, side="right").astype(np.int64)
