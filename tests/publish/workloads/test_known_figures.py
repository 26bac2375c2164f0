"""The figures of the sources: ten ranges on four cells, the corrected Haar identity, Privelet's variances."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms import DiscreteGaussian, Geometric
from dither.noise import system_noise
from dither.privacy import L1, L2, ZCDP, PureDP
from dither.publish.workloads import (
    AllRanges,
    Haar,
    Identity,
    MatrixMechanism,
    NominalTree,
    Privelet,
    Strategy,
    Workload,
)

RANGES = Workload.all_ranges(4)


@pytest.mark.parametrize(
    ("strategy", "total"), [(AllRanges(4), 288), (Identity(4), 40), (Haar(4), 108)], ids=["ranges", "cells", "haar"]
)
def test_the_ten_ranges_on_four_cells(strategy: AllRanges, total: int) -> None:
    """Total variance times epsilon^2 under Laplace noise: a survey's example, recomputed."""
    measured = Strategy(strategy)
    assert 2 * 10 * RANGES.root_mean_square(measured) ** 2 == pytest.approx(total)


def test_noise_on_each_of_the_ten_ranges() -> None:
    """Without least squares every range has variance 2 * 6^2."""
    assert 10 * 2 * RANGES.sensitivity(L1) ** 2 == 720
    assert Strategy(Haar(4)).sensitivity(L1) == 3


@pytest.mark.parametrize(("data", "middle", "printed"), [((12, 24, 6, 7), 30, 31), ((10, 25, 15, 8), 40, 33)])
def test_the_haar_identity_with_its_sign_corrected(data: tuple[int, ...], middle: int, printed: int) -> None:
    total, _, left, right = Strategy(Haar(4)).answer(data).tolist()
    assert total / 2 - left / 2 + right / 2 == data[1] + data[2] == middle
    assert total / 2 - left / 2 - right / 2 == data[1] + data[3] == printed


def test_the_haar_transform_of_a_thesis_example() -> None:
    """(16,9,11,8,23,15,10,15): the orthonormal coefficients, where the printed ones were rounded at every level."""
    haar = Haar(8)
    sizes = np.sqrt([8, 8, 4, 4, 2, 2, 2, 2])
    found = haar.times(np.array([16, 9, 11, 8, 23, 15, 10, 15])[:, None])[:, 0] / sizes
    assert np.allclose(found, [37.83, -6.72, 3, 6.5, 4.95, 2.12, 5.66, -3.54], atol=0.006)


@pytest.mark.parametrize("levels", range(7))
def test_privelet_needs_one_and_the_logarithm(levels: int) -> None:
    """The sensitivity is 1 + log2 N, and the noise that the source puts on weighted coefficients."""
    release = Privelet.calibrated(PureDP(1), sensitivity=1, shape=(2**levels,))
    assert release.stability == 1 + levels
    assert release.noise.scale == 1 + levels
    gaussian = Privelet.calibrated(ZCDP("1/2"), sensitivity=1, shape=(2**levels,))
    assert gaussian.loss(1) <= ZCDP("1/2")
    assert float(gaussian.noise.sigma) == pytest.approx(math.sqrt(1 + levels))


@pytest.mark.parametrize("cells", [2, 8, 32, 64])
def test_privelets_range_variance_is_within_its_theorem(cells: int) -> None:
    """At most (2 + l) (2 + 2l)^2 / (2 epsilon^2) with noise for rows replaced: here by the exact formula."""
    levels = cells.bit_length() - 1
    factors = Workload.all_ranges(cells).variance_factors(Strategy(Haar(cells)))
    laplace = 2 * (2 * (1 + levels)) ** 2
    assert factors.max() * laplace <= (2 + levels) * (2 + 2 * levels) ** 2
    inverse = np.linalg.pinv(Haar(cells).dense())
    assert np.allclose(factors, ((AllRanges(cells).dense() @ inverse) ** 2).sum(axis=1))


def test_ranges_on_a_million_cells_have_exact_variances() -> None:
    """Few ranges against the coefficients that they are made of; and all prefixes at once."""
    haar = Haar(2**20)
    ends = [(0, 2**20 - 1), (5, 5), (3, 2**19 + 7), (2**19, 2**20 - 1)]
    workload = Workload.ranges(2**20, ends)
    sizes = np.repeat([2**20, *(2**20 >> level for level in range(20))], [1, *(2**level for level in range(20))])
    rows = [haar.times(workload.matrix.rows(np.array([number])).T)[:, 0] / sizes for number in range(4)]
    assert np.allclose(workload.variance_factors(Strategy(haar)), [(row**2).sum() for row in rows])
    prefixes = Workload.prefixes(2**20).variance_factors(Strategy(haar))
    assert prefixes.shape == (2**20,)
    assert prefixes[-1] == pytest.approx(1.0)


