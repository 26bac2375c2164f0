"""Production's samplers, with 16-bit words and whole blocks, against their laws.

Enumeration has proved the laws for narrow words, one draw at a time. What is left to see here is the vectorised path:
n = 200,000 draws of the system's bits, a chi-square test with a false-alarm rate of at most 1e-9, and a twin 5 % off
that must be rejected, missed at most once in 10^9 runs; that much power is computed, not hoped for.

Cells expect at least 500 draws each, and the threshold is that of 1e-11: with so few draws in a cell the true tail of
the statistic is up to some ten times that of chi-square. No seed is fixed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2, ncx2

from dither.noise import Noise, SystemEntropy

N = 200_000
NOMINAL = 1e-11
FALSE_ALARM = 1e-9
LEAST_EXPECTED = 500
OFF = Fraction(21, 20)

Cdf = Callable[[Any], Any]
noise = Noise(SystemEntropy())
five_percent = pytest.mark.statistical(n=N, false_alarm=FALSE_ALARM, catches="a scale 5 % off")


# The laws, as P[X <= x] for whole x.


def laplace_cdf(scale: Fraction) -> Cdf:
    q = np.exp(-1 / float(scale))
    return lambda x: np.where(x < 0, q ** np.maximum(-x, 0.0), 1 + q - q ** (np.maximum(x, 0.0) + 1)) / (1 + q)


def geometric_cdf(scale: Fraction) -> Cdf:
    return lambda x: np.where(x < 0, 0.0, -np.expm1(-(np.maximum(x, 0.0) + 1) / float(scale)))


def gaussian_cdf(sigma: Fraction) -> Cdf:
    if sigma > 1000:
        # Sums over so fine a grid are integrals up to half a step, to a relative error of about 1 / sigma^2.
        return lambda x: ndtr((x + 0.5) / float(sigma))
    reach = int(12 * sigma) + 12
    support = np.arange(-reach, reach + 1)
    mass = np.exp(-(support**2) / (2 * float(sigma) ** 2))
    below = np.concatenate([[0.0], np.cumsum(mass) / mass.sum()])
    return lambda x: below[np.clip(np.asarray(x).astype(np.int64) + reach + 1, 0, below.size - 1)]


def rounded_laplace_cdf(scale: Fraction, offset: Fraction) -> Cdf:
    def cdf(x: Any) -> Any:
        z = (np.asarray(x) + 1 - float(offset)) / float(scale)
        return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)

    return cdf


def rounded_gaussian_cdf(sigma: Fraction, offset: Fraction) -> Cdf:
    return lambda x: ndtr((np.asarray(x) + 1 - float(offset)) / float(sigma))


def listed_cdf(mass: Any) -> Cdf:
    below = np.concatenate([[0.0], np.cumsum(mass) / np.sum(mass)])
    return lambda x: below[np.clip(np.asarray(x).astype(np.int64) + 1, 0, below.size - 1)]


# The test.


class Cells:
    """Intervals of whole numbers, ending at ``ends``, that expect enough draws each under a law."""

    def __init__(self, cdf: Cdf, ends: Any, n: int) -> None:
        kept, reached = [], 0.0
        below = cdf(ends)
        for end, share in zip(ends, below, strict=True):
            if n * (share - reached) >= LEAST_EXPECTED and n * (1 - share) >= LEAST_EXPECTED:
                kept.append(end)
                reached = share
        self.ends = np.array(kept, dtype=np.int64)
        self.n = n
        self.shares = self.under(cdf)

    def under(self, cdf: Cdf) -> Any:
        return np.diff(np.concatenate([[0.0], cdf(self.ends), [1.0]]))

    def statistic(self, drawn: Any) -> float:
        assert drawn.size == self.n
        counts = np.bincount(np.searchsorted(self.ends, drawn, side="left"), minlength=self.ends.size + 1)
        expected = self.n * self.shares
        return float(((counts - expected) ** 2 / expected).sum())

    def excess_of(self, twin: Cdf) -> float:
        return float((self.n * (self.under(twin) - self.shares) ** 2 / self.shares).sum())


def ends_for(scale: Fraction) -> Any:
    """Return whole numbers that cut a law of that scale finely: all of them when it is small."""
    return np.unique(np.round(np.linspace(-8, 8, 65) * max(1.0, float(scale))).astype(np.int64))


def check(cells: list[Cells], drawn: list[Any], twin_cdfs: list[Cdf], twin_drawn: list[Any]) -> None:
    freedom = sum(each.ends.size for each in cells)
    assert freedom > 0
    threshold = chi2.isf(NOMINAL, freedom)
    excess = sum(each.excess_of(twin) for each, twin in zip(cells, twin_cdfs, strict=True))
    assert ncx2.cdf(threshold, freedom, excess) < FALSE_ALARM, "the test has too little power"
    assert sum(each.statistic(some) for each, some in zip(cells, drawn, strict=True)) < threshold
    assert sum(each.statistic(some) for each, some in zip(cells, twin_drawn, strict=True)) > threshold


def check_law(cdf: Cdf, ends: Any, drawn: Any, twin_cdf: Cdf, twin_drawn: Any) -> None:
    check([Cells(cdf, ends, N)], [drawn], [twin_cdf], [twin_drawn])


@five_percent
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(25), Fraction(10**6)], ids=str)
def test_discrete_laplace(scale: Fraction) -> None:
    drawn, twin = (noise.discrete_laplace(each, N) for each in (scale, scale * OFF))
    check_law(laplace_cdf(scale), ends_for(scale), drawn, laplace_cdf(scale * OFF), twin)


@five_percent
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(7, 3), Fraction(25), Fraction(10**6)], ids=str)
def test_discrete_gaussian(sigma: Fraction) -> None:
    drawn, twin = (noise.discrete_gaussian(each, N) for each in (sigma, sigma * OFF))
    check_law(gaussian_cdf(sigma), ends_for(sigma), drawn, gaussian_cdf(sigma * OFF), twin)


@five_percent
@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(2**40)], ids=str)
def test_geometric(scale: Fraction) -> None:
    drawn, twin = (noise.geometric(each, N) for each in (scale, scale * OFF))
    check_law(geometric_cdf(scale), ends_for(scale), drawn, geometric_cdf(scale * OFF), twin)


@five_percent
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(40)], ids=str)
def test_rounded_laplace_on_the_grid(scale: Fraction) -> None:
    half = Fraction(1, 2)
    drawn, twin = (noise.rounded_laplace_on_grid(each, N) for each in (scale, scale * OFF))
    check_law(rounded_laplace_cdf(scale, half), ends_for(scale), drawn, rounded_laplace_cdf(scale * OFF, half), twin)


def random_offset() -> Fraction:
    return Fraction(secrets.randbelow(2**60 + 1), 2**60)


def offset_error() -> float:
    """Return an error that a float offset may have."""
    return (secrets.randbelow(2**20) / 2**19 - 1) * 2.0**-41


@five_percent
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 3), Fraction(1000)], ids=str)
@pytest.mark.parametrize(
    ("method", "cdf"), [("rounded_laplace", rounded_laplace_cdf), ("rounded_gaussian", rounded_gaussian_cdf)]
)
def test_rounded_laws_at_random_offsets(method: str, cdf: Callable[[Fraction, Fraction], Cdf], scale: Fraction) -> None:
    """Four offsets take turns in one call, and each is compared with its own law."""
    exact = [random_offset() for _ in range(4)]
    floats = np.tile(np.clip([float(offset) + offset_error() for offset in exact], 0, 1), N // 4)
    drawn, twin = (
        getattr(noise, method)(each, floats, lambda index: exact[index % 4]).reshape(-1, 4).T
        for each in (scale, scale * OFF)
    )
    cells = [Cells(cdf(scale, offset), ends_for(scale), N // 4) for offset in exact]
    check(cells, drawn, [cdf(scale * OFF, offset) for offset in exact], twin)


@pytest.mark.statistical(n=N, false_alarm=FALSE_ALARM, catches="a limit 5 % off")
@pytest.mark.parametrize("limit", [20, 1000, 2**48 - 5, 2**50 - 3, 2**62, 2**63 + 1, 2**100], ids=str)
def test_uniform_below(limit: int) -> None:
    """Every twentieth of the range is hit equally often; what the twin draws above the range goes to the last."""
    drawn, twin = (
        np.array([min(int(x) * 20 // limit, 19) for x in noise.uniform_below(most, N).tolist()])
        for most in (limit, limit * 21 // 20)
    )
    check_law(listed_cdf([1.0] * 20), np.arange(20), drawn, listed_cdf([1.0] * 19 + [2.0]), twin)


@five_percent
@pytest.mark.parametrize("method", ["select", "permute_and_flip"])
def test_selection(method: str) -> None:
    scores, rate = [0, 1, 2, 5, 5, -3], Fraction(1, 2)
    laws = []
    for each in (rate, rate * OFF):
        heads = np.exp(float(each) * (np.array(scores) - max(scores)))
        laws.append(listed_cdf(heads if method == "select" else permuted(heads)))
    drawn, twin = (getattr(noise, method)(scores, each, N) for each in (rate, rate * OFF))
    check_law(laws[0], np.arange(len(scores)), drawn, laws[1], twin)


def permuted(heads: Any) -> Any:
    """Return the law of permute-and-flip: of each set of heads, every member wins equally often."""
    law = np.zeros(heads.size)
    for chosen in range(1, 2**heads.size):
        shown = np.array([(chosen >> place) & 1 for place in range(heads.size)], dtype=bool)
        law[shown] += np.where(shown, heads, 1 - heads).prod() / shown.sum()
    return law


@pytest.mark.statistical(n=N, false_alarm=FALSE_ALARM, catches="one pair in twenty that is one draw twice")
@pytest.mark.parametrize("method", ["discrete_laplace", "discrete_gaussian"])
def test_neighbours_are_independent(method: str) -> None:
    """Pairs of draws, cut into 5 x 5 cells; in the twin one pair of twenty is the same draw twice."""
    drawn = getattr(noise, method)(Fraction(2), 2 * N)
    marginal = np.diff(np.concatenate([[0.0], pair_cdf(method)(np.array([-2, -1, 0, 1])), [1.0]]))
    joint = np.outer(marginal, marginal).ravel()
    law, twin_law = listed_cdf(joint), listed_cdf(0.95 * joint + 0.05 * np.diag(marginal).ravel())
    cut = np.clip(drawn, -2, 2) + 2
    first, second = cut[0::2], cut[1::2]
    same = np.random.default_rng().random(N) < 0.05
    check_law(law, np.arange(25), 5 * first + second, twin_law, 5 * first + np.where(same, first, second))


def pair_cdf(method: str) -> Cdf:
    return {"discrete_laplace": laplace_cdf, "discrete_gaussian": gaussian_cdf}[method](Fraction(2))
