"""Private choices of structure: sensitivities by brute force, laws computed exactly, programmes by enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.noise import system_noise
from dither.privacy import PureDP
from dither.publish.histograms import Bisection, LeastCostPartition, MedianCuts, QuarteringTree, StructureFirst
from dither.publish.histograms.bisection import _deviation, cuts_of
from dither.publish.histograms.structure_first import SquaredErrors

SMALL = [np.array(cells) for cells in itertools.product(range(4), repeat=4)]


def moves(cells: np.ndarray) -> list[np.ndarray]:
    return [cells + step for step in np.eye(len(cells), dtype=np.int64)]


# The least-cost partition.


def test_a_deviation_moves_by_two_minus_two_over_its_length() -> None:
    """By brute force, and the bound is reached on every length."""
    part = LeastCostPartition(cells=4, scale=1, price=0, starts=4)
    farthest = np.zeros(3)
    for cells in SMALL:
        here = part.costs(cells)
        for neighbour in moves(cells):
            there = part.costs(neighbour)
            changes = [np.abs(a - b).max() for a, b in zip(here, there, strict=True)]
            farthest = np.maximum(farthest, changes)
    assert (farthest / part.unit).tolist() == [0, 2 - 2 / 2, 2 - 2 / 4]


def test_costs_are_the_deviations() -> None:
    part = LeastCostPartition(cells=5, scale=1, price=0, starts=4)
    cells = np.array([3, 1, 4, 1, 5])
    for length, ends, costs in zip(part.lengths.tolist(), part._ends, part.costs(cells), strict=True):
        for end, cost in zip(ends.tolist(), costs.tolist(), strict=True):
            window = cells[end - length : end]
            assert cost / part.unit == pytest.approx(np.abs(window - window.mean()).sum())


def partitions(part: LeastCostPartition) -> list[tuple[tuple[int, int], ...]]:
    """All partitions into allowed intervals, each as (level, number) from left to right."""
    allowed = {
        (int(end - length), int(end)): (level, number)
        for level, (length, ends) in enumerate(zip(part.lengths.tolist(), part._ends, strict=True))
        for number, end in enumerate(ends.tolist())
    }

    def grown(start: int) -> list[tuple[tuple[int, int], ...]]:
        if start == part.cells:
            return [()]
        return [(key, *rest) for (first, end), key in allowed.items() if first == start for rest in grown(end)]

    return grown(0)


@given(st.integers(2, 6), st.sampled_from([1, 8]), st.data())
def test_the_programme_finds_the_cheapest_of_all_partitions(cells: int, starts: int, data: st.DataObject) -> None:
    part = LeastCostPartition(cells=cells, scale=1, price=0, starts=starts)
    noisy = [
        np.array([data.draw(st.lists(st.integers(-9, 9), min_size=ends.size, max_size=ends.size))])
        for ends in part._ends
    ]
    every = partitions(part)
    totals = [sum(int(noisy[level][0, number]) for level, number in one) for one in every]
    marks = part._best(noisy, 1)[0]
    chosen = [
        total
        for one, total in zip(every, totals, strict=True)
        if np.flatnonzero(marks).tolist()
        == [int(part._ends[level][number] - part.lengths[level]) for level, number in one]
    ]
    assert chosen == [min(totals)]
    in_python = part._best([cost.astype(object) for cost in noisy], 1)[0]
    assert in_python.tolist() == marks.tolist()


def laplace_law(scale: float, reach: int) -> np.ndarray:
    law = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return np.asarray(law / law.sum())


def chance_of_one_run(part: LeastCostPartition, cells: np.ndarray) -> float:
    """P[two cells stay together], exactly: the noise of the pair is at most that of both cells, after their costs."""
    single, pair = part.costs(cells)
    gap = int(single.sum() + 2 * part.price_of(1) - pair[0] - part.price_of(2))
    reach = 400
    one = laplace_law(float(part.scale_of(1)), reach)
    both = np.convolve(one, one)
    difference = np.convolve(both, laplace_law(float(part.scale_of(2)), reach))
    places = np.arange(difference.size) - difference.size // 2
    # Equal costs go to the shorter last interval: single cells.
    return float(difference[places + gap > 0].sum())


def test_the_law_of_two_cells_keeps_the_promise_and_less_noise_would_not() -> None:
    worst = {}
    for scale in (8, 2):
        part = LeastCostPartition(cells=2, scale=scale, price=4)
        chances = [chance_of_one_run(part, np.array([count, 0])) for count in range(40)]
        ratios = [abs(math.log(a / b)) for x, y in itertools.pairwise(chances) for a, b in ((x, y), (1 - x, 1 - y))]
        worst[scale] = max(ratios)
        assert max(ratios) <= float(part.loss(1).epsilon)
    # A quarter of the noise breaks what the wider one promises: the price is not idle.
    assert worst[2] > float(LeastCostPartition(cells=2, scale=8, price=4).loss(1).epsilon)


def test_short_intervals_are_bought_with_more_caution() -> None:
    part = LeastCostPartition(cells=8, scale=6, price=2, caution="1/2")
    in_counts = [part.price_of(length) / part.unit for length in (1, 2, 4, 8)]
    scales = [6 * (1 - 1 / (2 * length) - 1 / 16) for length in (1, 2, 4, 8)]
    assert in_counts == pytest.approx(
        [2 + scale / 2 * (1 + halvings / 6) for scale, halvings in zip(scales, (3, 2, 1, 0), strict=True)], abs=0.1
    )


def test_marks_begin_with_the_first_cell_and_count_the_draws() -> None:
    part = LeastCostPartition(cells=11, scale=3, price=2)
    marks = part.draw_many(np.arange(11), 50, system_noise())
    assert marks.shape == (50, 11)
    assert (marks[:, 0] == 1).all()
    assert LeastCostPartition(cells=1, scale=3, price=2).draw(np.array([5]), system_noise()).tolist() == [1]


# StructureFirst.


def test_squared_errors_move_by_less_than_twice_the_bound() -> None:
    """All counts up to 3 and all partitions: 2 * 3 - 1 = 5 is never passed, and a half of it is not enough."""
    farthest = 0
    for cells in SMALL:
        for neighbour in moves(cells):
            if neighbour.max() <= 3:
                here, there = SquaredErrors(cells), SquaredErrors(neighbour)
                for end in range(1, 5):
                    starts = np.arange(end)
                    farthest = max(farthest, np.abs(here.between(starts, end) - there.between(starts, end)).max())
                for one, other in zip(here.best_prefixes(3), there.best_prefixes(3), strict=True):
                    farthest = max(farthest, np.abs(one - other).max())
    assert 2 < farthest <= 2 * 3 - 1


@given(st.lists(st.integers(0, 20), min_size=3, max_size=7))
def test_prefixes_are_the_best_of_all_partitions(counts: list[int]) -> None:
    errors = SquaredErrors(np.array(counts))

    def error(first: int, last: int) -> int:
        part = np.array(counts[first:last])
        return math.floor(Fraction(int((part**2).sum())) - Fraction(int(part.sum()) ** 2, len(part)))

    tables = errors.best_prefixes(4)
    for buckets in (1, 2, 3):
        for end in range(buckets, len(counts) + 1):
            best = min(
                sum(error(a, b) for a, b in itertools.pairwise((0, *cuts, end)))
                for cuts in itertools.combinations(range(1, end), buckets - 1)
            )
            assert tables[buckets][end] == best


def test_the_bound_is_public_and_the_price_rests_on_it() -> None:
    for bound in (1, 10, 1000):
        method = StructureFirst.calibrated(PureDP(1), cells=20, buckets=4, bound=bound)
        assert method.loss(1) <= PureDP(1)
        assert method.choice == Fraction(3 * 2 * (2 * bound - 1) * 4)


# Bisection.


def test_the_score_of_a_cut_moves_by_two_at_most() -> None:
    farthest = max(
        abs(_deviation(cells, cut) - _deviation(neighbour, cut))
        for cells in SMALL
        for neighbour in moves(cells)
        for cut in (1, 2, 3)
    )
    assert farthest in (1, 2)


def test_the_law_of_a_bisection_keeps_the_promise_in_all_segments_at_once() -> None:
    part = Bisection(cells=6, starts=(0, 3), scale=2)

    def law(cells: np.ndarray) -> dict[tuple[int, int], float]:
        chances = []
        for start, end in ((0, 3), (3, 6)):
            weights = np.array([math.exp(-_deviation(cells[start:end], cut) / 2) for cut in (1, 2)])
            chances.append(weights / weights.sum())
        return {(a, b): chances[0][a] * chances[1][b] for a in (0, 1) for b in (0, 1)}

    worst = 0.0
    for cells in itertools.product((0, 3, 7), repeat=6):
        here = law(np.array(cells))
        for neighbour in moves(np.array(cells)):
            there = law(neighbour)
            worst = max(worst, *(abs(math.log(here[key] / there[key])) for key in here))
    assert 0.2 < worst <= float(part.loss(1).epsilon)


def test_cuts_lie_inside_their_segments() -> None:
    assert Bisection(cells=5, starts=(0, 4), scale=1).draw(np.arange(5), system_noise())[1] == 4
    assert (np.diff(cuts_of(1000, 64)) > 0).all()
    assert cuts_of(1000, 64).size == 64


# Median cuts.


def test_the_law_of_median_cuts_keeps_the_promise_in_all_boxes_at_once() -> None:
    part = MedianCuts(shape=(2, 3), boxes=((0, 1, 0, 3), (1, 2, 0, 3)), axis=1, scale=2)

    def law(plane: np.ndarray) -> dict[tuple[int, int], float]:
        chances = []
        for row in plane:
            weights = np.array([math.exp(-abs(row[:cut].sum() - row[cut:].sum()) / 2) for cut in (1, 2)])
            chances.append(weights / weights.sum())
        return {(a, b): chances[0][a] * chances[1][b] for a in (0, 1) for b in (0, 1)}

    worst = 0.0
    for cells in itertools.product((0, 1, 4), repeat=6):
        here = law(np.array(cells).reshape(2, 3))
        for neighbour in moves(np.array(cells)):
            there = law(neighbour.reshape(2, 3))
            worst = max(worst, *(abs(math.log(here[key] / there[key])) for key in here))
    assert 0.5 < worst <= float(part.loss(1).epsilon)


def test_medians_are_found_and_thin_boxes_left_alone() -> None:
    plane = np.zeros((4, 8), dtype=np.int64)
    plane[:, 5] = 10**6
    plane[0, 0] = 4 * 10**6
    cuts = MedianCuts(shape=(4, 8), boxes=((0, 4, 0, 8),), axis=1, scale=1).draw(plane, system_noise())
    assert 1 <= cuts[0] <= 5
    thin = MedianCuts(shape=(4, 8), boxes=((0, 4, 2, 3), (0, 0, 4, 8)), axis=1, scale=1)
    assert thin.draw(plane, system_noise()).tolist() == [3, 8]


# The quartering tree.


def split_chance(biased: int, tree: QuarteringTree) -> float:
    """P[biased + X > threshold] for discrete Laplace noise."""
    ratio = math.exp(-1 / float(tree.scale))
    above = tree.threshold - biased + 1
    return ratio**above / (1 + ratio) if above >= 1 else 1 - ratio ** (1 - above) / (1 + ratio)


def path_loss(counts: list[int], tree: QuarteringTree, clamp: bool = True) -> float:
    """ln of how much likelier a path of divisions becomes with one point more in all its squares."""

    def biased(count: int, depth: int) -> int:
        lowered = count - depth * tree.decay
        return max(lowered, tree.threshold - tree.decay) if clamp else lowered

    return sum(
        math.log(split_chance(biased(count + 1, depth), tree) / split_chance(biased(count, depth), tree))
        for depth, count in enumerate(counts)
    )


@pytest.mark.parametrize(("scale", "decay"), [(1, 2), (3, 5), (10, 14), (10, 3), (2, 40)])
def test_no_path_of_divisions_tells_more_than_promised(scale: int, decay: int) -> None:
    """All points in one cell, ten levels: the worst case of the proof, for every number of points."""
    tree = QuarteringTree(side=1024, scale=scale, decay=decay, threshold=4)
    worst = max(path_loss([points] * 10, tree) for points in range(12 * decay + 20))
    promised = float(tree.loss(1).epsilon)
    assert worst <= promised * (1 + 1e-12)
    if scale == 10 and decay == 14:
        # Much of it is needed: noise of scale 1 / epsilon for a decision, as a naive reading has it, is too little.
        assert worst > 1.6 / scale
        # And without the floor under lowered counts the loss grows with the depth.
        assert max(path_loss([points] * 10, tree, clamp=False) for points in range(200)) > promised


def test_a_quarter_that_outweighs_its_square_would_break_the_promise() -> None:
    """Counts below 0 would let every level lie at the threshold; they count as 0."""
    tree = QuarteringTree(side=16, scale=10, decay=14)
    hidden = path_loss([depth * tree.decay for depth in range(4)], tree)
    assert hidden > float(tree.loss(1).epsilon)
    below = np.zeros((2, 2), dtype=np.int64)
    below[0, 0], below[1, 1] = 500, -500
    small = QuarteringTree(side=2, scale=1, decay=2)
    # With -500 taken as 0 the square holds 500 points and is divided.
    assert (small.draw_many(below, 20, system_noise()) == 1).all()


@pytest.mark.statistical(n=200, false_alarm=1e-12, catches="a decay that is not taken off, so that trees never end")
def test_trees_without_points_stay_small() -> None:
    """Each tree is divided at all with probability 0.036; a mean depth of 2 needs a third of them, to the last cell."""
    tree = QuarteringTree(side=64, scale=1, decay=2)
    drawn = tree.draw_many(np.zeros((64, 64), dtype=np.int64), 200, system_noise())
    assert drawn.mean() < 2


class _GivenNoise:
    """Noise of one number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def discrete_laplace(self, scale: Any, size: int) -> Any:
        return np.full(size, self._number)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63) + 1, 2**70, -(2**70), 0])
