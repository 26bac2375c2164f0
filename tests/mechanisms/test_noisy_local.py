"""Noisy local sensitivity: its distance against a search, its margins against the tails of the noise."""

from __future__ import annotations

import itertools
import math
from collections import deque
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import NoisyLocal
from dither.mechanisms.noisy_local import LocalTriples, growth
from dither.mechanisms.propose_test_release import discrete_laplace_tail
from dither.noise import system_noise
from dither.privacy import ApproxDP

VALUES, BOUNDS, BASES = range(5), range(1, 4), range(3)


@pytest.mark.parametrize(("factor", "order"), [(1, 0), (1, 1), (2, 1), (1, 2)])
def test_the_distance_is_the_length_of_a_shortest_chain(factor: int, order: int) -> None:
    """Against a search through all triples of a small box; chains may leave it, so that it is no shorter there."""
    metric = LocalTriples(factor, order, 3)
    triples = list(itertools.product(VALUES, BOUNDS, BASES))

    def are_neighbours(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        least = min(one[2], other[2])
        return (
            abs(one[0] - other[0]) <= min(one[1], other[1])
            and abs(one[1] - other[1]) <= growth(least, factor, order, 3)
            and (not order or abs(one[2] - other[2]) <= 1)
        )

    beside = {one: [other for other in triples if are_neighbours(one, other)] for one in triples}
    for start in triples[:: len(triples) // 7]:
        seen, waiting = {start: 0}, deque([start])
        while waiting:
            one = waiting.popleft()
            for other in beside[one]:
                if other not in seen:
                    seen[other] = seen[one] + 1
                    waiting.append(other)
        for end, steps in seen.items():
            found = metric.measure(start, end)
            assert found is not None
            assert found <= steps
            assert (found == 0) == (start[:2] == end[:2] and (not order or start[2] == end[2]))


def test_a_chain_is_as_long_as_it_is_said() -> None:
    metric = LocalTriples(1, 0, 10)
    assert metric.measure([0, 1, 0], [1, 1, 7]) == 1
    assert metric.measure([0, 1, 0], [2, 1, 0]) == 2
    # 1, 2, 2, 1: the values move by 1 + 2 + 1.
    assert metric.measure([0, 1, 0], [4, 1, 0]) == 3
    assert metric.measure([0, 1, 0], [5, 1, 0]) == 4
    assert metric.measure([0, 1, 0], [10**9, 1, 0]) is None
    assert metric.measure([0, 1], [0, 1]) is None


@pytest.mark.parametrize("order", [0, 2])
def test_released_bounds_are_below_the_true_ones_with_no_more_than_delta(order: int) -> None:
    made = NoisyLocal.calibrated(ApproxDP(1, "1e-5"), most=10**6, factor=3, order=order)
    raised, lifted = made._margins
    parts = 2 if order else 1
    assert discrete_laplace_tail(made.base_scale, math.ceil(raised) + 1) <= made.delta / parts
    for moves in (1, 7, 1000):
        scale = moves * Fraction(made.bound_scale)
        assert discrete_laplace_tail(scale, math.ceil(moves * lifted) + 1) <= made.delta / parts
    assert made.loss(1) == ApproxDP(1, "1e-5")


def test_bounds_are_raised_and_never_beyond_what_is_public() -> None:
    made = NoisyLocal.calibrated(ApproxDP(1, "1e-6"), most=100)
    drawn: Any = made.draw_many([10**6, 40, 0], 500, system_noise())
    assert (np.asarray(drawn[:, 1], dtype=np.int64) <= 100).all()
    assert set(drawn[:, 2].tolist()) == {0}
    for delta in (0, 1):
        with pytest.raises(InvalidParameter, match="delta"):
            NoisyLocal(most=1, bound_scale=1, value_scale=1, delta=delta)
    with pytest.raises(InvalidParameter):
        NoisyLocal.calibrated(ApproxDP(1, 0), most=1)
