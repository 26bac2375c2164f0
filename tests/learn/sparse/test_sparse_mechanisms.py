"""Learners of sparse models: whole numbers against slow twins, one row's reach against its bound."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.linear import GradientDescent, MomentRegression
from dither.learn.linear.gradients import PULL
from dither.learn.models import Model
from dither.learn.rows import STEPS, Box
from dither.learn.sparse import EntropyDescent, FrankWolfe, SelectedColumns, SparseModel, SupportSelection
from dither.learn.sparse import support as support_module
from dither.learn.sparse.choose import SOLVERS, learner
from dither.learn.sparse.l1_ball import REACH
from dither.learn.sparse.support import forward_selection
from dither.mechanisms import PublicArray, perform
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import record, replay

TARGETS: list[Loss] = [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")]
AMPLE = ZCDP(10**9)


def waves(rows: int, columns: int) -> np.ndarray:
    """Numbers within [-1, 1] in no visible order, the same in every run."""
    return np.sin(np.arange(1, rows * columns + 1) ** 1.5 * 1.7).reshape(rows, columns)


def first_scores(walk: Any, rows: np.ndarray) -> list[int]:
    """What the first choice was given, for the plus side of each column and the constant."""
    _, tape, _ = record(walk, rows)
    scores = tape.events[0].value
    return [int(score) for score in scores[: len(scores) // 2]]


@pytest.mark.parametrize("kind", [FrankWolfe, EntropyDescent])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_first_gradient_is_that_of_python_integers_and_a_row_moves_it_by_its_own(kind: Any, loss: str) -> None:
    rows = np.column_stack([3 * waves(12, 2), np.arange(12) % 2])
    walk = kind.calibrated(AMPLE, lower=[-1, -2], upper=[1, 2], loss_name=loss, steps=1)
    everything = first_scores(walk, rows)
    total = [0, 0, 0]
    for gone, row in enumerate(rows.tolist()):
        steps = [round(max(-1.0, min(1.0, row[0])) * STEPS), round(max(-1.0, min(1.0, row[1] / 2)) * STEPS), STEPS]
        # At weight zero: target 0 or 1 lies half a range from the middle; a chance of about one half from its label.
        pull = -(1 if row[2] else -1) * (PULL if loss == "squared" else PULL / 2)
        own = [
            mine - theirs for mine, theirs in zip(everything, first_scores(walk, np.delete(rows, gone, 0)), strict=True)
        ]
        assert all(abs(moved) <= REACH for moved in own)
        assert all(abs(moved + pull * step) <= 0.005 * REACH for moved, step in zip(own, steps, strict=True))
        total = [before + moved for before, moved in zip(total, own, strict=True)]
    assert total == everything


def test_a_row_at_the_corner_reaches_the_bound() -> None:
    walk = FrankWolfe.calibrated(AMPLE, lower=[0], upper=[10], loss_name="squared", steps=1, target_upper=4)
    assert first_scores(walk, np.array([[99.0, 99.0]])) == [REACH, REACH]
    assert first_scores(walk, np.array([[99.0, -99.0]])) == [-REACH, -REACH]


@pytest.mark.parametrize("kind", [FrankWolfe, EntropyDescent])
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_a_calibrated_walk_loses_no_more_than_its_target_and_hardly_less(kind: Any, target: Loss, unit: Any) -> None:
    box: dict[str, Any] = {"lower": [0] * 7, "upper": [1] * 7, "loss_name": "logistic", "unit": unit}
    votes = SupportSelection.calibrated(target, kept=3, **box)
    for one in (kind.calibrated(target, **box), kind.calibrated(target, steps=5, **box), votes):
        assert one.loss(1) <= target
        if isinstance(target, PureDP):
            assert one.loss(1).pure == target.epsilon
        elif isinstance(target, ZCDP):
            assert one.loss(1).rho > target.rho * Fraction(999, 1000)


def test_the_price_of_later_steps_of_entropy_descent_grows() -> None:
    """One gradient after the other is added up: the epsilons are 1, 2, 3, ... times that of the first step."""
    one, many = (
        EntropyDescent(lower=[0], upper=[1], loss_name="squared", radius=1, steps=n, scale=2**40) for n in (1, 5)
    )
    assert many.loss(1).pure == 15 * one.loss(1).pure
    assert many.loss(1).rho == 55 * one.loss(1).rho


def test_scores_that_move_farther_than_said_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins that must be refused: a gradient four times as long, and a sum of gradients priced as one."""
    rows, box = np.array([[1.0, 1.0], [1.0, 1.0]]), {"lower": [-1], "upper": [1], "loss_name": "squared", "steps": 3}
    box["radius"] = "1/4096"  # so small that every gradient is that of the first step, whatever was chosen
    walk, sums = FrankWolfe.calibrated(PureDP(1), **box), EntropyDescent.calibrated(PureDP(1), **box)
    assert replay(walk, rows, rows[:1]) == []
    assert replay(sums, rows, rows[:1]) == []
    monkeypatch.setattr(FrankWolfe, "_scored", lambda self, gradient, earlier: -4 * gradient)
    assert replay(walk, rows, rows[:1]) != []
    monkeypatch.setattr(FrankWolfe, "_scored", lambda self, gradient, earlier: earlier - gradient)
    assert replay(walk, rows, rows[:1]) != []


