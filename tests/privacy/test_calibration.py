"""From a target to a scale: never above the target, and not far below."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Positive
from dither.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace, ProposeTestRelease, StabilitySelection
from dither.privacy import (
    L1,
    ROW,
    ZCDP,
    ApproxDP,
    Distance,
    GaussianDP,
    Loss,
    PureDP,
    calibrate,
    gaussian_sigma,
    laplace_scale,
    pure_to_zcdp,
)
from dither.privacy.calibration import plain_approx

LESS = 1 - Fraction(1, 10**6)
sensitivities = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 1000))
figures = st.builds(lambda n, power: Fraction(n) * Fraction(10) ** power, st.integers(1, 999), st.integers(-9, 1))
powers = st.integers(1, 20).map(lambda n: Fraction(1, 10**n))


@dataclass(frozen=True)
class Laplacian:
    """Loses distance / scale."""

    scale: Positive = Positive()
    distance: Distance = L1

    def loss(self, d_in: Any = 1) -> Loss:
        return PureDP(Fraction(d_in) / self.scale)


@dataclass(frozen=True)
class Normal:
    """Loses distance^2 / (2 sigma^2)."""

    scale: Positive = Positive()
    distance: Distance = L1

    def loss(self, d_in: Any = 1) -> Loss:
        return ZCDP(Fraction(d_in) ** 2 / (2 * self.scale**2))


@dataclass(frozen=True)
class Stubborn:
    """Loses one, whatever its scale."""

    scale: Positive = Positive()
    distance: Distance = L1

    def loss(self, d_in: Any = 1) -> Loss:
        return PureDP(1)


@given(figures, sensitivities)
@settings(deadline=None, max_examples=60)
def test_laplace_from_epsilon_is_exact(epsilon: Fraction, sensitivity: Fraction) -> None:
    for target in (PureDP(epsilon), ApproxDP(epsilon, "1e-6"), ApproxDP(epsilon, 0)):
        assert laplace_scale(target, sensitivity) == sensitivity / epsilon


@given(figures, sensitivities)
@settings(deadline=None, max_examples=60)
def test_laplace_from_rho(rho: Fraction, sensitivity: Fraction) -> None:
    scale = laplace_scale(ZCDP(rho), sensitivity)
    assert Laplacian(scale).loss(sensitivity) <= ZCDP(rho)
    assert not Laplacian(scale * LESS).loss(sensitivity) <= ZCDP(rho)


@pytest.mark.parametrize("rho", ["1e-40", "1e-300", 10**30])
def test_laplace_from_an_extreme_rho(rho: Any) -> None:
    scale = laplace_scale(ZCDP(rho), 1)
    assert Laplacian(scale).loss(1) <= ZCDP(rho)
    assert not Laplacian(scale * LESS).loss(1) <= ZCDP(rho)


@pytest.mark.parametrize("target", [PureDP("0.1").times(10), PureDP(1, rho="1e-4"), ApproxDP(1, "1e-6", rho="1e-3")])
def test_laplace_within_a_target_that_states_a_rho(target: Loss) -> None:
    scale = laplace_scale(target, 1)
    assert Laplacian(scale).loss(1) <= target
    assert not Laplacian(scale * LESS).loss(1) <= target


@given(figures, sensitivities)
@settings(deadline=None, max_examples=60)
def test_gaussian_from_rho(rho: Fraction, sensitivity: Fraction) -> None:
    sigma = gaussian_sigma(ZCDP(rho, "1e-9"), sensitivity)
    assert Normal(sigma).loss(sensitivity) <= ZCDP(rho)
    assert sigma * sigma * (1 - Fraction(1, 10**17)) < sensitivity**2 / (2 * rho)


@given(figures, powers, sensitivities)
@settings(deadline=None, max_examples=40)
def test_gaussian_from_epsilon_and_delta(epsilon: Fraction, delta: Fraction, sensitivity: Fraction) -> None:
    target = ApproxDP(epsilon, delta)
    sigma = gaussian_sigma(target, sensitivity)
    assert Normal(sigma).loss(sensitivity) <= target
    assert Normal(sigma * LESS).loss(sensitivity).to_approx(delta).epsilon > epsilon


@pytest.mark.parametrize(
    ("find", "target"),
    [
        (laplace_scale, PureDP(0)),
        (laplace_scale, ZCDP(0)),
        (laplace_scale, ApproxDP(0, "1e-6")),
        (gaussian_sigma, PureDP(1)),
        (gaussian_sigma, ZCDP(0)),
        # No Gaussian noise is purely private, whatever rho would go with that epsilon.
        (gaussian_sigma, ApproxDP(1, 0)),
        (gaussian_sigma, ApproxDP(1, "1e-6", rho="1e-4")),
    ],
)
def test_targets_that_no_noise_reaches(find: Any, target: Loss) -> None:
    with pytest.raises(NoGuarantee, match=r"no .* noise reaches"):
        find(target, 1)


@pytest.mark.parametrize("sensitivity", [0, -1, "nan", None, True])
def test_a_sensitivity_is_a_positive_number(sensitivity: Any) -> None:
    for find in (laplace_scale, gaussian_sigma):
        with pytest.raises(InvalidParameter, match="sensitivity"):
            find(ZCDP(1), sensitivity)


@given(figures, st.integers(1, 1000))
@settings(deadline=None, max_examples=20)
def test_calibration_by_search(figure: Fraction, distance: int) -> None:
    for build, target in ((Laplacian, PureDP(figure)), (Normal, ZCDP(figure)), (Normal, ApproxDP(figure, "1e-6"))):
        found = calibrate(build, target, d_in=distance)
        assert found.loss(distance) <= target
        assert not build(found.scale * (1 - Fraction(1, 10**5))).loss(distance) <= target


def test_calibration_gives_up() -> None:
    with pytest.raises(NoGuarantee, match="no scale"):
        calibrate(Stubborn, PureDP("1/2"))
    # Where any scale will do, the smallest that is tried.
    assert calibrate(Stubborn, PureDP(1)).scale <= Fraction(1, 2**40)


def test_the_generic_rho_of_the_scale_found() -> None:
    scale = laplace_scale(ZCDP("1/2"), 1)
    assert pure_to_zcdp(1 / scale) <= Fraction(1, 2)


def test_a_rho_that_is_stated_beside_a_delta_is_kept() -> None:
    target = ApproxDP(1, "1e-6", rho="1/1000")
    assert plain_approx(target) <= target
    assert ProposeTestRelease.calibrated(target, bound=3).loss(1) <= target
    assert StabilitySelection.calibrated(target, unit=ROW, max_keys=2, fresh=True).loss(1) <= target
    assert plain_approx(ApproxDP(1, "1e-6")) == ApproxDP(1, "1e-6")
    with pytest.raises(InvalidParameter):
        plain_approx(PureDP(1))


def test_what_is_not_gaussian_reaches_no_gaussian_loss() -> None:
    for mechanism in (Geometric, Laplace, DiscreteGaussian):
        with pytest.raises(NoGuarantee, match="GaussianDP"):
            mechanism.calibrated(GaussianDP(1), sensitivity=1)
    assert Gaussian.calibrated(GaussianDP(1), sensitivity=1).loss(1) <= GaussianDP(1)
