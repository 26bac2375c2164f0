"""Generalised Cauchy, spherical and polyhedral noise against their laws.

Cauchy noise and the digits of exponential variables are enumerated over all strings of narrow words. For vectors the
proof is in parts: float bounds must enclose the rational ones, those must close in on themselves as digits are drawn,
and the float path must give what rationals alone give. Last come chi-square tests of the whole, n = 200,000, with a
false-alarm rate of at most 1e-9, and twins 5 % off that are missed at most once in 10^9 runs.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, gamma, ncx2, uniform
from scipy.stats import laplace as laplace_law

from dither.errors import InvalidParameter
from dither.noise import Noise, SystemEntropy, cauchy, laplace, lazy, polyhedral, spherical
from dither.noise.lazy import AbsoluteGaussians, Exponentials, Points, Uniforms
from dither.testing.entropy import SeededEntropy
from dither.testing.enumeration import Enumeration, enumerate_outcomes

N = 200_000
NOMINAL = 1e-11
FALSE_ALARM = 1e-9
OFF = 1.05
CELLS = 24
HEXAGON = np.array([[[2, 0], [1, 2]], [[1, 2], [-1, 2]], [[-1, 2], [-2, 0]], [[-2, 0], [-1, -2]],
                    [[-1, -2], [1, -2]], [[1, -2], [2, 0]]])  # fmt: skip
WEIGHTS = [4, 4, 4, 4, 4, 4]

noise = Noise(SystemEntropy())
five_percent = pytest.mark.statistical(n=N, false_alarm=FALSE_ALARM, catches="a scale 5 % off")


def half(_: int) -> Fraction:
    return Fraction(1, 2)


# Enumeration: one round of the Cauchy sampler, and the digits of an exponential variable.


class Rejected(Exception):
    """A round of rejection sampling accepted nothing."""


def only_round(entropy: Any, power: int, count: int) -> Any:
    kept = cauchy._one_round(entropy, power, count)
    if not kept.prefix.size:
        raise Rejected
    return kept


@cache
def one_cauchy_round(power: int, scale: Fraction, offset: Fraction, bits: int, words: int) -> Enumeration:
    def draw(noise: Noise) -> Any:
        try:
            drawn = noise.rounded_cauchy(scale, np.array([float(offset)]), lambda _: offset, power=power)
        except Rejected:
            return None
        return drawn.item()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy, "_WORDS", 1)
        patch.setattr(cauchy, "_accepted", only_round)
        # Pure, slow, and asked for the same few points again and again.
        patch.setattr(cauchy, "_acceptance", cache(cauchy._acceptance))
        return enumerate_outcomes(draw, word_bits=bits, max_words=words)


def one_round_law(power: int, scale: Fraction, offset: Fraction) -> Callable[[int | None], float]:
    """Return the law of a fair coin, a uniform x and acceptance: a quarter of 1 / (1 + |z|^p) on the line."""

    def law(k: int | None) -> float:
        if k is None:
            return 1 - math.pi / power / math.sin(math.pi / power) / 2
        ends = [float((k + side - offset) / scale) for side in (0, 1)]
        return quad(lambda z: 0.25 / (1 + z**power), *ends, epsabs=1e-13)[0]

    return law


def misfits(found: Enumeration, law: Callable[[Any], float], support: Any) -> list[Any]:
    slack = Fraction(1, 10**11)
    return [
        x for x in {*support, *found.mass} if not found.brackets(x, Fraction(law(x)) - slack, Fraction(law(x)) + slack)
    ]


CAUCHY = [
    (2, Fraction(1), Fraction(1, 2), 2, 8, 0.07),
    (4, Fraction(1), Fraction(1, 3), 2, 8, 0.06),
    (4, Fraction(5, 2), Fraction(0), 2, 8, 0.12),
    (6, Fraction(3, 2), Fraction(1), 3, 6, 0.05),
]


@pytest.mark.parametrize(("power", "scale", "offset", "bits", "words", "undecided"), CAUCHY)
def test_one_round_of_cauchy_is_exact(
    power: int, scale: Fraction, offset: Fraction, bits: int, words: int, undecided: float
) -> None:
    found = one_cauchy_round(power, scale, offset, bits, words)
    support = (*range(-6, 7), None)
    assert sum(found.mass.values()) + found.undecided == 1
    assert found.undecided < undecided
    assert misfits(found, one_round_law(power, scale, offset), support) == []
    assert misfits(found, one_round_law(power + 2, scale, offset), support)
    assert misfits(found, one_round_law(power, scale * Fraction(5, 4), offset), support)


@pytest.mark.parametrize("power", [2, 4, 6, 64])
@pytest.mark.parametrize("is_tail", [False, True])
def test_acceptance_is_monotone_and_never_steep(power: int, is_tail: bool) -> None:
    """What the exact decision and the float margin rest on."""
    values = [cauchy._acceptance(power, is_tail, Fraction(x, 512)) for x in range(513)]
    assert all(0 <= value <= 1 for value in values)
    steps = [after - before for before, after in pairwise(values)]
    assert all(step <= 0 for step in steps) or all(step >= 0 for step in steps)
    assert max(map(abs, steps)) * 512 <= 2 * power


def test_acceptance_is_never_decided_too_early() -> None:
    """With 4-bit words every pair of an x and a coin is tried; a decision must hold for every x that begins so."""
    bits, decided = 4, 0
    for power in (2, 4, 8):
        for script in np.ndindex(2, 16, 16):
            is_tail, prefix, word = script

            class Script(SystemEntropy):
                word_bits = bits
                left = [15 * (1 - is_tail), prefix, word]  # noqa: RUF012

                def words(self, count: int) -> Any:
                    if count > len(self.left):
                        raise StopIteration
                    return np.array([self.left.pop(0) for _ in range(count)], dtype=np.uint16)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(lazy, "_WORDS", 1)
                try:
                    kept = cauchy._one_round(Script(), power, 1)
                except StopIteration:
                    continue
            decided += 1
            ends = [cauchy._acceptance(power, bool(is_tail), Fraction(prefix + side, 16)) for side in (0, 1)]
            if kept.prefix.size:
                assert word + 1 <= 16 * min(ends)
                assert bool(kept.is_tail[0]) == bool(is_tail)
            else:
                assert word >= 16 * max(ends)
    assert decided > 1000


def test_digits_of_exponential_variables_are_exact() -> None:
    """Two digits below the point drawn by refinement, against the geometric law of the number of quarters."""

    def draw(noise: Noise) -> Any:
        numbers = Exponentials(noise._entropy, 1)
        numbers.refine(0)
        return numbers.known(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy, "_PLACES", 0)
        patch.setattr(laplace, "_TAIL", 1)
        laplace._coins.cache_clear()
        found = enumerate_outcomes(draw, word_bits=2, max_words=7)
    laplace._coins.cache_clear()

    def law(rate: float) -> Callable[[Any], float]:
        return lambda known: math.exp(-known[0] * rate / 4) * -math.expm1(-rate / 4) if known[1] == 2 else 0.0

    support = [(units, 2) for units in range(12)]
    assert found.undecided < 0.1
    assert misfits(found, law(1.0), support) == []
    assert misfits(found, law(1.5), support)


# The bounds: floats around rationals, rationals around what further digits show.


class TwoBits(SystemEntropy):
    """The system's words, cut down so far that little is known at first."""

    word_bits = 2

    def words(self, count: int) -> Any:
        return super().words(count) >> 14


