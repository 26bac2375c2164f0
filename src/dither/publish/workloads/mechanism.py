"""The matrix mechanism: measure a strategy once, and answer a whole workload from it by least squares.

For batches of linear queries that overlap: noise for each query separately would pay for every cell as often as it is
asked for. The strategy is a public matrix of integers, so that its products with counts are integers, its
sensitivity is an exact rational and the noise is exact. Cost: one product with the strategy, one least squares
solution, one product with the workload. What optimisers find in floats is put on a public grid first (``grids``).
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

from dither.errors import InvalidParameter
from dither.exact import Flag, Number, Of, positive, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, Loss, Metric, Plan, Use
from dither.publish.workloads.matrices import MOST_ENTRIES, Floats, Identity
from dither.publish.workloads.tails import reach_of_unit, variance_of_noise
from dither.publish.workloads.trees import Haar
from dither.publish.workloads.workload import Strategy, Workload

#: So that counts up to 2^10 are measured as they are, whatever the strategy.
_LARGEST_ROW = 2**50


#: What a workload must be whose answers are drawn as they are.
WHOLE_NUMBERS: Final = "a Workload of integers"


def is_whole(workload: Workload) -> bool:
    """Whether all answers are integers."""
    return bool(workload.matrix.is_integer)


def neighbours_of(shape: tuple[int, ...]) -> tuple[tuple[Any, Any, int], ...]:
    """Return small neighbouring tables of counts for examples: one count, two counts, and saturated ones."""
    zero = np.zeros(shape, dtype=np.int64)
    one, both, huge = zero.copy(), zero.copy(), zero.copy()
    one.flat[0], both.flat[0], both.flat[-1] = 1, 1, both.flat[-1] - 1
    huge.flat[0] = 2**62
    far = huge.copy()
    far.flat[-1] += 1
    return (zero, one, 1), (zero, both, 2), (huge, far, 1)


def _examples() -> Iterator[Example]:
    ranges, haar = Workload.all_ranges(4), Strategy(Haar(4))
    yield Example(
        MatrixMechanism(workload=ranges, strategy=haar, noise=Geometric(scale=3)), np.arange(4), neighbours_of((4,))
    )
    prefixes, cells = Workload.prefixes(2), Strategy(Identity(2))
    gaussian = MatrixMechanism(workload=prefixes, strategy=cells, noise=DiscreteGaussian(sigma=2), non_negative=True)
    yield Example(gaussian, np.array([3, 1]), neighbours_of((2,)))


@dataclass(frozen=True, kw_only=True)
class Measured(Composed[Any, Any]):
    """Shared by mechanisms that measure a strategy once: the draw, least squares, exact variances, intervals.

    Args:
        workload: what is asked; public.
        strategy: what is measured; public, integers.
        noise: the noise of one measurement, in units of the strategy's numbers.
        of_cells: whether the estimate of every count is released in place of the workload's answers.
        non_negative: whether the estimate is the nearest one without negative counts.

    """

    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "counts that may not fall below 0 have no proven tail; set non_negative=False"
    no_interval_because: ClassVar[str] = no_error_because

    workload: Of[Workload] = Of(Workload)
    strategy: Of[Strategy] = Of(Strategy)
    noise: OneCount = OneCount()
    of_cells: Flag = Flag(False)
    non_negative: Flag = Flag(False)

    def __post_init__(self) -> None:
        if self.workload.cells > MOST_ENTRIES or self.strategy.queries > MOST_ENTRIES:
            rule = "of at most 2^26 cells where counts are given one by one; for more take weighted-marginals on rows"
            raise InvalidParameter("workload", f"{self.workload.cells} cells", rule)
        if not self.of_cells and self.workload.queries > MOST_ENTRIES:
            rule = "of at most 2^26 queries; for more release the cells (of_cells) and answer from them"
            raise InvalidParameter("workload", f"{self.workload.queries} queries", rule)
        if self.strategy.matrix.row_bound > _LARGEST_ROW:
            raise InvalidParameter("strategy", "a row with a sum above 2^50", "one whose rows add up to at most 2^50")
        asked = Workload(Identity(self.workload.cells)) if self.of_cells else self.workload
        if not asked.supported_by(self.strategy):
            raise InvalidParameter("strategy", self.strategy.matrix.kind, "one that determines the workload")

    @classmethod
    def _calibrated(
        cls, within: Loss, sensitivity: Number, workload: Workload, strategy: Strategy, **rest: Any
    ) -> Self:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` is within ``within``."""
        purse = Purse.within(within)
        reach = positive("sensitivity", sensitivity) * strategy.sensitivity(purse.metric)
        return cls(workload=workload, strategy=strategy, noise=purse.noise(reach), **rest)

    @property
    def distance(self) -> Metric:
        """L1 on counts: adding or removing a row moves one count by 1, replacing one moves two."""
        return L1

    @property
    def part(self) -> CountNoise:
        """The noise for all measurements."""
        return replace(self.noise, shape=(self.strategy.queries,))

    @cached_property
    def stability(self) -> Fraction:
        """How far the measurements move when one count moves by 1, in the distance of the noise."""
        return self.strategy.sensitivity(self.noise.distance)

    def plan(self) -> Plan:
        """One draw for all measurements together."""
        return Use(self.part, self.stability)

    @property
    def largest_count(self) -> int:
        """The cap on counts, such that no measurement overflows."""
        return max(1, math.floor(LARGEST_VALUE / self.strategy.matrix.row_bound))

    def measure(self, data: Any, run: Runner) -> NDArray[Any]:
        """Return the noisy measurements, which are integers."""
        counts = IntegerArray(self.workload.domain).admit(data)
        limit = self.largest_count
        exact = self.strategy.matrix.times(np.clip(counts, -limit, limit).reshape(-1, 1))[:, 0]
        return np.asarray(run(self.part, exact, stability=self.stability))

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the estimated answers, or the estimated counts."""
        return self.fit(self.measure(data, run))

    def fit(self, measured: NDArray[Any]) -> Floats:
        """Return the estimate from noisy measurements: post-processing."""
        if self.non_negative:
            from dither.publish.workloads.fitting import non_negative_fit

            counts = non_negative_fit(self.strategy, measured)
        elif self.of_cells:
            counts = self.strategy.estimate(measured)
        else:
            return self.workload.reconstruct(self.strategy, measured)
        if self.of_cells:
            return counts.reshape(self.workload.domain)
        return np.asarray(self.workload.answer(counts), dtype=np.float64)

    @cached_property
    def variances(self) -> Floats:
        """The exact variance of every released number, in its shape, without ``non_negative``."""
        return self._factors * variance_of_noise(self.noise)

    @cached_property
    def _factors(self) -> Floats:
        """The variance of every released number for noise of variance 1."""
        if self.of_cells:
            return self.strategy.covariance.diagonal().reshape(self.workload.domain)
        return self.workload.variance_factors(self.strategy)

    @property
    def root_mean_square_error(self) -> float:
        """The root of the mean variance of the workload's answers."""
        total = self.workload.total_variance_factor(self.strategy)
        return math.sqrt(variance_of_noise(self.noise) * total / self.workload.queries)

    def _reaches(self, confidence: Number) -> tuple[Fraction, Floats]:
        wanted = probability("confidence", confidence, open_below=True)
        reach = reach_of_unit(self.noise, share_of_failure(wanted, self._factors.size))
        return wanted, np.sqrt(self._factors) * reach

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the error of every released number."""
        wanted, reaches = self._reaches(confidence)
        if self.non_negative:
            return None
        return Bound(float(reaches.max()), wanted, "the largest absolute error of any answer")

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return intervals for all released numbers at once, each as wide as its own variance requires."""
        wanted, reaches = self._reaches(confidence)
        return None if self.non_negative else Interval(out - reaches, out + reaches, wanted)


