"""Accuracy first: the exact law of every output against what it says it lost, and the error it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import AccuracyFirst
from dither.mechanisms.core.accuracy import discrete_laplace_reach
from dither.noise import system_noise
from dither.privacy import L1, PureDP
from dither.testing.branching import branch_outcomes

F = Fraction
SMALL = AccuracyFirst(shape=1, scales=(1, "1/2"), share="1/2", confidence="1/2")
#: Beyond this the law is not written out.
FAR = 40


def _geometric(scale: Fraction, x: int) -> float:
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(x)


@cache
def _joint(coarse: Fraction, fine: Fraction) -> dict[tuple[int, int], float]:
    """Return the law of both levels of noise, from the characteristic functions: fine, and fine plus an increment."""
    q, p = math.exp(-1 / fine), math.exp(-1 / coarse)
    stays = q * (1 - p) ** 2 / (p * (1 - q) ** 2)
    found: dict[tuple[int, int], float] = {}
    for low in range(-FAR, FAR + 1):
        for high in range(-FAR, FAR + 1):
            step = (1 - stays) * _geometric(coarse, high - low) + (stays if high == low else 0)
            found[high, low] = _geometric(fine, low) * step
    return found


def law(mechanism: AccuracyFirst, value: int) -> dict[tuple[int, int], float]:
    """Return the law of (level, answer), by adding up both levels of noise: slow and plain."""
    coarse, fine = mechanism.scales
    failure = float(1 - mechanism.confidence) / 2
    reach = discrete_laplace_reach(coarse, failure)
    found: dict[tuple[int, int], float] = {}
    for (high, low), chance in _joint(coarse, fine).items():
        shown = value + high
        is_enough = reach <= mechanism.share * (abs(shown) - reach)
        out = (0, shown) if is_enough else (1, value + low)
        found[out] = found.get(out, 0.0) + chance
    return found


@pytest.mark.parametrize("value", [0, 1, 2, 5])
def test_every_output_keeps_what_it_says_it_lost(value: int) -> None:
    """Both ways, output by output: the coarse level at e^(1/b_0), the fine one at e^(1/b_1)."""
    here, there = law(SMALL, value), law(SMALL, value + 1)
    assert abs(sum(here.values()) - 1) < 1e-9
    largest = {0: 0.0, 1: 0.0}
    for out in here.keys() & there.keys():
        if abs(out[1]) > FAR // 2:
            continue
        ratio = max(here[out] / there[out], there[out] / here[out])
        assert ratio <= math.exp(float(SMALL.loss_of(np.array(out)).pure or 0)) * (1 + 1e-9)
        largest[out[0]] = max(largest[out[0]], ratio)
    # The coarse level is not charged for less than it may lose, and loses less than the fine one.
    assert largest[0] == pytest.approx(math.e)
    assert largest[1] == pytest.approx(math.exp(2))


def test_an_output_charged_for_a_coarser_level_would_be_refuted() -> None:
    here, there = law(SMALL, 2), law(SMALL, 3)
    fine = [max(here[out] / there[out], there[out] / here[out]) for out in here.keys() & there.keys() if out[0]]
    assert max(fine) > math.e * 1.5


@pytest.mark.parametrize("value", [0, 4])
def test_the_draws_follow_the_law(value: int) -> None:
    """Coin by coin: what is decided of the sampler's law is within the plain one's."""
    outcomes = branch_outcomes(lambda noise: tuple(SMALL.draw(np.array([value]), noise).tolist()), runs=300)
    decided = {out: float(chance) for out, chance in outcomes.mass.items()}
    known = law(SMALL, value)
    assert sum(decided.values()) > 0.9
    for out, chance in decided.items():
        assert chance <= known[out] + 1e-9


def test_the_error_is_what_was_asked_for_where_it_says_so() -> None:
    """Counts with much and with little noise; false alarm below 1e-9: 5 % may miss, 4,000 trials, 7 deviations."""
    mechanism = AccuracyFirst(shape=3, scales=(64, 16, 4), share="1/10")
    value = np.array([400, 900, 50])
    drawn = mechanism.draw_many(value, 4000, system_noise())
    errors = np.abs(drawn[:, 1:] - value).max(axis=1)
    shows = np.array([mechanism.is_reached(out) for out in drawn])
    assert (shows & (errors > 135)).sum() <= 4000 * 0.05 + 7 * math.sqrt(4000 * 0.05 * 0.95)
    for level in range(3):
        reach = mechanism.interval(np.array([level, 0, 0, 0]), "0.95").high.max()
        missed = ((drawn[:, 0] == level) & (errors > reach)).sum()
        assert missed <= 4000 * 0.05 + 7 * math.sqrt(4000 * 0.05 * 0.95)


def test_large_counts_lose_little_and_small_ones_the_finest_level() -> None:
    """The chance that noise of scale 64 is 10,000 off is below 1e-60."""
    mechanism = AccuracyFirst.calibrated(PureDP(1), sensitivity=1, shape=1, share="1/20", levels=7)
    assert mechanism.scales[0] == 64
    large, small = mechanism.draw(np.array([100_000]), system_noise()), mechanism.draw(np.array([0]), system_noise())
    assert mechanism.loss_of(large) == PureDP("1/64")
    assert mechanism.is_reached(large)
    assert not mechanism.is_reached(small) or abs(int(small[1])) > 20
    assert mechanism.loss_of(large, 2) == PureDP("1/32")


def test_extreme_counts_do_not_overflow() -> None:
    mechanism = AccuracyFirst(shape=4, scales=(2, 1), share=1)
    drawn = mechanism.draw(np.full(4, 2**62), system_noise())
    assert mechanism.level(drawn) == 0
    opposite = mechanism.draw(np.array([2**60, -(2**60), 2**60, -(2**60)]), system_noise())
    assert mechanism.level(opposite) == 1


@pytest.mark.parametrize("epsilon", ["1e-18", "1e-19", "1e-40"])
def test_ends_of_intervals_do_not_overflow(epsilon: str) -> None:
    """The noise of one release misses the reach of its level with a probability below 1e-12."""
    mechanism = AccuracyFirst.calibrated(PureDP(epsilon), sensitivity=1, shape=2)
    drawn = mechanism.draw(np.array([300, 0]), system_noise())
    interval = mechanism.interval(drawn, 1 - Fraction(1, 10**12))
    assert all(low <= true <= high for low, true, high in zip(interval.low, (300, 0), interval.high, strict=True))
    assert all(int(high) - int(low) > 2**62 for low, high in zip(interval.low, interval.high, strict=True))


@pytest.mark.parametrize(
    "change", [{"share": 2}, {"share": 0}, {"scales": (1, 2)}, {"confidence": 1}, {"confidence": "0." + "9" * 400}]
)
def test_what_promises_nothing_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        replace(SMALL, **change)


def test_factors_and_levels_are_checked() -> None:
    make = partial(AccuracyFirst.calibrated, PureDP(1), sensitivity=1, shape=1)
    with pytest.raises(InvalidParameter):
        make(factor=1)
    with pytest.raises(InvalidParameter):
        make(levels=0)
    assert make(levels=1).loss(1) == PureDP(1)
    assert make().distance == L1
