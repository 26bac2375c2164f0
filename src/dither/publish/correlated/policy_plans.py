"""Releases under a policy: histograms by the method with the least error for ranges, and linear queries.

Nothing here reads rows. The error of a histogram is that of the sum of a random range of its cells, computed exactly
from public numbers: for noise on single cells, on sums from the first cell (the ordered mechanism), on a tree, and on
both (the ordered hierarchical mechanism).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import DataSet
from dither.data.files import loads
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter
from dither.estimate.trees import TreeVariances, block_sums, fit_tree, mean_range_variance
from dither.lift.lifted import Lifted
from dither.lift.policies import PolicyQueries, PolicySums, UnderPolicy
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, add_examples
from dither.privacy import ZCDP, Loss, PureDP
from dither.publish.histograms.common import combination_reach, mean_prefix_variance, variance_of
from dither.publish.histograms.hierarchical import best_tree

Floats = NDArray[np.float64]
AUTO: Final = "auto"
METHODS: Final = ("cells", "ordered", "tree", "ordered-tree")
_BRANCHINGS: Final = (2, 4, 8, 16, 32)
#: Weights that are tried for sums from the first cell, beside 1 for the levels of a tree.
_ORDERED: Final = (1, 2, 3, 4, 6, 8)
#: Shares of the loss of the levels of a tree are multiples of one over this number.
_FINE: Final = 256


@dataclass(frozen=True)
class Shape:
    """A candidate: the weights of the levels of a tree, its branching, and the weight of sums from the first cell."""

    method: str
    weights: tuple[int, ...]
    branching: int = 2
    ordered: int = 0

    def source(self, dataset: DataSet) -> PolicySums:
        """Return what is read."""
        return PolicySums(dataset, self.weights, self.branching, self.ordered)


@dataclass(frozen=True)
class PolicyHistogram:
    """A planned histogram: its mechanism, and how cells follow from what it releases."""

    mechanism: Lifted
    shape: Shape
    because: str

    @property
    def source(self) -> PolicySums:
        """What is read."""
        source: PolicySums = self.mechanism.source  # type: ignore[assignment]
        return source

    def cells(self, out: Any) -> Floats:
        """Return the counts of all cells from what was released; the sum of a range is as exact as planned."""
        return cells_of_sums(self.source, np.asarray(out, dtype=np.float64))

    @cached_property
    def variances(self) -> RangeVariances:
        """The variances of sums of ranges."""
        return RangeVariances(self.source, variance_of(self.mechanism.method))  # type: ignore[arg-type]

    def reach(self, confidence: Fraction) -> float:
        """Return a bound on the error of every cell, for all cells simultaneously."""
        noise: Any = self.mechanism.method
        share = share_of_failure(confidence, self.source.cells)
        return combination_reach((noise,), self.variances.worst_cell, share)

    def error(self, confidence: Fraction) -> Bound:
        """Return the same as a statement."""
        return Bound(self.reach(confidence), confidence, "the largest absolute error of any cell")


@dataclass(frozen=True)
class RangeVariances:
    """Variances of sums of ranges of cells, for noise of one variance on all sums that are measured.

    Args:
        source: what is measured.
        noise: the variance of the noise.

    """

    source: PolicySums
    noise: float

    @cached_property
    def _block(self) -> TreeVariances | None:
        """The tree within one block whose end is measured; of all cells where none is."""
        if not self.source.weights:
            return None
        width = self.source.width if self.source.ordered else self.source.cells
        branchings = [(self.source.branching,)] * (len(self.source.weights) - 1)
        return TreeVariances.of((width,), branchings, [self.noise / weight**2 for weight in self.source.weights])

    @property
    def _tree(self) -> TreeVariances:
        """The tree, where there is one."""
        if self._block is None:
            raise InvalidParameter("weights", self.source.weights, "at least one level")
        return self._block

    def of_range(self, first: int, last: int) -> float:
        """Return the variance of the sum of the cells from ``first`` up to ``last`` - 1."""
        if not self.source.ordered:
            return float(self._tree.of_range(first, last))
        (block, before), (other, after) = divmod(first, self.source.width), divmod(last, self.source.width)
        if block == other:
            return float(self._block.of_range(before, after)) if self._block is not None else 0.0
        ends = self.noise / self.source.ordered**2
        return self._prefix(before) + self._prefix(after) + ends * (2 if block else 1)

    def _prefix(self, many: int) -> float:
        """Return the variance of the sum of the first cells of a block, fewer than all of them."""
        return float(self._block.of_range(0, many)) if self._block is not None and many else 0.0

    @cached_property
    def mean(self) -> float:
        """The mean variance over all ranges; exact where blocks divide the cells evenly."""
        source, width = self.source, self.source.width
        if not source.ordered:
            return _mean_of_tree(source, self.noise)
        # Ranges lie between two of the places 0, 1, ..., cells; a place has the blocks before it, and a part of one.
        ends, blocks = self.noise / source.ordered**2, -(-source.cells // width)
        cells = blocks * width
        inner = within = 0.0
        if self._block is not None:
            # All prefixes of a block are those of fewer cells and the whole; ranges that end with it mirror prefixes.
            prefixes = mean_prefix_variance(self._block) * width
            inner = prefixes - float(self._block.of_range(0, width))
            variances = [self.noise / one**2 for one in source.weights]
            ranges = mean_range_variance(width, source.branching, variances) * width * (width + 1) / 2
            within = ranges - prefixes
        alone = blocks * inner + ends * ((blocks - 1) * width + 1)
        total = alone * cells - (width - 1) * (blocks * inner + (blocks - 1) * width * ends) + blocks * within
        return total / (cells * (cells + 1) / 2)

    @cached_property
    def worst_cell(self) -> float:
        """At least the largest variance of a cell: of one within a block, or of the last one of a block."""
        if self._block is None:
            return 2 * self.noise / self.source.ordered**2
        inside = float(self._block.cells.max())
        if not self.source.ordered:
            return inside
        longest = max((self._prefix(many) for many in range(1, self.source.width)), default=0.0)
        return max(inside, longest + 2 * self.noise / self.source.ordered**2)


def _mean_of_tree(source: PolicySums, noise: float) -> float:
    return float(mean_range_variance(source.cells, source.branching, [noise / one**2 for one in source.weights]))


def cells_of_sums(source: PolicySums, out: Floats) -> Floats:
    """Return the counts of all cells from noisy sums: by least squares within blocks, whose ends are as measured.

    Args:
        source: what was measured.
        out: the noisy sums.

    """
    parts = np.split(out, np.cumsum(source.sizes)[:-1])
    levels = [part / weight for part, weight in zip(parts, source.weights, strict=False)]
    branchings = [(source.branching,)] * (len(levels) - 1)
    fitted = np.zeros(source.cells)
    if levels:
        fitted = fit_tree(levels, [1 / weight**2 for weight in source.weights], branchings).cells
    if not source.ordered:
        return np.asarray(fitted, dtype=np.float64)
    sums = np.diff(parts[-1] / source.ordered, prepend=0.0)
    last = np.minimum((np.arange(len(sums)) + 1) * source.width, source.cells) - 1
    fitted[last] += sums - block_sums(fitted, (source.width,))
    return np.asarray(fitted, dtype=np.float64)


def shapes_of(source: UnderPolicy, *, is_pure: bool) -> Iterator[Shape]:
    """Yield the candidates for a histogram under a policy.

    Args:
        source: about its cells.
        is_pure: whether noise is paid by what moves in L1.

    """
    yield Shape("cells", (1,))
    if len(source.shape) > 1 or source.cells < 4 or not all(axis.is_ordered for axis in source.axes):
        return
    yield Shape("ordered", (), 2, 1)
    fan, shares = best_tree(source.cells, is_pure)
    parts = [share if is_pure else math.sqrt(share) for share in shares]
    yield Shape("tree", tuple(max(1, round(_FINE * part)) for part in parts), fan)
    for branching in _BRANCHINGS:
        for levels in range(1, 21):
            width = branching**levels
            if levels > 1 and branching ** (levels - 1) < source.cells:
                yield Shape("tree", (1,) * levels, branching)
            if width >= source.cells:
                break
            # Within wide blocks a tree is as good on all cells.
            if width <= 256:
                yield from (Shape("ordered-tree", (1,) * levels, branching, ordered) for ordered in _ORDERED)


def plan_policy_histogram(dataset: DataSet, loss: Loss, *, method: str = AUTO) -> PolicyHistogram:
    """Return the histogram of the columns of a policy.

    Args:
        dataset: the schema, whose unit is a value.
        loss: of one allowed move.
        method: one of ``METHODS``, or "auto" for the least mean variance over all ranges.

    """
    if method not in (AUTO, *METHODS):
        raise InvalidParameter("method", method, f"one of {', '.join((AUTO, *METHODS))}")
    probe, is_pure = PolicySums(dataset, (1,)), Purse.within(loss).is_pure
    allowed = [shape for shape in shapes_of(probe, is_pure=is_pure) if method in (AUTO, shape.method)]
    if not allowed:
        rule = "'cells' or 'auto': sums of ranges need one column whose values have an order"
        raise InvalidParameter("method", method, rule)
    scored: list[tuple[float, int, Shape]] = []
    for shape in allowed:
        source = shape.source(dataset)
        one, two = source.moved_by_edge
        unit = 2.0 * one**2 if is_pure else two / 2
        single = len(allowed) == 1 or len(probe.shape) > 1
        scored.append((unit * (1.0 if single else RangeVariances(source, 1.0).mean), len(scored), shape))
    _, _, best = min(scored)
    because = "as asked" if method != AUTO else f"the least error of ranges among {', '.join(_names(allowed))}"
    return PolicyHistogram(_measured(loss, best.source(dataset)), best, because)


def _names(shapes: Sequence[Shape]) -> list[str]:
    return list(dict.fromkeys(shape.method for shape in shapes))


def plan_policy_queries(dataset: DataSet, queries: Sequence[Sequence[int]], loss: Loss) -> Lifted:
    """Return the release of linear queries on the cells of a policy, with noise for its exact sensitivity.

    Args:
        dataset: the schema, whose unit is a value.
        queries: a row of integer weights for each query.
        loss: of one allowed move.

    """
    return _measured(loss, PolicyQueries(dataset, tuple(tuple(map(int, row)) for row in queries)))


def _measured(loss: Loss, source: PolicySums | PolicyQueries) -> Lifted:
    def build(each: Loss) -> Any:
        return replace(Purse.within(each).noise(), shape=(source.size,))

    return Lifted.calibrated(loss, source=source, build=build)


def _examples() -> Iterator[Example]:
    line = "{columns: [cost], graph: line}"
    for policy, source, within in (
        (line, lambda d: PolicySums(d, (), 2, 1), PureDP(1)),
        ("{columns: [cost], graph: threshold, threshold: 3}", lambda d: PolicySums(d, (1,), 4, 2), ZCDP("1/8")),
        ("{columns: [site, cost], graph: attribute}", lambda d: PolicyQueries(d, (tuple(range(10)),)), PureDP(1)),
    ):
        dataset = loads(_CLINIC.format(policy=policy))
        planned = _measured(within, source(dataset))

        def engine(*values: Any, dataset: DataSet = dataset) -> ReferenceEngine:
            rows = [{"site": site, "cost": cost} for site, cost in (*values, ("north", None), (None, 3), ("x", 4))]
            return ReferenceEngine(dataset, {"visits": rows})

        few = (("north", 0), ("south", 2), ("south", 4))
        # A value beyond its bounds counts as the bound; what is in no cell stays in none.
        moved = [((("north", 1), *few), (("north", 2), *few)), ((*few, ("south", 3)), (*few, ("south", 9)))]
        neighbours = tuple((engine(*here), engine(*there), 1) for here, there in moved)
        yield Example(planned, engine(*few), neighbours)


_CLINIC: Final = """
dataset: clinic
unit: value
tables:
  visits:
    source: visits.csv
    policy: {policy}
    columns:
      site: {{kind: text, categories: [north, south]}}
      cost: {{kind: integer, bounds: [0, 4]}}
"""
add_examples(Lifted.name, _examples)
