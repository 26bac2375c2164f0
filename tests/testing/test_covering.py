"""Covering designs have every pair that can be built, and say which cannot; kinds of neighbours are neighbours."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import find, registered
from dither.privacy import L1, L2, RECORDS, ROW, ROW_REPLACED
from dither.testing.covering import Cover, Point
from dither.testing.kinds import kinds


def couples(point: Point) -> set[tuple[int, int, int, int]]:
    return {(one, point[one], other, point[other]) for one, other in combinations(range(len(point)), 2)}


RULES: list[Callable[[Point], bool]] = [
    lambda point: True,
    lambda point: point[0] != point[1],
    lambda point: sum(point) <= 3,
    lambda point: point[0] == 0 or point[2] == 0,
]


@pytest.mark.parametrize("rule", range(len(RULES)))
@pytest.mark.parametrize("sizes", [(2, 3, 2), (4, 4, 4, 4), (3, 2, 5, 2, 3)])
def test_every_pair_that_a_start_takes_occurs(rule: int, sizes: tuple[int, ...]) -> None:
    starts = [point for point in product(*map(range, sizes)) if RULES[rule](point)][:2]
    cover: Cover[Point] = Cover(sizes, starts, lambda start, point: point if RULES[rule](point) else None)
    points = [point for point, _ in cover.points()]
    met = set().union(*map(couples, [*starts, *points]))
    assert all(RULES[rule](point) for point in points)
    assert cover.share == 1
    assert not cover.left
    for one, other in combinations(range(len(sizes)), 2):
        for value, there in product(range(sizes[one]), range(sizes[other])):
            changed = [
                tuple(value if axis == one else there if axis == other else own for axis, own in enumerate(start))
                for start in starts
            ]
            if any(map(RULES[rule], changed)):
                assert (one, value, other, there) in met
            else:
                # From no start, but perhaps on the way to something else.
                assert (one, value, other, there) in cover.refused | met
    # Far fewer than all combinations, where much is allowed.
    if rule == 0:
        largest = sorted(sizes)[-2:]
        assert len(points) <= 2 * largest[0] * largest[1]


def test_one_axis_has_every_value() -> None:
    cover: Cover[Point] = Cover((4,), [(0,)], lambda start, point: point)
    assert [point for point, _ in cover.points()] == [(1,), (2,), (3,)]


def counted(rows: Any) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for row in np.asarray(rows) + 0.0:
        found[row.tobytes()] = found.get(row.tobytes(), 0) + 1
    return found


def test_kinds_of_neighbours_are_as_far_apart_as_they_say() -> None:
    seen = 0
    for name in registered():
        example = next(iter(find(name).examples()))
        distance, data = example.mechanism.distance, example.data
        if not isinstance(data, np.ndarray):
            continue
        for _, (here, there, apart) in kinds(example.mechanism, data):
            seen += 1
            if distance in (L1, L2):
                assert distance.measure(here, there) == apart
            elif distance in (ROW, ROW_REPLACED) or distance is RECORDS:
                one, other = counted(here), counted(there)
                gone = sum(max(count - other.get(row, 0), 0) for row, count in one.items())
                come = sum(max(count - one.get(row, 0), 0) for row, count in other.items())
                assert (gone if distance == ROW_REPLACED else gone + come) <= apart
                assert distance != ROW_REPLACED or gone == come
    assert seen > 500
