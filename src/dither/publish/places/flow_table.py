"""Flows: how many trips lead from every zone to every other, with the total kept.

For tables of origins and destinations, in which most pairs are empty and a few hold most of the trips. Every pair and
the total get noise; then every count is fitted to the distribution of counts among pairs whose product of departures
and arrivals is alike, which the noisy table itself suggests (``estimate.count_prior``), and all are scaled to the
total. Where zones lie in regions, the flows between regions are measured as well, and the counts of their pairs add up
to them. Cost: a few passes over the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.count_prior import fitted_counts
from dither.estimate.projections import non_negative_with_total
from dither.exact import Maybe, Of, Shape
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.common import bucket_sums, check_cells, counts_of, neighbours, variance_of

Floats = NDArray[np.float64]
Labels = tuple[tuple[int, ...], ...]

# Settled on a day of taxi trips between 265 zones; see the page.
_TOTAL: Final = Fraction(1, 20)
_REGIONS: Final = Fraction(1, 20)
_ROUNDS: Final = 2
#: Pairs of one group have expected flows between two of these quantiles from above.
_GROUPS: Final = 1 - np.geomspace(0.5, 0.001, 16)
#: A zone is taken to have at least this many standard errors of its sum of trips.
_LEAST: Final = 0.5


def _examples() -> Iterator[Example]:
    small = FlowTable(shape=(2, 3), cell=Geometric(scale=1), total=Geometric(scale=4))
    yield Example(small, np.array([[9, 0, 1], [30, 1, 0]]), neighbours((2, 3)))
    blocks = PublicArray(np.array([[0, 1, 1, 0]]))
    regional = FlowTable(
        shape=(2, 2), cell=Geometric(scale=2), total=Geometric(scale=4), region=Geometric(scale=4), blocks=blocks
    )
    yield Example(regional, np.array([[9, 0], [30, 1]]), neighbours((2, 2)))


@register(
    examples=_examples,
    source="Consistency of the Maximum Likelihood Estimator in the Presence of Infinitely Many Incidental Parameters "
    "(Kiefer, Wolfowitz 1956), for the prior; the mechanism is this project's own",
)
@dataclass(frozen=True, kw_only=True)
class FlowTable(Composed[Any, Floats]):
    """Release the trips between all zones from noisy pairs, fitted to how flows are distributed, and their total.

    Guarantee: counts ``d_in`` apart in L1 lose what ``cell``, ``total`` and ``region`` lose at ``d_in``, added up.

    Args:
        shape: the zones where trips begin and where they end; public.
        cell: the noise of a pair.
        total: the noise of the number of trips.
        region: the noise of a flow between regions, where there are any.
        blocks: for every pair, row by row, the number of its pair of regions, from 0; public.

    >>> from dither.privacy import PureDP
    >>> FlowTable.calibrated(PureDP(1), shape=(265, 265)).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "flow-table"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a count is fitted to others, and its error depends on how alike they are"
    no_interval_because: ClassVar[str] = no_error_because

    shape: Shape = Shape()
    cell: OneCount = OneCount()
    total: OneCount = OneCount()
    region: Maybe = Maybe(OneCount())
    blocks: Maybe = Maybe(Of(PublicArray))

    def __post_init__(self) -> None:
        check_cells(self.shape)
        if len(self.shape) != 2:
            raise InvalidParameter("shape", self.shape, "the zones along two axes")
        if (self.region is None) != (self.blocks is None):
            raise InvalidParameter(
                "region", self.region, "set together with blocks: noise for the flows between regions"
            )
        if self.blocks is not None and not _is_numbering(self.blocks.values, math.prod(self.shape)):
            raise InvalidParameter("blocks", self.blocks, f"integers from 0, one for each of {self.shape} pairs")

    @classmethod
    def calibrated(cls, within: Loss, *, shape: tuple[int, ...], blocks: Labels | None = None) -> Self:
        """Return the table whose loss for counts 1 apart is within ``within``; a pure target gives geometric noise.

        Args:
            within: the loss not to exceed.
            shape: the zones where trips begin and where they end.
            blocks: the number of the region of every zone where trips begin, and of every one where they end.

        """
        purse = Purse.within(within)
        if blocks is None:
            cell, total = purse.share(1 - _TOTAL).noise(), purse.share(_TOTAL).noise()
            return cls(shape=shape, cell=cell, total=total)
        rows, columns = (np.asarray(part, dtype=np.int64) for part in blocks)
        numbers = rows[:, None] * (int(columns.max()) + 1) + columns[None, :]
        return cls(
            shape=shape,
            cell=purse.share(1 - _TOTAL - _REGIONS).noise(),
            total=purse.share(_TOTAL).noise(),
            region=purse.share(_REGIONS).noise(),
            blocks=PublicArray(np.unique(numbers.ravel(), return_inverse=True)[1]),
        )

    @property
    def distance(self) -> Metric:
        """L1: a pair's flow between regions, and the total, move as far as the pair does."""
        return L1

    @property
    def _pairs(self) -> CountNoise:
        return replace(self.cell, shape=self.shape)

    @property
    def _regions(self) -> CountNoise | None:
        if self.region is None or self.blocks is None:
            return None
        noise: CountNoise = replace(self.region, shape=(int(self.blocks.values.max()) + 1,))
        return noise

    def plan(self) -> Plan:
        """Draw all pairs, the total, and the flows between regions."""
        parts = (self._pairs, self.total, self._regions)
        return InOrder(tuple(Use(part) for part in parts if part is not None))

    def release(self, data: Any, run: Runner) -> Floats:
        """Return counts of at least 0 that add up to the released total, and to the flows between regions."""
        counts = counts_of(data, self.shape)
        noisy = np.asarray(run(self._pairs, counts), dtype=np.float64)
        total = max(float(run(self.total, int(counts.sum()))), 0.0)
        regions, labels = self._regions, np.zeros(counts.size, dtype=np.int64)
        sums = np.array([total])
        if regions is not None and self.blocks is not None:
            labels = np.asarray(self.blocks.values, dtype=np.int64).ravel()
            drawn = run(regions, bucket_sums(counts, labels, int(labels.max()) + 1))
            sums = non_negative_with_total(np.asarray(drawn, dtype=np.float64), total)
        medians, means = _fitted(noisy, total, self.cell)
        return _scaled(medians, means, labels, sums).reshape(self.shape)


