"""Select, then fit: columns are chosen privately first, and a model of these few is then learned from all rows.

For sharper weights than an average of vertices has, and for every way of choosing columns. Both stages see all rows and
their losses add up. Cost: that of the two. Correction: in print the second stage is run as if the chosen columns had
been known; here its budget is the part that the first left over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, get_args

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Of, Whole
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.moment_classifier import MomentClassifier
from dither.learn.linear.moments import MomentRegression
from dither.learn.rows import records_of
from dither.learn.sparse.entropy_descent import EntropyDescent
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.learn.sparse.model import SparseModel
from dither.learn.sparse.support import SupportSelection
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.privacy import InOrder, Plan, Unit, Use

Selector = FrankWolfe | EntropyDescent | SupportSelection
Fitter = MomentRegression | GradientDescent | MomentClassifier
#: Models of more columns are not fitted: keeping many columns needs no selection.
MOST_KEPT: Final = 2**8


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    unit_box: dict[str, Any] = {"lower": [-1], "upper": [1], "survey": DiscreteGaussian(sigma=2**13)}
    walk = FrankWolfe(**public, loss_name="squared", radius=1, steps=2, scale=2**25, target_upper=2)
    fit = MomentRegression(**unit_box, target_lower=0, target_upper=2, part=DiscreteGaussian(sigma=2**29))
    yield Example(SelectedColumns(select=walk, fit=fit, kept=1), rows, others)
    votes = SupportSelection(**public, loss_name="logistic", votes="columns", blocks=2, kept=1, scale=4)
    steps = GradientDescent(**unit_box, classes=2, loss_name="logistic", steps=2, step=DiscreteGaussian(sigma=2**26))
    yield Example(SelectedColumns(select=votes, fit=steps, kept=1), rows, others)


@register(
    examples=_examples,
    source="Private Convex Empirical Risk Minimization and High-dimensional Regression (Kifer, Smith, Thakurta 2012), "
    "section 4; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class SelectedColumns(Composed[Any, SparseModel]):
    """Choose columns privately, then learn a model of these columns alone.

    Guarantee: data ``d_in`` rows apart loses what ``select`` and ``fit`` lose together.

    Args:
        select: the chooser of columns: frank-wolfe or entropy-descent (its columns of the largest weights), or
            support-selection.
        fit: the learner from the chosen columns, which it sees scaled to [-1, 1].
        kept: the number of fitted columns; where fewer were chosen, the first others are added.

    >>> from dither.privacy import PureDP
    >>> half, frame = PureDP("1/2"), {"target_lower": 0, "target_upper": 1}
    >>> select = FrankWolfe.calibrated(half, lower=[0] * 9, upper=[1] * 9, loss_name="squared", **frame)
    >>> fit = MomentRegression.calibrated(half, lower=[-1] * 2, upper=[1] * 2, **frame)
    >>> SelectedColumns(select=select, fit=fit, kept=2).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "selected-columns"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "which columns are missed depends on the records"
    no_interval_because: ClassVar[str] = "which columns are missed depends on the records"

    select: Of[Selector] = Of(*get_args(Selector), rule="frank-wolfe, entropy-descent or support-selection")
    fit: Of[Fitter] = Of(*get_args(Fitter), rule="moment-regression, gradient-descent or moment-classifier")
    kept: Whole = Whole(least=1, most=MOST_KEPT)

    def __post_init__(self) -> None:
        if self.kept > self.select.box.columns:
            raise InvalidParameter("kept", self.kept, f"at most the {self.select.box.columns} columns")
        low, high = self.fit.lower.values, self.fit.upper.values
        if not (low.size == self.kept and bool(np.all(low == -1) and np.all(high == 1))):
            raise InvalidParameter("fit", self.fit, f"a learner from {self.kept} columns within [-1, 1]")
        if (self.select.loss_name == "squared") != isinstance(self.fit, MomentRegression):
            raise InvalidParameter("fit", self.fit, "a regression where targets are selected for, else a classifier")
        if isinstance(self.fit, GradientDescent | MomentClassifier) and self.fit.classes != 2:
            raise InvalidParameter("fit", self.fit, "a classifier of two classes")
        if self.fit.unit != self.select.unit:
            raise InvalidParameter("fit", self.fit, "a learner for the same unit as select")

    @property
    def distance(self) -> Unit:
        """The unit of both stages."""
        return self.select.unit

    def plan(self) -> Plan:
        """Return both stages."""
        return InOrder.of(Use(self.select), Use(self.fit))

    def release(self, data: Any, run: Runner) -> SparseModel:
        """Return the model of the chosen columns."""
        box = self.select.box
        records = records_of(data, box.columns)
        select: Any = self.select
        chosen = self._places(run(select, records))
        few = np.column_stack([box.scaled(records[:, :-1])[:, chosen], records[:, -1:]])
        return SparseModel.of(box, chosen, run(self.fit, few))

    def _places(self, found: SparseModel | tuple[int, ...]) -> NDArray[np.int64]:
        """Return the chosen columns, best first, filled up with the first of the others."""
        if isinstance(found, SparseModel):
            order = np.argsort(-np.abs(found.weights.values[0]), kind="stable")
            places = [int(found.chosen.values[place]) for place in order]
        else:
            places = [place for place in dict.fromkeys(found) if place >= 0]
        others = (place for place in range(self.select.box.columns) if place not in set(places))
        while len(places) < self.kept:
            places.append(next(others))
        return np.array(places[: self.kept], dtype=np.int64)
