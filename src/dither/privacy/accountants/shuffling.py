"""How a shuffler reduces the loss of local reports: the reports of n honest people, in an order that says nothing.

Feldman, McMillan and Talwar (2022) bound it for every randomiser of a given epsilon, by reports of others that look
like copies of one's own. With the law of the randomiser in hand the bound is tighter (variation ratio: Wang et al.
2023). All bounds here are for one report of each person, one answer of which is replaced. They hold if at least n
people report honestly and the reader sees nothing but the reports. Delta is in floats, with a bound on their error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, exp_up, log_up, positive, probability, sqrt_up, typed, whole
from dither.privacy.distances import Relation, Unit
from dither.privacy.losses import ApproxDP, PureDP

Floats: TypeAlias = NDArray[np.float64]

#: More reports than this count as this many: the loss of more is never larger.
MOST_REPORTS: Final = 10**7
#: No delta is promised below this.
LEAST_DELTA: Final = Fraction(1, 10**15)
# Numbers of copies that are less likely than this are priced as if they copied nothing.
_NEGLIGIBLE: Final = 1e-28
# Tails of binomials, from a library, are right to far less than this share.
_SHARE: Final = 1e-10
# Neutral reports are counted in so many groups, each as if it were its smallest.
_GROUPS: Final = 48


def shuffled(honest: int) -> Unit:
    """Return the unit of one answer among the shuffled reports of ``honest`` people: never mixed with another.

    >>> str(shuffled(1000))
    'answers replaced (one report of each, shuffled among those of 1000 honest people)'
    """
    count = whole("honest", honest, least=1)
    return Unit("answer", Relation.REPLACE, f"one report of each, shuffled among those of {count} honest people")


@dataclass(frozen=True)
@typed
class Mixture:
    """How the reports of two answers split into parts, and how much of each part all other answers report, too.

    The first answer reports ``ratio * side`` of a part A, ``side`` of a part B, and the rest of a neutral part; the
    second has A and B exchanged. Any other answer reports at least ``copied`` of A, ``copied`` of B and ``neutral`` of
    the neutral part, which add up to at most 1.
    """

    ratio: Fraction
    side: Fraction
    copied: Fraction
    neutral: Fraction

    def __post_init__(self) -> None:
        """Refuse parts that are no shares."""
        if not (self.ratio >= 1 and self.side >= 0 and self.side * (1 + self.ratio) <= 1):
            raise InvalidParameter("side", self.side, "a share, with ratio * side at most 1 together, ratio from 1 on")
        if not (min(self.copied, self.neutral) >= 0 and 2 * self.copied + self.neutral <= 1):
            raise InvalidParameter("copied", self.copied, "a share: 2 * copied + neutral at most 1")

    @property
    def rest(self) -> Fraction:
        """How much of the neutral part the two answers report."""
        return 1 - self.side * (1 + self.ratio)


def any_randomiser(epsilon: Number) -> Mixture:
    """Return parts of the reports of every randomiser with that epsilon: half of e^-epsilon each is copied.

    >>> any_randomiser(1).neutral
    Fraction(0, 1)
    """
    ratio = exp_up(positive("epsilon", epsilon, at_most=50))
    return Mixture(ratio, 1 / (ratio + 1), 1 / (2 * ratio), Fraction(0))


def mixture_of(first: Sequence[int], second: Sequence[int], common: Sequence[int]) -> Mixture:
    """Return the parts of two rows of whole weights over the same reports.

    Args:
        first: the weights of the reports of one answer; reports of equal weights in all three may be added together.
        second: those of another answer, with the same sum.
        common: what every answer reports at least.

    >>> mixture_of([6, 2, 2, 2], [2, 6, 2, 2], [2, 2, 2, 2])
    Mixture(ratio=Fraction(3, 1), side=Fraction(1, 6), copied=Fraction(1, 6), neutral=Fraction(1, 3))

    """
    here, there, shared = ([whole("weights", weight, least=0) for weight in row] for row in (first, second, common))
    total = sum(here)
    if not (len(here) == len(there) == len(shared) and total == sum(there) > 0):
        raise InvalidParameter("second", second, "weights of the same reports, with the same sum")
    if any(least > min(pair) for least, *pair in zip(shared, here, there, strict=True)):
        raise InvalidParameter("common", common, "at most the weights of both answers")
    if any((a == 0) != (b == 0) for a, b in zip(here, there, strict=True)):
        raise InvalidParameter("second", second, "above 0 wherever the first is: the loss of one report is finite")
    ratio = max(Fraction(max(a, b), min(a, b)) for a, b in zip(here, there, strict=True) if a)
    if ratio == 1:
        return Mixture(Fraction(1), Fraction(0), Fraction(0), Fraction(sum(shared), total))
    apart = sum(max(a - b, 0) for a, b in zip(here, there, strict=True))
    side = Fraction(apart, total) / (ratio - 1)
    copied, neutral, separate = [], [], True
    for a, b, least in zip(here, there, shared, strict=True):
        # The report's share of its side's part, and what is left of it for the neutral part.
        part = Fraction(abs(a - b), apart)
        left = Fraction(max(a, b), total) - ratio * side * part
        separate = separate and not (part and left)
        copied += [Fraction(least, total) / part] if part else []
        neutral += [Fraction(least, total) / left] if left else []
    rest = 1 - side * (1 + ratio)
    if not separate:
        # Parts overlap: all of them in proportion to the larger of the two rows.
        worst = min(Fraction(least, max(a, b)) for a, b, least in zip(here, there, shared, strict=True) if a)
        return Mixture(ratio, side, worst * ratio * side, worst * rest)
    return Mixture(ratio, side, min(copied), min(neutral, default=Fraction(0)) * rest)


def mixtures_of(rows: Sequence[Sequence[int]]) -> tuple[Mixture, ...]:
    """Return the parts of each pair of answers, for a table of whole weights: a row for each answer.

    >>> len(mixtures_of([[3, 1, 1], [1, 3, 1], [1, 1, 3]]))  # all pairs are alike
    1
    """
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        raise InvalidParameter("rows", rows, "a table of weights: a row for each of two answers or more")
    common = [min(column) for column in zip(*rows, strict=True)]
    found = (mixture_of(a, b, common) for place, a in enumerate(rows) for b in rows[:place])
    return tuple(dict.fromkeys(found))


def shuffled_delta(mixture: Mixture, *, honest: int, epsilon: Number) -> Fraction:
    """Return a delta for which the shuffled reports of ``honest`` people keep ``epsilon``, never too small.

    >>> float(shuffled_delta(any_randomiser(1), honest=1000, epsilon="0.3"))
    2.7...e-12
    """
    count = min(whole("honest", honest, least=1), MOST_REPORTS)
    factor = exp_up(positive("epsilon", epsilon, at_most=50))
    return _delta(mixture, count, factor)


def shuffled_loss(mixtures: Mixture | Sequence[Mixture], *, honest: int, delta: Number) -> ApproxDP | PureDP:
    """Return the loss of one answer among the shuffled reports of ``honest`` people, at a delta; never too small.

    Where shuffling gains nothing it is the loss of the report alone.

    Args:
        mixtures: what ``any_randomiser``, ``mixture_of`` or ``mixtures_of`` says about the reports.
        honest: how many people report honestly, at least, one's own report among them.
        delta: at least 1e-15.

    >>> report = any_randomiser(1)
    >>> [round(float(shuffled_loss(report, honest=n, delta="1e-6").epsilon), 4) for n in (10, 10**3, 10**5)]
    [1.0, 0.1825, 0.0153]

    """
    given = (mixtures,) if isinstance(mixtures, Mixture) else tuple(mixtures)
    count = min(whole("honest", honest, least=1), MOST_REPORTS)
    target = probability("delta", delta, open_below=True)
    if target < LEAST_DELTA:
        raise InvalidParameter("delta", delta, "at least 1e-15")
    worst = max((_least_epsilon(mixture, count, target) for mixture in given), default=Fraction(0))
    alone = max((log_up(mixture.ratio) for mixture in given), default=Fraction(0))
    return PureDP(alone) if worst >= alone else ApproxDP(worst, target)


def closed_form_epsilon(epsilon: Number, *, honest: int, delta: Number) -> Fraction:
    """Return the epsilon of theorem 3.1 of Feldman, McMillan and Talwar, or ``epsilon`` where it says nothing.

    For a quick look: ``shuffled_loss`` is smaller.

    >>> [round(float(closed_form_epsilon(1, honest=n, delta="1e-6")), 3) for n in (10, 10**4, 10**6)]
    [1.0, 0.214, 0.023]
    """
    alone, count = positive("epsilon", epsilon, at_most=50), whole("honest", honest, least=1)
    target = probability("delta", delta, open_below=True)
    ratio = exp_up(alone)
    if ratio * 16 * log_up(2 / target) > count:
        return alone
    spread = 8 * sqrt_up(ratio * log_up(4 / target) / count) + 8 * ratio / count
    return min(alone, log_up(1 + (1 - 2 / (ratio + 1)) * spread))


def _least_epsilon(mixture: Mixture, count: int, target: Fraction) -> Fraction:
    """Return an epsilon at most a part in 10^3 above the least whose delta is at most the target."""
    low, high = Fraction(0), log_up(mixture.ratio)
    if not high or _delta(mixture, count, Fraction(1)) <= target:
        return Fraction(0)
    # The logarithm of delta falls ever faster: bisect a few times, and then where a line through the ends meets it.
    for step in range(60):
        if high - low <= high / 10**3:
            break
        middle = (low + high) / 2 if step % 3 == 2 or step < 3 else _crossing(mixture, count, target, low, high)
        if _delta(mixture, count, exp_up(middle)) <= target:
            high = middle
        else:
            low = middle
    return high


def _crossing(mixture: Mixture, count: int, target: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Return where a line through the two ends, in logarithms of delta, comes to the target; slightly above it."""
    ends = [_delta(mixture, count, exp_up(end)) for end in (low, high)]
    if not ends[1]:
        return (low + high) / 2
    logs = [math.log(end / target) for end in ends]
    share = logs[0] / (logs[0] - logs[1]) * 1.0001
    return low + (high - low) * Fraction(min(max(share, 0.01), 0.99))