def _is_numbering(values: NDArray[Any], size: int) -> bool:
    is_whole = values.dtype.kind in "iu" and values.size == size
    return bool(is_whole and values.min() >= 0 and values.max() < size)


def _fitted(noisy: Floats, total: float, noise: CountNoise) -> tuple[Floats, Floats]:
    """Return posterior medians and means, in groups of pairs whose product of departures and arrivals is alike."""
    spread = math.sqrt(variance_of(noise))
    ends = [
        np.maximum(noisy.sum(axis=axis), max(_LEAST * spread * math.sqrt(noisy.shape[axis]), 1.0)) for axis in (1, 0)
    ]
    medians = means = noisy.ravel()
    for _ in range(_ROUNDS):
        expected = np.outer(*ends).ravel() / max(total, 1.0)
        groups = np.searchsorted(np.quantile(expected, _GROUPS), expected)
        medians, means = fitted_counts(noisy.ravel(), groups, noise)
        table = means.reshape(noisy.shape)
        ends = [table.sum(axis=1), table.sum(axis=0)]
    return medians, means


def _scaled(medians: Floats, means: Floats, labels: NDArray[np.int64], sums: Floats) -> Floats:
    """Return the medians, scaled in each block to its sum; the means where all medians of a block are 0."""
    is_empty = np.bincount(labels, weights=medians, minlength=sums.size) <= 0
    chosen = np.where(is_empty[labels], means, medians)
    found = np.bincount(labels, weights=chosen, minlength=sums.size)
    even = np.bincount(labels, minlength=sums.size)
    factor = np.divide(sums, found, out=np.zeros_like(sums), where=found > 0)
    rest = np.where(found > 0, 0.0, np.divide(sums, even, out=np.zeros_like(sums), where=even > 0))
    return np.asarray(chosen * factor[labels] + rest[labels], dtype=np.float64)
