"""Kernel machines by random Fourier features: curved boundaries, learned by a linear learner on public features.

For classes that no plane divides. Columns become cosines of random sums of them, bounded by nature, and a private
linear learner does the rest. Cost: records times columns times features, and the learner on the features. Corrections:
features are drawn in public and released with the model; the printed noise, Laplace in every feature for an L1 bound,
is that of the learner, for an L2 bound; the printed number of records in its scale is not public here.
"""

# scikit-learn calls the strength of a fit C.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self, get_args

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Of
from dither.learn.linear.choose import AUTO, classifier
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.fourier import (
    FrequencyField,
    OffsetField,
    check_features,
    features_of,
    public_features,
)
from dither.learn.linear.minibatch import MinibatchDescent
from dither.learn.linear.newton import NewtonDescent
from dither.learn.linear.objective import ObjectivePerturbation
from dither.learn.linear.output import OutputPerturbation
from dither.learn.models import LinearModel, Model, model
from dither.learn.rows import STEPS, BoundField, Box, Floats, records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, Loss, Plan, Unit, Use

USUAL_FEATURES: Final = 128
#: Pure noise grows with the features themselves and not with their root.
USUAL_PURE_FEATURES: Final = 32

#: Learners of a linear model that take a column for each feature.
FEATURE_SOLVERS: Final = ("gradient", "minibatch", "newton", "objective", "output")

LinearLearner = GradientDescent | MinibatchDescent | NewtonDescent | ObjectivePerturbation | OutputPerturbation


class LearnerField(Of[LinearLearner]):
    """A learner of a linear classifier."""

    def __init__(self) -> None:
        super().__init__(*get_args(LinearLearner), rule="a learner by gradients, Newton steps, or a perturbed minimum")


def usual_learner(
    within: Loss,
    *,
    reach: Floats,
    classes: int,
    loss_name: str,
    steps: int | None,
    unit: Unit,
    solver: str = AUTO,
    C: Any = None,
) -> LinearLearner:
    """Return the learner that suits the loss, for columns between -reach and reach.

    Where none is named, steps, and more than two classes, ask for gradient descent.
    """
    if solver not in (AUTO, *FEATURE_SOLVERS):
        raise InvalidParameter("solver", solver, f"one of {', '.join((AUTO, *FEATURE_SOLVERS))}")
    found: Any = classifier(
        within,
        solver="gradient" if solver == AUTO and not (steps is None and classes == 2) else solver,
        lower=-reach,
        upper=reach,
        classes=classes,
        max_iter=steps,
        C=C,
        unit=unit,
        loss_name=loss_name,
    )
    return LearnerField().convert("learner", found)