def test_a_square_is_divided_by_its_exact_sum_with_noise(number: int) -> None:
    """Noise that fits into 64 bits, or does not, with counts at both ends: the sums fit no longer."""
    tree: Any = QuarteringTree(side=2, scale=2**50, decay=2**50, threshold=0)
    for count in (0, 5, 2**62):
        # The square holds four times the count, of which any limit keeps more than 0; nothing is taken off at depth 0.
        is_divided = number > 0 or (number == 0 and count > 0)
        assert (tree.draw_many(np.full((2, 2), count), 1, _GivenNoise(number)) == is_divided).all()
    # A lowered count may be far below 0.
    low: Any = QuarteringTree(side=4, scale=2**50, decay=2**50, threshold=2)
    assert (low.draw_many(np.zeros((4, 4), dtype=int), 1, _GivenNoise(number)) == (2 if number > 0 else 0)).all()


@pytest.mark.parametrize(
    "build",
    [
        lambda: LeastCostPartition(cells=4, scale=2**40, price=0),
        lambda: LeastCostPartition(cells=4, scale=1, price=2**60),
        lambda: LeastCostPartition(cells=4, scale=1, price=0, caution=9),
        lambda: StructureFirst(cells=3, buckets=4, bound=1, choice=1, node=None),  # type: ignore[arg-type]
        lambda: StructureFirst.calibrated(None, cells=3, buckets=2, bound=1),  # type: ignore[arg-type]
        lambda: StructureFirst.calibrated(PureDP(1), cells=4, buckets=2, bound=5, share=0),
        lambda: StructureFirst.calibrated(PureDP(1), cells=4, buckets=2, bound=5, share=1),
        lambda: StructureFirst.calibrated(PureDP(1), cells=4, buckets=2, bound=5, share=-1),
        lambda: Bisection(cells=4, starts=(1,), scale=1),
        lambda: Bisection(cells=4, starts=(0, 0), scale=1),
        lambda: Bisection(cells=4, starts=(0, 4), scale=1),
        lambda: MedianCuts(shape=4, boxes=((0, 4, 0, 4),), axis=0, scale=1),
        lambda: MedianCuts(shape=(4, 4), boxes=((0, 5, 0, 4),), axis=0, scale=1),
        lambda: MedianCuts(shape=(4, 4), boxes=((0, 4, 0, 4), (3, 4, 3, 4)), axis=0, scale=1),
        lambda: MedianCuts(shape=(4, 4), boxes=((0, 4, 4, 0),), axis=0, scale=1),
        lambda: QuarteringTree(side=3, scale=1, decay=1),
    ],
)
def test_what_makes_no_sense_is_refused(build: Any) -> None:
    with pytest.raises(InvalidParameter):
        build()
