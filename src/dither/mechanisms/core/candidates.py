"""Shared by mechanisms that choose among candidates by their scores.

Scores are integers, or floats that are rounded to a declared grid. What a choice can tell is bounded by the
*range* of the changes: how much more one score moves than another. Adding the same number to all scores changes no
choice, so scores that all move the same way by at most D have a range of D, and arbitrary ones of 2 D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import FAR, Flag, Maybe, NonNegative, Number, Positive, Whole, non_negative, positive, probability
from dither.mechanisms.core.accuracy import laplace_reach, share_of_failure
from dither.mechanisms.core.grid import Steps
from dither.mechanisms.core.mechanism import Bound, Primitive
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray, RealArray
from dither.privacy import LARGEST, ONE_WAY, Loss, Metric, calibrate
from dither.privacy.calibration import check_loss


@dataclass(frozen=True, kw_only=True)
class Choice(Primitive[Any, Any]):
    """Choose among ``candidates``, each of which has a score.

    Args:
        candidates: how many there are; public.
        scale: the scale of the choice, in the units of a score: how much better a candidate must be to be e times as
            likely.
        grid: the step to which float scores are rounded; None for integer scores.
        score_error: how far a float score may be off its mathematical value; paid for in the loss.
        one_way: whether all scores move in the same direction between neighbours, as counts do under add/remove.

    """

    no_interval_because: ClassVar[str] = "the released candidate says nothing about its score"
    #: How many times the reach of one exponential variable the gap to the best score may be.
    gap_reaches: ClassVar[int] = 1

    candidates: Whole = Whole(least=1, most=2**32)
    scale: Positive = Positive()
    grid: Maybe = Maybe(Positive(most=FAR))
    score_error: NonNegative = NonNegative(0, most=FAR)
    one_way: Flag = Flag(False)

    def __post_init__(self) -> None:
        if self.grid is None and self.score_error:
            raise InvalidParameter("score_error", str(self.score_error), "0 for integer scores; float ones need a grid")

    @property
    def distance(self) -> Metric:
        """The largest change of a score; with ``one_way``, all changes have the same sign."""
        return ONE_WAY if self.one_way else LARGEST

    @property
    def slack(self) -> Fraction:
        """Twice the error of a score: a change may be larger by this much, or have the other sign by this much."""
        return 2 * self.score_error

    @property
    def domain(self) -> IntegerArray | RealArray:
        """One score for each candidate."""
        return IntegerArray((self.candidates,)) if self.grid is None else RealArray((self.candidates,))

    @property
    def rate(self) -> Fraction:
        """The growth of a weight's logarithm per step of the score."""
        return (self.grid or 1) / self.scale

    def spread(self, d_in: Number) -> Fraction:
        """Return the largest range of changes of the rounded scores, for scores ``d_in`` apart."""
        change = non_negative("d_in", d_in)
        if change == 0 or self.grid is None:
            return change if self.one_way else 2 * change
        # A given score may be off by its error on both sides, and rounding lengthens a change to whole steps at most.
        farthest, sideways = (_whole_steps(reach, self.grid) for reach in (change + self.slack, self.slack))
        return farthest + sideways if self.one_way else 2 * farthest

    def epsilon_of_one(self, d_in: Number) -> Fraction:
        """Return the epsilon of one choice: spread / scale."""
        return self.spread(d_in) / self.scale

    def steps(self, scores: Any) -> NDArray[np.int64]:
        """Return the scores in integer steps."""
        admitted = self.domain.admit(scores)
        if self.grid is None:
            return admitted
        return np.clip(Steps.of(admitted, self.grid, 0).whole, -LARGEST_VALUE, LARGEST_VALUE)

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, **parameters: Any) -> Self:
        """Return the sharpest choice whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed.
            sensitivity: how far a score moves per unit of data.
            parameters: the other fields: ``candidates``, ``grid``, ``score_error``, ``one_way``.

        """
        distance = positive("sensitivity", sensitivity)
        check_loss(within)
        step = 1 if parameters.get("grid") is None else positive("grid", parameters["grid"])
        if within.pure:
            # A choice among one candidate loses nothing at any scale.
            at_one_step = cls(scale=step, **parameters).loss(distance).pure or Fraction(1)
            sharpest = cls(scale=at_one_step * step / within.pure, **parameters)
            if sharpest.loss(distance) <= within:
                return sharpest
        # The rho decides.
        return calibrate(lambda steps: cls(scale=steps * step, **parameters), within, d_in=distance)

    def error(self, confidence: Number) -> Bound:
        """Return the gap to the best score: scale * ln(candidates / failure), plus twice the rounding error."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = self.gap_reaches * laplace_reach(self.scale, share_of_failure(wanted, self.candidates))
        # A given score is off by its error, a rounded one by half a step more; so may be the best one.
        hidden = 2 * float(self.score_error) + float(self.grid or 0)
        return Bound(reach + hidden, wanted, "the gap between the best score and that of the chosen candidate")


def _whole_steps(reach: Fraction, grid: Fraction) -> Fraction:
    return math.ceil(reach / grid) * grid
