"""Learning with private labels: the points are public, and only their labels are protected.

For data whose points are public (who was asked) and whose labels are private (what they said). The unit is a
*label*: neighbours have the same points, and one row has the other label. That is a weaker promise than differential
privacy for rows, and is never added to a budget for rows. Two mechanisms: ``LabelLearner`` chooses, by the exponential
mechanism, among the finitely many ways in which a class labels the public points; ``LabelResponse`` reports every
label by randomised response, after which errors are estimated without bias. Cost: one pass over the points for each
way of labelling them. Correction: a public set of points makes every class finite, but the price is that the points
are not protected at all; where they have to be, only ``PrivateLearner`` and its kin will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Number, Positive, Whole, non_negative
from dither.learn.theory.concepts import MOST_PREDICTIONS, Concept, Concepts, ConceptsField, Restricted, most_labellings
from dither.learn.theory.labelled import pairs_of
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics, Primitive
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import IntegerArray
from dither.mechanisms.exponential import Exponential
from dither.privacy import LABEL, Loss, Metric, Plan, PureDP, Unit, Use

if TYPE_CHECKING:
    from dither.noise import Noise

_MOST_ROWS: Final = 2**24


class PointsField(Array):
    """The public points of all rows, in increasing order."""

    def __init__(self) -> None:
        rule = f"an integer of at least 0 for each of 1 to {_MOST_ROWS} rows"
        super().__init__("int", axes=1, most=_MOST_ROWS, within=(0, 2**63 - 1), rule=rule)

    def convert(self, name: str, value: Any) -> PublicArray:
        """Return the points in order."""
        return PublicArray(np.sort(super().convert(name, value).values))


@dataclass(frozen=True, kw_only=True)
class OpenPoints:
    """What learners with private labels share: a class, and the points of all rows.

    Args:
        concepts: the class.
        points: the point of every row; public, in any order.

    """

    concepts: ConceptsField = ConceptsField()
    points: PointsField = PointsField()

    def __post_init__(self) -> None:
        if int(self.points.values[-1]) >= self.concepts.universe:
            raise InvalidParameter("points", self.points, f"points below {self.concepts.universe}")
        if not self.concepts.can_be_restricted:
            rule = f"a class with at most {MOST_PREDICTIONS} predictions in all, or one of points or runs of them"
            raise InvalidParameter("concepts", f"{self.concepts.count} {self.concepts.family}", rule)
        if not self.concepts.is_listed:
            ways = most_labellings(self.concepts.vc, self.places.size)
            if ways * self.places.size > MOST_PREDICTIONS:
                rule = f"so few that the class labels them with at most {MOST_PREDICTIONS} predictions in all"
                raise InvalidParameter("points", f"{self.places.size} different points", rule)

    @property
    def distance(self) -> Unit:
        """The unit: one label. The points are not protected."""
        return LABEL

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The distinct points."""
        return np.unique(self.points.values)

    @cached_property
    def ways(self) -> Restricted:
        """Every labelling of these points by the class, with a concept for each."""
        return self.concepts.restricted(self.places)

    def labels_of(self, data: Any) -> NDArray[np.int64]:
        """Return the private labels in the order of the points; at one point, smaller labels come first.

        The points are public: data with others is refused. A label below 0 means 0, one above 1 means 1.
        """
        rows = pairs_of(data)
        if not np.array_equal(np.sort(rows[:, 0]), self.points.values):
            raise InvalidValue("data", data, "rows at exactly the declared points")
        labels = np.clip(rows[:, 1], 0, 1)
        return labels[np.lexsort((labels, rows[:, 0]))]

    def wrong(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of labels, in the order of the points, that each labelling gets wrong."""
        where = np.searchsorted(self.places, self.points.values)
        ones = np.bincount(where, weights=labels, minlength=self.places.size).astype(np.int64)
        rows = np.bincount(where, minlength=self.places.size).astype(np.int64)
        found: NDArray[np.int64] = self.ways.predictions @ (rows - 2 * ones) + ones.sum()
        return found


_ROWS = np.array([[0, 0], [1, 1], [1, 0], [3, 1]])


def _examples() -> Iterator[Example]:
    flipped = np.array([[1, 1], [1, 1], [0, 0], [3, 1]])
    yield Example(
        LabelLearner(concepts=Concepts.thresholds(2**40), points=_ROWS[:, 0], scale=2), _ROWS, ((_ROWS, flipped, 1),)
    )
    table = Concepts.table([[0, 1, 0, 1], [1, 1, 0, 1], [1, 0, 0, 0]])
    yield Example(LabelLearner(concepts=table, points=_ROWS[:, 0], scale=1), _ROWS, ((_ROWS, flipped, 1),))


@register(
    examples=_examples,
    source="Sample Complexity Bounds for Differentially Private Learning (Chaudhuri, Hsu 2011); Differential Privacy "
    "and Applications (Zhu et al. 2017), section 6.2.3",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class LabelLearner(OpenPoints, Composed[Any, Concept]):
    """Choose, by the exponential mechanism, among the labellings of the public points by a class.

    Guarantee: data of which ``d_in`` labels differ, at the same points, loses epsilon = ``2 d_in / scale`` and
    rho = epsilon^2 / 8. Points are not protected.

    Args:
        concepts: the class; thresholds, intervals and points may be over up to 2^60 points.
        points: the point of every row; public.
        scale: the scale of the choice, in wrong labels.

    >>> learner = LabelLearner.calibrated(PureDP(1), concepts=Concepts.thresholds(2**40), points=[5, 900, 17, 5])
    >>> len(learner.ways.concepts), print(learner.distance)
    labels replaced (the rest of every row is not protected)
    (4, None)

    """

    name: ClassVar[str] = "label-learner"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the chosen concept says nothing about how good the best one was"

    scale: Positive = Positive()

    @classmethod
    def calibrated(cls, within: Loss, *, concepts: Concepts, points: Any) -> Self:
        """Return the sharpest choice whose loss for one label is within ``within``."""
        draft = cls(concepts=concepts, points=points, scale=1)
        part = Exponential.calibrated(within, sensitivity=1, candidates=draft.choice.candidates)
        return replace(draft, scale=part.scale)

    @property
    def choice(self) -> Exponential:
        """The choice among the labellings."""
        return Exponential(candidates=len(self.ways.concepts), scale=self.scale)

    def plan(self) -> Plan:
        """One choice: a changed label adds an error for some labellings and removes one for others."""
        return Use(self.choice)

    def error(self, confidence: Number) -> Bound:
        """Return how many more labels the chosen concept may get wrong than the best one."""
        found = self.choice.error(confidence)
        return replace(found, meaning="the number of errors beyond those of the best concept")

    def release(self, data: Any, run: Runner) -> Concept:
        """Return a concept that labels the points in the chosen way."""
        return self.ways.concepts[int(run(self.choice, -self.wrong(self.labels_of(data))))]


class PlacesChanged(Metric):
    """The number of places at which two vectors of equal length differ."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the number; None for vectors of different lengths."""
        here, there = np.asarray(first), np.asarray(second)
        return Fraction(int((here != there).sum())) if here.shape == there.shape else None


PLACES_CHANGED: Final = PlacesChanged("PLACES_CHANGED", "the number of places that differ")


@dataclass(frozen=True, kw_only=True)
class Reports(Primitive[Any, Any]):
    """Report each of ``rows`` labels truly, or as the other one with e^-epsilon times the probability of the truth.

    Guarantee: labels of which ``d_in`` places differ lose ``d_in * epsilon``.

    >>> Reports(rows=100, epsilon="1/2").loss(1)
    PureDP('1/2')
    """

    name: ClassVar[str] = "reports"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a single report is right or wrong; only many of them estimate a frequency"
    no_interval_because: ClassVar[str] = "a single report names a label, which has no interval"

    rows: Whole = Whole(least=1, most=_MOST_ROWS)
    epsilon: Positive = Positive()

    @property
    def distance(self) -> Metric:
        """The number of places that differ."""
        return PLACES_CHANGED

    @property
    def domain(self) -> IntegerArray:
        """A label for each row; one below 0 means 0, one above 1 means 1."""
        return IntegerArray((self.rows,))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """A report for each row."""
        return (self.rows,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return d_in times epsilon, for at most all rows."""
        return PureDP(min(non_negative("d_in", d_in), Fraction(self.rows)) * self.epsilon)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent reports of all labels."""
        labels = np.tile(np.clip(self.domain.admit(value), 0, 1), count)
        is_true = noise.bernoulli_truth(self.epsilon, labels.size, others=1)
        return np.where(is_true, labels, 1 - labels).astype(np.int64).reshape(count, self.rows)


def _response_examples() -> Iterator[Example]:
    flipped = np.array([[1, 1], [1, 1], [0, 0], [3, 1]])
    learner = LabelResponse(concepts=Concepts.thresholds(4), points=_ROWS[:, 0], epsilon=1)
    yield Example(learner, _ROWS, ((_ROWS, flipped, 1),))


@register(
    examples=_response_examples,
    source="Deep Learning with Label Differential Privacy (Ghazi et al. 2021); Learning with Noisy Labels "
    "(Natarajan et al. 2013), for estimates without bias; Warner 1965",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class LabelResponse(OpenPoints, Composed[Any, NDArray[np.int64]]):
    """Report every label at random, and learn from the reports by unbiased estimates of errors.

    Guarantee: data of which ``d_in`` labels differ, at the same points, loses ``d_in * epsilon``. Points are not
    protected.

    Releases a report for each row, in the order of the points. What is learned from them costs nothing more.

    Args:
        concepts: the class.
        points: the point of every row; public.
        epsilon: the loss of one label.

    >>> learner = LabelResponse.calibrated(PureDP(2), concepts=Concepts.thresholds(100), points=range(100))
    >>> learner.loss(1), round(learner.lie, 4)
    (PureDP('2'), 0.1192)

    """

    name: ClassVar[str] = "label-response"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a report is right or wrong; see errors for what many of them say"
    no_interval_because: ClassVar[str] = "a report has no interval; see errors for what many of them show"

    epsilon: Positive = Positive()

    @classmethod
    def calibrated(cls, within: Loss, *, concepts: Concepts, points: Any) -> Self:
        """Return the reports that are true most often with a loss within ``within`` for one label."""
        given = np.asarray(points.values if isinstance(points, PublicArray) else list(points))
        return cls(concepts=concepts, points=given, epsilon=Purse.pure_within(within).amount)

    @property
    def part(self) -> Reports:
        """The reports of all labels."""
        return Reports(rows=self.points.values.size, epsilon=self.epsilon)

    @property
    def lie(self) -> float:
        """The probability of a false report, to float precision."""
        return float(1 / (1 + np.exp(float(self.epsilon))))

    def plan(self) -> Plan:
        """One draw for all labels."""
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return the reports, in the order of the points."""
        return np.asarray(run(self.part, self.labels_of(data)))

    def errors(self, out: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return an unbiased estimate of the number of true labels that each labelling gets wrong.

        Args:
            out: the released reports.

        """
        # A report disagrees with probability (1 - lie) where the truth does, and lie where it does not.
        reported, rows = self.wrong(np.asarray(out)), self.points.values.size
        found: NDArray[np.float64] = (reported - rows * self.lie) / (1 - 2 * self.lie)
        return found

    def best(self, out: NDArray[np.int64]) -> Concept:
        """Return the concept with the fewest estimated errors, which is the one that the fewest reports contradict."""
        return self.ways.concepts[int(np.argmin(self.wrong(np.asarray(out))))]
