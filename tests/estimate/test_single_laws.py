"""The laws of one noisy value, against closed forms written out again, sums over the integers and integrals."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from dither.errors import InvalidParameter
from dither.estimate.accuracy import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    Noisy,
    Symmetric,
    law_of,
    mean,
    total,
)
from dither.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace, RandomisedResponse

CONTINUOUS: list[Symmetric] = [
    LaplaceLaw(scale=3),
    LaplaceLaw(scale="1/7"),
    GaussianLaw(sigma=3),
    GaussianLaw(sigma="2/9"),
]
LATTICE: list[Symmetric] = [
    DiscreteLaplaceLaw(scale="1/64"),
    DiscreteLaplaceLaw(scale="1/2"),
    DiscreteLaplaceLaw(scale=7),
    DiscreteGaussianLaw(sigma="1/16"),
    DiscreteGaussianLaw(sigma="1/3"),
    DiscreteGaussianLaw(sigma="99/100"),
    DiscreteGaussianLaw(sigma=1),
    DiscreteGaussianLaw(sigma=12),
]
LAWS = CONTINUOUS + LATTICE


def weight(law: Any, x: int) -> Decimal:
    """Return what P[X = x] is proportional to, to twenty-eight digits."""
    with_digits = Decimal(abs(x)) if isinstance(law, DiscreteLaplaceLaw) else Decimal(x * x) / 2
    unit = law.scale if isinstance(law, DiscreteLaplaceLaw) else law.sigma**2
    return (-with_digits * unit.denominator / unit.numerator).exp()


def enumerated(law: Any) -> tuple[dict[int, int], int]:
    """Return what P[X = x] is proportional to for all x that matter, in whole numbers, and their sum."""
    reach = 2 + math.ceil(750 * float(law.scale) if isinstance(law, DiscreteLaplaceLaw) else 40 * float(law.sigma))
    half = [weight(law, x) for x in range(reach + 1)]
    # In units of the last digit of the smallest one all are whole, so that sums are exact.
    last = min(each.adjusted() for each in half) - getcontext().prec
    whole = [int(each.scaleb(-last)) for each in half]
    weights = {x: whole[abs(x)] for x in range(-reach, reach + 1)}
    return weights, sum(weights.values())


@pytest.mark.parametrize("law", LATTICE, ids=str)
def test_lattice_laws_are_sums_over_the_integers(law: Symmetric) -> None:
    weights, whole = enumerated(law)
    assert law.is_lattice
    assert law.variance == pytest.approx(float(Fraction(sum(x * x * w for x, w in weights.items()), whole)), rel=1e-12)
    above = {x: Fraction(sum(w for y, w in weights.items() if y > x), whole) for x in range(13)}
    for x in range(13):
        if above[x] < Fraction(1, 10**300):
            break
        assert law.density(x) == law.density(-x) == pytest.approx(float(Fraction(weights[x], whole)), rel=1e-12)
        assert law.tail(x) == pytest.approx(float(above[x]), rel=1e-11)
        # Between whole numbers nothing happens.
        assert law.tail(x + Fraction(1, 2)) == law.tail(x)
        assert law.density(x + Fraction(1, 2)) == 0
        assert law.cdf(x) == pytest.approx(float(1 - above[x]), rel=1e-12)
        assert law.cdf(-x - 1) == law.cdf(-x - Fraction(1, 2)) == law.tail(x)
        assert law.tail(-x - 1) == pytest.approx(float(1 - above[x]), rel=1e-12)
        assert law.beyond(x) == pytest.approx(2 * float(above[x]), rel=1e-11)
        assert law.within(x) == pytest.approx(1 - 2 * float(above[x]), rel=1e-12)


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (LaplaceLaw(scale=3), stats.laplace(scale=3)),
        (LaplaceLaw(scale="1/7"), stats.laplace(scale=1 / 7)),
        (GaussianLaw(sigma=3), stats.norm(scale=3)),
        (GaussianLaw(sigma="2/9"), stats.norm(scale=2 / 9)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_continuous_laws(law: Symmetric, reference: Any) -> None:
    assert not law.is_lattice
    assert law.variance == pytest.approx(reference.var(), rel=1e-12)
    for z in (-30, -3, -1, -0.1, 0, 0.1, 1, 3, 30):
        x = z * reference.std()
        assert law.cdf(x) == pytest.approx(reference.cdf(x), rel=1e-10)
        assert law.tail(x) == pytest.approx(reference.sf(x), rel=1e-10)
        assert law.density(x) == pytest.approx(reference.pdf(x), rel=1e-10)
    for p in ("1e-12", "0.001", "1/3", "1/2", "0.9", "0.999999"):
        share = float(Fraction(p))
        assert law.quantile(p) == pytest.approx(reference.ppf(share), rel=1e-9, abs=1e-12)
        assert law.exceeded(p) == pytest.approx(reference.isf(share), rel=1e-9, abs=1e-12)
    inside, _ = integrate.quad(law.density, -reference.std(), reference.std(), points=[0])
    assert law.within(reference.std()) == pytest.approx(inside, rel=1e-10)


@pytest.mark.parametrize("law", LATTICE, ids=str)
@pytest.mark.parametrize("p", ["1e-9", "0.01", "1/4", "1/2", "0.501", "3/4", "0.99", "1e-3"])
def test_lattice_quantiles_are_the_least(law: Symmetric, p: str) -> None:
    share = Fraction(p)
    quantile, exceeded = law.quantile(share), law.exceeded(share)
    assert isinstance(quantile, int)
    assert law.cdf(quantile) >= share > law.cdf(quantile - 1)
    assert law.tail(exceeded) <= share < law.tail(exceeded - 1)
    reach = law.reach(share)
    assert law.beyond(reach) <= share
    assert reach == 0 or law.beyond(reach - 1) > share * (1 - Fraction(1, 10**7))


@pytest.mark.parametrize("law", CONTINUOUS, ids=str)
@pytest.mark.parametrize("failure", ["1e-200", "1e-9", "0.05", "1/2", "0.999"])
def test_reach_is_rounded_outwards(law: Symmetric, failure: str) -> None:
    reach, share = law.reach(failure), float(Fraction(failure))
    assert law.beyond(reach) <= share
    assert law.beyond(reach * (1 - 1e-6)) > share * (1 - 1e-9)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_laws_are_symmetric(law: Symmetric) -> None:
    for x in (Fraction(0), Fraction(1), Fraction(5, 2), Fraction(7)):
        assert law.tail(-x) + law.cdf(-x) == pytest.approx(1, abs=1e-12)
        assert law.density(x) == law.density(-x)
        # P[X > x] = P[X < -x]
        mass = law.density(x) if law.is_lattice else 0.0
        assert law.tail(x) == pytest.approx(law.cdf(-x) - mass, abs=1e-12)


def test_small_tails_keep_their_digits() -> None:
    assert LaplaceLaw(scale=1).tail(600) == pytest.approx(math.exp(-600) / 2, rel=1e-12)
    assert GaussianLaw(sigma=1).tail(35) == pytest.approx(stats.norm.sf(35), rel=1e-10)
    wide, narrow = DiscreteGaussianLaw(sigma=100), DiscreteGaussianLaw(sigma="1/4")
    logs = [-(x**2) / 20000 for x in range(3501, 9000)]
    assert wide.tail(3500) == pytest.approx(sum(map(math.exp, logs)) / (math.sqrt(2 * math.pi) * 100), rel=1e-10)
    assert narrow.tail(8) == pytest.approx(math.exp(-8 * 81) / (1 + 2 * math.exp(-8)), rel=1e-10)


def test_wide_lattice_laws_come_near_the_continuous_ones() -> None:
    for scale in (10**3, 10**9, 2**200):
        x = 2 * scale
        laplace, gaussian = DiscreteLaplaceLaw(scale=scale), DiscreteGaussianLaw(sigma=scale)
        close = 1 / scale**2 + 1e-11
        assert laplace.tail(x) == pytest.approx(LaplaceLaw(scale=scale).tail(x + Fraction(1, 2)), rel=close)
        assert gaussian.tail(x) == pytest.approx(GaussianLaw(sigma=scale).tail(x + Fraction(1, 2)), rel=close)
        assert gaussian.density(x) == pytest.approx(GaussianLaw(sigma=scale).density(x), rel=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "law", "rounding"),
    [
        (Laplace(scale=2, grid="1/16"), LaplaceLaw(scale=2), "1/32"),
        (Gaussian(sigma=3, grid=1, shape=4), GaussianLaw(sigma=3), "1/2"),
        (Geometric(scale="5/2"), DiscreteLaplaceLaw(scale="5/2"), 0),
        (DiscreteGaussian(sigma=1), DiscreteGaussianLaw(sigma=1), 0),
    ],
    ids=str,
)
def test_the_noise_of_a_mechanism(mechanism: Any, law: Symmetric, rounding: Any) -> None:
    """And the mechanism's own error bar holds: it is at least the reach of that noise, and hardly more."""
    assert law_of(mechanism) == Noisy(law, Fraction(rounding))
    single = type(mechanism)(
        **{name: getattr(mechanism, name) for name in ("scale", "sigma", "grid") if hasattr(mechanism, name)}
    )
    for confidence in ("0.5", "0.95", "0.999999"):
        stated = single.error(confidence).value
        reach = law.reach(1 - Fraction(confidence))
        assert stated >= (reach if law.is_lattice else reach * (1 - 1e-7))
        assert stated <= reach * 1.00001 + float(Fraction(rounding)) + (2 if law.is_lattice else 0)


