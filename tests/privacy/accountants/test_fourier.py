"""Sums of losses by transforms: never below sums of rationals, and off by what is stated."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.privacy.accountants import GaussianPair, LaplacePair, LossDistribution, SampledPair, Sampling, fourier
from dither.privacy.accountants.distribution import compose_distributions
from dither.privacy.accountants.fourier import TooFine, add_up, peak, transform_error
from dither.privacy.accountants.grid import Cells
from dither.privacy.distances import Relation
from tests.rationals import rationals

#: Chances of a loss law on a grid, as 53-bit integers: any float in [0, 1) times 2^53.
masses = st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any)


@pytest.mark.parametrize("power", [1, 4, 10, 15, 18, 20])
def test_a_transform_is_as_accurate_as_stated(power: int) -> None:
    """Against the same transform in extended precision, on a narrow law, a wide one, and one of all sizes."""
    points = 1 << power
    grid = np.arange(points)
    for law in (
        np.exp(-grid / 3),
        np.ones(points),
        np.exp(-(((grid - points / 2) / (points / 20)) ** 2)),
        1 / (1 + grid),
    ):
        law = law / law.sum()
        exact = np.fft.rfft(law.astype(np.longdouble))
        assert exact.dtype == np.clongdouble
        wrong = np.linalg.norm((np.fft.rfft(law) - exact).astype(complex)) / np.linalg.norm(exact.astype(complex))
        assert wrong < transform_error(points) / 4
        back = np.fft.irfft(exact.astype(complex), points)
        assert np.linalg.norm(back - law) / np.linalg.norm(law) < transform_error(points) / 4


def cells(weights: list[int], first: int, exponent: int) -> Cells:
    total = sum(weights)
    return Cells(exponent, first, np.array([weight / total for weight in weights]), 0.0, 0.0)


def listed(parts: list[tuple[Cells, int]], epsilon: Fraction) -> Decimal:
    """The excess of the sum by adding up every loss, in rationals; exponentials in sixty digits."""
    # Losses in units of the finest step, chances in units of 2^-80 that are whole for every float of at least 2^-27:
    # integers throughout, and no rounding.
    finest = max(part.exponent for part, _ in parts)
    unit = 2**80
    sums = {0: 1}
    for part, count in parts:
        each = 2 ** (finest - part.exponent)
        scaled = [((part.first + n) * each, Fraction(float(mass)) * unit) for n, mass in enumerate(part.mass) if mass]
        assert all(chance.denominator == 1 for _, chance in scaled)
        atoms = [(loss, int(chance)) for loss, chance in scaled]
        for _ in range(count):
            after: dict[int, int] = {}
            for loss, mass in sums.items():
                for more, chance in atoms:
                    after[loss + more] = after.get(loss + more, 0) + mass * chance
            sums = after
    whole = unit ** sum(count for _, count in parts)
    law = {Fraction(loss, 2**finest): Fraction(mass, whole) for loss, mass in sums.items()}
    with localcontext() as context:
        context.prec = 60

        def decimal(x: Fraction) -> Decimal:
            return Decimal(x.numerator) / Decimal(x.denominator)

        above = ((loss, mass) for loss, mass in law.items() if loss > epsilon)
        return sum((decimal(mass) * (1 - decimal(epsilon - loss).exp()) for loss, mass in above), Decimal(0))


@given(
    st.lists(st.tuples(masses, st.integers(-10, 5), st.integers(1, 4)), min_size=1, max_size=3),
    st.integers(2, 6),
    st.sampled_from([0.0, 0.01, 0.7, 3.0, 25.0]),
    rationals(-3, 8, 32),
)
@settings(max_examples=150)
def test_sums_are_never_below_those_listed(
    laws: list[tuple[list[int], int, int]], exponent: int, tilt: float, epsilon: Fraction
) -> None:
    parts = [(cells(weights, first, exponent), count) for weights, first, count in laws]
    truth = listed(parts, epsilon)
    found = Decimal(add_up(parts, tilt).excess(float(epsilon)))
    assert found >= truth
    # What is added is in proportion to the Chernoff bound at the tilt, and small.
    bound = math.exp(
        sum(count * fourier.log_moment(*part.atoms, tilt) for part, count in parts) - tilt * float(epsilon)
    )
    assert found <= truth + Decimal(1e-11 * bound + 1e-280)


def test_a_tilt_keeps_small_deltas_accurate() -> None:
    """Forty fair coins of loss 1: the chance of forty heads is 2^-40, and of 400 heads 2^-400."""
    coin = cells([1, 0, 0, 0, 1], -2, 1)
    for count, tilt in ((40, 4.0), (400, 20.0)):
        found = add_up([(coin, count)], tilt).excess(count - 0.5)
        truth = 2.0**-count * -math.expm1(-0.5)
        assert truth <= found <= truth * (1 + 1e-6)
    # Without it the transform's own error drowns the truth, and the bound says so.
    assert add_up([(coin, 40)], 0.0).excess(39.5) > 2.0**-40 * 1.01 * -math.expm1(-0.5)


def binomial(count: int, epsilons: list[Fraction]) -> list[Decimal]:
    """The excess of a sum of biased coins, 3/8 to 5/8, each of loss 1/16 or -1/16."""
    with localcontext() as context:
        context.prec = 60
        chances = [Decimal(5) ** count / Decimal(8) ** count]
        for heads in range(count):
            chances.append(chances[-1] * 3 * (count - heads) / (5 * (heads + 1)))
        likely = [
            (Fraction(2 * n - count, 16), chance) for n, chance in enumerate(chances) if chance > Decimal("1e-40")
        ]

        def excess(epsilon: Fraction) -> Decimal:
            gaps = ((epsilon - loss, chance) for loss, chance in likely if loss > epsilon)
            return sum((c * (1 - (Decimal(g.numerator) / g.denominator).exp()) for g, c in gaps), Decimal(0))

        return [excess(epsilon) for epsilon in epsilons]


def test_the_error_terms_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: without the error of the transform some sum is below the truth, by a few parts in 10^15."""
    parts = [(cells([5, 0, 3], -1, 4), 3000)]
    epsilons = [Fraction(n, 2) for n in range(-130, -100, 2)]
    truths = dict(zip(epsilons, binomial(3000, epsilons), strict=True))

    def is_sound() -> bool:
        total = add_up(parts, 0.0)
        return all(Decimal(total.excess(float(epsilon))) >= truth for epsilon, truth in truths.items())

    assert is_sound()
    monkeypatch.setattr(fourier, "transform_error", lambda points: 0.0)
    monkeypatch.setattr(fourier, "UNIT", 0.0)
    assert not is_sound()