def points_of(kind: str, entropy: Any, scale: Fraction, count: int) -> Points:
    if kind == "Cauchy":
        return cauchy._Cauchy(entropy, 4, scale, count)
    if kind == "conical":
        chosen = [number % len(HEXAGON) for number in range(count)]
        return polyhedral._Conical(entropy, scale, HEXAGON[chosen])
    maker = {"spherical": spherical._Spherical, "cubical": polyhedral._Cubical}[kind.split()[0]]
    return maker(entropy, scale, count, int(kind.split()[1]))


KINDS = ["Cauchy", "spherical 1", "spherical 2", "spherical 5", "cubical 1", "cubical 4", "conical"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entropy", [TwoBits(), SystemEntropy()], ids=["2 bits", "16 bits"])
@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(2**56) / 3], ids=str)
def test_bounds_enclose_and_close_in(kind: str, entropy: Any, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    if entropy.word_bits == 2:
        monkeypatch.setattr(lazy, "_PLACES", 3)
    rows = 60
    points = points_of(kind, entropy, scale, rows)
    low, high = points.bounds()
    for row in range(rows):
        first = points.enclosures(row)
        for column, (least, most) in enumerate(first):
            unbounded = kind == "Cauchy" and not points._x.enclosure(row)[0]  # type: ignore[attr-defined]
            assert low[row, column] <= least or unbounded
            assert high[row, column] >= most or unbounded
            assert least < most
        for _ in range(4):
            points.refine(row)
            then = points.enclosures(row)
            if kind != "Cauchy":
                assert all(a <= c < d <= b for (a, b), (c, d) in zip(first, then, strict=True))
            first = then
        narrow = [most - least for least, most in first]
        assert max(narrow) < scale * 1000 or kind == "Cauchy"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [Fraction(3), Fraction(10**6)], ids=str)
