"""A refined grid: what one point moves, beside a slow twin, and which centres are found."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP
from dither.errors import InvalidParameter
from dither.learn.clusters import RefinedClusters
from dither.learn.clusters.best_centres import best_centres
from dither.learn.clusters.points import squared_distances
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric

PUBLIC = {"lower": [-1.0, 0.0], "upper": [1.0, 3.0], "clusters": 3}


def points_of(count: int) -> np.ndarray:
    draw = np.random.default_rng()
    rows = np.column_stack([draw.uniform(-2, 2, count), draw.uniform(-1, 5, count)])
    rows[draw.random(rows.shape) < 0.05] = np.nan
    return rows


@pytest.mark.parametrize("target", [PureDP(1), ZCDP("0.1")])
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
def test_one_point_moves_each_draw_by_its_stability_at_most(silent, target, unit) -> None:
    learner = RefinedClusters.calibrated(target, **PUBLIC, side=4, unit=unit)
    assert learner.loss(1) <= target
    rows = points_of(300)
    first = silent()
    learner.release(rows, first)
    # Counts without noise are small beside its deviation, by which cells are divided: so they are raised.
    answers = [value * 1000 for _, value, _ in first.seen]
    first = silent(answers)
    learner.release(rows, first)
    assert [value.shape for _, value, _ in first.seen] == [(4, 4), (int(learner.room),), (3, 3)]
    assert np.count_nonzero(first.seen[1][1]) > 100  # cells were divided
    pure, farthest = isinstance(target, PureDP), [0.0] * 3
    for gone in range(0, 300, 30):
        run = silent(answers)
        learner.release(np.delete(rows, gone, axis=0), run)
        for place, ((_, here, stability), (_, there, _)) in enumerate(zip(first.seen, run.seen, strict=True)):
            change = [int(entry) for entry in (here - there).ravel()]
            moved = Fraction(sum(map(abs, change))) if pure else Fraction(sum(entry**2 for entry in change))
            bound = (stability if pure else stability**2) / (unit.touched if pure else unit.touched**2)
            assert moved <= bound
            farthest[place] = max(farthest[place], float(moved / bound))
    assert farthest[:2] == [1.0, 1.0]


def test_cells_and_sub_cells_are_those_of_a_slow_twin(silent) -> None:
    learner = RefinedClusters.calibrated(PureDP(1), **PUBLIC, side=3)
    rows = points_of(80)
    first = silent()
    learner.release(rows, first)
    answers = [value * 1000 for _, value, _ in first.seen]
    run = silent(answers)
    learner.release(rows, run)
    parts = learner._finer(answers[0].astype(float)).tolist()
    cells, sub_cells = np.zeros((3, 3), dtype=int), np.zeros(int(learner.room), dtype=int)
    for x, y in rows.tolist():
        steps = []
        for number, low, high in ((x, -1.0, 1.0), (y, 0.0, 3.0)):
            known = (low + high) / 2 if math.isnan(number) else min(max(number, low), high)
            steps.append(round((2 * ((known - low) / (high - low)) - 1) * 4096) + 4096)
        where = [Fraction(step, 8193) * 3 for step in steps]
        cell = [math.floor(share) for share in where]
        cells[cell[0], cell[1]] += 1
        number = 3 * cell[0] + cell[1]
        inside = [math.floor((share - math.floor(share)) * parts[number]) for share in where]
        sub_cells[sum(part**2 for part in parts[:number]) + inside[0] * parts[number] + inside[1]] += 1
    assert (run.seen[0][1] == cells).all()
    assert (run.seen[1][1] == sub_cells).all()


def test_sub_cells_have_room_whatever_was_counted(silent) -> None:
    learner = RefinedClusters.calibrated(PureDP(1), **PUBLIC, side=5)
    for counts in (10.0**9, 0.0, -5.0, 10.0**70):
        fine = learner._finer(np.full((5, 5), counts))
        assert fine.min() >= 1
        assert fine.max() <= 32
        assert (fine**2).sum() <= learner.room
    tight = RefinedClusters(
        **PUBLIC, side=5, room=25, cells=Geometric(scale=1), sub_cells=Geometric(scale=1), part=Geometric(scale=1)
    )
    assert (tight._finer(np.full((5, 5), 1e6)) == 1).all()
    assert tight.release(np.empty((0, 2)), silent()).places.shape == (3, 2)


def test_a_delta_is_left_where_an_epsilon_buys_less_noise() -> None:
    learner = RefinedClusters.calibrated(ApproxDP(1, "1e-6"), **PUBLIC)
    assert isinstance(learner.cells, Geometric)
    assert learner.loss(1) <= PureDP(1)
    assert isinstance(RefinedClusters.calibrated(ZCDP("0.1"), **PUBLIC).cells, DiscreteGaussian)
    wide = RefinedClusters.calibrated(ApproxDP(10, "0.1"), **PUBLIC)
    assert wide.loss(1) <= ApproxDP(10, "0.1")


def test_many_and_uneven_clusters_are_found_without_noise(silent) -> None:
    draw = np.random.default_rng()
    centres = np.array([[x, y] for x in (-0.8, -0.3, 0.2, 0.7) for y in (0.3, 0.9, 1.5, 2.1, 2.7)])
    sizes = np.where(np.arange(20) < 3, 1500, 40)
    rows = np.repeat(centres, sizes, axis=0) + draw.normal(0, 0.01, (sizes.sum(), 2))
    learner = RefinedClusters.calibrated(PureDP(20), lower=[-1, 0], upper=[1, 3], clusters=20)
    found = learner.release(rows, silent()).places
    assert np.abs(found[:, None] - centres[None]).max(axis=2).min(axis=0).max() < 0.02


def test_best_centres_put_one_where_it_is_missed() -> None:
    """Sixteen equal lumps: whatever the seed, each is given its own centre."""
    lumps = np.array([[x, y] for x in range(4) for y in range(4)], dtype=float)
    places = np.concatenate([lumps + shift for shift in ([0.01, 0], [-0.01, 0], [0, 0.01])])
    for seed in ("a", "b", "c"):
        found = best_centres(places, np.ones(len(places)), 16, public_seed=seed)
        assert squared_distances(places, found).min(axis=1).max() < 0.001
    assert np.allclose(best_centres(places, np.ones(len(places)), 1, public_seed=""), places.mean(axis=0))
    assert len(best_centres(places[:3], np.zeros(3), 3, public_seed="")) == 3


def test_declarations_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="side"):
        RefinedClusters.calibrated(PureDP(1), **PUBLIC, side=1000)
    noise = Geometric(scale=1)
    with pytest.raises(InvalidParameter, match="room"):
        RefinedClusters(**PUBLIC, side=5, room=24, cells=noise, sub_cells=noise, part=noise)


@pytest.mark.parametrize("count", [3, 2000])
def test_sub_cells_of_many_columns_are_not_counted_round_the_corner(silent, count: int) -> None:
    """32 parts along 18 columns are 2^90, of which 64 bits keep nothing: then points had no place, and it showed."""
    narrow = Geometric(scale=Fraction(1, 10**12))
    learner = RefinedClusters(
        lower=[0] * 18, upper=[1] * 18, clusters=2, side=1, room=8193, cells=narrow, sub_cells=narrow, part=narrow
    )
    run = silent()
    learner.release(np.full((count, 18), 0.99), run)
    assert [value.shape for _, value, _ in run.seen] == [(1,) * 18, (8193,), (2, 19)]
    assert run.seen[1][1].sum() == count
