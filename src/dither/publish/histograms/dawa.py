"""DAWA: runs of even counts are found, and a tree of noisy counts is averaged over them.

For range queries on ordered cells of which many neighbours are alike: sparse, clustered or smooth data. Cost: linear in
the cells, 0.02 s for 4,096; a bought partition adds its own (``partition``). Corrections: a run hides what its counts
differ by, and a private choice of runs takes budget from the measurement, so that the printed algorithm loses to its
own tree where counts are large. Here the tree is over the cells, runs are averages that its released numbers have to
support, and by default they are found in these numbers alone, which is free. Averages stay within the noise of the
tree's own estimates, so that every cell has an interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.even_trees import fit_even_tree
from dither.estimate.trees import block_sums, fit_tree
from dither.exact import NonNegative, Number, Whole
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import Epsilon
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.privacy import L1, InOrder, Loss, Metric, Plan, PureDP, Use
from dither.publish.histograms.common import Share, counts_of, neighbours, variance_of, with_largest_epsilon
from dither.publish.histograms.hierarchical import HierarchicalHistogram
from dither.publish.histograms.partition import LeastCostPartition

_MOST_CELLS = 2**17
# Found on histograms of many shapes and sizes, none of them private: less takes noise for structure, more misses it.
_CAUTION = Fraction(1, 2)
#: Averages leave the tree's estimates by no more than these err in all cells at once with this probability.
_NEAR = Fraction(19, 20)


class _Part(NonNegative):
    """A share of a budget, or 0 for none."""

    def convert(self, name: str, value: Any) -> Fraction:
        """Return the exact rational."""
        part = super().convert(name, value)
        return part if part == 0 else Share().convert(name, part)

    def offenders(self) -> Iterator[Any]:
        """Return what is not a share, but for 0."""
        yield from (one for one in Share().offenders() if one != 0)


def _examples() -> Iterator[Example]:
    yield Example(Dawa(cells=3, epsilon=1), np.array([4, 4, 7]), neighbours((3,)))
    yield Example(Dawa(cells=3, epsilon=1, share="1/2"), np.array([4, 4, 7]), neighbours((3,)))


@register(
    examples=_examples,
    source="A Data- and Workload-Aware Algorithm for Range Queries Under Differential Privacy (Li, Hay, Miklau 2014); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.2",
)
@dataclass(frozen=True, kw_only=True)
class Dawa(Composed[Any, NDArray[np.float64]]):
    """Release the counts of ordered cells from a noisy tree, averaged over runs of cells that look alike.

    Guarantee: counts ``d_in`` apart in L1 lose at most epsilon = ``epsilon * d_in``.

    Args:
        cells: the number of cells; public.
        epsilon: the total cost of one unit.
        share: the part of epsilon that pays for a private partition into runs, as a guess of where they lie; 0 to find
            them in the released tree alone.

    >>> Dawa(cells=100, epsilon="1/2").loss(1) <= PureDP("1/2")
    True

    """

    name: ClassVar[str] = "dawa"
    version: ClassVar[int] = 4
    numerics: ClassVar[Numerics] = Numerics.EXACT

    cells: Whole = Whole(least=1, most=_MOST_CELLS)
    epsilon: Epsilon = Epsilon()
    share: _Part = _Part(0)

    def __post_init__(self) -> None:
        refused: InvalidParameter | None = None
        try:
            _ = self.plan()
        except InvalidParameter as refusal:
            refused = refusal
        if refused is not None:
            rule = f"an epsilon whose noise can be drawn: its {refused.parameter} must be {refused.rule}"
            raise InvalidParameter("epsilon", self.epsilon, rule)

    @classmethod
    def calibrated(cls, within: Loss, *, cells: int, share: Any = 0) -> Self:
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
        """The budget of the tree."""
        return PureDP((1 - self.share) * self.epsilon)

    @cached_property
    def tree(self) -> HierarchicalHistogram:
        """The tree over the cells: the best for all ranges among those whose blocks can be halved."""
        return HierarchicalHistogram.calibrated(self.measuring, cells=self.cells, halving=True)

    @cached_property
    def leeway(self) -> float:
        """How far a published count may lie from the tree's own estimate."""
        return self.tree.error(_NEAR).value

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every cell: that of the tree, and how far averages may leave its estimates."""
        plain = self.tree.error(confidence)
        return replace(plain, value=plain.value + self.leeway)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of every cell, all at once."""
        bound = self.error(confidence)
        return Interval(out - bound.value, out + bound.value, bound.confidence)

    def plan(self) -> Plan:
        """Choose the partition if it is paid for, then draw each level of the tree."""
        chosen = (Use(self.partition),) if self.share else ()
        return InOrder((*chosen, *(Use(part) for part in self.tree.parts)))

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return the counts of the cells, averaged over all descriptions by even blocks, near the tree's estimates."""
        blocks = counts_of(data, (self.cells,))
        begins = run(self.partition, blocks) if self.share else None
        noisy = []
        for level, part in enumerate(self.tree.parts):
            blocks = block_sums(blocks, (self.tree.branching,)) if level else blocks
            noisy.append(np.asarray(run(part, blocks), dtype=np.float64))
        variances = [variance_of(node) for node in self.tree.levels]
        averages = fit_even_tree(noisy, variances, self.tree.branching, begins)
        plain = fit_tree(noisy, variances, [(self.tree.branching,)] * (len(noisy) - 1)).cells
        return np.clip(averages, plain - self.leeway, plain + self.leeway)
