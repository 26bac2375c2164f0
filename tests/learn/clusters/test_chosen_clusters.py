"""Choices among candidates, and bags of samples: costs beside slow twins, and the way in which one point moves them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, PureDP
from dither.errors import InvalidParameter
from dither.learn.clusters import BootstrapMeans, ChosenSubspaces, PrivGene, VotedSubspaces
from dither.learn.clusters.priv_gene import WORST

PUBLIC = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 3.0, 10.0], "clusters": 2}


def points_of(count: int) -> np.ndarray:
    draw = np.random.default_rng()
    return np.column_stack([draw.uniform(-2, 2, count), draw.uniform(-1, 5, count), draw.normal(5, 5, count)])


def test_a_point_more_lowers_every_score_of_a_search_by_its_own_cost(silent) -> None:
    search = PrivGene.calibrated(PureDP(1), **PUBLIC, generations=3, population=6)
    assert search.loss(1).epsilon == 1
    rows, answers = points_of(30), [1, 4, 0, 5, 2]
    first = silent(answers)
    model = search.release(rows, first)
    assert len(first.seen) == 5
    without = silent(answers)
    assert search.release(rows[1:], without) == model  # candidates hold nothing of the points
    for (_, here, stability), (_, there, _) in zip(first.seen, without.seen, strict=True):
        change = there - here
        assert stability == WORST
        assert ((change >= 0) & (change <= WORST)).all()
    steps, centres = search.frame.steps(rows).astype(int), np.rint(model.centres.values * 4096).astype(int)
    part = -(-int(0.49 * 4096**2 * 3) // 1024)
    cost = sum(
        min(min(sum((a - b) ** 2 for a, b in zip(p, c, strict=True)) for c in centres.tolist()) // part, 1024)
        for p in steps.tolist()
    )
    assert -first.seen[-1][1][2] == cost


def test_children_are_made_of_their_parents() -> None:
    search = PrivGene.calibrated(PureDP(1), **PUBLIC, population=64)
    first, second = np.zeros((2, 3)), np.full((2, 3), 1000.0)
    children = search._children(first, second, 0)
    assert (children[0] == first).all()
    assert (children[1] == second).all()
    unmoved = ((children == 0) | (children == 1000)).all(axis=2)
    assert 0 < unmoved.sum() < unmoved.size
    assert (np.abs(children) <= 4096).all()


def test_a_search_without_noise_gets_better(silent) -> None:
    class Best(silent):
        def __call__(self, part, value, *, stability=1):
            super().__call__(part, value, stability=stability)
            return int(np.argmax(value))

    draw = np.random.default_rng()
    rows = np.where(draw.random((500, 1)) < 0.5, [[-0.5, 0.6, 2.0]], [[0.5, 2.4, 8.0]])
    run = Best()
    PrivGene.calibrated(PureDP(1), **PUBLIC, generations=8).release(rows, run)
    best = [value.max() for _, value, _ in run.seen]
    assert all(later >= earlier for earlier, later in pairwise(best))
    assert best[-1] > best[0]


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP("0.7"), ApproxDP(1, "1e-6")])
def test_losses_stay_within_their_target(target, unit) -> None:
    assert PrivGene.calibrated(target, **PUBLIC, unit=unit).loss(1) <= target
    assert ChosenSubspaces.calibrated(target, **PUBLIC, size=1, unit=unit).loss(1) <= target
    if isinstance(target, PureDP):
        assert PrivGene.calibrated(target, **PUBLIC, unit=unit).loss(1).epsilon > target.epsilon * Fraction(99, 100)


def test_costs_of_subspaces_match_a_slow_twin(silent) -> None:
    chosen = ChosenSubspaces.calibrated(PureDP(1), lower=[-1] * 4, upper=[1] * 4, clusters=2, size=2)
    rows = np.random.default_rng().uniform(-1.2, 1.2, (25, 4))
    steps = chosen.frame.steps(rows)
    part, sets = 4096**2 * 4 // 4096, list(combinations(range(4), 2))
    slow = [
        sum(
            min(min(sum(int(row[j]) ** 2 for j in range(4) if j not in own) // part, 1024) for own in pair)
            for row in steps
        )
        for pair in combinations(sets, 2)
    ]
    assert chosen.costs(steps).tolist() == slow
    less = chosen.costs(steps[1:])
    assert ((np.array(slow) - less >= 0) & (np.array(slow) - less <= 1024)).all()
    model = chosen.release(rows, silent([int(np.argmin(slow))]))
    assert model.subspaces.values.sum(axis=1).tolist() == [2, 2]
    assert set(model.labels(rows)) <= {0, 1}


def test_clear_subspaces_cost_least() -> None:
    draw = np.random.default_rng()
    rows = draw.normal(0, 0.01, (200, 5))
    rows[:100, [0, 1]] = draw.uniform(-1, 1, (100, 2))
    rows[100:, [3, 4]] = draw.uniform(-1, 1, (100, 2))
    chosen = ChosenSubspaces.calibrated(PureDP(1), lower=[-1] * 5, upper=[1] * 5, clusters=2, size=2)
    best = chosen.candidates[int(chosen.costs(chosen.frame.steps(rows)).argmin())]
    assert chosen.sets[best].tolist() == [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]


def test_bags_are_sampled_and_one_point_moves_one_cluster(silent) -> None:
    rates: list[Fraction] = []

    class Everything(silent):
        def sampled(self, data, rate):
            rates.append(rate)
            return data, self

    rows, centres = points_of(40), [[-0.5, 1.0, 2.0], [0.5, 2.0, 8.0]]
    public = {"lower": PUBLIC["lower"], "upper": PUBLIC["upper"], "centres": centres}
    last = BootstrapMeans.calibrated(PureDP(1), **public, rate="1/4", bags=2)
    assert Fraction(99, 100) < last.loss(1).epsilon <= 1
    first = Everything()
    last.release(rows, first)
    assert rates == [Fraction(1, 4)] * 2
    for gone in range(40):
        run = Everything()
        last.release(np.delete(rows, gone, axis=0), run)
        change = first.seen[0][1] - run.seen[0][1]
        assert np.abs(change).sum() <= first.seen[0][2]
        assert (change[:, -1] != 0).sum() == 1


def test_one_point_moves_one_vote_of_a_block() -> None:
    for unit, touched in ((ROW, 1), (ROW_REPLACED, 2)):
        voted = VotedSubspaces.calibrated(
            PureDP(1), lower=[-1] * 4, upper=[1] * 4, clusters=2, size=1, blocks=6, unit=unit
        )
        assert voted.loss(1).epsilon == 1
        rows = np.random.default_rng().normal(0, 0.4, (25, 4))
        steps = voted.frame.steps(rows)
        votes = voted.votes(steps)
        assert 0 < votes.sum() <= 6
        assert (voted.votes(np.random.default_rng().permutation(steps)) == votes).all()
        for gone in range(25):
            fewer = np.delete(steps, gone, axis=0)
            other = voted.votes(fewer if unit == ROW else np.vstack([fewer, [[4096, 0, 0, -4096]]]))
            assert np.abs(votes - other).max() <= touched
            assert np.abs(votes - other).sum() <= 2 * touched
    assert voted.votes(steps[:0]).sum() == 0
    with pytest.raises(InvalidParameter, match="clusters"):
        VotedSubspaces.calibrated(PureDP(1), lower=[0] * 40, upper=[1] * 40, clusters=3, size=5)


def test_declarations_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="within"):
        BootstrapMeans.calibrated(ApproxDP(1, "1e-6"), lower=[0], upper=[1], centres=[[0.5]])
    with pytest.raises(InvalidParameter, match="rate"):
        BootstrapMeans.calibrated(PureDP(1), lower=[0], upper=[1], centres=[[0.5]], rate=2)
    with pytest.raises(InvalidParameter, match="centres"):
        BootstrapMeans.calibrated(PureDP(1), lower=[0, 0], upper=[1, 1], centres=[[0.5]])
    with pytest.raises(InvalidParameter, match="clusters"):
        ChosenSubspaces.calibrated(PureDP(1), lower=[0] * 30, upper=[1] * 30, clusters=5, size=9)
    with pytest.raises(InvalidParameter, match="population"):
        PrivGene.calibrated(PureDP(1), lower=[0] * 4096, upper=[1] * 4096, clusters=1000)
