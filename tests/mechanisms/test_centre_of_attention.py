"""The centre of attention: against all data of small universes, against a slow twin, and what a mean would do."""

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
from dither.mechanisms import Runner, SampleAndAggregate, SmoothCauchy, SmoothGaussian, SmoothLaplace
from dither.mechanisms.centre_of_attention import centre_of_attention, majority
from dither.mechanisms.sample_and_aggregate import divided
from dither.mechanisms.smooth_sensitivity import SmoothPairs
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, PureDP, Unit, Use
from dither.testing import record, replay

F = Fraction


def slow(points: Any, changed: int, most: int, decay: float) -> tuple[float, float]:
    """Return the centre and the bound from every interval between two points."""
    held, size = (len(points) + changed) // 2 + 1, len(points)

    def shortest(count: int) -> tuple[int, float]:
        spans = [
            (high - low, (low + high) / 2)
            for low in points
            for high in points
            if low <= high and sum(low <= point <= high for point in points) >= count
        ]
        # The leftmost of the shortest.
        return min(spans, default=(most, 0.0))

    bound = 0.0
    for changes in range(size + 2):
        both = (shortest(held + changes * changed)[0] + shortest(held + (changes + 1) * changed)[0]) / 2
        bound = max(bound, math.exp(-decay * changes) * both)
    return shortest(held)[1], bound


@given(st.lists(st.integers(0, 30), min_size=3, max_size=12), st.sampled_from([1, 2]), st.sampled_from(["1", "1/10"]))
def test_centre_and_bound_are_those_of_the_slow_twin(points: list[int], changed: int, decay: str) -> None:
    centre, bound = centre_of_attention(np.array(points), changed=changed, most=30, smoothness=decay)
    expected = slow(points, changed, 30, float(F(decay)))
    assert centre == expected[0]
    assert expected[1] <= bound <= expected[1] * (1 + 1e-9)


