"""Shared by the smooth-sensitivity mechanisms: noise scaled by a smooth bound on a value's change.

The input is a value, one number or a vector, and a bound that neighbouring data moves the value by at most, and itself
by a factor of at most e^smoothness. A local sensitivity is not such a bound: it may be 0 here and large next door, and
noise that follows it gives the data away. ``privacy.sensitivity.smooth`` computes true ones. The bound is private, and
so is the width of the noise: the bound is rounded up to a public geometric grid, which the loss pays for, and the sum
is released on a public grid.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Positive, Probability, Whole, exp_down, exp_up, non_negative, round_up, whole
from dither.exact.enclosure import round_down
from dither.mechanisms.core.grid import Grid, Steps, on_grid, subdivision
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.registry import Example
from dither.mechanisms.core.values import RealArray
from dither.noise import Noise
from dither.noise.coins import Floats
from dither.privacy import L1, NOTHING, ApproxDP, Loss, Metric

# Bounds keep this many significant binary digits, which raises one by a factor of at most 1 + ROUNDING.
_DIGITS = 16
ROUNDING = Fraction(1, 2 ** (_DIGITS - 1))
# The width of the noise in steps of the grid stays below 2^56; there is room for 2^20 times the least bound.
_WIDEST = 2**54
_LARGEST_IN_STEPS = 2**59
_LEAST_ROOM = 2**20
_LONGEST_CHAIN = 64
_LARGEST_EXPONENT = 64
_SEARCHES = 60
_MOST_DIMENSIONS = 2**10


class SmoothPairs(Metric):
    """The number of neighbouring steps that lead from one value and bound to another.

    Neighbours have values no farther apart than either bound, in ``norm``, and bounds within a factor of e^smoothness
    of each other; bounds below ``least`` count as that.

    >>> metric = SmoothPairs(Fraction(1, 10), Fraction(1))
    >>> metric.measure([50, 4], [54, 4]), metric.measure([50, 4], [54, 3]), metric.measure([50, 0], [54, 40])
    (Fraction(1, 1), Fraction(3, 1), Fraction(37, 1))
    """

    def __init__(self, smoothness: Fraction, least: Fraction, dimension: int = 1, norm: Metric = L1) -> None:
        super().__init__("SMOOTH", "the steps between neighbouring pairs of a value and its smooth bound")
        self._smoothness, self._least, self._growth = smoothness, least, exp_down(smoothness)
        self._dimension, self._norm = dimension, norm

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the length of the shortest chain of neighbours, or None if it exceeds 64."""
        here, there = np.asarray(first, dtype=object).ravel(), np.asarray(second, dtype=object).ravel()
        apart = self._norm.measure(here[:-1], there[:-1])
        if here.size != self._dimension + 1 or apart is None or L1.measure(here, there) is None:
            return None
        bounds = max(_rational(here[-1]), self._least), max(_rational(there[-1]), self._least)
        if apart == 0 and bounds[0] == bounds[1]:
            return Fraction(0)
        for length in range(1, _LONGEST_CHAIN + 1):
            if apart <= self._reach(length, *bounds):
                return Fraction(length)
        return None

    def _reach(self, length: int, bound: Fraction, other: Fraction) -> Fraction:
        """Return how far a chain between two bounds can carry the value; -1 if it is too short for the bounds."""
        if max(bound, other) > min(bound, other) * self._growth**length:
            return Fraction(-1)
        # The largest bounds that a chain can have on its way, and a value that moves by as much as both ends allow.
        highest = [min(bound * self._growth**k, other * self._growth ** (length - k)) for k in range(length + 1)]
        return sum((min(highest[k], highest[k + 1]) for k in range(length)), Fraction(0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SmoothPairs) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self._smoothness, self._least, self._dimension, self._norm


def _rational(entry: Any) -> Fraction:
    return Fraction(entry.item() if isinstance(entry, np.generic) else entry)


@dataclass(frozen=True)
class ValueAndBound(RealArray):
    """A value, followed by its smooth bound. A bound that is not a number counts as the largest."""

    shape: tuple[int, ...] = (2,)

    def admit(self, value: Any) -> NDArray[Any]:
        """Return both as finite numbers."""
        pair = super().admit(value)
        given = np.asarray(value, dtype=object).ravel()[-1]
        if given != given:
            pair[-1] = np.finfo(np.float64).max if pair.dtype == np.float64 else Fraction(np.finfo(np.float64).max)
        return pair

    def __str__(self) -> str:
        return "a value and a smooth bound on its change"


@dataclass(frozen=True, kw_only=True)
class SmoothNoise(Primitive[Any, Any]):
    """Independent noise on every coordinate, with scale ``scale`` times a private smooth bound."""

    #: In which the bound bounds the change of a vector.
    norm: ClassVar[Metric] = L1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the width of the noise follows a private bound"
    no_interval_because: ClassVar[str] = "the width of the noise follows a private bound, which is not released"

    least: Positive = Positive()
    smoothness: Positive = Positive()
    scale: Positive = Positive()
    grid: Grid = Grid("least")
    dimension: Whole = Whole(1, least=1, most=_MOST_DIMENSIONS)

    def __post_init__(self) -> None:
        if not self.smoothness <= 1:
            raise InvalidParameter("smoothness", str(self.smoothness), "a number in (0, 1]")
        if not self._limit >= _LEAST_ROOM * self.least:
            rule = "coarser: at least 2^-34 of least and, times the dimension, of the least noise"
            raise InvalidParameter("grid", str(self.grid), rule)

    @property
    def distance(self) -> Metric:
        """Chains of neighbouring pairs."""
        return SmoothPairs(self.smoothness, self.least, self.dimension, self.norm)

    @property
    def domain(self) -> ValueAndBound:
        """The coordinates of a value, and its smooth bound."""
        return ValueAndBound((self.dimension + 1,))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One number, or a vector."""
        return () if self.dimension == 1 else (self.dimension,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss for pairs connected by a chain of at most ``d_in`` neighbours."""
        length = math.ceil(non_negative("d_in", d_in))
        return self._chain_loss(length) if length else NOTHING

    @abstractmethod
    def _chain_loss(self, length: int) -> Loss:
        """Return the loss between the ends of a chain of that many steps, at least one."""

    @abstractmethod
    def _noise(self, width: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], noise: Noise) -> Any:
        """Return floor(offset + Z) for each offset, where Z is independent noise ``width`` steps wide."""

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + scale * bound * Z) to the grid."""
        *given, bound = map(_rational, self.domain.admit(value))
        limit, size = self._limit, self.dimension
        centre = [min(max(entry, -limit), limit) for entry in given]
        raised = on_ladder(min(max(bound, self.least), 2 * size * limit))
        halvings = self._halvings
        steps = Steps.of(np.array(centre, dtype=object), self.grid, halvings)
        width, offsets = self.scale * raised / self.grid * 2**halvings, np.tile(steps.offset, count)
        drawn = self._noise(width, offsets, lambda index: steps.exact_offset(index % size), noise)
        return on_grid(steps.whole, drawn.reshape(count, size), self.grid, halvings).reshape(count, *self.draw_shape)

    @property
    def _halvings(self) -> int:
        return subdivision(self.scale * self.least, self.grid)

    @property
    def _limit(self) -> Fraction:
        """Where coordinates saturate: no two of them are farther apart than twice this, which bounds every bound."""
        step: Fraction = self.grid / 2**self._halvings
        return min(_WIDEST / (self.scale * self.dimension), Fraction(_LARGEST_IN_STEPS)) * step

    def _drift(self, length: int) -> Fraction:
        """Return the largest logarithm of the ratio of two rounded bounds at the ends of a chain."""
        return length * self.smoothness + ROUNDING

    def _shift(self, length: int) -> Fraction:
        """Return how far a chain carries the value, as a multiple of the noise scale at either end."""
        if length * self.smoothness > _LARGEST_EXPONENT:
            raise NoGuarantee(f"no useful loss is known for {length} steps of smoothness {float(self.smoothness):g}")
        if length > _LONGEST_CHAIN:
            return length * exp_up((length - 1) * self.smoothness) / self.scale
        return sum((exp_up(step * self.smoothness) for step in range(length)), Fraction(0)) / self.scale


@dataclass(frozen=True, kw_only=True)
class LightTailed(SmoothNoise):
    """Noise with tails so light that epsilon holds only up to a probability ``delta``."""

    delta: Probability = Probability()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delta > 0:
            raise InvalidParameter("delta", str(self.delta), "a number in (0, 1)")

    @classmethod
    def calibrated(cls, within: Loss, *, least: Number, dimension: int = 1, grid: Number | None = None) -> Self:
        """Return the mechanism that spends half of epsilon on the value and the rest on the bound.

        Its ``smoothness`` is what the bounds must be computed with.
        """
        if not (isinstance(within, ApproxDP) and within.epsilon > 0 and within.delta > 0):
            raise NoGuarantee(f"no {cls.name} noise reaches {within}: it needs an epsilon and a delta")
        size = whole("dimension", dimension, least=1, most=_MOST_DIMENSIONS)
        common: dict[str, Any] = {"delta": within.delta, "least": least, "dimension": size, "grid": grid}
        scale = round_up(cls._scale_for(within, size), bits=64)
        return smoothest(lambda smoothness: cls(smoothness=smoothness, scale=scale, **common), within)

    @classmethod
    @abstractmethod
    def _scale_for(cls, within: ApproxDP, dimension: int) -> Fraction:
        """Return the scale at which moving the value alone costs half of epsilon."""


def on_ladder(bound: Fraction) -> Fraction:
    """Return the bound rounded up to 16 significant binary digits: a public geometric grid.

    >>> on_ladder(Fraction(2**20 + 1)), on_ladder(Fraction(3, 4))
    (Fraction(1048608, 1), Fraction(3, 4))
    """
    exponent = bound.numerator.bit_length() - bound.denominator.bit_length()
    # The largest power of two of at most the bound.
    power = Fraction(2) ** exponent if Fraction(2) ** exponent <= bound else Fraction(2) ** (exponent - 1)
    rung = power * ROUNDING
    return math.ceil(bound / rung) * rung


class _Priced(Protocol):
    def loss(self, d_in: Number = 1) -> Loss: ...


S = TypeVar("S", bound=_Priced)


def smoothest(build: Callable[[Fraction], S], within: Loss) -> S:
    """Return ``build(smoothness)`` with the largest smoothness found whose loss for neighbours fits ``within``."""
    low, high = Fraction(0), Fraction(1)
    if build(high).loss(1) <= within:
        return build(high)
    for _ in range(_SEARCHES):
        middle = round_down((low + high) / 2, bits=32)
        low, high = (middle, high) if build(middle).loss(1) <= within else (low, middle)
    if not low:
        raise NoGuarantee(f"no smoothness reaches {within}")
    return build(low)


def examples_of(*mechanisms: SmoothNoise) -> Iterator[Example]:
    """Return examples whose bounds lie below the least, with neighbours whose bounds do not."""
    for mechanism in mechanisms:
        # A float rounded down, so that the pair is one of neighbours.
        growth = float(exp_down(mechanism.smoothness)) * (1 - 2.0**-50)
        wide, least, others = 64.0 * float(mechanism.least), float(mechanism.least), [0.0] * (mechanism.dimension - 1)
        yield Example(
            mechanism,
            np.array([0.25, *others, 0.0]),
            (
                (np.array([0.0, *others, wide]), np.array([wide, *others, wide * growth]), 1),
                (np.array([0.0, *others, least]), np.array([0.0, *others, least * growth]), 1),
            ),
        )
