"""What all mechanisms share that add independent noise to every entry of a number or an array."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.exact import Field, Number, Shape, probability
from dither.mechanisms.accuracy import share_of_failure
from dither.mechanisms.core import Bound, Interval, Primitive
from dither.mechanisms.values import LARGEST_SUM
from dither.noise.source import discrete_scale


class DiscreteScale(Field[Number, Fraction]):
    """The scale of noise on the integers: a number between 2^-40 and 2^1000."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        return discrete_scale(name, value)


@dataclass(frozen=True, kw_only=True)
class Additive(Primitive[Any, Any]):
    """Noise added to every entry: the shape, and the error bars that follow from how far the noise reaches."""

    shape: Shape = Shape(())

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The declared shape."""
        return self.shape

    @abstractmethod
    def reach(self, failure: float) -> float:
        """Return how far one entry is off at most, but for that probability."""

    def error(self, confidence: Number) -> Bound:
        """Return the reach of the noise, for all entries at once."""
        wanted, reach = self._joint_reach(confidence)
        meaning = "the largest absolute error of any entry" if self.shape else "the absolute error"
        return Bound(float(reach), wanted, meaning)

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the reach of the noise around the released numbers, for all entries at once."""
        wanted, reach = self._joint_reach(confidence)
        # A reach beyond every integer that is released would not fit beside them.
        around = reach if reach <= LARGEST_SUM else float(reach)
        return Interval(out - around, out + around, wanted)

    def _joint_reach(self, confidence: Number) -> tuple[Fraction, float]:
        wanted = probability("confidence", confidence, open_below=True)
        # Each entry may fail with an equal share of what is left: the union bound.
        return wanted, self.reach(share_of_failure(wanted, math.prod(self.shape)))
