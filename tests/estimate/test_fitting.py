"""Fits against dense solutions and brute force; merging against all partitions; tails against exact laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate import fitting
from dither.estimate.fitting import least_squares, most_likely, proportional_fit
from dither.estimate.merging import merge_runs
from dither.estimate.tails import gaussian_combination_reach, laplace_combination_reach

ROWS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], dtype=float)


@given(st.lists(st.integers(-20, 20), min_size=5, max_size=5), st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_least_squares_solve_the_normal_equations(answers: list[int], variances: list[int]) -> None:
    weight = 1 / np.array(variances)
    covariance = np.linalg.inv(ROWS.T @ (weight[:, None] * ROWS))
    fit = least_squares(ROWS, answers, variances)
    assert fit.values == pytest.approx(covariance @ ROWS.T @ (weight * np.array(answers)), abs=1e-9)
    assert fit.covariance is not None
    assert fit.covariance == pytest.approx(covariance, abs=1e-9)


def test_sparse_and_large_systems_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy import sparse

    answers, variances = [3.0, 1.0, 4.0, 1.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    dense = least_squares(ROWS, answers, variances)
    assert least_squares(sparse.csr_matrix(ROWS), answers, variances).values == pytest.approx(dense.values)
    monkeypatch.setattr(fitting, "MOST_DENSE", 2)
    iterative = least_squares(sparse.csr_matrix(ROWS), answers, variances)
    assert iterative.values == pytest.approx(dense.values, abs=1e-6)
    assert iterative.variances is None


@settings(max_examples=25)
@given(st.lists(st.integers(-4, 6), min_size=5, max_size=5), st.booleans())
def test_the_most_likely_cells_are_found_among_all_whole_ones(answers: list[int], non_negative: bool) -> None:
    """The matrix of a tree is totally unimodular: some best solution is whole, so trying all whole ones is enough."""
    found = most_likely(ROWS, answers, non_negative=non_negative)
    span = range(0 if non_negative else -12, 13)
    cells = np.array(list(itertools.product(span, repeat=3)))
    best = np.abs(cells @ ROWS.T - answers).sum(axis=1).min()
    assert np.abs(ROWS @ found - answers).sum() == pytest.approx(best, abs=1e-6)
    assert not non_negative or (found >= -1e-9).all()


def test_proportional_fitting_has_the_largest_entropy() -> None:
    rows, columns = np.array([3.0, 5.0]), np.array([2.0, 2.0, 4.0])
    found = proportional_fit(np.ones((2, 3)), {(0,): rows, (1,): columns})
    assert found == pytest.approx(np.outer(rows, columns) / 8)
    start = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    truth = np.arange(1.0, 9.0).reshape(2, 2, 2)[::-1]
    wanted = {(0, 1): truth.sum(axis=2), (1, 2): truth.sum(axis=0)}
    fitted = proportional_fit(start, wanted)
    assert fitted.sum(axis=2) == pytest.approx(wanted[(0, 1)])
    assert fitted.sum(axis=0) == pytest.approx(wanted[(1, 2)])
    # The ratio to the start factorises over the marginals: what all others keep is the interaction of the start.
    ratio = fitted / start
    interaction = ratio[0, :, 0] * ratio[1, :, 1] / (ratio[0, :, 1] * ratio[1, :, 0])
    assert interaction == pytest.approx(np.ones(2), rel=1e-6)


def test_contradicting_marginals_end_all_the_same() -> None:
    assert np.isfinite(proportional_fit(np.ones((2, 2)), {(0,): [1, 1], (1,): [3, 3]}, most_rounds=5)).all()
    assert proportional_fit(np.zeros((2, 2)), {(0,): [1, 1]}).tolist() == [[0, 0], [0, 0]]


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 3)), min_size=1, max_size=7),
    st.sampled_from([0.0, 0.5, 3.0, 40.0]),
)
def test_merging_is_the_best_of_all_partitions(buckets: list[tuple[int, int]], variance: float) -> None:
    sums, sizes = (np.array(side, dtype=float) for side in zip(*buckets, strict=True))

    def cost(first: int, last: int) -> float:
        part, width = sums[first:last], sizes[first:last]
        spread = (width * (part / width - part.sum() / width.sum()) ** 2).sum()
        return float(spread - variance * ((1 / width).sum() - 2 * (last - first) / width.sum()))

    def total(starts: tuple[int, ...]) -> float:
        return sum(cost(first, last) for first, last in itertools.pairwise((*starts, len(buckets))))

    every = [
        (0, *rest) for size in range(len(buckets)) for rest in itertools.combinations(range(1, len(buckets)), size)
    ]
    found = tuple(merge_runs(sums, variance, sizes).tolist())
    assert total(found) == pytest.approx(min(map(total, every)), abs=1e-6)


def test_the_cost_of_a_run_is_an_unbiased_estimate() -> None:
    """Exactly, over all signs of noise of two values: E[SSE - (s - 2) V] is the true error of the mean of the run."""
    truth, step = np.array([3.0, 5.0, 4.0]), 2.0
    outcomes = [truth + step * np.array(signs) for signs in itertools.product((-1, 1), repeat=3)]
    variance = step**2
    estimate = np.mean([((seen - seen.mean()) ** 2).sum() - (3 - 2) * variance for seen in outcomes])
    error = np.mean([((seen.mean() - truth) ** 2).sum() for seen in outcomes])
    assert estimate == pytest.approx(error)


@pytest.mark.parametrize("failure", [0.3, 0.05, 1e-4, 1e-9])
def test_reaches_cover_the_exact_tails(failure: float) -> None:
    """One Laplace variable, and the sum of two: P[|X + Y| > x] = (1 + x / 2) e^-x."""
    assert math.exp(-laplace_combination_reach(2.0, failure)) <= failure
    x = laplace_combination_reach(4.0, failure)
    assert (1 + x / 2) * math.exp(-x) <= failure
    assert math.erfc(gaussian_combination_reach(1.0, failure) / math.sqrt(2)) <= failure
    # No more than three times too wide.
    assert laplace_combination_reach(2.0, failure) <= 3 * math.log(1 / failure) + 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: least_squares(ROWS, [1.0]),
        lambda: least_squares(np.zeros((0, 3)), []),
        lambda: least_squares(ROWS * np.nan, [1.0] * 5),
        lambda: least_squares(ROWS, [1.0] * 5, 0.0),
        lambda: proportional_fit(np.ones(2), {(1,): [1.0]}),
        lambda: proportional_fit(np.ones(2), {(0,): [1.0, -1.0]}),
        lambda: proportional_fit([np.nan], {}),
        lambda: merge_runs([1.0], -1.0),
        lambda: merge_runs([1.0], 1.0, [0.5]),
        lambda: laplace_combination_reach(-1.0, 0.1),
        lambda: gaussian_combination_reach(1.0, 0.0),
    ],
    ids=range(11),
)
def test_odd_input_is_refused(call: object) -> None:
    with pytest.raises(InvalidParameter):
        call()  # type: ignore[operator]


def test_the_most_likely_counts_of_answers_near_the_end_of_floats_are_found() -> None:
    matrix = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]])
    for size in (2**53, 2**57):
        for off in itertools.product((-2, 0, 2), repeat=3):
            answers = np.array([size + off[0], size + off[1], size, 2 * size, size + off[2]], dtype=np.float64)
            assert np.allclose(most_likely(matrix, answers), float(size), rtol=1e-6)
