"""A classifier that is never much worse than the largest class: a learner, and a noisy look at how it does.

For small losses, where noise makes of many a learner something worse than no model at all. After the learner has
released its model, the records of each class that it tells right and wrong are counted with noise. Where it seems to
tell fewer records right than the largest class has, a model of the same kind takes its place whose scores are the noisy
shares of the classes. Cost: the learner, and its model applied once to each record. Everything after the counts is
post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Final, Self, get_type_hints

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Of, Whole
from dither.learn.bayes.categorical import CategoricalModel
from dither.learn.bayes.gaussian import GaussianModel
from dither.learn.cell_noise import Moves, noisy_cells, of_shape
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.kernels import KernelModel
from dither.learn.models import LinearModel, Model
from dither.learn.rows import Floats, records_of
from dither.learn.selection.errors_of import scores_rows, told_wrong
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.learn.sparse.model import SparseModel
from dither.learn.trees.models import BoostedModel, ForestModel
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, InOrder, Loss, Plan, PureDP, Unit, Use
from dither.privacy.losses import states_rho

#: What a record moves: one count by one.
_MOVED: Final = Moves(1, 1)
#: Below these a learner is guarded: an epsilon, or a rho where that is what is stated.
GUARDED_EPSILON: Final = Fraction(1)
GUARDED_RHO: Final = Fraction(1, 64)
#: What the counts take, in epsilon or rho: it leaves a few dozen records of noise.
_EPSILON: Final = Fraction(1, 20)
_RHO: Final = Fraction(1, 1600)
#: The largest share of a loss that is for them, pure and else, and the least.
_MOST_SHARES: Final = (Fraction(1, 4), Fraction(1, 3))
_LEAST_SHARE: Final = Fraction(1, 10)


#: Models that ``constant_like`` knows.
_KINDS: Final = (LinearModel, SparseModel, KernelModel, BoostedModel, ForestModel, GaussianModel, CategoricalModel)


def _is_guarded(learner: Any) -> bool:
    """Whether a learner from rows releases a model that can be replaced by one of its kind with constant scores."""
    kind: Any = type(learner)
    return learner.distance in (ROW, ROW_REPLACED) and scores_rows(kind) and _can_be_constant(kind)


@cache
def _can_be_constant(kind: Any) -> bool:
    """Whether a class of learners releases models that ``constant_like`` knows."""
    return issubclass(get_type_hints(kind.release)["return"], _KINDS)


def _classes_of(learner: Any) -> int:
    """Return the number of classes that a learner, or the one that it hands its columns to, tells apart."""
    for part in (learner, getattr(learner, "learner", None), getattr(learner, "fit", None)):
        if isinstance(found := getattr(part, "classes", None), int):
            return found
    return 2


class ScoringModel(Model):
    """A released model that scores rows: what a guarded learner releases is of its learner's kind."""

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of columns, one row each."""
        raise NotImplementedError


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    walk = FrankWolfe(**box, scale=2**25, loss_name="logistic", radius=2, steps=1)
    yield Example(GuardedClassifier(learner=walk, classes=2, part=Geometric(scale=2)), rows, others)
    noise: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**13), "step": DiscreteGaussian(sigma=2**26)}
    descent = GradientDescent(**box, **noise, classes=3, loss_name="logistic", steps=1, unit=ROW_REPLACED)
    yield Example(GuardedClassifier(learner=descent, classes=3, part=DiscreteGaussian(sigma=2)), rows)


@register(
    examples=_examples,
    source="Privacy Integrated Queries (McSherry 2009), section 4.2, for counts after a released model; what is done "
    "with them is our own",
    made_for="Made for a learner that is built within: its own tests have one.",
)
@dataclass(frozen=True, kw_only=True)
class GuardedClassifier(Composed[Any, Any]):
    """Learn a classifier, and replace it by the noisy shares of the classes where it seems to do worse than they.

    Guarantee: data ``d_in`` rows apart loses what ``learner`` loses at ``d_in`` and what ``part`` loses at ``d_in``
    (at twice that for rows replaced).

    Args:
        learner: of a classifier from rows whose label is last.
        classes: the number of classes.
        part: the noise of one count of the records of a class that are told right or wrong.

    >>> from dither.learn.linear import GradientDescent
    >>> def build(loss):
    ...     return GradientDescent.calibrated(loss, lower=[0], upper=[1], classes=2)
    >>> GuardedClassifier.calibrated(PureDP("1/10"), build=build, classes=2).loss(1) <= PureDP("1/10")
    True

    """

    name: ClassVar[str] = "guarded-classifier"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the distance between a private learner and the best one depends on the records"
    no_interval_because: ClassVar[str] = "the best classifier has no known distance from a noisy one"

    learner: Of[Composed[Any, Any]] = Of(
        Composed, where=_is_guarded, rule="a learner from rows, of models that can have constant scores"
    )
    classes: Whole = Whole(least=2, most=2**10)
    part: OneCount = OneCount()

    def __post_init__(self) -> None:
        if self.classes != _classes_of(self.learner):
            raise InvalidParameter("classes", self.classes, f"{_classes_of(self.learner)}, as the learner has")

    @classmethod
    def calibrated(cls, within: Loss, *, build: Callable[[Loss], Any], classes: int) -> Self:
        """Return the guarded learner whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            build: makes the learner that spends the loss it is given.
            classes: the number of classes.

        """
        purse, share = Purse.within(within), guard_share(within)
        made = build(purse.share(1 - share).loss)
        return cls(learner=made, classes=classes, part=_MOVED.noise(purse.share(share), made.distance.touched))

    @property
    def distance(self) -> Unit:
        """The unit of the learner."""
        found: Unit = self.learner.distance  # type: ignore[assignment]
        return found

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the counts."""
        return _MOVED.stability(self.part, self.distance.touched)

    def plan(self) -> Plan:
        """Return what the learner draws, and the counts."""
        return InOrder.of(Use(self.learner), Use(of_shape(self.part, (2, self.classes)), self.stability))

    def release(self, data: Any, run: Runner) -> ScoringModel:
        """Return the learner's model, or a constant one of its kind where the largest class seems to do better."""
        found: ScoringModel = run(self.learner, data)
        rows = records_of(data, np.shape(data)[1] - 1)
        counts = np.zeros((2, self.classes), dtype=np.int64)
        for place, told in enumerate(told_wrong(found, rows, self.classes)):
            counts[place] = np.bincount(rows[told, -1].astype(np.int64), minlength=self.classes)
        seen = noisy_cells(run, self.part, counts, self.stability)
        of_class = seen.sum(axis=0)
        return found if float(seen[0].sum()) > float(of_class.max()) else constant_like(found, of_class)


