"""Methods that are linear in the data: identity, hierarchical, quad-tree, equi-width, uniform."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.checks.law import coverage_is_refuted
from dither.errors import InvalidParameter, NoGuarantee
from dither.estimate.trees import TreeVariances, mean_range_variance
from dither.mechanisms import Composed, Geometric, Runner
from dither.noise import system_noise
from dither.privacy import ZCDP, ApproxDP, PureDP, Use
from dither.publish.histograms import (
    EquiWidthHistogram,
    HierarchicalHistogram,
    IdentityHistogram,
    QuadTree,
    UniformHistogram,
)
from dither.publish.histograms.common import combination_reach, variance_of
from dither.publish.histograms.hierarchical import best_tree

#: Noise so narrow that it is 0 but for a probability of e^-(2^39).
STILL = Geometric(scale=Fraction(1, 2**40))


def run(mechanism: Composed[Any, Any], counts: Any) -> Any:
    return Runner(Use(mechanism), system_noise())(mechanism, counts)


@given(st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=20), st.integers(2, 5))
def test_without_noise_the_counts_are_the_counts(counts: list[int], fan: int) -> None:
    data = np.array(counts)
    levels = 1
    while fan ** (levels - 1) < len(counts) and levels < 3:
        levels += 1
    tree = HierarchicalHistogram(cells=len(counts), branching=fan, levels=(STILL,) * levels)
    assert run(tree, data) == pytest.approx(data, rel=1e-9, abs=1e-3)
    assert run(IdentityHistogram(shape=len(counts), node=STILL), data).tolist() == counts
    assert run(UniformHistogram(shape=len(counts), node=STILL), data) == pytest.approx(
        np.full(len(counts), np.mean(counts))
    )


def test_blocks_are_spread_evenly() -> None:
    plane = np.arange(15).reshape(3, 5)
    out = run(EquiWidthHistogram(shape=(3, 5), widths=(2, 3), node=STILL), plane)
    assert out[0, 0] == pytest.approx(plane[:2, :3].mean())
    assert out[2, 4] == pytest.approx(plane[2:, 3:].mean())
    assert out.sum() == pytest.approx(plane.sum())


def test_a_quad_tree_fits_squares() -> None:
    plane = np.arange(35).reshape(5, 7)
    tree = QuadTree(shape=(5, 7), levels=(STILL,) * 3)
    assert run(tree, plane) == pytest.approx(plane, abs=1e-6)
    wide = run(QuadTree(shape=(5, 7), leaf=2, levels=(STILL, STILL)), plane)
    assert wide[4, 6] == 34
    assert wide[0, 0] == pytest.approx(plane[:2, :2].mean())


@pytest.mark.parametrize("target", [PureDP(1), ZCDP("1/2"), ApproxDP(1, "1/1000000")])
def test_calibration_stays_within_its_target(target: Any) -> None:
    for mechanism in (
        IdentityHistogram.calibrated(target, shape=(3, 4)),
        UniformHistogram.calibrated(target, shape=12),
        EquiWidthHistogram.calibrated(target, shape=12, widths=4),
        HierarchicalHistogram.calibrated(target, cells=200),
        HierarchicalHistogram.calibrated(target, cells=200, branching=4, even=True),
        QuadTree.calibrated(target, shape=(20, 31)),
    ):
        assert mechanism.loss(1) <= target
    tight = HierarchicalHistogram.calibrated(PureDP("1/10"), cells=4096)
    assert tight.loss(1).epsilon == Fraction(1, 10)


def test_levels_are_added_up() -> None:
    """A cell lies in one block of every level: three levels cost three times, not log2(8) times one less."""
    tree = HierarchicalHistogram(cells=8, branching=2, levels=(Geometric(scale=3),) * 3)
    assert tree.loss(1).epsilon == 1
    assert tree.sizes == (8, 4, 2)


def test_ten_ranges_on_four_cells_have_forty_times_the_variance_of_a_cell() -> None:
    """Of the survey's worked comparison, with continuous noise of epsilon 1: unit bins have 40."""
    assert 10 * mean_range_variance(4, 2, [2.0]) == pytest.approx(40)


@pytest.mark.parametrize(("cells", "is_pure"), [(16, True), (64, True), (256, True), (1024, True), (256, False)])
def test_no_even_tree_is_better_than_the_chosen_one(cells: int, is_pure: bool) -> None:
    def mean(fan: int, shares: tuple[float, ...]) -> float:
        return mean_range_variance(cells, fan, [2 / s**2 if is_pure else 1 / (2 * s) for s in shares])

    chosen = mean(*best_tree(cells, is_pure))
    for fan in range(2, 65):
        for levels in range(1, 11):
            if fan ** (levels - 1) < cells:
                assert chosen <= mean(fan, (1 / levels,) * levels) * 1.01


