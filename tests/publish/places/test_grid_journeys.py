"""Journeys on a hierarchy of grids: runs, speeds and weights as a slow reading has them, and laws that are led."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.data.places.trips import Trips
from dither.mechanisms.core.release import perform
from dither.privacy import PureDP
from dither.publish.places import GridJourneys
from dither.publish.places.grid_walks import led, worthwhile
from dither.publish.places.reference_grids import Grids, Steps
from dither.publish.places.walks import DIRECTIONS, MOVES, WHOLE, Plane, points_of, walks_of

NUMBERS = {tuple(move): number for number, move in enumerate(MOVES.tolist())}


def slow_points(row: list[int], plane: Plane, longest: int) -> list[tuple[int, int]]:
    """Return the points of a row: up to the first number that is no cell, none twice in succession."""
    found: list[int] = []
    for number in row:
        if not 0 <= number < plane.cells:
            break
        if not found or found[-1] != number:
            found.append(number)
    return [divmod(number, plane.columns) for number in found[:longest]]


def slow_level(one: tuple[int, int], other: tuple[int, int], levels: int) -> int:
    for level in range(levels):
        if all(abs(a // 2**level - b // 2**level) <= 1 for a, b in zip(one, other, strict=True)):
            return level
    return levels


def slow_runs(points: list[tuple[int, int]], kept: tuple[int, ...], levels: int) -> list[tuple[int, list[Any]]]:
    """Return the levels of the runs of a journey, and their points of the finest grid."""
    runs: list[tuple[int, list[Any]]] = []
    for one, other in itertools.pairwise(points):
        need = slow_level(one, other, levels)
        level = min((each for each in kept if each >= need), default=max(kept))
        if runs and runs[-1][0] == level:
            runs[-1][1].append(other)
        else:
            runs.append((level, [one, other]))
    return runs or [(kept[0], points)]


def slow_tables(rows: list[list[int]], grids: Grids, kept: tuple[int, ...], longest: int) -> tuple[Any, Any, Any]:
    """Return the weights of levels, of what follows a cell, and of what follows a step, entry by entry."""
    speeds, first, second = Counter(), Counter(), Counter()
    for row in rows:
        points = slow_points(row, grids.plane, longest)
        if not points:
            continue
        steps = [min(slow_level(*pair, grids.levels), grids.levels - 1) for pair in itertools.pairwise(points)]
        for level in steps or [0]:
            speeds[level] += WHOLE // max(len(steps), 1)
        entries, pairs = [], []
        runs = slow_runs(points, kept, grids.levels)
        for number, (level, fine) in enumerate(runs):
            plane = grids.planes[level]
            coarse = [(row // 2**level) * plane.columns + column // 2**level for row, column in fine]
            walk = walks_of(np.array([coarse]), plane, 10**6).cells.tolist()
            moved = [
                NUMBERS[b // plane.columns - a // plane.columns, b % plane.columns - a % plane.columns]
                for a, b in itertools.pairwise(walk)
            ]
            ends = runs[number + 1][0] if number + 1 < len(runs) else level
            follows = [*moved, DIRECTIONS + ends]
            entries.append((level, walk[0], grids.outcomes + (number > 0)))
            entries += [(level, cell, after) for cell, after in zip(walk, follows, strict=True)]
            pairs += [(level, cell, *pair) for cell, pair in zip(walk, itertools.pairwise(follows), strict=False)]
        for entry in entries:
            first[entry] += WHOLE // len(entries)
        for pair in pairs:
            second[pair] += WHOLE // len(pairs)
    return speeds, first, second


def as_counter(tables: list[np.ndarray]) -> Counter[tuple[int, ...]]:
    return Counter(
        {
            (level, *place): int(table[tuple(place)])
            for level, table in enumerate(tables)
            for place in np.argwhere(table).tolist()
        }
    )


def positive(counter: Counter[Any]) -> Counter[Any]:
    return Counter({key: value for key, value in counter.items() if value})


def check(data: Any, rows: list[list[int]], grids: Grids, kept: tuple[int, ...], longest: int) -> None:
    steps = Steps.of(grids, *points_of(data, grids.plane), longest)
    speeds, first, second = slow_tables(rows, grids, kept, longest)
    assert steps.speeds().tolist() == [speeds[level] for level in range(grids.levels)]
    found = steps.runs(kept).n_grams()
    assert as_counter(found[0]) == positive(first)
    assert as_counter(found[1]) == positive(second)


@pytest.mark.parametrize("kept", [(0,), (1,), (0, 1)])
def test_every_row_of_three_points_is_read_as_slowly(kept: tuple[int, ...]) -> None:
    """All rows of three numbers on six cells, and one that is no cell, each by itself."""
    grids = Grids(Plane(1, 6), 2)
    for row in itertools.product(range(-1, 6), repeat=3):
        check(np.array([row]), [list(row)], grids, kept, 3)


@pytest.mark.parametrize(("rows", "columns", "levels"), [(9, 13, 3), (16, 16, 5), (2, 20, 4), (5, 5, 1)])
def test_tables_are_those_of_a_slow_reading(rows: int, columns: int, levels: int) -> None:
    grids, rng = Grids(Plane(rows, columns), levels), np.random.default_rng()
    data = rng.integers(-1, grids.plane.cells + 1, (40, 7))
    data[:, 1] = np.clip(data[:, 0] + 1, 0, grids.plane.cells - 1)
    for kept in [(0,), tuple(range(levels)), (levels - 1,), tuple(range(0, levels, 2))]:
        check(data, data.tolist(), grids, kept, 5)
    flat = np.concatenate([row[:3] for row in data])
    trips = Trips(flat.astype(np.int64), np.arange(0, flat.size, 3))
    check(trips, data[:, :3].tolist(), grids, (0,), 5)


def test_no_journey_weighs_more_than_one() -> None:
    grids, rng = Grids(Plane(12, 12), 3), np.random.default_rng()
    for row in rng.integers(0, 144, (60, 1, 9)):
        steps = Steps.of(grids, *points_of(row, grids.plane), 9)
        assert steps.speeds().sum() <= WHOLE
        for tables in steps.runs((0, 2)).n_grams():
            assert sum(int(table.sum()) for table in tables) <= WHOLE
            assert not tables[1].any()


def test_cells_lie_in_the_cells_above_and_below() -> None:
    grids = Grids(Plane(5, 7), 3)
    for finer, level in itertools.combinations(range(3), 2):
        below = grids.within(level, finer)
        assert sorted(below[below >= 0].tolist()) == list(range(grids.planes[finer].cells))
    for level in range(3):
        cells = np.arange(grids.planes[level].cells)
        assert grids.above(level, grids.middles(level)).tolist() == cells.tolist()


def test_levels_are_kept_where_their_weight_stands_out() -> None:
    grids = Grids(Plane(4, 4), 3)  # of 16, 4 and 1 cells
    assert worthwhile(grids, np.array([100.0, 100.0, 100.0]), 10.0, 1.0) == (1, 2)
    assert worthwhile(grids, np.array([-5.0, 3.0, 2.0]), 10.0, 1.0) == (1,)
    assert worthwhile(grids, np.array([161.0, 3.0, 2.0]), 10.0, 1.0) == (0,)


def test_a_law_is_led_and_the_chance_of_an_end_stays() -> None:
    law = np.full((3, DIRECTIONS + 2), 0.1)
    heading = np.array([MOVES[4], 2 * MOVES[0], [0, 0]], dtype=np.float64)
    turned = led(law, heading)
    assert turned.sum(axis=1) == pytest.approx(1.0)
    assert turned[:, DIRECTIONS:] == pytest.approx(0.1)
    assert turned[0, 4] == pytest.approx(0.2)
    assert turned[0, 3] == pytest.approx(0.0)
    assert turned[1].argmax() == 0
    assert turned[2] == pytest.approx(law[2])


def test_slow_and_fast_ways_are_found_again() -> None:
    """Without noise: one way in small steps, one in large ones, which the coarse grid holds."""
    slow, fast = [0, 1, 2, 3], [240, 244, 248, 252]
    true = np.array([slow] * 200 + [fast] * 200)
    method = GridJourneys.calibrated(PureDP(10**9), shape=(16, 16), length=16)
    drawn = perform(method, true, stability=1)
    taken = Counter(tuple(row[row >= 0].tolist()) for row in drawn)
    assert len(drawn) == 400
    assert taken[tuple(slow)] > 100
    # The middles of the cells of four by four in the last row of these.
    assert {row for row in taken if row[0] // 16 > 8} == {tuple(range(226, 239))}
