"""The sorted histogram: how many cells have each count, without telling which cells.

For degree sequences, the sizes of groups, rank plots. Sorting moves no two histograms farther apart, so the noise is
that of one cell, and the known order takes most of it away again. Cost: one sort and linear time, or cells * top for
the posterior mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import isotonic
from dither.estimate.ordered import posterior_of_sorted
from dither.exact import Maybe, Whole
from dither.lift.axes import MOST_CELLS
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, L2, Loss, Metric, Plan, Use
from dither.publish.histograms.common import counts_of, neighbours, variance_of


def _examples() -> Iterator[Example]:
    yield Example(SortedHistogram(cells=3, node=Geometric(scale=1)), np.array([4, 0, 7]), neighbours((3,)))
    bayes = SortedHistogram(cells=3, node=Geometric(scale=1), top=8)
    yield Example(bayes, np.array([4, 0, 7]), neighbours((3,)))


@register(
    examples=_examples,
    source="Boosting the Accuracy of Histograms (Hay et al. 2010), section 3; Information Preservation in Statistical "
    "Privacy and Bayesian Estimation of Unattributed Histograms (Lin, Kifer 2013); Differential Privacy and "
    "Applications (Zhu et al. 2017), section 4.2.3",
)
@dataclass(frozen=True, kw_only=True)
class SortedHistogram(Composed[Any, NDArray[np.float64]]):
    """Release the counts of a histogram in increasing order, without the cells they belong to.

    Guarantee: counts ``d_in`` apart, in L1 for geometric noise and in L2 for Gaussian noise, lose what ``node`` loses
    at ``d_in``.

    Args:
        cells: the number of cells; public.
        node: the noise for one count.
        top: the largest possible count, public: asks for the posterior mean; None for the nearest sequence in order.

    >>> SortedHistogram(cells=100, node=Geometric(scale=2)).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "sorted-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much the order helps depends on how many counts are equal"
    no_interval_because: ClassVar[str] = no_error_because

    cells: Whole = Whole(least=1, most=MOST_CELLS)
    node: OneCount = OneCount()
    top: Maybe = Maybe(Whole(most=2**26))

    def __post_init__(self) -> None:
        if self.top is not None and self.cells * (self.top + 1) > 2**26:
            raise InvalidParameter("top", self.top, f"below 2^26 / {self.cells}, the number of cells")

    @classmethod
    def calibrated(cls, within: Loss, *, cells: int, top: int | None = None) -> Self:
        """Return the least noise within ``within`` for counts 1 apart; a pure target gives geometric noise."""
        return cls(cells=cells, node=Purse.within(within).noise(), top=top)

    @property
    def distance(self) -> Metric:
        """L1 or L2, depending on the noise; sorting increases neither."""
        return L1 if isinstance(self.node, Geometric) else L2

    @property
    def part(self) -> CountNoise:
        """The noise for all counts."""
        return replace(self.node, shape=(self.cells,))

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the estimates of the counts in increasing order."""
        noisy = np.asarray(run(self.part, np.sort(counts_of(data, (self.cells,)))), dtype=np.float64)
        if self.top is None:
            return isotonic(noisy)
        return posterior_of_sorted(noisy, self._log_likelihood, self.top)[0]

    def _log_likelihood(self, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(self.node, Geometric):
            return -np.abs(noise) / float(self.node.scale)
        return -(noise**2) / (2 * variance_of(self.node))