def test_flat_is_best_for_few_cells_and_trees_for_many() -> None:
    assert len(best_tree(16, True)[1]) == 1
    fan, shares = best_tree(4096, True)
    identity = 2 * (4096 + 2) / 3
    assert mean_range_variance(4096, fan, [2 / share**2 for share in shares]) < identity / 10


def test_variances_are_those_of_least_squares() -> None:
    tree = HierarchicalHistogram(cells=10, branching=3, levels=(Geometric(scale=2), Geometric(scale=5)))
    rows = np.vstack([np.eye(10), np.repeat(np.eye(4), 3, axis=1)[:, :10]])
    weights = np.repeat([1 / variance_of(node) for node in tree.levels], [10, 4])
    covariance = np.linalg.inv(rows.T @ (weights[:, None] * rows))
    assert tree.variances.cells == pytest.approx(np.diag(covariance))
    assert tree.range_variance(2, 9) == pytest.approx(covariance[2:9, 2:9].sum())


def test_the_mean_over_all_ranges_is_told_beforehand() -> None:
    tree = HierarchicalHistogram(cells=12, branching=3, levels=(Geometric(scale=2), Geometric(scale=5)))
    each = [tree.range_variance(start, stop) for start in range(12) for stop in range(start + 1, 13)]
    assert tree.mean_range_variance == pytest.approx(np.mean(each))


@pytest.mark.parametrize("scale", ["1/4", "1/2", 1, 3, 50])
def test_the_variance_of_discrete_noise_is_exact(scale: Any) -> None:
    numbers = np.arange(-4000, 4001)
    law = np.exp(-np.abs(numbers) / float(Fraction(scale)))
    assert variance_of(Geometric(scale=scale)) == pytest.approx((numbers**2 * law).sum() / law.sum(), rel=1e-9)


@pytest.mark.parametrize("scale", [1, 4])
def test_the_reach_of_a_combination_covers_its_exact_law(scale: int) -> None:
    """X + Y / 2 + Z / 2 of discrete Laplace noise, by convolution."""
    numbers = np.arange(-60 * scale, 60 * scale + 1)
    law = np.exp(-np.abs(numbers) / scale)
    law /= law.sum()
    doubled = np.zeros(2 * law.size - 1)
    doubled[::2] = law
    total = np.convolve(np.convolve(doubled, law), law)
    places = (np.arange(total.size) - total.size // 2) / 2
    node = Geometric(scale=scale)
    for failure in (0.5, 0.1, 1e-3, 1e-6):
        reach = combination_reach([node], 1.5 * variance_of(node), failure)
        assert total[np.abs(places) > reach].sum() <= failure


N, ALARM = 1500, 1e-10


@pytest.mark.statistical(n=N, false_alarm=2 * ALARM, catches="intervals or variances that are too small")
@pytest.mark.parametrize("kind", ["geometric", "gaussian"])
def test_intervals_cover_all_cells_at_once(kind: str) -> None:
    target = PureDP(1) if kind == "geometric" else ZCDP("1/8")
    tree = HierarchicalHistogram.calibrated(target, cells=6, branching=2)
    truth = np.array([5, 0, 9, 2, 7, 1])
    drawn = np.array([run(tree, truth) for _ in range(N)])
    interval = tree.interval(drawn, "0.9")
    inside = ((interval.low <= truth) & (truth <= interval.high)).all(axis=1)
    assert not coverage_is_refuted(int(inside.sum()), N, 0.9, ALARM)
    # The variance of so many draws has a standard deviation of 6 % at most; twice it has a chance below e^-50.
    spread = drawn[:, 1:5].sum(axis=1).var()
    assert 0.5 < spread / tree.range_variance(1, 5) < 2


@pytest.mark.parametrize(
    "build",
    [
        lambda: IdentityHistogram(shape=(), node=STILL),
        lambda: IdentityHistogram(shape=(10**5, 10**4), node=STILL),
        lambda: EquiWidthHistogram(shape=(3, 3), widths=2, node=STILL),
        lambda: HierarchicalHistogram(cells=4, branching=4, levels=(STILL,) * 3),
        lambda: QuadTree(shape=4, levels=(STILL,)),
        lambda: QuadTree(shape=(4, 4), levels=(STILL,) * 5),
        lambda: HierarchicalHistogram.calibrated(PureDP(0), cells=4),
    ],
)
def test_what_makes_no_sense_is_refused(build: Any) -> None:
    with pytest.raises((InvalidParameter, NoGuarantee)):
        build()


def test_the_tree_is_told_before_any_number_is() -> None:
    assert isinstance(HierarchicalHistogram.calibrated(PureDP(1), cells=50).variances, TreeVariances)
