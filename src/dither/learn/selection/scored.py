"""A learner and its score on rows that it has not seen, for the price of one of them.

For the question how good a private model is, which otherwise is answered by looking at private rows, unpaid. A fifth of
the rows is held out. A row is either learned from or held out, so that the score costs nothing beside the learner: it
costs the rows that are not learned from. What is released of rows held out are a few noisy sums, of which the accuracy
or the coefficient of determination is made. Cost: the learner once, each row held out scored once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Of, Real, Text, Whole
from dither.learn.linear.moments import MomentRegression
from dither.learn.rows import Floats, target_box
from dither.learn.selection.errors_of import is_judged, scores_of, slots_of, told_wrong
from dither.learn.selection.model import ScoredModel
from dither.learn.selection.score_intervals import accuracy_interval
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import integers
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, Loss, Parallel, Plan, Unit, Within
from dither.privacy.losses import largest

#: One of this number of slots is held out.
SLOTS: Final = 5
#: What one row held out adds to its own number, where sums are made of targets.
STEPS: Final = 2**20
#: How far one row moves the sums of a regression: in L1 (1 + 1/2 + 1/4 + 1) and, rounded up, in L2, in steps.
_FAR_L1: Final = Fraction(11, 4) * STEPS
_FAR_L2: Final = Fraction(25, 16) * STEPS


@dataclass(frozen=True)
class Score:
    """How good a model is on rows held out, by noisy sums.

    Args:
        kind: "accuracy", or "R2" for a regression.
        value: the score.
        low: the lower end of its interval: for noise and sampling, or for noise alone where ``is_sampled`` is false.
        high: the upper end.
        confidence: of both intervals.
        rows: about how many rows were held out, a noisy number.
        noise_low: the lower end for noise alone: of the score on these very rows.
        noise_high: the upper end for noise alone.
        is_sampled: whether ``low`` and ``high`` are about the population of which the rows are a sample.

    """

    kind: str
    value: float
    low: float
    high: float
    confidence: float = 0.95
    rows: int = 0
    noise_low: float = 0.0
    noise_high: float = 0.0
    is_sampled: bool = False

    def __str__(self) -> str:
        share = f"{100 * self.confidence:g} % interval"
        said = f"{self.kind} {self.value:.3f} on about {self.rows:,} rows held out"
        noise = f"{self.noise_low:.3f} to {self.noise_high:.3f} for noise alone, on these rows"
        if not self.is_sampled:
            return f"{said} ({share} {noise}; sampling is not covered)"
        return f"{said} ({share} {self.low:.3f} to {self.high:.3f} for noise and sampling; {noise})"


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    walk = FrankWolfe(**box, scale=2**25, loss_name="logistic", radius=2, steps=1)
    yield Example(HeldOutScore(learner=walk, part=Geometric(scale=4), classes=2), rows, others)
    frame: dict[str, Any] = {"target_lower": 0, "target_upper": 2}
    survey, part = DiscreteGaussian(sigma=2**13), DiscreteGaussian(sigma=2**29)
    fit = MomentRegression(**box, **frame, survey=survey, part=part)
    yield Example(HeldOutScore(learner=fit, part=DiscreteGaussian(sigma=2**24), **frame), rows, others)


@register(
    examples=_examples,
    source="Privacy Integrated Queries (McSherry 2009), section 4.2, for disjoint parts",
)
@dataclass(frozen=True, kw_only=True)
class HeldOutScore(Composed[Any, ScoredModel]):
    """Learn from four fifths of the rows, and score the model on the fifth that was held out.

    Guarantee: data one row apart loses what the learner loses, or the noise of the score if that loses more, and not
    their sum; ``d_in`` rows the worst division of them between the two parts.

    Args:
        learner: from rows added or removed.
        part: the noise of one of the sums over rows held out.
        classes: how many classes there are; 0 for a regression.
        target_lower: the public lower bound of the target of a regression.
        target_upper: its upper bound.
        public_seed: a public text that decides which rows are held out.

    >>> from dither.learn.linear import GradientDescent
    >>> from dither.privacy import PureDP
    >>> walk = GradientDescent.calibrated(PureDP(1), lower=[0], upper=[1], classes=2, steps=4)
    >>> HeldOutScore.calibrated(PureDP(1), learner=walk, classes=2).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "held-out-score"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "how good a model is depends on the rows"
    no_interval_because: ClassVar[str] = "a model has no interval; ``score`` returns that of its score"

    learner: Of[Composed[Any, Any]] = Of(
        Composed,
        where=is_judged,
        rule="a learner from rows added or removed, of models that score rows",
    )
    part: OneCount = OneCount()
    classes: Whole = Whole(0, most=2**12)
    target_lower: Real = Real(0)
    target_upper: Real = Real(1)
    public_seed: Text = Text("")

    def __post_init__(self) -> None:
        if self.classes == 1:
            raise InvalidParameter("classes", self.classes, "two or more, or 0 for a regression")
        _ = target_box(self.target_lower, self.target_upper)
        if not float(self.target_lower) < float(self.target_upper):
            # A range of width 0 would make of a row's place in it a number that is none, and of that a huge sum.
            rule = "above target_lower by more than the rounding of floats"
            raise InvalidParameter("target_upper", str(self.target_upper), rule)
        if self.classes and not (self.target_lower == 0 and self.target_upper == 1):
            raise InvalidParameter("target_upper", str(self.target_upper), "not allowed: classes have no bounds")

    @classmethod
    def calibrated(cls, within: Loss, *, learner: Any, **public: Any) -> Self:
        """Return the learner with the sharpest score that loses no more than ``within`` for one row.

        Args:
            within: what may be lost; the learner must be within it by itself.
            learner: what is scored.
            public: the other fields: ``classes`` or the bounds of the target, ``public_seed``.

        """
        far = (1, 1) if public.get("classes") else (_FAR_L1, _FAR_L2)
        found = cls(learner=learner, part=Purse.within(within).noise(*far), **public)
        if not found.loss(1) <= within:
            raise InvalidParameter("learner", str(found.loss(1)), f"a learner that is itself within {within}")
        return found

    @property
    def distance(self) -> Unit:
        """Rows added or removed."""
        return ROW

    @property
    def noise(self) -> CountNoise:
        """The noise of all sums."""
        return replace(self.part, shape=(2 if self.classes else 4,))

    @property
    def stability(self) -> Fraction:
        """How far one row moves the sums, in the distance of the noise."""
        if self.classes:
            return Fraction(1)
        return _FAR_L1 if isinstance(self.part, Geometric) else _FAR_L2

    def plan(self) -> Plan:
        """Return the learner or the noisy sums, each on its own part of the rows."""
        dearer = largest([self.learner.loss(1), self.noise.loss(self.stability)])
        return Parallel(Within(dearer, (type(self.learner), type(self.part)), ROW), 2, 1)

    def release(self, data: Any, run: Runner) -> ScoredModel:
        """Return the model and the noisy sums."""
        rows, slots = self.slots(data)
        learning, scoring = run.parallel(2)
        found = learning(self.learner, rows[slots > 0])
        sums = scoring(self.noise, self.sums(found, rows[slots == 0]), stability=self.stability)
        return ScoredModel.of(found, sums)

    def slots(self, data: Any) -> tuple[Floats, NDArray[np.int64]]:
        """Return private rows, and a slot for each; rows in slot 0 are held out."""
        # Other slots than those of a learner that divides rows too: it would find some of its own empty.
        return slots_of(data, SLOTS, f"held-out:{self.public_seed}")

    def sums(self, released: Any, rows: Floats) -> NDArray[np.int64]:
        """Return whole sums over private rows: what each row adds is a function of that row and of the model."""
        if self.classes:
            return np.array([np.count_nonzero(told) for told in told_wrong(released, rows, self.classes)], np.int64)
        low, high = float(self.target_lower), float(self.target_upper)
        middle, span = low / 2 + high / 2, high - low
        with np.errstate(all="ignore"):
            labels = rows[:, -1]
            targets = np.clip(np.where(np.isnan(labels), middle, labels), low, high)
            told = np.clip(scores_of(released, rows[:, :-1])[:, 0], low, high)
            place = np.clip((targets - middle) / span, -0.5, 0.5)
            off = np.clip(np.abs(told - targets) / span, 0.0, 1.0)
            off = np.where(np.isnan(off), 1.0, off)
            parts = np.column_stack([np.ones(len(rows)), place, place * place, off * off])
            whole = np.trunc(parts * STEPS).astype(np.int64)
        return integers(whole.sum(axis=0))

    def score(self, released: ScoredModel, *, alike: int = 1) -> Score:
        """Return the score of released sums: post-processing.

        An accuracy has an interval for noise and sampling, and one for noise alone; a regression has the latter.

        Args:
            released: what this mechanism released.
            alike: how many rows of one person count, which may be alike: so many are one of a sample.

        """
        sums = released.sums.values
        near = self.noise.interval(sums, "0.95")
        sides = [sums, sums] if near is None else [np.asarray(near.low), np.asarray(near.high)]
        told = _accuracy if self.classes else _determination
        # A share of sums is largest and smallest at the corners of their box; a square is smallest at 0, too.
        points = [sorted({*pair, min(max(0.0, pair[0]), pair[1])}) for pair in np.array(sides, dtype=np.float64).T]
        corners = [told(corner) for corner in itertools.product(*points)]
        value, ends = told(sums.astype(np.float64)), (min(corners), max(corners))
        if not self.classes:
            return Score("R2", value, *ends, 0.95, max(0, round(int(sums[0]) / STEPS)), *ends)
        right, wrong = (float(one) for one in sums)
        low, high = (float(end) for end in accuracy_interval(right, wrong, self._variance, alike=alike))
        low, high = min(low, value), max(high, value)
        return Score("accuracy", value, low, high, 0.95, max(0, int(right + wrong)), *ends, is_sampled=True)

    @property
    def _variance(self) -> float:
        """The variance of the noise of one sum, rounded up: that of the continuous law, which is larger."""
        if isinstance(self.part, Geometric):
            return 2 * float(self.part.scale) ** 2
        return float(self.part.sigma) ** 2


def _accuracy(sums: Any) -> float:
    """Return the share of rows told right; a half where noise left none."""
    right, wrong = (max(0.0, float(one)) for one in sums)
    return right / (right + wrong) if right + wrong else 0.5


def _determination(sums: Any) -> float:
    """Return 1 less the squared errors over those of the mean, between -1 and 1."""
    rows, targets, squares, errors = (float(one) for one in sums)
    spread = squares - targets * targets / max(rows, 1.0)
    return max(-1.0, 1.0 - max(0.0, errors) / spread) if spread > 0 else -1.0
