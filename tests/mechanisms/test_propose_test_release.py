"""Propose-test-release: its delta is the one of its law, and a median keeps its conditions in small universes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import Composed, Numerics, Runner
from dither.mechanisms.propose_test_release import (
    Guarded,
    ProposeTestRelease,
    discrete_laplace_tail,
    passing_delta,
    threshold_for,
)
from dither.noise import system_noise
from dither.privacy import ROW_REPLACED, ApproxDP, Plan, PureDP, Unit, Use
from dither.testing import replay

F = Fraction
SMALL = ProposeTestRelease(bound=2, test_scale=2, threshold=3, value_scale=3)


# The law, by summing it.


@cache
def mass(scale: Fraction, x: int) -> float:
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(x)


@cache
def tail(scale: Fraction, least: int) -> float:
    """The slow obvious tail."""
    return math.fsum(mass(scale, x) for x in range(least, least + int(60 * scale) + 60))


def law(mechanism: ProposeTestRelease, pair: tuple[int, int]) -> dict[Any, float]:
    """The law of the output on one pair, up to a mass of e^-60."""
    passing = tail(mechanism.test_scale, mechanism.threshold - max(0, pair[0]))
    width = int(60 * mechanism.value_scale)
    values = {pair[1] + x: passing * mass(mechanism.value_scale, x) for x in range(-width, width + 1)}
    return {None: 1 - passing} | values


def aligned(*laws: dict[Any, float]) -> list[NDArray[np.float64]]:
    """Return the laws as arrays over everything that is possible under any of them."""
    outcomes = list(dict.fromkeys(itertools.chain(*laws)))
    return [np.array([law.get(outcome, 0.0) for outcome in outcomes]) for law in laws]


def excess(one: NDArray[np.float64], other: NDArray[np.float64], epsilon: Fraction) -> float:
    return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(7, 2), F(50)])
@pytest.mark.parametrize("least", [-40, -3, 0, 1, 2, 9, 60])
def test_tails_are_tails_and_rounded_up(scale: Fraction, least: int) -> None:
    found = discrete_laplace_tail(scale, least)
    assert float(found) == pytest.approx(tail(scale, least), rel=1e-12)
    # Both tails together are everything; each is rounded up, so together they are no less.
    assert 1 <= found + discrete_laplace_tail(scale, 1 - least) <= 1 + F(1, 10**25)


@pytest.mark.parametrize("units", [1, 2, 3])
def test_no_pair_that_far_apart_exceeds_the_claim(units: int) -> None:
    """All distances up to 6 and values up to 9: the exact excess over epsilon stays within delta, and reaches it."""
    claim, metric, worst = SMALL.loss(units), Guarded(SMALL.bound), 0.0
    pairs = [*itertools.product(range(7), range(10)), *((distance, 10**6) for distance in range(4))]
    laws = dict(zip(pairs, aligned(*(law(SMALL, pair) for pair in pairs)), strict=True))
    for one, other in itertools.product(laws, repeat=2):
        if metric.measure(one, other) <= units:
            worst = max(worst, excess(laws[one], laws[other], claim.epsilon))
    assert worst <= float(claim.delta) * (1 + 1e-9)
    assert worst > 0.9 * float(claim.delta)


def test_the_delta_of_one_unit_is_exact_and_a_smaller_one_is_refuted() -> None:
    claim = SMALL.loss(1)
    found = excess(*aligned(law(SMALL, (0, 0)), law(SMALL, (0, 10**6))), claim.epsilon)
    assert found == pytest.approx(float(claim.delta), rel=1e-12)
    # The planted mistakes: a threshold counted one too high, and the continuous formula e^(-threshold / scale) / 2.
    assert found > float(passing_delta(SMALL.test_scale, SMALL.threshold + 1, F(1)))
    assert found > math.exp(-SMALL.threshold / SMALL.test_scale) / 2


@pytest.mark.parametrize("scale", [F(1, 4), F(1), F(10)])
@pytest.mark.parametrize("delta", [F(1, 10), F(1, 10**6), F(1, 10**30)])
def test_thresholds_are_the_least(scale: Fraction, delta: Fraction) -> None:
    threshold = threshold_for(scale, delta)
    assert discrete_laplace_tail(scale, threshold) <= delta < discrete_laplace_tail(scale, threshold - 1)


def test_calibration_is_within_its_target() -> None:
    target = ApproxDP(1, "1e-6")
    found = ProposeTestRelease.calibrated(target, bound=5, test_share="1/4")
    assert found.loss(1) <= target
    assert found.loss(1).pure == 1
    for bad in (PureDP(1), ApproxDP(1, 0), ApproxDP(0, "1e-6")):
        with pytest.raises(InvalidParameter, match="within"):
            ProposeTestRelease.calibrated(bad, bound=5)


def test_many_units_promise_nothing() -> None:
    with pytest.raises(NoGuarantee, match="delta would be 1"):
        SMALL.loss(10**6)
    assert SMALL.loss(0) == PureDP(0)


def test_a_refusal_has_no_interval_and_a_release_has_one() -> None:
    assert SMALL.interval([0, 0], "0.9") is None
    interval = SMALL.interval([1, 50], "0.9")
    assert interval is not None
    reach = SMALL.error("0.9").value
    assert (interval.low, interval.high) == (50 - reach, 50 + reach)
    below = tail(SMALL.test_scale, SMALL.threshold - SMALL.needed_distance("0.9"))
    assert below >= 0.9


# The metric counts units as chains of neighbours do.


def test_the_metric_is_the_length_of_the_shortest_chain() -> None:
    """Breadth first over all pairs of a small world, with the two rules for one unit as the only steps."""
    bound, world = 2, list(itertools.product(range(5), range(-6, 7)))
    metric = Guarded(bound)

    def is_step(one: tuple[int, int], other: tuple[int, int]) -> bool:
        near = abs(one[0] - other[0]) <= 1
        return near and (abs(one[1] - other[1]) <= bound or one[0] == other[0] == 0)

    start = [(0, 0), (2, 1), (4, -3)]
    for here in start:
        seen, edge, length = {here: 0}, [here], 0
        while edge:
            length += 1
            edge = [there for there in world if there not in seen and any(is_step(one, there) for one in edge)]
            seen |= dict.fromkeys(edge, length)
        for there, steps in seen.items():
            assert metric.measure(here, there) <= steps
            if steps == 1:
                assert metric.measure(here, there) == 1


# A median, with a fast distance and the slow obvious one.


@dataclass(frozen=True, kw_only=True)
class TestedMedian(Composed[Any, Any]):
    """The median of an odd, public number of rows within 0 and ``top``, if it is far from moving beyond the bound."""

    __test__ = False
    name: ClassVar[str] = "test-tested-median"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    part: ProposeTestRelease
    top: int

    @property
    def distance(self) -> Unit:
        return ROW_REPLACED

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> Any:
        rows = sorted(min(max(int(row), 0), self.top) for row in data)
        passed, value = run(self.part, [self.far(rows), rows[len(rows) // 2]])
        return int(value) if passed else None

    def far(self, rows: list[int]) -> int:
        """Return how many rows must be replaced before the median can move by more than the bound."""
        middle, size = len(rows) // 2, len(rows)

        def at(place: int) -> int:
            return 0 if place < 0 else self.top if place >= size else rows[place]

        for changed in range(size + 1):
            gaps = (at(middle + t) - at(middle + t - changed - 1) for t in range(changed + 2))
            if max(gaps) > self.part.bound:
                return changed
        return size + 1


def multisets(top: int, size: int) -> Iterator[tuple[int, ...]]:
    return itertools.combinations_with_replacement(range(top + 1), size)


def replaced(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return (Counter(one) - Counter(other)).total()


@lru_cache
def unstable(top: int, size: int, bound: int) -> list[tuple[int, ...]]:
    """All data sets with a neighbour whose median is farther away than the bound."""
    rows = list(multisets(top, size))
    return [
        one
        for one in rows
        if any(replaced(one, other) <= 1 and abs(one[size // 2] - other[size // 2]) > bound for other in rows)
    ]


CASES = [(4, 3, 1), (3, 5, 1), (5, 3, 2), (6, 1, 3)]


@pytest.mark.parametrize(("top", "size", "bound"), CASES)
def test_the_fast_distance_is_the_slow_one(top: int, size: int, bound: int) -> None:
    part = ProposeTestRelease(bound=bound, test_scale=1, threshold=2, value_scale=bound)
    for rows in multisets(top, size):
        slow = min(replaced(rows, other) for other in unstable(top, size, bound))
        assert TestedMedian(part=part, top=top).far(list(rows)) == slow


@pytest.mark.parametrize(("top", "size", "bound"), CASES)
def test_the_tested_median_is_clean_on_all_neighbours(top: int, size: int, bound: int) -> None:
    part = ProposeTestRelease(bound=bound, test_scale=1, threshold=2, value_scale=bound)
    median = TestedMedian(part=part, top=top)
    for here, there in itertools.product(multisets(top, size), repeat=2):
        if replaced(here, there) == 1:
            assert replay(median, list(here), list(there)) == []


@dataclass(frozen=True, kw_only=True)
class Optimist(TestedMedian):
    """Never thinks itself at the edge."""

    def far(self, rows: list[int]) -> int:
        return super().far(rows) + 1


@dataclass(frozen=True, kw_only=True)
class Jumpy(TestedMedian):
    """Counts every row twice."""

    def far(self, rows: list[int]) -> int:
        return 2 * super().far(rows)


@dataclass(frozen=True, kw_only=True)
class LocalOnly(TestedMedian):
    """Looks at this data set alone: far away, or at the edge."""

    def far(self, rows: list[int]) -> int:
        return 5 if super().far(rows) else 0


@pytest.mark.parametrize("kind", [Optimist, Jumpy, LocalOnly])
def test_wrong_distances_are_caught(kind: type[TestedMedian]) -> None:
    median = kind(part=ProposeTestRelease(bound=1, test_scale=1, threshold=2, value_scale=1), top=4)
    pairs = [pair for pair in itertools.product(multisets(4, 3), repeat=2) if replaced(*pair) == 1]
    assert any("moved too far" in str(replay(median, list(here), list(there))) for here, there in pairs)


@pytest.mark.statistical(n=1, false_alarm=2e-9, catches="a test of the distance that is ignored")
def test_a_steady_median_is_released_and_a_shaky_one_is_not() -> None:
    """One draw each; false alarm 2e-9, of which the half is delta."""
    part = ProposeTestRelease.calibrated(ApproxDP(2, "1e-9"), bound=1)
    median = TestedMedian(part=part, top=1000)
    steady, shaky = [500] * 401, [0] * 200 + [1000] * 201
    assert Runner(Use(median), system_noise())(median, steady) == pytest.approx(500, abs=60)
    assert Runner(Use(median), system_noise())(median, shaky) is None
