"""The functional mechanism: coefficients against slow sums, the true sensitivity, the solution without noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.cell_noise import deviation
from dither.learn.centred import CONSTANT, LENGTH, REST
from dither.learn.linear import FunctionalMechanism, MomentClassifier
from dither.learn.linear.functional import LINEAR_TIMES
from dither.learn.linear.moments import moment_entries
from dither.learn.noise_parts import spread_of
from dither.learn.rows import into_ball
from dither.mechanisms import perform
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP

TARGETS: list[Loss] = [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")]
AMPLE = PureDP(10**9)


class Kept:
    """A runner that gives back what it is handed, and remembers it."""

    def __init__(self) -> None:
        self.given: list[np.ndarray] = []

    def __call__(self, part: Any, value: np.ndarray, *, stability: Any) -> np.ndarray:
        self.given.append(value)
        return value


def learner(columns: int, **parameters: Any) -> FunctionalMechanism:
    return FunctionalMechanism.calibrated(PureDP(1), lower=[-1] * columns, upper=[1] * columns, **parameters)


def longest(columns: int) -> np.ndarray:
    """Records as long as can be: along one column, along all, and at random."""
    rows = np.vstack([np.eye(columns), np.ones((1, columns)), np.random.default_rng().normal(size=(20, columns))])
    short = into_ball(np.rint(rows * 2**20), 2**10, REST)
    return np.column_stack([short, np.full(len(short), float(CONSTANT))])


@pytest.mark.parametrize(
    "parameters", [{}, {"classes": 3}, {"objective": "squared"}], ids=["two classes", "three classes", "squared"]
)
@pytest.mark.parametrize("columns", [1, 2, 9])
def test_one_record_moves_the_coefficients_by_no_more_than_their_stability(
    parameters: dict[str, Any], columns: int
) -> None:
    mechanism = learner(columns, **parameters)
    kinds = mechanism.scores
    # The farthest targets that there are: half a length on either side, one class of many, either bound.
    far = LENGTH / 2 if kinds == 1 and mechanism.objective == "logistic" else LENGTH
    most = Fraction(0)
    for record in longest(columns):
        run = Kept()
        targets = np.zeros((1, kinds))
        targets[0, -1] = -far
        mechanism._coefficients(record[None, :], targets, run)  # type: ignore[arg-type]
        slow = [int(a) * int(b) for place, a in enumerate(record) for b in record[place:]]
        slow += [LINEAR_TIMES * int(target) * int(entry) for target in targets[0] for entry in record]
        assert run.given[0].tolist() == slow
        most = max(most, Fraction(sum(map(abs, slow))))
    assert most <= mechanism.stability
    assert most > mechanism.stability * Fraction(99, 100)


def far_apart(columns: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of records of length 1 whose products differ most: along the ends of a matrix of signs, and at random."""
    half = np.ones((columns, columns))
    half[columns // 2 :, columns // 2 :] = -1
    vectors = np.linalg.eigh(half)[1]
    yield vectors[:, 0], vectors[:, -1]
    yield np.eye(columns)[0], np.eye(columns)[-1]
    yield np.eye(columns)[0], np.zeros(columns)
    draw = np.random.default_rng()
    for _ in range(30):
        first, second = draw.normal(size=(2, columns))
        yield first / np.linalg.norm(first), second / np.linalg.norm(second)
        yield first / np.linalg.norm(first), -first / np.linalg.norm(first)


@pytest.mark.parametrize("columns", [1, 2, 8])
@pytest.mark.parametrize("objective", ["logistic", "squared"])
def test_a_replaced_record_moves_the_coefficients_by_no_more_than_their_stability(columns: int, objective: str) -> None:
    """The products alone reach their bound of sqrt((d^2 + 3 d) / 2); linear coefficients are farthest elsewhere."""
    mechanism, most = learner(columns, objective=objective, unit=ROW_REPLACED), 0.0
    far = LENGTH if objective == "squared" else LENGTH / 2
    for first, second in far_apart(columns):
        seen = []
        for record, target in ((first, far), (second, -far)):
            whole = into_ball(np.rint(record[None] * 2**20), 2**10, REST) if record.any() else np.zeros((1, columns))
            run = Kept()
            mechanism._coefficients(np.column_stack([whole, [[float(CONSTANT)]]]), np.array([[target]]), run)  # type: ignore[arg-type]
            seen.append(run.given[0])
        moved = sum(abs(int(a) - int(b)) for a, b in zip(*seen, strict=True))
        assert moved <= mechanism.stability
        most = max(most, float(moved / mechanism.stability))
    assert most > 0.6
    assert mechanism.stability < 2 * learner(columns, objective=objective).stability
    assert learner(columns, objective=objective).stability <= mechanism.stability  # a label may be none


def test_published_trimming_leaves_out_what_four_deviations_do_not_lift() -> None:
    mechanism = learner(1, trimming="published")
    noise = 2**0.5 * float(mechanism.part.scale) / LENGTH**2
    lifted = mechanism._minimiser(np.diag([-3 * noise, 5 * noise]), np.array([[2.0, 6.0]]), 0.0)
    assert lifted[0] == pytest.approx([2 / noise, 6 / (9 * noise)])
    left_out = mechanism._minimiser(np.diag([-5 * noise, 5 * noise]), np.array([[2.0, 6.0]]), 0.0)
    assert left_out[0] == pytest.approx([0, 6 / (9 * noise)])
    nothing = mechanism._minimiser(np.diag([-5 * noise, -5 * noise]), np.array([[2.0, 6.0]]), 0.0)
    assert (nothing == 0).all()
    with pytest.raises(InvalidParameter, match="trimming"):
        learner(1, trimming="none")


def test_sums_are_exact_and_independent_of_the_order() -> None:
    generator = np.random.default_rng()
    records = np.vstack([longest(3)] * 40)
    targets = np.rint(generator.uniform(-LENGTH, LENGTH, size=(len(records), 1)))
    first, second = Kept(), Kept()
    order = generator.permutation(len(records))
    mechanism = learner(3, objective="squared")
    mechanism._coefficients(records, targets, first)  # type: ignore[arg-type]
    mechanism._coefficients(records[order], targets[order], second)  # type: ignore[arg-type]
    assert first.given[0].tolist() == second.given[0].tolist()
    products = sum(int(row[0]) * int(row[1]) for row in records)
    assert first.given[0][1] == products


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_calibrated_learners_keep_their_target(target: Loss, unit: Any) -> None:
    for parameters in ({"classes": 2}, {"classes": 4}, {"objective": "squared", "target_upper": 9, "penalty": 2}):
        mechanism = FunctionalMechanism.calibrated(target, lower=[0, 1], upper=[2, 5], unit=unit, **parameters)
        assert mechanism.loss(1) <= target
        if isinstance(target, PureDP):
            assert mechanism.loss(1).pure > target.epsilon * Fraction(999, 1000)


def test_noise_is_less_than_that_of_moments_within_a_ball() -> None:
    """What the L1 bound is for: deviations at the same epsilon, of linear coefficients and of products."""
    for columns in (2, 30, 200):
        box: dict[str, Any] = {"lower": [0] * columns, "upper": [1] * columns, "classes": 2}
        ours, theirs = FunctionalMechanism.calibrated(PureDP(1), **box), MomentClassifier.calibrated(PureDP(1), **box)
        assert isinstance(theirs.part, GammaNorm)
        here, there = deviation(ours.part), spread_of(theirs.part, moment_entries(columns, 2))
        assert here / LINEAR_TIMES < 0.6 * there
        assert here < there or columns < 30


def test_without_noise_it_is_least_squares_and_with_a_penalty_ridge() -> None:
    generator = np.random.default_rng()
    x = generator.uniform(-0.3, 0.3, size=(500, 2))
    y = 1.5 * x[:, 0] - 0.7 * x[:, 1] + 0.2
    box: dict[str, Any] = {"lower": [-1, -1], "upper": [1, 1], "objective": "squared", "target_lower": -2}
    model = perform(FunctionalMechanism.calibrated(AMPLE, target_upper=2, **box), np.column_stack([x, y]))
    # Steps of 2^-12 of a column and noise of 10^-7: far below a hundredth.
    assert model.coefficients[0] == pytest.approx([1.5, -0.7], abs=0.01)
    assert model.constants[0] == pytest.approx(0.2, abs=0.01)
    ridge = perform(FunctionalMechanism.calibrated(AMPLE, target_upper=2, penalty=1000, **box), np.column_stack([x, y]))
    assert np.abs(ridge.coefficients[0]).max() < 0.5


@pytest.mark.parametrize("classes", [2, 3])
def test_with_a_large_budget_it_separates_what_is_separate(classes: int) -> None:
    centres = np.array([[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5]])[:classes]
    labels = np.repeat(np.arange(classes), 200)
    values = centres[labels] + np.random.default_rng().uniform(-0.1, 0.1, size=(len(labels), 2))
    mechanism = FunctionalMechanism.calibrated(AMPLE, lower=[-1, -1], upper=[1, 1], classes=classes)
    scores = perform(mechanism, np.column_stack([values, labels])).scores(values)
    assert ((scores.argmax(axis=1) if classes > 2 else scores[:, 0] > 0) == labels).all()


def test_negative_eigenvalues_count_as_none() -> None:
    mechanism = learner(1)
    raised = 2**0.5 * float(mechanism.part.scale) * 2**0.5 / LENGTH**2
    found = mechanism._minimiser(np.diag([-50.0, 3.0]), np.array([[2.0, 6.0]]), 0.0)
    assert found[0] == pytest.approx([2 / raised, 6 / (3 + raised)], rel=1e-6)


def test_no_rows_and_odd_rows_are_learned_from() -> None:
    nan, inf = float("nan"), float("inf")
    odd = np.array([[nan, 1e308, 0.0], [inf, -inf, 1.0], [1.0, 1.0, nan]])
    for parameters in ({}, {"objective": "squared"}):
        for rows in (np.zeros((0, 3)), odd):
            assert np.isfinite(perform(learner(2, **parameters), rows).weights.values).all()


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"objective": "squared", "classes": 3}, "classes"),
        ({"target_upper": 3}, "target_upper"),
        ({"target_lower": -3}, "target_lower"),
        ({"penalty": 1}, "penalty"),
        ({"objective": "squared", "target_upper": 0}, "upper"),
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        learner(2, **parameters)
    with pytest.raises(InvalidParameter, match="part"):
        FunctionalMechanism(
            lower=[0], upper=[1], objective="logistic", survey=GammaNorm(scale=1), part=Geometric(scale=1, shape=2)
        )
