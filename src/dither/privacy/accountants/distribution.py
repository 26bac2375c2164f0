"""Privacy-loss distributions: the whole distribution of the loss of several mechanisms, not just a few figures.

The tightest accountant there is for mechanisms that are **fixed in advance**, and a bound for nothing else: it is no
filter. An analyst who chooses the next mechanism after seeing answers can exceed every figure given here
(``tests/privacy/test_adaptive_game.py`` shows how); inside one plan, whose parts are fixed before the first draw, it
holds even though the *values* may depend on earlier answers.

Figures are *bounded*: floats, with every error proved and added towards more loss. Deltas down to 1e-20 are supported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from threading import RLock

import numpy as np

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.exact import Number, exact, non_negative, probability, round_up, to_float, whole
from dither.exact.enclosure import round_down
from dither.privacy.accountants.fourier import Sum, add_up, log_moment, peak
from dither.privacy.accountants.grid import Cells, TooFine
from dither.privacy.accountants.pairs import Pair, forget_cells
from dither.privacy.distances import Relation
from dither.privacy.losses import ApproxDP

#: Losses are followed until 2^-100 of probability is left, so smaller deltas could be swamped by what was not followed.
SMALLEST_DELTA = Fraction(1, 10**20)
#: The finest and the coarsest grid: steps of 2^-40 and of 1/4.
_FINEST, _COARSEST = 40, 2
#: A grid adds at most step^2 / 4 to the variance of a loss; at a hundredth of its deviation that is 1 in 40,000.
_STEPS_PER_DEVIATION = 100
#: Short sums are cheap, so their grid is finer than that: this many cells in 16 deviations of the sum.
_CELLS = 1 << 16
_MOST = 1 << 21
#: How far a tilt may change the weight of the largest loss, in its logarithm: more would cost accuracy.
_LEAST_TILT, _MOST_TILT = 1e-6, 1e4
_LARGEST_EPSILON = 1e6
#: How many grid points of sums are kept for the next question, with three floats for each.
_MOST_KEPT = 1 << 21
_STEEP = 1e3


@dataclass(frozen=True)
class LossDistribution:
    """The loss of some mechanisms, each repeated, all fixed in advance.

    Guarantee: whatever the mechanisms release together is (epsilon, delta)-DP under ``relation`` for ``epsilon =
    distribution.epsilon(delta)``, and for ``delta = distribution.delta(epsilon)``. **Not a filter.**

    The two directions of neighbours (a unit is there, or is not) are followed apart and the worse one counts. The order
    of mechanisms does not matter, to the last bit. ``step`` may give the distance of grid points, a power of two;
    without it one is chosen that puts epsilon off by about one part in 10^5.

    >>> from dither.privacy.accountants import GaussianPair, Sampling, SampledPair
    >>> noise = GaussianPair(sigma=1, contribution=1, relation=Relation.ADD_REMOVE)
    >>> round = SampledPair(pair=noise, rate="0.01", sampling=Sampling.POISSON)
    >>> training = LossDistribution.of(round, count=10_000)
    >>> f"{float(training.epsilon('1e-5')):.2f}"
    '6.19'
    >>> print(training.to_approx("1e-5"))
    epsilon = 6.18..., delta = 1e-05
    """

    parts: tuple[tuple[Pair, int], ...]
    step: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidParameter("parts", self.parts, "at least one pair and its count")
        relations = {pair.relation for pair, _ in self.parts} - {Relation.METRIC}
        if len(relations) > 1:
            raise IncompatibleDistance("a loss distribution", *sorted(relation.value for relation in relations))

    @classmethod
    def of(cls, pair: Pair, *, count: int = 1, step: Number | None = None) -> LossDistribution:
        """Return the loss of one pair, ``count`` times."""
        if not isinstance(pair, Pair):
            raise InvalidParameter("pair", pair, "a dominating pair")
        return cls(((pair, whole("count", count, least=1, most=10**12)),), None if step is None else _step(step))

    @property
    def relation(self) -> Relation:
        """How neighbours differ; METRIC if every part is about a value that moves."""
        return next((pair.relation for pair, _ in self.parts if pair.relation is not Relation.METRIC), Relation.METRIC)

    @property
    def pure(self) -> Fraction | None:
        """The sum of the epsilons that hold with delta = ``leak``, or None if there is none."""
        losses = [(pair.pure, count) for pair, count in self.parts]
        known = [count * pure for pure, count in losses if pure is not None]
        return round_up(sum(known, Fraction(0))) if len(known) == len(losses) else None

    def times(self, count: int) -> LossDistribution:
        """Return the loss of ``count`` such releases."""
        count = whole("count", count, least=1, most=10**12)
        return LossDistribution(tuple((pair, number * count) for pair, number in self.parts), self.step)

    def __add__(self, other: LossDistribution) -> LossDistribution:
        if not isinstance(other, LossDistribution):
            return NotImplemented
        return compose_distributions((self, other))

    def delta(self, epsilon: Number) -> Fraction:
        """Return delta such that the whole composition is (epsilon, delta)-DP."""
        target = non_negative("epsilon", epsilon)
        ceiling = self.leak if self.pure is not None and target >= self.pure else Fraction(1)
        if ceiling == 0:
            return ceiling
        start = to_float(target, "down")
        return min(ceiling, max(_Direction.of(self, forward).delta(start) for forward in self._directions()))

    def epsilon(self, delta: Number) -> Fraction:
        """Return epsilon such that the whole composition is (epsilon, delta)-DP, for delta of at least 1e-20."""
        target = probability("delta", delta, open_below=True)
        if target < SMALLEST_DELTA:
            raise InvalidParameter("delta", delta, "at least 1e-20, the smallest delta that is supported")
        # Where every loss is finite their sum is an epsilon too, and sometimes the only one.
        ceiling = self.pure if self.pure is not None and self.leak <= target else None
        found = Fraction(0)
        try:
            for forward in self._directions():
                found = _Direction.of(self, forward).epsilon(target, at_least=found)
        except NoGuarantee:
            if ceiling is None:
                raise
            return ceiling
        return found if ceiling is None else min(found, ceiling)

    def to_approx(self, delta: Number) -> ApproxDP:
        """Return the (epsilon, delta) guarantee."""
        return ApproxDP(self.epsilon(delta), delta)

    @property
    def leak(self) -> Fraction:
        """The probability that everything is given away, rounded up."""
        kept = Fraction(1)
        for pair, count in self.parts:
            kept = round_down(kept * power_down(1 - pair.leak, count))
        return 1 - kept

    def _directions(self) -> tuple[bool, ...]:
        return (True,) if all(pair.is_symmetric for pair, _ in self.parts) else (True, False)


def compose_distributions(distributions: Iterable[LossDistribution]) -> LossDistribution:
    """Return the joint loss of all of these, in any order."""
    counts: Counter[Pair] = Counter()
    steps = set()
    for distribution in distributions:
        for pair, count in distribution.parts:
            counts[pair] += count
        steps.add(distribution.step)
    # One order for equal multisets, so that floats are added in one order too.
    parts = tuple(sorted(counts.items(), key=lambda part: repr(part[0])))
    return LossDistribution(parts, min((step for step in steps if step is not None), default=None))


class _Direction:
    """One of the two directions, on one grid."""

    def __init__(self, parts: tuple[tuple[Pair, int], ...], step: Fraction | None, forward: bool) -> None:
        self.parts, self.forward, self.may_coarsen = parts, forward, step is None
        # Kept between questions, which may come from several threads.
        self._lock = RLock()
        spread = [(pair.deviation(forward=forward), count) for pair, count in parts]
        widest = max(pair.width(forward=forward) for pair, _ in parts)
        self.deviation = math.sqrt(math.fsum(count * deviation * deviation for deviation, count in spread))
        self._put_on_grid(_exponent(spread, widest) if step is None else step.denominator.bit_length() - 1)

    def _put_on_grid(self, exponent: int) -> None:
        self.exponent = exponent
        self.cells: list[tuple[Cells, int]] = [
            (pair.cells(exponent, forward=self.forward), count) for pair, count in self.parts
        ]
        certain = any(cells.infinity >= 1 for cells, _ in self.cells)
        kept = 0.0 if certain else math.fsum(count * math.log1p(-cells.infinity) for cells, count in self.cells)
        self.infinity = 1.0 if certain else min(1.0, -math.expm1(kept) * (1 + 1e-12))
        self.far = max(max(abs(cells.first), cells.first + len(cells.mass)) * cells.step for cells, _ in self.cells)
        self._sums: dict[float, Sum] = {}
        self._moments: dict[float, float] = {}

    @staticmethod
    def of(distribution: LossDistribution, forward: bool) -> _Direction:
        """Return the direction, cached for the next question."""
        return _direction(distribution.parts, distribution.step, forward)

    def delta(self, epsilon: float) -> Fraction:
        """Return delta at a float epsilon."""
        with self._lock:
            if self.infinity >= 1:
                return Fraction(1)
            tilt = self._best(lambda tilt: self.moment(tilt) - tilt * epsilon + math.log(peak(tilt)))
            # The sum may have put everything on a coarser grid, so infinite losses are looked at after it.
            found = self.sum(tilt).excess(epsilon) + self.infinity
        return Fraction(math.nextafter(found, math.inf)) if found < 1 else Fraction(1)

    def epsilon(self, delta: Fraction, *, at_least: Fraction) -> Fraction:
        """Return epsilon at delta, or what is known to be needed anyway."""
        with self._lock:
            spare = self._spare(delta)
            tilt = self._best(lambda tilt: (self.moment(tilt) + math.log(peak(tilt) / spare)) / tilt)
            total = self.sum(tilt)
            spare = self._spare(delta)
            if total.excess(to_float(at_least, "down")) <= spare:
                return at_least
            # The Chernoff bound is a little too large, and ln(delta) falls about as fast as the tilt there.
            start = (self.moment(tilt) + math.log(peak(tilt) / spare)) / tilt
            return Fraction(_least(total.excess, spare, start=start, slope=tilt))

    def _spare(self, delta: Fraction) -> float:
        """Return the delta left after infinite losses, rounded down."""
        spare = to_float(delta - Fraction(self.infinity), "down")
        if not spare > 0:
            raise NoGuarantee(f"infinite losses alone have probability {self.infinity:.3g}, which is not below delta")
        return spare

    def moment(self, tilt: float) -> float:
        """Return ln of the moment of the sum, only used to choose a tilt."""
        if tilt not in self._moments:
            with np.errstate(all="ignore"):
                moments = [count * log_moment(*cells.atoms, tilt) for cells, count in self.cells]
            self._moments[tilt] = math.fsum(moments)
        return self._moments[tilt]

    def sum(self, tilt: float) -> Sum:
        """Return the distribution of the sum at a tilt, cached for the next question at the same tilt."""
        while tilt not in self._sums:
            try:
                self._sums[tilt] = add_up(self.cells, tilt)
            except TooFine:
                if not self.may_coarsen or self.exponent <= _COARSEST:
                    raise
                self._put_on_grid(self.exponent - 1)
        found = self._sums[tilt]
        while len(self._sums) > 1 and sum(len(kept.mass) for kept in self._sums.values()) > _MOST_KEPT:
            del self._sums[next(iter(self._sums))]
        return found

    def _best(self, bound: Callable[[float], float]) -> float:
        """Return a tilt near the minimum, a power of the root of two, so that similar questions share it.

        Every tilt gives a valid answer; a good one gives a tight answer.
        """
        position = min(round(2 * math.log2(4 / self.deviation)), math.floor(2 * math.log2(_MOST_TILT / self.far)) - 1)
        values: dict[int, float] = {}

        def value(at: int) -> float:
            if at not in values:
                tilt = math.sqrt(2.0) ** at
                values[at] = bound(tilt) if _LEAST_TILT < tilt * self.far < _MOST_TILT else math.inf
            return values[at]

        for stride in (8, 4, 2, 1):
            for sign in (-1, 1):
                while value(position + sign * stride) < value(position):
                    position += sign * stride
        return math.sqrt(2.0) ** position


@lru_cache(maxsize=8)
def _direction(parts: tuple[tuple[Pair, int], ...], step: Fraction | None, forward: bool) -> _Direction:
    return _Direction(parts, step, forward)


def _least(excess: Callable[[float], float], spare: float, *, start: float, slope: float) -> float:
    """Return the least epsilon, to one part in 10^7, at which the excess is at most ``spare``.

    False position (Illinois) on the logarithm of the excess, which is nearly straight and falls about as ``slope``.
    """

    def value(epsilon: float) -> float:
        found = excess(epsilon)
        return math.log(found / spare) if 0 < found < math.inf else math.copysign(_STEEP, found - spare)

    low, high, point = 0.0, math.inf, max(start, 0.0)
    above = below = side = 0.0
    while math.isinf(high) or not above:
        found = value(point)
        if found <= 0:
            high, below = point, found
            if point == 0:
                return 0.0
            point = max(0.0, point + min(1.2 * found / slope, -1e-6 * point))
        else:
            low, above = point, found
            point += max(1.2 * found / slope, 1e-6 * (1 + point))
            if point > _LARGEST_EPSILON:
                raise NoGuarantee("no epsilon of any use is reached at that delta")
    while high - low > 1e-7 * high:
        point = low + (high - low) * min(max(above / (above - below), 1e-3), 0.999)
        found = value(point)
        if found <= 0:
            high, below, above = point, found, above / (2 if side < 0 else 1)
        else:
            low, above, below = point, found, below / (2 if side > 0 else 1)
        side = found
    return high


def _exponent(spread: list[tuple[float, int]], widest: float) -> int:
    """Return how fine a grid is worth its time: steps of 2^-exponent."""
    count = sum(number for _, number in spread)
    total = math.sqrt(math.fsum(number * deviation * deviation for deviation, number in spread))
    step = min(total / math.sqrt(count) / _STEPS_PER_DEVIATION, 16 * total / _CELLS)
    # No law may need more cells than fit, whatever that costs in accuracy.
    most = math.floor(math.log2(_MOST / max(24 * total, widest)))
    return max(_COARSEST, min(_FINEST, round(-math.log2(step)), most))


def _step(step: Number) -> Fraction:
    given = exact("step", step)
    if not any(given == Fraction(1, 2**exponent) for exponent in range(_COARSEST, _FINEST + 1)):
        raise InvalidParameter("step", step, "a power of two between 2^-40 and 1/4")
    return given


def power_down(base: Fraction, exponent: int) -> Fraction:
    """Return at most ``base ** exponent``, for a base in [0, 1]."""
    result = Fraction(1)
    while exponent:
        if exponent % 2:
            result = round_down(result * base)
        base, exponent = round_down(base * base), exponent // 2
    return result


def forget() -> None:
    """Clear all caches: for measurements of time."""
    _direction.cache_clear()
    forget_cells()
