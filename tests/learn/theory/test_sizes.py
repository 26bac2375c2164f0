"""Sample sizes and risk bounds, held against exact failure probabilities, tails and integrals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, PureDP
from dither.errors import InvalidParameter, NoGuarantee
from dither.learn.theory import (
    LEARNERS,
    METHODS,
    Concepts,
    PointLearner,
    PrivateLearner,
    most_labellings,
    risk_bound,
    sample_complexity,
)
from dither.learn.theory.risks import _gamma_reach
from dither.privacy import zcdp_rho

ALPHA, BETA = 0.1, 0.05
SIZES: dict[str, dict[str, Any]] = {
    "non-private": {"count": 50, "alpha": ALPHA, "beta": BETA},
    "non-private-vc": {"vc": 2, "alpha": ALPHA, "beta": BETA},
    "finite-class": {"count": 50, "alpha": ALPHA, "beta": BETA, "epsilon": "0.2"},
    "points": {"alpha": ALPHA, "beta": BETA, "epsilon": "0.5", "delta": "1e-6"},
    "descent": {"universe": 1000, "alpha": ALPHA, "beta": BETA, "epsilon": "0.5"},
    "labels": {"vc": 1, "alpha": ALPHA, "beta": BETA, "epsilon": "0.01"},
    "representation": {"largest": 50, "alpha": ALPHA, "beta": BETA, "epsilon": "0.1"},
    "semi-supervised-labelled": {"vc": 2, "alpha": ALPHA, "beta": BETA, "epsilon": "0.1"},
    "semi-supervised-unlabelled": {"count": 50, "universe": 64, "alpha": ALPHA, "beta": BETA, "epsilon": "0.1"},
    "marginals": {"columns": 100, "alpha": ALPHA, "beta": BETA, "epsilon": 1, "delta": "1e-6"},
    "marginals-order": {"columns": 100, "alpha": ALPHA, "epsilon": 1, "delta": "1e-6"},
}
RISKS: dict[str, dict[str, Any]] = {
    "output": {"rows": 1000, "columns": 10, "penalty": "0.1", "epsilon": 1, "beta": BETA},
    "objective": {"rows": 1000, "columns": 10, "penalty": "0.1", "epsilon": 1, "beta": BETA},
    "noisy-descent": {"rows": 1000, "columns": 10, "epsilon": 1, "delta": "1e-6", "steps": 100},
    "exponential": {"rows": 1000, "columns": 10, "epsilon": 1},
    "kernel-features": {"rows": 1000, "features": 10, "cost": 1, "epsilon": 1, "beta": BETA},
    "kernel-order": {"rows": 1000, "columns": 10},
    "incremental-order": {"columns": 10, "steps": 100},
}
#: Which way a number must move when an option is doubled.
RISES = {"count", "vc", "universe", "columns", "largest", "features", "cost", "lipschitz"}
FALLS = {"alpha", "beta", "epsilon", "delta", "rows", "penalty"}


@pytest.mark.parametrize("name", LEARNERS)
def test_sizes_move_the_right_way(name: str) -> None:
    moves(sample_complexity, name, SIZES[name])


@pytest.mark.parametrize("name", METHODS)
def test_risks_move_the_right_way(name: str) -> None:
    moves(risk_bound, name, RISKS[name])


def moves(ask: Any, name: str, options: dict[str, Any]) -> None:
    figure = ask(name, **options)
    assert figure.value > 0
    assert figure.formula
    assert figure.assumes
    assert figure.source
    assert str(figure).startswith("grows like" if figure.is_order else "is")
    for option, value in options.items():
        more = Fraction(value) * 2 if not isinstance(value, int) else value * 2
        if option in RISES | FALLS:
            other = ask(name, **{**options, option: more}).value
            assert (other >= figure.value) if option in RISES else (other <= figure.value), option
    with pytest.raises(InvalidParameter, match="not allowed"):
        ask(name, **options, colour=1)
    missing = next(iter(options))
    with pytest.raises(InvalidParameter, match="is required for"):
        ask(name, **{option: value for option, value in options.items() if option != missing})


def test_unknown_names_and_odd_numbers_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="learner"):
        sample_complexity("everything")
    with pytest.raises(NoGuarantee, match="deep"):
        risk_bound("deep")
    for bad in ({"alpha": 0}, {"alpha": 1}, {"beta": -1}, {"count": 0}, {"epsilon": 0}, {"unit": "row"}):
        with pytest.raises(InvalidParameter):
            sample_complexity("finite-class", **{**SIZES["finite-class"], **bad})
    with pytest.raises(NoGuarantee, match="penalty"):
        risk_bound("objective", **{**RISKS["objective"], "penalty": "0.0001", "epsilon": "0.1"})


# A finite class, exactly


def failure(learner: PrivateLearner, truth: int, share: float, rows: int, alpha: float, *, noise: float = 0.0) -> float:
    """Return the exact probability, over rows and choice, that a concept more than alpha worse than the best is chosen.

    Rows lie at point 0 with probability ``share`` and at point 1 otherwise; labels are flipped with probability
    ``noise``, so that errors are sums of binomial counts.
    """
    predictions = learner.concepts.predictions
    differs = np.abs(predictions - predictions[truth])
    risk = noise + (1 - 2 * noise) * (differs @ np.array([share, 1 - share]))
    is_bad = risk > risk.min() + alpha + 1e-12
    total = 0.0
    for at_zero in range(rows + 1):
        mass = math.comb(rows, at_zero) * share**at_zero * (1 - share) ** (rows - at_zero)
        errors = differs @ np.array([at_zero, rows - at_zero])
        weights = np.exp(-(errors - errors.min()) / float(learner.scale))
        total += mass * float(weights[is_bad].sum() / weights.sum())
    return total


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
def test_rows_for_a_finite_class_are_enough_exactly(epsilon: str, unit: Any) -> None:
    concepts = Concepts.intervals(2)
    learner = PrivateLearner.calibrated(PureDP(epsilon), concepts=concepts, unit=unit)
    options = {"count": concepts.count, "alpha": 0.3, "beta": 0.2, "epsilon": epsilon, "unit": unit}
    rows = int(sample_complexity("finite-class", **options).value)
    worst = [failure(learner, truth, share, rows, 0.3) for truth in range(4) for share in (0.31, 0.5, 0.69)]
    assert max(worst) <= 0.2
    few = [failure(learner, truth, share, max(1, rows // 40), 0.3) for truth in range(4) for share in (0.31, 0.5)]
    assert max(few) > 0.2  # not so many rows that the number says nothing


def missed(rows: int, share: float, threshold: int, rate: float) -> float:
    """Return P[Binomial + discrete Laplace < threshold], term by term."""
    q = math.exp(-rate)
    total = 0.0
    for count in range(rows + 1):
        behind = threshold - count
        below = 1 - q**behind / (1 + q) if behind > 0 else q ** (1 - behind) / (1 + q)
        total += math.comb(rows, count) * share**count * (1 - share) ** (rows - count) * below
    return total


def test_rows_for_a_point_are_the_fewest() -> None:
    for alpha, beta, epsilon in ((0.25, 0.1, "1"), (0.5, 0.01, "0.5")):
        selection = PointLearner.calibrated(ApproxDP(epsilon, "1e-4")).selection
        rows = int(sample_complexity("points", alpha=alpha, beta=beta, epsilon=epsilon, delta="1e-4").value)
        rate = float(1 / selection.scale)
        assert (
            missed(rows, alpha, selection.threshold, rate) <= beta < missed(rows - 1, alpha, selection.threshold, rate)
        )
        # A point of a larger share is missed less often.
        assert missed(rows, min(1.0, 1.5 * alpha), selection.threshold, rate) < beta


def test_rows_for_private_labels_are_the_fewest_that_the_bound_allows() -> None:
    rows = int(sample_complexity("labels", **SIZES["labels"]).value)

    def fits(n: int) -> bool:
        sampled = 8 * Fraction(most_labellings(1, 2 * n)) * Fraction(math.exp(-n * ALPHA / 16)) <= Fraction(BETA)
        return sampled and 2 / 0.01 * math.log(2 * most_labellings(1, n) / BETA) <= n * ALPHA / 2

    assert fits(rows)
    assert not fits(rows - 1)
    # The universe plays no part, unlike for private points.
    assert rows < sample_complexity("finite-class", count=10**9, alpha=ALPHA, beta=BETA, epsilon="0.01").value * 10


def test_the_corrected_tables_stand_in_the_order_of_the_texts() -> None:
    common = {"alpha": ALPHA, "beta": BETA, "epsilon": 1}
    universe, count = 2**20, 2**20 + 1
    labelled = sample_complexity("semi-supervised-labelled", vc=1, **common).value
    unlabelled = sample_complexity("semi-supervised-unlabelled", count=count, universe=universe, **common).value
    assert labelled < unlabelled  # the tables have it the other way round
    pure = sample_complexity("finite-class", count=count, **common).value
    halving = sample_complexity("descent", universe=universe, **common).value
    assert sample_complexity("non-private", count=count, alpha=ALPHA, beta=BETA).value < pure < halving
    # One choice grows with the logarithm of the domain, halving with about its square.
    twice = {"universe": 2**40}
    assert 1.5 < sample_complexity("finite-class", count=2**40, **common).value / pure < 2
    assert 2.5 < sample_complexity("descent", **twice, **common).value / halving < 5
    # Marginals need at least the order that cannot be beaten, and not much more.
    order = sample_complexity("marginals-order", **SIZES["marginals-order"]).value
    assert 1 < sample_complexity("marginals", **SIZES["marginals"]).value / order < 10


# Risks


@pytest.mark.parametrize("columns", [1, 2, 5, 40])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_the_length_of_gamma_noise_stays_below_its_reach(columns: int, beta: float) -> None:
    reach = _gamma_reach(columns, beta)
    # P[Gamma(d) > x] is P[Poisson(x) < d].
    tail = sum(math.exp(-reach + k * math.log(reach) - math.lgamma(k + 1)) for k in range(columns))
    assert tail <= beta * (1 + 1e-9)
    assert reach <= columns * math.log(columns / beta) + 1e-9 or columns == 1


def test_tilted_and_noisy_minimisers_stay_within_their_bounds() -> None:
    # A quadratic loss of curvature between 0 and 1 in every direction, and a penalty: all minimisers are known.
    draw = np.random.default_rng()
    for _ in range(50):
        rows, columns, penalty = 20, 3, 0.2
        points = draw.normal(size=(rows, columns))
        points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1)
        targets = draw.uniform(-1, 1, rows)
        square = points.T @ points / rows + penalty * np.eye(columns)
        linear = points.T @ targets / rows

        def risk(w: np.ndarray, square: np.ndarray = square, linear: np.ndarray = linear) -> float:
            return float(w @ square @ w / 2 - linear @ w)

        best = np.linalg.solve(square, linear)
        tilt = draw.normal(size=columns)
        tilted = np.linalg.solve(square, linear - tilt / rows)
        assert risk(tilted) - risk(best) <= tilt @ tilt / (rows**2 * penalty) + 1e-12
        assert risk(best + tilt) - risk(best) <= (penalty + 1) / 2 * (tilt @ tilt) + 1e-12


@pytest.mark.parametrize("columns", [1, 3])
def test_a_draw_over_a_ball_is_worse_by_its_dimension_at_most(columns: int) -> None:
    # The risk |w| over the unit ball: its mean under the density e^(-|w| / temperature) is a radial integral.
    options = {"rows": 100, "columns": columns, "epsilon": 1}
    bound = risk_bound("exponential", **options).value
    temperature = 2 / 100  # a record moves the sum by 2 at most, over 100 rows
    radius = np.linspace(0, 1, 200_001)
    weights = radius ** (columns - 1) * np.exp(-radius / temperature)
    mean = float((radius * weights).sum() / weights.sum())
    assert 0.9 * bound < mean <= bound * (1 + 1e-9)


@pytest.mark.statistical(false_alarm=1e-9)
def test_noisy_descent_is_no_worse_than_its_bound() -> None:
    # n = 200 descents of 30 steps on |w - 0.9| over [-1, 1]. Measured over 60 repetitions: the mean excess is 0.1043
    # with a deviation of 0.0010, the bound 0.188: 80 deviations away. It would catch a bound without its noise term.
    options = {"rows": 100, "columns": 1, "epsilon": 1, "delta": "1e-6", "steps": 30}
    bound = risk_bound("noisy-descent", **options).value
    draw = np.random.default_rng()
    sigma = math.sqrt(30 / (2 * float(zcdp_rho(Fraction(1), Fraction(1, 10**6))))) / 100
    stride = 1 / (math.sqrt(1 + sigma**2) * math.sqrt(30))
    at, total = np.zeros(200), np.zeros(200)
    for _ in range(30):
        total += at
        at = np.clip(at - stride * (np.sign(at - 0.9) + draw.normal(0, sigma, 200)), -1, 1)
    assert float(np.abs(total / 30 - 0.9).mean()) <= bound
