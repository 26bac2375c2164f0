"""The identity histogram: noise on every cell.

For a few dozen cells, for cells that are read one by one, and as the yardstick of every other method. Cost: one pass
over the cells. Corrections: noise is discrete, so that no floating-point digit tells the count; and the error of a sum
of cells grows with the root of their number, not with the number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Shape
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, L2, Loss, Metric, Plan, Use
from dither.publish.histograms.common import (
    check_cells,
    counts_of,
    neighbours,
    variance_of,
)


def _examples() -> Iterator[Example]:
    yield Example(IdentityHistogram(shape=3, node=Geometric(scale=1)), np.array([4, 0, 7]), neighbours((3,)))
    gaussian = IdentityHistogram(shape=(2, 2), node=DiscreteGaussian(sigma=2))
    yield Example(gaussian, np.array([[1, 2], [3, 4]]), neighbours((2, 2)))


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 4.2.1; A Survey on Differential Privacy "
    "and Applications, section 3.2.2",
)
@dataclass(frozen=True, kw_only=True)
class IdentityHistogram(Composed[Any, NDArray[np.float64]]):
    """Add noise to the count of every cell of a histogram of public shape.

    Guarantee: counts ``d_in`` apart, in L1 for geometric noise and in L2 for Gaussian noise, lose what ``node`` loses
    at ``d_in``.

    Args:
        shape: the cells along each axis; public.
        node: the noise for one cell.

    >>> IdentityHistogram(shape=(3, 4), node=Geometric(scale=2)).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "identity-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    shape: Shape = Shape()
    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        check_cells(self.shape)

    @classmethod
    def calibrated(cls, within: Loss, *, shape: int | tuple[int, ...]) -> Self:
        """Return the least noise within ``within`` for counts 1 apart; a pure target gives geometric noise."""
        return cls(shape=shape, node=Purse.within(within).noise())

    @property
    def distance(self) -> Metric:
        """L1 or L2, depending on the noise."""
        return L1 if isinstance(self.node, Geometric) else L2

    @property
    def part(self) -> CountNoise:
        """The noise for all cells."""
        return replace(self.node, shape=self.shape)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part)

    def variance(self, cells: int = 1) -> float:
        """Return the variance of the sum of ``cells`` cells."""
        return cells * variance_of(self.node)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every cell."""
        return self.part.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of every cell, all at once."""
        return self.part.interval(out, confidence)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the noisy counts."""
        return np.asarray(run(self.part, counts_of(data, self.shape)), dtype=np.float64)
