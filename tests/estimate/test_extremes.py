"""The largest and the smallest: against products over all outcomes, and coverage by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from dither.errors import InvalidParameter
from dither.estimate.accuracy import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    Largest,
    Smallest,
    largest_interval,
    smallest_interval,
    total,
)

LATTICE = [DiscreteLaplaceLaw(scale="3/4"), DiscreteGaussianLaw(sigma=1), total(DiscreteLaplaceLaw(scale="1/2"), 2)]
CONTINUOUS = [LaplaceLaw(scale=2), GaussianLaw(sigma=2), total(LaplaceLaw(scale=1), 3)]


@pytest.mark.parametrize("law", LATTICE, ids=str)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_lattice_extremes_are_enumerated(law: Any, count: int) -> None:
    reach = 30
    shares = {x: law.density(x) for x in range(-reach, reach + 1)}
    largest: dict[int, float] = dict.fromkeys(shares, 0.0)
    for outcome in product(range(-9, 10), repeat=count):
        largest[max(outcome)] += math.prod(shares[x] for x in outcome)
    top, bottom = Largest(law, count), Smallest(law, count)
    assert top.is_lattice
    assert bottom.is_lattice
    for x in range(-3, 7):
        below = sum(largest[y] for y in range(-9, x + 1))
        assert top.density(x) == pytest.approx(largest[x], rel=1e-3, abs=1e-4)
        assert top.cdf(x) == pytest.approx(below, abs=1e-4)
        # Exactly, from the law itself.
        assert top.cdf(x) == pytest.approx(law.cdf(x) ** count, rel=1e-12)
        assert top.tail(x) == pytest.approx(1 - law.cdf(x) ** count, abs=1e-12)
        assert top.density(x) == pytest.approx(law.cdf(x) ** count - law.cdf(x - 1) ** count, abs=1e-12)
        # The smallest is the largest, mirrored.
        assert bottom.density(-x) == pytest.approx(top.density(x), rel=1e-9, abs=1e-15)
        assert bottom.cdf(-x) == pytest.approx(1 - top.cdf(x - 1), abs=1e-12)
        assert bottom.tail(-x) == pytest.approx(top.cdf(x - 1), rel=1e-9)
    for p in ("0.01", "1/2", "0.999"):
        quantile = top.quantile(p)
        assert top.cdf(quantile) >= Fraction(p) > top.cdf(quantile - 1)
        quantile = bottom.quantile(p)
        assert bottom.cdf(quantile) >= Fraction(p) > bottom.cdf(quantile - 1)
    assert top.density(Fraction(1, 2)) == bottom.density(Fraction(1, 2)) == 0


@pytest.mark.parametrize("law", CONTINUOUS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 50])
def test_continuous_extremes(law: Any, count: int) -> None:
    top, bottom = Largest(law, count), Smallest(law, count)
    for x in (-3.0, -0.5, 0.5, 4.0):
        area, _ = integrate.quad(top.density, x, 60, points=[0.0, 5.0], limit=300)
        assert top.tail(x) == pytest.approx(area, rel=1e-6)
        assert bottom.density(-x) == pytest.approx(top.density(x), rel=1e-9)
        assert bottom.cdf(-x) == pytest.approx(top.tail(x), rel=1e-9)
    for p in ("0.001", "1/2", "0.999"):
        assert top.cdf(top.quantile(p)) == pytest.approx(float(Fraction(p)), rel=1e-9)
        assert bottom.quantile(p) == pytest.approx(-top.exceeded(p), rel=1e-9, abs=1e-9)


def test_small_tails_of_large_maxima_keep_their_digits() -> None:
    noise = LaplaceLaw(scale=1)
    assert Largest(noise, 1000).tail(200) == pytest.approx(1000 * noise.tail(200), rel=1e-9)
    assert Smallest(noise, 3).tail(100) == pytest.approx(noise.tail(100) ** 3, rel=1e-9)
    # (1 - e^-x / 2)^n = 1 - f at x = -ln(2 (1 - (1 - f)^(1/n))), the corrected recipe for a cap.
    n, f = 250, 1e-9
    assert Largest(noise, n).exceeded(Fraction(f)) == pytest.approx(
        -math.log(-2 * math.expm1(math.log1p(-f) / n)), rel=1e-9
    )


def coverage(law: Any, true: tuple[int, ...], confidence: str, *, is_largest: bool) -> float:
    """Return how often the interval holds the true extreme, over all noise that matters."""
    reach = 24
    x = np.arange(-reach, reach + 1)
    mass = np.array([law.density(int(each)) for each in x])
    grids = np.meshgrid(*[x + each for each in true], indexing="ij")
    weight = np.ones([x.size] * len(true))
    for axis in range(len(true)):
        weight *= mass.reshape([-1 if axis == place else 1 for place in range(len(true))])
    noisy = np.maximum.reduce(grids) if is_largest else np.minimum.reduce(grids)
    # The interval depends on the noisy extreme alone, and moves with it.
    interval = (largest_interval if is_largest else smallest_interval)(law, [0] * len(true), confidence=confidence)
    goal = max(true) if is_largest else min(true)
    holds = (noisy + interval.low <= goal) & (goal <= noisy + interval.high)
    return float((weight * holds).sum() / weight.sum())


@pytest.mark.parametrize("true", [(0, 0, 0), (0, 1, 2), (0, 0, 9), (-7, 5, 5)], ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
@pytest.mark.parametrize("is_largest", [True, False])
def test_intervals_hold_the_true_extreme(true: tuple[int, ...], confidence: str, is_largest: bool) -> None:
    for law in (DiscreteLaplaceLaw(scale=1), DiscreteGaussianLaw(sigma=2)):
        assert coverage(law, true, confidence, is_largest=is_largest) >= float(confidence)


def test_one_noise_decides_above_and_all_below() -> None:
    """Far apart, the interval is as tight as that of one value above, and no wider for more values."""
    noise = LaplaceLaw(scale=10)
    few, many = (largest_interval(noise, [0] * n, confidence="0.95") for n in (1, 1000))
    assert few.high == many.high == pytest.approx(noise.quantile("0.975"), rel=1e-7)
    assert few.low == pytest.approx(-noise.quantile("0.975"), rel=1e-7)
    assert many.low == pytest.approx(-Largest(noise, 1000).quantile("0.975"), rel=1e-7)
    mirrored = smallest_interval(noise, [0] * 1000, confidence="0.95")
    assert (mirrored.low, mirrored.high) == (-many.high, -many.low)


def test_the_printed_product_is_valid_and_looser() -> None:
    """A cap M with prod F(M - noisy_i) = confidence is never below the largest noisy value plus one quantile."""
    noise, noisy = LaplaceLaw(scale=10), [172, 179, 125, 140, 140, 98]
    simple = max(noisy) + noise.quantile("0.95")
    product_there = math.prod(noise.cdf(Fraction(simple) - value) for value in noisy)
    assert product_there < 0.95


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: largest_interval(LaplaceLaw(scale=1), [], confidence="0.9"), "noisy"),
        (lambda: largest_interval(LaplaceLaw(scale=1), [1, math.nan], confidence="0.9"), "noisy[1]"),
        (lambda: largest_interval(LaplaceLaw(scale=1), [1], confidence=1), "confidence"),
        (lambda: smallest_interval(LaplaceLaw(scale=1), [], confidence="0.9"), "noisy"),
        (lambda: Largest(LaplaceLaw(scale=1), 0), "count"),
        (lambda: Smallest(LaplaceLaw(scale=1), 2.0), "count"),  # type: ignore[arg-type]
    ],
)
def test_refusals_name_the_parameter(call: Any, parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.parameter == parameter
