"""DAWA: a private partition of ordered cells into even runs, measured by a tree over the runs.

For range queries on ordered cells of which many neighbours are alike: sparse, clustered or smooth data. Cost: see
``partition``; 0.1 s for 4,096 cells. Corrections: the partition is a choice with noise on every candidate cost, priced
as one choice (proof on the page), in integers; the shape of the tree follows from the released number of runs, and
its cost is fixed in advance by a filter. Where very many runs are found, the tree is over the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Epsilon
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.privacy import L1, InOrder, Loss, Metric, Plan, PureDP, Use, Within
from dither.publish.histograms.common import Share, bucket_sums, counts_of, neighbours, with_largest_epsilon
from dither.publish.histograms.hierarchical import HierarchicalHistogram
from dither.publish.histograms.partition import LeastCostPartition

_MOST_CELLS = 2**17
# Found on histograms of many shapes and sizes, none of them private: less takes noise for structure, more misses it.
_CAUTION = Fraction(1, 2)
# Without structure a partition has about a twelfth as many runs as there are cells.
_MANY_RUNS = Fraction(1, 5)


def _examples() -> Iterator[Example]:
    yield Example(Dawa(cells=3, epsilon=1, share="1/2"), np.array([4, 4, 7]), neighbours((3,)))


@register(
    examples=_examples,
    source="A Data- and Workload-Aware Algorithm for Range Queries Under Differential Privacy (Li, Hay, Miklau 2014); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.2",
)
@dataclass(frozen=True, kw_only=True)
class Dawa(Composed[Any, NDArray[np.float64]]):
    """Partition ordered cells privately into runs of similar counts, measure the runs with a tree, spread them evenly.

    Guarantee: counts ``d_in`` apart in L1, an integer, lose epsilon = ``epsilon * d_in``.

    Args:
        cells: the number of cells; public.
        epsilon: the total cost of one unit.
        share: the part of epsilon that pays for the partition.

    >>> Dawa(cells=100, epsilon="1/2").loss(1).epsilon
    Fraction(1, 2)

    """

    name: ClassVar[str] = "dawa"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts inside a run have an error that depends on the data"
    no_interval_because: ClassVar[str] = no_error_because

    cells: Whole = Whole(least=1, most=_MOST_CELLS)
    epsilon: Epsilon = Epsilon()
    share: Share = Share(Fraction(3, 20))

    def __post_init__(self) -> None:
        refused: InvalidParameter | None = None
        try:
            _ = self.partition
        except InvalidParameter as refusal:
            refused = refusal
        if refused is not None:
            rule = f"such that the partition can be drawn, whose {refused.parameter} must be {refused.rule}"
            raise InvalidParameter("epsilon", self.epsilon, rule)

    @classmethod
    def calibrated(cls, within: Loss, *, cells: int, share: Any = Fraction(3, 20)) -> Self:
        """Return the method whose loss for counts 1 apart is within ``within``."""
        return with_largest_epsilon(within, lambda epsilon: cls(cells=cells, epsilon=epsilon, share=share))

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def partition(self) -> LeastCostPartition:
        """The choice of the runs: the cost of a run is the error of its measurement plus the noise of its own cost.

        Without the second the least of many noisy costs is the one of the luckiest noise, whatever the counts.
        """
        scale = 4 / (self.share * self.epsilon)
        return LeastCostPartition(cells=self.cells, scale=scale, price=1 / self.measuring.epsilon, caution=_CAUTION)

    @property
    def measuring(self) -> PureDP:
        """The budget of the tree over the runs."""
        return PureDP((1 - self.share) * self.epsilon)

    def plan(self) -> Plan:
        """Choose the partition, then draw a tree over its runs."""
        return InOrder.of(Use(self.partition), Within(self.measuring, (HierarchicalHistogram,)))

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the estimate of each run, spread evenly over its cells."""
        counts = counts_of(data, (self.cells,))
        labels = np.cumsum(run(self.partition, counts)) - 1
        runs = int(labels[-1]) + 1
        if runs > _MANY_RUNS * self.cells:
            # So many are found where counts are far above the noise: what even runs hide is then more than they save.
            labels, runs = np.arange(self.cells), self.cells
        tree = HierarchicalHistogram.calibrated(self.measuring, cells=runs)
        fitted: NDArray[np.float64] = run.within()(tree, bucket_sums(counts, labels, runs))
        means = fitted / np.bincount(labels)
        return np.asarray(means[labels], dtype=np.float64)
