"""Tuning on disjoint parts: each candidate learns from its own part of the rows, and held-out rows choose among them.

For the choice of parameters that otherwise would be made by looking at the data, unpaid. A row lies in one part: it can
change one candidate's model, or one count of errors of each, and never both. So the search costs what one candidate
costs. Cost: each candidate once, on its part. Corrections: a row's part depends on the row alone, and not on its place,
which moves with every row before it; the errors of a row held out all count the same way, so that the choice needs half
the noise that is printed; rows replaced are refused, because such a row may leave one part and enter another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Positive
from dither.learn.linear.moments import MomentRegression
from dither.learn.selection.errors_of import STEPS_OF_ERROR, Judged
from dither.learn.selection.model import TunedModel
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.privacy import ROW, Loss, Parallel, Plan, Unit, Within
from dither.privacy.losses import largest


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "scale": 2**25}
    walks = [FrankWolfe(**box, loss_name="logistic", radius=2, steps=steps) for steps in (1, 2)]
    yield Example(DisjointTuning(candidates=walks, classes=2, scale=4), rows, others)
    frame: dict[str, Any] = {"target_lower": 0, "target_upper": 2}
    survey, part = DiscreteGaussian(sigma=2**13), DiscreteGaussian(sigma=2**29)
    walk = FrankWolfe(**box, **frame, loss_name="squared", radius=1, steps=1)
    fit = MomentRegression(lower=[-1, 0], upper=[1, 8], **frame, survey=survey, part=part)
    yield Example(DisjointTuning(candidates=[walk, fit], scale=2**14, **frame), rows, others)


@register(
    examples=_examples,
    source="Differentially Private Empirical Risk Minimization (Chaudhuri, Monteleoni, Sarwate 2011), section 6; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class DisjointTuning(Judged, Composed[Any, TunedModel]):
    """Let candidates learn from disjoint parts of the rows, and release the one that errs least on held-out rows.

    Guarantee: data one row apart loses what the dearest candidate loses, or the choice if that loses more; ``d_in``
    rows the worst division of them among the parts.

    Args:
        candidates: learners from the same columns, each for rows added or removed.
        scale: of the choice, in errors; an error of a regression counts up to 4096.
        classes: the number of classes; 0 for a regression.
        target_lower: the public lower bound of the target of a regression.
        target_upper: its upper bound.
        held_out: the size of the held-out part, as a multiple of the part of one candidate.
        public_seed: a public text that decides the division.

    >>> from dither.learn.linear import GradientDescent
    >>> from dither.privacy import PureDP
    >>> walks = [GradientDescent.calibrated(PureDP(1), lower=[0], upper=[1], classes=2, steps=n) for n in (1, 2, 4, 8)]
    >>> DisjointTuning.calibrated(PureDP(1), candidates=walks, classes=2).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "disjoint-tuning"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "how good the best candidate is depends on the rows"
    no_interval_because: ClassVar[str] = "a model that was chosen because it erred little has no unbiased error"

    scale: Positive = Positive()

    @classmethod
    def calibrated(cls, within: Loss, *, candidates: Any, **public: Any) -> Self:
        """Return the search with the sharpest choice that loses at most ``within`` for one row.

        Args:
            within: the loss not to exceed; each candidate must be within it.
            candidates: the learners.
            public: the other fields: ``classes`` or the bounds of the target, ``held_out``, ``public_seed``.

        """
        reach = 1 if public.get("classes") else STEPS_OF_ERROR
        # All errors move the same way.
        scale = Purse.within(within).choice(reach, one_way=True)
        found = cls(candidates=candidates, scale=scale, **public)
        if not found.loss(1) <= within:
            raise InvalidParameter("candidates", str(found.loss(1)), f"learners that are each within {within}")
        return found

    @property
    def distance(self) -> Unit:
        """Rows added or removed."""
        return ROW

    @property
    def choice(self) -> Exponential:
        """The choice among the candidates."""
        return Exponential(candidates=len(self.candidates), scale=self.scale, one_way=True)

    def plan(self) -> Plan:
        """Return one candidate or the choice on each of the disjoint parts."""
        one = Within(largest([self.dearest, self.choice.loss(self.largest_error)]), (*self.kinds, Exponential), ROW)
        return Parallel(one, len(self.candidates) + 1, 1)

    def release(self, data: Any, run: Runner) -> TunedModel:
        """Return the model of the chosen candidate."""
        *parts, held_out = self.divided(data, len(self.candidates))
        *runs, last = run.parallel(len(self.candidates) + 1)
        models = [each(one, part) for each, one, part in zip(runs, self.candidates, parts, strict=True)]
        errors = np.array([self.errors(model, held_out) for model in models], dtype=np.int64)
        chosen = last(self.choice, -errors, stability=self.largest_error)
        return TunedModel.of(chosen, models[chosen])