@model
@dataclass(frozen=True)
class KernelModel(Model):
    """Scores that are linear in random Fourier features of clipped columns.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        frequencies: integers, a row for each feature.
        offsets: an integer for each feature.
        shift: the centre of the features.
        radius: features are shortened to this length from the centre.
        weights: a row for each score.
        intercepts: one for each score.

    """

    kind: ClassVar[str] = "kernel"

    lower: PublicArray
    upper: PublicArray
    frequencies: PublicArray
    offsets: PublicArray
    shift: PublicArray
    radius: float
    weights: PublicArray
    intercepts: PublicArray

    def __post_init__(self) -> None:
        FrequencyField().convert("frequencies", self.frequencies)
        OffsetField().convert("offsets", self.offsets)
        check_features(self.frequencies, self.offsets, Box(self.lower, self.upper).columns)
        # Its own checks say whether the parts fit.
        _ = self.linear

    @property
    def linear(self) -> LinearModel:
        """The model of the features."""
        ones = np.ones(len(self.frequencies.values))
        return LinearModel(
            PublicArray(-ones), PublicArray(ones), self.shift, self.radius, self.weights, self.intercepts
        )

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of columns, one row each."""
        steps = Box(self.lower, self.upper).steps(values)
        return self.linear.scores(features_of(steps, self.frequencies, self.offsets) / STEPS)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    frequencies, offsets = public_features(2, 3)
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "frequencies": frequencies, "offsets": offsets}
    box: dict[str, Any] = {"lower": [-1] * 3, "upper": [1] * 3, "classes": 2, "survey": DiscreteGaussian(sigma=2**13)}
    descent = GradientDescent(**box, loss_name="hinge", steps=2, step=DiscreteGaussian(sigma=2**26))
    yield Example(KernelMachine(**public, learner=descent), rows, others)
    perturbed = OutputPerturbation(**box, penalty=2, part=Gaussian(sigma=1))
    yield Example(KernelMachine(**public, learner=perturbed), rows, others)


@register(
    examples=_examples,
    source="Learning in a Large Function Space: Privacy-Preserving Mechanisms for SVM Learning (Rubinstein, Bartlett, "
    "Huang, Taft 2012), section 4; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
    made_for={"classes": 2},
)
@dataclass(frozen=True, kw_only=True)
class KernelMachine(Composed[Any, KernelModel]):
    """Learn a classifier that is linear in public random features of the columns.

    Guarantee: data ``d_in`` rows apart loses what ``learner`` loses at ``d_in``.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        frequencies: public integers, a row for each feature; see ``public_features``.
        offsets: a public integer for each feature.
        learner: a linear learner with one column for each feature, each bounded by -1 and 1.

    >>> from dither.privacy import ApproxDP
    >>> learner = KernelMachine.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], classes=2, features=20)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.learner.name
    (True, 'gradient-descent')

    """

    name: ClassVar[str] = "kernel-machine"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the distance between a private learner and the best one depends on the records"
    no_interval_because: ClassVar[str] = "the best classifier has no known distance from a noisy one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    frequencies: FrequencyField = FrequencyField()
    offsets: OffsetField = OffsetField()
    learner: LearnerField = LearnerField()

    def __post_init__(self) -> None:
        check_features(self.frequencies, self.offsets, self.box.columns)
        bounds = self.learner.box
        ones = np.ones(len(self.frequencies.values))
        if not (np.array_equal(bounds.lower.values, -ones) and np.array_equal(bounds.upper.values, ones)):
            raise InvalidParameter("learner", self.learner, f"one of {ones.size} columns, each within -1 and 1")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        loss_name: str = "logistic",
        features: int | None = None,
        gamma: Number | None = None,
        kernel: str = "rbf",
        steps: int | None = None,
        solver: str = AUTO,
        C: Any = None,
        unit: Unit = ROW,
    ) -> Self:
        """Return the machine with the least noise whose loss for one unit is within ``within``.

        Where no solver is named, gradient descent on the features, or objective perturbation where that is better: two
        classes and a pure epsilon, and no steps asked for. With "output" and the hinge it is the published machine.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            classes: the number of classes.
            loss_name: "logistic" or "hinge".
            features: the number of features; by default 128, and 32 where the loss is pure.
            gamma: how narrow the kernel is, columns being scaled to [-1, 1]; by default ``usual_gamma``.
            kernel: "rbf", "laplacian" or "matern"; see ``public_features``.
            steps: of gradient descent.
            solver: "auto", "gradient", "minibatch", "newton", "objective" or "output".
            C: of "objective" and "output", the inverse of the strength of the penalty.
            unit: ROW or ROW_REPLACED.

        """
        usual = USUAL_PURE_FEATURES if Purse.within(within).is_pure else USUAL_FEATURES
        columns, count = len(np.atleast_1d(np.asarray(lower))), usual if features is None else features
        frequencies, offsets = public_features(columns, count, gamma, kernel)
        learner = usual_learner(
            within,
            reach=np.ones(len(frequencies.values)),
            classes=classes,
            loss_name=loss_name,
            steps=steps,
            unit=unit,
            solver=solver,
            C=C,
        )
        return cls(lower=lower, upper=upper, frequencies=frequencies, offsets=offsets, learner=learner)

    @cached_property
    def box(self) -> Box:
        """The bounds, and their grid."""
        return Box(self.lower, self.upper)

    @property
    def distance(self) -> Unit:
        """The unit of the learner."""
        return self.learner.unit

    def plan(self) -> Plan:
        """Return what the learner draws: a row of columns becomes a row of features."""
        return Use(self.learner)

    def release(self, data: Any, run: Runner) -> KernelModel:
        """Return what the learner releases for the features."""
        rows = records_of(data, self.box.columns)
        features = features_of(self.box.steps(rows[:, :-1]), self.frequencies, self.offsets) / STEPS
        learned = run(self.learner, np.column_stack([features, rows[:, -1]]))
        return KernelModel(
            self.lower,
            self.upper,
            self.frequencies,
            self.offsets,
            learned.shift,
            learned.radius,
            learned.weights,
            learned.intercepts,
        )
