"""Walks on a grid: rows of any numbers mean what a slow reading says, and weigh what is promised."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from dither.errors import InvalidValue
from dither.publish.places.walks import MOVES, WHOLE, Plane, walks_of


def slowly(row: list[int], plane: Plane, longest: int) -> list[int]:
    """Return the walk of a row, point by point."""
    points = []
    for number in row:
        if not 0 <= number < plane.cells:
            break
        points.append(divmod(number, plane.columns))
    walk = points[:1]
    for (top, left), (low, right) in itertools.pairwise(points):
        far = max(abs(low - top), abs(right - left))
        for step in range(1, far + 1):
            parts = []
            for start, end in ((top, low), (left, right)):
                moved = abs(end - start) * step
                whole = moved // far + (1 if 2 * (moved % far) >= far else 0)
                parts.append(start + (whole if end >= start else -whole))
            walk.append((parts[0], parts[1]))
    return [row * plane.columns + column for row, column in walk][:longest]


@pytest.mark.parametrize(("rows", "columns", "longest"), [(5, 7, 9), (1, 6, 4), (3, 3, 100)])
def test_rows_are_read_as_slowly(rows: int, columns: int, longest: int) -> None:
    plane, rng = Plane(rows, columns), np.random.default_rng()
    data = rng.integers(-1, plane.cells + 1, (60, 6))
    data[0], data[1] = -1, 2**40
    walks = walks_of(data, plane, longest)
    wanted = [walk for walk in (slowly(row, plane, longest) for row in data.tolist()) if walk]
    found = [row[row >= 0].tolist() for row in walks.rows(longest)]
    assert found == wanted
    steps, turns = Counter(), Counter()
    numbers = {tuple(move): number for number, move in enumerate(MOVES.tolist())}
    for walk in wanted:
        moved = [numbers[b // columns - a // columns, b % columns - a % columns] for a, b in itertools.pairwise(walk)]
        for place, direction in enumerate(moved):
            steps[walk[place], direction] += WHOLE // len(moved)
        for place, pair in enumerate(itertools.pairwise(moved)):
            turns[(walk[place], *pair)] += WHOLE // (len(moved) - 1)
    assert {key: int(walks.steps()[key]) for key in steps} == dict(steps)
    assert int(walks.steps().sum()) == sum(steps.values())
    assert {key: int(walks.turns()[key]) for key in turns} == dict(turns)
    assert int(walks.turns().sum()) == sum(turns.values())


def test_no_walk_weighs_more_than_one() -> None:
    plane, rng = Plane(4, 4), np.random.default_rng()
    for row in rng.integers(0, 16, (40, 1, 8)):
        walks = walks_of(row, plane, 30)
        assert walks.steps().sum() <= WHOLE
        assert walks.turns().sum() <= WHOLE


def test_nothing_but_an_array_of_integers_is_read() -> None:
    for odd in ([[0, 1]], np.array([0, 1]), np.array([[0.5]])):
        with pytest.raises(InvalidValue):
            walks_of(odd, Plane(2, 2), 3)
    for empty in (np.zeros((0, 4), dtype=np.int64), np.zeros((3, 0), dtype=np.int64)):
        assert walks_of(empty, Plane(2, 2), 3).starts.size == 0
