"""Methods that follow the data: what they find with hardly any noise, what they promise, when they beat noise alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import Composed, Geometric, Runner, StabilitySelection
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP, Use
from dither.publish.histograms import (
    AdaptiveGrid,
    BisectedHistogram,
    ClusteredHistogram,
    Dawa,
    DpCube,
    LeastCostPartition,
    MedianTree,
    MergedHistogram,
    MostLikelyHistogram,
    PrivTree,
    SortedHistogram,
    StabilityHistogram,
    StructureFirst,
    UniformGrid,
)
from dither.publish.histograms.ahp import group_by_value
from dither.publish.histograms.common import labels_of_runs, variance_of
from dither.publish.histograms.dp_cube import _best_cut, _even_boxes
from dither.publish.histograms.priv_tree import squares_of
from dither.testing import record, replay

LOUD = PureDP(2**20)
STEPS = np.repeat([10**6, 0, 3 * 10**6, 5 * 10**5], [8, 8, 16, 32])
PLANE = np.zeros((16, 16), dtype=np.int64)
PLANE[:8, :8], PLANE[8:, 8:] = 10**6, 10**5


def run(mechanism: Composed[Any, Any], counts: Any) -> Any:
    return Runner(Use(mechanism), system_noise())(mechanism, counts)


@pytest.mark.parametrize(
    "mechanism",
    [
        MergedHistogram.calibrated(LOUD, cells=64),
        Dawa.calibrated(LOUD, cells=64),
        ClusteredHistogram.calibrated(LOUD, shape=64),
        StructureFirst.calibrated(LOUD, cells=64, buckets=4, bound=3 * 10**6),
        BisectedHistogram.calibrated(LOUD, cells=64, depth=5),
        DpCube.calibrated(LOUD, shape=64),
        MostLikelyHistogram.calibrated(LOUD, cells=64),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_steps_are_found_where_noise_is_small(mechanism: Composed[Any, Any]) -> None:
    assert mechanism.loss(1) <= LOUD
    assert run(mechanism, STEPS) == pytest.approx(STEPS, abs=1)


@pytest.mark.parametrize("runs", [1, 12, 64])
def test_runs_hide_nothing_that_the_tree_shows(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marks of a bought partition are put in by hand, and wrong: large counts are still told apart."""
    marks = np.zeros((1, 64), dtype=np.int8)
    marks[0, :runs] = 1
    monkeypatch.setattr(LeastCostPartition, "draw_many", lambda *_: marks)
    counts = 1000 * np.arange(64)
    assert run(Dawa.calibrated(LOUD, cells=64, share="3/20"), counts) == pytest.approx(counts, abs=1)


@pytest.mark.parametrize("share", [0, "1/30", "1/2"])
def test_dawa_draws_its_partition_only_where_it_is_paid_for(share: Any) -> None:
    method = Dawa(cells=9, epsilon="1/3", share=share)
    parts = [part.part for part in method.plan().plans]  # type: ignore[attr-defined]
    assert [type(part) for part in parts].count(LeastCostPartition) == (share != 0)
    assert sum(part.loss(1).epsilon for part in parts) == method.loss(1).epsilon <= Fraction(1, 3)
    assert method.loss(1).epsilon >= Fraction(33, 100)
    assert method.tree.branching & (method.tree.branching - 1) == 0


