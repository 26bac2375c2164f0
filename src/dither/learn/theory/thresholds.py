"""Private learners of a threshold on an ordered domain of up to 2^60 points: by one choice, and by halving.

``ThresholdLearner`` chooses by the exponential mechanism over all thresholds at once; between two neighbouring points
of the data all thresholds make the same errors, so that only these blocks are looked at. ``ThresholdDescent`` halves
the domain by one noisy count a level. Cost: a sort of the rows; or one pass over the rows a level. Correction: an
(epsilon, delta) learner whose rows grow with the iterated logarithm of the domain exists in print and is not built
here (see the page); what is built needs rows in proportion to the logarithm (one choice) or about its square (halving).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Positive, Whole, non_negative, probability
from dither.learn.declared import DeclaredUnit
from dither.learn.theory.concepts import MOST_POINTS, IntervalConcept
from dither.learn.theory.counting import adverse_reach
from dither.learn.theory.labelled import known_of, pairs_of
from dither.mechanisms.core.accuracy import laplace_reach, share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics, Primitive
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import Domain
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, ROW, ROW_REPLACED, Loss, Metric, Plan, PureDP, Repeat, Unit, Use
from dither.privacy.calibration import calibrate, check_loss
from dither.privacy.fields import RowUnit

if TYPE_CHECKING:
    from dither.noise import Noise


class LabelledPoints(Domain):
    """Rows of a point and a label; rows with a point outside the domain or another label are ignored."""

    def __init__(self, size: int) -> None:
        self.size = size

    def admit(self, value: Any) -> NDArray[np.int64]:
        """Return the rows in order: a function of the collection."""
        rows = known_of(value, self.size)
        return rows[np.lexsort(rows.T)]

    def __str__(self) -> str:
        return "rows of a point and a label"


@dataclass(frozen=True, kw_only=True)
class ThresholdChoice(Primitive[Any, int]):
    """Choose a threshold from 0 to ``size`` with probability proportional to e^(-errors / scale).

    Guarantee: collections ``d_in`` rows apart lose epsilon = ``d_in / scale`` and rho = epsilon^2 / 8.

    >>> ThresholdChoice(size=2**60, scale=2).loss(1)
    PureDP('1/2', rho='1/32')
    """

    name: ClassVar[str] = "threshold-choice"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the chosen threshold says nothing about how good the best one was"

    size: Whole = Whole(least=1, most=MOST_POINTS)
    scale: Positive = Positive()

    @property
    def distance(self) -> Metric:
        """Rows in one collection and not in the other."""
        return RECORDS

    @property
    def domain(self) -> LabelledPoints:
        """Rows of a point and a label."""
        return LabelledPoints(self.size)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale: a row adds 0 or 1 to the errors of every threshold."""
        epsilon = non_negative("d_in", d_in) / self.scale
        return PureDP(epsilon, rho=epsilon**2 / 8)

    def error(self, confidence: Number) -> Bound:
        """Return the gap to the best threshold: scale * ln(thresholds / failure)."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = laplace_reach(self.scale, share_of_failure(wanted, self.size + 1))
        return Bound(reach, wanted, "the number of errors beyond those of the best threshold")

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent choices: a block of thresholds with equal errors, then one of its members."""
        starts, errors = error_blocks(self.domain.admit(value))
        sizes = np.diff(np.append(starts, self.size + 1))
        blocks = noise.select_block(-errors, sizes.tolist(), 1 / self.scale, count)
        drawn = np.empty(count, dtype=np.int64)
        for block in np.unique(blocks).tolist():
            places = np.flatnonzero(blocks == block)
            drawn[places] = int(starts[block]) + noise.uniform_below(int(sizes[block]), places.size)
        return drawn