def test_distinct_columns_are_taken_once_and_the_first_weighs_most() -> None:
    values = waves(200, 5)
    rows = np.column_stack([values, 0.5 * values[:, 3] - 0.2 * values[:, 0]])
    public: dict[str, Any] = {"lower": [-1] * 5, "upper": [1] * 5, "target_lower": -1, "loss_name": "squared"}
    model = perform(FrankWolfe.calibrated(AMPLE, steps=3, distinct=True, **public), rows)
    weights = np.abs(np.append(model.coefficients[0], model.constants[0]))
    assert sorted(weights[weights > 0].tolist(), reverse=True) == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert weights.argmax() == 3
    assert weights[0] > 0
    # More steps than columns: what is left over is chosen by chance, and nothing raises.
    assert np.isfinite(perform(FrankWolfe.calibrated(AMPLE, steps=9, distinct=True, **public), rows).coefficients).all()


def test_a_clipped_residual_pulls_no_more_and_a_smaller_one_pulls_more() -> None:
    public: dict[str, Any] = {"lower": [-1], "upper": [1], "target_lower": -1, "loss_name": "squared", "steps": 1}
    for clip, target, pull in ((1, 0.25, 0.25), ("1/4", 0.25, 1.0), ("1/4", 0.125, 0.5), ("1/4", 1.0, 1.0)):
        walk = FrankWolfe.calibrated(AMPLE, clip=clip, **public)
        assert first_scores(walk, np.array([[1.0, target]])) == [pull * REACH, pull * REACH]
    for bad in ({"clip": 2}, {"clip": "1/1000"}, {"loss_name": "logistic", "target_lower": 0, "clip": "1/2"}):
        with pytest.raises(InvalidParameter, match="clip"):
            FrankWolfe.calibrated(AMPLE, **(public | bad))


def plain_frank_wolfe(values: np.ndarray, targets: np.ndarray, radius: float, steps: int) -> np.ndarray:
    """Textbook Frank-Wolfe on half the mean of squares, with a constant column, in floats."""
    given = np.column_stack([values, np.ones(len(values))])
    weights = np.zeros(given.shape[1])
    for step in range(steps):
        gradient = given.T @ (given @ weights - targets)
        place = int(np.abs(gradient).argmax())
        vertex = np.zeros_like(weights)
        vertex[place] = -radius * np.sign(gradient[place])
        weights = weights + 2 / (step + 2) * (vertex - weights)
    return weights


