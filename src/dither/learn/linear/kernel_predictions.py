"""Private predictions of a kernel machine at public points: the model stays secret, and noise is added to its answers.

For a list of points known in advance. For any number of features, the noise depends on the points
alone, and their centre and spread are public, so that no survey is needed. Cost: a few Newton steps on the features.
Corrections: in print the noise of an answer is for the point alone, and answers add up; here all points are answered by
one draw for how far they move together, which is less where points differ; and what the solver leaves undone is part
of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Positive, Whole, positive, round_up, sqrt_up
from dither.learn.centred import CONSTANT, LENGTH, REST
from dither.learn.declared import DeclaredClasses
from dither.learn.linear.fourier import FrequencyField, OffsetField, check_features, features_of, public_features
from dither.learn.linear.gradients import LOSSES
from dither.learn.linear.penalised import TOLERANCE, check_penalty, minimisers, within_penalties
from dither.learn.noise_parts import OneReal, real_noise, shaped, spread_of
from dither.learn.rows import STEPS, BoundField, Box, Floats, into_ball, labelled, records_of, squared_lengths
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

USUAL_FEATURES: Final = 512
MOST_POINTS: Final = 2**12
MOST_CLASSES: Final = 2**6
#: Room for the errors of a largest singular value that floats find, as a share of it.
_ROOM: Final = Fraction(1, 2**16)
#: Room for the rounding of answers, over all of them and for both of two neighbours.
_PRODUCTS: Final = Fraction(1, 2**18)
#: Records farther from the points' centre than this number of spreads of the points are shortened.
_NEAR: Final = 0.7
#: The spread of points, as a share of the longest that features can be, is never taken to be below this.
_LEAST_SPREAD: Final = 0.1
#: How wide the noise of an answer usually is, and what a clear score is.
_USUAL_WIDTH: Final = 1.0
_CLEAR: Final = 2.0
#: Less than any budget that a penalty is chosen for.
_LEAST_AMOUNT: Final = 1e-300


class PointField(Array):
    """Public points: rows of finite numbers."""

    def __init__(self) -> None:
        super().__init__("float", axes=2, most=MOST_POINTS, rule=f"at most {MOST_POINTS} rows of finite numbers")


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    frequencies, offsets = public_features(2, 3)
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "frequencies": frequencies, "offsets": offsets}
    points = [[0.0, 1.0], [1.0, 4.0]]
    yield Example(
        KernelPredictions(**public, points=points, classes=2, penalty=2, part=Gaussian(sigma=1)), rows, others
    )
    yield Example(
        KernelPredictions(**public, points=points, classes=3, penalty=1, part=GammaNorm(scale=4)), rows, others
    )


@register(
    examples=_examples,
    source="Differentially Private Learning with Kernels (Jain, Thakurta 2013); Differential Privacy "
    "and Applications (Zhu et al. 2017), section 6.2.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class KernelPredictions(DeclaredClasses, Composed[Any, Any]):
    """Learn a penalised kernel machine in secret, and release its noisy scores at public points.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in * stability``: how far the scores of all
    points together move, solver's errors included.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        frequencies: public integers, a row for each feature; see ``public_features``.
        offsets: a public integer for each feature.
        points: public rows of columns, at which scores are released.
        classes: the number of classes; with more than two, one is learned against the rest for each.
        loss_name: "logistic", or "hinge" for a support vector machine.
        penalty: the strength of half the squared length of the weights, features having length 1.
        part: Gaussian or GammaNorm noise of a score.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> public = {"lower": [0, 0], "upper": [1, 10], "classes": 2, "points": [[0.5, 5.0]]}
    >>> learner = KernelPredictions.calibrated(ApproxDP(1, "1e-6"), **public)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6")
    True

    """

    name: ClassVar[str] = "kernel-predictions"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the penalty moves scores from the best ones, by how much is private"
    no_interval_because: ClassVar[str] = "the penalty moves scores from the best ones, by how much is private"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    frequencies: FrequencyField = FrequencyField()
    offsets: OffsetField = OffsetField()
    points: PointField = PointField()
    classes: Whole = Whole(least=2, most=MOST_CLASSES)
    loss_name: OneOf = OneOf(*LOSSES, default="logistic")
    penalty: Positive = Positive()
    part: OneReal = OneReal()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        columns = self.box.columns
        check_features(self.frequencies, self.offsets, columns)
        if self.points.values.shape[1] != columns:
            raise InvalidParameter("points", self.points, f"rows of {columns} columns")
        check_penalty(self.penalty)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        points: Any,
        features: int = USUAL_FEATURES,
        gamma: Number | None = None,
        kernel: str = "rbf",
        loss_name: str = "logistic",
        penalty: Number | None = None,
        unit: Unit = ROW,
    ) -> Self:
        """Return the mechanism with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            classes: the number of classes.
            points: public rows of columns, at which scores are released.
            features: the number of features of the machine.
            gamma: how narrow the kernel is, columns being scaled to [-1, 1]; by default ``usual_gamma``.
            kernel: "rbf", "laplacian" or "matern"; see ``public_features``.
            loss_name: "logistic" or "hinge".
            penalty: by default that at which the noise of a score is a little less than a clear score.
            unit: ROW or ROW_REPLACED.

        """
        purse = Purse.within(within)
        low, high = BoundField().convert("lower", lower), BoundField().convert("upper", upper)
        frequencies, offsets = public_features(low.values.size, features, gamma, kernel)
        given, touched = PointField().convert("points", points), unit.touched if isinstance(unit, Unit) else 1
        reach = _reach(_View(Box(low, high), frequencies, offsets, given), given)
        # The noise of a score for answers that move by 1: its deviation is what a penalty is chosen by.
        entries = len(given.values) * (1 if classes == 2 else classes)
        if penalty is None:
            some = max(float(purse.amount), _LEAST_AMOUNT)
            wide = math.sqrt(entries + 1) / some if purse.is_pure else math.sqrt(1 / (2 * some))
            penalty = within_penalties(wide * float(reach) * touched / _USUAL_WIDTH)
        strength = positive("penalty", penalty)
        check_penalty(strength)
        part = real_noise(purse, scores_move(reach, strength, classes, touched))
        return cls(
            lower=low,
            upper=high,
            frequencies=frequencies,
            offsets=offsets,
            points=given,
            classes=classes,
            loss_name=loss_name,
            penalty=penalty,
            part=part,
            unit=unit,
        )

    @cached_property
    def _view(self) -> _View:
        return _View(self.box, self.frequencies, self.offsets, self.points)

    @cached_property
    def stability(self) -> Fraction:
        """How far one unit moves all scores of all points together, in L2."""
        return scores_move(_reach(self._view, self.points), self.penalty, self.classes, self.unit.touched)

    def plan(self) -> Plan:
        """Return the one draw of all scores."""
        return Use(shaped(self.part, self.scores * len(self.points.values)), self.stability)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return noisy scores, a row for each point: for two classes one, above 0 for the second; else one for each."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        there = self._view.records(self.points.values)
        weights = minimisers(self._view.records(values), classes, self.scores, self.penalty, self.loss_name)
        found = np.column_stack([each.scores(there) for each in weights])
        part = shaped(self.part, found.size)
        noisy = run(part, found.ravel(), stability=self.stability)
        return _smoothed(
            there / LENGTH,
            np.asarray(noisy, dtype=np.float64).reshape(found.shape),
            spread_of(part, found.size),
        )


@dataclass(frozen=True)
class _View:
    """How records are seen from public points: features around the points' centre, of length at most 1."""

    box: Box
    frequencies: PublicArray
    offsets: PublicArray
    points: PublicArray

    @cached_property
    def centre(self) -> Floats:
        """The mean of the points' features, in whole steps."""
        centre: Floats = np.rint(self._features(self.points.values).mean(axis=0))
        return centre

    @cached_property
    def radius(self) -> int:
        """The radius at which records are cut off: from the points' spread, and at least a share of the largest."""
        around = self._features(self.points.values) - self.centre
        spread = math.sqrt(float(squared_lengths(around).mean()))
        return max(1, round(_NEAR * max(spread, _LEAST_SPREAD * STEPS * math.sqrt(around.shape[1]))))

    def records(self, values: Floats) -> Floats:
        """Return rows of integers, at most LENGTH long, each a function of one row and of public numbers."""
        around = into_ball(self._features(values) - self.centre, self.radius, REST)
        return np.column_stack([around, np.full(len(around), float(CONSTANT))])

    def _features(self, values: Floats) -> Floats:
        return features_of(self.box.steps(values), self.frequencies, self.offsets)