def error_blocks(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the thresholds at which the number of errors may change, from 0 on, and the errors from there on.

    >>> starts, errors = error_blocks(np.array([[2, 0], [5, 1], [7, 0]]))
    >>> starts.tolist(), errors.tolist()
    ([0, 3, 6, 8], [2, 1, 2, 1])
    """
    points, where = np.unique(rows[:, 0], return_inverse=True)
    positive = np.bincount(where, weights=rows[:, 1], minlength=points.size).astype(np.int64)
    there = np.bincount(where, minlength=points.size).astype(np.int64)
    # At threshold 0 all is 1 and the negatives are wrong; passing a point turns it to 0.
    turns = np.cumsum(2 * positive - there)
    negatives = int((there - positive).sum())
    return np.concatenate([[0], points + 1]), negatives + np.concatenate([[0], turns]).astype(np.int64)


def _examples() -> Iterator[Example]:
    rows = np.array([[0, 0], [1, 1], [2, 1], [9, 1]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(ThresholdLearner(size=4, scale=1), rows, pairs)
    swapped = ((rows, np.vstack([rows[1:], [[2, 0]]]), 1),)
    yield Example(ThresholdLearner(size=2**60, scale=2, unit=ROW_REPLACED), rows, swapped)


@register(
    examples=_examples,
    source="What Can We Learn Privately? (Kasiviswanathan et al. 2011); Private Learning and "
    "Sanitization (Beimel, Nissim, Stemmer 2013), for thresholds",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class ThresholdLearner(DeclaredUnit, Composed[Any, IntervalConcept]):
    """Choose a threshold on up to 2^60 points with probability proportional to e^(-errors / scale).

    Guarantee: data ``d_in`` rows apart loses epsilon = ``d_in / scale`` (twice that for rows replaced) and
    rho = epsilon^2 / 8.

    Args:
        size: points of the domain, 0 to ``size`` - 1; a concept says 1 from its threshold on.
        scale: the scale of the choice, in wrongly labelled rows.
        unit: ROW or ROW_REPLACED.

    >>> learner = ThresholdLearner.calibrated(PureDP(1), size=2**32)
    >>> print(learner.error("0.95"))
    the number of errors beyond those of the best threshold is at most 25.1764 with probability 0.95

    """

    name: ClassVar[str] = "threshold-learner"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the chosen threshold says nothing about how good the best one was"

    size: Whole = Whole(least=1, most=MOST_POINTS)
    scale: Positive = Positive()
    unit: RowUnit = RowUnit(ROW)

    @classmethod
    def calibrated(cls, within: Loss, *, size: int, unit: Unit = ROW) -> Self:
        """Return the sharpest choice whose loss for one unit is within ``within``."""
        draft = cls(size=size, scale=1, unit=unit)
        check_loss(within)
        if within.pure:
            # A whole epsilon buys a scale without a search, unless the rho of the target is smaller.
            sharpest = replace(draft, scale=draft.unit.touched / within.pure)
            if sharpest.loss(1) <= within:
                return sharpest
        return calibrate(lambda scale: replace(draft, scale=scale), within)

    @property
    def part(self) -> ThresholdChoice:
        """The choice."""
        return ThresholdChoice(size=self.size, scale=self.scale)

    def plan(self) -> Plan:
        """One choice; a replaced row is one row removed and one added."""
        return Use(self.part, self.unit.touched)

    def error(self, confidence: Number) -> Bound:
        """Return how many more errors the chosen threshold may make on these rows than the best one."""
        return self.part.error(confidence)

    def release(self, data: Any, run: Runner) -> IntervalConcept:
        """Return the chosen threshold."""
        chosen = int(run(self.part, pairs_of(data), stability=self.unit.touched))
        return IntervalConcept(chosen, self.size - 1)


def _descent_examples() -> Iterator[Example]:
    rows = np.array([[0, 0], [1, 1], [2, 1], [9, 1]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(ThresholdDescent(size=5, part=Geometric(scale=2)), rows, pairs)
    swapped = ((rows, np.vstack([rows[1:], [[2, 0]]]), 1),)
    yield Example(ThresholdDescent(size=6, part=DiscreteGaussian(sigma=4), unit=ROW_REPLACED), rows, swapped)


@register(
    examples=_descent_examples,
    source="Practical Privacy: the SuLQ Framework (Blum et al. 2005), for learning from noisy counts; Private Learning "
    "and Sanitization (Beimel, Nissim, Stemmer 2013), for thresholds",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class ThresholdDescent(DeclaredUnit, Composed[Any, IntervalConcept]):
    """Find a threshold by halving the domain, each time keeping the side where a noisy count finds fewer errors.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in`` (twice that for rows replaced), once for
    each of the ``levels``.

    Args:
        size: points of the domain, 0 to ``size`` - 1; a concept says 1 from its threshold on.
        part: the noise of one count.
        unit: ROW or ROW_REPLACED.

    >>> descent = ThresholdDescent.calibrated(PureDP(1), size=2**32)
    >>> descent.levels, descent.loss(1).epsilon
    (33, Fraction(1, 1))

    """

    name: ClassVar[str] = "threshold-descent"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the threshold that is found says nothing about how good the best one was"

    size: Whole = Whole(least=1, most=MOST_POINTS)
    part: OneCount = OneCount()
    unit: RowUnit = RowUnit(ROW)

    @classmethod
    def calibrated(cls, within: Loss, *, size: int, unit: Unit = ROW) -> Self:
        """Return the learner with the least noise whose loss over all levels is within ``within`` for one unit."""
        draft = cls(size=size, part=Geometric(scale=1), unit=unit)
        return replace(draft, part=(Purse.within(within) / draft.levels).noise(draft.unit.touched))

    @property
    def levels(self) -> int:
        """The number of times that the ``size`` + 1 thresholds are halved."""
        return self.size.bit_length()

    def plan(self) -> Plan:
        """One count for each level; a replaced row moves it by 2."""
        return Repeat(Use(self.part, self.unit.touched), self.levels)

    def error(self, confidence: Number) -> Bound:
        """Return the number of errors of the threshold found, if some threshold makes none on these rows."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = adverse_reach(self.part, self.levels, share_of_failure(wanted))
        return Bound(reach, wanted, "the number of errors, where some threshold makes none,")

    def release(self, data: Any, run: Runner) -> IntervalConcept:
        """Return the threshold found. Where both sides cost the same, the lower one is taken."""
        rows = known_of(data, self.size)
        points, positive = rows[:, 0], rows[:, 1] == 1
        low, high = 0, self.size  # the thresholds that are left, both ends included
        while low < high:
            middle = (low + high) // 2
            # Thresholds up to the middle label it and all above by 1; those beyond label it and all below by 0.
            below = int(np.count_nonzero(~positive & (points >= middle) & (points < high)))
            above = int(np.count_nonzero(positive & (points >= low) & (points <= middle)))
            is_above = int(run(self.part, below - above, stability=self.unit.touched)) > 0
            low, high = (middle + 1, high) if is_above else (low, middle)
        return IntervalConcept(low, self.size - 1)