def test_with_an_ample_budget_it_is_frank_wolfe() -> None:
    values = waves(300, 6)
    targets = values @ np.array([0.5, -0.3, 0.0, 0.1, 0.0, 0.0])
    walk = FrankWolfe.calibrated(
        AMPLE, lower=[-1] * 6, upper=[1] * 6, loss_name="squared", steps=7, target_lower=-2, target_upper=2
    )
    model = perform(walk, np.column_stack([values, targets]))
    # The ball is one of half ranges of the target, which are 2.
    expected = 2 * plain_frank_wolfe(values, targets / 2, 1.0, 7)
    assert model.coefficients[0] == pytest.approx(expected[:-1], abs=1e-9)
    assert model.constants[0] == pytest.approx(expected[-1], abs=1e-9)


@pytest.mark.parametrize("kind", [FrankWolfe, EntropyDescent])
def test_many_steps_come_near_the_best_weights_and_stay_in_the_ball(kind: Any) -> None:
    values = waves(400, 5)
    targets = values @ np.array([0.6, -0.4, 0.0, 0.0, 0.0])
    public: dict[str, Any] = {"lower": [-1] * 5, "upper": [1] * 5, "target_lower": -1, "target_upper": 1}
    for budget, steps, radius in ((AMPLE, 400, 1), (ZCDP("1/100"), 9, "1/2")):
        walk = kind.calibrated(budget, loss_name="squared", steps=steps, radius=radius, **public)
        model = perform(walk, np.column_stack([values, targets]))
        weights = np.append(model.coefficients[0], model.constants[0])
        assert np.abs(weights).sum() <= float(Fraction(radius)) * (1 + 1e-12)
        if budget is AMPLE:  # Measured over 30 runs: off by at most 0.010, with a deviation of 0.0023.
            assert weights == pytest.approx([0.6, -0.4, 0, 0, 0, 0], abs=0.03)


def slow_selection(values: np.ndarray, targets: np.ndarray, kept: int) -> list[int]:
    """Forward selection by refitting every candidate, with a constant."""
    chosen: list[int] = []
    for _ in range(kept):
        left = {}
        for place in set(range(values.shape[1])) - set(chosen):
            given = np.column_stack([values[:, [*chosen, place]], np.ones(len(values))])
            found = np.linalg.lstsq(given, targets, rcond=None)[0]
            left[place] = float(((targets - given @ found) ** 2).sum())
        chosen.append(min(left, key=left.__getitem__))
    return chosen


@pytest.mark.parametrize("rows", [9, 30])
def test_forward_selection_is_that_of_refitting_everything(rows: int) -> None:
    values = np.rint(STEPS * waves(rows, 7))
    targets = np.rint(np.clip(0.3 * values[:, 4] - 0.2 * values[:, 1] + 700 * waves(rows, 1)[:, 0], -PULL, PULL))
    given = np.column_stack([values, np.full(rows, float(STEPS))])
    found = forward_selection(given, targets, 4)
    assert found.tolist() == slow_selection(values, targets, 4)
    order = np.argsort(waves(rows, 1)[:, 0])
    assert forward_selection(given[order], targets[order], 4).tolist() == found.tolist()


def test_forward_selection_of_nothing_and_of_equal_columns_names_no_column_twice() -> None:
    assert forward_selection(np.zeros((0, 4)), np.zeros(0), 2).size == 0
    same = np.column_stack([np.rint(STEPS * waves(20, 1)[:, [0, 0, 0]]), np.full(20, float(STEPS))])
    assert forward_selection(same, same[:, 0], 3).tolist() == [0]
    assert forward_selection(np.full((5, 3), float(STEPS)), np.ones(5), 2).size == 0


def voters(votes: str, **more: Any) -> SupportSelection:
    public: dict[str, Any] = {"lower": [-1] * 4, "upper": [1] * 4, "loss_name": "squared", "target_lower": -1}
    return SupportSelection(**public, votes=votes, blocks=8, kept=2, **more)


