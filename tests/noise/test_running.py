"""Correlated Gaussian noise for running sums: its coefficients, its exact rounding, its law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, norm

from dither.errors import InvalidParameter
from dither.noise import SystemEntropy, system_noise
from dither.noise.coins import Floats
from dither.noise.lazy import floors
from dither.noise.running import RunningMixtures, coefficients


def test_coefficients_are_those_of_the_root() -> None:
    """By binomials; and a root is what gives the whole when multiplied by itself."""
    found = coefficients(300)
    exact = [Fraction(math.comb(2 * k, k), 4**k) for k in range(300)]
    assert found.floats.tolist() == [float(one) for one in exact]
    square = sum(one * one for one in exact)
    assert square <= found.square <= square * (1 + Fraction(1, 2**150))
    assert all(sum(exact[k] * exact[t - k] for k in range(t + 1)) == 1 for t in range(40))


class Blind(RunningMixtures):
    """Mixtures about which floats say nothing, so that integers decide every rounding."""

    def bounds(self) -> tuple[Floats, Floats]:
        low, high = super().bounds()
        return low - 3, high + 3


def test_floats_and_integers_round_alike() -> None:
    for sigma in (Fraction(1, 3), Fraction(7), Fraction(2**20)):
        mixtures = RunningMixtures(SystemEntropy(), sigma, 30)
        quick = floors(mixtures, np.full((1, 1), 0.5), lambda row, column: Fraction(1, 2))
        slow = Blind.__new__(Blind)
        slow.__dict__.update(mixtures.__dict__)
        assert quick.tolist() == floors(slow, np.full((1, 1), 0.5), lambda row, column: Fraction(1, 2)).tolist()
        low, high = mixtures.bounds()
        for row in range(30):
            ((least, most),) = mixtures.enclosures(row)
            assert low[row, 0] <= most
            assert least <= high[row, 0]


def test_undecided_roundings_draw_more_digits() -> None:
    mixtures = RunningMixtures(SystemEntropy(), Fraction(5), 4)
    before = [mixtures.enclosures(row)[0] for row in range(4)]
    mixtures.refine(3)
    after = [mixtures.enclosures(row)[0] for row in range(4)]
    for (low, high), (lower, higher) in zip(before, after, strict=True):
        assert low <= lower < higher <= high
        assert higher - lower < (high - low) / 2**10


TICKS = 2**16
FALSE_ALARM = 1e-9


def refuses(rounded: Floats, sigma: float) -> bool:
    """Undo the mixing, and test that what is left is independent standard Gaussian noise."""
    root = coefficients(TICKS).floats
    inverse = np.concatenate([[1.0], -root[1:] / (2 * np.arange(1, TICKS) - 1)])
    size = 2 * TICKS
    left = np.fft.irfft(np.fft.rfft(inverse, size) * np.fft.rfft(rounded / sigma, size), size)[:TICKS]
    # Rounding adds less than a millionth of the variance at this sigma.
    tail = FALSE_ALARM / 16
    low, high = chi2.ppf(tail, TICKS) / TICKS, chi2.isf(tail, TICKS) / TICKS
    moments = [float(np.mean(left[lag:] * left[: TICKS - lag])) for lag in (1, 2, 7)]
    reach = norm.isf(tail) / math.sqrt(TICKS - 7) * 1.05
    return not low * 0.999 < np.mean(left**2) < high * 1.001 or max(map(abs, moments)) > reach


@pytest.mark.statistical(n=TICKS, false_alarm=FALSE_ALARM, catches="a scale 5 % off, independent noise")
def test_the_law_of_the_mixtures() -> None:
    rounded = system_noise().rounded_running_gaussian(1000, TICKS).astype(np.float64)
    assert not refuses(rounded, 1000)
    assert refuses(rounded, 1050)
    assert refuses(system_noise().discrete_gaussian(1000, TICKS).astype(np.float64), 1000)


def test_refusals() -> None:
    for ticks in (0, 2**23, 1.5):
        with pytest.raises(InvalidParameter, match="ticks"):
            system_noise().rounded_running_gaussian(1, ticks)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="sigma"):
        system_noise().rounded_running_gaussian(0, 3)