@register(
    examples=_examples,
    source="The Matrix Mechanism: Optimizing Linear Counting Queries under Differential Privacy (Li et al. 2015); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.2",
)
@dataclass(frozen=True, kw_only=True)
class MatrixMechanism(Measured):
    """Answer a workload of linear queries from noisy measurements of a public strategy, by least squares.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in`` times the strategy's exact
    sensitivity: the largest L1 norm of a column (geometric noise), or its largest L2 norm (Gaussian noise).

    >>> from dither.privacy import PureDP
    >>> ranges, haar = Workload.all_ranges(4), Strategy(Haar(4))
    >>> mechanism = MatrixMechanism.calibrated(PureDP(1), sensitivity=1, workload=ranges, strategy=haar)
    >>> mechanism.noise.scale, mechanism.loss(1)
    (Fraction(3, 1), PureDP('1'))

    """

    name: ClassVar[str] = "matrix-mechanism"
    version: ClassVar[int] = 1

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, workload: Workload, strategy: Strategy, **parameters: Any
    ) -> Self:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            sensitivity: how far the table of counts moves in L1 per unit of data.
            workload: the queries.
            strategy: what is measured.
            parameters: the other fields: ``of_cells``, ``non_negative``.

        """
        return cls._calibrated(within, sensitivity, workload, strategy, **parameters)
