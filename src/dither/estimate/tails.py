"""The reach of a linear combination of independent noise, from its variance alone.

Least-squares estimates are such combinations, of hundreds of draws with different weights. For them:

- *Laplace*, discrete or not. Let Z = sum a_i X_i, X_i of scale s_i, and B^2 = sum (a_i s_i)^2, half the variance for
  continuous noise. Discrete Laplace noise has E[e^(tX)] = 1 / (1 - sinh(t/2)^2 / sinh(1/(2s))^2), which is at most
  1 / (1 - (ts)^2), the value for continuous noise, as sinh is convex. So ln E[e^(tZ)] is at most
  -sum ln(1 - t^2 (a_i s_i)^2). That is convex in the squares (a_i s_i)^2, whose sum is B^2: it is largest where one of
  them is all of B^2. Hence E[e^(tZ)] <= 1 / (1 - t^2 B^2), and Chernoff's bound is that of one Laplace variable.
- *Gaussian*, discrete or not: E[e^(tZ)] <= e^(t^2 V / 2) with V = sum (a_i sigma_i)^2 (Canonne, Kamath and Steinke
  2020, section 2.3, for the discrete law).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from dither.errors import InvalidParameter

# Widens bounds by far more than the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9
#: Numbers of equal weights for which reaches are computed, and pieces of the sum from above.
_EQUAL: Final = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256)
_PIECES: Final = 2000


def laplace_combination_reach(variance: float, failure: float, terms: float = 1.0) -> float:
    """Return x with P[|Z| > x] <= failure for a combination of Laplace noise.

    Args:
        variance: that of the same combination of continuous Laplace noise: sum of 2 (a_i s_i)^2.
        failure: the probability to stay below.
        terms: k: no summand has more than 1 / k of that variance; 1 where nothing is known. By convexity again,
            E[e^(tZ)] is then at most (1 - t^2 B^2 / k)^-k.

    >>> round(laplace_combination_reach(2.0, 0.05), 3)
    5.847

    """
    wanted = math.log(2 / _checked(variance, failure))
    count = max(terms, 1.0)
    # With M = B / sqrt(k), tau = t M and y = x / M, -tau y - k ln(1 - tau^2) is least at
    # tau = (sqrt(k^2 + y^2) - k) / y.
    low, high = 0.0, 2.0
    while _exponent(high, count) < wanted:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _exponent(middle, count) >= wanted else (middle, high)
    return math.sqrt(variance / (2 * count)) * high * _OUTWARDS


def many_laplace_reach(variance: float, failure: float, *, terms: float, narrowest: float) -> float:
    """Return x with P[|Z| > x] <= failure for a combination of many discrete Laplace variables, none of which is large.

    A Laplace variable of scale s is s sqrt(2 E) N, with E exponential and N normal. So sum a_i L_i is normal given its
    variance V = sum 2 (a_i s_i)^2 E_i, and P[|sum| > x] <= P[|N| > x / sqrt(u)] + P[V > u]. Where no summand has more
    than 1 / k of the variance v, ln E[e^(tV)] <= -k ln(1 - t v / k), by convexity as above, and Chernoff's bound is
    P[V > (1 + h) v] <= e^(-k (h - ln(1 + h))). Discrete noise X is the difference of two rounded-down exponentials,
    whose fractions are independent of it: X + R = L, where R is the difference of two variables between 0 and 1, is
    independent of X and has mean 0. So |sum a_i X_i| is at most |sum a_i L_i| + |sum a_i R_i|; and Hoeffding's lemma
    for each fraction gives P[|sum a_i R_i| > r] <= 2 e^(-r^2 / sum a_i^2). The failure is divided among the three.

    A second bound is less where it counts. Y = sum a_i R_i is symmetric and independent of Z = sum a_i X_i. Where
    |Z| > x, also |Z + Y| > x - r, unless Y is of the other sign and beyond r. So P[|Z| > x] is at most
    P[|Z + Y| > x - r] / (1 - P[|Y| > r] / 2). The first is bounded by ``mixture_reach``. A fraction of an exponential
    variable has a variance of at most 1/12, so that P[|Y| > r] <= sum a_i^2 / (6 r^2), by Chebyshev.

    Args:
        variance: that of the same combination of continuous Laplace noise: sum of 2 (a_i s_i)^2.
        failure: the probability to stay below.
        terms: k: the variance divided by the largest 2 (a_i s_i)^2; at least 1.
        narrowest: the least of the scales.

    >>> round(many_laplace_reach(1.0, 0.05, terms=1e9, narrowest=1e9), 2)
    1.96

    """
    _checked(variance, failure)
    if not (terms > 0 and narrowest > 0):
        raise InvalidParameter("terms", terms, "a number above 0, and scales above 0")
    found, squares = laplace_combination_reach(variance, failure, terms), variance / (2 * narrowest**2)
    for others in (1e-3, 1e-2, 0.04, 0.1, 0.25):
        wide = _gamma_excess(max(terms, 1e-9), math.log(2 / (others * failure)))
        normal = -NormalDist().inv_cdf((1 - others) * failure / 2)
        fractions = math.sqrt(squares * math.log(4 / (others * failure)))
        found = min(found, math.sqrt(variance * (1 + wide)) * normal + fractions)
    length = math.sqrt(squares)
    for far in (0.0, 0.5, 0.6, 0.75, 1.0, 1.5, 2.5):
        beyond = min(1.0, 2 * math.exp(-far * far), 1 / (6 * far * far) if far else 1.0)
        mixed = mixture_reach((1 - beyond / 2) * failure, terms)
        found = min(found, math.sqrt(variance) * mixed + far * length)
    return found * _OUTWARDS


def mixture_reach(failure: float, terms: float) -> float:
    """Return c with P[|Z| > c] <= failure for a combination Z of continuous Laplace variables, of variance 1.

    Given V = sum b_i E_i, with exponential E_i and weights b_i that add up to 1, Z is normal of variance V, so that
    P[|Z| > c] = E[g(V)] with g(v) = 2 (1 - Phi(c / sqrt(v))). g is convex up to v = c^2 / 3 and concave from there on.
    Let h be g up to there, and its tangent afterwards: it is convex, and nowhere below g. So E[h(V)] is a convex and
    symmetric function of the weights, and largest where they are most unequal. If none is above 1 / m, for a whole m,
    these are m equal ones, which majorise all others: E[h(V)] is at most E[h(G)], where G is the mean of m exponential
    variables. E[h(G)] is added up from above: g rises.

    Args:
        failure: the probability to stay below.
        terms: no weight is above 1 over this; at least 1.

    >>> round(mixture_reach(0.05, 1), 2), round(mixture_reach(0.05, 1e6), 2)
    (2.16, 1.96)

    """
    return _mixture_reach(failure, max(many for many in _EQUAL if many <= max(terms, 1)))


@lru_cache(maxsize=256)
def _mixture_reach(failure: float, equal: int) -> float:
    low, high = 0.0, 2.0
    while _mixture_tail(high, equal) > failure:
        high *= 2
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _mixture_tail(middle, equal) <= failure else (middle, high)
    return high


def _mixture_tail(reach: float, equal: int) -> float:
    """Return an upper bound of E[h(G)]."""
    from scipy.special import erfc, gammaincc

    turn = reach * reach / 3
    ends = np.linspace(0, turn, _PIECES + 1)
    above = gammaincc(equal, equal * ends)
    tails = erfc(reach / np.sqrt(2 * ends[1:]))
    below = float(tails @ (above[:-1] - above[1:]))
    # The tangent at the turn, where reach / sqrt(v) is the root of 3.
    slope = math.exp(-1.5) / math.sqrt(2 * math.pi) * math.sqrt(3) / turn
    beyond = float(gammaincc(equal + 1, equal * turn)) - turn * float(above[-1])
    return (below + math.erfc(math.sqrt(1.5)) * float(above[-1]) + slope * beyond) * _OUTWARDS


def _gamma_excess(terms: float, wanted: float) -> float:
    """Return h with terms * (h - ln(1 + h)) at least ``wanted``."""
    low, high = 0.0, 1.0
    while terms * (high - math.log1p(high)) < wanted:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if terms * (middle - math.log1p(middle)) >= wanted else (middle, high)
    return high


def gaussian_combination_reach(variance: float, failure: float) -> float:
    """Return x with P[|Z| > x] <= failure for a combination of Gaussian noise of that variance.

    >>> round(gaussian_combination_reach(1.0, 0.05), 3)
    2.716
    """
    return math.sqrt(2 * variance * math.log(2 / _checked(variance, failure))) * _OUTWARDS


def _exponent(y: float, count: float) -> float:
    tau = y / (math.hypot(count, y) + count)
    return tau * y + count * math.log1p(-tau * tau)


def _checked(variance: float, failure: float) -> float:
    if not (0 <= variance < math.inf):
        raise InvalidParameter("variance", variance, "a number of at least 0")
    if not 0 < failure <= 1:
        raise InvalidParameter("failure", failure, "a probability above 0")
    return failure
