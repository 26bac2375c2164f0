"""What learners over the L1 ball share: integer gradients, and a walk from vertex to vertex.

Weights are an average of vertices of the ball: plus or minus the radius in one column. Each step asks which vertex
falls most along the gradient, through the exponential mechanism over all of them; the average of the answers is public.
A record pulls at a column with its own number there, at most ``PULL * STEPS`` whatever the number of columns, and a
choice pays for the largest change of a score, not for the sum of all: the price of a thousand columns is a logarithm.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Positive, Whole
from dither.learn.centred import LENGTH
from dither.learn.linear.gradients import PULL, WEIGHT_STEPS, pulls
from dither.learn.rows import STEPS, Floats, exact_products
from dither.learn.sparse.framed import Framed
from dither.learn.sparse.model import SparseModel
from dither.mechanisms.core.mechanism import Composed
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential

#: How far one row moves the gradient in one column at most.
REACH: Final = PULL * STEPS
#: Weighted sums of a record's numbers over all steps stay below 2^53.
MOST_STEPS: Final = 2**16
MOST_RADIUS: Final = 2**12
#: The table of the logistic function knows no scores beyond 16.
_FAR: Final = 64
#: A residual is not clipped below this share of half the target's range, 16 steps of it.
_LEAST_CLIP: Final = Fraction(1, 2**8)


@dataclass(frozen=True, kw_only=True)
class VertexLearner(Framed, Composed[Any, SparseModel]):
    """A learner over the L1 ball. Subclasses define the weights of vertices and the score of a choice."""

    radius: Positive = Positive()
    steps: Whole = Whole(least=1, most=MOST_STEPS)
    scale: Positive = Positive()
    clip: Positive = Positive(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius > MOST_RADIUS:
            raise InvalidParameter("radius", str(self.radius), f"at most {MOST_RADIUS}")
        if not (self.clip == 1 if self.loss_name == "logistic" else _LEAST_CLIP <= self.clip <= 1):
            raise InvalidParameter("clip", str(self.clip), f"1, or between {_LEAST_CLIP} and 1 for squared loss")

    @property
    def choice(self) -> Exponential:
        """The choice of a vertex: plus or minus each column, and the constant."""
        return Exponential(candidates=2 * (self.box.columns + 1), scale=self.scale)

    @abstractmethod
    def _share(self, step: int) -> int:
        """Return the weight of the vertex of a step, counted from 1, among those of all steps."""

    @abstractmethod
    def _stability(self, step: int) -> int:
        """Return how far one unit moves a score of a step."""

    @abstractmethod
    def _scored(self, gradient: NDArray[np.int64], earlier: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how much the objective falls towards each column, from this gradient and the previous such numbers."""

    def _offered(self, scores: NDArray[np.int64], weights: Floats) -> NDArray[np.int64]:
        """Return the scores of the vertices, given the public weights of their columns so far."""
        return scores

    def release(self, data: Any, run: Runner) -> SparseModel:
        """Return the average of the chosen vertices."""
        columns, targets = self.whole_numbers(data)
        radius, width = float(self.radius), columns.shape[1]
        # The sum of chosen columns of each record, and their weights: integers both.
        sums, weights, total = np.zeros(len(columns)), np.zeros(width), 0
        falling = np.zeros(width, dtype=np.int64)
        for step in range(1, self.steps + 1):
            scores = sums * (radius / (STEPS * max(total, 1)))
            falling = self._scored(exact_products(self._pulls(scores, targets)[:, None], columns)[0], falling)
            offered = self._offered(np.concatenate([falling, -falling]), np.concatenate([weights, weights]))
            chosen = run(self.choice, offered, stability=self._stability(step))
            place, share = chosen % width, self._share(step) * (1 - 2 * (chosen // width))
            sums = sums + share * columns[:, place]
            weights[place] += share
            total += abs(share)
        middle, half = self.target_frame
        weights = weights * (radius * half / total)
        return SparseModel.plain(self.box, weights[:-1], float(weights[-1]) + middle)

    def _pulls(self, scores: Floats, targets: Floats) -> Floats:
        """Return the derivative of each record's loss in its score: an integer of at most ``PULL``."""
        if self.loss_name == "logistic":
            whole = np.rint(np.clip(scores, -_FAR, _FAR) * (LENGTH * WEIGHT_STEPS))
            return pulls("logistic", whole[:, None], targets.astype(np.int64))[:, 0]
        return np.rint(np.clip((scores * PULL - targets) / float(self.clip), -PULL, PULL))


def usual_radius(loss_name: str) -> int:
    """Return a usual radius: in units of the score, or of half the range of the target."""
    return 6 if loss_name == "logistic" else 1