def test_floats_decide_as_rationals_do(kind: str, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow twin: every row through the exact path, on the same words."""
    seed, rows = secrets.randbelow(2**60), 300

    def drawn() -> Any:
        points = points_of(kind, SeededEntropy(seed), scale, rows)
        columns = points.bounds()[0].shape[1]
        return lazy.floors(points, np.full(columns, 1 / 3), lambda row, column: Fraction(1, 3))

    fast = drawn()
    monkeypatch.setattr(lazy, "OFFSET_ERROR", 10.0)
    assert (drawn() == fast).all()


@pytest.mark.parametrize("lazies", [Uniforms.drawn, Exponentials, AbsoluteGaussians])
def test_digits_extend_what_was_drawn(lazies: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "_PLACES", 2)
    numbers = lazies(TwoBits(), 50)
    for index in range(50):
        before = numbers.known(index)
        numbers.refine(index)
        after = numbers.known(index)
        assert after[1] == before[1] + 2
        assert after[0] >> 2 == before[0]


def test_far_points_saturate() -> None:
    """A Cauchy variable has no end: beyond what any sum holds, the draw is cut off, and no float overflows."""
    points = points_of("Cauchy", SystemEntropy(), Fraction(2**56), 20_000)
    drawn = lazy.floors(points, np.array([0.5]), lambda row, column: Fraction(1, 2))
    assert np.abs(drawn).max() <= 3 * 2**61
    assert lazy._floor(Fraction(2**63), Fraction(2**64)) == 3 * 2**61
    assert lazy._floor(Fraction(-(2**64)), Fraction(-(2**63))) == -3 * 2**61
    assert lazy._floor(Fraction(-1, 2), Fraction(1, 2)) is None
    assert lazy._floor(Fraction(-1, 2), Fraction(0)) == -1
    assert lazy._floor(Fraction(0), Fraction(1)) == 0


@pytest.mark.parametrize("power", [1, 3, 0, 66, 2.0])
def test_powers_out_of_range_are_refused(power: Any) -> None:
    with pytest.raises(InvalidParameter, match="power"):
        noise.rounded_cauchy(Fraction(2), np.array([0.5]), half, power=power)


# Statistics: production's words and blocks.

FINE = Fraction(2**20)


def statistic(shares: Any, law: Any) -> float:
    """Return the chi-square statistic of numbers whose law is continuous, over equally likely cells."""
    counts = np.histogram(law.cdf(shares), bins=np.linspace(0, 1, CELLS + 1))[0]
    assert counts.sum() == N
    return float(((counts - N / CELLS) ** 2 / (N / CELLS)).sum())


def check(shares: Any, law: Any, twin: Any, twin_law: Any) -> None:
    threshold = chi2.isf(NOMINAL, CELLS - 1)
    edges = law.ppf(np.linspace(0, 1, CELLS + 1))
    moved = np.diff(twin_law.cdf(edges))
    excess = N * ((moved - 1 / CELLS) ** 2 * CELLS).sum()
    assert ncx2.cdf(threshold, CELLS - 1, excess) < FALSE_ALARM, "the test has too little power"
    assert statistic(shares, law) < threshold
    assert statistic(twin, law) > threshold


def spherical_points(entries: int, factor: float = 1.0) -> Any:
    return noise.rounded_spherical(FINE * Fraction(factor), np.full(entries, 0.5), half, N) / float(FINE)


def cubical_points(entries: int, factor: float = 1.0) -> Any:
    return noise.rounded_cubical(FINE * Fraction(factor), np.full(entries, 0.5), half, N) / float(FINE)


class CauchyLaw:
    """The law with density proportional to 1 / (1 + |z|^4), by its closed form; Cauchy's for power 2."""

    def __init__(self, power: int, scale: float = 1.0) -> None:
        self.power, self.scale = power, scale

    def cdf(self, x: Any) -> Any:
        z = np.asarray(x) / self.scale
        if self.power == 2:
            return 0.5 + np.arctan(z) / np.pi
        root = math.sqrt(2)
        with np.errstate(over="ignore", invalid="ignore"):
            logs = np.log((z * z + root * z + 1) / (z * z - root * z + 1))
        below = np.where(np.abs(z) > 1e100, 0.0, logs) + 2 * (np.arctan(root * z + 1) + np.arctan(root * z - 1))
        return 0.5 + below / (4 * math.pi)

    def ppf(self, q: Any) -> Any:
        ends = np.concatenate([-np.logspace(9, -9, 40_000), np.logspace(-9, 9, 40_000)])
        found = np.interp(q, self.cdf(ends), ends)
        found[0], found[-1] = -1e30, 1e30
        return found


@five_percent
@pytest.mark.parametrize("power", [2, 4])
def test_cauchy(power: int) -> None:
    offsets = np.full(N, 0.5)
    drawn, twin = (
        noise.rounded_cauchy(FINE * Fraction(factor), offsets, half, power=power) / float(FINE) for factor in (1.0, OFF)
    )
    check(drawn, CauchyLaw(power), twin, CauchyLaw(power, OFF))


@five_percent
@pytest.mark.parametrize("entries", [1, 2, 3, 8])
def test_length_of_a_spherical_vector_is_gamma(entries: int) -> None:
    drawn, twin = (np.sqrt((spherical_points(entries, factor) ** 2).sum(axis=1)) for factor in (1.0, OFF))
    check(drawn, gamma(entries), twin, gamma(entries, scale=OFF))


@five_percent
def test_spherical_noise_on_the_line_is_laplace() -> None:
    check(spherical_points(1)[:, 0], laplace_law, spherical_points(1, OFF)[:, 0], laplace_law(scale=OFF))


@five_percent
def test_direction_is_uniform() -> None:
    """In the plane the angle is uniform, in space the height (Archimedes); the twin is stretched along one axis."""
    flat, solid = spherical_points(2), spherical_points(3)
    angle = np.arctan2(flat[:, 1], flat[:, 0])
    stretched = np.arctan2(flat[:, 1], OFF**2 * flat[:, 0])
    round_law, whole_turn = uniform(-math.pi, 2 * math.pi), StretchedAngle(OFF**2)
    check(angle, round_law, stretched, whole_turn)
    height = solid[:, 2] / np.sqrt((solid**2).sum(axis=1))
    assert statistic(height, uniform(-1, 2)) < chi2.isf(NOMINAL, CELLS - 1)


class StretchedAngle:
    """The angle of a point of the circle whose first coordinate is stretched."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def cdf(self, angle: Any) -> Any:
        before = np.arctan2(self.factor * np.sin(angle), np.cos(angle))
        before = np.where(
            np.asarray(angle) >= math.pi, math.pi, np.where(np.asarray(angle) <= -math.pi, -math.pi, before)
        )
        return (before + math.pi) / (2 * math.pi)


@five_percent
@pytest.mark.parametrize("entries", [1, 2, 5])
def test_cubical_noise(entries: int) -> None:
    drawn, twin = (cubical_points(entries, factor) for factor in (1.0, OFF))
    check(np.abs(drawn).max(axis=1), gamma(entries), np.abs(twin).max(axis=1), gamma(entries, scale=OFF))
    if entries > 1:
        # Given the largest, each other entry is uniform up to it.
        order = np.argsort(np.abs(drawn), axis=1)
        largest = np.take_along_axis(drawn, order[:, -1:], axis=1)[:, 0]
        other = np.take_along_axis(drawn, order[:, :-1].min(axis=1, keepdims=True), axis=1)[:, 0]
        assert statistic(other / np.abs(largest), uniform(-1, 2)) < chi2.isf(NOMINAL, CELLS - 1)


@five_percent
def test_conical_noise() -> None:
    """The norm is Gamma distributed, facets are met in proportion to their cones, and a point is uniform on its own."""

    def norms(factor: float, corners: Any, weights: list[int]) -> Any:
        drawn = noise.rounded_conical(
            FINE * Fraction(factor), np.full(2, 0.5), half, N, corners=corners, weights=weights
        )
        return gauges(drawn / float(FINE))

    (norm, facet, share), (twin, _, _) = norms(1.0, HEXAGON, WEIGHTS), norms(OFF, HEXAGON, WEIGHTS)
    check(norm, gamma(2), twin, gamma(2, scale=OFF))
    spread = uniform(0, 1)
    assert statistic((facet + share) / len(HEXAGON), spread) < chi2.isf(NOMINAL, CELLS - 1)
    _, wrong, share = norms(1.0, HEXAGON, [5, 4, 4, 4, 4, 4])
    assert statistic((wrong + share) / len(HEXAGON), spread) > chi2.isf(NOMINAL, CELLS - 1)


def gauges(drawn: Any) -> Any:
    """Return the hexagon's norm of each point, its facet, and where on the facet it lies."""
    weights = np.stack([drawn @ np.linalg.inv(corners) for corners in HEXAGON])
    facet = np.argmax(weights.min(axis=2), axis=0)
    mine = weights[facet, np.arange(len(drawn))]
    return mine.sum(axis=1), facet, np.clip(mine[:, 0] / mine.sum(axis=1), 0, 1 - 1e-12)
