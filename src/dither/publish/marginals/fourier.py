"""Fourier marginals: noise on the Walsh-Hadamard coefficients that the marginals of yes-or-no attributes need.

For many small marginals of binary attributes under pure differential privacy. A marginal on k attributes needs the 2^k
coefficients of its subsets and no others, and marginals share them; so they agree with one another. Cost: one pass over
the rows for each marginal. Coefficients that more marginals need get more of the budget, in the proportion that makes
the sum of all variances least. Optionally a linear programme finds a non-negative table behind them, which takes a
table of all attributes and so few of them. Corrections: coefficients are integers, the sums of +1 and -1 over the rows,
without the factor 2^(-d/2) that floats would round; the printed scale misses a factor 2 when rows are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter, NoGuarantee
from dither.estimate.walsh_hadamard import walsh_hadamard
from dither.exact import Flag, Number, probability, sqrt_up
from dither.lift.attributes import Attributes, Axes, checked_sets
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.marginals.common import MarginalRelease, rounded_weights
from dither.publish.marginals.interactions import closure, subsets

#: Attributes of the table that the linear programme writes out: 2^10 unknowns.
MOST_IN_PROGRAMME = 10
# The solver keeps its constraints to 1e-7 of the scaled problem; cells add up a few of them.
_SOLVED = 1e-6


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3]])
    pairs = FourierMarginals(attributes=table, marginals=[["a"], ["b"]], node=Geometric(scale=3))
    yield Example(pairs, rows)
    programme = FourierMarginals(
        attributes=table, marginals=[["a", "b"]], node=DiscreteGaussian(sigma=2), unit=ROW_REPLACED, non_negative=True
    )
    yield Example(programme, rows)


@register(
    examples=_examples,
    source="Privacy, Accuracy, and Consistency Too: A Holistic Solution to Contingency Table Release (Barak et al. "
    "2007), sections 3 and 4; Accurate and Efficient Private Release of Datacubes and Contingency Tables (Yaroslavtsev "
    "et al. 2013), section 3; Differential Privacy and Applications (Zhu et al. 2017), section 5.2.3",
)
@dataclass(frozen=True, kw_only=True)
class FourierMarginals(MarginalRelease):
    """Release marginals of yes-or-no attributes from noisy Walsh-Hadamard coefficients.

    Guarantee: records ``d_in`` rows apart lose what ``node`` loses at ``d_in`` times the sum of the weights of the
    coefficients (geometric noise) or the root of the sum of their squares (Gaussian noise); replaced rows twice that,
    the coefficient of the total left out.

    Args:
        attributes: names and sizes, all of which are 2; public.
        marginals: sets of names; public.
        unit: ROW or ROW_REPLACED.
        node: the noise of one coefficient of weight 1.
        even: whether all coefficients have weight 1; otherwise those that more marginals need weigh more.
        non_negative: whether the marginals are those of the non-negative table nearest to the noisy coefficients, by a
            linear programme; for marginals on at most 10 attributes altogether. It treats all coefficients alike, so
            they have weight 1.

    >>> from dither.privacy import PureDP
    >>> table = Attributes(tuple("abcd"), (2, 2, 2, 2))
    >>> fourier = FourierMarginals.calibrated(PureDP(1), attributes=table, marginals=table.every(2))
    >>> fourier.coefficients[0], fourier.weights[0], fourier.coefficients[-1], fourier.weights[-1]
    ((), 1024, (2, 3), 564)

    """

    name: ClassVar[str] = "fourier-marginals"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = (
        "the linear programme is solved up to a share of the released total; the interval, which knows it, is wider"
    )

    node: OneCount = OneCount()
    even: Flag = Flag(False)
    non_negative: Flag = Flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(size != 2 for size in self.attributes.sizes):
            rule = "all 2; write an attribute as several yes-or-no ones, or take residual-planner"
            raise InvalidParameter("sizes", self.attributes.sizes, rule)
        if self.non_negative and len(self.used) > MOST_IN_PROGRAMME:
            rule = f"false beyond {MOST_IN_PROGRAMME} attributes: the linear programme has an unknown for every cell"
            raise InvalidParameter("non_negative", True, rule)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        marginals: Sequence[Sequence[str]],
        unit: Unit = ROW,
        even: bool = False,
        non_negative: bool = False,
    ) -> Self:
        """Return the mechanism with the least noise whose loss for data one unit apart is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            marginals: sets of names.
            unit: ROW or ROW_REPLACED.
            even: whether all coefficients get the same noise.
            non_negative: whether a non-negative table is found behind the marginals.

        """
        checked_sets(attributes, marginals)
        purse = Purse.within(within)
        draft = cls(
            attributes=attributes,
            marginals=marginals,
            unit=unit,
            node=purse.noise(),
            even=even,
            non_negative=non_negative,
        )
        return replace(draft, node=purse.noise(draft.stability))

    @cached_property
    def used(self) -> Axes:
        """The attributes that occur in some marginal."""
        return tuple(sorted({axis for axes in self.sets for axis in axes}))

    @cached_property
    def coefficients(self) -> tuple[Axes, ...]:
        """The sets of attributes whose coefficients are measured: all subsets of the requested sets."""
        return closure(self.sets)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """An integer for each coefficient: twice the weight is half the noise.

        A marginal on k attributes adds 1 / 2^k times the variance of each of its coefficients to the sum of all
        variances. At a given sum of weights, or of their squares, that sum is least at these powers.
        """
        if self.even or self.non_negative:
            return (1,) * len(self.coefficients)
        power = 1 / 3 if isinstance(self.node, Geometric) else 1 / 4
        needs = dict.fromkeys(self.coefficients, 0.0)
        for axes in self.sets:
            for chosen in subsets(axes):
                needs[chosen] += 2.0 ** -len(axes)
        return rounded_weights([needs[chosen] ** power for chosen in self.coefficients])

    @property
    def part(self) -> CountNoise:
        """The noise for all coefficients."""
        return replace(self.node, shape=(len(self.coefficients),))

    @cached_property
    def stability(self) -> Fraction:
        """How far all weighted coefficients move together per unit: by their weight, or by up to twice that.

        A replaced row does not move the number of rows.
        """
        moving = [
            weight
            for chosen, weight in zip(self.coefficients, self.weights, strict=True)
            if chosen or self.unit != ROW_REPLACED
        ]
        farthest = 2 if self.unit == ROW_REPLACED else 1
        if isinstance(self.node, Geometric):
            return max(Fraction(farthest * sum(moving)), Fraction(1))
        return max(farthest * sqrt_up(Fraction(sum(weight**2 for weight in moving))), Fraction(1))

    def plan(self) -> Plan:
        """One draw for all coefficients."""
        return Use(self.part, self.stability)

    @property
    def nodes(self) -> tuple[CountNoise, ...]:
        """The noise."""
        return (self.node,)

    @cached_property
    def marginal_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each marginal: of 2^k coefficients, each divided by its weight and by 2^k."""
        if self.non_negative:
            raise NoGuarantee("the linear programme is not linear in the noise: its results have no known variance")
        weights = dict(zip(self.coefficients, self.weights, strict=True))
        spreads = [sum(1 / weights[chosen] ** 2 for chosen in subsets(axes)) for axes in self.sets]
        unit = variance_of(self.node)
        return tuple(unit * spread / size**2 for spread, size in zip(spreads, self.sizes, strict=True))

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the error of every cell; None for the linear programme, see ``interval``."""
        probability("confidence", confidence)
        return None if self.non_negative else super().error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return intervals for all cells at once.

        The true table satisfies the linear programme with a slack of the largest noise, so the best one lies within
        twice that of it, coefficient by coefficient, and so cell by cell.
        """
        if not self.non_negative:
            return super().interval(out, confidence)
        bound = self.part.error(confidence)
        released = np.asarray(out, dtype=np.float64)
        around = 2 * bound.value + _SOLVED * (1 + 2 * bound.value + float(released.sum()))
        return Interval(released - around, released + around, bound.confidence)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the marginals."""
        codes = self.attributes.codes(data)
        known: dict[Axes, int] = {}
        for axes in sorted(self.sets, key=len, reverse=True):
            if axes not in known:
                transformed = walsh_hadamard(self.attributes.count(codes, axes))
                for chosen in subsets(axes):
                    known[chosen] = int(transformed[tuple(int(axis in chosen) for axis in axes)])
        # What is cut off so that no weighted coefficient overflows moves no two of them farther apart.
        most, weights = LARGEST_VALUE // max(self.weights), np.array(self.weights)
        sums = np.clip(np.array([known[chosen] for chosen in self.coefficients], dtype=np.int64), -most, most)
        drawn = np.asarray(run(self.part, sums * weights, stability=self.stability), dtype=np.float64) / weights
        noisy = dict(zip(self.coefficients, drawn.tolist(), strict=True))
        if self.non_negative:
            table = nearest_table(noisy, self.used)
            return np.concatenate([_marginal(table, self.used, axes).ravel() for axes in self.sets])
        return np.concatenate([_inverse(noisy, axes).ravel() for axes in self.sets])


def nearest_table(noisy: dict[Axes, float], used: Axes) -> Floats:
    """Return the non-negative table over ``used`` whose coefficients' largest distance from the noisy ones is least."""
    from scipy.optimize import linprog

    places = np.arange(2 ** len(used))
    bits = {axis: places >> (len(used) - 1 - position) & 1 for position, axis in enumerate(used)}
    signs = np.array([1 - 2 * (sum((bits[axis] for axis in chosen), start=0 * places) % 2) for chosen in noisy])
    wanted = np.array(list(noisy.values()))
    scale = max(float(np.abs(wanted).max()), 1.0)
    slack = -np.ones((len(wanted), 1))
    solved: Any = linprog(
        np.append(np.zeros(places.size), 1.0),
        A_ub=np.block([[signs, slack], [-signs, slack]]),
        b_ub=np.concatenate([wanted, -wanted]) / scale,
        bounds=(0, None),
        method="highs",
    )
    # The empty table always satisfies the constraints: a solver that fails has met its limits, not the data's.
    cells = np.zeros(places.size) if solved.x is None else np.maximum(solved.x[:-1], 0.0)
    table: Floats = (cells * scale).reshape((2,) * len(used))
    return table


def _marginal(table: Floats, used: Axes, axes: Axes) -> Floats:
    return np.asarray(table.sum(axis=tuple(place for place, axis in enumerate(used) if axis not in axes)))


def _inverse(noisy: dict[Axes, float], axes: Axes) -> Floats:
    coefficients = np.zeros((2,) * len(axes))
    for chosen in subsets(axes):
        coefficients[tuple(int(axis in chosen) for axis in axes)] = noisy[chosen]
    # The transform is its own inverse, up to the number of cells.
    marginal: Floats = walsh_hadamard(coefficients) / coefficients.size
    return marginal
