"""Sampled exponentiated gradient: learning over the L1 ball, with an error that hardly grows with more columns.

The entropy regulariser turns the sum of all gradients so far into a distribution over the vertices of the ball, each as
likely as the exponential of how much it would have helped. That distribution is private; one vertex drawn from it is an
exponential mechanism, and the average of the vertices drawn is the model. Cost: one pass over the records for each
step. Corrections: scores remember all gradients, so that one row moves them farther with every step, which each choice
pays for; noise is never added to the gradient itself, whose Euclidean sensitivity grows with the root of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, sqrt_up, whole
from dither.learn.sparse.l1_ball import REACH, VertexLearner, usual_radius
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.plans import sequence

#: Steps that suit some thousand rows at epsilon 1, where noise may be concentrated and where it is pure.
USUAL_STEPS: Final = 48
USUAL_PURE_STEPS: Final = 16


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "scale": 2**26}
    yield Example(EntropyDescent(**box, loss_name="logistic", radius=4, steps=3), rows, others)
    yield Example(
        EntropyDescent(**box, loss_name="squared", radius=1, steps=2, target_upper=2, unit=ROW_REPLACED), rows
    )


@register(
    examples=_examples,
    source="(Near) Dimension Independent Risk Bounds for Differentially Private Learning (Jain, Thakurta 2014); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class EntropyDescent(VertexLearner):
    """Learn over an L1 ball by exponentiated gradient, each step releasing one vertex drawn from the private weights.

    Guarantee: data ``d_in`` rows apart loses, over the steps t = 1, 2, ..., what the exponential mechanism of ``scale``
    loses at ``d_in * t * 2^24`` (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        loss_name: "squared" or "logistic" (labels 0 and 1; rows with another one are left out).
        radius: the largest sum of absolute weights of scaled columns: in units of the logistic score, or of
            half the target's range.
        steps: the number of vertices to draw.
        scale: the inverse of the learning rate, in steps of the gradient.
        clip: where residuals of the squared loss are clipped, in halves of the target's range; beyond, none pulls more.
        target_lower: the public lower bound of the target; for logistic loss 0.
        target_upper: its upper bound; for logistic loss 1.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = EntropyDescent.calibrated(PureDP(1), lower=[0] * 9, upper=[1] * 9, loss_name="squared", steps=4)
    >>> learner.loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "entropy-descent"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance to the best weights depends on the records"
    no_interval_because: ClassVar[str] = "the best weights have no known distance from an average of vertices"

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        loss_name: str,
        radius: Number | None = None,
        steps: int | None = None,
        unit: Unit = ROW,
        **targets: Any,
    ) -> Self:
        """Return the learner with the highest learning rate whose loss for one unit is within ``within``."""
        purse = Purse.within(within)
        usual = USUAL_PURE_STEPS if purse.is_pure else USUAL_STEPS
        count = usual if steps is None else whole("steps", steps, least=1)
        # Step by step scores move by 1, 2, 3, ... times as far: their epsilons add up, and the squares of these.
        squares = Fraction(count * (count + 1) * (2 * count + 1), 6)
        times = Fraction(count * (count + 1), 2) if purse.is_pure else sqrt_up(squares)
        scale = purse.choice(times * REACH * (unit.touched if isinstance(unit, Unit) else 1))
        return cls(
            lower=lower,
            upper=upper,
            loss_name=loss_name,
            radius=usual_radius(loss_name) if radius is None else radius,
            steps=count,
            scale=scale,
            unit=unit,
            **targets,
        )

    def plan(self) -> Plan:
        """Return the choices; a row moves later ones farther."""
        return sequence(Use(self.choice, self._stability(step)) for step in range(1, self.steps + 1))

    def _share(self, step: int) -> int:
        return 1

    def _stability(self, step: int) -> int:
        return self.unit.touched * REACH * step

    def _scored(self, gradient: NDArray[np.int64], earlier: NDArray[np.int64]) -> NDArray[np.int64]:
        # A sum beyond all bounds stays at its bound, which brings no two sums farther apart.
        falling: NDArray[np.int64] = np.clip(earlier - gradient, -LARGEST_VALUE, LARGEST_VALUE)
        return falling
