"""Every law against noise that was drawn: n = 400,000 draws, false alarms at most once in 10^9 runs.

The distance between the drawn and the stated distribution function exceeds sqrt(ln(2 / a) / (2 n)) with probability a
at most, whatever the law (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant); a = 1e-9 makes it 0.0052. The twin
is a law 10 % off, whose distribution function is at least 0.0175 away somewhere, so that it is missed less than once in
10^9 runs: that too is computed and not hoped for. No seed is fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.estimate.accuracy import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    Largest,
    Law,
    Smallest,
    difference,
    mean,
    sum_of,
    total,
)
from dither.noise import Noise, SystemEntropy

N = 400_000
FALSE_ALARM = 1e-9
MARGIN = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * N))

Draws = NDArray[Any]
noise = Noise(SystemEntropy())
generator = np.random.default_rng()


@lru_cache(maxsize=1)
def unit_laplace() -> Draws:
    """Twenty draws of scale one, N times. All cases share them: no two assertions need to fail independently."""
    return generator.laplace(size=(20, N))


@pytest.fixture(autouse=True, scope="module")
def forget_draws() -> Iterator[None]:
    yield
    unit_laplace.cache_clear()


def laplace(scale: float, first: int = 0, count: int = 1) -> Draws:
    return scale * unit_laplace()[first : first + count]


def discrete_laplace(scale: Fraction, count: int) -> Draws:
    return noise.discrete_laplace(scale, N * count).reshape(N, count)


def discrete_gaussian(sigma: Fraction, count: int) -> Draws:
    return noise.discrete_gaussian(sigma, N * count).reshape(N, count)


CASES: dict[str, tuple[Callable[[Fraction], Law], Callable[[Fraction], Draws]]] = {
    "one laplace": (LaplaceLaw, lambda b: laplace(float(b))[0]),
    "sum of 7 laplace": (lambda b: total(LaplaceLaw(b), 7), lambda b: laplace(float(b), count=7).sum(axis=0)),
    "signed sum of 4": (
        lambda b: difference(total(LaplaceLaw(b), 3), LaplaceLaw(b)),
        lambda b: np.array([1, -1, 1, -1]) @ laplace(float(b), count=4),
    ),
    "mean of 12 laplace": (lambda b: mean(LaplaceLaw(b), 12), lambda b: laplace(float(b), count=12).mean(axis=0)),
    "laplace of two scales": (
        lambda b: sum_of(LaplaceLaw(b), total(LaplaceLaw(3 * b), 2)),
        lambda b: laplace(float(b))[0] + laplace(3 * float(b), 1, 2).sum(axis=0),
    ),
    "laplace and gaussian": (
        lambda b: difference(LaplaceLaw(b), GaussianLaw(2 * b)),
        lambda b: laplace(float(b))[0] - generator.normal(scale=2 * float(b), size=N),
    ),
    "largest of 20": (lambda b: Largest(LaplaceLaw(b), 20), lambda b: laplace(float(b), count=20).max(axis=0)),
    "smallest of 20": (lambda b: Smallest(LaplaceLaw(b), 20), lambda b: laplace(float(b), count=20).min(axis=0)),
    "sum of 5 geometric": (lambda b: total(DiscreteLaplaceLaw(b), 5), lambda b: discrete_laplace(b, 5).sum(axis=1)),
    "mean of 5 geometric": (lambda b: mean(DiscreteLaplaceLaw(b), 5), lambda b: discrete_laplace(b, 5).mean(axis=1)),
    "largest of 6 geometric": (
        lambda b: Largest(DiscreteLaplaceLaw(b), 6),
        lambda b: discrete_laplace(b, 6).max(axis=1),
    ),
    "one discrete gaussian": (DiscreteGaussianLaw, lambda s: discrete_gaussian(s, 1)[:, 0]),
    "sum of 4 discrete gaussian": (
        lambda s: total(DiscreteGaussianLaw(s), 4),
        lambda s: discrete_gaussian(s, 4).sum(axis=1),
    ),
    "geometric minus gaussian": (
        lambda b: difference(DiscreteLaplaceLaw(b), DiscreteGaussianLaw(b)),
        lambda b: (discrete_laplace(b, 1) - discrete_gaussian(b, 1))[:, 0],
    ),
}


def deviation(drawn: Draws, points: Draws, stated: Draws) -> float:
    """Return the largest distance between the share drawn up to a point and what is stated, over some points."""
    shares = np.searchsorted(np.sort(drawn), points, side="right") / drawn.size
    return float(np.abs(shares - stated).max())


@pytest.mark.statistical(n=N, false_alarm=FALSE_ALARM, catches="a scale 10 % off")
@pytest.mark.parametrize("scale", [Fraction(5, 2)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_laws_are_those_of_drawn_noise(case: str, scale: Fraction) -> None:
    law_at, draw = CASES[case]
    law, twin = law_at(scale), law_at(scale * Fraction(11, 10))
    # Means of five are multiples of a fifth, which no float is: points lie between the steps.
    points = np.array([float(law.quantile(Fraction(k, 40))) for k in range(1, 40)]) + 0.03 * law.is_lattice
    stated, other = (np.array([each.cdf(float(x)) for x in points]) for each in (law, twin))
    away = float(np.abs(stated - other).max())
    assert 2 * math.exp(-2 * N * (away - MARGIN) ** 2) < FALSE_ALARM, "the test has too little power"
    assert deviation(draw(scale), points, stated) < MARGIN
    assert deviation(draw(scale * Fraction(11, 10)), points, stated) > MARGIN
