"""What each primitive says it loses: the formulae, what rounding and float errors pay, and calibration to a target.

The range of the changes of rounded scores is measured by brute force on exact rationals; it may never exceed what the
loss pays for. That a stated epsilon is the true one is in ``test_primitives.py`` and in the contract suite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    TopK,
)
from dither.mechanisms.core.candidates import Choice
from dither.privacy import DIFFERENT, L1, L2, LARGEST, NOTHING, ONE_WAY, ZCDP, ApproxDP, GaussianDP, Loss, PureDP
from dither.testing.branching import branch_outcomes

F = Fraction
#: All fractions above 0 and up to 1000 with denominators up to 1000: as ``st.fractions``, but drawn faster.
rationals = st.builds(
    lambda whole, part, of: whole + F(1 + part % of, of), st.integers(0, 999), st.integers(0, 999), st.integers(1, 1000)
)
CHOICES = (Exponential, PermuteAndFlip, NoisyMax)


# The formulae.


@given(scale=rationals, d_in=rationals)
def test_laplace_and_geometric_lose_distance_over_scale(scale: Fraction, d_in: Fraction) -> None:
    for mechanism in (Laplace(scale=scale), Laplace(scale=scale, grid=scale), Geometric(scale=scale)):
        assert mechanism.loss(d_in) == PureDP(d_in / scale)
        assert mechanism.distance is L1


@given(sigma=rationals, d_in=rationals)
def test_gaussians_lose_half_the_square(sigma: Fraction, d_in: Fraction) -> None:
    rho = d_in**2 / (2 * sigma**2)
    for mechanism in (Gaussian(sigma=sigma), Gaussian(sigma=sigma, shape=4)):
        assert mechanism.loss(d_in) == GaussianDP(rho)
        assert mechanism.distance is L2
    assert DiscreteGaussian(sigma=sigma).loss(d_in) == ZCDP(rho)
    assert DiscreteGaussian(sigma=sigma).distance is L2


@given(epsilon=rationals, d_in=rationals)
def test_randomised_response_loses_epsilon_at_any_distance(epsilon: Fraction, d_in: Fraction) -> None:
    mechanism = RandomisedResponse(epsilon=epsilon, categories=3)
    assert mechanism.loss(d_in) == PureDP(epsilon)
    assert mechanism.loss(0) == NOTHING
    assert mechanism.distance is DIFFERENT


@given(first=rationals, second=rationals, d_in=rationals, positives=st.integers(1, 9))
def test_above_threshold_pays_for_its_positives_only(
    first: Fraction, second: Fraction, d_in: Fraction, positives: int
) -> None:
    common = {"threshold": 3, "threshold_scale": first, "query_scale": second, "positives": positives}
    both, one = AboveThreshold(**common), AboveThreshold(**common, one_way=True)
    assert both.loss(d_in) == PureDP(d_in / first + 2 * positives * d_in / second)
    assert one.loss(d_in) == PureDP(d_in / first + positives * d_in / second)
    assert (both.distance, one.distance) == (LARGEST, ONE_WAY)


@given(scale=rationals, d_in=rationals)
@pytest.mark.parametrize("kind", CHOICES)
def test_choices_of_integers(kind: type[Choice], scale: Fraction, d_in: Fraction) -> None:
    both, one = kind(candidates=5, scale=scale), kind(candidates=5, scale=scale, one_way=True)
    assert both.loss(d_in).pure == 2 * d_in / scale
    assert one.loss(d_in).pure == d_in / scale
    assert (both.distance, one.distance, both.slack) == (LARGEST, ONE_WAY, 0)
    assert both.loss(0).is_zero


@given(scale=rationals, d_in=rationals, grid=rationals, error=rationals)
@pytest.mark.parametrize("kind", CHOICES)
def test_float_scores_pay_for_their_grid_and_error(
    kind: type[Choice], scale: Fraction, d_in: Fraction, grid: Fraction, error: Fraction
) -> None:
    def epsilon(**more: Any) -> Fraction | None:
        return kind(candidates=5, scale=scale, grid=grid, **more).loss(d_in).pure

    def steps(reach: Fraction) -> Fraction:
        return -(-reach // grid) * grid

    assert epsilon() == 2 * steps(d_in) / scale
    assert epsilon(one_way=True) == steps(d_in) / scale
    assert epsilon(score_error=error) == 2 * steps(d_in + 2 * error) / scale
    assert epsilon(score_error=error, one_way=True) == (steps(d_in + 2 * error) + steps(2 * error)) / scale
    assert kind(candidates=5, scale=scale, grid=grid, score_error=error).slack == 2 * error
    assert kind(candidates=5, scale=scale, grid=grid, score_error=error).loss(0).is_zero


@given(epsilon=rationals)
def test_only_the_exponential_mechanism_has_the_bounded_range_rho(epsilon: Fraction) -> None:
    """rho = eps^2 / 8 for the exponential mechanism; eps * tanh(eps / 2) and no less for the two that resemble it."""
    exponential, flip, noisy = (kind(candidates=3, scale=2 / epsilon).loss(1) for kind in CHOICES)
    generic = float(epsilon) * math.tanh(float(epsilon) / 2)
    assert exponential.pure == flip.pure == noisy.pure == epsilon
    assert exponential.rho == min(epsilon**2 / 8, PureDP(epsilon).rho)
    for loss in (flip, noisy):
        assert loss == PureDP(epsilon)
        assert float(loss.rho) == pytest.approx(generic, rel=1e-9)
        assert loss.rho >= exponential.rho


def test_permute_and_flip_exceeds_the_exponential_mechanisms_rho() -> None:
    """On two candidates one apart, its Renyi divergence of order 2 exceeds 2 * eps^2 / 8 (opendp#2911)."""
    mechanism = PermuteAndFlip(candidates=2, scale=1, one_way=True)
    laws = [branch_outcomes(lambda noise, s=scores: mechanism.draw(s, noise), runs=200) for scores in ([0, 0], [1, 0])]
    divergence = max(
        math.log(sum(float(one.mass[i]) ** 2 / float(other.mass[i]) for i in (0, 1)))
        for one, other in (laws, laws[::-1])
    )
    assert mechanism.loss(1).pure == 1
    assert 2 / 8 < divergence <= 2 * float(mechanism.loss(1).rho)


@given(scale=rationals, d_in=rationals, chosen=st.integers(1, 5))
def test_top_k_adds_up_its_choices(scale: Fraction, d_in: Fraction, chosen: int) -> None:
    one = Exponential(candidates=5, scale=scale).loss(d_in)
    choices = min(chosen, 4)  # the fifth of five is no choice
    assert TopK(candidates=5, chosen=chosen, scale=scale).loss(d_in) == one.times(choices)
    half = TopK(candidates=5, chosen=chosen, scale=scale, one_way=True).loss(d_in)
    assert half.pure == choices * d_in / scale


@given(near=rationals, far=rationals)
def test_losses_grow_with_the_distance_and_vanish_at_none(near: Fraction, far: Fraction) -> None:
    near, far = sorted((near, far))
    for mechanism in (
        Laplace(scale=2),
        Gaussian(sigma=2),
        Exponential(candidates=3, scale=2, grid="1/4", score_error="1/100"),
        NoisyMax(candidates=3, scale=2),
        TopK(candidates=3, chosen=2, scale=2),
        AboveThreshold(threshold=0, threshold_scale=2, query_scale=2),
    ):
        assert mechanism.loss(near) <= mechanism.loss(far)
        assert mechanism.loss(0) <= NOTHING


# What a choice pays for, by brute force.

ODD = (0.0, -0.0, 0.5, 0.125, 0.0625, -0.0625, float(np.nextafter(0.0625, 1)), 1e-300, -5e-324, 1e6 + 0.3, 2.0**52 + 1)
scores = st.sampled_from(ODD) | st.floats(-100, 100)
# Fractions of 1, with denominators so large that shares of the distances below have all denominators up to 10^6.
shares = st.builds(lambda part, of: F(part % (of + 1), of), st.integers(0, 10**7), st.integers(1, 10**7))
both_ways = st.builds(lambda sign, share: sign * share, st.sampled_from([-1, 1]), shares)
ways = st.sampled_from([F(0), F(1)]) | shares


@given(
    data=st.data(),
    here=st.lists(scores, min_size=2, max_size=5),
    grid=st.sampled_from([F(1, 8), F(1, 3), F(1), F(7, 5)]),
    error=st.sampled_from([F(0), F(1, 1000), F(1, 4)]),
    d_in=st.sampled_from([F(1, 1000), F(1, 8), F(1), F(5, 2)]),
    one_way=st.booleans(),
)
def test_range_of_changes_never_exceeds_the_spread(
    data: st.DataObject, here: list[float], grid: Fraction, error: Fraction, d_in: Fraction, one_way: bool
) -> None:
    """The mathematical scores move by at most ``d_in``; what is handed over is off by at most ``score_error``."""
    mechanism = Exponential(candidates=len(here), scale=1, grid=grid, score_error=error, one_way=one_way)
    up = data.draw(st.booleans()) if one_way else None
    least, most = (F(0), d_in) if up else (-d_in, F(0)) if one_way else (-d_in, d_in)
    true = [Fraction(score) for score in here]
    moved = [score + least + (most - least) * data.draw(ways) for score in true]
    given_here, given_there = ([score + error * data.draw(both_ways) for score in which] for which in (true, moved))
    changes = [int(b) - int(a) for a, b in zip(mechanism.steps(given_here), mechanism.steps(given_there), strict=True)]
    assert (max(changes) - min(changes)) * grid <= mechanism.spread(d_in)


@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize("error", [F(0), F(1, 1000)])
def test_spread_is_nearly_reached(one_way: bool, error: Fraction) -> None:
    """The payment is not a loose guess: the worst pair of two scores comes within a step of it."""
    grid, d_in = F(1, 8), F(1, 1) + F(1, 100)
    mechanism = Exponential(candidates=2, scale=1, grid=grid, score_error=error, one_way=one_way)
    tiny = F(1, 10**9)
    # Just below a rounding boundary, moved just past one; the other candidate the other way where it may.
    low, high = grid / 2 - tiny + error, -grid / 2 + tiny - error
    first = (low - error, low + d_in + error)
    second = (high + error, high - (0 if one_way else d_in) - error)
    here, there = mechanism.steps([first[0], second[0]]), mechanism.steps([first[1], second[1]])
    changes = [int(b) - int(a) for a, b in zip(here, there, strict=True)]
    reached = (max(changes) - min(changes)) * grid
    assert mechanism.spread(d_in) - 2 * grid - 8 * error <= reached <= mechanism.spread(d_in)


def test_one_way_scores_with_an_error_count_one_way_changes() -> None:
    """A price for changes in one direction must not be charged for changes in both.

    Two scores that move one towards the other are 1 apart in the largest change, and the choice then loses nearly 2.
    """
    mechanism = Exponential(candidates=2, scale=1, grid="1/8", score_error="1/1000", one_way=True)
    apart, closer = [-5.0, 0.0], [-4.0, -1.0]
    laws = [branch_outcomes(lambda noise, s=s: mechanism.draw(s, noise), runs=400) for s in (apart, closer)]
    true_epsilon = math.log(float(laws[1].mass[0]) / float(laws[0].mass[0]))
    assert true_epsilon > 1.9 > float(mechanism.loss(1).pure)
    assert mechanism.distance.measure(apart, closer) is None


# Calibration.

PURE = [PureDP("1/10"), PureDP(1), PureDP(7), ApproxDP(1, "1e-6")]
TIGHTER = [PureDP(1, rho="1/8"), PureDP(2, rho="1/100")]
CONCENTRATED = [ZCDP("1/1000"), ZCDP("1/2"), ZCDP(3)]
sensitivities = pytest.mark.parametrize("sensitivity", [F(1, 3), 1, 250])

BY_EPSILON: list[Callable[[Loss, Any], Any]] = [
    lambda target, d: Laplace.calibrated(target, sensitivity=d),
    lambda target, d: Laplace.calibrated(target, sensitivity=d, grid=d, shape=(2, 3)),
    lambda target, d: Geometric.calibrated(target, sensitivity=d),
    lambda target, d: Exponential.calibrated(target, sensitivity=d, candidates=9),
    lambda target, d: Exponential.calibrated(target, sensitivity=d, candidates=9, grid="1/1000", score_error="1e-9"),
    lambda target, d: PermuteAndFlip.calibrated(target, sensitivity=d, candidates=9),
    lambda target, d: NoisyMax.calibrated(target, sensitivity=d, candidates=9, one_way=True),
    lambda target, d: NoisyMax.calibrated(target, sensitivity=d, candidates=9, grid=2**50),
    lambda target, d: TopK.calibrated(target, sensitivity=d, candidates=9, chosen=3),
    lambda target, d: AboveThreshold.calibrated(target, threshold=10, sensitivity=d, positives=4),
    lambda target, d: AboveThreshold.calibrated(target, threshold=10, sensitivity=d, one_way=True),
    lambda target, _: RandomisedResponse.calibrated(target, categories=4),
]
BY_RHO: list[Callable[[Loss, Any], Any]] = [
    lambda target, d: Gaussian.calibrated(target, sensitivity=d),
    lambda target, d: Gaussian.calibrated(target, sensitivity=d, grid=d, shape=3),
    lambda target, d: DiscreteGaussian.calibrated(target, sensitivity=d, shape=7),
]


@sensitivities
@pytest.mark.parametrize("target", PURE, ids=repr)
@pytest.mark.parametrize("build", BY_EPSILON)
def test_calibration_reaches_an_epsilon_exactly(build: Callable[..., Any], target: Loss, sensitivity: Any) -> None:
    loss = build(target, sensitivity).loss(sensitivity)
    assert loss <= target
    assert loss.pure == target.pure


@sensitivities
@pytest.mark.parametrize("target", [*CONCENTRATED, *TIGHTER], ids=repr)
@pytest.mark.parametrize("build", BY_EPSILON)
def test_calibration_to_a_rho_stays_below_and_near(build: Callable[..., Any], target: Loss, sensitivity: Any) -> None:
    loss = build(target, sensitivity).loss(sensitivity)
    assert loss <= target
    reached = [float(loss.rho / target.rho), float(loss.pure / target.pure) if target.pure else 0.0]
    assert max(reached) >= 1 - 1e-5


@sensitivities
@pytest.mark.parametrize("target", CONCENTRATED, ids=repr)
@pytest.mark.parametrize("build", BY_RHO)
def test_gaussian_calibration_to_a_rho(build: Callable[..., Any], target: Loss, sensitivity: Any) -> None:
    loss = build(target, sensitivity).loss(sensitivity)
    assert loss <= target
    assert loss.rho / target.rho > 1 - F(1, 10**5)


@sensitivities
@pytest.mark.parametrize("target", [ApproxDP(1, "1e-6"), ApproxDP("1/10", "1e-9"), ApproxDP(8, "1e-5")], ids=repr)
@pytest.mark.parametrize("build", BY_RHO)
def test_gaussian_calibration_to_epsilon_and_delta(build: Callable[..., Any], target: Any, sensitivity: Any) -> None:
    loss = build(target, sensitivity).loss(sensitivity)
    assert loss <= target
    assert loss.to_approx(target.delta).epsilon / target.epsilon > 1 - F(1, 10**5)


@pytest.mark.parametrize(
    ("build", "target"),
    [
        *itertools.product(BY_RHO, [PureDP(1), PureDP(0), ZCDP(0), ApproxDP(1, 0)]),
        *itertools.product(BY_EPSILON, [PureDP(0), ZCDP(0)]),
    ],
)
def test_what_cannot_be_reached_has_no_guarantee(build: Callable[..., Any], target: Loss) -> None:
    with pytest.raises(NoGuarantee):
        build(target, 1)


@pytest.mark.parametrize("target", [PureDP(1), ZCDP(1)], ids=repr)
def test_no_choice_at_all_is_calibrated_to_anything(target: Loss) -> None:
    assert TopK.calibrated(target, sensitivity=1, candidates=1, chosen=1).loss(1).is_zero


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "much", True, None])
@pytest.mark.parametrize("build", [*BY_EPSILON[:-1], *BY_RHO])
def test_calibration_refuses_a_sensitivity_that_is_none(build: Callable[..., Any], bad: Any) -> None:
    target = ApproxDP(1, "1e-6")
    with pytest.raises(InvalidParameter) as refusal:
        build(target, bad)
    assert refusal.value.parameter in ("sensitivity", "grid")


@pytest.mark.parametrize("build", [*BY_EPSILON, *BY_RHO])
def test_calibration_refuses_a_target_that_is_no_loss(build: Callable[..., Any]) -> None:
    for bad in (1, "1", None, float("nan")):
        with pytest.raises(InvalidParameter, match="within must be a loss"):
            build(bad, 1)


@given(positives=st.integers(1, 1000), one_way=st.booleans())
@example(positives=1, one_way=True)
def test_the_split_of_the_sparse_vector_is_nearly_the_best(positives: int, one_way: bool) -> None:
    """No other split of the same epsilon has a smaller variance of the difference of the two noises."""

    def variance(share: float) -> float:
        return 1 / share**2 + (factor / (1 - share)) ** 2

    factor = (1 if one_way else 2) * positives
    chosen = AboveThreshold.calibrated(PureDP(1), threshold=0, sensitivity=1, positives=positives, one_way=one_way)
    best = min(variance(share / 1000) for share in range(1, 1000))
    assert float(chosen.threshold_scale) ** 2 + float(chosen.query_scale) ** 2 <= best * 1.001