def test_blocks_that_agree_are_followed_and_others_are_not() -> None:
    values = waves(240, 4)
    rows = np.column_stack([values, (values[:, 3] - values[:, 1]) / 2])
    # Chances of another answer: below e^-80 where 8 votes meet 0, or where a lead of 8 meets a threshold of 3.
    sharp = voters("columns", scale="1/40")
    assert set(perform(sharp, rows)) == {1, 3}
    whole = voters("whole", scale="1/40", threshold=3)
    assert perform(whole, rows) == (1, 3)
    assert perform(whole, rows[:0]) == (-1, -1)
    assert perform(voters("whole", scale="1/40", threshold=3, overlap=3), rows) == (1, 3)


def test_a_division_by_position_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that must be refused: one row less moves all rows behind it into other blocks."""
    rows = np.column_stack([waves(60, 4), waves(60, 1)[:, 0]])
    for one in (voters("columns", scale=2), voters("whole", scale=2, threshold=9)):
        for gone in range(0, 60, 12):
            assert replay(one, rows, np.delete(rows, gone, axis=0)) == []
    monkeypatch.setattr(support_module, "tree_of", lambda records, blocks, key: np.arange(len(records)) % blocks)
    assert any(replay(voters("columns", scale=2), rows, np.delete(rows, gone, axis=0)) for gone in range(0, 60, 12))


def test_a_row_in_several_blocks_is_charged_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that must be refused: the price of one block, where a row changes the votes of both."""
    rows = np.column_stack([waves(2, 4), waves(2, 1)[:, 0]])
    public: dict[str, Any] = {
        "lower": [-1] * 4,
        "upper": [1] * 4,
        "loss_name": "squared",
        "target_lower": -1,
        "kept": 1,
    }
    both = SupportSelection(**public, votes="columns", blocks=2, overlap=16, scale=2)
    assert both.loss(1) == SupportSelection(**public, votes="columns", blocks=2, scale=2).loss(16)
    assert replay(both, rows, rows[:1]) == []
    monkeypatch.setattr(SupportSelection, "stability", 1)
    assert replay(SupportSelection(**public, votes="columns", blocks=2, overlap=16, scale=2), rows, rows[:1])


@pytest.mark.parametrize("votes", ["columns", "whole"])
def test_calibrated_overlaps_keep_their_target(votes: str) -> None:
    public: dict[str, Any] = {"lower": [-1] * 4, "upper": [1] * 4, "loss_name": "squared", "kept": 2}
    for unit in (ROW, ROW_REPLACED):
        one = SupportSelection.calibrated(ApproxDP(1, "1e-6"), votes=votes, overlap=5, unit=unit, **public)
        assert one.loss(1) <= ApproxDP(1, "1e-6")


def test_a_selected_fit_finds_the_columns_and_their_weights() -> None:
    values = waves(600, 8)
    targets = 0.75 * values[:, 6] - 0.5 * values[:, 2] + 0.25
    public: dict[str, Any] = {"lower": [-1] * 8, "upper": [1] * 8, "target_lower": -2, "target_upper": 2}
    both = learner(AMPLE, solver="auto", loss_name="squared", unit=ROW, n_nonzero_coefs=2, **public)
    model = perform(both, np.column_stack([values, targets]))
    assert sorted(model.chosen.values.tolist()) == [2, 6]
    assert model.coefficients[0] == pytest.approx([0, 0, -0.5, 0, 0, 0, 0.75, 0], abs=0.02)
    assert model.constants[0] == pytest.approx(0.25, abs=0.02)
    assert model.scores(values)[:, 0] == pytest.approx(targets, abs=0.05)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_rows_and_odd_rows_are_learned_from(solver: str) -> None:
    odd = np.array([[float("nan"), 1e308, 0.0], [float("inf"), -float("inf"), 0.0], [1.0, 1.0, float("nan")]])
    for rows in (np.zeros((0, 3)), odd, np.ones((5, 3))):
        for loss in ("squared", "logistic"):
            for budget in (ZCDP(1), PureDP(1)):
                one = learner(budget, solver=solver, lower=[0, 0], upper=[1, 1], loss_name=loss, unit=ROW)
                model = perform(one, rows)
                assert np.isfinite(model.coefficients).all()
                assert np.isfinite(model.scores(np.array([[0.5, float("nan")]]))).all()


