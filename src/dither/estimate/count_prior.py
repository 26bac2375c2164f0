"""Counts under noise, fitted to how counts of the same kind are distributed: empirical Bayes.

A table of many small counts, most of them 0, was released with noise. In the groups of a public or released labelling
the distribution of the true counts is estimated by maximum likelihood over all distributions on a grid of values
(Kiefer and Wolfowitz 1956, by expectation maximisation), and every count becomes the median of its posterior, which
errs least in absolute value, or the mean. A count between two values of the grid that are farther apart than the noise
reaches stays as it was released. Cost: distinct noisy values times grid values, two hundred times a group.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.core.purse import CountNoise
from dither.mechanisms.geometric import Geometric

Floats = NDArray[np.float64]

_ROUNDS: Final = 200
#: All values up to here are on the grid; then they grow by a fixed factor.
_EACH: Final = 30
_STEPS_PER_TENFOLD: Final = 35


def fitted_counts(noisy: Floats, groups: NDArray[np.int64], noise: CountNoise) -> tuple[Floats, Floats]:
    """Return the posterior medians and means of counts, each group having a prior of its own.

    Args:
        noisy: released counts, of one axis.
        groups: a label for each.
        noise: that was added to each.

    >>> noisy = np.array([0.0, 1.0, -2.0, 0.0, 50.0, 0.0, 1.0])
    >>> medians = fitted_counts(noisy, np.zeros(7, dtype=np.int64), Geometric(scale=1))[0]
    >>> np.flatnonzero(medians).tolist(), bool(abs(medians[4] - 50) < 3)
    ([4], True)

    """
    medians, means = np.zeros_like(noisy), np.zeros_like(noisy)
    for group in np.unique(groups):
        here = groups == group
        medians[here], means[here] = _fitted(noisy[here], noise)
    return medians, means


def _fitted(noisy: Floats, noise: CountNoise) -> tuple[Floats, Floats]:
    seen, places, often = np.unique(noisy, return_inverse=True, return_counts=True)
    values = _grid(float(seen[-1]))
    likelihood = np.exp(_log_chance(seen[:, None] - values[None, :], noise))
    weights = np.full(values.size, 1 / values.size)
    share = often / often.sum()
    for _ in range(_ROUNDS):
        weights = share @ _posterior(likelihood, weights)
    posterior = _posterior(likelihood, weights)
    below = np.minimum((np.cumsum(posterior, axis=1) < 0.5).sum(axis=1), values.size - 1)
    above = np.clip(np.searchsorted(values, seen), 1, values.size - 1)
    is_near = (seen >= _EACH) & (values[above] - values[above - 1] > _spread(noise))
    medians, means = (np.where(is_near, seen, fit) for fit in (values[below], posterior @ values))
    return medians[places], means[places]


def _posterior(likelihood: Floats, weights: Floats) -> Floats:
    joint = likelihood * weights
    total = joint.sum(axis=1, keepdims=True)
    # A value so far from the grid that nothing explains it is explained by all alike.
    even = np.full_like(joint, 1 / joint.shape[1])
    return np.asarray(np.divide(joint, total, out=even, where=total > 0), dtype=np.float64)


def _spread(noise: CountNoise) -> float:
    """Return about how far noise reaches: a standard deviation, of which a geometric one has the square root of 2."""
    return math.sqrt(2) * float(noise.scale) if isinstance(noise, Geometric) else float(noise.sigma)


def _grid(largest: float) -> Floats:
    """Return the values that a count may have: all small ones, then some."""
    top = max(largest, 1.0)
    each = np.arange(min(_EACH, int(top) + 2), dtype=np.float64)
    if top < _EACH:
        return each
    steps = max(2, round(np.log10(top / _EACH) * _STEPS_PER_TENFOLD) + 2)
    return np.unique(np.concatenate([each, np.round(np.geomspace(_EACH, top + 1, steps))]))


def _log_chance(off: Floats, noise: CountNoise) -> Floats:
    """Return the logarithm of the chance of noise, up to a constant, and less its largest along the grid."""
    if isinstance(noise, Geometric):
        found = -np.abs(off) / float(noise.scale)
    else:
        found = -(off**2) / (2 * float(noise.sigma) ** 2)
    return np.asarray(found - found.max(axis=1, keepdims=True), dtype=np.float64)
