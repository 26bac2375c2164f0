"""Questions about accuracy, answered from a law: how useful, in which order, how many, how much epsilon.

All probabilities are over the noise, with the data held fixed. None is a probability about the data given the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from dither.errors import InvalidParameter
from dither.estimate.accuracy.law import Symmetric, failure_share
from dither.estimate.accuracy.sums import mean
from dither.exact import Number, exact, log_up, non_negative, positive, sqrt_up, whole

MOST_ANSWERS = 10**12
_MOST_COUNT = 2**26
_SLACK = 1 + 1e-8
_PRECISION = Fraction(1, 2**30)


def failure_probability(law: Symmetric, alpha: Number, *, answers: int = 1, offset: Number = 0) -> float:
    """Return beta: the probability that some of ``answers`` independent answers has an error above ``alpha``.

    ``offset`` is added to the noise: a guess that far from the noisy answer is off by the noise plus the offset.

    >>> from dither.estimate.accuracy import LaplaceLaw
    >>> round(failure_probability(LaplaceLaw(scale=10), 30), 4)
    0.0498
    >>> round(failure_probability(LaplaceLaw(scale=10), 30, answers=100), 4)
    0.9939

    """
    reach, shift = non_negative("alpha", alpha), exact("offset", offset)
    # P[X + shift > reach] + P[X + shift < -reach], the latter P[X > reach + shift] by symmetry.
    single = min(1.0, law.tail(reach - shift) + law.tail(reach + shift))
    number = whole("answers", answers, least=1, most=MOST_ANSWERS)
    return -math.expm1(number * math.log1p(-single)) if single < 1 else 1.0


def error_bound(law: Symmetric, beta: Number, *, answers: int = 1) -> float:
    """Return alpha, rounded outwards: all of ``answers`` independent answers are within alpha, up to probability beta.

    >>> from dither.estimate.accuracy import LaplaceLaw
    >>> round(error_bound(LaplaceLaw(scale=10), "0.05", answers=100), 2)
    75.76

    """
    share = failure_share("beta", beta)
    number = whole("answers", answers, least=1, most=MOST_ANSWERS)
    return law.reach(share if number == 1 else Fraction(-math.expm1(math.log1p(-float(share)) / number)))


def is_useful(law: Symmetric, alpha: Number, beta: Number, *, answers: int = 1) -> bool:
    """Return whether all answers are within alpha with probability at least 1 - beta: (alpha, beta)-usefulness."""
    return _SLACK * failure_probability(law, alpha, answers=answers) <= failure_share("beta", beta)


def order_probability(law: Symmetric, gap: Number) -> float:
    """Return the probability that two noisy numbers are in the right order; ``law`` is that of their difference.

    Before the release: the true numbers are ``gap`` apart, and a tie counts as wrong. After it: the noisy numbers are
    ``gap`` apart, and the result is the confidence in their order. Had the true numbers been equal or in the other
    order, so large a gap would have shown up with at most the remaining probability.

    >>> from dither.estimate.accuracy import LaplaceLaw, difference
    >>> noise = LaplaceLaw(scale=10)
    >>> round(order_probability(difference(noise, noise), 30), 4)
    0.9378

    """
    return law.tail(-non_negative("gap", gap))


class SmallValues(NamedTuple):
    """How noise compares with values of size c: the share of noise within c, and the share beyond several times c."""

    within: float
    beyond: float


def small_values(law: Symmetric, c: Number, *, times: Number = 5) -> SmallValues:
    """Return the share of noise within ``c``, and the share beyond ``times`` c, which drowns values of size c.

    >>> from dither.estimate.accuracy import LaplaceLaw
    >>> within, beyond = small_values(LaplaceLaw(scale=10), 1)
    >>> round(within, 3), round(beyond, 3)
    (0.095, 0.607)

    """
    size = positive("c", c)
    return SmallValues(law.within(size), law.beyond(size * positive("times", times)))


def least_count(law: Symmetric, alpha: Number, beta: Number) -> int:
    """Return the least n such that the mean of n noisy values is within alpha of the true mean, up to beta.

    For continuous noise every larger n does as well. On the integers n does, and n - 1 does not.

    >>> from dither.estimate.accuracy import LaplaceLaw
    >>> least_count(LaplaceLaw(scale=10), 1, "0.05")
    769

    """
    failure_share("beta", beta)
    positive("alpha", alpha)

    def does(number: int) -> bool:
        return is_useful(mean(law, number), alpha, beta)

    low, high = 0, 1
    while not does(high):
        low, high = high, 2 * high
        if not high <= _MOST_COUNT:
            raise InvalidParameter("alpha", alpha, f"large enough for a mean of at most {_MOST_COUNT} values")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle) else (middle, high)
    return high


def largest_scale(build: Callable[[Fraction], Symmetric], alpha: Number, beta: Number) -> Fraction:
    """Return the largest scale, to one part in 10^7 and rounded down, at which the noise is (alpha, beta)-useful.

    Args:
        build: returns the law of the error for a scale: a single noise, a sum, a mean.
        alpha: how far off the answer may be.
        beta: the probability with which it may be farther off.

    >>> from dither.estimate.accuracy import LaplaceLaw, mean
    >>> round(float(largest_scale(lambda scale: mean(LaplaceLaw(scale), 100), 1, "0.05")), 4)
    3.6039

    """
    wanted, share = positive("alpha", alpha), failure_share("beta", beta)
    first = build(wanted)
    if not first.is_lattice:
        # Continuous noise grows in proportion to its scale.
        return wanted * wanted / Fraction(first.reach(share))
    low, high = wanted, wanted
    while is_useful(build(high), wanted, share):
        low, high = high, 2 * high
    while not is_useful(build(low), wanted, share):
        low, high = low / 2, low
    while high - low > low * _PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if is_useful(build(middle), wanted, share) else (low, middle)
    return low


def least_epsilon(
    build: Callable[[Fraction], Symmetric], alpha: Number, beta: Number, *, sensitivity: Number
) -> Fraction:
    """Return the least epsilon, rounded up, whose noise of scale sensitivity / epsilon is (alpha, beta)-useful.

    >>> from dither.estimate.accuracy import LaplaceLaw
    >>> round(float(least_epsilon(LaplaceLaw, 10, "0.05", sensitivity=1)), 4)
    0.2996

    """
    return positive("sensitivity", sensitivity) / largest_scale(build, alpha, beta)


def hoeffding_count(alpha: Number, beta: Number, *, width: Number) -> int:
    """Return the sample size whose mean is within alpha of the population's, up to beta.

    Every row lies in an interval of that width: n = width^2 ln(2 / beta) / (2 alpha^2), with or without replacement
    (Hoeffding 1963). The sampling error only; noise comes on top, with a share of beta of its own.

    >>> hoeffding_count("0.1", "0.1", width=1)
    150

    """
    ratio = positive("width", width) / positive("alpha", alpha)
    return max(1, math.ceil(ratio * ratio * log_up(2 / failure_share("beta", beta)) / 2))


def chernoff_count(alpha: Number, beta: Number, *, largest_share: Number = 1) -> int:
    """Return the sample size whose share of ones is within alpha of the population's, up to beta, by Chernoff's bound.

    Every row is 0 or 1, and the true share s is publicly known to be at most ``largest_share``: n = (2 s + alpha)
    ln(2 / beta) / alpha^2. With no such knowledge ``hoeffding_count`` needs fewer rows; with a share of at most 1/4 or
    so this needs fewer.

    >>> chernoff_count("0.1", "0.1"), chernoff_count("0.01", "0.1", largest_share="0.05")
    (630, 3296)

    """
    width, share = positive("alpha", alpha), positive("largest_share", largest_share, at_most=1)
    return max(1, math.ceil((2 * share + width) / width**2 * log_up(2 / failure_share("beta", beta))))


def gupta_roth_ullman_bound(scale: Number, count: int, beta: Number) -> float:
    """Return a bound that the sum of ``count`` Laplace variables exceeds with probability at most beta, in closed form.

    scale * 6 ln(1 / beta), or scale * sqrt(6 count ln(1 / beta)) once count is at least 6 ln(1 / beta), rounded up
    (Gupta, Roth and Ullman 2012). It is there to compare with: ``total(LaplaceLaw(scale), count).exceeded(beta)`` is
    exact, and smaller.

    >>> round(gupta_roth_ullman_bound(1, 200, "0.1"), 1)
    52.6

    """
    size, number = positive("scale", scale), whole("count", count, least=1)
    surprise = 6 * log_up(1 / failure_share("beta", beta))
    reach = surprise if number < surprise else sqrt_up(number * surprise)
    return math.nextafter(float(size * reach), math.inf)
