"""Lines as a map shows them: cut at its edges, and without corners that nobody can tell apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Point = tuple[float, float]


def clipped(path: Sequence[Point], low: Point, high: Point, step: Point) -> list[list[Point]]:
    """Return the parts of a line that lie between two corners, corners nearer than a step being left out.

    Args:
        path: points of a line.
        low: the least of both coordinates.
        high: the largest of both.
        step: what is too near to be told apart, along both.

    >>> clipped([(0.0, 0.0), (0.001, 0.0), (2.0, 0.0)], (0.0, 0.0), (1.0, 1.0), (0.01, 0.01))
    [[(0.0, 0.0), (1.0, 0.0)]]

    """
    kept: list[Point] = []
    for point in path:
        if not kept or any(abs(a - b) >= near for a, b, near in zip(point, kept[-1], step, strict=True)):
            kept.append(point)
    parts: list[list[Point]] = []
    for one, other in itertools.pairwise(kept):
        found = _within(one, other, low, high)
        if found is None:
            continue
        if parts and parts[-1][-1] == found[0]:
            parts[-1].append(found[1])
        else:
            parts.append(list(found))
    return parts


def _within(one: Point, other: Point, low: Point, high: Point) -> tuple[Point, Point] | None:
    """Return the part of a straight line between two corners; None where there is none."""
    start, end = 0.0, 1.0
    for axis in (0, 1):
        long = other[axis] - one[axis]
        for away, room in ((-long, one[axis] - low[axis]), (long, high[axis] - one[axis])):
            if away == 0:
                if room < 0:
                    return None
            elif away < 0:
                start = max(start, room / away)
            else:
                end = min(end, room / away)
    if start > end:
        return None
    cut = [one if part == 0 else other if part == 1 else _at(one, other, part) for part in (start, end)]
    return cut[0], cut[1]


def _at(one: Point, other: Point, part: float) -> Point:
    return one[0] + part * (other[0] - one[0]), one[1] + part * (other[1] - one[1])
