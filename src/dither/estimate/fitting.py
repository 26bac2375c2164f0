"""Fits of released answers: weighted least squares, most likely counts under Laplace noise, and maximum entropy.

- ``least_squares``: minimise sum_i (y_i - (A x)_i)^2 / variance_i; by the Gauss-Markov theorem the estimate of every
  linear query of x has the least variance among all unbiased linear ones.
- ``most_likely``: minimise sum_i |y_i - (A x)_i| / scale_i, optionally with x >= 0: the maximum of the likelihood under
  Laplace noise, a linear programme (Maximum Likelihood Postprocessing for Differential Privacy under Consistency
  Constraints, Lee, Wang and Kifer 2015, section 3). Consistency is built in: x are the cells.
- ``proportional_fit``: among all tables with given marginals, the one of least relative entropy to a start table;
  from equal cells, the one of largest entropy (Csiszar 1975, theorem 3.2, for the limit of the cyclic scaling).

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector
from dither.estimate.one_thread import one_thread

#: Up to this many unknowns, a system is solved densely, and all their variances are known.
MOST_DENSE = 2048
#: Up to this size answers of a linear programme are as they are.
_LARGEST_ANSWER = 1e6

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """The estimates, and their covariance if it was computed."""

    values: Floats
    covariance: Floats | None

    @property
    def variances(self) -> Floats | None:
        """The variance of each estimate; None for a system too large to solve densely."""
        return None if self.covariance is None else np.diag(self.covariance).copy()


def least_squares(matrix: Any, observed: ArrayLike, variances: ArrayLike = 1.0) -> Fit:
    """Return the unknowns that fit the released answers best.

    Args:
        matrix: a row for each answer, a column for each unknown: an array, or a sparse matrix of SciPy.
        observed: the released answers.
        variances: their variances, one for all or one for each.

    A direction that no answer speaks about is set to 0 (the shortest solution); its variance counts as 0, so queries
    must lie in the span of the rows. Systems of more than 2,048 unknowns are solved by LSMR, without a covariance.

    >>> fit = least_squares([[1, 0], [0, 1], [1, 1]], [1, 2, 6])
    >>> fit.values.round(6).tolist(), fit.variances.round(6).tolist()
    ([2.0, 3.0], [0.666667, 0.666667])

    """
    scaled, answers = _scaled(matrix, observed, variances)
    if scaled.shape[1] <= MOST_DENSE:
        dense = scaled.toarray() if hasattr(scaled, "toarray") else scaled
        with one_thread(dense.size):
            inverse = np.linalg.pinv(dense)
            return Fit(inverse @ answers, inverse @ inverse.T)
    from scipy.sparse.linalg import lsmr

    solved: Any = lsmr(scaled, answers, atol=1e-12, btol=1e-12, maxiter=20 * min(scaled.shape))
    return Fit(np.asarray(solved[0], dtype=np.float64), None)


def most_likely(matrix: Any, observed: ArrayLike, scales: ArrayLike = 1.0, *, non_negative: bool = True) -> Floats:
    """Return unknowns under which the released answers are most likely, given Laplace noise.

    Args:
        matrix: a row for each answer, a column for each unknown: an array, or a sparse matrix of SciPy.
        observed: the released answers.
        scales: the scale of the noise of each, or one for all.
        non_negative: whether the unknowns are at least 0.

    >>> most_likely([[1, 0], [0, 1], [1, 1]], [5, -2, 5]).round(6).tolist()
    [5.0, 0.0]

    """
    from scipy import sparse
    from scipy.optimize import linprog

    scale = np.asarray(scales, dtype=np.float64)
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise InvalidParameter("scales", f"an array of shape {scale.shape}", "one number above 0, or one for each")
    # Only ratios matter; without the common factor the numbers suit the solver's tolerances.
    scaled, answers = _scaled(matrix, observed, (scale / scale.max()) ** 2)
    # Of large answers as well: the solver's infinity is near. A multiple of the answers has a multiple of the solution.
    unit = max(1.0, float(np.abs(answers).max(initial=0.0)) / _LARGEST_ANSWER)
    rows, columns = scaled.shape
    # A x + above - below = y with both parts at least 0: their sum is the absolute error.
    equations = sparse.hstack([sparse.csr_matrix(scaled), sparse.identity(rows), -sparse.identity(rows)], format="csr")
    price = np.concatenate([np.zeros(columns), np.ones(2 * rows)])
    bounds = [(0 if non_negative else None, None)] * columns + [(0, None)] * (2 * rows)
    solved: Any = linprog(price, A_eq=equations, b_eq=answers / unit, bounds=bounds, method="highs")
    if solved.x is None:
        raise InvalidParameter("matrix", f"of shape {scaled.shape}", "a system that the linear programme can solve")
    return np.asarray(solved.x[:columns], dtype=np.float64) * unit


def proportional_fit(
    start: ArrayLike,
    marginals: Mapping[tuple[int, ...], ArrayLike],
    *,
    tolerance: float = 1e-9,
    most_rounds: int = 1000,
) -> Floats:
    """Return the table with the given marginals that is nearest to ``start`` in relative entropy.

    Args:
        start: a table without negative entries; equal entries ask for the largest entropy.
        marginals: for the axes that are kept, in increasing order, the non-negative sums over all other axes.
        tolerance: the scaling stops when no marginal is off by more than this share of the total.
        most_rounds: the most rounds, which are reached if marginals contradict each other.

    >>> proportional_fit(np.ones((2, 2)), {(0,): [3, 1], (1,): [2, 2]}).tolist()
    [[1.5, 1.5], [0.5, 0.5]]

    """
    table = np.array(start, dtype=np.float64)
    if not (np.isfinite(table).all() and (table >= 0).all() and table.size):
        raise InvalidParameter("start", f"an array of shape {table.shape}", "a table of numbers of at least 0")
    wanted = {axes: _marginal(table, axes, sums) for axes, sums in marginals.items()}
    total = max((float(sums.sum()) for sums in wanted.values()), default=0.0)
    for _ in range(most_rounds):
        off = 0.0
        for axes, sums in wanted.items():
            others = tuple(axis for axis in range(table.ndim) if axis not in axes)
            present = table.sum(axis=others, keepdims=True)
            target = sums.reshape([table.shape[axis] if axis in axes else 1 for axis in range(table.ndim)])
            off = max(off, float(np.abs(present - target).max()))
            table *= np.divide(target, present, out=np.zeros_like(present), where=present > 0)
        if off <= tolerance * total:
            break
    return table


def _scaled(matrix: Any, observed: ArrayLike, variances: ArrayLike) -> tuple[Any, Floats]:
    """Return the system with every row divided by the standard deviation of its answer."""
    answers = finite_vector("observed", observed)
    rows = matrix if hasattr(matrix, "multiply") else np.asarray(matrix, dtype=np.float64)
    if getattr(rows, "ndim", 2) != 2 or rows.shape[0] != answers.size or 0 in rows.shape:
        raise InvalidParameter("matrix", f"of shape {rows.shape}", f"a row for each of {answers.size} answers")
    spreads = np.asarray(variances, dtype=np.float64)
    if not (np.isfinite(spreads).all() and (spreads > 0).all() and spreads.shape in ((), answers.shape)):
        raise InvalidParameter("variances", f"an array of shape {spreads.shape}", "one number above 0, or one for each")
    factors = np.broadcast_to(1 / np.sqrt(spreads), answers.shape)
    if hasattr(rows, "multiply"):
        return rows.multiply(factors[:, None]).tocsr(), answers * factors
    if not np.isfinite(rows).all():
        raise InvalidParameter("matrix", f"of shape {rows.shape}", "finite numbers")
    return rows * factors[:, None], answers * factors


def _marginal(table: Floats, axes: tuple[int, ...], sums: ArrayLike) -> Floats:
    array = np.asarray(sums, dtype=np.float64)
    if not (axes and all(0 <= axis < table.ndim for axis in axes) and list(axes) == sorted(set(axes))):
        raise InvalidParameter("marginals", axes, f"increasing axes below {table.ndim}")
    if array.shape != tuple(table.shape[axis] for axis in axes) or not (np.isfinite(array) & (array >= 0)).all():
        raise InvalidParameter("marginals", f"sums of shape {array.shape} for {axes}", "a number >= 0 for each entry")
    return array
