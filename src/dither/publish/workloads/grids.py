"""From an optimiser's floats to a public integer strategy, by a dyadic grid.

Least squares does not care in which unit a strategy is measured, so a matrix of multiples of 2^-k is as good as the
matrix of integers that it is 2^k times. Rounding moves the strategy a little; what is released, its sensitivity
and its error are those of the rounded one, exactly. Where the workload does not determine all counts, rounding entry by
entry would leave its row space: there the coefficients over a basis of the workload's own rows are rounded instead.
"""

from __future__ import annotations

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.one_thread import one_thread
from dither.exact import whole
from dither.mechanisms.core.public import PublicArray
from dither.publish.workloads.matrices import Dense, Floats
from dither.publish.workloads.p_identity import PIdentity
from dither.publish.workloads.workload import Strategy, Workload

#: Entries are multiples of 2^-16 of the largest column norm: the error changes in the eighth digit.
BITS = 16


def on_grid(matrix: Floats, bits: int = BITS) -> Strategy:
    """Return the matrix with its entries rounded to 2^-bits of its largest entry, as integers.

    >>> on_grid(np.array([[1.0, 0.3]]), bits=4).matrix.entries.values.tolist()
    [[16, 5]]
    """
    values = _finite(matrix)
    return Strategy(Dense(PublicArray(_rounded(values, bits))))


def p_identity(theta: Floats, bits: int = BITS) -> Strategy:
    """Return the strategy of p rows ``theta`` below the identity, with equal column sums, on the grid."""
    rows = np.maximum(_finite(theta), 0.0)
    scale = 2.0 ** whole("bits", bits, least=1, most=24) / (1 + rows.sum(axis=0))
    diagonal = np.maximum(np.rint(scale), 1).astype(np.int64)
    more = np.rint(rows * scale).astype(np.int64)
    # A row that is nothing on the grid measures nothing.
    kept = more[more.any(axis=1)] if more.any() else more[:1]
    return Strategy(PIdentity(PublicArray(diagonal), PublicArray(kept)))


@one_thread()
def in_rows_of(workload: Workload, matrix: Floats, bits: int = BITS) -> Strategy:
    """Return the matrix on the grid, with rows that remain combinations of the workload's rows.

    Args:
        workload: what is asked; of integers.
        matrix: rows in the row space of the workload.
        bits: the fineness of the grid.

    """
    values = _finite(matrix)
    if int(np.linalg.matrix_rank(workload.matrix.gram())) == workload.cells:
        return on_grid(values, bits)
    basis = row_basis(workload)
    if not np.array_equal(basis, np.rint(basis)):
        raise InvalidParameter("workload", workload.matrix.kind, "integers where it does not determine all counts")
    coefficients = np.asarray(np.linalg.lstsq(basis.T, values.T, rcond=None)[0].T, dtype=np.float64)
    whole_rows = _rounded(coefficients, bits) @ basis.astype(np.int64)
    return Strategy(Dense(PublicArray(whole_rows)))


@one_thread()
def row_basis(workload: Workload) -> Floats:
    """Return independent, well-conditioned rows of the workload that span all of them."""
    from scipy.linalg import qr

    rows = workload.matrix.dense()
    _, triangle, order = qr(rows.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    independent: Floats = rows[np.sort(order[: int((sizes > sizes[0] * 1e-9).sum())])]
    return independent


def _rounded(values: Floats, bits: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    largest = float(np.abs(values).max())
    if largest == 0:
        raise InvalidParameter("matrix", "zeros", "a matrix with an entry other than 0")
    return np.rint(values * (2.0 ** whole("bits", bits, least=1, most=24) / largest)).astype(np.int64)


def _finite(matrix: Floats) -> Floats:
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.size == 0 or not np.isfinite(values).all():
        raise InvalidParameter("matrix", f"an array of shape {values.shape}", "a table of finite numbers")
    return values
