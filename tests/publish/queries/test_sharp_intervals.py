"""Intervals of empty and nearly empty groups, and of one sum of noises: they cover, they are short, and twins fail.

Groups are replicates, as in ``test_answer_coverage``: each statistical test states n and has a false alarm of 1e-9.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.checks.law import coverage_is_refuted
from dither.data import Aggregated
from dither.data.reference import ReferenceEngine
from dither.mechanisms import DiscreteGaussian, Geometric
from dither.noise import system_noise
from dither.privacy import ZCDP, Loss, PureDP
from dither.publish.queries import Aggregate, plan_query
from dither.publish.queries.sums_of_noise import few_reach, is_smooth, many_reach
from dither.publish.queries.tight_intervals import sharp
from tests.publish.queries import test_answer_coverage as plain

FALSE_ALARM = 1e-9
GROUPS = 150
EPSILONS = ("0.1", "1", "10", "100", "10000")
Rows = list[tuple[Any, Any]]


class Same(ReferenceEngine):
    """Every group has the same rows: what one of them has is computed, and repeated."""

    def __init__(self, rows: Rows, groups: int) -> None:
        super().__init__(plain.DATASET, {"visits": [{"group": 0, "x": x, "y": y} for x, y in rows]})
        self.groups = groups

    def aggregate(self, aggregation: Any) -> Aggregated:
        one = super().aggregate(aggregation)
        keys = [(group, *key[1:]) for key in one.keys for group in range(self.groups)]
        return Aggregated(tuple(keys), tuple(row for row in one.measures for _ in range(self.groups)))


def asked(function: str) -> Aggregate:
    if function == "median":
        return Aggregate("median", "quantile", plain.aggregate("mean").arguments, ((0.0, 16.0),), share=Fraction(1, 2))
    if function in ("minimum", "maximum"):
        return Aggregate(function, function, plain.aggregate("mean").arguments, ((0.0, 16.0),))
    return plain.aggregate(function)


WHOLE = {
    "mean": (0, 16),
    "variance": (0, 64),
    "sample_variance": (0, 128),
    "deviation": (0, 8),
    "covariance": (-256, 256),
    "correlation": (-1, 1),
    "median": (0, 16),
    "minimum": (0, 16),
    "maximum": (0, 16),
}


@pytest.mark.statistical(false_alarm=9 * 5 * FALSE_ALARM)
@pytest.mark.parametrize("is_gaussian", [False, True], ids=["laplace", "gaussian"])
def test_what_no_value_has_may_be_anything(is_gaussian: bool) -> None:
    """n = 150 empty groups for each of five losses: the whole range. Would catch: a mean of nothing, known."""
    for epsilon in EPSILONS:
        loss: Loss = ZCDP(Fraction(epsilon) ** 2 / 2) if is_gaussian else PureDP(epsilon)
        for function, (least, most) in WHOLE.items():
            answer = plan_query(plain.query(asked(function), groups=GROUPS), loss)
            ends = plain.run(answer, Same([], GROUPS)).interval(function)
            hits = sum(low <= least + 1e-6 and high >= most - 1e-4 * most for low, high in ends)  # type: ignore[operator]
            assert not coverage_is_refuted(hits, GROUPS, 0.95, FALSE_ALARM), (function, epsilon, hits, ends[:3])


@pytest.mark.statistical(false_alarm=4 * 5 * 3 * FALSE_ALARM)
def test_nearly_empty_groups_are_covered() -> None:
    """n = 150 groups of one, two and three rows for each of five losses. Would catch: a count of at least 1."""
    for rows, epsilon in itertools.product(([(3, 1.0)], [(3, 1.0), (15, 60.0)], [(0, 0.0)] * 3), EPSILONS):
        xs = [x for x, _ in rows]
        truth = {
            "mean": sum(xs) / len(xs),
            "variance": float(np.var(xs)),
            "median": sorted(xs)[(len(xs) - 1) // 2],
            "minimum": min(xs),
        }
        for function, value in truth.items():
            answer = plan_query(plain.query(asked(function), groups=GROUPS), PureDP(epsilon))
            hits = plain.covered(plain.run(answer, Same(rows, GROUPS)), function, value)
            assert not coverage_is_refuted(hits, GROUPS, 0.95, FALSE_ALARM), (function, epsilon, rows, hits)


def law(noise: Any, most: int) -> NDArray[np.float64]:
    """Return the probabilities of -most .. most, from the formula of the law."""
    places = np.arange(-most, most + 1)
    if isinstance(noise, DiscreteGaussian):
        heights = np.exp(-np.square(places / float(noise.sigma)) / 2)
    else:
        heights = np.exp(-np.abs(places) / float(noise.scale))
    return np.asarray(heights / heights.sum())


def beyond(parts: list[Any], weights: list[int], reach: float) -> float:
    """Return how often a sum with integer weights is beyond a reach, by convolution."""
    total = np.ones(1)
    for part, weight in zip(parts, weights, strict=True):
        size = 40 * int(getattr(part, "scale", getattr(part, "sigma", 0)) + 1)
        spread = np.zeros(2 * size * weight + 1)
        spread[::weight] = law(part, size)
        total = np.convolve(total, spread)
    middle = len(total) // 2
    return float(total[np.abs(np.arange(len(total)) - middle) > reach].sum())


@pytest.mark.parametrize("failure", [0.05, 0.002])
@pytest.mark.parametrize(
    "parts",
    [
        [Geometric(scale=1), Geometric(scale=1)],
        [Geometric(scale=3), Geometric(scale=3), Geometric(scale=3)],
        [Geometric(scale=8), Geometric(scale=2), Geometric(scale=1)],
        [DiscreteGaussian(sigma=2), DiscreteGaussian(sigma=2)],
        [DiscreteGaussian(sigma=6), DiscreteGaussian(sigma=2), DiscreteGaussian(sigma=3)],
    ],
)
def test_few_noises_go_no_farther_than_said(parts: list[Any], failure: float) -> None:
    """Against laws that were convolved: the failure is at most that allowed, and half of the reach would allow more."""
    for weights in itertools.product((1, 2, 5), repeat=len(parts)):
        reach = float(few_reach(parts, np.array([weights], dtype=np.float64), failure)[0])
        assert beyond(parts, list(weights), reach) <= failure, weights
        assert beyond(parts, list(weights), 0.5 * reach) > failure, weights


@pytest.mark.parametrize(
    "noise", [Geometric(scale="1/3"), Geometric(scale=4), DiscreteGaussian(sigma=1), DiscreteGaussian(sigma=5)]
)
@pytest.mark.parametrize("failure", [0.05, 0.001])
def test_many_noises_go_no_farther_than_said(noise: Any, failure: float) -> None:
    """The same for sums of up to 22 terms, as a search has them; one of no terms does not move at all."""
    assert many_reach(noise, np.ones((1, 1)), np.zeros((1, 1)), failure)[0] == 0
    for many in ([1, 0, 0], [0, 1, 1], [3, 2, 1], [8, 8, 6]):
        weights = np.array([[3.0, 1.0, 4.0]])
        reach = float(many_reach(noise, weights, np.array([many], dtype=np.float64), failure)[0])
        repeated = [weight for weight, times in zip((3, 1, 4), many, strict=True) for _ in range(times)]
        assert beyond([noise] * len(repeated), repeated, reach) <= failure, many
        if is_smooth([noise]) and sum(many) > 2:
            assert beyond([noise] * len(repeated), repeated, 0.75 * reach) > failure, many


def pairs(many: int) -> Rows:
    """Return rows of two values that go together, spread over their ranges."""
    return [(i * 7 % 17, float((i * 7 % 17) * 3 + i * 5 % 13)) for i in range(many)]


SHARP = ("mean", "variance", "sample_variance", "deviation", "covariance", "correlation")


@pytest.mark.statistical(false_alarm=6 * FALSE_ALARM, miss=1e-9)
@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/20")], ids=["laplace", "gaussian"])
def test_one_sum_of_noises_covers_and_is_shorter_than_a_box(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    """n = 1,500 groups of 2,000 rows. The twin reads the same numbers as if their noise were half as wide."""
    rows, groups = pairs(2000), 1500
    monkeypatch.setattr(plain, "ROWS", rows)
    for function in SHARP:
        answer = plan_query(plain.query(asked(function), groups=groups), loss)
        statistic = answer.design.statistics[function]
        parts = [part.drawn() for part in answer.design.parts]
        noisy = [part.draw_many(0, groups, system_noise()) for part in parts]
        exact = Same(rows, 1).aggregate(next(iter(answer.aggregations()))).measures[0]
        noisy = [drawn + number for drawn, number in zip(noisy, exact, strict=True)]
        found = sharp(statistic, noisy, parts, 0.05)
        assert found is not None
        value = plain.truth(function)
        hits = int(((found[0] <= value) & (value <= found[1])).sum())
        assert not coverage_is_refuted(hits, groups, 0.95, FALSE_ALARM), (function, hits)
        reaches = [part.reach(0.05 / len(parts)) for part in parts]
        pair = list(zip(noisy, reaches, strict=True))
        box = statistic.enclosed([each - reach for each, reach in pair], [each + reach for each, reach in pair])
        assert np.median(found[1] - found[0]) < 0.95 * np.median(box[1] - box[0])
        half = [_narrower(part) for part in parts]
        twin = sharp(statistic, noisy, half, 0.05)
        assert twin is not None
        inside = int(((twin[0] <= value) & (value <= twin[1])).sum())
        assert coverage_is_refuted(inside, groups, 0.95, FALSE_ALARM), (function, inside)


def _narrower(part: Any) -> Any:
    if isinstance(part, DiscreteGaussian):
        return DiscreteGaussian(sigma=part.sigma / 2)
    return Geometric(scale=part.scale / 2)
