"""The decayed counter: its factors, how far one person moves them, its law, and what is refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk

from dither.errors import InvalidParameter
from dither.mechanisms import DecayedCounter, TickNoise
from dither.noise import system_noise
from dither.privacy import ZCDP, PureDP

SHARES = 2**16
HALF: dict[str, Any] = {"decay": "1/2", "rates": ("3/8",), "zeros": ("1/4",)}
TICKS = 6


def told(counter: DecayedCounter, values: list[Any]) -> list[Any]:
    noise = system_noise()
    state = counter.begin(noise)
    return [counter.reply(state, value, noise)[0] for value in values]


def lower(coefficients: list[Fraction]) -> np.ndarray[Any, Any]:
    """Return the lower triangular Toeplitz matrix of exact coefficients."""
    size = len(coefficients)
    rows = [[coefficients[t - j] if t >= j else Fraction(0) for j in range(size)] for t in range(size)]
    return np.array(rows, dtype=object)


def powers_of(numerator: list[Fraction], denominator: list[Fraction], count: int) -> list[Fraction]:
    """Return the series of prod (1 - n x) / prod (1 - d x), multiplied out term by term."""
    series = [Fraction(1)] + [Fraction(0)] * (count - 1)
    for zero in numerator:
        series = [one - zero * before for one, before in zip(series, [Fraction(0), *series], strict=False)]
    for rate in denominator:
        found: list[Fraction] = []
        for one in series:
            found.append(one + (rate * found[-1] if found else 0))
        series = found
    return series


@pytest.mark.parametrize("decay", ["1/2", "0.9", "0.99"])
def test_the_factors_multiply_to_decayed_sums(decay: str) -> None:
    counter = DecayedCounter.calibrated(ZCDP("1/2"), sensitivity=1, decay=decay, buffers=3)
    columns = powers_of(list(counter.zeros), list(counter.rates), TICKS)
    mixing = counter.mixing
    rows = [sum(w * rate**k for w, rate in zip(mixing.weights, mixing.rates, strict=True)) for k in range(TICKS)]
    assert [counter.factor.coefficient(k) for k in range(TICKS)] == columns
    assert (lower(rows) @ lower(columns) == lower([counter.decay**k for k in range(TICKS)])).all()
    assert min(mixing.weights) > 0


@pytest.mark.parametrize(("ticks", "apart"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_no_person_moves_what_is_noised_farther_than_the_length(ticks: int, apart: int) -> None:
    """With the weights as they are rounded: all sets of ticks, all signs, in a stream of six."""
    counter = DecayedCounter(sigma=1, steps=TICKS, ticks=ticks, apart=apart, **HALF)
    rounded = lower([Fraction(lag, SHARES) for lag in (*counter.lags, *[0] * TICKS)[:TICKS]])
    mixing = counter.mixing
    rows = [sum(w * rate**k for w, rate in zip(mixing.weights, mixing.rates, strict=True)) for k in range(TICKS)]
    inverse = lower(powers_of([counter.decay, *counter.zeros], list(counter.rates), TICKS))
    assert (lower(rows) @ inverse == np.eye(TICKS, dtype=int)).all()
    moved = inverse @ rounded
    largest = Fraction(0)
    for places in itertools.combinations(range(TICKS), ticks):
        if all(b - a >= apart for a, b in itertools.pairwise(places)):
            for signs in itertools.product((-1, 1), repeat=ticks):
                change = sum(sign * moved[:, place] for sign, place in zip(signs, places, strict=True))
                largest = max(largest, sum(one * one for one in change))
    assert largest <= counter.length**2
    assert float(largest) >= 0.99 * float(counter.length**2)


def test_rounded_weights_are_in_the_length() -> None:
    """Two ticks of a coarse rounding would move more than the factor alone says; the difference is covered."""
    counter = DecayedCounter(sigma=1, **HALF)
    assert counter.length > counter.factor.length(None)
    assert sum(counter.lags) < 2 * SHARES
    assert all(lag == math.floor(Fraction(SHARES, 2**k)) for k, lag in enumerate(counter.lags))


def test_the_error_is_near_that_of_the_square_root() -> None:
    for decay in (0.9, 0.99, 0.999):
        counter = DecayedCounter.calibrated(ZCDP("1/2"), sensitivity=1, decay=decay)
        noise = math.sqrt(counter.standard_error(10**6) ** 2 - 1 / 12)
        assert 1 - 1e-9 <= noise / (2 / math.pi * ellipk(decay**2)) < 1.003


@pytest.mark.parametrize("how", [{"sigma": "1/100", "rates": ("3/8",), "zeros": ("1/4",)}, {"scale": "1/100"}])
def test_without_noise_sums_are_the_decayed_ones(how: dict[str, Any]) -> None:
    """Noise of a hundredth is above a half with a chance below 1e-9 a tick."""
    values = [128, 0, 0, 256, 0, 0, 0, -128]
    counter = DecayedCounter(decay="1/2", **how)
    truth = [sum(value * 0.5 ** (t - j) for j, value in enumerate(values[: t + 1])) for t in range(len(values))]
    assert told(counter, values) == truth
    arrays = DecayedCounter(decay="1/2", shape=2, **how)
    (block,) = told(arrays, [np.array([[value, 0] for value in values])])
    assert block[:, 0].tolist() == truth
    assert not block[:, 1].any()


def test_a_conversation_goes_on_from_what_is_kept() -> None:
    for counter in (DecayedCounter(sigma=3, **HALF), DecayedCounter(decay="1/2", scale=3)):
        noise = system_noise()
        state = counter.begin(noise)
        for value in (5, 1, 4):
            counter.reply(state, value, noise)
        frozen = counter.freeze(state)
        later = counter.thaw(frozen)
        assert [counter.reply(state, 2, noise) for _ in range(3)] == [counter.reply(later, 2, noise) for _ in range(3)]


def test_a_pure_loss_is_that_of_every_tick_by_itself() -> None:
    counter = DecayedCounter.calibrated(PureDP(1), sensitivity=2, decay="1/2")
    alone = TickNoise.calibrated(PureDP(1), sensitivity=2, steps=10)
    assert counter.loss(2) == alone.loss(2) == PureDP(1)
    assert counter.interval_at(0, 0, "0.95").high >= alone.interval_at(0, 0, "0.95").high


@pytest.mark.parametrize(
    "how",
    [
        {"decay": 1, "scale": 1},
        {"decay": "1/2"},
        {"decay": "1/2", "scale": 1, "sigma": 1},
        {"decay": "1/4", "sigma": 1, "rates": ("3/8",), "zeros": ("1/4",)},
        {"decay": "1/2", "scale": 1, "ticks": 2},
        {"decay": "1/2", "scale": 2**15},
        {"decay": "0.999", "scale": 1, "shape": 10**5},
    ],
)
def test_what_is_no_decayed_counter_is_refused(how: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        DecayedCounter(**how)