@lru_cache(maxsize=256)
def _delta(mixture: Mixture, count: int, factor: Fraction) -> Fraction:
    """Return a bound on the hockey stick of the two laws of all reports together (the theory page has the formula)."""
    gain = mixture.side * (mixture.ratio - factor)
    if gain <= 0:
        return Fraction(0)
    if not mixture.copied:
        return gain
    from scipy.special import betainc, gammaln

    copied, neutral = float(2 * mixture.copied), float(mixture.neutral)
    # What one report of each part adds: A, B and the neutral part.
    up = float(gain / mixture.copied)
    down = float(mixture.side * (1 - factor * mixture.ratio) / mixture.copied)
    idle = float((1 - factor) * mixture.rest / mixture.neutral) if mixture.neutral else 0.0

    copies = np.arange(count + 1, dtype=np.float64)
    if count > 4096:
        reach = 12 * math.sqrt(count * copied * max(1 - copied, 0)) + 80
        copies = copies[max(0, int(count * copied - reach)) : int(count * copied + reach) + 2]
    chances = np.exp(_log_binomial(gammaln, count, copies, copied))
    likely = chances > _NEGLIGIBLE
    copies, chances = copies[likely], chances[likely]
    # What is left out has a chance of at most this, by Bernstein's inequality for the reach; each costs at most up.
    missed = (count + 1) * _NEGLIGIBLE + (2e-28 if count > 4096 else 0.0)

    lows, shares = _groups(betainc, copies, count, neutral / (1 - copied) if copied < 1 else 0.0, idle)
    weights, offset = chances[:, None] * shares, copies[:, None] * down + lows * idle
    live = weights > _NEGLIGIBLE
    dropped = float(weights[~live].sum())
    weights, offset, total = weights[live], offset[live], np.broadcast_to(copies[:, None], live.shape)[live]
    # The sum is above 0 from this many reports of part A on.
    least = np.clip(np.floor(-offset / (up - down)) + 1, 0, total + 1)
    inner = np.clip(least, 1, np.maximum(total, 1))
    tail = np.where(
        least <= 0, 1.0, np.where(least > total, 0.0, betainc(inner, np.maximum(total - inner, 0) + 1, 0.5))
    )
    # One coin less, one success less: the same tail, and half the chance of the last value that misses it.
    last = gammaln(total) - gammaln(inner) - gammaln(np.maximum(total - inner, 0) + 1) - total * math.log(2)
    fewer = np.where((least <= 0) | (total < 1), 1.0, np.where(least > total, 0.0, tail + np.exp(last)))
    high, under = (up - down) * total / 2 * fewer, offset * tail
    worth = np.maximum(high + under, 0) + _SHARE * (high + np.abs(under))
    error = 1 + 1e-9 + 1e-14 * count * math.log(count + 2)
    found = float((weights * worth).sum()) / count * error + up * (missed + dropped * error)
    return min(gain, Fraction(found))


