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
from statistics import NormalDist

from dither.errors import InvalidParameter

# Widens bounds by far more than the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9


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
    found = laplace_combination_reach(variance, failure, terms)
    for others in (1e-3, 1e-2, 0.04, 0.1, 0.25):
        wide = _gamma_excess(max(terms, 1e-9), math.log(2 / (others * failure)))
        normal = -NormalDist().inv_cdf((1 - others) * failure / 2)
        squares = variance / (2 * narrowest**2)
        fractions = math.sqrt(squares * math.log(4 / (others * failure)))
        found = min(found, math.sqrt(variance * (1 + wide)) * normal + fractions)
    return found * _OUTWARDS


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
