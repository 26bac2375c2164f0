"""Least squares without writing the matrix out: against the pseudo-inverse, on tall, wide and deficient matrices."""

from __future__ import annotations

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.least_squares import least_squares, variance_factor
from dither.publish.workloads import Hierarchy, Identity, Kron, Strategy, Union, Workload
from dither.publish.workloads.matrices import ImplicitCovariance

MATRICES = {
    "tall": np.cos(np.arange(60.0)).reshape(12, 5),
    "wide": np.sin(np.arange(1.0, 41.0)).reshape(5, 8),
    "deficient": np.outer([1.0, 2.0, 3.0], [1.0, -1.0]),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_solutions_are_those_of_the_pseudo_inverse(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    measured = np.linspace(-3, 5, len(matrix))
    found = least_squares(lambda x: matrix @ x, lambda y: matrix.T @ y, matrix.shape, measured)
    inverse = np.linalg.pinv(matrix)
    assert np.allclose(found, inverse @ measured, atol=1e-8)
    query = matrix.sum(axis=0)
    variance = variance_factor(lambda x: matrix @ x, lambda y: matrix.T @ y, matrix.shape, query)
    assert variance == pytest.approx(float(((query @ inverse) ** 2).sum()), rel=1e-8)


def test_a_large_ragged_tree_is_solved_without_being_written_out() -> None:
    """On 5,000 cells: consistent sums come back, few queries have variances, and very many are refused."""
    strategy = Strategy(Hierarchy(5000, 3))
    counts = np.mod(np.arange(5000), 17)
    assert np.allclose(strategy.estimate(strategy.answer(counts)), counts, atol=1e-6)
    few = Workload.ranges(5000, [(0, 4999), (10, 20)])
    assert few.supported_by(strategy)
    assert few.variance_factors(strategy).shape == (2,)
    with pytest.raises(InvalidParameter, match="kron, marginals or Haar"):
        Workload.prefixes(5000).variance_factors(strategy)


def test_implicit_covariances_are_the_dense_ones() -> None:
    for matrix in (Hierarchy(7, 3), Union((Kron((Identity(2), Hierarchy(3, 2))), Hierarchy(6, 2)))):
        implicit = ImplicitCovariance(matrix)
        assert np.allclose(implicit.apply(np.eye(matrix.cells)), matrix.covariance().dense(), atol=1e-8)
        measured = np.cos(np.arange(matrix.queries))
        assert np.allclose(implicit.estimate(measured), matrix.solve(measured[:, None])[:, 0], atol=1e-8)
