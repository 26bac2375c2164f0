"""The explorer against brute force on small universes, and against what is known on large ones."""

from __future__ import annotations

from typing import Any

import pytest

from dither.audit import explore
from dither.errors import InvalidParameter
from dither.privacy import L1, L2, Relation
from dither.privacy.sensitivity import Rows, Universe


def middle(rows: tuple[int, ...]) -> int:
    return sorted(rows)[len(rows) // 2]


def pairs_alike(rows: tuple[int, ...]) -> int:
    return sum(one == other for place, one in enumerate(rows) for other in rows[:place])


@pytest.mark.parametrize("query", [sum, max, middle, pairs_alike, lambda rows: (sum(rows), len(rows))])
def test_small_universes_are_exhausted(query: Any) -> None:
    universe = Universe(range(4), range(1, 5), relation=Relation.ADD_REMOVE)
    found = explore(query, universe, L1)
    moves = [L1.measure(query(data), query(other)) or 0 for data in universe for other in universe.neighbours(data)]
    assert found.is_exact
    assert found.sensitivity == max(moves)
    assert L1.measure(query(found.data), query(found.neighbour)) == found.sensitivity
    assert "the sensitivity is" in str(found)


@pytest.mark.parametrize(
    ("query", "truth", "relation"),
    [
        (sum, 99, Relation.ADD_REMOVE),
        (lambda rows: max(rows, default=0), 99, Relation.ADD_REMOVE),
        (pairs_alike, 11, Relation.ADD_REMOVE),
        (middle, 99, Relation.REPLACE),
    ],
)
def test_large_universes_are_climbed(query: Any, truth: int, relation: Relation) -> None:
    sizes = range(13) if relation is Relation.ADD_REMOVE else 12
    found = explore(query, Universe(range(100), sizes, relation=relation), most_calls=4000)
    assert not found.is_exact
    assert found.calls <= 4000
    assert L1.measure(query(found.data), query(found.neighbour)) == found.sensitivity
    assert found.sensitivity >= 0.9 * truth
    assert found.refutes(found.sensitivity - 1)
    assert not found.refutes(truth)


def test_starts_and_sets() -> None:
    universe = Universe(range(200), range(1, 40), relation=Relation.ADD_REMOVE, rows=Rows.SET)
    found = explore(lambda rows: (len(rows), sum(rows)), universe, L2, starts=[(0, 199)], most_calls=500)
    assert found.sensitivity >= 198
    with pytest.raises(InvalidParameter, match="universe"):
        explore(len, [1, 2])  # type: ignore[arg-type]
