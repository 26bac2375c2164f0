"""Clusters: what one point moves, beside slow twins, and where centres go without noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, Budget, PureDP, release
from dither.errors import InvalidParameter
from dither.learn.clusters import BlockClusters, GridClusters, LloydClusters
from dither.learn.clusters.lloyd import packed
from dither.learn.clusters.points import LENGTH, cluster_sums, nearest, spread_starts, weighted_clusters
from dither.learn.clusters.zones import zoned
from dither.mechanisms.geometric import Geometric

PUBLIC = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 3.0, 10.0], "clusters": 3}


def points_of(count: int) -> np.ndarray:
    draw = np.random.default_rng()
    rows = np.column_stack([draw.uniform(-2, 2, count), draw.uniform(-1, 5, count), draw.normal(5, 5, count)])
    rows[draw.random(rows.shape) < 0.05] = np.nan
    return rows


def test_nearest_is_that_of_whole_numbers() -> None:
    draw = np.random.default_rng()
    points, centres = draw.integers(-9000, 9000, (200, 3)), draw.integers(-9000, 9000, (5, 3))
    centres[4] = centres[2]  # the first of equals
    slow = [
        min(range(5), key=lambda c: sum((int(a) - int(b)) ** 2 for a, b in zip(p, centres[c], strict=True)))
        for p in points
    ]
    assert nearest(points.astype(float), centres.astype(float)).tolist() == slow
    sums = cluster_sums(points.astype(float), centres.astype(float), 7)
    for centre in range(5):
        inside = [point for point, owner in zip(points.tolist(), slow, strict=True) if owner == centre]
        assert sums[centre].tolist() == [sum(p[j] for p in inside) for j in range(3)] + [7 * len(inside)]


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("zone", ["mean", "past", "future"])
def test_one_point_moves_each_step_by_its_stability_at_most(silent, pure: bool, zone: str) -> None:
    target = PureDP(1) if pure else ApproxDP(1, "1e-6")
    learner = LloydClusters.calibrated(target, **PUBLIC, steps=4, zone=zone)
    assert learner.loss(1) <= target
    rows = points_of(60)
    first = silent()
    learner.release(rows, first)
    answers = [value for _, value, _ in first.seen]
    assert len(answers) == 5
    farthest = 0.0
    for gone in range(0, 60, 2):
        run = silent(answers)
        learner.release(np.delete(rows, gone, axis=0), run)
        for (_, here, stability), (_, there, _) in zip(first.seen[1:], run.seen[1:], strict=True):
            change = [int(entry) for entry in (here - there).ravel()]
            moved = Fraction(sum(map(abs, change))) if pure else Fraction(sum(entry**2 for entry in change))
            bound = stability if pure else stability**2
            assert moved <= bound
            farthest = max(farthest, float(moved / bound))
    assert farthest > 0.3


@pytest.mark.parametrize("schedule", ["even", "halving"])
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP("0.7"), ApproxDP(1, "1e-6")])
def test_all_kinds_stay_within_their_target(target, unit, schedule: str) -> None:
    lloyd = LloydClusters.calibrated(target, **PUBLIC, schedule=schedule, steps=5, unit=unit)
    assert lloyd.loss(1) <= target
    assert isinstance(target, ApproxDP) or lloyd.loss(1).epsilon > target.epsilon * Fraction(99, 100)
    assert GridClusters.calibrated(target, **PUBLIC, unit=unit).loss(1) <= target
    assert BlockClusters.calibrated(target, **PUBLIC, unit=unit).loss(1) <= target


def test_halving_gives_each_step_half_of_the_one_before() -> None:
    losses = [
        part.loss(1).epsilon
        for part in LloydClusters.calibrated(PureDP(1), **PUBLIC, schedule="halving", steps=4).parts
    ]
    for earlier, later in pairwise(losses):
        assert abs(earlier / later - 2) < 1e-9


def test_one_point_moves_one_cell_of_a_grid(silent) -> None:
    grid = GridClusters.calibrated(PureDP(1), **PUBLIC, side=4)
    rows, first = points_of(30), silent()
    grid.release(rows, first)
    assert first.seen[0][1].sum() == 30
    for gone in range(30):
        run = silent()
        grid.release(np.delete(rows, gone, axis=0), run)
        assert np.abs(first.seen[0][1] - run.seen[0][1]).sum() == 1


def test_one_point_moves_the_answer_of_one_block(silent) -> None:
    learner = BlockClusters.calibrated(PureDP(1), **PUBLIC, blocks=4)
    rows, first = points_of(40), silent()
    learner.release(rows, first)
    ((_, here, stability),) = first.seen
    assert stability == 3 * 3 * 4096
    shuffled = silent()
    learner.release(np.random.default_rng().permutation(rows), shuffled)
    assert (shuffled.seen[0][1] == here).all()  # the order of the rows decides nothing
    for gone in range(40):
        run = silent()
        learner.release(np.delete(rows, gone, axis=0), run)
        apart = np.abs(here - run.seen[0][1])
        assert apart[:-1].max() <= 4096  # two blocks could move a number by more than one range
        assert apart.sum() <= stability
    empty = silent()
    learner.release(rows[:0], empty)
    assert (empty.seen[0][1] == 0).all()


@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, "1e-6")])
def test_a_block_that_is_no_longer_empty_moves_the_draw_no_farther_than_an_answer_does(silent, target) -> None:
    learner = BlockClusters.calibrated(target, **PUBLIC, blocks=4)
    for corner in ([1.0, 3.0, 10.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 10.0]):
        run = silent()
        learner.release(np.array([corner]), run)  # every number is as far from the middle as it can be
        ((part, there, stability),) = run.seen
        moved = Fraction(int(np.abs(there).sum())) if isinstance(part, Geometric) else sum(int(n) ** 2 for n in there)
        bound = stability if isinstance(part, Geometric) else stability**2
        assert 0.999 * bound < moved <= bound


def test_empty_blocks_do_not_pull_the_mean(silent) -> None:
    """Twenty points in thirty-two blocks leave more than ten of them empty."""
    rows = np.random.default_rng().uniform(0.1, 0.2, (20, 1))
    learner = BlockClusters.calibrated(PureDP(1), lower=[0], upper=[1], clusters=1)
    assert 0.1 <= learner.release(rows, silent()).places[0, 0] <= 0.2


def blobs(count: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng()
    centres = np.array([[-0.7, 0.4, 1.0], [0.7, 2.6, 9.0], [0.0, 1.5, 5.0]])
    own = draw.integers(0, 3, count)
    return centres[own] + draw.normal(0, 0.02, (count, 3)) * [1, 1, 3], centres


@pytest.mark.parametrize("kind", [LloydClusters, GridClusters, BlockClusters])
def test_without_noise_clear_clusters_are_found(silent, kind) -> None:
    rows, centres = blobs(3000)
    found = kind.calibrated(PureDP(1000), **PUBLIC).release(rows, silent()).places
    scaled = np.abs(found[:, None] - centres[None]) / [2, 3, 10]
    assert scaled.max(axis=2).min(axis=0).max() < 0.05
    assert sorted(scaled.max(axis=2).argmin(axis=0).tolist()) == [0, 1, 2]


def test_a_private_release_finds_clear_clusters() -> None:
    rows, centres = blobs(3000)
    model = release(GridClusters.calibrated(PureDP(5), **PUBLIC), rows, budget=Budget(epsilon=5, unit=ROW)).value
    assert (np.abs(model.places[:, None] - centres[None]) / [2, 3, 10]).max(axis=2).min(axis=0).max() < 0.2


def test_starts_are_public_apart_and_within_the_ball() -> None:
    for clusters, columns in ((1, 3), (2, 1), (7, 2), (20, 30)):
        start = packed(clusters, columns, "k")
        assert start.shape == (clusters, columns)
        assert (np.linalg.norm(start, axis=1) <= 1 + 1e-9).all()
        gaps = np.linalg.norm(start[:, None] - start[None], axis=2) + 9 * np.eye(clusters)
        assert gaps.min() > 0.1
        assert (start == packed(clusters, columns, "k")).all()


def test_weighted_clusters_match_repeated_points() -> None:
    places, weights = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([3.0, 1.0, 1.0, 1.0])
    starts = spread_starts(places, weights, 2, np.array([[0.1, 0.9], [0.5, 0.5]]))
    centres, held = weighted_clusters(places, weights, 2, starts)
    assert sorted(zip(centres[:, 0].tolist(), held.tolist(), strict=True)) == [(0.25, 4.0), (10.5, 2.0)]


@pytest.mark.parametrize("zone", ["past", "future"])
def test_zones_stay_nearer_to_the_mean_than_the_old_centre(zone: str) -> None:
    draw = np.random.default_rng()
    for columns in (1, 2, 5):
        before, old, means = draw.normal(0, LENGTH / 4, (3, 6, columns))
        moved = zoned(zone, before, old, means, 1, "k")
        start, middle = (old, means) if zone == "past" else (before, old)
        assert (np.linalg.norm(moved - middle, axis=1) < np.linalg.norm(start - middle, axis=1)).all()
        assert (moved != middle).any()
        again = zoned(zone, middle, middle, middle, 1, "k")
        assert (again == middle).all()  # nothing moved: the centre stays
    assert (zoned("future", before, old, means, 0, "k") == means).all()
    assert (zoned("mean", before, old, means, 1, "k") == means).all()


def test_little_to_spend_is_spent_on_the_survey_alone(silent) -> None:
    target = PureDP("0.05")
    learner = LloydClusters.calibrated(target, **PUBLIC)
    assert learner.parts == ()
    assert target.epsilon * Fraction(99, 100) < learner.loss(1).epsilon <= target.epsilon
    rows = points_of(50)
    run = silent()
    assert learner.release(rows, run).places.shape == (3, 3)
    (_, here, stability), radius = run.seen[0], here_radius(3)
    assert here[3] == 50 * radius
    for gone in range(50):
        other = silent()
        learner.release(np.delete(rows, gone, axis=0), other)
        change = [int(entry) for entry in here - other.seen[0][1]]
        assert sum(entry**2 for entry in change) <= stability**2


def here_radius(columns: int) -> int:
    """The radius of the ball: seven tenths of the distance of a corner."""
    return int(np.ceil(0.7 * 4096 * np.sqrt(columns)))


def test_declarations_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="zone"):
        LloydClusters.calibrated(PureDP(1), **PUBLIC, zone="here")
    with pytest.raises(InvalidParameter, match="schedule"):
        LloydClusters.calibrated(PureDP(1), **PUBLIC, schedule="never")
    with pytest.raises(InvalidParameter, match="side"):
        GridClusters.calibrated(PureDP(1), lower=[0] * 30, upper=[1] * 30, clusters=2)
