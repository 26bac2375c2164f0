"""Renyi curves: a mechanism's Renyi divergence at some orders, which adds up under composition.

A curve is a promise at each of its orders: the divergence of that order is at most the value, in both directions, under
the relation of the curve. For mechanisms fixed in advance, or for any one order as a filter. Values are exact
rationals, rounded up. Where a loss distribution is known it is tighter; a curve is simpler and covers vectors of
discrete Gaussians.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.exact import Number, exact, exp_down, exp_up, log_up, non_negative, positive, probability, round_up, whole
from dither.exact.enclosure import decimal_up, exp_decimals
from dither.privacy.accountants.laws import UNIT, Floats
from dither.privacy.accountants.pairs import moved, related
from dither.privacy.distances import Relation
from dither.privacy.losses import ApproxDP

#: The orders of a curve unless others are asked for.
ORDERS: tuple[Fraction, ...] = (
    *(1 + Fraction(1, 2**n) for n in range(8, 2, -1)),
    *(1 + Fraction(n, 10) for n in range(2, 40)),
    *(Fraction(n, 4) for n in range(20, 40)),
    *map(Fraction, range(10, 65)),
    *map(Fraction, (72, 80, 96, 112, 128, 160, 192, 256, 384, 512, 1024)),
)
_LARGE = 2000
#: Cells of the normal law for an order between two integers, and how far they reach.
_CELLS = 1 << 14
_DEVIATIONS = 12.0
#: The relative error of sums and normal tails in floats, with room to spare; measured are 2^-44 or so.
_ROUNDING = 2.0**-40
_UP = Context(prec=60, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


@dataclass(frozen=True)
class RenyiCurve:
    """Upper bounds on the Renyi divergence at some orders above 1, under one relation.

    Guarantee: everything together is (epsilon, delta)-DP for ``epsilon = curve.epsilon(delta)``.

    >>> curve = sampled_gaussian_curve(sigma=4, contribution=1, rate="0.01", relation=Relation.ADD_REMOVE).times(10_000)
    >>> f"{float(curve.epsilon('1e-5')):.4f} {float(curve.moments_epsilon('1e-5')):.4f}"
    '1.0355 1.2586'
    """

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    relation: Relation

    def __post_init__(self) -> None:
        rule = "rising, above 1, with one value of at least 0 for each"
        is_rising = all(a < b for a, b in zip(self.orders, self.orders[1:], strict=False))
        if not (self.orders and len(self.orders) == len(self.values) and is_rising and self.orders[0] > 1):
            raise InvalidParameter("orders", self.orders, rule)
        related("relation", self.relation)
        if not all(isinstance(value, Fraction) and value >= 0 for value in self.values):
            raise InvalidParameter("values", self.values, rule)

    def times(self, count: int) -> RenyiCurve:
        """Return the curve of ``count`` such releases: values add up."""
        count = whole("count", count)
        return RenyiCurve(self.orders, tuple(round_up(count * value) for value in self.values), self.relation)

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        if not isinstance(other, RenyiCurve):
            return NotImplemented
        relations = {self.relation, other.relation} - {Relation.METRIC}
        if len(relations) > 1:
            raise IncompatibleDistance("a Renyi curve", self.relation.value, other.relation.value)
        theirs = dict(zip(other.orders, other.values, strict=True))
        both = [(order, value) for order, value in zip(self.orders, self.values, strict=True) if order in theirs]
        if not both:
            raise NoGuarantee("the two curves have no order in common")
        orders = tuple(order for order, _ in both)
        values = tuple(round_up(value + theirs[order]) for order, value in both)
        return RenyiCurve(orders, values, relations.pop() if relations else Relation.METRIC)

    def epsilon(self, delta: Number) -> Fraction:
        """Return epsilon by the tight conversion: value + ln(1 / (order * delta)) / (order - 1) + ln(1 - 1 / order).

        Canonne, Kamath and Steinke (2020), proposition 12.
        """
        return self._least(delta, _logarithms)

    def moments_epsilon(self, delta: Number) -> Fraction:
        """Return epsilon by the plain conversion, value + ln(1 / delta) / (order - 1): larger, for reference only."""
        return self._least(delta, lambda order: (Fraction(0), Fraction(0)))

    def delta(self, epsilon: Number) -> Fraction:
        """Return delta by the tight conversion: e^((a - 1)(value - epsilon)) (1 - 1/a)^(a - 1) / a at order a."""
        target = non_negative("epsilon", epsilon)
        found = Fraction(1)
        for order, value in zip(self.orders, self.values, strict=True):
            exponent = (order - 1) * (value - target + _logarithms(order)[1])
            if exponent < 0:
                found = min(found, round_up(exp_up(exponent) / order))
        return found

    def to_approx(self, delta: Number) -> ApproxDP:
        """Return the (epsilon, delta) guarantee."""
        return ApproxDP(self.epsilon(delta), delta)

    def _least(self, delta: Number, terms: Callable[[Fraction], tuple[Fraction, Fraction]]) -> Fraction:
        surprise = log_up(1 / probability("delta", delta, open_below=True))
        bounds = []
        for order, value in zip(self.orders, self.values, strict=True):
            inside, outside = terms(order)
            bounds.append(value + (surprise + inside) / (order - 1) + outside)
        return max(Fraction(0), round_up(min(bounds)))


@lru_cache(maxsize=1024)
def _logarithms(order: Fraction) -> tuple[Fraction, Fraction]:
    """Return ln(1 / order) and ln(1 - 1 / order), rounded up: the same for every curve."""
    return log_up(1 / order), log_up(1 - 1 / order)


def gaussian_curve(
    *, sigma: Number, contribution: Number, relation: Relation, orders: Iterable[Number] = ORDERS
) -> RenyiCurve:
    """Return the curve of Gaussian noise on a vector: order * distance^2 / (2 sigma^2), exactly.

    A replaced unit moves a sum by twice its contribution, so its curve is four times as high.
    """
    distance = moved(positive("contribution", contribution), relation)
    rate = distance**2 / (2 * positive("sigma", sigma) ** 2)
    return _curve(orders, relation, lambda order: order * rate)


def discrete_gaussian_curve(
    *, sigma: Number, contribution: Number, relation: Relation, orders: Iterable[Number] = ORDERS
) -> RenyiCurve:
    """Return the curve of discrete Gaussian noise on a vector of integers: at most that of the Gaussian.

    Canonne, Kamath and Steinke (2020), proposition 5 and corollary 16.
    """
    return gaussian_curve(sigma=sigma, contribution=contribution, relation=relation, orders=orders)


def laplace_curve(
    *, scale: Number, contribution: Number, relation: Relation, orders: Iterable[Number] = ORDERS
) -> RenyiCurve:
    """Return the curve of Laplace noise on a vector whose contributions are sums of absolute entries.

    Mironov (2017), proposition 6, for one entry; no vector at the same distance has more, since one entry dominates.

    >>> float(laplace_curve(scale=1, contribution=1, relation=Relation.METRIC, orders=[2]).values[0])
    0.619...
    """
    epsilon = moved(positive("contribution", contribution), relation) / positive("scale", scale)

    def value(order: Fraction) -> Fraction:
        if order * epsilon > _LARGE:
            return epsilon
        up, down = exp_up((order - 1) * epsilon), exp_up(-order * epsilon)
        return min(epsilon, log_up((order * up + (order - 1) * down) / (2 * order - 1)) / (order - 1))

    return _curve(orders, relation, value)


def response_curve(*, epsilon: Number, options: int = 2, orders: Iterable[Number] = ORDERS) -> RenyiCurve:
    """Return the curve of randomised response: ln((e^(a e) + e^((1 - a) e) + k - 2) / (e^e + k - 1)) / (a - 1)."""
    budget, count = positive("epsilon", epsilon), whole("options", options, least=2)

    def value(order: Fraction) -> Fraction:
        if order * budget > _LARGE:
            return budget
        moment = exp_up(order * budget) + exp_up((1 - order) * budget) + count - 2
        return min(budget, log_up(moment / (exp_down(budget) + count - 1)) / (order - 1))

    return _curve(orders, Relation.METRIC, value)


def sampled_gaussian_curve(
    *, sigma: Number, contribution: Number, rate: Number, relation: Relation, orders: Iterable[Number] = ORDERS
) -> RenyiCurve:
    """Return the curve of Gaussian noise on a secret Poisson sample; units added or removed.

    At a whole order a: ln(sum over k of C(a, k) (1 - q)^(a-k) q^k e^(k (k-1) / (2 s^2))) / (a - 1), with s = sigma /
    contribution (Mironov, Talwar and Zhang 2019). Between whole orders the lesser of two bounds: (a - 1) times the
    curve is convex, so it lies below the straight line through its neighbours; and the mean of a convex function is
    at most its sum over cells, each with its larger end. Replaced units need a loss distribution.
    """
    if related("relation", relation) is not Relation.ADD_REMOVE:
        raise IncompatibleDistance("a sampled Renyi curve", "units added or removed", f"units {relation.value}")
    ratio = positive("contribution", contribution) / positive("sigma", sigma)
    spread = ratio**2 / 2
    chance = positive("rate", rate, at_most=1)
    asked = [_order(order) for order in orders]
    needed = {whole for order in asked for whole in (math.floor(order), math.ceil(order))}
    moments = _log_moments(chance, spread, sorted(needed - {1})) | {1: Fraction(0)}

    between = [order for order in asked if order.denominator > 1]
    cells = _NormalCells(chance, ratio, max(between)) if between else None

    def value(order: Fraction) -> Fraction:
        low, high = math.floor(order), math.ceil(order)
        moment = moments[low] + (order - low) * (moments[high] - moments[low])
        closer = cells.log_moment(order) if cells and low < high else None
        return (moment if closer is None else min(moment, closer)) / (order - 1)

    return _curve(asked, relation, value)


class _NormalCells:
    """Upper bounds on ln E_Q[m^a] with m = 1 - q + q P/Q, as sums over cells of the normal law that all orders share.

    The mean of m is 1, so E[m^a] is 1 plus the mean of m^a - 1 - a (m - 1), which is convex in m and at least 0: in a
    cell its mean is at most that of the straight line between the ends, which needs only the mean of m there.

    Args:
        rate: q.
        ratio: how far P is from Q, in standard deviations.
        largest: the largest order; the cells reach far enough for it.

    """

    def __init__(self, rate: Fraction, ratio: Fraction, largest: Fraction) -> None:
        self.q, self.shift = float(rate), float(ratio)
        self.top = _DEVIATIONS + float(largest) * self.shift
        with np.errstate(all="ignore"):
            self.ends = np.linspace(-_DEVIATIONS, self.top, _CELLS + 1)
            self.excess = np.expm1(self.shift * self.ends - self.shift * self.shift / 2)
            self.logs = np.log1p(self.q * self.excess)
            self.base, moved_mass = _cell_mass(self.ends), _cell_mass(self.ends - self.shift)
            # How much of a cell's mass the mean of m puts at its upper end, and what rounding may hide of it.
            step, below = np.diff(self.excess), (1 + self.excess[:-1]) * self.base
            self.upper = (moved_mass - below) / step
            self.slack = _ROUNDING * (moved_mass + below) / step

    def log_moment(self, order: Fraction) -> Fraction | None:
        """Return the bound at an order, or None if it is too large for floats."""
        from scipy.special import ndtr

        q, shift, power = self.q, self.shift, float(order)
        with np.errstate(all="ignore"):
            heights = np.expm1(power * self.logs) - power * q * self.excess
            # What is lost in the difference, and in the argument of the exponential, is paid for.
            heights = np.maximum(heights, 0.0) * (1 + 64 * UNIT * (65 + power * (1 + abs(shift * self.ends))))
            heights += 16 * UNIT * (1 + power) * q * np.abs(self.excess)
            # What rounding may hide goes to the higher end.
            rise = np.diff(heights)
            upper = np.clip(self.upper + np.where(rise > 0, self.slack, -self.slack), 0.0, self.base)
            upper = np.where(np.isnan(upper), np.where(rise > 0, self.base, 0.0), upper)
            inside = float(np.sum(heights[:-1] * self.base + rise * upper))
            # Left of the cells m lies between 1 - q and its value at the first end.
            lowest = np.expm1(power * np.log1p(-min(q, 1 - UNIT))) + power * q + 16 * UNIT * (1 + power)
            left = float(ndtr(-_DEVIATIONS)) * max(float(heights[0]), float(lowest))
            # Right of them m is at most e^L times its share there; e^(aL) moves the normal law by a times the shift.
            share = q + (1 - q) * math.exp(-min(shift * self.top - shift * shift / 2, 700.0))
            grown = power * (power - 1) * shift * shift / 2 + power * math.log(share)
            right = float(ndtr(-_DEVIATIONS)) * math.exp(grown) if grown < 700 else math.inf
            found = (inside + left + right) * (1 + _ROUNDING)
        return log_up(1 + Fraction(found)) if math.isfinite(found) else None


def _cell_mass(ends: Floats) -> Floats:
    """Return the normal probability between neighbours, rounded up; from the side where digits are kept."""
    from scipy.special import ndtr

    below, above = ndtr(ends), ndtr(-ends)
    is_left = ends[1:] <= 0
    mass = (
        np.where(is_left, np.diff(below), -np.diff(above)) + _ROUNDING * np.where(is_left, below[1:], above[:-1]) / 16
    )
    return cast(Floats, mass)


def _log_moments(rate: Fraction, spread: Fraction, orders: list[int]) -> dict[int, Fraction]:
    """Return upper bounds on ln of the binomial sum, in decimals rounded up throughout."""
    # The terms k = 0 and 1 are those of a binomial sum that is 1, so 1 plus the positive rest keeps all its digits.
    most = orders[-1] if orders else 0
    extra = [Decimal(0), Decimal(0)]
    # e^(k (k-1) s) is that of k - 1 times e^(2 (k-1) s), and that in turn grows by e^(2 s): products, all rounded up.
    growth = exp_decimals(2 * spread, 60)[1]
    power = factor = Decimal(1)
    for _ in range(2, most + 1):
        factor = _UP.multiply(factor, growth)
        power = _UP.multiply(power, factor)
        extra.append(_UP.subtract(power, Decimal(1)))
    caught, missed = _powers(rate, most), _powers(1 - rate, most)
    drawn = [_UP.multiply(chance, more) for chance, more in zip(caught, extra, strict=False)]
    numbers = [Decimal(number) for number in range(most + 1)]
    multiply, divide, add = _UP.multiply, _UP.divide, _UP.add
    found = {}
    for order in orders:
        rest, ways = Decimal(0), numbers[order]
        for k in range(2, order + 1):
            # C(order, k) from C(order, k - 1).
            ways = divide(multiply(ways, numbers[order - k + 1]), numbers[k])
            rest = add(rest, multiply(multiply(drawn[k], missed[order - k]), ways))
        # ln(1 + x) is at most x, and as good as equal where digits would be lost.
        is_small = rest < Decimal("1e-25")
        found[order] = round_up(Fraction(rest if is_small else _UP.next_plus(_UP.ln(_UP.add(Decimal(1), rest)))))
    return found


def _powers(base: Fraction, most: int) -> list[Decimal]:
    powers, factor = [Decimal(1)], decimal_up(base, 60)
    for _ in range(most):
        powers.append(_UP.multiply(powers[-1], factor))
    return powers


def _curve(orders: Iterable[Number], relation: Relation, value: Callable[[Fraction], Fraction]) -> RenyiCurve:
    found = [_order(order) for order in orders]
    return RenyiCurve(tuple(found), tuple(round_up(value(order)) for order in found), relation)


def _order(order: Number) -> Fraction:
    found = exact("order", order)
    if not 1 < found <= 2**16:
        raise InvalidParameter("order", order, "above 1 and at most 65536")
    return found