@pytest.mark.parametrize(("size", "changed", "top"), [(4, 1, 3), (5, 1, 2), (4, 2, 2), (3, 2, 3), (2, 1, 4)])
@pytest.mark.parametrize("smoothness", ["1/10", "9/10"])
def test_all_neighbours_of_a_small_universe(size: int, changed: int, top: int, smoothness: str) -> None:
    """Every set of answers: those of which so many are replaced are neighbours, and the bound is above the truth.

    The true smooth sensitivity, by its definition over all data, is what no bound may lie below.
    """
    universe = list(itertools.combinations_with_replacement(range(top + 1), size))
    found = {
        data: centre_of_attention(np.array(data), changed=changed, most=top, smoothness=smoothness) for data in universe
    }
    steps = {pair: -(-replaced(*pair) // changed) for pair in itertools.product(universe, repeat=2)}
    metric = SmoothPairs(F(smoothness), F(1, 10**9))
    local = {
        data: max(abs(found[data][0] - found[other][0]) for other in universe if steps[data, other] <= 1)
        for data in universe
    }
    decay = float(F(smoothness))
    for data in universe:
        true = max(math.exp(-decay * steps[data, other]) * local[other] for other in universe)
        assert found[data][1] >= true * (1 - 1e-12)
        for other in universe:
            if steps[data, other] == 1:
                assert metric.measure(found[data], found[other]) in (0, 1)


def replaced(data: Any, other: Any) -> int:
    """Return how many entries of one multiset must be replaced to make the other."""
    left = list(other)
    for value in data:
        if value in left:
            left.remove(value)
    return len(left)


def test_a_bare_majority_is_too_few() -> None:
    """With half of the points and one more, one replaced point can move the centre past its bound."""
    assert majority(5, 1) == 4
    here, there = [0, 0, 0, 9, 9], [0, 0, 9, 9, 9]

    def bare(points: list[int]) -> tuple[float, int]:
        windows = [(points[start + 2] - points[start], points[start : start + 3]) for start in range(3)]
        width, window = min(windows)
        return (window[0] + window[2]) / 2, width

    (centre, width), (other, other_width) = bare(here), bare(there)
    assert abs(centre - other) == 9 > width + other_width == 0
    pairs = [centre_of_attention(np.array(points), changed=1, most=9, smoothness=1) for points in (here, there)]
    assert SmoothPairs(F(1), F(1, 1000)).measure(*pairs) in (0, 1)


def test_few_outliers_hardly_widen_the_bound() -> None:
    """98 answers within 2 steps and two anywhere: the bound is near 2, where a mean moves by 1,000 / 100."""
    together = [500, 501, 502] * 32 + [500, 501]
    bounds = [
        centre_of_attention(np.array([*together, *odd]), changed=1, most=1000, smoothness="1/5")[1]
        for odd in ((501, 501), (0, 1000))
    ]
    assert all(bound <= 2.001 for bound in bounds)


def test_points_outside_the_range_are_clamped_and_too_few_are_refused() -> None:
    centre, _ = centre_of_attention(np.array([-5, 99, 99, 99]), changed=1, most=10, smoothness=1)
    assert centre == 10
    with pytest.raises(InvalidParameter, match="points"):
        centre_of_attention(np.array([1, 2]), changed=2, most=10, smoothness=1)


# As the aggregate of sample-and-aggregate.

PUBLIC: dict[str, Any] = {"statistic": "median", "lower": 0, "upper": 100, "otherwise": 50, "grid": "1/4"}
PARTS: dict[str, Any] = {
    "cauchy": SmoothCauchy.calibrated(PureDP(1), least=1),
    "laplace": SmoothLaplace.calibrated(ApproxDP(1, "1e-6"), least=1),
    "gaussian": SmoothGaussian.calibrated(ApproxDP(1, "1e-6"), least=1),
}


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=("added", "replaced"))
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_neighbouring_rows_are_neighbours_of_the_part(part: Any, unit: Unit) -> None:
    mechanism = SampleAndAggregate(unit=unit, blocks=5, part=part, **PUBLIC)
    rows = [float(number) for number in range(0, 100, 9)]
    for odd in (0.0, 50.0, 1e9, math.nan):
        for other in ([*rows, odd], rows[1:]) if unit is ROW else ([*rows[1:], odd],):
            assert replay(mechanism, rows, other) == []
            assert replay(mechanism, other, rows) == []
    assert mechanism.loss(1) == part.loss(1)
    assert mechanism.loss(2) == part.loss(2)
    assert mechanism.error("0.9") is None


def test_a_replaced_row_counts_for_two_blocks() -> None:
    """With room for one block only, a row that leaves one block and enters another is caught."""
    rows = [float(number % 7) for number in range(40)]
    one, two = (
        record(SampleAndAggregate(unit=unit, blocks=9, part=PARTS["cauchy"], **PUBLIC), rows)[1].events[0].value
        for unit in (ROW, ROW_REPLACED)
    )
    assert two[1] > one[1]


def test_the_release_lies_where_most_answers_do() -> None:
    """Blocks that agree on a value and noise that is nothing beside the grid of the answers."""
    still = SmoothLaplace(delta="1/10", least=F(1, 2**20), smoothness=1, scale=1, grid=F(1, 2**20))
    mechanism = SampleAndAggregate(unit=ROW, blocks=41, part=still, **PUBLIC)
    rows = [30.0] * 4000
    assert all(divided(rows, 41, ""))
    assert Runner(Use(mechanism), system_noise())(mechanism, rows) == pytest.approx(30.0, abs=0.25)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"part": SmoothCauchy(least=1, smoothness=1, scale=1, dimension=2)}, "part"),
        ({"part": SmoothCauchy(least=1, smoothness=F(1, 2**31), scale=1)}, "part"),
        ({"blocks": 1}, "blocks"),
        ({"blocks": 2, "unit": ROW_REPLACED}, "blocks"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        SampleAndAggregate(**({"unit": ROW, "blocks": 5, "part": PARTS["cauchy"]} | PUBLIC | changes))
