"""Private Frank-Wolfe: a sparse linear model, one column a step, each chosen by the exponential mechanism.

For many columns of which few matter: the error grows with the logarithm of their number. Minimises a squared loss with
clipped residuals, or a logistic one, over all weights whose absolute values add up to at most a public radius. Cost:
one pass over the records for each step. Corrections: gradients are sums of integers, so that their sensitivity is
a fact and not a bound on floats; residuals are clipped, without which a squared loss has no Lipschitz constant that
does not grow with the radius; no step length depends on the number of records, which is private.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Flag, Number, whole
from dither.learn.rows import Floats
from dither.learn.sparse.l1_ball import REACH, VertexLearner, usual_radius
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Repeat, Unit, Use

#: Steps that suit some thousand rows at epsilon 1, where noise may be concentrated and where it is pure.
USUAL_STEPS: Final = 16
USUAL_PURE_STEPS: Final = 10


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "scale": 2**25}
    yield Example(FrankWolfe(**box, loss_name="logistic", radius=4, steps=3), rows, others)
    yield Example(FrankWolfe(**box, loss_name="squared", radius=1, steps=2, target_upper=2), rows, others)
    yield Example(FrankWolfe(**box, loss_name="squared", radius="1/2", steps=2, distinct=True, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Nearly Optimal Private LASSO (Talwar, Thakurta, Zhang 2015), section 2; Differential Privacy and "
    "Applications (Zhu et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class FrankWolfe(VertexLearner):
    """Learn a sparse linear model in a fixed number of steps, each towards one privately chosen vertex of an L1 ball.

    Guarantee: data ``d_in`` rows apart loses ``steps`` times what the exponential mechanism of ``scale`` loses at
    ``d_in * 2^24``, the farthest that one row moves the gradient in one column (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        loss_name: "squared" or "logistic" (labels 0 and 1; rows with another one are left out).
        radius: the largest sum of absolute weights of scaled columns: in units of the logistic score, or of
            half the target's range.
        steps: the number of vertices to choose.
        scale: of each choice, in steps of the gradient.
        clip: where residuals of the squared loss are clipped, in halves of the target's range; beyond, none pulls more.
        target_lower: the public lower bound of the target; for logistic loss 0.
        target_upper: its upper bound; for logistic loss 1.
        distinct: whether no column is chosen twice, earlier ones then weighing more: for those who want its columns
            rather than its weights.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = FrankWolfe.calibrated(ApproxDP(1, "1e-6"), lower=[0] * 1000, upper=[1] * 1000, loss_name="logistic")
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.steps, learner.choice.candidates
    (True, 16, 2002)

    """

    name: ClassVar[str] = "frank-wolfe"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance to the best weights depends on the records"
    no_interval_because: ClassVar[str] = "the best weights have no known distance from an average of vertices"

    distinct: Flag = Flag(False)

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
        distinct: bool = False,
        unit: Unit = ROW,
        **targets: Any,
    ) -> Self:
        """Return the learner with the sharpest choices whose loss for one unit is within ``within``."""
        purse = Purse.within(within)
        usual = USUAL_PURE_STEPS if purse.is_pure else USUAL_STEPS
        count = usual if steps is None else whole("steps", steps, least=1)
        scale = (purse / count).choice(REACH * (unit.touched if isinstance(unit, Unit) else 1))
        return cls(
            lower=lower,
            upper=upper,
            loss_name=loss_name,
            radius=usual_radius(loss_name) if radius is None else radius,
            steps=count,
            scale=scale,
            distinct=distinct,
            unit=unit,
            **targets,
        )

    def plan(self) -> Plan:
        """Return the choices."""
        return Repeat(Use(self.choice, self._stability(1)), self.steps)

    def _share(self, step: int) -> int:
        # Weights 1, 2, 3, ... are those of the usual steps of 2 / (step + 1) towards each vertex. Of distinct columns
        # the first ones matter most.
        return self.steps + 1 - step if self.distinct else step

    def _stability(self, step: int) -> int:
        return self.unit.touched * REACH

    def _scored(self, gradient: NDArray[np.int64], earlier: NDArray[np.int64]) -> NDArray[np.int64]:
        return -gradient

    def _offered(self, scores: NDArray[np.int64], weights: Floats) -> NDArray[np.int64]:
        # Vertices of columns that have weight are put last, by a public number.
        return np.where(weights != 0, -LARGEST_VALUE, scores) if self.distinct else scores
