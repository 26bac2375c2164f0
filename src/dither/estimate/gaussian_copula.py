"""Gaussian copulas of ordered values: joint distributions of two values that come from correlated normal variables.

An ordered value with probabilities p_0, p_1, ... is a normal variable that is cut where its distribution function
reaches p_0, p_0 + p_1, and so on. By Mehler's formula the density of two standard normal variables of correlation r is
phi(x) phi(y) sum_k r^k h_k(x) h_k(y), with the Hermite polynomials h_k of unit length under phi; so the probability of
two values, and the mean product of two scores of them, is a power series in r whose coefficients are products of one
number for each value. The integral of h_k phi over (a, b) is (h_(k-1)(a) phi(a) - h_(k-1)(b) phi(b)) / sqrt(k).

For scores that rise with the values the mean product rises with r (Slepian's inequality), so the correlation that gives
a wanted mean product is found by halving.

Post-processing only: laws and mean products have been released.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.one_thread import one_thread

Floats = NDArray[np.float64]

#: Correlations stay within this; with this many terms, nothing relevant is then missing.
LARGEST: Final = 0.98
_TERMS: Final = 150
_HALVINGS: Final = 30
_LEAST_EIGENVALUE: Final = 1e-6


def cell_coefficients(law: Floats) -> Floats:
    """Return a row for each power of r, with a number for each value: its share in Mehler's series.

    Args:
        law: the probabilities of the values, in their order.

    >>> cell_coefficients(np.array([0.5, 0.5]))[:2].round(4).tolist()
    [[0.5, 0.5], [-0.3989, 0.3989]]

    """
    from scipy.special import eval_hermitenorm, gammaln, ndtri

    cuts = ndtri(np.clip(np.cumsum(law)[:-1], 0.0, 1.0))
    inside = np.isfinite(cuts)
    at = np.where(inside, cuts, 0.0)
    density = np.where(inside, np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi), 0.0)
    powers = np.arange(1, _TERMS)
    # Of unit length: divided by the root of (k - 1)!, and by that of k from the integral.
    lengths = np.exp(-gammaln(powers) / 2) / np.sqrt(powers)
    edges = np.zeros((_TERMS - 1, law.size + 1))
    edges[:, 1:-1] = eval_hermitenorm(powers[:, None] - 1, at) * density * lengths[:, None]
    return np.concatenate([law[None, :], edges[:, :-1] - edges[:, 1:]])


def pair_law(first: Floats, second: Floats, correlation: float) -> Floats:
    """Return the probabilities of two values from their coefficients and the correlation of their normal variables.

    >>> half = cell_coefficients(np.array([0.5, 0.5]))
    >>> pair_law(half, half, 0.5).round(4).tolist()
    [[0.3333, 0.1667], [0.1667, 0.3333]]

    """
    powers = float(np.clip(correlation, -LARGEST, LARGEST)) ** np.arange(_TERMS)
    law = np.maximum((first * powers[:, None]).T @ second, 0.0)
    return np.asarray(law / law.sum())


def latent_correlation(first: Floats, second: Floats, wanted: float, noise: float = 0.0) -> float:
    """Return the correlation at which the mean product of two scores is as wanted, or the nearest possible one.

    Where even the largest correlation would move the mean product by less than its noise, nothing is known: 0.

    Args:
        first: the coefficients of one score: a number for each power of r.
        second: those of the other.
        wanted: the mean product.
        noise: the standard deviation of the mean product.

    """
    products = first * second
    powers = np.arange(products.size)
    if float((products * LARGEST**powers).sum()) - float(products[0]) <= noise:
        return 0.0
    low, high = -LARGEST, LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float((products * middle**powers).sum()) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@one_thread()
def nearest_correlations(matrix: Floats) -> Floats:
    """Return the symmetric matrix, with ones on its diagonal, made positive semidefinite.

    Eigenvalues below a least one are raised to it and the diagonal is brought back to 1, which leaves a matrix that had
    none unchanged.

    >>> bad = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    >>> bool(np.linalg.eigvalsh(nearest_correlations(bad))[0] > 0)
    True

    """
    given = (matrix + matrix.T) / 2
    values, vectors = np.linalg.eigh(given)
    if values[0] >= _LEAST_EIGENVALUE:
        return np.asarray(given)
    raised = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    lengths = np.sqrt(np.diagonal(raised))
    found = raised / np.outer(lengths, lengths)
    np.fill_diagonal(found, 1.0)
    return np.asarray((found + found.T) / 2)