@pytest.mark.parametrize(
    "mechanism",
    [
        UniformGrid.calibrated(LOUD, shape=(16, 16)),
        AdaptiveGrid.calibrated(LOUD, shape=(16, 16)),
        PrivTree.calibrated(LOUD, side=16),
        DpCube.calibrated(LOUD, shape=(16, 16)),
        ClusteredHistogram.calibrated(LOUD, shape=(16, 16)),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_squares_are_found_where_noise_is_small(mechanism: Composed[Any, Any]) -> None:
    assert mechanism.loss(1) <= LOUD
    assert run(mechanism, PLANE) == pytest.approx(PLANE, abs=1)


ALL = {
    "noise-first": lambda target: MergedHistogram.calibrated(target, cells=50),
    "dawa": lambda target: Dawa.calibrated(target, cells=50),
    "ahp": lambda target: ClusteredHistogram.calibrated(target, shape=(5, 10)),
    "structure-first": lambda target: StructureFirst.calibrated(target, cells=50, buckets=5, bound=9),
    "one bucket": lambda target: StructureFirst.calibrated(target, cells=50, buckets=1, bound=9),
    "php": lambda target: BisectedHistogram.calibrated(target, cells=50),
    "uniform-grid": lambda target: UniformGrid.calibrated(target, shape=(5, 10)),
    "adaptive-grid": lambda target: AdaptiveGrid.calibrated(target, shape=(5, 10)),
    "priv-tree": lambda target: PrivTree.calibrated(target, side=8),
    "dp-cube": lambda target: DpCube.calibrated(target, shape=(5, 10)),
    "most-likely": lambda target: MostLikelyHistogram.calibrated(target, cells=50, branching=7),
    "median-tree": lambda target: MedianTree.calibrated(target, shape=(5, 10), depth=3),
    "sorted": lambda target: SortedHistogram.calibrated(target, cells=50),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("target", [PureDP("1/10"), ZCDP("1/100")], ids=str)
def test_calibration_stays_within_its_target(name: str, target: Any) -> None:
    mechanism = ALL[name](target)
    assert mechanism.loss(1) <= target
    # And not far below: a budget is there to be used.
    spent, given = (target.pure and (mechanism.loss(1).pure, target.pure)) or (mechanism.loss(1).rho, target.rho)
    assert spent >= given * Fraction(99, 100)


@pytest.mark.parametrize("name", [name for name in ALL if name != "sorted"])
def test_only_draws_look_at_counts(name: str) -> None:
    """On frozen draws a neighbour takes the same path to the same output, on larger data than the examples have."""
    mechanism = ALL[name](PureDP(3))
    shape = getattr(mechanism, "shape", None) or getattr(mechanism, "cells", None)
    shape = shape or ((8, 8) if name == "priv-tree" else 50)
    cells = np.arange(np.prod(shape), dtype=np.int64).reshape(shape) ** 2 % 23
    for place in (0, 7, cells.size - 1):
        for step in (1, -1):
            neighbour = cells.copy()
            neighbour.flat[place] += step
            assert replay(mechanism, cells, neighbour) == []


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_sorting_moves_no_two_histograms_farther_apart(counts: list[int]) -> None:
    cells = np.array(counts)
    for place in range(len(counts)):
        neighbour = cells.copy()
        neighbour[place] += 1
        assert np.abs(np.sort(cells) - np.sort(neighbour)).sum() == 1


def test_the_order_takes_noise_away() -> None:
    cells = np.repeat([2, 50, 400], [300, 80, 20])
    still = Geometric(scale=Fraction(1, 2**40))
    assert run(SortedHistogram(cells=400, node=still), cells) == pytest.approx(np.sort(cells))
    assert run(SortedHistogram(cells=400, node=still, top=400), cells) == pytest.approx(np.sort(cells), abs=1e-3)
    loud, truth = Geometric(scale=20), np.sort(cells)
    out, tape, _ = record(SortedHistogram(cells=400, node=loud), cells)
    # A projection onto a convex set that holds the truth comes no farther from it, whatever the noise was.
    assert np.linalg.norm(out - truth) <= np.linalg.norm(tape.events[0].out - truth)
    assert (np.diff(out) >= -1e-9).all()
    bayes = run(SortedHistogram(cells=400, node=loud, top=420), cells)
    assert (np.diff(bayes) >= -1e-9).all()
    assert 0 <= bayes.min() <= bayes.max() <= 420


def test_median_boxes_hold_what_they_hold() -> None:
    """Boxes are disjoint and cover the plane, so the total is kept."""
    out = run(MedianTree.calibrated(LOUD, shape=(16, 16), depth=6), PLANE)
    assert out.sum() == pytest.approx(PLANE.sum(), rel=1e-9)


def test_the_most_likely_counts_are_not_negative() -> None:
    cells = np.array([0, 0, 5, 0, 0, 0, 40, 0, 1])
    method = MostLikelyHistogram.calibrated(PureDP("1/5"), cells=9, branching=3)
    assert (run(method, cells) >= -1e-9).all()
    matrix = method._matrix().toarray()
    assert matrix[:9].tolist() == np.eye(9).tolist()
    assert matrix[9:].tolist() == np.repeat(np.eye(3), 3, axis=1).tolist()


def test_groups_are_of_similar_values() -> None:
    noisy = np.array([100.0, 0.3, 99.0, -0.4, 0.2, 50.0])
    labels = group_by_value(noisy, variance=2.0, fresh=2.0)
    assert labels[0] == labels[2]
    assert labels[1] == labels[3] == labels[4]
    assert len(set(labels.tolist())) == 3


@given(st.lists(st.integers(-60, 60), min_size=12, max_size=12), st.sampled_from([(12,), (3, 4), (2, 3, 2)]))
def test_a_box_is_cut_where_that_is_expected_to_help_most(cells: list[int], shape: tuple[int, ...]) -> None:
    """Against every cut of every axis, with the cost of each box written out."""
    noisy, first, second = np.array(cells, dtype=float).reshape(shape), 5.0, 3.0

    def cost(box: np.ndarray) -> float:
        spread = ((box - box.mean()) ** 2).sum()
        return float(spread - (box.size - 1) * first + 1 / (1 / first + box.size / second))

    gains = {}
    for axis, length in enumerate(shape):
        for place in range(1, length):
            left, right = np.split(noisy, [place], axis=axis)
            gains[(axis, place)] = cost(noisy) - cost(left) - cost(right)
    margin = 2 * first * np.log1p(sum(length - 1 for length in shape))
    found = _best_cut(noisy, first, second)
    assert (found is None) == (max(gains.values()) <= margin)
    assert found is None or gains[found] == pytest.approx(max(gains.values()))
    labels = _even_boxes(noisy, first, second, depth=3)
    assert sorted(set(labels.ravel().tolist())) == list(range(labels.max() + 1))


def test_coarse_blocks_are_divided_as_finely_as_they_ask() -> None:
    grid = AdaptiveGrid.calibrated(PureDP(1), shape=(6, 9))
    blocks = grid._blocks(2.0)
    assert blocks[0, 0] == 0
    assert blocks[-1, -1] == 3
    labels, parents = grid._divided(blocks, np.array([1, 2, 3, 99]))
    sizes = np.bincount(parents)
    # One block stays whole; 3 x 4 and 3 x 5 cells are divided in 2 x 2, 3 x 3 and cell by cell.
    assert sizes.tolist() == [1, 4, 9, int((blocks == 3).sum())]
    for label, parent in enumerate(parents.tolist()):
        inside = labels == label
        assert (blocks[inside] == parent).all()
        rows, columns = np.nonzero(inside)
        assert inside.sum() == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)


def test_runs_and_squares_are_numbered() -> None:
    assert labels_of_runs(np.array([0, 1, 4]), 6).tolist() == [0, 1, 1, 1, 2, 2]
    depths = np.zeros((4, 4), dtype=np.int8)
    depths[:2, :2] = 2
    depths[depths == 0] = 1
    assert np.bincount(squares_of(depths).ravel()).tolist() == [1, 1, 4, 1, 1, 4, 4]


def test_bins_of_numbers_without_bounds() -> None:
    still = StabilitySelection(unit=ROW, max_keys=1, scale=Fraction(1, 2**40), threshold=2)
    rows = [0.1, 0.2, -0.1, 1e6, 10**6, True, "x", float("nan"), float("inf"), None, np.float64(0.4), 2**400]
    found = run(StabilityHistogram(width="1/2", selection=still), rows)
    assert found == {0: 3, 2 * 10**6: 2}
    assert list(found) == sorted(found)


def test_the_stability_histogram_is_priced_as_its_selection() -> None:
    target = ApproxDP(1, "1/100000")
    for unit in (ROW, ROW_REPLACED):
        method = StabilityHistogram.calibrated(target, unit=unit, width=1, fresh=True)
        assert method.loss(1) <= target
        assert method.loss(1) == method.selection.loss(1)
        interval = method.interval({3: 40, -2: 25}, "0.9")
        assert set(interval.low) == {3, -2}
        assert interval.low[3] <= 40 <= interval.high[3]
    with pytest.raises(InvalidParameter):
        StabilityHistogram(width=1, selection=StabilitySelection(unit=ROW, max_keys=2, scale=1, threshold=3))


@pytest.mark.parametrize("rows", [0, 60, 10**4])
def test_averages_of_dawa_stay_where_its_intervals_reach(rows: int) -> None:
    """For every draw: the interval holds what lies within the tree's own error of its least-squares estimates."""
    method = Dawa.calibrated(PureDP("1/2"), cells=20)
    truth = np.full(20, rows // 20)
    truth[3] += rows // 3
    out, tape, is_finished = record(method, truth)
    assert is_finished
    noisy = [np.asarray(call.out, dtype=np.float64) for call in tape.events]
    sums = np.concatenate(
        [
            np.kron(np.eye(-(-20 // wide)), np.ones(wide))[:, :20]
            for wide in method.tree.branching ** np.arange(len(noisy))
        ]
    )
    weights = np.concatenate(
        [np.full(one.size, variance_of(node) ** -0.5) for one, node in zip(noisy, method.tree.levels, strict=True)]
    )
    plain = np.linalg.lstsq(sums * weights[:, None], np.concatenate(noisy) * weights, rcond=None)[0]
    assert (np.abs(out - plain) <= method.leeway + 1e-9).all()
    for confidence in ("0.5", "0.95"):
        half = method.tree.error(confidence).value
        interval = method.interval(out, confidence)
        assert (interval.low <= plain - half + 1e-9).all()
        assert (interval.high >= plain + half - 1e-9).all()
        assert method.error(confidence).value == pytest.approx(half + method.leeway)


@pytest.mark.parametrize("data", [np.zeros(3), np.zeros((2, 2), dtype=int), [1, 2], "abc", np.array([True] * 50)])
@pytest.mark.parametrize("name", ["dawa", "structure-first", "php", "noise-first"])
def test_data_of_another_shape_is_refused(name: str, data: Any) -> None:
    with pytest.raises(InvalidValue):
        run(ALL[name](PureDP(1)), data)


@pytest.mark.parametrize(
    "build",
    [
        lambda: UniformGrid.calibrated(PureDP(1), shape=(4,)),  # type: ignore[arg-type]
        lambda: AdaptiveGrid.calibrated(PureDP(1), shape=(4, 4, 4)),  # type: ignore[arg-type]
        lambda: PrivTree.calibrated(PureDP(1), side=12),
        lambda: DpCube.calibrated(PureDP(1), shape=(2,) * 5),
        lambda: SortedHistogram(cells=2**20, node=Geometric(scale=1), top=2**20),
        lambda: MedianTree(shape=(4, 4, 4), epsilon=1, depth=2),
        lambda: MostLikelyHistogram.calibrated(PureDP(1), cells=10**5),
        lambda: StructureFirst.calibrated(PureDP(1), cells=4, buckets=2, bound=2**30),
    ],
)
def test_what_makes_no_sense_is_refused(build: Any) -> None:
    with pytest.raises(InvalidParameter):
        build()
