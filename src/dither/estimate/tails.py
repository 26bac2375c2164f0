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

from dither.errors import InvalidParameter

# Widens bounds by far more than the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9


def laplace_combination_reach(variance: float, failure: float) -> float:
    """Return x with P[|Z| > x] <= failure for a combination of Laplace noise.

    Args:
        variance: that of the same combination of continuous Laplace noise: sum of 2 (a_i s_i)^2.
        failure: the probability to stay below.

    >>> round(laplace_combination_reach(2.0, 0.05), 3)
    5.847

    """
    wanted = math.log(2 / _checked(variance, failure))
    # With tau = t B and y = x / B, -tau y - ln(1 - tau^2) is least at tau = (sqrt(1 + y^2) - 1) / y.
    low, high = 0.0, 2.0
    while _exponent(high) < wanted:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _exponent(middle) >= wanted else (middle, high)
    return math.sqrt(variance / 2) * high * _OUTWARDS


def gaussian_combination_reach(variance: float, failure: float) -> float:
    """Return x with P[|Z| > x] <= failure for a combination of Gaussian noise of that variance.

    >>> round(gaussian_combination_reach(1.0, 0.05), 3)
    2.716
    """
    return math.sqrt(2 * variance * math.log(2 / _checked(variance, failure))) * _OUTWARDS


def _exponent(y: float) -> float:
    tau = y / (math.sqrt(1 + y * y) + 1)
    return tau * y + math.log1p(-tau * tau)


def _checked(variance: float, failure: float) -> float:
    if not (0 <= variance < math.inf):
        raise InvalidParameter("variance", variance, "a number of at least 0")
    if not 0 < failure <= 1:
        raise InvalidParameter("failure", failure, "a probability above 0")
    return failure