def test_a_model_survives_json_and_bad_records_are_refused() -> None:
    box = Box(PublicArray(np.array([0.0, -4.0, 2.0])), PublicArray(np.array([1.0, 4.0, 8.0])))
    model = SparseModel.plain(box, np.array([0.0, 2.0, -1.0]), 0.5)
    rows = np.array([[9.0, 2.0, 5.0], [0.0, -8.0, float("nan")]])
    # Clipped, centred at 0 or the middle, scaled: 2 * 0.5 - 0 + 0.5, and 2 * -1 - 0 + 0.5.
    assert model.scores(rows)[:, 0] == pytest.approx([1.5, -1.5])
    assert model.coefficients[0] @ rows[0] + model.constants[0] == pytest.approx(1.5)
    record_of = model.to_dict()
    again = Model.from_dict(record_of)
    assert again == model
    assert SparseModel.plain(box, np.zeros(3), 0.5).scores(rows)[:, 0].tolist() == [0.5, 0.5]
    for chosen in ([3, 1], [-1, 1], [1, 1], [1]):
        with pytest.raises(InvalidParameter):
            Model.from_dict({**record_of, "chosen": {"array": chosen, "dtype": "<i8"}})


def test_parameters_that_do_not_fit_each_other_are_refused_by_name() -> None:
    box: dict[str, Any] = {"lower": [0, 0], "upper": [1, 1]}
    walk: dict[str, Any] = {**box, "loss_name": "squared", "radius": 1, "steps": 2, "scale": 1}
    for bad in ({"radius": 2**13}, {"target_upper": 0}):
        with pytest.raises(InvalidParameter, match=next(iter(bad))):
            FrankWolfe(**(walk | bad))
    with pytest.raises(InvalidParameter, match="target_upper"):
        FrankWolfe(**(walk | {"loss_name": "logistic", "target_upper": 2}))
    votes: dict[str, Any] = {**box, "loss_name": "squared", "votes": "columns", "kept": 1, "scale": 1}
    for bad in ({"kept": 3}, {"threshold": 4}):
        with pytest.raises(InvalidParameter, match=next(iter(bad))):
            SupportSelection(**(votes | bad))
    with pytest.raises(InvalidParameter, match="within"):
        SupportSelection.calibrated(PureDP(1), **box, loss_name="squared", votes="whole", kept=1)
    select = FrankWolfe(**walk)
    fit = MomentRegression.calibrated(ZCDP(1), lower=[-1], upper=[1], target_lower=0, target_upper=1)
    classify = GradientDescent.calibrated(ZCDP(1), lower=[-1], upper=[1], classes=2)
    for bad in ({"fit": classify}, {"kept": 2}):
        with pytest.raises(InvalidParameter, match=next(iter(bad)) if "kept" not in bad else "fit"):
            SelectedColumns(**({"select": select, "fit": fit, "kept": 1} | bad))


def test_options_of_another_solver_are_refused() -> None:
    box: dict[str, Any] = {"lower": [0], "upper": [1], "loss_name": "squared", "unit": ROW}
    for solver, bad in (
        ("frank-wolfe", "n_nonzero_coefs"),
        ("votes", "max_iter"),
        ("votes", "radius"),
        ("auto", "blocks"),
    ):
        with pytest.raises(InvalidParameter, match=bad):
            learner(ZCDP(1), solver=solver, **box, **{bad: 1})
    with pytest.raises(InvalidParameter, match="solver"):
        learner(ZCDP(1), solver="simplex", **box)


def test_the_gap_of_a_choice_grows_with_the_logarithm_of_the_columns() -> None:
    """What makes a thousand columns cheap: the stated gap of a choice, ten columns against ten thousand."""
    gaps = []
    for columns in (10, 10**4):
        walk = FrankWolfe.calibrated(ZCDP(1), lower=[0] * columns, upper=[1] * columns, loss_name="squared")
        gaps.append(walk.choice.error("0.95").value)
    assert gaps[1] / gaps[0] == pytest.approx(math.log(20002 / 0.05) / math.log(22 / 0.05), rel=1e-3)
