"""Crowds: the book's roots, the greedy region against all regions, and a day that costs what it says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.data.places import Box, CellGrid
from dither.errors import InvalidParameter
from dither.publish.places.crowd import (
    Geocast,
    allocate,
    geocast,
    measure,
    notify,
    notify_nearest,
    radius,
    simulate_day,
)
from dither.publish.places.crowd.rewards import acceptance

_GRID = CellGrid(Box.of(0, 0, 6000, 6000, plane=True), 3, 3)
_RULE = Geocast(wanted=0.9, eager=0.3, farthest=8000)


def test_the_roots_are_those_of_the_equation() -> None:
    found = radius(0.9, [10, 1], [1 / 3, 1], constant=1)
    assert [round(float(found[0]), 4), round(float(found[1]), 3)] == [0.0775, 0.26]
    # What is asked for is reached: workers at the mean distance, as many as the circle has.
    for reach, dense, reward in zip(found.tolist(), (10, 1), (1 / 3, 1), strict=True):
        theta = float(acceptance(reward, 2 * reach / 3, constant=1))
        assert abs(1 - (1 - theta) ** (math.pi * reach**2 * dense) - 0.9) < 1e-9


def test_the_printed_linear_form_is_wrong_where_workers_are_dense() -> None:
    def printed(dense: float, k: float) -> float:
        level, slope = math.log((math.exp(k) + 1) / 2), math.exp(k) / (math.exp(k) + 1)
        return (-math.log(0.1) / (math.pi * dense) + level - k * slope) / (2 * level - k * slope)

    assert abs(printed(10, 1) + 0.074) < 0.001
    assert abs(printed(1, 3) - 0.125) < 0.001


def test_radii_have_no_odd_cases() -> None:
    assert np.isfinite(radius(0.9, [-5, 0, math.nan, 1e12, 1e-12], 1, constant=1)).all()
    assert (radius(0.99, [1], 1, constant=1) > radius(0.5, [1], 1, constant=1)).all()
    with pytest.raises(InvalidParameter, match="reward"):
        radius(0.9, [1], 0, constant=1)
    with pytest.raises(InvalidParameter, match="wanted"):
        radius(1, [1], 1, constant=1)
    with pytest.raises(InvalidParameter, match="floor"):
        allocate([1, 2], wanted=0.9, total=1, floor=0.6, constant=1)


def test_optimised_rewards_spend_the_same_and_reach_less_far() -> None:
    dense = np.array([0.5, 2.0, 40.0])
    settings = {"wanted": 0.85, "constant": 0.4}
    fair = allocate(dense, total=6, floor=0.5, optimised=False, **settings)  # type: ignore[arg-type]
    best = allocate(dense, total=6, floor=0.5, **settings)  # type: ignore[arg-type]
    assert fair.tolist() == [2, 2, 2]
    assert abs(best.sum() - 6) < 1e-9
    assert best.min() >= 0.5
    reaches = [radius(0.85, dense, rewards, constant=0.4).sum() for rewards in (best, fair)]
    assert reaches[0] <= reaches[1]
    same = measure(best, dense, dense, farthest=100, **settings)  # type: ignore[arg-type]
    assert (same.distance_error, same.rejected) == (0, 0)


def test_the_greedy_region_stops_at_the_first_that_is_likely_enough() -> None:
    counts = np.array([0, 5, 0, 2, 1, 30, 0, 0, 9])
    task = np.array([0.0, 0.0])
    region = geocast(_GRID, counts, task, _RULE).tolist()
    away = np.hypot(*(_GRID.centres() - task).T)
    chance = 1 - (1 - _RULE.accepts(away)) ** counts

    def likely(cells: list[int]) -> float:
        return 1 - math.prod(1 - float(chance[cell]) for cell in cells)

    assert region[0] == 4
    assert likely(region) >= 0.9 > likely(region[:-1])
    joined = [cells for cells in itertools.combinations(range(9), len(region)) if 4 in cells]
    assert likely(region) <= max(likely(list(cells)) for cells in joined)


def test_regions_end_at_the_farthest_and_with_the_map() -> None:
    assert len(geocast(_GRID, np.zeros(9), [0, 0], _RULE)) == 9
    near = Geocast(wanted=0.9, eager=0.3, farthest=1500)
    assert geocast(_GRID, np.full(9, -3), [0, 0], near).tolist() == [4]
    with pytest.raises(InvalidParameter, match="counts"):
        geocast(_GRID, [1], [0, 0], _RULE)


def test_measures_of_a_task_by_hand() -> None:
    workers = np.array([[0.0, 4000.0], [0.0, 0.0]])
    told = notify(_GRID, np.ones(9), [[0.0, 0.0]], workers, Geocast(wanted=0.99, eager=0.5, farthest=8000))
    # The first is asked at 0 m (0.5), the other at 4,000 m (0.25); both are within the nine cells.
    assert told.workers == 2
    assert abs(told.success - (1 - 0.5 * 0.75)) < 1e-12
    assert abs(told.travel - 0.5 * 0.25 * 4000 / told.success) < 1e-9


def test_who_knows_every_position_notifies_the_fewest() -> None:
    """No region of cells that is as likely to succeed has fewer workers; a slow search says where to stop."""
    rng = np.random.default_rng()
    rule = Geocast(wanted=0.8, eager=0.4, farthest=2500)
    for _ in range(20):
        workers, task = rng.uniform(-3000, 3000, (30, 2)), rng.uniform(-3000, 3000, 2)
        away = sorted(math.dist(worker, task) for worker in workers)
        told, declined = 0, 1.0
        while told < 30 and 1 - declined < rule.wanted and away[told] < rule.farthest:
            declined *= 1 - 0.4 * (1 - away[told] / 2500)
            told += 1
        found = notify_nearest([task], workers, rule)
        assert found.workers == told
        assert found.success == pytest.approx(1 - declined)
    assert notify_nearest([[0.0, 0.0]], np.empty((0, 2)), rule).workers == 0
    assert notify_nearest([], workers, rule).success == 0


def test_a_day_costs_one_epsilon_whatever_is_published() -> None:
    rng = np.random.default_rng()
    positions = rng.uniform(-3000, 3000, (12, 40, 2))
    positions[3, :5] = np.nan
    tasks = [rng.uniform(-3000, 3000, (tick % 3, 2)) for tick in range(12)]
    for times in (1, 5, 12):
        day = simulate_day(_GRID, positions, tasks, _RULE, epsilon=1, publications=times)
        assert (day.spent.epsilon, day.published) == (1, times)
        assert 0 <= day.private.success <= 1
    with pytest.raises(InvalidParameter, match="publications"):
        simulate_day(_GRID, positions, tasks, _RULE, epsilon=1, publications=13)
