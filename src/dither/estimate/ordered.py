"""The posterior mean of an ordered sequence, given noisy counts that are known to be in order.

Model: x_1 <= x_2 <= ... <= x_n, all sequences of integers from 0 to a public top equally likely a priori, and
y_i = x_i + independent noise of a known law. A sequence in order is a Markov chain, so one pass forwards and one
backwards give the exact posterior of every x_i: forwards a_i(v) = p(y_i | v) sum_{u <= v} a_{i-1}(u), backwards alike.
Cumulative sums make that O(n * top) (Information Preservation in Statistical Privacy and Bayesian Estimation of
Unattributed Histograms, Lin and Kifer 2013, section 5). The posterior mean has the least mean squared error under that
prior; unlike the least-squares fit it knows the law of the noise and that no count is below 0.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector

_MOST_ENTRIES = 2**26

Floats = NDArray[np.float64]


def posterior_of_sorted(
    noisy: ArrayLike, log_likelihood: Callable[[Floats], Floats], top: int
) -> tuple[Floats, Floats]:
    """Return the posterior mean and variance of every entry of a sequence in increasing order.

    Args:
        noisy: the released numbers, in the order of the sequence.
        log_likelihood: the logarithm of the probability of noise, up to a constant, for an array of noise values.
        top: no entry is above it; public.

    >>> mean, variance = posterior_of_sorted([1.0, 0.0], lambda noise: -np.abs(noise) * 50, 1)
    >>> mean.round(3).tolist()  # (0, 0), (1, 1) and (0, 1) with one, one and two errors
    [0.5, 0.5]

    """
    given = finite_vector("noisy", noisy)
    if top < 0 or given.size * (top + 1) > _MOST_ENTRIES:
        raise InvalidParameter("top", top, f"from 0 to 2^26 / {max(1, given.size)} - 1")
    values = np.arange(top + 1, dtype=np.float64)
    if given.size == 0:
        return given, given
    forwards = np.empty((given.size, values.size))
    before = np.ones(values.size)
    for place, seen in enumerate(given.tolist()):
        here = _likelihood(log_likelihood, seen - values) * before
        forwards[place] = here / max(here.sum(), 1e-300)
        before = np.cumsum(forwards[place])
    mean, variance = np.empty(given.size), np.empty(given.size)
    after = np.ones(values.size)
    for place in range(given.size - 1, -1, -1):
        weights = forwards[place] * after
        weights /= max(weights.sum(), 1e-300)
        mean[place] = weights @ values
        variance[place] = weights @ (values - mean[place]) ** 2
        here = _likelihood(log_likelihood, given[place] - values) * after
        after = np.cumsum(here[::-1] / max(here.sum(), 1e-300))[::-1]
    return mean, variance


def _likelihood(log_likelihood: Callable[[Floats], Floats], noise: Floats) -> Floats:
    exponents = log_likelihood(noise)
    # The floor keeps a value possible that underflows beside a better one, so that no pass dies out.
    floored: Floats = np.maximum(np.exp(exponents - exponents.max()), 1e-250)
    return floored
