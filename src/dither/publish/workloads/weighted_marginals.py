"""Weighted marginals: answer many marginals of rows with many attributes from the marginals that serve them best.

For tables with too many cells to write out: only the measured marginals are. Which marginals
and how precisely is searched over the subsets of the attributes, without data (HDMM's OPT_M). Cost: one pass over the
rows for each measured marginal, and sums over subsets. Answers of overlapping marginals agree with one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Number, Of, positive, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, L2, ROW, Loss, Plan, Unit, Use
from dither.publish.workloads.marginals import Marginals
from dither.publish.workloads.matrices import MOST_ENTRIES, Floats
from dither.publish.workloads.optimise import opt_marginals
from dither.publish.workloads.tails import reach_of_unit, variance_of_noise
from dither.publish.workloads.workload import Strategy, Workload

_MOST_ROWS = 2**40
#: As for the rows of any other strategy.
_LARGEST_WEIGHT = 2**50


def _examples() -> Iterator[Example]:
    asked = Workload.marginals((2, 2), [(0,), (1,)])
    yield Example(
        WeightedMarginals(workload=asked, strategy=Strategy(Marginals((2, 2), ((0, 1),))), noise=Geometric(scale=1)),
        np.array([[0, 1], [1, 1], [5, -3]]),
    )


_MARGINALS: Final = "marginals with at most 2^26 cells together"


def _is_of_marginals(asked: Workload | Strategy) -> bool:
    return isinstance(asked.matrix, Marginals) and asked.matrix.queries <= MOST_ENTRIES


@register(
    examples=_examples,
    source="Optimizing Error of High-Dimensional Statistical Queries under Differential Privacy (McKenna et al. 2018), "
    "sections 6 and 7",
)
@dataclass(frozen=True, kw_only=True)
class WeightedMarginals(Composed[Any, Any]):
    """Answer marginals of rows from separately weighted measured marginals, by least squares.

    Guarantee: data ``d_in`` rows apart loses what ``noise`` loses at ``d_in`` times the sum of the weights (geometric
    noise), or the root of the sum of their squares (Gaussian noise).

    Data is an array of integers, a row for each record and a column for each attribute; a number outside an
    attribute's values means the nearest one.

    Args:
        workload: the requested marginals; public.
        strategy: the marginals that are measured, with weights of integers; public.
        noise: the noise of one measurement, in units of the weights.

    >>> from dither.privacy import PureDP
    >>> asked = Workload.marginals((10,) * 9, 2)
    >>> cube = WeightedMarginals.calibrated(PureDP(1), sensitivity=1, workload=asked)
    >>> asked.cells, cube.loss(1) <= PureDP(1)
    (1000000000, True)

    """

    name: ClassVar[str] = "weighted-marginals"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    workload: Of[Workload] = Of(Workload, where=_is_of_marginals, rule=_MARGINALS)
    strategy: Of[Strategy] = Of(Strategy, where=_is_of_marginals, rule=_MARGINALS)
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        if not self.workload.supported_by(self.strategy):
            raise InvalidParameter("strategy", self.strategy.matrix.kind, "one that determines the workload")
        if max(self.measured.weights) > _LARGEST_WEIGHT:
            raise InvalidParameter("strategy", str(max(self.measured.weights)), "one whose weights are at most 2^50")

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, workload: Workload, strategy: Strategy | None = None
    ) -> Self:
        """Return the mechanism whose loss at ``sensitivity`` rows is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            sensitivity: how many rows one unit has.
            workload: the requested marginals.
            strategy: the marginals that are measured; searched for unless given.

        """
        purse = Purse.within(within)
        if strategy is None:
            if not isinstance(workload, Workload) or not isinstance(workload.matrix, Marginals):
                raise InvalidParameter("workload", workload, "a workload of marginals")
            strategy = opt_marginals(workload.matrix, purse.metric, largest=2**20)
        reach = positive("sensitivity", sensitivity) * strategy.sensitivity(purse.metric)
        return cls(workload=workload, strategy=strategy, noise=purse.noise(reach))

    @property
    def distance(self) -> Unit:
        """Rows added or removed."""
        return ROW

    @property
    def measured(self) -> Marginals:
        """The marginals that are measured."""
        matrix = self.strategy.matrix
        if not isinstance(matrix, Marginals):
            raise InvalidParameter("strategy", matrix.kind, "marginals")
        return matrix

    @property
    def part(self) -> CountNoise:
        """The noise for all measurements."""
        return replace(self.noise, shape=(self.strategy.queries,))

    @property
    def stability(self) -> Fraction:
        """How far the measurements move when a row is added or removed: it lies in one cell of each."""
        return self.strategy.sensitivity(L1 if isinstance(self.noise, Geometric) else L2)

    def plan(self) -> Plan:
        """One draw for all measurements."""
        return Use(self.part, self.stability)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the answers, marginal by marginal."""
        codes = self._codes(data)
        tables = []
        for axes, weight in zip(self.measured.sets, self.measured.weights, strict=True):
            sizes = tuple(self.measured.shape[axis] for axis in axes)
            places = np.zeros(len(codes), dtype=np.int64)
            for axis, size in zip(axes, sizes, strict=True):
                places = places * size + codes[:, axis]
            # Cut off before they are multiplied: a product that overflows would move by more than the weight.
            counts = np.minimum(np.bincount(places, minlength=math.prod(sizes)), LARGEST_VALUE // int(weight))
            tables.append(counts * int(weight))
        noisy = run(self.part, np.concatenate(tables), stability=self.stability)
        return self.workload.reconstruct(self.strategy, np.asarray(noisy))

    def _codes(self, data: Any) -> NDArray[np.int64]:
        """Return every row as value numbers in range."""
        shape = self.measured.shape
        # An array has one type whatever it holds; a list of numbers too long for 64 bits would not.
        is_table = isinstance(data, np.ndarray) and data.dtype.kind in "iu" and data.ndim == 2
        if not is_table or data.shape[1] != len(shape) or len(data) > _MOST_ROWS:
            raise InvalidValue("data", data, f"an array of integers, a row a record, {len(shape)} columns")
        return np.asarray(np.clip(data, 0, np.array(shape) - 1), dtype=np.int64)

    @cached_property
    def variances(self) -> Floats:
        """The exact variance of every answer."""
        return self.workload.variance_factors(self.strategy) * variance_of_noise(self.noise)

    def _reaches(self, confidence: Number) -> tuple[Fraction, Floats]:
        wanted = probability("confidence", confidence, open_below=True)
        factors = self.workload.variance_factors(self.strategy)
        return wanted, np.sqrt(factors) * reach_of_unit(self.noise, share_of_failure(wanted, factors.size))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every answer."""
        wanted, reaches = self._reaches(confidence)
        return Bound(float(reaches.max()), wanted, "the largest absolute error of any answer")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals for all answers at once."""
        wanted, reaches = self._reaches(confidence)
        return Interval(out - reaches, out + reaches, wanted)
