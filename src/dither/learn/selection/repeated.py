"""Repeated tuning: random candidates are learned and scored a secret random number of times; the best is released.

For many candidates: the price is that of two or three runs, however many are tried. Each run learns from one part of
the rows and counts its errors, with noise, on the rows held out, which one row can change in one way only. Cost: the
expected number of runs. Correction: the number of runs is drawn in secret from a law that makes the choice private; the
best of a fixed number of runs, or of one of each candidate, costs as much as all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Positive, Whole
from dither.learn.selection.errors_of import STEPS_OF_ERROR, Judged
from dither.learn.selection.model import TunedModel
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.repeat_and_select import MOST_RUNS, RepeatAndSelect
from dither.privacy import ROW, Loss, Parallel, Plan, PureDP, Unit, Use, Within
from dither.privacy.losses import largest


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "loss_name": "logistic", "steps": 1, "scale": 2**25}
    two = [FrankWolfe(**box, radius=radius) for radius in (2, 4)]
    yield Example(RepeatedTuning(candidates=two, classes=2, scale=4, stop="3/4", shape=1), rows, others)


@dataclass(frozen=True, kw_only=True)
class ScoredLearner(Judged, Composed[Any, "tuple[int, TunedModel]"]):
    """Learn from one part of the rows, and return the model with its noisy number of errors on the rest.

    Guarantee: data one row apart loses what the learner loses, or the count if that loses more.

    >>> from dither.learn.linear import MomentClassifier
    >>> from dither.privacy import PureDP
    >>> fit = MomentClassifier.calibrated(PureDP(1), lower=[0], upper=[1], classes=2)
    >>> ScoredLearner(candidates=(fit, fit), number=1, learned_from=3, classes=2, scale=1).loss(1) <= PureDP(1)
    True
    """

    name: ClassVar[str] = "scored-learner"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED

    number: Whole = Whole()
    learned_from: Whole = Whole(least=1)
    scale: Positive = Positive()

    @property
    def distance(self) -> Unit:
        """Rows added or removed."""
        return ROW

    @property
    def count(self) -> Geometric:
        """The noise of the number of errors."""
        return Geometric(scale=self.scale)

    @property
    def learner(self) -> Composed[Any, Any]:
        """The candidate that learns."""
        found: Composed[Any, Any] = self.candidates[self.number]
        return found

    def plan(self) -> Plan:
        """Return the learner on one part, the count on the other."""
        dearest = largest([self.learner.loss(1), self.count.loss(self.largest_error)])
        return Parallel(Within(dearest, (type(self.learner), Geometric), ROW), 2, 1)

    def release(self, data: Any, run: Runner) -> tuple[int, TunedModel]:
        """Return minus the noisy number of errors, and the model."""
        *parts, held_out = self.divided(data, self.learned_from)
        learn, judge = run.parallel(2)
        model = learn(self.learner, np.concatenate(parts))
        errors = judge(self.count, self.errors(model, held_out), stability=self.largest_error)
        return -int(errors), TunedModel.of(self.number, model)


@register(
    examples=_examples,
    source="Private Selection from Private Candidates (Liu, Talwar 2019); Hyperparameter Tuning with Renyi "
    "Differential Privacy (Papernot, Steinke 2022), section 3",
)
@dataclass(frozen=True, kw_only=True)
class RepeatedTuning(Judged, Composed[Any, TunedModel]):
    """Learn and score random candidates a secret random number of times, and release the model of the best run.

    Guarantee: data ``d_in`` rows apart loses epsilon = ``(2 + shape) * d_in`` times that of the dearest run, which is
    that of its learner or of its count of errors, whichever is larger.

    Args:
        candidates: learners from the same columns with pure losses, each for rows added or removed.
        scale: of the noise of a count of errors; an error of a regression counts up to 4096.
        stop: the larger, the fewer runs; 1 / stop of them are expected with ``shape`` 1.
        shape: 1 for the geometric law of the number of runs, 0 for the logarithmic law.
        classes: the number of classes; 0 for a regression.
        target_lower: the public lower bound of the target of a regression.
        target_upper: its upper bound.
        held_out: the number of held-out slots, of ``held_out + learned_from`` slots of rows.
        learned_from: the number of slots that are learned from.
        public_seed: a public text that decides the division.

    >>> from dither.learn.linear import MomentClassifier
    >>> from dither.privacy import PureDP
    >>> fits = [MomentClassifier.calibrated(PureDP("1/3"), lower=[0], upper=[1], classes=2) for _ in range(9)]
    >>> RepeatedTuning.calibrated(PureDP(1), candidates=fits, classes=2).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "repeated-tuning"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "how good the best run is depends on the candidates and the rows"
    no_interval_because: ClassVar[str] = "a model that was chosen because it erred little has no unbiased error"

    scale: Positive = Positive()
    stop: Positive = Positive(least=Fraction(1, MOST_RUNS))
    shape: Whole = Whole(1, most=1)
    learned_from: Whole = Whole(3, least=1, most=2**10)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(one.loss(1), PureDP) for one in self.candidates):
            raise InvalidParameter("candidates", self.candidates, "learners with pure losses")
        _ = self.repeated

    @classmethod
    def calibrated(cls, within: Loss, *, candidates: Any, stop: Any = None, shape: int = 1, **public: Any) -> Self:
        """Return the search with the least noise in its counts that loses at most ``within`` for one row.

        Args:
            within: a pure loss; the candidates must lose no more than a (2 + shape)-th of it.
            candidates: the learners.
            stop: by default the expected number of runs is that of the candidates, at least three, with ``shape`` 1.
            shape: of the law of the number of runs.
            public: the other fields.

        """
        if not isinstance(within, PureDP):
            raise InvalidParameter("within", within, "a pure loss: repeated choices are priced for no other")
        law = Whole(most=1).convert("shape", shape)
        # What is not a list of learners is refused below, by its name.
        many = len(candidates) if isinstance(candidates, tuple | list) else 0
        reach = 1 if public.get("classes") else STEPS_OF_ERROR
        scale = (2 + law) * reach / Purse.within(within).amount
        often = Fraction(1, max(3, many)) if stop is None else stop
        found = cls(candidates=candidates, scale=scale, stop=often, shape=law, **public)
        if not found.loss(1) <= within:
            rule = f"learners that lose no more than {within} divided by {2 + law}"
            raise InvalidParameter("candidates", f"a search of {found.loss(1)}", rule)
        return found

    @property
    def distance(self) -> Unit:
        """Rows added or removed."""
        return ROW

    @cached_property
    def repeated(self) -> RepeatAndSelect:
        """The choice among runs."""
        common: dict[str, Any] = {
            "candidates": self.candidates,
            "scale": self.scale,
            "classes": self.classes,
            "target_lower": self.target_lower,
            "target_upper": self.target_upper,
            "held_out": self.held_out,
            "learned_from": self.learned_from,
            "public_seed": self.public_seed,
        }
        runs = tuple(ScoredLearner(number=number, **common) for number in range(len(self.candidates)))
        return RepeatAndSelect(candidates=runs, stop=self.stop, shape=self.shape)

    def plan(self) -> Plan:
        """Return the choice among runs."""
        return Use(self.repeated)

    def release(self, data: Any, run: Runner) -> TunedModel:
        """Return the model of the best run."""
        _, model = run(self.repeated, data)
        found: TunedModel = model
        return found
