"""What all fits lose together: copies in searches charge one budget, and without one each release says the sum."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

import dither.learn as learn
from dither.data import Column, Kind
from dither.errors import BudgetExceeded, HandleMisuse, IncompatibleDistance, InvalidParameter
from dither.learn.base import PrivateEstimator
from dither.learn.lifting import trusted_estimator
from dither.learn.spending import Tally
from dither.mechanisms import Budget
from dither.privacy import ROW, ROW_REPLACED, Loss, PureDP
from dither.publish.synthetic import Synthesizer

X = np.repeat([[0.0], [1.0]], 30, axis=0)
Y = np.repeat([0, 1], 30)


def bayes(**more: Any) -> Any:
    return learn.GaussianNB(**{"epsilon": 1, "bounds": (0, 1), "classes": [0, 1], **more})


def test_cross_validation_spends_once_for_each_fold_and_is_refused_when_nothing_is_left() -> None:
    budget = Budget(epsilon=7, unit=ROW)
    cross_val_score(bayes(budget=budget), X, Y, cv=5)
    assert budget.spent.pure == 5
    with pytest.raises(BudgetExceeded):
        cross_val_score(bayes(budget=budget), X, Y, cv=5, error_score="raise")
    assert budget.spent.pure == 7


def test_a_search_of_scikit_learn_is_charged_for_every_candidate_every_fold_and_the_last_fit() -> None:
    budget = Budget(epsilon=100, unit=ROW)
    search = GridSearchCV(bayes(budget=budget), {"bounds": [(0, 1), (-1, 2)]}, cv=3).fit(X, Y)
    assert budget.spent.pure == 2 * 3 + 1
    assert search.best_estimator_.budget is budget


def test_without_a_budget_each_release_says_what_all_of_them_lose_together() -> None:
    one = bayes()
    assert one.fit(X, Y).privacy_.receipt == "unledgered"
    fitted = cross_validate(one, X, Y, cv=3, return_estimator=True)["estimator"]
    assert "fit 4 of this estimator and its copies" in fitted[-1].privacy_.receipt
    assert "lose epsilon = 4 together" in str(fitted[-1].privacy_)
    assert clone(fitted[0]).fit(X, Y).privacy_.receipt.startswith("unledgered; fit 5 ")
    assert bayes().fit(X, Y).privacy_.receipt == "unledgered"
    near = bayes(epsilon=None, loss=None, rho=1)
    near.fit(X, Y)
    assert "lose rho = 2 together" in near.fit(X, Y).privacy_.receipt


def test_a_budget_is_one_however_its_holder_is_copied_and_stays_in_its_process() -> None:
    budget = Budget(epsilon=1, unit=ROW)
    assert copy.copy(budget) is copy.deepcopy(budget) is budget
    held = bayes(budget=budget)
    assert clone(held).budget is copy.deepcopy(held).budget is budget
    for sent in (budget, held):
        with pytest.raises(HandleMisuse, match="belongs to the process"):
            pickle.dumps(sent)
    assert repr(budget) == "<Budget: epsilon = 0 of epsilon = 1 spent, for rows added or removed>"
    copied = pickle.loads(pickle.dumps(bayes().fit(X, Y)))  # noqa: S301
    assert copied.predict(X).shape == Y.shape


def test_what_fit_is_given_comes_before_what_the_estimator_has() -> None:
    mine, other = Budget(epsilon=5, unit=ROW), Budget(epsilon=5, unit=ROW)
    bayes(budget=mine).fit(X, Y, budget=other)
    assert (mine.spent.pure, other.spent.pure) == (0, 1)
    with pytest.raises(InvalidParameter, match="budget must be a Budget"):
        bayes(budget=5).fit(X, Y)
    with pytest.raises(IncompatibleDistance):
        bayes(budget=Budget(epsilon=5, unit=ROW_REPLACED)).fit(X, Y)
    with pytest.raises(InvalidParameter, match="budget is not allowed: a session charges the ledger"):
        trusted_estimator(bayes(budget=mine))


@pytest.mark.parametrize("name", sorted(n for n in learn.ESTIMATORS if issubclass(getattr(learn, n), PrivateEstimator)))
def test_every_private_estimator_takes_a_budget(name: str) -> None:
    assert "budget" in getattr(learn, name)().get_params(deep=False)


def test_a_stream_is_charged_once_to_its_budget() -> None:
    budget = Budget(
        loss=PureDP(2),
        unit=learn.IncrementalLinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1)).mechanism(1).distance,
    )
    model = learn.IncrementalLinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1), budget=budget)
    model.partial_fit(X, Y).partial_fit(X, Y)
    assert budget.spent <= PureDP(1)
    assert model.privacy_.receipt == "unledgered"
    model.fit(X, Y)
    assert budget.spent.pure > 1


def test_a_synthesizer_is_charged_before_it_draws() -> None:
    budget = Budget(epsilon=1, unit=ROW)
    made = Synthesizer([Column("sex", Kind.TEXT, categories=("f", "m"))], epsilon=1)
    rows = [{"sex": "f"}] * 9
    assert made.fit(rows, budget=budget).loss == budget.spent
    with pytest.raises(BudgetExceeded):
        made.fit(rows, budget=budget)
    with pytest.raises(IncompatibleDistance):
        made.fit(rows, budget=Budget(epsilon=1, unit=ROW_REPLACED))
    assert len(made.fit(rows).sample(3)) == 3


def test_a_fit_in_the_midst_of_counting_one_is_counted_too() -> None:
    """As in a signal handler: it neither waits for what it interrupted nor is forgotten."""
    count = Tally._count
    inner: list[None] = []

    class Interrupted(Tally):
        def _count(self, loss: Loss) -> None:
            if not inner:
                inner.append(None)
                self.add(PureDP(2))
            count(self, loss)

    tally = Interrupted()
    tally.add(PureDP(1))
    assert "fit 2 of this" in tally.receipt()
    assert "lose epsilon = 3 together" in tally.receipt()


def test_scikit_learn_in_several_processes_raises_the_refusal_itself() -> None:
    """It broke the pool: a refusal could be pickled, and not unpickled."""
    refused = []
    for jobs in (1, 2):
        with pytest.raises(InvalidParameter) as found:
            cross_val_score(bayes(unit="household"), X, Y, cv=2, n_jobs=jobs, error_score="raise")
        refused.append(found.value)
    alone, apart = refused
    assert (str(apart), vars(apart)) == (str(alone), vars(alone))


def test_scikit_learn_shows_a_refusal_that_it_turns_into_a_score(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(ValueError, match=r"All the 2 fits failed(.|\n)*InvalidParameter: unit must be"):
        cross_val_score(bayes(unit="household"), X, Y, cv=2, n_jobs=2)


def test_a_budget_is_refused_to_other_processes_before_a_fit() -> None:
    budget = Budget(epsilon=7, unit=ROW)
    with pytest.raises(Exception, match=r"belongs to the process|pickle"):
        cross_val_score(bayes(budget=budget), X, Y, cv=2, n_jobs=2, error_score="raise")
    assert budget.spent.pure == 0
