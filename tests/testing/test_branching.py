"""Laws followed coin by coin: as far as was asked, and no run twice."""

from __future__ import annotations

from typing import Any

from dither.checks.law import Laws, check_law_by_branching
from dither.mechanisms import Geometric
from dither.noise import Noise
from dither.testing.branching import Branches


def test_a_law_is_followed_as_far_as_was_asked_and_never_less() -> None:
    part, runs = Geometric(scale=2), list[int]()

    def draw(noise: Noise) -> Any:
        runs.append(1)
        return part.draw(3, noise)

    once, twice = Branches(draw), Branches(draw)
    whole = once.follow(80)
    assert len(runs) == 80
    assert twice.follow(30) != whole
    assert twice.follow(80) == whole
    assert twice.follow(10) == whole
    assert len(runs) == 160


def test_laws_of_equal_values_are_followed_once() -> None:
    part, asked = Geometric(scale=2), list[int]()

    def draw(value: int, noise: Noise) -> Any:
        asked.append(value)
        return part.draw(value, noise)

    laws = Laws(draw)
    for here, there in ((0, 1), (1, 0), (0, 2)):
        check_law_by_branching(laws.of(here), laws.of(there), part.loss(abs(here - there)), runs=60)
    assert [asked.count(value) for value in (0, 1, 2)] == [60, 60, 60]
