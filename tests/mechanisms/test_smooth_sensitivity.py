"""Smooth sensitivity: the constants, by looking at both densities; the bounds, by trying all data; the traps."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.audit.pairs import pairs_of
from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import find
from dither.mechanisms.smooth_cauchy import SmoothCauchy, steepness
from dither.mechanisms.smooth_gaussian import SmoothGaussian
from dither.mechanisms.smooth_laplace import SmoothLaplace
from dither.mechanisms.smooth_sensitivity import ROUNDING, SmoothNoise, SmoothPairs, on_ladder
from dither.noise import Noise, SystemEntropy
from dither.privacy import NOTHING, ZCDP, ApproxDP, PureDP
from dither.privacy.sensitivity.smooth import order_statistic, smooth_bound
from tests.rationals import rationals

F = Fraction
noise = Noise(SystemEntropy())
NAMES = ["smooth-cauchy", "smooth-laplace", "smooth-gaussian"]


# The losses against the true laws of the worst neighbours.


def cauchy_log_density(power: int, z: Any) -> Any:
    return -np.log1p(np.abs(z) ** power)


def worst_log_ratio(power: int, scale: float, drift: float) -> float:
    """Return the largest log-ratio of the densities of neighbours whose bounds and values move as far as they may."""
    z = np.concatenate([-np.logspace(4, -6, 4000), [0.0], np.logspace(-6, 4, 4000)])
    found = []
    for factor in (math.exp(drift), 1.0, math.exp(-drift)):
        # The neighbour has bound ``factor``; values move by the smaller of the two bounds.
        for move in (min(1.0, factor), 0.0):
            here = cauchy_log_density(power, z / scale) - math.log(scale)
            there = cauchy_log_density(power, (z - move) / (scale * factor)) - math.log(scale * factor)
            found.append(np.abs(here - there).max())
    return float(max(found))


@pytest.mark.parametrize("power", [2, 4, 6, 10])
@pytest.mark.parametrize("scale", ["1/2", 2, 20])
@pytest.mark.parametrize("smoothness", ["1/100", "1/4"])
def test_cauchy_loss_holds(power: int, scale: Any, smoothness: str) -> None:
    mechanism = SmoothCauchy(power=power, least=1, smoothness=smoothness, scale=scale)
    drift = float(mechanism.smoothness + ROUNDING)
    assert worst_log_ratio(power, float(mechanism.scale), drift) <= float(mechanism.loss(1).epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("power", [2, 4, 6])
def test_cauchy_constants_cannot_be_smaller(power: int) -> None:
    """Both halves of the loss are reached: the slope for small moves, the dilation in the tails."""
    epsilon = 0.01
    scale, drift = 2 * float(steepness(power)) / epsilon, epsilon / (2 * (power - 1))
    assert worst_log_ratio(power, scale, 0.0) == pytest.approx(epsilon / 2, rel=1e-3)
    z = 1e12
    tails = cauchy_log_density(power, z) - cauchy_log_density(power, z / math.exp(drift)) + drift
    assert abs(tails) == pytest.approx(epsilon / 2, rel=1e-3)


def test_the_rule_of_two_over_epsilon_holds_for_power_two_alone() -> None:
    """Scale 2 / epsilon at smoothness epsilon / (2 p) loses 3/4 of epsilon with p = 2, and more than it with p = 4."""
    epsilon = 0.1
    assert worst_log_ratio(2, 2 / epsilon, epsilon / 4) <= epsilon
    assert worst_log_ratio(4, 2 / epsilon, epsilon / 8) > 1.1 * epsilon


def hockey_stick(here: Any, there: Any, points: Any, epsilon: float) -> float:
    """Return the integral of (p - e^epsilon q)+ by the trapezoid rule."""
    excess = np.maximum(here - math.exp(epsilon) * there, 0.0)
    return float(np.trapezoid(excess, points))


def laplace_density(x: Any, scale: float) -> Any:
    return np.exp(np.abs(x) / -scale) / (2 * scale)


def normal_density(x: Any, scale: float) -> Any:
    return np.exp(np.square(x / scale) / -2) / (scale * math.sqrt(2 * math.pi))


def worst_delta(kind: str, scale: float, drift: float, epsilon: float) -> float:
    points = np.linspace(-60 * scale, 60 * scale, 100_001)
    density = laplace_density if kind == "laplace" else normal_density
    here, found = density(points, scale), []
    for factor in np.exp([drift, drift / 2, 0.0, -drift / 2, -drift]):
        for move in (min(1.0, factor), 0.0):
            found.append(hockey_stick(here, density(points - move, scale * factor), points, epsilon))
    return max(found)


@pytest.mark.parametrize("delta", ["1/10", "1e-3", "1e-6"])
@pytest.mark.parametrize("smoothness", ["1/100", "1/10", "1/2"])
@pytest.mark.parametrize("scale", [1, 5])
def test_laplace_and_gaussian_losses_hold(delta: str, smoothness: str, scale: int) -> None:
    for kind, build in (("laplace", SmoothLaplace), ("gaussian", SmoothGaussian)):
        mechanism = build(delta=delta, least=1, smoothness=smoothness, scale=scale)
        drift, epsilon = float(mechanism.smoothness + ROUNDING), float(mechanism.loss(1).epsilon)
        assert worst_delta(kind, float(scale), drift, epsilon) <= float(mechanism.delta) * (1 + 1e-6) + 1e-12


def test_laplace_delta_is_that_of_the_dilation() -> None:
    """With the value still, the stated delta is the true one: the formula for the change of width is tight."""
    drift, epsilon, scale = 0.2, 0.9, 1.0
    stated = (1 - math.exp(-drift)) * math.exp(-(epsilon + drift) / math.expm1(drift))
    points = np.linspace(-60, 60, 2_000_001)
    found = hockey_stick(
        laplace_density(points, scale), laplace_density(points, scale * math.exp(-drift)), points, epsilon
    )
    assert found == pytest.approx(stated, rel=1e-4)


@pytest.mark.parametrize("length", [2, 3, 7])
def test_chains_lose_no_less_than_the_laws_do(length: int) -> None:
    cauchy = SmoothCauchy(power=4, least=1, smoothness="1/20", scale=5)
    assert cauchy.loss(length).epsilon == length * cauchy.loss(1).epsilon
    laplace = SmoothLaplace(delta="1e-4", least=1, smoothness="1/20", scale=5)
    drift = length * 0.05 + float(ROUNDING)
    moved = sum(math.exp(0.05 * step) for step in range(length))
    points = np.linspace(-400, 400, 200_001)
    epsilon = float(laplace.loss(length).epsilon)
    for factor in (math.exp(drift), math.exp(-drift)):
        for nearest in (1.0, factor):
            # The value moves by as much as the bound at either end allows.
            there = laplace_density(points - moved * min(1.0, factor, nearest), 5 * factor)
            assert hockey_stick(laplace_density(points, 5.0), there, points, epsilon) <= 1e-4


@pytest.mark.parametrize("epsilon", ["1/10", 1, 4])
def test_calibration_stays_within_its_target(epsilon: Any) -> None:
    for power in (2, 4, 8):
        mechanism = SmoothCauchy.calibrated(PureDP(epsilon), least=1, power=power)
        assert mechanism.loss(1) <= PureDP(epsilon)
        assert mechanism.loss(1).epsilon > F(epsilon) * F(999, 1000) or mechanism.smoothness == 1
    target = ApproxDP(epsilon, "1e-6")
    for kind in (SmoothLaplace, SmoothGaussian):
        mechanism = kind.calibrated(target, least=1)
        assert mechanism.loss(1) <= target
        assert mechanism.loss(1).epsilon > F(epsilon) * F(999, 1000) or mechanism.smoothness == 1


def test_calibration_beats_the_published_rules() -> None:
    laplace = SmoothLaplace.calibrated(ApproxDP(1, "1e-6"), least=1)
    assert laplace.scale == 2
    assert laplace.smoothness > 1 / (2 * math.log(2e6))
    gaussian = SmoothGaussian.calibrated(ApproxDP(1, "1e-6"), least=1)
    assert gaussian.scale < 5 * math.sqrt(2 * math.log(2e6)) / 2
    assert gaussian.smoothness > 1 / (4 * (1 + math.log(2e6)))


def test_targets_that_no_scale_reaches_are_refused() -> None:
    for kind in (SmoothLaplace, SmoothGaussian):
        for target in (PureDP(1), ZCDP(1), ApproxDP(0, "1e-6"), ApproxDP(1, 0)):
            with pytest.raises(NoGuarantee):
                kind.calibrated(target, least=1)
    with pytest.raises(NoGuarantee):
        SmoothCauchy.calibrated(PureDP(F(1, 10**6)), least=1)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"power": 3}, "power"),
        ({"power": 0}, "power"),
        ({"smoothness": 2}, "smoothness"),
        ({"smoothness": 0}, "smoothness"),
        ({"least": 0}, "least"),
        ({"scale": -1}, "scale"),
        ({"grid": F(1, 2**50)}, "grid"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        SmoothCauchy(**{"power": 4, "least": 1, "smoothness": "1/10", "scale": 2} | changes)


# The metric.


@pytest.mark.parametrize("name", NAMES)
def test_pairs_of_the_audit_are_neighbours(name: str) -> None:
    for example in find(name).examples():
        for pair in pairs_of(example):
            apart = example.mechanism.distance.measure(pair.value, pair.neighbour)
            assert apart is not None
            assert apart <= pair.d_in, pair.label


def eighths_and_coarser(low: int, high: int) -> list[Fraction]:
    """Return all fractions between the limits with denominators up to 8."""
    return sorted({F(part, of) for of in range(1, 9) for part in range(low * of, high * of + 1)})


pairs = st.tuples(st.sampled_from(eighths_and_coarser(-50, 50)), st.sampled_from(eighths_and_coarser(0, 20)))


@given(first=pairs, second=pairs)
def test_neighbours_are_those_of_the_definition(first: Any, second: Any) -> None:
    smoothness, least = F(1, 5), F(2)
    apart = SmoothPairs(smoothness, least).measure(list(first), list(second))
    bounds = [max(pair[1], least) for pair in (first, second)]
    near = abs(first[0] - second[0]) <= min(bounds)
    ratio = math.log(max(bounds) / min(bounds))
    if apart is not None and apart <= 1:
        assert near
        assert ratio <= 0.2 + 1e-12
    elif near:
        assert ratio > 0.2 - 1e-12
    assert SmoothPairs(smoothness, least).measure(list(second), list(first)) == apart


def test_chains_are_as_short_as_can_be() -> None:
    """Two steps: up by e^b and down again carries the value by twice the lower bound, and no farther."""
    metric = SmoothPairs(F(1, 2), F(1))
    assert metric.measure([0, 2], [4, 2]) == 2
    assert metric.measure([0, 2], [F(401, 100), 2]) == 3
    assert metric.measure([0, 2], [0, 2]) == 0
    assert metric.measure([0, 0], [0, 1]) == 0
    assert metric.measure([0, 1], [10**12, 1]) is None
    assert metric.measure([0, 1], [float("nan"), 1]) is None


def test_raw_local_sensitivity_is_no_smooth_bound() -> None:
    """The median of 0 0 0 0 9 does not move, that of its neighbour 0 0 0 9 9 does: no distance joins the two."""
    here, there = [0, 0, 0, 0, 9], [0, 0, 0, 9, 9]
    metric = SmoothPairs(F(1, 10), F(1, 1000))
    pairs = [[sorted(data)[2], local_sensitivity(data, 0, 9, 3)] for data in (here, there)]
    assert pairs == [[0, 0], [0, 9]]
    apart = metric.measure(*pairs)
    assert apart is None or apart > 1
    smooth = [order_statistic(data, rank=3, lower=0, upper=9, smoothness="1/10") for data in (here, there)]
    assert metric.measure(*smooth) == 1


# Draws.


@given(bound=rationals(F(1, 10**9), 10**9))
def test_ladder_rounds_up_by_a_public_factor(bound: Fraction) -> None:
    raised = on_ladder(bound)
    assert bound <= raised <= bound * (1 + ROUNDING)
    assert on_ladder(raised) == raised


def test_equal_bounds_written_differently_stand_on_one_rung() -> None:
    rungs = {on_ladder(bound) for bound in (F(10**6 + 1), F(10**6 + 1) + F(1, 3), F(10**6 + 1) + F(1, 10**9))}
    assert len(rungs) == 1


@pytest.mark.parametrize("name", NAMES)
def test_support_says_nothing_about_the_bound(name: str) -> None:
    for example in find(name).examples():
        mechanism = example.mechanism
        assert isinstance(mechanism, SmoothNoise)
        for bound in (0.0, 1 / 3, 1234.567, 1e9):
            drawn = mechanism.draw_many(np.array([*[1 / 7] * mechanism.dimension, bound]), 200, noise)
            assert drawn.shape == (200, *mechanism.draw_shape)
            assert (np.mod(drawn / float(mechanism.grid), 1) == 0).all()


@pytest.mark.statistical(n=2_000, false_alarm=1e-9, catches="a bound that is ignored, or read as nothing when unknown")
@pytest.mark.parametrize("name", NAMES)
def test_width_follows_the_bound_and_unknown_bounds_are_the_largest(name: str) -> None:
    """Half of the noise lies within one third to two scales; 2,000 draws put the middle there but for 1e-9."""
    mechanism = next(iter(find(name).examples())).mechanism
    for bound in (50.0, 1e6):
        typical = np.median(np.abs(mechanism.draw_many([0.0, bound], 2_000, noise)))
        assert float(mechanism.scale) * bound / 3 < typical < 2 * float(mechanism.scale) * bound
    for unknown in (float("nan"), float("inf"), 1e300):
        typical = np.median(np.abs(mechanism.draw_many([0.0, unknown], 2_000, noise)))
        assert typical > 1e12
    for low in (0.0, -5.0, float("-inf")):
        typical = np.median(np.abs(mechanism.draw_many([0.0, low], 2_000, noise)))
        assert typical <= 4 * float(mechanism.scale * mechanism.least) + float(mechanism.grid)


def test_no_distance_no_loss() -> None:
    mechanism = SmoothCauchy(power=2, least=1, smoothness="1/10", scale=2)
    assert mechanism.loss(0) == NOTHING
    assert mechanism.loss("1/2") == mechanism.loss(1)


# Bounds.


def local_sensitivity(data: Any, low: int, high: int, rank: int) -> int:
    """Return the largest change of the order statistic when one value is replaced, by trying them all."""
    here = sorted(data)[rank - 1]
    changed = (
        sorted([*data[:place], value, *data[place + 1 :]])[rank - 1]
        for place in range(len(data))
        for value in range(low, high + 1)
    )
    return max(abs(there - here) for there in changed)


@pytest.mark.parametrize(("size", "rank", "top"), [(3, 2, 4), (4, 2, 3), (4, 4, 3), (5, 3, 2), (1, 1, 4)])
@pytest.mark.parametrize("smoothness", ["1/10", "9/10"])
def test_order_statistic_against_all_data(size: int, rank: int, top: int, smoothness: str) -> None:
    """Every data set of a small universe: the bound is the smooth sensitivity, bounds the change, and is smooth."""
    decay = float(F(smoothness))
    universe = list(itertools.combinations_with_replacement(range(top + 1), size))
    local = {data: local_sensitivity(list(data), 0, top, rank) for data in universe}
    found = {data: order_statistic(data, rank=rank, lower=0, upper=top, smoothness=smoothness) for data in universe}
    metric = SmoothPairs(F(smoothness), F(1, 10**9))
    for data in universe:
        apart = {other: replaced(data, other) for other in universe}
        smooth = max(math.exp(-decay * apart[other]) * local[other] for other in universe)
        assert found[data][0] == sorted(data)[rank - 1]
        assert smooth <= found[data][1] <= smooth * (1 + 1e-9)
        for other in universe:
            if apart[other] == 1:
                assert metric.measure(found[data], found[other]) in (0, 1)


def replaced(data: Any, other: Any) -> int:
    """Return how many values of one multiset must be replaced to make the other."""
    left = list(other)
    for value in data:
        if value in left:
            left.remove(value)
    return len(left)


def plain_bound(values: Any, rank: int, low: float, high: float, decay: float) -> float:
    """Return the smooth sensitivity by the definition, over all pairs of order statistics around the rank."""
    order = [low, *sorted(values), high]
    return max(
        (order[j] - order[i]) * math.exp(-decay * (j - i - 1))
        for i in range(rank + 1)
        for j in range(rank, len(order))
        if i < j
    )


@given(
    values=st.lists(st.floats(0, 1000) | st.sampled_from([3.0, 3.5, 1000.0]), min_size=1, max_size=60),
    share=st.floats(0, 1),
    decay=st.sampled_from(["1/1000", "1/20", "1/2", "1"]),
)
def test_order_statistic_against_all_pairs(values: list[float], share: float, decay: str) -> None:
    rank = 1 + int(share * (len(values) - 1))
    value, bound = order_statistic(values, rank=rank, lower=0, upper=1000, smoothness=decay)
    plain = plain_bound(values, rank, 0.0, 1000.0, float(F(decay)))
    assert value == sorted(values)[rank - 1]
    assert bound == pytest.approx(plain, rel=1e-9)
    assert bound >= plain


@pytest.mark.parametrize("decay", ["1/2", "1/100", "1/2000"])
def test_order_statistic_of_many_values_against_all_pairs(decay: str) -> None:
    values = np.random.default_rng().pareto(1.5, size=3000)
    value, bound = order_statistic(values, rank=1500, lower=0, upper=10**6, smoothness=decay)
    ordered = np.concatenate([[0.0], np.sort(np.clip(values, 0, 10**6)), [1e6]])
    below, above = ordered[: 1500 + 1], ordered[1500:]
    apart = np.arange(1500, len(ordered))[None, :] - np.arange(1501)[:, None] - 1
    terms = (above[None, :] - below[:, None]) * np.exp(-float(F(decay)) * np.maximum(apart, 0))
    assert value == ordered[1500]
    assert terms.max() <= bound <= terms.max() * (1 + 1e-7)


def test_order_statistics_of_odd_data() -> None:
    common: dict[str, Any] = {"rank": 2, "lower": 0, "upper": 10, "smoothness": "1/10"}
    assert order_statistic([], **common)[0] == 10
    assert order_statistic([float("nan"), float("inf"), float("-inf")], **common)[0] == 0
    assert order_statistic([1e308] * 5, **common)[0] == 10
    for bad in ({"rank": 0}, {"upper": 0}, {"smoothness": 0}, {"smoothness": F(1, 2**40)}, {"smoothness": 2}):
        with pytest.raises(InvalidParameter):
            order_statistic([1.0], **common | bad)


@given(local=st.lists(st.floats(0, 100), min_size=1, max_size=30), decay=st.sampled_from(["1/1000", "1/3", "1"]))
def test_smooth_bound_is_the_largest_term(local: list[float], decay: str) -> None:
    grown = np.maximum.accumulate(local).tolist()
    bound = smooth_bound(grown, most=100, smoothness=decay)
    terms = [value * math.exp(-float(F(decay)) * s) for s, value in enumerate([*grown, 100.0])]
    assert max(terms) <= bound <= max(terms) * (1 + 1e-9)


def test_far_bounds_never_vanish() -> None:
    """All values equal: the bound falls with their number, and stops far above zero."""
    bounds = [
        order_statistic([5.0] * (2 * half + 1), rank=half + 1, lower=0, upper=10, smoothness=1)[1]
        for half in (10, 100, 700, 2000)
    ]
    assert bounds[0] > bounds[1] > bounds[2] == bounds[3] > 0
    assert math.log(bounds[3] / 10) == pytest.approx(-600)
