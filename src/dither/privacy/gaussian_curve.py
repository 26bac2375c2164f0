"""The exact loss curve of Gaussian noise, and the least noise for an (epsilon, delta).

Balle and Wang (2018): a Gaussian mechanism is (epsilon, delta)-DP exactly when delta is at least Phi(m/2 - epsilon/m) -
e^epsilon * Phi(-m/2 - epsilon/m) with m = sensitivity / sigma. All figures are rounded towards more loss from rigorous
bounds. ``sensitivity`` is how far the value moves in Euclidean length when one unit of the data changes: a replaced
record moves a sum by up to *twice* the length of one record.

Several Gaussian releases fixed in advance are one release with 1 / sigma^2 added up, so the same functions compose
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from dither.exact import Number, log_up, non_negative, positive, probability, round_up, sqrt_up
from dither.privacy.normal import hockey_stick

_PRECISION = Fraction(1, 2**40)
#: How far from what floats say the truth is looked for first.
_WIDTHS = (Fraction(1, 2**38), Fraction(1, 2**24))


def analytic_delta(sigma: Number, *, sensitivity: Number, epsilon: Number) -> Fraction:
    """Return the least delta at that epsilon, rounded up.

    >>> float(analytic_delta(2, sensitivity=1, epsilon=1))
    0.006829...
    """
    ratio = positive("sensitivity", sensitivity) / positive("sigma", sigma)
    return _delta(ratio, non_negative("epsilon", epsilon))


def analytic_epsilon(sigma: Number, *, sensitivity: Number, delta: Number) -> Fraction:
    """Return the least epsilon at that delta, rounded up by at most one part in 10^12.

    >>> [round(float(analytic_epsilon(2, sensitivity=s, delta="1e-5")), 2) for s in (1, 2)]
    [1.99, 4.38]
    """
    ratio = positive("sensitivity", sensitivity) / positive("sigma", sigma)
    target = probability("delta", delta, open_below=True)
    if _delta(ratio, Fraction(0)) <= target:
        return Fraction(0)
    # The usual tail bound is enough: the loss is normal with mean m^2 / 2 and deviation m.
    enough = ratio * ratio / 2 + ratio * sqrt_up(2 * log_up(1 / target))
    guess = _guess(lambda epsilon: _curve(float(ratio), epsilon), target, enough)
    return _least(lambda epsilon: _delta(ratio, epsilon) <= target, enough, guess)


def analytic_sigma(epsilon: Number, delta: Number, *, sensitivity: Number) -> Fraction:
    """Return the least sigma that is (epsilon, delta)-DP, rounded up by at most one part in 10^12.

    >>> round(float(analytic_sigma(1, "1e-5", sensitivity=1)), 4)
    3.7306
    """
    distance, target = positive("sensitivity", sensitivity), probability("delta", delta, open_below=True)
    budget = non_negative("epsilon", epsilon)
    # At m = delta the total variation, which is below m / 2.5, is within delta whatever epsilon is.
    guess = _guess(lambda sigma: _curve(1 / sigma, float(budget)), target, 1 / target)
    return distance * _least(lambda sigma: _delta(1 / sigma, budget) <= target, 1 / target, guess)


def classical_sigma(epsilon: Number, delta: Number, *, sensitivity: Number) -> Fraction:
    """Return sensitivity * sqrt(2 ln(1.25 / delta)) / epsilon: the textbook formula, for comparison only.

    **Unsound above epsilon 1, where it has no proof.** At delta = 1e-5 the true delta is still 8.0e-6 at epsilon 8 and
    already 1.36e-5 at epsilon 9. Nothing in this package uses it; ``analytic_sigma`` is what to use.

    >>> sigma = classical_sigma(9, "1e-5", sensitivity=1)
    >>> float(analytic_delta(sigma, sensitivity=1, epsilon=9))
    1.35...e-05
    """
    distance, budget = positive("sensitivity", sensitivity), positive("epsilon", epsilon)
    spread = 2 * log_up(Fraction(5, 4) / probability("delta", delta, open_below=True))
    return round_up(distance * sqrt_up(spread) / budget)


def _delta(ratio: Fraction, epsilon: Fraction) -> Fraction:
    return round_up(Fraction(max(Decimal(0), hockey_stick(ratio, epsilon)[1])))


def _curve(ratio: float, epsilon: float) -> float:
    """Return delta in floats, only used as a guess."""
    near, far = epsilon / ratio - ratio / 2, epsilon / ratio + ratio / 2
    return (math.erfc(near / math.sqrt(2)) - math.exp(epsilon) * math.erfc(far / math.sqrt(2))) / 2


def _guess(delta: Callable[[float], float], target: Fraction, enough: Fraction) -> Fraction | None:
    """Return approximately where a falling delta reaches the target, or None if floats cannot tell."""
    try:
        low, high, goal = 0.0, float(enough), float(target)
        while high - low > 1e-14 * high:
            middle = (low + high) / 2 if 2 * low > high else math.sqrt(max(low, high * 1e-6) * high)
            low, high = (low, middle) if delta(middle) <= goal else (middle, high)
    except (OverflowError, ZeroDivisionError):
        return None
    return Fraction(high) if 0 < high < math.inf else None


def _least(suffices: Callable[[Fraction], bool], enough: Fraction, guess: Fraction | None) -> Fraction:
    """Return a number that suffices, next to one that does not; all larger ones suffice.

    Numbers close to ``guess`` on both sides are tried first. That spares most of the steps and cannot change what is
    found: what suffices decides for all larger numbers, and what does not for all smaller ones.
    """
    most_failed, least_passed = Fraction(0), enough

    def passes(number: Fraction) -> bool:
        nonlocal most_failed, least_passed
        if most_failed < number < least_passed:
            if suffices(number):
                least_passed = number
            else:
                most_failed = number
        return number >= least_passed

    if guess is not None:
        for width in _WIDTHS:
            if passes(guess * (1 + width)) and not passes(guess * (1 - width)):
                break
    high = round_up(enough, bits=64)
    low = high / 2
    while passes(low):
        low, high = low / 2, low
    while high - low > low * _PRECISION:
        middle = round_up((low + high) / 2, bits=64)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high
