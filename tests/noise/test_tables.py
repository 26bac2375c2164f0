"""The tables that production compares its 16-bit words with, against decimals of 60 digits and more.

Enumeration proves the samplers for narrow words; the same code with 16-bit words differs by these numbers alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.noise import SystemEntropy, gaussian, laplace, selection
from dither.noise.chances import Chance, RationalChance, exponential, logistic, remainder, truth
from dither.noise.coins import MARGIN

SCALES = [
    Fraction(1, 2**40),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 3),
    Fraction(1000),
    Fraction(10**6),
    Fraction(2**50),
    Fraction(2**56),
]
SIXTY = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-(10**15), Emax=10**15)
# Enough for 200 bits of a probability that is itself as small as e^-60.
LONG = Context(prec=120, rounding=ROUND_HALF_EVEN, Emin=-(10**15), Emax=10**15)


def decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def exp_minus(x: Fraction, context: Context) -> Fraction:
    # Beyond e^-2000 the value is zero to any number of bits asked for here.
    return Fraction(context.exp(decimal(-x, context))) if x < 2000 else Fraction(1, 10**800)


def logistic_value(x: Fraction, context: Context) -> Fraction:
    return 1 / (1 + 1 / exp_minus(x, context))


def floor_and_ceiling(p: Fraction, bits: int, context: Context) -> tuple[int, int]:
    """Return the floor and the ceiling of p * 2^bits, for an irrational p known to nearly all digits of the context."""
    error = Fraction(1, 10 ** (context.prec - 5))
    floors = {math.floor((p + slip) * 2**bits) for slip in (-min(error, p), 0, error)}
    # The decimals settle the floor by themselves: no probability here is that close to a binary fraction.
    assert len(floors) == 1
    (floor,) = floors
    return floor, floor + 1


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_digits_tail_and_sign_of_a_scale(scale: Fraction) -> None:
    coins = laplace._coins(scale)
    count = len(coins.digits)
    assert 2**count >= 14 * scale
    assert count == 0 or 2 ** (count - 1) < 14 * scale
    for place, digit in enumerate(coins.digits):
        expected = floor_and_ceiling(logistic_value(2**place / scale, SIXTY), 16, SIXTY)
        assert digit.bounds(16) == expected
    assert coins.tail.bounds(16) == floor_and_ceiling(exp_minus(2**count / scale, SIXTY), 16, SIXTY)
    assert coins.negative.bounds(16) == floor_and_ceiling(logistic_value(1 / scale, SIXTY), 16, SIXTY)


@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale >= 1], ids=str)
def test_carry_of_a_rounded_law(scale: Fraction) -> None:
    for offset in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**6), Fraction(999, 1000)):
        end = exp_minus(1 / scale, LONG)
        expected = (exp_minus(offset / scale, LONG) - end) / (1 - end)
        assert remainder(offset / scale, 1 / scale).bounds(16) == floor_and_ceiling(expected, 16, SIXTY)


@pytest.mark.parametrize(
    "x", [Fraction(1, 2**56), Fraction(1, 3), *(Fraction(x) for x in (1, 14, 30, 40, 60, 90, 130))], ids=str
)
def test_bounds_of_many_bits(x: Fraction) -> None:
    power = exp_minus(x, LONG)
    for bits in (1, 2, 16, 17, 64, 200):
        assert exponential(x).bounds(bits) == floor_and_ceiling(power, bits, LONG)
        assert logistic(x).bounds(bits) == floor_and_ceiling(power / (1 + power), bits, LONG)
        for others in (1, 5, 10**9):
            assert truth(x, others).bounds(bits) == floor_and_ceiling(1 / (1 + others * power), bits, LONG)


CHANCES: dict[str, Callable[[], Chance]] = {
    **{f"digit 3 of {scale}": lambda scale=scale: logistic(8 / scale) for scale in SCALES},
    **{f"tail {scale}": lambda scale=scale: laplace._coins(scale).tail for scale in SCALES},
    **{f"half a step of {scale}": lambda scale=scale: remainder(1 / (2 * scale), 1 / scale) for scale in SCALES},
    **{f"rational {p}": lambda p=p: RationalChance(p) for p in (Fraction(0), Fraction(1), Fraction(5, 8))},
    "rational 1/3": lambda: RationalChance(Fraction(1, 3)),
    "very near 1": lambda: exponential(Fraction(1, 2**300)),
    "very near 0": lambda: exponential(Fraction(2**300)),
    "truth among a million": lambda: truth(Fraction(7, 3), 10**6),
    "truth at a huge epsilon": lambda: truth(Fraction(2**300), 10**6),
}


@pytest.mark.parametrize("make", CHANCES.values(), ids=CHANCES.keys())
def test_bounds_of_fewer_bits_are_the_first_of_more(make: Callable[[], Chance]) -> None:
    """Refining a coin never contradicts what fewer bits decided."""
    lengths = (200, 64, 48, 32, 17, 16, 3, 2)
    found = {bits: make().bounds(bits) for bits in lengths}
    for many in lengths:
        low, high = found[many]
        assert 0 <= low <= high <= 2**many
        assert high - low in (0, 1)
        for few in (bits for bits in lengths if bits < many):
            assert found[few] == (low >> (many - few), -(-high >> (many - few)))


def test_bounds_do_not_depend_on_what_was_asked_before() -> None:
    for order in ((16, 64, 200), (200, 64, 16)):
        coin = logistic(Fraction(3, 7))
        assert {bits: coin.bounds(bits) for bits in order} == {
            bits: logistic(Fraction(3, 7)).bounds(bits) for bits in order
        }


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 3), Fraction(1000)], ids=str)
def test_a_scale_off_by_one_in_a_thousand_has_another_table(scale: Fraction) -> None:
    """The comparison above would see a much smaller error than any statistical test."""
    wrong = scale * Fraction(1001, 1000)
    digits = laplace._coins(scale).digits
    expected = [floor_and_ceiling(logistic_value(2**place / wrong, SIXTY), 16, SIXTY) for place in range(len(digits))]
    assert [digit.bounds(16) for digit in digits] != expected


# Floats decide most coins. Each is wrong by less than the margin that sends a coin to be refined exactly.

CLAIMED = 2.0**-40


class Recorded:
    """NumPy, with the results of one function kept."""

    def __init__(self, function: str) -> None:
        self._function = function
        self.results: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name != self._function:
            return getattr(np, name)

        def call(*args: Any, **keywords: Any) -> Any:
            self.results.append(getattr(np, name)(*args, **keywords))
            return self.results[-1]

        return call


def worst_error(floats: Any, exact: list[Fraction]) -> float:
    return max(float(abs(Fraction(float(x)) - p)) for x, p in zip(floats, exact, strict=True))


def proposal_scale(sigma: Fraction) -> Fraction:
    return Fraction(max(1, math.ceil(8 * sigma)), 8)


SIGMAS = [
    Fraction(1, 8),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10**6, 7),
    2**50 + Fraction(1, 3),
    2**55 + Fraction(1, 7),
    Fraction(2**56),
]


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_acceptance_of_the_discrete_gaussian_in_floats(sigma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    t = proposal_scale(sigma)
    # From nothing to well past the point where the acceptance is below the margin; odd, so that floats must round.
    proposed = np.array([int(place * sigma / 20) | 1 for place in range(-260, 261)], dtype=np.int64)
    monkeypatch.setattr(gaussian, "discrete_laplace", lambda entropy, scale, count: proposed)
    recorded: list[Any] = []

    def flip_each(entropy: object, approximate: Any, chance: object) -> Any:
        recorded.append(approximate.copy())
        return np.ones(approximate.size, dtype=bool)

    monkeypatch.setattr(gaussian, "flip_each", flip_each)
    gaussian.discrete_gaussian(SystemEntropy(), sigma**2, 1)
    exact = [exp_minus((abs(int(y)) - sigma**2 / t) ** 2 / (2 * sigma**2), SIXTY) for y in proposed]
    assert worst_error(recorded[0], exact) < CLAIMED < MARGIN / 2


@pytest.mark.parametrize("sigma", [sigma for sigma in SIGMAS if sigma >= 1], ids=str)
def test_acceptance_of_the_rounded_gaussian_in_floats(sigma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    t = proposal_scale(sigma)
    whole = np.array([int(place * sigma / 20) for place in range(261)], dtype=np.int64)
    prefix = np.array([(place * 2**48) // 261 | 1 for place in range(261)], dtype=np.int64)
    monkeypatch.setattr(gaussian, "geometric", lambda entropy, scale, count: whole)
    monkeypatch.setattr(gaussian, "fractions_of_one", lambda entropy, count, words: prefix)
    numpy = Recorded("exp")
    monkeypatch.setattr(gaussian, "np", numpy)
    gaussian._absolute_block(SystemEntropy(), sigma**2, whole.size)
    exact = []
    for g, u in zip(whole.tolist(), prefix.tolist(), strict=True):
        z = g + Fraction(u, 2**48)
        exact.append(exp_minus(z**2 / (2 * sigma**2) - g / t + sigma**2 / (2 * t**2), SIXTY))
    assert worst_error(numpy.results[0], exact) < CLAIMED < MARGIN / 2


@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale >= 1], ids=str)
def test_carry_of_the_rounded_laplace_in_floats(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """With offsets that are themselves wrong by as much as they may be."""
    true = [Fraction(place, 300) for place in range(301)]
    floats = np.clip([float(r) + slip * 2.0**-40 for slip, r in zip([-1, 1, 0] * 101, true, strict=False)], 0, 1)
    recorded: list[Any] = []

    def flip_each(entropy: object, approximate: Any, chance: Callable[[int], Chance]) -> Any:
        bounds = [chance(index).bounds(200) for index in range(approximate.size)]
        recorded.append(worst_error(approximate, [Fraction(low, 2**200) for low, _ in bounds]))
        return np.zeros(approximate.size, dtype=bool)

    monkeypatch.setattr(laplace, "flip_each", flip_each)
    laplace.rounded_laplace(SystemEntropy(), scale, floats, lambda index: true[index])
    assert recorded[0] < 2 * CLAIMED < MARGIN / 2


@pytest.mark.parametrize("scale", [Fraction(2048), Fraction(10**6, 3), Fraction(2**56)], ids=str)
def test_lowest_digits_are_drawn_together_only_where_they_are_nearly_fair(
    scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No acceptance is below what is taken for the least, and the floats are right where they are asked."""
    places = laplace._coins(scale).flat
    assert 7 <= places <= 52
    assert Fraction(15, 16) <= 1 - 2**places / scale
    proposals = np.array([1 + (2**places - 2) * step // 50 for step in range(51)])
    recorded: list[Any] = []

    def flip_likely(entropy: object, count: int, least: Fraction, approximate: Any, chance: Any) -> Any:
        exact = [exp_minus(Fraction(int(low)) / scale, SIXTY) for low in proposals]
        assert Fraction(15, 16) <= least <= min(exact)
        for index, value in enumerate(exact):
            assert chance(index).bounds(16) == floor_and_ceiling(value, 16, SIXTY)
        recorded.append(worst_error(approximate(np.arange(count)), exact))
        return np.ones(count, dtype=bool)

    monkeypatch.setattr(laplace, "fractions_of_one", lambda entropy, count, words: proposals.copy())
    monkeypatch.setattr(laplace, "flip_likely", flip_likely)
    assert laplace._flat_digits(SystemEntropy(), scale, places, proposals.size).tolist() == proposals.tolist()
    assert recorded[0] < CLAIMED < MARGIN / 2


def test_digits_are_drawn_together_in_long_draws_of_large_scales_alone() -> None:
    assert [laplace._coins(Fraction(scale)).flat for scale in (1, 2047, 2048, 10**6)] == [0, 0, 7, 15]


@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(22, 7), Fraction(1, 3 * 10**17)], ids=str)
def test_selection_in_floats_is_decided_only_where_it_is_certain(
    rate: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among 20,000 candidates, with uniform variables as close to a boundary as 48 bits can lie."""
    step = 1 if rate > Fraction(1, 100) else 10**17
    scores = np.random.default_rng().integers(0, 10, 20_000) * step
    gaps = (scores.max() - scores).tolist()
    weight = {gap: int(exp_minus(gap * rate, LONG) * 2**300) for gap in set(gaps)}
    boundaries = [0, *itertools.accumulate(weight[gap] for gap in gaps)]
    total, bits = boundaries[-1], 48
    nearest = [(boundary * 2**bits) // total for boundary in boundaries[1:-1:37]]
    prefixes = [min(max(0, at + slip), 2**bits - 1) for at in nearest for slip in (-4000, -30, -1, 0, 1, 30, 4000)]
    monkeypatch.setattr(selection, "fractions_of_one", lambda *_: np.array(prefixes, dtype=np.int64))
    monkeypatch.setattr(selection, "_select_exactly", lambda *_: -1)
    chosen = selection.select(SystemEntropy(), scores, rate, len(prefixes)).tolist()
    decided = [(prefix, choice) for prefix, choice in zip(prefixes, chosen, strict=True) if choice >= 0]
    # At 4,000 steps of 2^-48 from a boundary a float may decide, at one step it may not.
    assert len(prefixes) / 10 < len(decided) < len(prefixes)
    for prefix, choice in decided:
        assert boundaries[choice] * 2**bits <= prefix * total
        assert (prefix + 1) * total <= boundaries[choice + 1] * 2**bits
