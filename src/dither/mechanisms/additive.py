"""What all mechanisms share that add independent noise to every entry of a number or an array."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.exact import Number, Shape, probability
from dither.mechanisms.core import Bound, Interval, Primitive


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
        return Interval(out - reach, out + reach, wanted)

    def _joint_reach(self, confidence: Number) -> tuple[Fraction, float]:
        wanted = probability("confidence", confidence, open_below=True)
        # Each entry may fail with an equal share of what is left: the union bound.
        return wanted, self.reach(float((1 - wanted) / int(np.prod(self.shape))))
