"""Exact laws of integer noise, as rationals.

Discrete Laplace noise of scale 1 / ln(1 / r) has probabilities proportional to r^|k|. For a rational r these are
rationals, and a step of one costs ln(1 / r): the claims below are stated as rationals just above such logarithms, so
that to refute them is, if anything, harder than to refute what was printed.
"""

from __future__ import annotations

from fractions import Fraction

from dither.exact import log_up
from dither.privacy import PureDP

HALF = Fraction(1, 2)


def chance(ratio: Fraction, at: int) -> Fraction:
    """Return the probability that the noise equals ``at``.

    >>> chance(HALF, 0), chance(HALF, -2)
    (Fraction(1, 3), Fraction(1, 12))
    """
    return (1 - ratio) / (1 + ratio) * ratio ** abs(at)


def at_least(ratio: Fraction, least: int) -> Fraction:
    """Return the probability that the noise is at least this large.

    >>> at_least(HALF, 1), at_least(HALF, 0)
    (Fraction(1, 3), Fraction(2, 3))
    """
    return ratio**least / (1 + ratio) if least > 0 else 1 - at_least(ratio, 1 - least)


def below(ratio: Fraction, limit: int) -> Fraction:
    """Return the probability that the noise is below a limit."""
    return 1 - at_least(ratio, limit)


def claimed(odds: int | Fraction) -> PureDP:
    """Return the pure promise that no event is more than this many times likelier, its epsilon rounded up.

    >>> 0.6931 < claimed(2).epsilon < 0.6932
    True
    """
    return PureDP(log_up(Fraction(odds)))
