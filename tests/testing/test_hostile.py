"""Hostile pairs are neighbours: as far apart as they say, in whatever metric, and as odd as they claim to be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import Exponential, InteractivePrimitive, Laplace, Primitive, find, registered
from dither.privacy import L1, LARGEST, Metric
from dither.testing import hostile

PRIMITIVES = [name for name, entry in registered().items() if issubclass(entry.mechanism, Primitive)]
#: Where a distance counts people and not values, the examples say which scripts are neighbours.
TALKS = [
    name
    for name, entry in registered().items()
    if issubclass(entry.mechanism, InteractivePrimitive) and name != "window-publisher"
]


@pytest.mark.parametrize("name", TALKS)
def test_scripts_are_as_far_apart_as_they_say(name: str) -> None:
    for example in find(name).examples():
        made = list(hostile.value_pairs(example.mechanism, example.data))  # type: ignore[arg-type]
        assert made
        for here, there, apart in made:
            assert isinstance(example.mechanism.distance, Metric)
            assert example.mechanism.distance.measure(here, there) == apart > 0


def test_one_more_on_every_value_is_one_unit_only_where_the_largest_change_counts() -> None:
    sparse = next(iter(find("above-threshold").examples()))
    assert sparse.mechanism.distance is LARGEST
    assert {apart for _, _, apart in hostile.value_pairs(sparse.mechanism, sparse.data)} == {1}  # type: ignore[arg-type]
    counter = next(iter(find("pan-private-counter").examples()))
    made = list(hostile.value_pairs(counter.mechanism, [1, 0, 2]))  # type: ignore[arg-type]
    assert ([1, 0, 2], [2, 1, 3], 3) in made
    assert ([1, 0, 2], [2, 0, 2], 1) in made


def test_one_way_scripts_never_move_both_ways() -> None:
    examples = list(find("above-threshold").examples())
    one_way = next(example for example in examples if getattr(example.mechanism, "one_way", False))
    for here, there, _ in hostile.value_pairs(one_way.mechanism, one_way.data):  # type: ignore[arg-type]
        changes = [second - first for first, second in zip(here, there, strict=True)]
        assert min(changes) >= 0 or max(changes) <= 0


@pytest.mark.parametrize("name", PRIMITIVES)
def test_values_are_never_farther_apart_than_they_say(name: str) -> None:
    for example in find(name).examples():
        distance = example.mechanism.distance
        for here, there, apart in hostile.value_pairs(example.mechanism, example.data):  # type: ignore[arg-type]
            if isinstance(distance, Metric):
                moved = distance.measure(here, there)
                assert moved is not None
                assert moved <= apart


@pytest.mark.parametrize("start", [0.1, 0.3, 1e-9, 2.0**52 + 0.5, -0.7])
def test_floats_that_rounding_takes_too_far_are_taken_back(start: float) -> None:
    for metric, part, value in (
        (L1, Laplace(scale=1), start),
        (LARGEST, Exponential(candidates=2, scale=1, grid="1/8"), np.array([start, -start])),
    ):
        _, moved, apart = next(iter(hostile.value_pairs(part, value)))
        found: Any = metric.measure(value, moved)
        assert Fraction(1) - Fraction(1, 2**40) <= found <= apart
