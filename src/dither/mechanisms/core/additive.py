"""Shared by mechanisms that add independent noise to every entry of a number or an array."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.exact import Number, Positive, Shape, TupleOf, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Interval, Primitive
from dither.mechanisms.core.values import LARGEST_SUM
from dither.noise.source import discrete_scale


class DiscreteScale(Positive):
    """The scale of noise on the integers: a number between 2^-40 and 2^1000."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        return discrete_scale(name, value)

    def offenders(self) -> Iterator[Any]:
        """Return numbers outside the limits, and anything that is not a positive number."""
        yield from (Fraction(1, 2**41), 2**1001)
        yield from super().offenders()


class FallingScales(TupleOf):
    """Scales of noise on the integers, in strictly decreasing order.

    Args:
        most: the largest number of scales.

    """

    def __init__(self, most: int) -> None:
        rule = f"a tuple of 1 to {most} scales, each less than the one before"
        super().__init__(DiscreteScale(), most=most, where=_fall, rule=rule)

    def offenders(self) -> Iterator[Any]:
        """Return scales that do not decrease, and anything that is not a tuple of scales."""
        yield from ((1, 1), (1, 2), (3, 1, 2))
        yield from super().offenders()


def _fall(scales: tuple[Fraction, ...]) -> bool:
    return all(finer < coarser for coarser, finer in pairwise(scales))


@dataclass(frozen=True, kw_only=True)
class Additive(Primitive[Any, Any]):
    """Independent noise on every entry: the shape, and the error bars that follow from the reach of the noise."""

    shape: Shape = Shape(())

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The declared shape."""
        return self.shape

    @abstractmethod
    def reach(self, failure: float) -> float:
        """Return the bound that the error of one entry exceeds with at most that probability."""

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
