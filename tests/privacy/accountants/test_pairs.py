"""Dominating pairs dominate: against the definition, and against samples of small tables listed one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.privacy import Relation
from dither.privacy.accountants import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FinitePair,
    GaussianPair,
    LaplacePair,
    LossDistribution,
    Pair,
    ResponsePair,
    SampledPair,
    Sampling,
)
from dither.privacy.normal import hockey_stick
from tests.rationals import rationals

ADD, REPLACE, METRIC = Relation.ADD_REMOVE, Relation.REPLACE, Relation.METRIC
EPSILONS = [0.0, 0.01, 0.1, 0.25, 0.5, 0.9, 1.3, 2.0, 3.5]
Law = NDArray[np.float64]


def excess(p: Law, q: Law, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def curve(pair: Pair, epsilon: float, **options: Any) -> float:
    return float(LossDistribution.of(pair, **options).delta(Fraction(epsilon)))


def direction(pair: Pair, epsilon: float, *, forward: bool, exponent: int = 12) -> float:
    """The delta of one direction, straight from the cells."""
    cells = pair.cells(exponent, forward=forward)
    above = cells.losses + cells.slack - epsilon
    return cells.infinity + float(np.sum(cells.mass * np.where(above > 0, -np.expm1(-above), 0)))


# Each law against its definition


def gauss(mu: float, epsilon: float) -> float:
    return float(hockey_stick(Fraction(mu), Fraction(epsilon))[1])


def laplace(shift: float, epsilon: float) -> float:
    return max(0.0, 1 - math.exp(epsilon), 1 - math.exp((epsilon - shift) / 2))


def geometric(rate: float, steps: int) -> tuple[Law, Law]:
    points = np.arange(-400, 400 + steps)
    q = np.exp(-rate * np.abs(points)) * math.tanh(rate / 2)
    return np.exp(-rate * np.abs(points - steps)) * math.tanh(rate / 2), q


def discrete_gauss(sigma: float, steps: int) -> tuple[Law, Law]:
    points = np.arange(-400, 400 + steps)
    p, q = np.exp(-((points - steps) ** 2) / (2 * sigma**2)), np.exp(-(points**2) / (2 * sigma**2))
    return p / p.sum(), q / q.sum()


def response(epsilon: float, options: int, leak: float) -> tuple[Law, Law]:
    weights = np.array([math.exp(epsilon)] + [1.0] * (options - 1))
    p = np.concatenate([(1 - leak) * weights / weights.sum(), [leak, 0.0]])
    q = np.concatenate([(1 - leak) * np.roll(weights, 1) / weights.sum(), [0.0, leak]])
    return p, q


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("relation", list(Relation))
def test_every_pair_has_the_curve_of_its_laws(relation: Relation, epsilon: float) -> None:
    """A replaced unit moves a sum by twice its contribution; everything else by once."""
    factor = 2 if relation is REPLACE else 1
    cases: list[tuple[Pair, float]] = [
        (GaussianPair(sigma=2, contribution=3, relation=relation), gauss(1.5 * factor, epsilon)),
        (LaplacePair(scale=2, contribution=1, relation=relation), laplace(0.5 * factor, epsilon)),
        (
            DiscreteLaplacePair(scale=3, contribution=2, relation=relation),
            excess(*geometric(1 / 3, 2 * factor), epsilon),
        ),
        (
            DiscreteGaussianPair(sigma="1.5", contribution=1, relation=relation),
            excess(*discrete_gauss(1.5, factor), epsilon),
        ),
    ]
    for pair, truth in cases:
        found = curve(pair, epsilon)
        assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-4) + 1e-9, pair


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("options", "leak"), [(2, 0.0), (3, 0.0), (10, 0.01), (2, 0.25)])
def test_responses(options: int, leak: float, epsilon: float) -> None:
    truth = excess(*response(1.3, options, leak), epsilon)
    found = curve(ResponsePair(epsilon="1.3", options=options, delta=leak), epsilon)
    assert truth * (1 - 1e-12) - 1e-15 <= found <= truth * (1 + 1e-6) + 1e-9


chances = st.lists(st.integers(0, 20), min_size=2, max_size=6).filter(lambda weights: sum(weights) > 0)


@given(chances, chances, st.sampled_from(EPSILONS))
@settings(max_examples=80)
def test_any_finite_pair(first: list[int], second: list[int], epsilon: float) -> None:
    size = min(len(first), len(second))
    first, second = first[:size], second[:size]
    if not (sum(first) and sum(second)):
        return
    p, q = ([Fraction(w, sum(weights)) for w in weights] for weights in (first, second))
    pair = FinitePair(tuple(p), tuple(q), ADD)
    for forward, (a, b) in ((True, (p, q)), (False, (q, p))):
        truth = excess(np.array(a, float), np.array(b, float), epsilon)
        found = direction(pair, epsilon, forward=forward)
        # A loss just below epsilon is rounded up beyond it: delta is over by less than a step of the grid.
        assert truth - 1e-13 <= found <= truth + 1e-3
    both = max(excess(np.array(a, float), np.array(b, float), epsilon) for a, b in ((p, q), (q, p)))
    assert both - 1e-13 <= curve(pair, epsilon) <= both + 1e-3


# Vectors


@given(st.integers(1, 6), st.integers(1, 6), rationals("1/20", "19/20", 20), st.data())
@settings(max_examples=80)
def test_one_entry_dominates_two_for_discrete_laplace(a: int, b: int, ratio: Fraction, data: Any) -> None:
    """Exactly, in rationals: shifts of a and b in two entries are below one shift of a + b."""

    def clamped(steps: int) -> tuple[list[Fraction], list[Fraction]]:
        q = [(1 - ratio) / (1 + ratio) * ratio**j for j in range(steps + 1)]
        q[0], q[-1] = 1 / (1 + ratio), ratio**steps / (1 + ratio)
        return q[::-1], q

    growth = data.draw(rationals("1/100", 100, 100))
    (p_a, q_a), (p_b, q_b), (p, q) = clamped(a), clamped(b), clamped(a + b)
    two = sum(
        max(Fraction(0), x * y - growth * u * v)
        for (x, u), (y, v) in itertools.product(zip(p_a, q_a, strict=True), zip(p_b, q_b, strict=True))
    )
    one = sum(max(Fraction(0), x - growth * u) for x, u in zip(p, q, strict=True))
    assert two <= one


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.9), (0.5, 0.5), (1.0, 2.0), (0.3, 3.0)])
def test_one_entry_dominates_two_for_laplace(a: float, b: float) -> None:
    two = LossDistribution.of(LaplacePair(scale=1, contribution=a, relation=METRIC)) + LossDistribution.of(
        LaplacePair(scale=1, contribution=b, relation=METRIC)
    )
    for epsilon in np.linspace(0, 0.98 * (a + b), 23):
        assert float(two.delta(Fraction(float(epsilon)))) <= laplace(a + b, float(epsilon)) + 1e-6


# Sampling, against tables


def noisy(values: Iterable[int], rate: float, size: int) -> Law:
    """The law of a sum plus two-sided geometric noise."""
    points = np.arange(-size, size + 1)
    return np.exp(-rate * np.abs(points - sum(values))) * math.tanh(rate / 2)


def poisson(table: list[int], chance: float, rate: float) -> Law:
    law = np.zeros(401)
    for kept in itertools.product((False, True), repeat=len(table)):
        weight = math.prod(chance if keep else 1 - chance for keep in kept)
        law += weight * noisy(itertools.compress(table, kept), rate, 200)
    return law


def fixed(table: list[int], drawn: int, rate: float) -> Law:
    samples = list(itertools.combinations(table, drawn))
    return np.sum([noisy(sample, rate, 200) for sample in samples], axis=0) / len(samples)


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=4), st.sampled_from([-1, 0, 1]), st.sampled_from(EPSILONS))
@settings(max_examples=60)
def test_poisson_samples_of_added_units(rest: list[int], value: int, epsilon: float) -> None:
    pair = SampledPair(
        pair=DiscreteLaplacePair(scale=1, contribution=1, relation=ADD), rate="0.3", sampling=Sampling.POISSON
    )
    there, gone = poisson([*rest, value], 0.3, 1.0), poisson(rest, 0.3, 1.0)
    assert excess(there, gone, epsilon) <= direction(pair, epsilon, forward=True) + 1e-13
    assert excess(gone, there, epsilon) <= direction(pair, epsilon, forward=False) + 1e-13


@given(
    st.lists(st.sampled_from([-1, 0, 1]), min_size=2, max_size=4),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from(EPSILONS),
)
@settings(max_examples=60)
def test_samples_of_replaced_units(rest: list[int], value: int, other: int, epsilon: float) -> None:
    noise = DiscreteLaplacePair(scale=1, contribution=1, relation=REPLACE)
    drawn, size = 2, len(rest) + 1
    of_size = SampledPair(pair=noise, rate=Fraction(drawn, size), sampling=Sampling.FIXED)
    here, there = fixed([*rest, value], drawn, 1.0), fixed([*rest, other], drawn, 1.0)
    assert excess(here, there, epsilon) <= curve(of_size, epsilon) + 1e-13
    by_chance = SampledPair(pair=noise, rate="0.3", sampling=Sampling.POISSON)
    here, there = poisson([*rest, value], 0.3, 1.0), poisson([*rest, other], 0.3, 1.0)
    assert excess(here, there, epsilon) <= curve(by_chance, epsilon) + 1e-13


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_bounds_of_sampling_are_reached(epsilon: float) -> None:
    """A unit of weight one among nothing; a replaced unit of the greatest weight among units of the opposite one."""
    added = SampledPair(
        pair=DiscreteLaplacePair(scale=1, contribution=1, relation=ADD), rate="0.3", sampling=Sampling.POISSON
    )
    there, gone = poisson([1], 0.3, 1.0), poisson([], 0.3, 1.0)
    assert direction(added, epsilon, forward=True) == pytest.approx(excess(there, gone, epsilon), abs=1e-7)
    assert direction(added, epsilon, forward=False) == pytest.approx(excess(gone, there, epsilon), abs=1e-7)
    replaced = SampledPair(
        pair=DiscreteLaplacePair(scale=1, contribution=1, relation=REPLACE), rate="1/2", sampling=Sampling.FIXED
    )
    here, other = fixed([-1, -1, -1, 1], 2, 1.0), fixed([-1, -1, -1, -1], 2, 1.0)
    truth = max(excess(here, other, epsilon), excess(other, here, epsilon))
    assert curve(replaced, epsilon) == pytest.approx(truth, abs=1e-7)


def sampled_curve(rate: float, mu: float, epsilon: float, *, forward: bool) -> float:
    """The curve of a sampled Gaussian from that of the Gaussian (the identity behind amplification)."""
    growth = math.exp(epsilon)
    if forward:
        return rate * gauss(mu, math.log((growth - 1 + rate) / rate)) if growth > 1 - rate else 1 - growth
    weight = 1 - growth * (1 - rate)
    return weight * gauss(mu, math.log(growth * rate / weight)) if weight > 1e-12 else 0.0


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("rate", "sigma"), [("0.01", "0.7"), ("0.2", "1"), ("0.9", "3")])
def test_sampled_gaussians_have_two_directions(rate: str, sigma: str, epsilon: float) -> None:
    noise = GaussianPair(sigma=sigma, contribution=1, relation=ADD)
    pair = SampledPair(pair=noise, rate=rate, sampling=Sampling.POISSON)
    assert not pair.is_symmetric
    truths = [sampled_curve(float(rate), 1 / float(sigma), epsilon, forward=f) for f in (True, False)]
    for forward, truth in zip((True, False), truths, strict=True):
        found = direction(pair, epsilon, forward=forward, exponent=13)
        assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-3) + 1e-7
    assert curve(pair, epsilon) >= max(truths) * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", [*EPSILONS, -0.05, -0.4, -2.0])
def test_the_replaced_view_is_its_own_mirror_image(epsilon: float) -> None:
    noise = GaussianPair(sigma=2, contribution=1, relation=REPLACE)
    pair = SampledPair(pair=noise, rate="0.2", sampling=Sampling.FIXED)
    forward = sampled_curve(0.2, 1.0, abs(epsilon), forward=True)
    truth = forward if epsilon >= 0 else 1 - math.exp(epsilon) + math.exp(epsilon) * forward
    found = direction(pair, epsilon, forward=True, exponent=13)
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-4) + 1e-8
    cells = pair.cells(10, forward=True)
    assert 1 <= float(cells.mass.sum()) + cells.infinity < 1 + 1e-9


def test_sampling_everything_changes_nothing() -> None:
    for relation, sampling in ((ADD, Sampling.POISSON), (REPLACE, Sampling.FIXED)):
        noise = LaplacePair(scale=2, contribution=1, relation=relation)
        whole = SampledPair(pair=noise, rate=1, sampling=sampling)
        assert whole.is_symmetric
        assert LossDistribution.of(whole).delta("0.1") == LossDistribution.of(noise).delta("0.1")


@pytest.mark.parametrize("rate", ["1e-6", "0.999999"])
def test_extreme_rates(rate: str) -> None:
    noise = GaussianPair(sigma=1, contribution=1, relation=ADD)
    pair = SampledPair(pair=noise, rate=rate, sampling=Sampling.POISSON)
    for epsilon in (0.1, 1.0):
        truth = max(sampled_curve(float(rate), 1.0, epsilon, forward=f) for f in (True, False))
        assert truth * (1 - 1e-12) <= curve(pair, epsilon) <= truth * 1.001 + 1e-12


# Refusals


def test_what_cannot_be_sampled() -> None:
    added, moved = (GaussianPair(sigma=1, contribution=1, relation=relation) for relation in (ADD, METRIC))
    with pytest.raises(IncompatibleDistance, match="fixed size"):
        SampledPair(pair=added, rate="0.1", sampling=Sampling.FIXED)
    with pytest.raises(IncompatibleDistance, match="move"):
        SampledPair(pair=moved, rate="0.1", sampling=Sampling.POISSON)
    with pytest.raises(IncompatibleDistance):
        SampledPair(pair=ResponsePair(epsilon=1), rate="0.1", sampling=Sampling.POISSON)
    lopsided = FinitePair(("0.5", "0.5"), ("0.4", "0.6"), REPLACE)
    with pytest.raises(InvalidParameter, match="symmetric"):
        SampledPair(pair=lopsided, rate="0.1", sampling=Sampling.FIXED)
    once = SampledPair(pair=added, rate="0.1", sampling=Sampling.POISSON)
    with pytest.raises(InvalidParameter, match="not sampled itself"):
        SampledPair(pair=once, rate="0.1", sampling=Sampling.POISSON)
    with pytest.raises(InvalidParameter, match="sampling"):
        SampledPair(pair=added, rate="0.1", sampling="poisson")  # type: ignore[arg-type]
    for rate in (0, 2, math.nan):
        with pytest.raises(InvalidParameter, match="rate"):
            SampledPair(pair=added, rate=rate, sampling=Sampling.POISSON)


@pytest.mark.parametrize("odd", [0, -1, math.nan, None, "x"])
def test_odd_parameters_are_refused_by_name(odd: Any) -> None:
    with pytest.raises(InvalidParameter, match="sigma"):
        GaussianPair(sigma=odd, contribution=1, relation=ADD)
    with pytest.raises(InvalidParameter, match="contribution"):
        DiscreteLaplacePair(scale=1, contribution=odd, relation=ADD)
    with pytest.raises(InvalidParameter, match="relation"):
        LaplacePair(scale=1, contribution=1, relation=odd)
    with pytest.raises(InvalidParameter, match="epsilon"):
        ResponsePair(epsilon=odd)


def test_there_is_no_default_relation() -> None:
    with pytest.raises(TypeError):
        GaussianPair(sigma=1, contribution=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("first", "second"), [(("0.5", "0.4"), ("0.5", "0.5")), (("1",), ("0.5", "0.5")), (("1.5", "-0.5"), ("0.5", "0.5"))]
)
def test_laws_that_are_none(first: Any, second: Any) -> None:
    with pytest.raises(InvalidParameter):
        FinitePair(first, second, ADD)


def test_a_discrete_gaussian_too_wide_to_follow() -> None:
    with pytest.raises(NoGuarantee, match="rho"):
        curve(DiscreteGaussianPair(sigma=10**6, contribution=1, relation=ADD), 1.0)


@pytest.mark.parametrize(
    "pair",
    [
        GaussianPair(sigma="1e-9", contribution=1, relation=ADD),
        LaplacePair(scale="1e-9", contribution=1, relation=ADD),
        DiscreteLaplacePair(scale="1e-9", contribution=10**6, relation=ADD),
        DiscreteGaussianPair(sigma="1e-9", contribution=10, relation=ADD),
        ResponsePair(epsilon=10**6),
    ],
    ids=lambda pair: type(pair).__name__,
)
def test_no_noise_at_all_tells_everything(pair: Pair) -> None:
    assert curve(pair, 1.0) == pytest.approx(1, abs=1e-12)


def test_the_normal_law_is_followed_as_far_as_it_says() -> None:
    """Beyond the reach of the law less than 2^-100 is left, on either side."""
    assert float(ndtr(-11.6)) < 2.0**-100
