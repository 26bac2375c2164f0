"""Strategies for Gaussian noise: the best one solves a convex problem.

With X the Gram matrix of a strategy whose columns have L2 norm 1, the error is tr(G X^-1), G being the workload's. At
the optimum X = V^-1/2 (V^1/2 G V^1/2)^1/2 V^-1/2 for a diagonal V, and V is the fixed point of taking the diagonal of
that root (Denisov, McMahan, Rush, Smith and Thakurta 2022; Li et al. 2015 as a semidefinite programme). Every V gives a
lower bound on the error as well, so that how far the strategy is from the best is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dither.estimate.one_thread import one_thread
from dither.exact import whole
from dither.publish.workloads.grids import BITS, in_rows_of, on_grid
from dither.publish.workloads.matrices import Floats
from dither.publish.workloads.workload import Strategy, Workload


class Factorisation(NamedTuple):
    """A strategy for Gaussian noise, and a lower bound on the root mean square error of any strategy."""

    strategy: Strategy
    lower_bound: float


@one_thread()
def optimal_factorisation(workload: Workload, *, iterations: int = 200, bits: int = BITS) -> Factorisation:
    """Return a strategy with nearly the least error under Gaussian noise, and a proven bound on the least.

    Args:
        workload: what is asked, on at most 4,096 cells; each iteration takes time cubic in them.
        iterations: of the fixed point, at most; it stops when the bound is within 1e-6 of the error.
        bits: how fine the grid of the strategy is.

    """
    gram = workload.matrix.gram()
    scale = float(np.trace(gram))
    gram = gram / scale
    weights = np.sqrt(np.maximum(np.diagonal(gram), 1e-12 * float(np.diagonal(gram).max())))
    best, bound = np.inf, 0.0
    square = np.eye(len(gram))
    for _ in range(whole("iterations", iterations, least=1)):
        root = np.sqrt(weights)
        middle = _root((gram * root).T * root)
        diagonal = np.diagonal(middle)
        # Two times the trace minus the sum of the weights is below every strategy's error, at the best multiple.
        bound = max(bound, float(np.trace(middle)) ** 2 / float(weights.sum()))
        shape = (middle / root).T / root
        spread = np.sqrt(np.maximum(np.diagonal(shape), 1e-300))
        candidate = (shape / spread).T / spread
        error = float(np.sum(gram * np.linalg.pinv(candidate, rcond=1e-10, hermitian=True)))
        if error < best:
            best, square = error, candidate
        if best <= bound * (1 + 1e-6):
            break
        weights = np.maximum(diagonal, 1e-14 * float(diagonal.max()))
    strategy = in_rows_of(workload, _root(square), bits)
    return Factorisation(strategy, float(np.sqrt(bound * scale / workload.queries)))


def _root(matrix: Floats) -> Floats:
    """Return the symmetric square root."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def prefix_root(cells: int, bits: int = BITS) -> Strategy:
    """Return the square root of the matrix of all prefixes: nearly optimal for them, without a search.

    The root is lower triangular with the coefficients binomial(2k, k) / 4^k of 1 / sqrt(1 - z) on its diagonals
    (Fichtenberger, Henzinger and Upadhyay 2023): its square has those of 1 / (1 - z), all 1.
    """
    count = whole("cells", cells, least=1, most=4096)
    steps = np.arange(1, count)
    coefficients = np.concatenate([[1.0], np.cumprod((2 * steps - 1) / (2 * steps))])
    gap = np.subtract.outer(np.arange(count), np.arange(count))
    return on_grid(np.where(gap >= 0, coefficients[np.maximum(gap, 0)], 0.0), bits)


@one_thread()
def eigen_design(workload: Workload, *, iterations: int = 1000, bits: int = BITS) -> Strategy:
    """Return the eigenvectors of the workload's Gram matrix, weighted for the least error, and completed.

    The weights u minimise the sum of eigenvalue / u over columns of norm at most 1, by multiplicative updates of the
    dual; columns that stay below 1 are filled up with rows for single cells (Li and Miklau 2012, sections 3 and 4).
    """
    gram = workload.matrix.gram()
    values, vectors = np.linalg.eigh(gram)
    kept = values > values.max() * 1e-10
    values, rows = values[kept], vectors[:, kept].T
    squares = rows**2
    prices = np.full(len(gram), float(np.sqrt(values).sum()) ** 2 / len(gram))
    for _ in range(whole("iterations", iterations, least=1)):
        weights = np.sqrt(values / np.maximum(squares @ prices, 1e-300))
        used = weights @ squares
        if used.max() <= 1 + 1e-7:
            break
        prices = prices * used
    weights = weights / used.max()
    design = rows * np.sqrt(weights)[:, None]
    room = np.maximum(1 - (design**2).sum(axis=0), 0.0)
    if kept.all():
        filled = np.diag(np.sqrt(room))[room > 1e-6]
        design = np.concatenate([design, filled])
    return in_rows_of(workload, design, bits)