def _log_binomial(gammaln: Any, count: int, copies: Floats, chance: float) -> Floats:
    """Return the logarithms of the chances of these numbers of copies."""
    if chance >= 1:
        return np.where(copies == count, 0.0, -np.inf)
    ways = gammaln(count + 1) - gammaln(copies + 1) - gammaln(count - copies + 1)
    found: Floats = ways + copies * math.log(chance) + (count - copies) * math.log1p(-chance)
    return found


def _groups(betainc: Any, copies: Floats, count: int, chance: float, idle: float) -> tuple[Floats, Floats]:
    """Return the smallest number of neutral reports of each group, and the chance of each group given the copies."""
    if not chance or not idle:
        return np.zeros((1, 1)), np.ones((len(copies), 1))
    left = count - copies
    middle = chance * float(left.mean())
    reach = 9 * math.sqrt(count * chance * max(1 - chance, 0)) + chance * float(np.ptp(copies)) / 2 + 1
    edges = np.unique(np.rint(np.linspace(max(middle - reach, 1), max(min(middle + reach, count), 1), _GROUPS)))
    if count <= 4 * _GROUPS:
        edges = np.arange(1, count + 1, dtype=np.float64)
    # The chance of at least so many neutral ones.
    beyond = np.where(
        edges > left[:, None], 0.0, betainc(edges, np.maximum(left[:, None] - edges, 0) + 1, min(chance, 1.0))
    )
    falling = np.concatenate([np.ones((len(copies), 1)), beyond, np.zeros((len(copies), 1))], axis=1)
    return np.concatenate([[0.0], edges])[None, :], (1 + _SHARE) * -np.diff(falling, axis=1) + _SHARE * falling[:, 1:]
