"""The interval of an accuracy that was measured on a sample, with noise: for noise and sampling together.

Of n rows held out, r are predicted right and w = n - r wrong. Released are R = r + Z and W = w + Z', with independent
noise of variance v each. The accuracy p of the model on the population, of which the rows are a sample, is what r/n is
in the mean. So R - p (R + W) has mean 0 and variance n p (1 - p) + v ((1 - p)^2 + p^2), and the interval is all p with

    (R - p m)^2 <= z^2 (m p (1 - p) + v ((1 - p)^2 + p^2)),    m = R + W,

the score interval of Wilson with noise in numerator and denominator. Where n is public and only R is released, this is
(R/n - p)^2 <= z^2 (p (1 - p) / n + v / n^2). It is a quadratic inequality in p, and holds p = R/m wherever that is
a share. Wilson's interval of R/m alone ignores the noise, and covers as little as .16 of the time.

**People.** Rows of one person may be alike. Where up to k rows of one person count, the variance of r is at most k
times that of independent rows, so that n rows count as n/k people.

Source: Probable Inference, the Law of Succession, and Statistical Inference (Wilson 1927), with the variance of noise
added as for a ratio by Some Problems in Interval Estimation (Fieller 1954).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray


def accuracy_interval(
    right: Any, wrong: Any, variance: float, *, alike: int = 1, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper ends of an accuracy on the population, from noisy counts.

    Args:
        right: the noisy number of rows that are predicted right, or an array of them.
        wrong: that of the others.
        variance: of the noise of each.
        alike: how many rows of one person count.
        confidence: the level of the interval.

    >>> low, high = accuracy_interval(80.0, 20.0, 0.0)
    >>> round(float(low), 4), round(float(high), 4)
    (0.7112, 0.8666)
    >>> low, high = accuracy_interval(-3.0, 1.0, 50.0)
    >>> float(low), float(high)
    (0.0, 1.0)

    """
    right, wrong = np.asarray(right, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    many, squared = right + wrong, NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    sampled, noise = squared * alike * np.maximum(many, 0.0), squared * variance
    # a p^2 - 2 b p + c <= 0.
    a = many * many + sampled - 2 * noise
    b = right * many + sampled / 2 - noise
    c = right * right - noise
    inside = b * b - a * c
    # With so much noise that the parabola opens downwards, or a sample of nothing, any share is possible.
    is_known = (a > 0) & (many > 0) & (inside >= 0)
    root, safe = np.sqrt(np.where(is_known, inside, 0.0)), np.where(is_known, a, 1.0)
    low = np.where(is_known, np.clip((b - root) / safe, 0.0, 1.0), 0.0)
    high = np.where(is_known, np.clip((b + root) / safe, 0.0, 1.0), 1.0)
    return low, high
