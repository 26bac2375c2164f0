"""Searches for strategies: gradients and errors against slow formulae, known optima, and what the grid keeps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.privacy import L1, L2, Metric
from dither.publish.workloads import (
    Grouped,
    Identity,
    Kron,
    Marginals,
    Strategy,
    Union,
    Workload,
    eigen_design,
    find_strategy,
    in_rows_of,
    low_rank_design,
    on_grid,
    opt_0,
    opt_kron,
    opt_marginals,
    opt_union,
    optimal_factorisation,
    orthogonal_design,
    prefix_root,
)
from dither.publish.workloads.decompositions import _projected
from dither.publish.workloads.grids import p_identity
from dither.publish.workloads.optimise import _p_identity_error, terms_of
from tools.bench.workloads import WorkloadFigures, measure_workloads

RANGES = Workload.all_ranges(24)
FEW = Workload.ranges(20, [(0, 5), (3, 9), (4, 16), (0, 19)])


def dense_error(workload: Workload, strategy: NDArray[np.float64], power: int) -> float:
    """The root mean square by the dense formula: the largest column norm times the norm of W A+."""
    inverse = np.linalg.pinv(strategy)
    reach = (np.abs(strategy) ** power).sum(axis=0).max() ** (1 / power)
    return float(reach * np.linalg.norm(workload.matrix.dense() @ inverse) / math.sqrt(workload.queries))


def test_the_error_of_a_p_identity_strategy_and_its_gradient() -> None:
    gram, theta = RANGES.matrix.gram(), np.mod(np.arange(48) * 0.37, 1.0).reshape(2, 24)
    strategy = np.concatenate([np.eye(24), theta]) / (1 + theta.sum(axis=0))
    error, slope = _p_identity_error(theta, gram, 1.0)
    assert math.sqrt(error / RANGES.queries) == pytest.approx(dense_error(RANGES, strategy, 1))
    for place in (0, 17, 47):
        moved = theta.ravel().copy()
        moved[place] += 1e-5
        above = _p_identity_error(moved.reshape(2, 24), gram, 1.0)[0]
        moved[place] -= 2e-5
        below = _p_identity_error(moved.reshape(2, 24), gram, 1.0)[0]
        assert slope[place] == pytest.approx((above - below) / 2e-5, rel=1e-5)


@pytest.mark.parametrize("metric", [L1, L2], ids=["L1", "L2"])
@pytest.mark.parametrize(
    "workload", [RANGES, FEW, Workload.marginals((3, 2, 2), 2)], ids=["ranges", "few", "marginals"]
)
def test_every_search_gives_whole_numbers_that_determine_the_workload(workload: Workload, metric: object) -> None:
    power = 1 if metric is L1 else 2
    found = [
        low_rank_design(workload, metric, rounds=10),  # type: ignore[arg-type]
        orthogonal_design(workload, metric),  # type: ignore[arg-type]
        eigen_design(workload),
        optimal_factorisation(workload).strategy,
        find_strategy(workload, metric, iterations=60).strategy,  # type: ignore[arg-type]
    ]
    for strategy in found:
        dense = strategy.matrix.dense()
        assert np.array_equal(dense, np.rint(dense))
        assert workload.supported_by(strategy)
        error = workload.root_mean_square(strategy, metric)  # type: ignore[arg-type]
        assert error == pytest.approx(dense_error(workload, dense, power), rel=1e-6)
        assert error >= workload.svd_bound() * (1 - 1e-9)
        assert Strategy.from_dict(strategy.to_dict()) == strategy


def test_the_best_gaussian_strategy_meets_its_own_bound() -> None:
    """The lower bound holds for every strategy, and the one found is within a hundred thousandth of it."""
    for workload in (RANGES, Workload.prefixes(24), FEW.__class__.marginals((3, 4), 1)):
        found = optimal_factorisation(workload, iterations=1000)
        error = workload.root_mean_square(found.strategy, L2)
        assert found.lower_bound * (1 - 1e-7) <= error <= found.lower_bound * (1 + 2e-4)
        others = [eigen_design(workload), Strategy(Identity(workload.cells)), orthogonal_design(workload, L2)]
        assert all(workload.root_mean_square(other, L2) >= error * (1 - 1e-4) for other in others)


def test_the_square_root_of_prefixes() -> None:
    strategy = prefix_root(40)
    root = strategy.matrix.dense() / 2**16
    assert np.allclose(root @ root, np.tril(np.ones((40, 40))), atol=1e-3)
    prefixes = Workload.prefixes(40)
    best = optimal_factorisation(prefixes).lower_bound
    assert best <= prefixes.root_mean_square(strategy, L2) <= 1.1 * best


def test_marginals_are_searched_by_sums_over_subsets() -> None:
    for shape, order in (((3, 4, 2), 1), ((2, 5, 3), 2)):
        workload = Workload.marginals(shape, order)
        matrix = workload.matrix
        assert isinstance(matrix, Marginals)
        for power, metric in ((1, L1), (2, L2)):
            strategy = opt_marginals(matrix, metric)
            error = workload.root_mean_square(strategy, metric)
            assert error == pytest.approx(dense_error(workload, strategy.matrix.dense(), power), rel=1e-6)
            full = Strategy(Marginals(shape, (tuple(range(len(shape))),)))
            for other in (Strategy(matrix), full):
                assert error <= workload.root_mean_square(other, metric) * (1 + 1e-3)


def test_a_thousand_million_cells_are_optimised_without_being_written_out() -> None:
    workload = Workload.marginals((8,) * 10, [(0,), (1, 2), (2, 3), (7, 8, 9)])
    found = find_strategy(workload, L1)
    assert workload.cells == 2**30
    assert found.method == "OPT_M"
    assert found.root_mean_square <= workload.root_mean_square(Strategy(workload.matrix), L1)
    assert workload.supported_by(found.strategy)


def test_products_and_unions_of_products() -> None:
    rows, columns = Workload.all_ranges(16), Workload.all_ranges(12)
    both = Workload.kron(rows, columns)
    strategy = opt_kron(terms_of(both.matrix), iterations=60)
    identity = Strategy(Kron((Identity(16), Identity(12))))
    assert both.root_mean_square(strategy) <= both.root_mean_square(identity) * (1 + 1e-3)
    matrix = strategy.matrix
    assert isinstance(matrix, Kron)
    by_axis = [
        axis.root_mean_square(Strategy(part)) for axis, part in zip((rows, columns), matrix.factors, strict=True)
    ]
    assert both.root_mean_square(strategy) == pytest.approx(math.prod(by_axis), rel=1e-6)
    edges = Workload.union(Workload.kron(rows, Workload.total(12)), Workload.kron(Workload.total(16), columns))
    assert isinstance(edges.matrix, Union)
    grouped = opt_union(edges.matrix, L1, iterations=60)
    assert isinstance(grouped.matrix, Grouped)
    assert edges.root_mean_square(grouped) < edges.root_mean_square(identity)
    assert find_strategy(edges, L1, iterations=60).method == "OPT_Union"


def test_shares_of_a_union_are_the_best_ones() -> None:
    """Moving noise from one group to the other, by a tenth either way, only makes things worse."""
    rows, columns = Workload.kron(RANGES, Workload.total(2)), Workload.kron(Workload.total(24), Workload.cells_of(2))
    edges = Workload.union(rows, columns)
    assert isinstance(edges.matrix, Union)
    strategy = opt_union(edges.matrix, L1, iterations=30)
    assert isinstance(strategy.matrix, Grouped)
    best = edges.root_mean_square(strategy)
    first, second = strategy.matrix.parts
    for share in (Fraction(9, 10), Fraction(11, 10)):
        weighted = (_times(first, 10 * share), _times(second, Fraction(10)))
        moved = Strategy(Grouped(weighted, strategy.matrix.answers))
        assert edges.root_mean_square(moved) >= best * (1 - 1e-4)


def _times(part: object, factor: Fraction) -> object:
    from dither.publish.workloads import Weighted

    return Weighted(part, factor)  # type: ignore[arg-type]


def test_the_grid_keeps_the_row_space() -> None:
    """Rounding entry by entry leaves the row space of a workload of low rank; rounding coefficients does not."""
    values, vectors = np.linalg.eigh(FEW.matrix.gram())
    rows = vectors[:, values > 1e-9].T
    assert not FEW.supported_by(on_grid(rows, bits=8))
    kept = in_rows_of(FEW, rows, bits=8)
    assert FEW.supported_by(kept)
    together = np.concatenate([FEW.matrix.dense(), kept.matrix.dense()])
    assert np.linalg.matrix_rank(together) == np.linalg.matrix_rank(FEW.matrix.dense()) == 4


def test_whole_numbers_stay_near_what_was_found() -> None:
    theta = opt_0(RANGES.matrix.gram(), rows=2, iterations=50)
    floats = np.concatenate([np.eye(24), theta]) / (1 + theta.sum(axis=0))
    strategy = p_identity(theta)
    assert RANGES.root_mean_square(strategy) == pytest.approx(dense_error(RANGES, floats, 1), rel=1e-3)
    norms = strategy.matrix.dense().sum(axis=0)
    assert strategy.sensitivity(L1) == norms.max()
    assert norms.max() - norms.min() <= len(theta) + 1


def test_columns_are_moved_to_the_nearest_point_of_the_ball() -> None:
    columns = np.array([[3.0, 0.2, -1.0], [-1.0, 0.1, 1.0], [0.5, 0.3, 0.0]])
    moved = _projected(columns, L1)
    assert np.allclose(np.abs(moved).sum(axis=0), [1.0, 0.6, 1.0])
    # The nearest point: every other point of the ball makes a right or obtuse angle with the way there.
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    for column, point in zip(columns.T, moved.T, strict=True):
        assert ((corners - point) @ (column - point)).max() <= 1e-12
    assert np.linalg.norm(_projected(columns, L2), axis=0).max() <= 1 + 1e-12


def test_the_benchmark_prints_what_is_aimed_at() -> None:
    (small,) = measure_workloads(sizes=(64,), iterations=60)
    assert isinstance(small, WorkloadFigures)
    assert small.svd_bound < small.root_mean_square < small.identity
    assert small.identity == pytest.approx(math.sqrt(66 / 3))
    assert small.to_dict()["cells"] == 64


@pytest.mark.parametrize(
    "build",
    [
        lambda: find_strategy(RANGES, None),  # type: ignore[arg-type]
        lambda: on_grid(np.zeros((2, 2))),
        lambda: on_grid(np.array([[np.inf]])),
        lambda: opt_0(RANGES.matrix.gram(), rows=0),
        lambda: find_strategy(Workload.all_ranges(10**6), L1),
        lambda: optimal_factorisation(Workload.prefixes(10**5)),
    ],
)
def test_bad_requests_are_refused(build: object) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        build()  # type: ignore[operator]


@pytest.mark.parametrize("metric", [L1, L2])
def test_a_search_that_ends_at_nothing_is_not_taken(metric: Metric) -> None:
    """Three bits, each by itself: one of the starts shrinks to nothing under L1."""
    asked = Workload.marginals((2, 2, 2), [(0,), (1,), (2,)])
    found = opt_marginals(asked.matrix, metric)
    assert np.isfinite(found.matrix.dense()).all()
    assert np.abs(found.matrix.dense()).sum() > 0
