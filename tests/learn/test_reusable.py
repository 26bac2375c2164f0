"""A reusable holdout: what is returned where noise is nearly nothing, its price, its end, and the classic run."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from dither.errors import HandleMisuse, InvalidParameter
from dither.learn.selection.reusable import STEPS, ReusableHoldout, _held_steps, _steps
from dither.privacy import LARGEST, PureDP

LOUD = 10**6


def rows(count: int, ones: int) -> tuple[Any, Any]:
    labels = np.zeros(count, dtype=int)
    labels[:ones] = 1
    return np.arange(count, dtype=float)[:, None], labels


def ones(_: Any, y: Any) -> Any:
    return y


@pytest.mark.parametrize(
    ("here", "there", "shown", "left"), [(50, 52, 0.5, 3), (50, 45, 0.5, 3), (50, 90, 0.9, 2), (50, 10, 0.1, 2)]
)
def test_the_holdout_is_asked_only_where_it_differs(here: int, there: int, shown: float, left: int) -> None:
    holdout = ReusableHoldout(rows(100, here), rows(100, there), epsilon=LOUD, threshold="0.2", answers=3)
    assert holdout.ask(ones) == pytest.approx(shown, abs=0.001)
    assert holdout.left == left


def test_the_end_is_hard_and_the_price_is_what_was_stated() -> None:
    holdout = ReusableHoldout(rows(100, 0), rows(100, 100), epsilon=LOUD, threshold="0.2", answers=2)
    for left in (1, 0):
        assert holdout.ask(ones) == pytest.approx(1, abs=0.001)
        assert holdout.left == left
    with pytest.raises(HandleMisuse, match="used up"):
        holdout.ask(ones)
    assert holdout.budget.startswith("epsilon = 1e+06 of epsilon = 1e+06 spent")
    assert "0 of 2 answers left" in repr(holdout)


@pytest.mark.parametrize(("epsilon", "answers"), [(1, 1), (2, 7), ("1/2", 40)])
def test_all_answers_together_lose_the_stated_epsilon(epsilon: Any, answers: int) -> None:
    many = 10**6
    holdout = ReusableHoldout(rows(10, 5), rows(many, 5), epsilon=epsilon, threshold="0.3", answers=answers)
    assert holdout._test.distance is LARGEST
    total = PureDP(0).epsilon + holdout._test.loss(STEPS).epsilon + answers * holdout._noise.loss(STEPS).epsilon
    assert 0.999 * holdout.epsilon <= total <= holdout.epsilon


def test_one_row_moves_what_is_asked_by_at_most_the_steps_of_one_row() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        scores = generator.uniform(-0.5, 1.5, 20)
        scores[0] = generator.choice([np.nan, np.inf, -np.inf, 0.3])
        other = scores.copy()
        other[int(generator.integers(20))] = generator.choice([np.nan, -1e300, 1e300, 0.77])
        sums = []
        for values in (scores, other):
            sums.append(int(_steps(lambda x, y, values=values: values, rows(20, 3)).sum()))
        assert abs(sums[0] - sums[1]) <= STEPS


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ({"threshold": 0}, "threshold"),
        ({"threshold": 2}, "threshold"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"answers": 0}, "answers"),
        ({"epsilon": "0.1"}, "take more rows or epsilon"),
        ({"train": np.zeros(3)}, "a pair"),
        ({"holdout": (np.zeros((3, 1)), np.zeros(2))}, "a target for each"),
        ({"holdout": (np.zeros((0, 1)), np.zeros(0))}, "a target for each"),
    ],
)
def test_what_no_holdout_can_keep_is_refused(words: dict[str, Any], rule: str) -> None:
    known: dict[str, Any] = {"epsilon": 10, "threshold": "0.2", "answers": 3}
    parts = {"train": rows(1000, 5), "holdout": rows(1000, 5)}
    given = {**known, **{name: value for name, value in words.items() if name in known}}
    parts.update({name: value for name, value in words.items() if name in parts})
    with pytest.raises(InvalidParameter, match=rule):
        ReusableHoldout(parts["train"], parts["holdout"], **given)


def test_scores_of_another_length_are_refused_before_anything_is_asked() -> None:
    holdout = ReusableHoldout(rows(1000, 5), rows(1000, 5), epsilon=10, threshold="0.2", answers=3)
    with pytest.raises(InvalidParameter, match="one number for each of 1000 rows"):
        holdout.ask(lambda x, y: [1.0])
    assert holdout.left == 3


def strict(rows: Any, _: Any) -> Any:
    """Fails on a whole batch where one row of it is unknown, and names it."""
    for name in rows[:, 0]:
        if name not in ("flu", "cold"):
            raise ValueError(f"Found unknown categories ['{name}']")
    return rows[:, 0] == "flu"


def named(*names: str) -> tuple[Any, Any]:
    return np.array(names, dtype=object)[:, None], np.zeros(len(names), dtype=int)


def test_a_row_that_fails_is_wrong_and_the_others_keep_their_scores() -> None:
    names = ["flu", "cold", "flu", "leprosy", "flu", "flu", "plague"]
    assert _held_steps(strict, named(*names)).tolist() == [STEPS * (name == "flu") for name in names]


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError, UserWarning])
def test_nothing_that_happens_on_the_holdout_is_shown_and_the_question_is_charged(error: type[BaseException]) -> None:
    def scores(_: Any, y: Any) -> Any:
        if 7 in y:
            if error is UserWarning:
                warnings.warn("a seven", stacklevel=1)
            else:
                raise error("a seven")
        return y > 0

    there = rows(100, 95)
    there[1][3] = 7
    holdout = ReusableHoldout(rows(100, 0), there, epsilon=LOUD, threshold="0.2", answers=2)
    expected = 0.95 if error is UserWarning else 0.94
    assert holdout.ask(scores) == pytest.approx(expected, abs=0.001)
    assert holdout.left == 1


def test_a_shape_that_depends_on_rows_of_the_holdout_is_not_shown() -> None:
    there = rows(100, 100)
    there[1][3] = 7
    holdout = ReusableHoldout(rows(100, 0), there, epsilon=LOUD, threshold="0.2", answers=2)
    assert holdout.ask(lambda x, y: y[y < 7]) == pytest.approx(0.99, abs=0.001)


def test_errors_on_training_rows_are_raised() -> None:
    holdout = ReusableHoldout(named("flu", "leprosy"), named("flu", "cold"), epsilon=LOUD, threshold="0.2", answers=2)
    with pytest.raises(ValueError, match="leprosy"):
        holdout.ask(strict)
    assert holdout.left == 2


def test_one_target_of_a_list_changes_no_other() -> None:
    plain = [1] * 100
    for other in (1, "seven", None, [2, 3], 2**70):
        there = (np.zeros((100, 1)), [other, *plain[1:]])
        holdout = ReusableHoldout(rows(100, 0), there, epsilon=LOUD, threshold="0.2", answers=2)
        # An array of a list with a text would hold the texts "1".
        assert holdout.ask(lambda x, y: y == 1) == pytest.approx(1 - 0.01 * (other != 1), abs=0.001)


def test_rows_of_every_kind_are_cut() -> None:
    pandas = pytest.importorskip("pandas", reason="frames need the extra 'frames'")
    names = ["flu", "leprosy", "cold", "flu"]
    array, targets = named(*names)
    frame = pandas.DataFrame(array, index=[9, 3, 1, 0])
    for features in (array, frame, names, tuple(names)):
        found = _held_steps(lambda x, y: strict(np.array(x, dtype=object).reshape(-1, 1), y), (features, targets))
        assert (found / STEPS).tolist() == [1, 0, 0, 1]


class Majority:
    """Predicts by the signs of chosen columns."""

    def __init__(self, columns: Any, signs: Any) -> None:
        self.columns, self.signs = columns, signs

    def predict(self, rows: Any) -> Any:
        return (rows[:, self.columns] @ self.signs > 0).astype(int)


def test_a_classifier_chosen_by_the_holdout_is_not_believed() -> None:
    # The classic run, small, on fixed data: noise changes the outcome with a chance below 1e-9. Labels have no signal;
    # the columns whose signs agree on training rows and holdout are taken.
    generator = np.random.default_rng(11)
    count, columns = 4000, 400
    sets = [(generator.choice([-1.0, 1.0], (count, columns)), generator.integers(0, 2, count)) for _ in range(3)]
    train, holdout, fresh = sets

    def share(rows: Any, column: int) -> float:
        return float(((rows[0][:, column] > 0) == rows[1]).mean())

    both = np.array([[share(train, column), share(holdout, column)] for column in range(columns)]) - 0.5
    kept = np.flatnonzero((both[:, 0] * both[:, 1] > 0) & (np.abs(both).min(axis=1) > 0.004))
    chosen = Majority(kept, np.sign(both[kept, 0]))
    naive = float((chosen.predict(holdout[0]) == holdout[1]).mean())
    assert naive >= 0.55  # what reusing the holdout itself would report
    guarded = ReusableHoldout(train, holdout, epsilon=8, threshold="0.04", answers=10)
    signs = [guarded.ask(lambda x, y, column=column: (x[:, column] > 0) == y) - 0.5 for column in range(columns)]
    agreeing = np.flatnonzero(np.abs(signs) > 0.015)
    honest = Majority(agreeing, np.sign(np.array(signs)[agreeing]))
    reported = guarded(honest)
    truth = float((honest.predict(fresh[0]) == fresh[1]).mean())
    assert abs(reported - truth) < 0.04
    assert abs(truth - 0.5) < 0.03