def _smoothed(there: Floats, noisy: Floats, spread: float) -> Floats:
    """Return the most likely scores: similar points have similar scores, while noise varies between them.

    Scores are linear in the points' features. Weights are taken to be normal, and so long that an average point has
    a clear score.
    """
    square, width = there.T @ there, there.shape[1]
    ridge = spread**2 * float(np.trace(square)) / len(there) / _CLEAR**2
    found: Floats = there @ np.linalg.solve(square + max(ridge, 1e-9) * np.eye(width), there.T @ noisy)
    return found


def _reach(view: _View, points: PublicArray) -> Fraction:
    """Return a bound on how far all points move together when weights move by 1: the largest singular value."""
    there = view.records(points.values) / LENGTH
    found = Fraction(float(np.linalg.norm(there, 2))) * (1 + _ROOM)
    return round_up(min(found, sqrt_up(Fraction(len(there)))), bits=40)


def scores_move(reach: Fraction, penalty: Fraction, classes: int, touched: int) -> Fraction:
    """Return how far scores move: each minimiser by touched / penalty, plus two solver errors, over all scores.

    Args:
        reach: how far all points move together when the weights of a score move by 1.
        penalty: of half the squared length of the weights.
        classes: the number of classes.
        touched: the number of rows that one unit touches.

    """
    each = reach * (touched + 2 * TOLERANCE) / penalty
    return round_up((each if classes == 2 else each * sqrt_up(Fraction(classes))) + _PRODUCTS, bits=64)
