"""Shared by marginal methods: the record of a request, exact stabilities, tables, variances and intervals."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, OneOf, Text, TupleOf, Whole, probability, sqrt_up
from dither.lift.attributes import Attributes, Axes, checked_sets
from dither.lift.records import records_of
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_EXCHANGED, ROW_REPLACED, Plan, Unit, Use
from dither.privacy.fields import RowUnit
from dither.publish.histograms.common import Floats, combination_reach

#: Counts a marginal, all of whose attributes are in increasing order.
Counter = Callable[[Axes], NDArray[np.int64]]
#: Weights of measurements are integers up to this one.
MOST_WEIGHT = 2**30
#: Weights of a plan are rounded to multiples of the largest divided by this.
FINE = 2**10


class Names(TupleOf):
    """Sets of attribute names; whether these exist is checked together with the attributes."""

    def __init__(self) -> None:
        one = TupleOf(Text(rule="the name of an attribute"), least=0, rule="sets of names of attributes")
        super().__init__(one, rule="at least one set of names of attributes")


class Weights(TupleOf):
    """Positive integers."""

    def __init__(self) -> None:
        super().__init__(Whole(least=1, most=MOST_WEIGHT), rule="integers above 0")


@dataclass(frozen=True, kw_only=True)
class MarginalRelease(Composed[Any, Floats]):
    """A release of marginals: one flat array, marginal by marginal in the order in which they are named."""

    attributes: Of[Attributes] = Of(Attributes)
    marginals: Names = Names()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        sets = checked_sets(self.attributes, self.marginals)
        # Names in the order of the attributes: one record for one request.
        object.__setattr__(self, "marginals", tuple(self.attributes.named(axes) for axes in sets))

    @property
    def distance(self) -> Unit:
        """Rows added or removed, or rows replaced."""
        return self.unit

    @cached_property
    def sets(self) -> tuple[Axes, ...]:
        """The marginals as sets of attribute numbers."""
        return tuple(self.attributes.axes(names) for names in self.marginals)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each marginal."""
        return tuple(self.attributes.cells_of(axes) for axes in self.sets)

    def tables(self, out: Any) -> dict[tuple[str, ...], NDArray[Any]]:
        """Return a released array, or one end of its intervals, as one table per marginal."""
        flat = np.asarray(out)
        if flat.shape != (sum(self.sizes),):
            raise InvalidParameter("out", f"an array of shape {flat.shape}", f"{sum(self.sizes)} released numbers")
        pieces = np.split(flat, np.cumsum(self.sizes)[:-1])
        return {
            names: piece.reshape(self.attributes.shape_of(axes))
            for names, axes, piece in zip(self.marginals, self.sets, pieces, strict=True)
        }

    @cached_property
    @abstractmethod
    def marginal_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each marginal; all cells of a marginal have the same variance."""

    @property
    @abstractmethod
    def nodes(self) -> tuple[CountNoise, ...]:
        """The noise from which every released number is a linear combination."""

    @property
    def variances(self) -> Floats:
        """The variance of every released number."""
        return np.repeat(np.array(self.marginal_variances), self.sizes)

    def variance(self, names: Sequence[str]) -> float:
        """Return the variance of a cell of the marginal on these attributes."""
        axes = self.attributes.axes(names)
        if axes not in self.sets:
            raise InvalidParameter("names", tuple(names), "one of the released marginals")
        return self.marginal_variances[self.sets.index(axes)]

    def _reaches(self, confidence: Number) -> tuple[Fraction, Floats]:
        wanted = probability("confidence", confidence, open_below=True)
        unit = combination_reach(self.nodes, 1.0, share_of_failure(wanted, sum(self.sizes)))
        return wanted, np.sqrt(np.array(self.marginal_variances)) * unit

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the error of every cell of every marginal."""
        wanted, reaches = self._reaches(confidence)
        return Bound(float(reaches.max()), wanted, "the largest absolute error of any cell of any marginal")

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return intervals for all cells of all marginals at once."""
        wanted, reaches = self._reaches(confidence)
        around = np.repeat(reaches, self.sizes)
        return Interval(np.asarray(out) - around, np.asarray(out) + around, wanted)


@dataclass(frozen=True, kw_only=True)
class DrawnMarginals(MarginalRelease):
    """A release that measures, in one draw, integers computed from counted marginals."""

    unit: OneOf = OneOf(ROW, ROW_REPLACED, ROW_EXCHANGED, default=ROW, rule="ROW, ROW_REPLACED or ROW_EXCHANGED")
    node: OneCount = OneCount()

    @cached_property
    def counted(self) -> tuple[Axes, ...]:
        """The marginals from which measurements are computed: the requested ones, unless a method says otherwise."""
        return self.sets

    @cached_property
    @abstractmethod
    def part(self) -> CountNoise:
        """The noise for all measurements."""

    @abstractmethod
    def moved(self, unit: Unit) -> Fraction:
        """Return how far all measurements move together per unit, in the distance of the noise.

        Args:
            unit: ROW, ROW_REPLACED, or ROW_EXCHANGED where what replaces a row may lie in no cell at all. Then every
                measurement is taken to move by the larger of what a new row and a replaced one do.

        """

    @abstractmethod
    def measurements(self, count: Counter) -> NDArray[np.int64]:
        """Return the numbers to which noise is added; ``count`` is only called for marginals in ``counted``."""

    @abstractmethod
    def estimates(self, noisy: NDArray[Any]) -> Floats:
        """Return the marginals that follow from noisy measurements, one after another: post-processing."""

    @cached_property
    def stability(self) -> Fraction:
        """How far all measurements move together per unit."""
        return self.moved(self.unit)

    def plan(self) -> Plan:
        """One draw for all measurements."""
        return Use(self.part, self.stability)

    @property
    def nodes(self) -> tuple[CountNoise, ...]:
        """The noise."""
        return (self.node,)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the marginals of records."""
        exact = self.measurements(records_of(self.attributes, data).count)
        return self.estimates(np.asarray(run(self.part, exact, stability=self.stability)))


def stability_of(node: CountNoise, unit: Unit, weights: Sequence[int], sizes: Sequence[int]) -> Fraction:
    """Return how far marginals with these numbers of cells, each times an integer weight, move together per unit.

    A row lies in one cell of each marginal; a replaced one leaves a cell and enters another, unless there is only one.
    Where what replaces a row may lie in no cell, that one cell moves as well, by 1.
    """
    is_l1, replaced = isinstance(node, Geometric), unit != ROW
    power, alone = 1 if is_l1 else 2, 1 if unit == ROW_EXCHANGED else 0
    moved = sum(
        weight**power * ((alone if size == 1 else 2) if replaced else 1)
        for weight, size in zip(weights, sizes, strict=True)
    )
    # Where nothing moves at all any distance will do, and plans have none of 0.
    whole_distance = Fraction(max(moved, 1))
    return whole_distance if is_l1 else sqrt_up(whole_distance)


def rounded_weights(parts: Sequence[float], largest: int = FINE) -> tuple[int, ...]:
    """Return positive numbers as integer weights: the largest becomes ``largest``, none becomes 0."""
    top = max(parts)
    whole_numbers = [max(1, round(part / top * largest)) for part in parts]
    shared = math.gcd(*whole_numbers)
    return tuple(number // shared for number in whole_numbers)
