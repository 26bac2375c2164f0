"""Compressed learning: records are projected to a few public directions, learned from there, and weights lifted back.

For many columns and few records: noise grows with the dimensions that are learned in. A public matrix of signs makes of
all columns a few sums; a private linear learner sees the sums. Cost: records times columns times dimensions, and the
learner on few columns. Corrections: in print a projection keeps lengths with high probability, and the bound on a
record's length is used as if it always did; here every projected number is clipped to public bounds and every record
shortened by the learner, so that no guarantee rests on the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.kernels import LearnerField, usual_learner
from dither.learn.linear.output import OutputPerturbation
from dither.learn.models import LinearModel
from dither.learn.rows import STEPS, BoundField, Box, Floats, records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.random_projection import sign_matrix
from dither.privacy import ROW, Loss, Plan, Unit, Use

#: Projected numbers are clipped to this, a record whose columns are all at their bounds projecting to about 1.
REACH: Final = 2.0
_KEY: Final = "dither.learn.linear.compressed"


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "matrix": [[1, -1]]}
    box: dict[str, Any] = {"lower": [-REACH], "upper": [REACH], "survey": DiscreteGaussian(sigma=2**13)}
    descent = GradientDescent(**box, classes=3, loss_name="logistic", steps=2, step=DiscreteGaussian(sigma=2**26))
    yield Example(CompressedClassifier(**public, learner=descent), rows, others)
    perturbed = OutputPerturbation(**box, classes=2, penalty=2, part=Gaussian(sigma=1))
    yield Example(CompressedClassifier(**public, learner=perturbed), rows, others)


@register(
    examples=_examples,
    source="Efficient Private Empirical Risk Minimization for High-dimensional Learning (Kasiviswanathan, Jin 2016), "
    "section 3; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
    reference=True,
    made_for={"classes": 2},
)
@dataclass(frozen=True, kw_only=True)
class CompressedClassifier(Composed[Any, LinearModel]):
    """Learn a linear classifier in a few public random directions, and lift it back to all columns.

    Guarantee: data ``d_in`` rows apart loses what ``learner`` loses at ``d_in``.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        matrix: public signs, a row for each dimension; see ``sign_matrix``.
        learner: a linear learner with one column for each dimension, each bounded by -2 and 2.

    >>> from dither.privacy import ApproxDP
    >>> public = {"lower": [0] * 50, "upper": [1] * 50, "classes": 2}
    >>> learner = CompressedClassifier.calibrated(ApproxDP(1, "1e-6"), dimensions=5, **public)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.matrix.values.shape
    (True, (5, 50))

    """

    name: ClassVar[str] = "compressed-classifier"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "what a projection loses depends on the records"
    no_interval_because: ClassVar[str] = "the best classifier has no known distance from a noisy one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    matrix: Array = Array("int", axes=2, within=(-1, 1), rule="a matrix of -1, 0 and 1")
    learner: LearnerField = LearnerField()

    def __post_init__(self) -> None:
        if self.matrix.values.shape[1] != self.box.columns:
            raise InvalidParameter("matrix", self.matrix, f"a sign for each of {self.box.columns} columns")
        bounds, reach = self.learner.box, np.full(len(self.matrix.values), REACH)
        if not (np.array_equal(bounds.lower.values, -reach) and np.array_equal(bounds.upper.values, reach)):
            raise InvalidParameter("learner", self.learner, f"one of {reach.size} columns, each within -2 and 2")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        dimensions: int | None = None,
        steps: int | None = None,
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Gradient descent, or objective perturbation where that is better: two classes, a pure epsilon, and no steps
        asked for.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            classes: the number of classes.
            dimensions: the number of dimensions after projection; by default twice the root of the columns.
            steps: of gradient descent.
            unit: ROW or ROW_REPLACED.

        """
        columns = len(np.atleast_1d(np.asarray(lower)))
        usual = min(columns, math.ceil(2 * math.sqrt(columns)))
        count = usual if dimensions is None else whole("dimensions", dimensions, least=1, most=columns)
        learner = usual_learner(
            within,
            reach=np.full(count, REACH),
            classes=classes,
            loss_name="logistic",
            steps=steps,
            unit=unit,
        )
        return cls(lower=lower, upper=upper, matrix=sign_matrix(_KEY, count, columns), learner=learner)

    @cached_property
    def box(self) -> Box:
        """The bounds, and their grid."""
        return Box(self.lower, self.upper)

    @property
    def distance(self) -> Unit:
        """The unit of the learner."""
        return self.learner.unit

    def plan(self) -> Plan:
        """Return what the learner draws: a row of columns becomes a row of their sums."""
        return Use(self.learner)

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return what the learner releases for the projected records, lifted back."""
        rows = records_of(data, self.box.columns)
        learned = run(self.learner, np.column_stack([self._projected(rows[:, :-1]), rows[:, -1]]))
        return self._lifted(learned)

    def _projected(self, values: Floats) -> Floats:
        """Return sums of integers, exact in any order, divided by one public number."""
        sums = self.box.steps(values) @ self.matrix.values.T.astype(np.float64)
        return sums / (STEPS * math.sqrt(self.box.columns))

    def _lifted(self, learned: LinearModel) -> LinearModel:
        """Return the same scores as weights of all columns, valid where nothing is cut off."""
        columns = self.box.columns
        across = learned.weights.values / learned.radius
        # No record of columns within [-1, 1] is as long as this, so none is shortened.
        radius = 2 * math.sqrt(columns)
        weights = across @ self.matrix.values * (radius / (REACH * math.sqrt(columns)))
        constants = learned.intercepts.values - across @ learned.shift.values
        shift = PublicArray(np.zeros(columns))
        return LinearModel(self.lower, self.upper, shift, radius, PublicArray(weights), PublicArray(constants))
