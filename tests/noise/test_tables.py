"""The tables that production compares its 16-bit words with, against decimals of 60 digits and more.

Enumeration proves the samplers for narrow words; the same code with 16-bit words differs by these numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import pytest

from dither.noise import laplace
from dither.noise.chances import Chance, RationalChance, exponential, logistic, remainder, truth

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


@pytest.mark.parametrize("x", [Fraction(1, 2**56), Fraction(1, 3), Fraction(1), Fraction(14), Fraction(60)], ids=str)
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
