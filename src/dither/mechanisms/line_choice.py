"""Choices on lines of candidates whose scores are steps: the exponential mechanism on up to 2^62 cells at once.

For medians and quantiles on a grid, where the score of a cell changes only at the values that occur: the law is that
of the exponential mechanism over all cells, the work that of the steps. Unlike the blocks of ``grouped-exponential``
the steps themselves are private: where they begin depends on the data, and only the scores of cells are compared.
Several lines, such as those of different groups, are drawn together and priced by the sum of their largest changes.
Cost: one pass over the steps of each line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue
from dither.exact import Number, Positive, Shape, Whole, non_negative, probability
from dither.mechanisms.core.accuracy import laplace_reach, share_of_failure
from dither.mechanisms.core.mechanism import Bound, Numerics, Primitive
from dither.mechanisms.core.values import LARGEST_VALUE, Domain
from dither.noise import Noise
from dither.privacy import Loss, Metric, PureDP, calibrate

Integers = NDArray[np.int64]
MOST_CANDIDATES: Final = 2**62


class Line:
    """A score for each of many candidates in a row, given where it changes.

    Args:
        starts: the first candidate of each step; any order, and those below 0 count as 0.
        scores: the score of every candidate of each step; of two steps with one start the last counts.

    """

    def __init__(self, starts: Any, scores: Any) -> None:
        first = np.maximum(np.asarray(starts, dtype=np.int64).reshape(-1), 0)
        given = np.clip(np.asarray(scores, dtype=np.int64).reshape(-1), -LARGEST_VALUE, LARGEST_VALUE)
        order = np.argsort(first, kind="stable")
        first, given = first[order], given[order]
        kept = np.append(first[1:] != first[:-1], True) if first.size else np.zeros(0, dtype=bool)
        self.starts, self.scores = first[kept], given[kept]
        if not self.starts.size or self.starts[0] > 0:
            # What lies before the first step has its score; without any step all are alike.
            before = self.scores[0] if self.scores.size else 0
            self.starts, self.scores = np.insert(self.starts, 0, 0), np.insert(self.scores, 0, before)

    def at(self, candidates: Integers) -> Integers:
        """Return the scores of candidates."""
        found: Integers = self.scores[np.searchsorted(self.starts, candidates, side="right") - 1]
        return found

    def below(self, candidates: int) -> tuple[Integers, Integers]:
        """Return the scores of the steps that begin below a number, and how many candidates each has."""
        inside = self.starts < candidates
        starts = self.starts[inside]
        return self.scores[inside], np.diff(np.append(starts, candidates))

    def __repr__(self) -> str:
        return f"Line of {self.starts.size} steps"


@dataclass(frozen=True)
class Lines(Domain):
    """That many lines, of any number of steps each."""

    count: int

    def admit(self, value: Any) -> tuple[Line, ...]:
        """Return the lines."""
        is_plain = isinstance(value, tuple | list) and all(isinstance(line, Line) for line in value)
        if not is_plain or len(value) != self.count:
            raise InvalidValue("value", value, str(self))
        return tuple(value)

    def __str__(self) -> str:
        return f"{self.count} lines of candidates"


class _SumOfLargest(Metric):
    """The largest change of a score of each line, added up over lines."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        if len(first) != len(second):
            return None
        total = 0
        for one, other in zip(first, second, strict=True):
            starts = np.union1d(one.starts, other.starts)
            total += int(np.abs(one.at(starts) - other.at(starts)).max())
        return Fraction(total)


SUM_OF_LARGEST: Final = _SumOfLargest("SUM_OF_LARGEST", "the largest change of a score, added up over lines")


@dataclass(frozen=True, kw_only=True)
class LineChoices(Primitive[Any, Any]):
    """Choose a candidate on each of some lines, with probability proportional to e^(score / scale).

    Guarantee: lines whose largest changes add up to ``d_in`` lose epsilon = ``2 d_in / scale`` and rho =
    epsilon^2 / 8.

    Args:
        shape: how the lines are laid out; their number is public, that of their steps is not.
        candidates: how many candidates each line has; public.
        scale: how much better a candidate must be to be e times as likely.

    >>> LineChoices(shape=(3,), candidates=2**32, scale=2).loss(1)
    PureDP('1', rho='1/8')

    """

    name: ClassVar[str] = "line-choices"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the released candidate says nothing about its score"

    shape: Shape = Shape()
    candidates: Whole = Whole(least=1, most=MOST_CANDIDATES)
    scale: Positive = Positive()

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, **parameters: Any) -> LineChoices:
        """Return the sharpest choices whose loss at ``sensitivity`` is within ``within``."""
        if within.pure:
            sharpest = cls(scale=2 * Fraction(sensitivity) / within.pure, **parameters)
            if sharpest.loss(sensitivity) <= within:
                return sharpest
        return calibrate(lambda scale: cls(scale=scale, **parameters), within, d_in=sensitivity)

    @property
    def distance(self) -> Metric:
        """The largest changes of all lines, added up."""
        return SUM_OF_LARGEST

    @property
    def domain(self) -> Lines:
        """The lines, in the order of the shape."""
        return Lines(math.prod(self.shape))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One candidate a line."""
        return self.shape

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = 2 d_in / scale and rho = epsilon^2 / 8."""
        epsilon = 2 * non_negative("d_in", d_in) / self.scale
        return PureDP(epsilon, rho=epsilon**2 / 8)

    def reach(self, failure: float) -> float:
        """Return how far the score of a line's choice may lie below the best: more with at most that probability."""
        return laplace_reach(self.scale, failure / self.candidates)

    def error(self, confidence: Number) -> Bound:
        """Return the gap to the best score, on all lines at once: scale * ln(all candidates / failure)."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = laplace_reach(self.scale, share_of_failure(wanted, self.candidates * max(1, math.prod(self.shape))))
        return Bound(reach, wanted, "the gap between the best score and that of the chosen candidate")

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent choices, a row for each."""
        lines = self.domain.admit(value)
        drawn = np.zeros((count, len(lines)), dtype=np.int64)
        for place, line in enumerate(lines):
            scores, sizes = line.below(self.candidates)
            blocks = noise.select_block(scores, sizes, 1 / self.scale, count)
            starts = line.starts[blocks]
            for block in np.unique(blocks).tolist():
                rows = np.flatnonzero(blocks == block)
                drawn[rows, place] = starts[rows] + noise.uniform_below(int(sizes[block]), rows.size)
        return drawn.reshape(count, *self.shape)