def test_identity_wins_on_small_domains_and_wavelets_on_large_ones() -> None:
    def worst(strategy: Identity | Haar) -> float:
        measured = Strategy(strategy)
        factors = Workload.all_ranges(strategy.cells).variance_factors(measured)
        return float(factors.max() * float(measured.sensitivity(L1)) ** 2)

    assert all(worst(Identity(cells)) <= worst(Haar(cells)) for cells in (4, 16, 64))
    assert worst(Haar(1024)) < worst(Identity(1024))


def test_a_nominal_tree_costs_its_height() -> None:
    """Every level costs as much as the root: families of any size move by as much as the root does."""
    for tree, height in (((2, 2), 3), ((5, 7, 2), 3), (4, 2), (((2, 2), (2, 2)), 4)):
        matrix = NominalTree(tree)
        root = int(matrix.dense()[0, 0])
        norms = np.abs(matrix.dense()).sum(axis=0)
        assert np.array_equal(norms, np.full(matrix.cells, root * height))
        assert matrix.norm(1) == root * height


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 5)])
def test_privelet_undoes_itself_and_knows_its_variances(shape: tuple[int, ...]) -> None:
    release = Privelet.calibrated(PureDP(1), sensitivity=1, shape=shape, trees={len(shape) - 1: shape[-1]})
    counts = np.arange(math.prod(shape)).reshape(shape)
    assert np.allclose(release.inverse(release.transform(counts)), counts)
    units = np.eye(math.prod(axis.queries for axis in release.axes))
    inverse = np.stack([release.inverse(unit).ravel() for unit in units], axis=1)
    noise = 2 * math.exp(-1 / release.noise.scale) / (1 - math.exp(-1 / release.noise.scale)) ** 2
    assert np.allclose(release.variances().ravel(), (inverse**2).sum(axis=1) * noise)
    ranges = Workload.kron(*(Workload.all_ranges(axis) for axis in shape))
    dense = ranges.matrix.dense()
    assert np.allclose(release.variances(ranges), ((dense @ inverse) ** 2).sum(axis=1) * noise)


@pytest.mark.parametrize("noise", [Geometric(scale=3), DiscreteGaussian(sigma=4)], ids=["geometric", "gaussian"])
@pytest.mark.statistical(n=4000, false_alarm=1e-10, catches="variances off by a fifth, or a biased answer")
def test_expected_errors_are_those_of_simulation(noise: Geometric | DiscreteGaussian) -> None:
    """The mean and the mean square of 4,000 releases, each within 7 standard errors of what was said without data.

    Means have Gaussian tails to within 1e-11 at 7 standard errors; squares of the largest query are taken with their
    fourth moment, at most 6 times the squared variance, and as many standard errors and a half more.
    """
    mechanism = MatrixMechanism(workload=RANGES, strategy=Strategy(Haar(4)), noise=noise)
    data = np.array([12, 24, 6, 7])
    drawn = mechanism.part.draw_many(mechanism.strategy.answer(data), 4000, system_noise())
    errors = np.stack([mechanism.fit(row) for row in drawn]) - RANGES.answer(data)
    variances = mechanism.variances
    assert np.all(np.abs(errors.mean(axis=0)) <= 7 * np.sqrt(variances / 4000))
    share = (errors**2).mean(axis=0) / variances
    assert np.all(np.abs(share - 1) <= 8.5 * math.sqrt(5 / 4000))
    assert mechanism.root_mean_square_error == pytest.approx(math.sqrt(variances.mean()))


def test_the_bound_from_singular_values() -> None:
    for workload in (RANGES, Workload.marginals((2, 3), 1), Workload.kron(RANGES, Workload.prefixes(3))):
        values = np.linalg.svd(workload.matrix.dense(), compute_uv=False)
        assert workload.svd_bound() == pytest.approx(values.sum() / math.sqrt(workload.cells * workload.queries))
        identity = Strategy(Identity(workload.cells))
        assert workload.svd_bound() <= workload.root_mean_square(identity, L2) * (1 + 1e-12)


def test_fractions_of_the_grid() -> None:
    assert Strategy(Haar(4)).sensitivity(L2) ** 2 >= 3
    assert float(Strategy(Haar(4)).sensitivity(L2)) == pytest.approx(math.sqrt(3))
    assert isinstance(Strategy(Haar(4)).sensitivity(L1), Fraction)
