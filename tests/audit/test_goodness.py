"""The self-test of noise: laws against sums, distances against brute force, and what it sees and cannot see."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.audit import noise_test, self_test
from dither.audit.goodness import critical_distance, noise_laws, smallest_scale_error
from dither.errors import InvalidParameter
from dither.noise import system_noise

LAWS = {law.name: law for law in noise_laws()}
SUPPORT = np.arange(-60, 61)
FALSE_ALARM = 1e-9


def weights(name: str, scale: float) -> np.ndarray:
    if "Gaussian" in name:
        return np.asarray(np.exp(-(SUPPORT**2) / (2 * scale**2)))
    weight = np.exp(-np.abs(SUPPORT) / scale)
    return np.asarray(np.where(SUPPORT < 0, 0, weight) if "geometric" in name else weight)


@pytest.mark.parametrize("name", ["discrete Laplace, scale 3", "geometric, scale 1/2", "discrete Gaussian, sigma 3"])
def test_laws_are_the_sums_of_their_weights(name: str) -> None:
    scale = float(Fraction(name.split()[-1]))
    for factor in (1.0, 0.8):
        weight = weights(name, scale * factor)
        found = LAWS[name].up_to(SUPPORT.astype(float), factor)
        # Beyond 60 a discrete Laplace of scale 3 has a weight of e^-20.
        assert found == pytest.approx(np.cumsum(weight) / weight.sum(), abs=1e-8)


def test_the_distance_is_the_largest_over_all_points() -> None:
    """Against every point of a fine grid, atoms that were never drawn included."""
    draws = np.array([2, 2, 5, 9, 9, 9])
    law = LAWS["uniform below 1000"]
    points = np.arange(-5, 1005, 0.5)
    shares = np.array([(draws <= point).mean() for point in points])
    truth = np.max(np.abs(shares - law.up_to(points, 1.0)))
    assert noise_test(draws, lambda x: law.up_to(x, 1.0), step=1).distance == pytest.approx(truth)


@pytest.mark.statistical(n=20_000, false_alarm=FALSE_ALARM, catches="a sampler whose law is visibly another")
def test_the_samplers_pass() -> None:
    found = self_test(20_000, false_alarm=FALSE_ALARM)
    assert set(found) == set(LAWS)
    for name, (fit, error) in found.items():
        assert not fit.is_refuted, name
        assert 0 < error < 0.5, name


@pytest.mark.statistical(n=20_000, false_alarm=1e-9, miss=1e-9, catches="a scale error of 1.3 times what it sees")
def test_it_sees_what_it_says() -> None:
    """At 1.3 times the error that is missed once in a million, the bound on a miss is 2e-16."""
    law = LAWS["discrete Laplace, scale 3"]
    seen = critical_distance(20_000, 1e-6) + critical_distance(20_000, 1e-6)
    share = Fraction(math.ceil(1300 * smallest_scale_error(law, seen)), 1000)
    wrong = system_noise().discrete_laplace(3 * (1 - share), 20_000)
    assert noise_test(wrong, lambda x: law.up_to(x, 1.0), step=1).is_refuted
    assert not noise_test(law.draw(20_000), lambda x: law.up_to(x, 1.0), step=1, false_alarm=1e-9).is_refuted


@pytest.mark.statistical(n=5000, false_alarm=FALSE_ALARM, catches="nothing: it shows what the test cannot see")
def test_what_it_cannot_show() -> None:
    """The same good numbers, handed out to everybody, pass every time: there is no privacy in that."""
    law = LAWS["geometric, scale 3"]
    kept = law.draw(5000)
    assert [noise_test(kept, lambda x: law.up_to(x, 1.0), step=1, false_alarm=1e-9).is_refuted for _ in range(3)] == [
        False
    ] * 3


def test_odd_draws_are_refused() -> None:
    for draws in ([], [float("nan")]):
        with pytest.raises(InvalidParameter, match="draws"):
            noise_test(draws, lambda x: x)
    with pytest.raises(InvalidParameter, match="false_alarm"):
        noise_test([1.0], lambda x: x, false_alarm=2)
