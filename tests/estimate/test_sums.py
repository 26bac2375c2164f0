"""Laws of sums against exact rational polynomials, convolution by hand, integrals, and each other."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, special

from dither.errors import InvalidParameter
from dither.estimate.accuracy import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    LaplaceSumLaw,
    Symmetric,
    difference,
    inversion,
    mean,
    sum_of,
    total,
)
from dither.estimate.accuracy.sums import Scaled, SumLaw
from tests.rationals import rationals

FIFTY = Context(prec=50)


def laplace_sum_tail(count: int, x: Fraction) -> Fraction:
    """Return P[X > x] of ``count`` Laplace variables of scale 1, to fifty digits, without the mixture.

    X = G - H with Gamma variables of shape n, so P[X > x] = E[Q(n, x + H)], where Q(n, y) is e^-y times the sum of
    y^i / i! over i < n, and E[e^-H H^k] = (n + k - 1)! / (n - 1)! / 2^(n + k).
    """
    sums = Fraction(0)
    for i in range(count):
        for k in range(i + 1):
            moment = Fraction(math.factorial(count + k - 1), math.factorial(count - 1) * 2 ** (count + k))
            sums += Fraction(math.comb(i, k), math.factorial(i)) * x ** (i - k) * moment
    return sums * Fraction(FIFTY.exp(Decimal(-x.numerator) / x.denominator))


def bessel_density(count: int, x: float) -> float:
    """Return the density of ``count`` Laplace variables of scale 1 at x > 0, by the Bessel function."""
    order = count - 0.5
    log = order * math.log(x / 2) + math.log(special.kve(order, x)) - x - math.lgamma(count)
    return math.exp(log) / math.sqrt(math.pi)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, 40])
def test_equal_laplace_noise_is_exact(count: int) -> None:
    law = LaplaceSumLaw(scale=3, count=count)
    assert law.tail(0) == pytest.approx(0.5, rel=1e-12)
    for x in (Fraction(1, 100), Fraction(1), Fraction(7, 2), Fraction(20), Fraction(90)):
        assert law.tail(3 * x) == pytest.approx(float(laplace_sum_tail(count, x)), rel=1e-12)
        assert law.density(3 * x) == pytest.approx(bessel_density(count, float(x)) / 3, rel=1e-11)


@pytest.mark.parametrize("count", [2, 7, 60, 120])
def test_tails_are_integrals_of_the_density(count: int) -> None:
    law = LaplaceSumLaw(scale=1, count=count)
    for z in (0.2, 1.0, 3.0):
        x = z * math.sqrt(2 * count)
        area, _ = integrate.quad(
            lambda y: bessel_density(count, y), x, x + 40 * math.sqrt(count) + 60, epsabs=0, limit=200
        )
        assert law.tail(x) == pytest.approx(area, rel=1e-9)


@pytest.mark.parametrize("count", [2, 3, 30, 1000, 10**5, 10**8])
@pytest.mark.parametrize("deviations", [0.0, 0.5, 3.0, 10.0, 25.0])
def test_two_routes_agree_for_any_number_of_summands(count: int, deviations: float) -> None:
    """The mixture of positive terms, and the integral along a line in the complex plane, have nothing in common."""
    law = LaplaceSumLaw(scale=2, count=count)
    x = deviations * math.sqrt(law.variance)
    assert law.tail(x) == pytest.approx(inversion.tail([(LaplaceLaw(scale=2), count)], x), rel=1e-11)
    if count <= 1000:
        assert law.density(x) == pytest.approx(inversion.density([(LaplaceLaw(scale=2), count)], x), rel=1e-11)


def test_many_summands_come_near_the_normal_law() -> None:
    """The first correction to the normal law has the excess kurtosis 3 / n."""
    for count in (10**4, 10**6, 10**8):
        law = LaplaceSumLaw(scale=1, count=count)
        for z in (0.5, 1.0, 2.0, 4.0):
            normal = GaussianLaw(sigma=1)
            corrected = normal.tail(z) + 3 / (24 * count) * (z**3 - 3 * z) * normal.density(z)
            assert law.tail(z * math.sqrt(law.variance)) == pytest.approx(corrected, rel=300 / count**2 + 1e-11)


# On the integers.


def masses(law: Any, reach: int) -> NDArray[np.float64]:
    x = np.arange(-reach, reach + 1)
    weights = np.exp(
        -np.abs(x) / float(law.scale) if isinstance(law, DiscreteLaplaceLaw) else -(x**2) / (2 * float(law.sigma) ** 2)
    )
    return np.asarray(weights / weights.sum())


def convolved(parts: list[tuple[Any, int, int]]) -> NDArray[np.float64]:
    """Return the masses of a sum, by convolving one after the other; (law, count, reach of its support)."""
    whole = np.array([1.0])
    for law, count, reach in parts:
        for _ in range(count):
            whole = np.convolve(whole, masses(law, reach))
    return whole


SUMS: list[list[tuple[Any, int, int]]] = [
    [(DiscreteLaplaceLaw(scale="1/64"), 2, 12)],
    [(DiscreteLaplaceLaw(scale="1/2"), 3, 120)],
    [(DiscreteLaplaceLaw(scale=3), 2, 700)],
    [(DiscreteLaplaceLaw(scale=3), 15, 500)],
    [(DiscreteGaussianLaw(sigma="1/16"), 4, 4)],
    [(DiscreteGaussianLaw(sigma="1/3"), 9, 8)],
    [(DiscreteGaussianLaw(sigma=1), 2, 38)],
    [(DiscreteGaussianLaw(sigma=4), 20, 140)],
    [(DiscreteLaplaceLaw(scale=1), 2, 300), (DiscreteLaplaceLaw(scale=8), 1, 3000)],
    [(DiscreteLaplaceLaw(scale=2), 3, 300), (DiscreteGaussianLaw(sigma="2/3"), 2, 25)],
]


@pytest.mark.parametrize("parts", SUMS, ids=lambda parts: " + ".join(f"{n} {law}" for law, n, _ in parts))
def test_sums_on_the_integers_are_convolutions(parts: list[tuple[Any, int, int]]) -> None:
    law = sum_of(*(total(each, count) for each, count, _ in parts))
    found = convolved(parts)
    middle = found.size // 2
    tails = np.cumsum(found[::-1])[::-1]
    support = np.arange(-middle, middle + 1)
    assert law.is_lattice
    assert law.variance == pytest.approx(float((support**2 * found).sum()), rel=1e-10)
    for x in (0, 1, 2, 3, 7, 20, 60):
        if x + 1 > middle or tails[middle + x + 1] < 1e-150:
            break
        assert law.tail(x) == pytest.approx(tails[middle + x + 1], rel=1e-10)
        assert law.density(x) == pytest.approx(found[middle + x], rel=1e-10)
        assert law.cdf(-x - 1) == law.tail(x)
    for p in (Fraction(1, 1000), Fraction(1, 3), Fraction(99, 100)):
        assert law.quantile(p) == int(support[np.searchsorted(np.cumsum(found), float(p))])


def test_many_discrete_gaussians_are_nearly_one() -> None:
    """From sigma = 3 on the sum differs from the discrete Gaussian of n sigma^2 by less than floats can tell."""
    for count in (4, 100, 10**6):
        law = total(DiscreteGaussianLaw(sigma=3), count)
        one = DiscreteGaussianLaw(sigma=3 * math.isqrt(count))
        for z in (1, 5, 20):
            assert law.tail(z * 3 * math.isqrt(count)) == pytest.approx(one.tail(z * 3 * math.isqrt(count)), rel=1e-10)


# Sums of different laws.


def by_integral(first: Symmetric, second: Symmetric, x: float) -> float:
    """Return P[X + Y > x] as the integral of the tail of one over the density of the other."""
    narrow = 8 * math.sqrt(first.variance)
    edges = sorted({-5 * narrow, -narrow, 0.0, narrow, 5 * narrow, *([x] if x < 5 * narrow else [])})
    return sum(
        integrate.quad(
            lambda y: first.density(y) * second.tail(x - y), low, high, epsabs=1e-15, epsrel=1e-12, limit=200
        )[0]
        for low, high in pairwise(edges)
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LaplaceLaw(scale=1), LaplaceLaw(scale=3)),
        (LaplaceLaw(scale=1), LaplaceLaw(scale="1.0001")),
        (LaplaceLaw(scale=1), LaplaceLaw(scale=1000)),
        (LaplaceLaw(scale=2), GaussianLaw(sigma=1)),
        (LaplaceLaw(scale=1), GaussianLaw(sigma=7)),
        (LaplaceSumLaw(scale=1, count=3), LaplaceSumLaw(scale=4, count=2)),
        (LaplaceSumLaw(scale=1, count=20), LaplaceLaw(scale=9)),
    ],
    ids=str,
)
def test_sums_of_different_laws(first: Symmetric, second: Symmetric) -> None:
    law = sum_of(first, second)
    assert law.variance == pytest.approx(first.variance + second.variance)
    for z in (0.0, 0.3, 1.0, 4.0):
        x = z * math.sqrt(law.variance)
        assert law.tail(x) == pytest.approx(by_integral(first, second, x), rel=1e-8)
        step = 1e-4 * math.sqrt(law.variance)
        slope = (law.tail(x) - law.tail(x + 2 * step)) / (2 * step)
        assert law.density(x + step) == pytest.approx(slope, rel=1e-5)
    assert law == difference(first, second) == sum_of(second, first)


def test_two_laplace_scales_have_a_closed_form() -> None:
    for small, large, x in ((1, 2, 3), (1, 100, 50), (3, 5, 0)):
        law = sum_of(LaplaceLaw(scale=small), LaplaceLaw(scale=large))
        b, c = small**2, large**2
        closed = (c * math.exp(-x / large) - b * math.exp(-x / small)) / (2 * (c - b))
        assert law.tail(x) == pytest.approx(closed, rel=1e-12)


def test_scales_too_far_apart_are_refused() -> None:
    law = sum_of(LaplaceLaw(scale=1), LaplaceLaw(scale=1), LaplaceLaw(scale=10**9))
    with pytest.raises(InvalidParameter, match="laws"):
        law.tail(1)


# The algebra.


def test_sums_find_their_simplest_form() -> None:
    laplace, gaussian, whole = LaplaceLaw(scale=2), GaussianLaw(sigma=3), DiscreteLaplaceLaw(scale=2)
    assert total(laplace, 1) == laplace
    assert total(laplace, 5) == sum_of(*[laplace] * 5) == LaplaceSumLaw(scale=2, count=5)
    assert sum_of(total(laplace, 5), total(laplace, 7)) == total(laplace, 12)
    assert total(gaussian, 16) == GaussianLaw(sigma=12)
    assert sum_of(whole) == whole
    assert total(whole, 3) == SumLaw(((whole, 3),))
    assert total(total(whole, 3), 4) == total(whole, 12)
    assert difference(laplace, laplace) == LaplaceSumLaw(scale=2, count=2)
    assert set(sum_of(laplace, gaussian, gaussian, laplace).parts) == {  # type: ignore[attr-defined]
        (laplace, 2),
        (sum_of(gaussian, gaussian), 1),
    }


def test_means() -> None:
    assert mean(LaplaceLaw(scale=10), 4) == LaplaceSumLaw(scale="5/2", count=4)
    assert mean(GaussianLaw(sigma=10), 25) == GaussianLaw(sigma=2)
    whole = mean(DiscreteLaplaceLaw(scale=2), 5)
    inner = total(DiscreteLaplaceLaw(scale=2), 5)
    assert whole == Scaled(inner, Fraction(1, 5))
    assert whole.variance == pytest.approx(inner.variance / 25)
    for x in ("-3/5", "-1/2", 0, "1/5", "0.3", "7/5"):
        position = Fraction(x) * 5
        assert whole.cdf(x) == inner.cdf(position)
        assert whole.tail(x) == inner.tail(position)
        assert whole.density(x) == inner.density(position)
    assert whole.quantile("0.9") == inner.quantile("0.9") / 5
    assert whole.reach("0.1") == inner.reach("0.1") / 5
    assert whole.within("7/5") == inner.within(7)
    assert mean(mean(DiscreteLaplaceLaw(scale=2), 5), 3) == Scaled(
        total(DiscreteLaplaceLaw(scale=2), 15), Fraction(1, 15)
    )
    mixed = sum_of(LaplaceLaw(scale=1), LaplaceLaw(scale=2))
    assert mean(mixed, 3).tail(1) == pytest.approx(total(mixed, 3).tail(3), rel=1e-11)
    assert mean(mixed, 3).density(1) == pytest.approx(3 * total(mixed, 3).density(3), rel=1e-10)


@given(st.integers(1, 40), rationals("1/10", 30), rationals("1e-6", "999/1000"))
@settings(max_examples=40, deadline=None)
def test_quantiles_turn_the_law_around(count: int, scale: Fraction, p: Fraction) -> None:
    law = total(LaplaceLaw(scale), count)
    assert law.cdf(law.quantile(p)) == pytest.approx(float(p), rel=1e-10)
    reach = law.reach(p)
    assert float(p) * (1 - 1e-6) < law.beyond(reach) <= p


@pytest.mark.parametrize(
    "laws",
    [
        (),
        (LaplaceLaw(scale=1), DiscreteLaplaceLaw(scale=1)),
        (mean(DiscreteLaplaceLaw(scale=1), 3), DiscreteLaplaceLaw(scale=1)),
        (LaplaceSumLaw(scale=1, count=10**8), LaplaceLaw(scale=1)),
        (7,),
    ],
    ids=str,
)
def test_what_cannot_be_added_is_refused(laws: Any) -> None:
    with pytest.raises(InvalidParameter, match="law"):
        sum_of(*laws)
