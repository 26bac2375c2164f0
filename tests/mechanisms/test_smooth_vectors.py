"""Smooth sensitivity of vectors: where tails end, losses against both laws in two and more dimensions, the draws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaincc, gammainccinv

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import SmoothCauchy, SmoothGaussian, SmoothLaplace
from dither.mechanisms.gamma_edge import gamma_edge
from dither.mechanisms.smooth_sensitivity import ROUNDING, SmoothPairs
from dither.noise import Noise, SystemEntropy
from dither.privacy import L1, L2, ApproxDP, PureDP

F = Fraction
noise = Noise(SystemEntropy())
KINDS: list[Any] = [SmoothLaplace, SmoothGaussian]


# Where the tails end.


@pytest.mark.parametrize("delta", ["1/2", "1e-3", "1e-12"])
@pytest.mark.parametrize("shape", [1, 2, 7, 40])
def test_the_edge_is_the_quantile_of_the_gamma_law(shape: int, delta: str) -> None:
    found, true = float(gamma_edge([F(1)] * shape, F(delta))), float(gammainccinv(shape, float(F(delta))))
    assert true * (1 - 1e-12) <= found <= true * (1 + 1e-6)


def test_an_edge_that_is_not_needed_is_zero() -> None:
    assert gamma_edge([F(1, 100)], F(1, 10)) == 0
    assert gamma_edge([F(1, 100), F(1, 1000)], F(1, 10)) == 0


# The losses against the true laws.


def dilation_delta(dimension: int, drift: float, epsilon: float) -> float:
    """Return the true delta when Laplace noise of d coordinates becomes narrower: all of it lies beyond one radius."""
    radius = (epsilon + dimension * drift) / math.expm1(drift)
    tail = gammaincc(dimension, radius) - math.exp(epsilon) * gammaincc(dimension, radius * math.exp(drift))
    return float(tail)


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("drift", ["1/100", "1/5"])
def test_the_price_of_narrower_laplace_noise_is_the_true_one(dimension: int, drift: str) -> None:
    """The value stands still, as under noise that is wide beside its moves: neither too little nor much too much."""
    mechanism = SmoothLaplace(delta="1e-5", least=1, smoothness=drift, scale=10**9, grid=2**10, dimension=dimension)
    moved = float(mechanism.smoothness + ROUNDING)
    epsilon = float(mechanism.loss(1).epsilon) - 1e-9
    found = dilation_delta(dimension, moved, epsilon)
    if epsilon > dimension * moved * (1 + 1e-6):
        assert found == pytest.approx(1e-5, rel=1e-4)
    else:
        # Wider noise is likelier at the centre by e^(d b), and that is what is paid.
        assert epsilon == pytest.approx(dimension * moved, rel=1e-6)
        assert found <= 1e-5


def log_density(kind: Any, x: Any, y: Any, scale: float) -> Any:
    if kind is SmoothLaplace:
        return -(np.abs(x) + np.abs(y)) / scale - 2 * math.log(2 * scale)
    return -(x * x + y * y) / (2 * scale**2) - 2 * math.log(scale) - math.log(2 * math.pi)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("scale", "smoothness"), [(2, "1/5"), (5, "1/20"), (1, "1/2")])
def test_losses_hold_in_the_plane(kind: Any, scale: int, smoothness: str) -> None:
    """Neighbours that move as far as either bound allows, along an axis and across, under noise wider and narrower."""
    mechanism = kind(delta="1/1000", least=1, smoothness=smoothness, scale=scale, dimension=2)
    drift, epsilon = float(mechanism.smoothness + ROUNDING), float(mechanism.loss(1).epsilon)
    line = np.linspace(-30 * scale, 30 * scale, 501)
    x, y = np.meshgrid(line, line)
    cell = (line[1] - line[0]) ** 2
    here = log_density(kind, x, y, scale)
    shares = [(1.0, 0.0), (0.5, 0.5) if kind is SmoothLaplace else (math.sqrt(0.5), math.sqrt(0.5)), (0.0, 0.0)]
    for factor in np.exp([drift, drift / 2, 0.0, -drift / 2, -drift]):
        for share in shares:
            right, up = (part * min(1.0, factor) for part in share)
            there = log_density(kind, x - right, y - up, scale * factor)
            delta = np.maximum(np.exp(here) - math.exp(epsilon) * np.exp(there), 0).sum() * cell
            assert delta <= 1e-3 * (1 + 1e-2)


@pytest.mark.parametrize("dimension", [1, 2, 5, 50])
def test_gaussian_losses_hold_along_a_line_in_any_dimension(dimension: int) -> None:
    """The loss grows with the length of the noise and with its share along the move: both at their edge.

    The largest log-ratio over all noise no longer than the true quantile of its length is within the stated epsilon.
    """
    mechanism = SmoothGaussian(delta="1e-4", least=1, smoothness="1/30", scale=4, dimension=dimension)
    drift, epsilon = float(mechanism.smoothness + ROUNDING), float(mechanism.loss(1).epsilon)
    edge = math.sqrt(2 * float(gammainccinv(dimension / 2, 1e-4)))
    length = np.linspace(0, edge, 2001)
    for a in np.linspace(-drift, drift, 41):
        # The bound at the far end is e^-a times that at the near one; the move is at most as long as either.
        shift = min(1.0, math.exp(a)) / 4
        ratio = -dimension * a + ((length * math.exp(a) + shift) ** 2 - length**2) / 2
        assert ratio.max() <= epsilon


@pytest.mark.parametrize("power", [2, 4])
def test_cauchy_loss_holds_in_the_plane_and_is_reached(power: int) -> None:
    mechanism = SmoothCauchy(power=power, least=1, smoothness="1/10", scale=3, dimension=2)
    drift, epsilon = float(mechanism.smoothness + ROUNDING), float(mechanism.loss(1).epsilon)
    line = np.concatenate([-np.logspace(6, -3, 120), [0.0], np.logspace(-3, 6, 120)])
    x, y = np.meshgrid(line, line)

    def log_law(x: Any, y: Any, width: float) -> Any:
        return -np.log1p((x / width) ** power) - np.log1p((y / width) ** power) - 2 * math.log(width)

    found = []
    for factor in (math.exp(drift), math.exp(-drift)):
        for right, up in ((1.0, 0.0), (0.5, 0.5), (0.0, 0.0)):
            reach = min(1.0, factor)
            there = log_law(x - right * reach, y - up * reach, 3 * factor)
            found.append(np.abs(log_law(x, y, 3) - there).max())
    assert max(found) <= epsilon
    assert max(found) >= 2 * (power - 1) * drift * 0.99


@pytest.mark.parametrize("dimension", [2, 10, 60])
def test_calibration_stays_within_its_target(dimension: int) -> None:
    target = ApproxDP(1, "1e-6")
    for kind in KINDS:
        mechanism = kind.calibrated(target, least=1, dimension=dimension)
        assert mechanism.dimension == dimension
        assert F(999, 1000) < mechanism.loss(1).epsilon <= 1
    cauchy = SmoothCauchy.calibrated(PureDP(1), least=1, dimension=dimension)
    assert F(999, 1000) < cauchy.loss(1).epsilon <= 1


def test_one_dimension_is_what_it_was() -> None:
    """The closed form for one number: 1 / scale + (e^b - 1) ln((1 - e^-b) / delta) - b."""
    drift = 0.1 + float(ROUNDING)
    stated = 0.5 + math.expm1(drift) * math.log(-math.expm1(-drift) / 1e-2) - drift
    loss = SmoothLaplace(delta="1/100", least=3, smoothness="1/10", scale=2).loss(1)
    assert float(loss.epsilon) == pytest.approx(stated, rel=1e-12)


# The metric and the draws.


def test_neighbours_are_measured_in_the_norm_of_the_noise() -> None:
    here, there = [0, 0, 5], [3, 4, 5]
    assert SmoothPairs(F(1, 10), F(1), 2, L2).measure(here, there) == 1
    assert SmoothPairs(F(1, 10), F(1), 2, L1).measure(here, there) == 2
    assert SmoothPairs(F(1, 10), F(1), 2, L1).measure(here, [3, 4]) is None
    assert SmoothPairs(F(1, 10), F(1), 2, L1) != SmoothPairs(F(1, 10), F(1), 2, L2)
    assert SmoothLaplace(delta="1/9", least=1, smoothness=1, scale=1, dimension=2).distance.measure(here, there) == 2
    assert SmoothGaussian(delta="1/9", least=1, smoothness=1, scale=1, dimension=2).distance.measure(here, there) == 1


@pytest.mark.statistical(n=4_000, false_alarm=1e-9, catches="coordinates mixed up, or noise shared among them")
@pytest.mark.parametrize("kind", ["cauchy", *KINDS], ids=("cauchy", "laplace", "gaussian"))
def test_every_coordinate_has_its_own_place_and_noise(kind: Any) -> None:
    """The middle of 4,000 draws is within a scale of its coordinate, and half of the signs of two noises agree."""
    public: dict[str, Any] = {"least": 1, "smoothness": "1/50", "scale": 2, "grid": "1/4", "dimension": 3}
    mechanism = SmoothCauchy(**public) if kind == "cauchy" else kind(delta="1/100", **public)
    centre = np.array([0.3, -1000.1, 10**7])
    drawn = mechanism.draw_many([*centre, 1.0], 4_000, noise)
    assert drawn.shape == (4_000, 3)
    assert (np.abs(np.median(drawn, axis=0) - centre) < 1).all()
    signs = drawn > np.median(drawn, axis=0)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.mean(signs[:, one] == signs[:, other]) - 0.5) < 0.06
    assert mechanism.draw([*centre, 1.0], noise).shape == (3,)


def test_odd_vectors_have_a_meaning() -> None:
    mechanism = SmoothLaplace(delta="1/100", least=1, smoothness="1/50", scale=2, dimension=3)
    for odd in ([math.nan, math.inf, -math.inf, math.nan], [10**400, -(10**400), 0, 10**400], [0, 0, 0, -5.0]):
        assert np.isfinite(mechanism.draw_many(odd, 20, noise)).all()
    for wrong in ([0.0, 1.0], 3.0, np.zeros((2, 2))):
        with pytest.raises(InvalidValue):
            mechanism.draw_many(wrong, 1, noise)
    with pytest.raises(InvalidParameter, match="dimension"):
        SmoothLaplace(delta="1/100", least=1, smoothness="1/50", scale=2, dimension=0)