def test_other_mechanisms_have_no_such_law() -> None:
    with pytest.raises(InvalidParameter, match="mechanism"):
        law_of(RandomisedResponse(epsilon=1, categories=2))


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: LaplaceLaw(scale=0), "scale"),
        (lambda: LaplaceLaw(scale=math.nan), "scale"),
        (lambda: LaplaceLaw(scale=2**401), "scale"),
        (lambda: GaussianLaw(sigma=-1), "sigma"),
        (lambda: DiscreteLaplaceLaw(scale="1/65"), "scale"),
        (lambda: DiscreteGaussianLaw(sigma="1/17"), "sigma"),
        (lambda: LaplaceLaw(scale=1).tail(math.inf), "x"),
        (lambda: LaplaceLaw(scale=1).beyond(-1), "x"),
        (lambda: LaplaceLaw(scale=1).quantile(1), "p"),
        (lambda: LaplaceLaw(scale=1).quantile(0), "p"),
        (lambda: LaplaceLaw(scale=1).exceeded(0), "failure"),
        (lambda: LaplaceLaw(scale=1).reach("1e-300"), "failure"),
        (lambda: total(LaplaceLaw(scale=1), 0), "count"),
        (lambda: mean(LaplaceLaw(scale=1), 10**9), "count"),
    ],
)
def test_refusals_name_the_parameter(call: Any, parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.parameter == parameter


def test_callers_may_turn_float_warnings_into_errors() -> None:
    laws = [total(LaplaceLaw(scale=1), 5), total(DiscreteGaussianLaw(sigma="1/2"), 4), DiscreteGaussianLaw(sigma=5)]
    with np.errstate(all="raise"):
        for law in (*laws, total(LaplaceLaw(scale=1), 10**5), total(DiscreteLaplaceLaw(scale=3), 2)):
            assert law.tail(10) >= law.tail(700) >= law.tail(2000) >= 0
            assert law.density(700) >= 0
            assert law.reach("0.01") > 0


def test_laws_are_values() -> None:
    assert LaplaceLaw(scale=0.1) == LaplaceLaw(scale="1/10")
    assert len({LaplaceLaw(scale=1), DiscreteLaplaceLaw(scale=1), GaussianLaw(sigma=1), LaplaceLaw(scale=1)}) == 3
    assert np.isclose(LaplaceLaw(scale=1).tail(np.float64(1.0)), math.exp(-1) / 2)