@pytest.mark.parametrize("merged", [0.0, 1 / 64, 1 / 8, 1.0])
def test_merging_changes_nothing(merged: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [LaplacePair(scale=5 + n, contribution=1, relation=Relation.METRIC) for n in range(20)]
    parts = [(pair.cells(10, forward=True), 1) for pair in pairs]
    expected = add_up(parts, 1.0).excess(1.5)
    monkeypatch.setattr(fourier, "_MERGED", merged)
    assert add_up(parts, 1.0).excess(1.5) == pytest.approx(expected, rel=1e-9)


def test_losses_beyond_the_window_are_wrapped_and_counted() -> None:
    """A law much longer than the window of the sum: rare large losses among many small ones."""
    noise = GaussianPair(sigma="0.4", contribution=1, relation=Relation.ADD_REMOVE)
    rare = SampledPair(pair=noise, rate="1e-5", sampling=Sampling.POISSON)
    coarse, fine = (LossDistribution.of(rare, count=100, step=Fraction(1, 2**n)) for n in (9, 12))
    assert fine.delta(1) <= coarse.delta(1) <= fine.delta(1) * Fraction(101, 100)


def test_the_peak_of_a_weight() -> None:
    for tilt in (0.0, 1e-6, 0.3, 1.0, 40.0, 1e4):
        grid = np.linspace(0, 10 / (tilt + 0.1), 100_001)
        assert np.max(np.exp(-tilt * grid) * -np.expm1(-grid)) <= peak(tilt) <= 1 + 1e-9


def test_too_fine_a_grid_is_refused_or_coarsened() -> None:
    noise = GaussianPair(sigma="0.1", contribution=1, relation=Relation.METRIC)
    with pytest.raises(TooFine, match="larger step"):
        LossDistribution.of(noise, count=100, step=Fraction(1, 2**18)).epsilon("1e-5")
    pairs = [LossDistribution.of(LaplacePair(scale=10**6, contribution=1, relation=Relation.METRIC), count=10**6)]
    mixed = compose_distributions([*pairs, LossDistribution.of(noise, count=100)])
    assert mixed.epsilon("1e-5") > 5000