def is_small(within: Loss) -> bool:
    """Whether a loss is so small that a classifier is guarded by default: an epsilon below 1, or a rho below 1/64."""
    if isinstance(within, PureDP) or (isinstance(within, ApproxDP) and not states_rho(within)):
        return within.epsilon < GUARDED_EPSILON
    return Purse.within(within).amount < (GUARDED_EPSILON if Purse.within(within).is_pure else GUARDED_RHO)


def guard_share(within: Loss) -> Fraction:
    """Return the share of a loss that the counts take: enough to tell the larger of two classes in a few hundred rows.

    >>> guard_share(PureDP("1/4")), guard_share(PureDP("1/100"))
    (Fraction(1, 5), Fraction(1, 4))
    """
    purse = Purse.within(within)
    wanted = (_EPSILON if purse.is_pure else _RHO) / purse.amount
    return min(max(wanted.limit_denominator(2**10), _LEAST_SHARE), _MOST_SHARES[0 if purse.is_pure else 1])


def constant_like(found: Any, counts: Floats) -> Any:
    """Return a model of the same kind whose scores are those of the noisy shares of the classes, for every record.

    Args:
        found: a released model.
        counts: noisy counts of the classes.

    """
    held = np.maximum(np.asarray(counts, dtype=np.float64), 0.0) + 1.0
    shares = held / held.sum()
    logs = np.log(shares)
    if isinstance(found, LinearModel | SparseModel | KernelModel):
        constants = logs[1:] - logs[:1] if len(found.intercepts.values) == 1 else logs
        weights = PublicArray(np.zeros_like(found.weights.values))
        return replace(found, weights=weights, intercepts=PublicArray(constants))
    if isinstance(found, BoostedModel):
        values = np.zeros_like(found.values.values, dtype=np.float64)
        values[0] = logs[1:] - logs[:1] if values.shape[2] == 1 else logs
        return replace(found, values=PublicArray(values))
    if isinstance(found, ForestModel):
        leaves = np.broadcast_to(np.rint(held), found.leaves.values.shape)
        return replace(found, leaves=PublicArray(leaves.astype(found.leaves.values.dtype)))
    if isinstance(found, GaussianModel):
        means, variances = (PublicArray(_first(one.values)) for one in (found.means, found.variances))
        return replace(found, shares=PublicArray(shares), means=means, variances=variances)
    if isinstance(found, CategoricalModel):
        return replace(found, shares=PublicArray(shares), chances=PublicArray(_first(found.chances.values)))
    # Learners of such models were refused when they were named.
    raise InvalidParameter("learner", type(found).__name__, "a learner of a model that can be constant")


def _first(values: Floats) -> Floats:
    """Return the first row in place of each: classes that do not differ."""
    return np.tile(values[:1], (len(values), 1))
