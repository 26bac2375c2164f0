"""Estimators of linear models: logistic regression, support vector machines, linear and ridge regression."""

# scikit-learn calls the strength of a fit C.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any

from dither.learn.base import (
    AnyMechanism,
    ChanceClassifier,
    PrivateClassifier,
    PrivateRegressor,
    bounds_of,
    guarded,
)
from dither.learn.conventions import Iterated, in_words
from dither.learn.linear.choose import classifier, regression
from dither.learn.rows import Floats


class _LinearClassifier(Iterated, PrivateClassifier):
    """A classifier whose scores are linear."""

    bounds: Any
    solver: str
    max_iter: Any
    C: Any
    coef_: Floats
    intercept_: Floats

    @in_words(steps="max_iter")
    def _classifier(self, columns: int, loss_name: str) -> AnyMechanism:
        lower, upper = self.box(columns)
        return classifier(
            self._target(),
            solver=self.solver,
            lower=lower,
            upper=upper,
            classes=len(self.declared_classes()),
            max_iter=self.max_iter,
            C=self.C,
            unit=self._unit(),
            loss_name=loss_name,
        )

    def _publish(self) -> None:
        super()._publish()
        self.coef_, self.intercept_ = self.model_.coefficients, self.model_.constants


class LogisticRegression(_LinearClassifier, ChanceClassifier):
    """Logistic regression of two or more classes, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, Gaussian noise and smaller errors.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN means the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        classes: all labels that may occur; rows with another one are left out.
        solver: "auto"; "gradient" (noisy gradient descent), "minibatch" (the same on secret samples), "newton" (noisy
            Newton steps); "objective" (objective perturbation), "output" (output perturbation); "moments" (sufficient
            statistics of the loss's second-order expansion), "functional" (the same with Laplace noise on each
            coefficient); "grid" (a choice among models on a public grid, for two classes and up to nine columns);
            "gene" (a genetic search, for two classes and comparison).
        max_iter: steps of "gradient", "minibatch" and "newton"; by default a number that suits the kind of loss.
        C: of "objective" and "output", the inverse of the strength of the penalty, as in scikit-learn: C times the sum
            of the losses of the records, each shortened to length 1, plus half the squared length of the weights is
            minimised. By default what suits the loss; "objective" takes less where a small epsilon asks for it.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import LogisticRegression
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 500, axis=0)
    >>> y = np.repeat(["no", "yes"], 500)
    >>> model = LogisticRegression(epsilon=1, delta=1e-6, bounds=(0, 1), classes=["no", "yes"]).fit(X, y)
    >>> model.predict([[1.0, 0.0]]).tolist(), model.privacy_.numerics
    (['yes'], 'exact')

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        classes: Any = None,
        solver: str = "auto",
        max_iter: int | None = None,
        C: Any = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.solver, self.max_iter, self.C, self.unit = solver, max_iter, C, unit
        self.categories, self.budget = categories, budget

    @guarded
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        return self._classifier(columns, "logistic")


class LinearSVC(_LinearClassifier):
    """A linear support vector machine with a rounded hinge, one against the rest, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        classes: all labels that may occur; rows with another one are left out.
        solver: "auto"; "gradient" (noisy gradient descent), "minibatch" (the same on secret samples), "objective"
            (objective perturbation), "output" (output perturbation), "grid" (a choice among models on a public grid,
            for two classes and up to nine columns), "gene" (a genetic search, for two classes and comparison).
        max_iter: steps of "gradient" and "minibatch"; by default a number that suits the kind of loss.
        C: of "objective" and "output", the inverse of the strength of the penalty, as in scikit-learn: C times the sum
            of the losses of the records, each shortened to length 1, plus half the squared length of the weights is
            minimised. By default what suits the loss; and of "objective" less where a small epsilon asks for it.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import LinearSVC
    >>> X = np.repeat([[-1.0], [1.0]], 500, axis=0)
    >>> model = LinearSVC(rho=1, bounds=(-1, 1), classes=[0, 1]).fit(X, np.repeat([0, 1], 500))
    >>> model.predict([[0.9]]).tolist()
    [1]

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        classes: Any = None,
        solver: str = "auto",
        max_iter: int | None = None,
        C: Any = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.solver, self.max_iter, self.C, self.unit = solver, max_iter, C, unit
        self.categories, self.budget = categories, budget

    @guarded
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        return self._classifier(columns, "hinge")


class _LinearRegressor(PrivateRegressor):
    """A regression whose prediction is linear."""

    bounds: Any
    target_bounds: Any
    solver: str

    @in_words(penalty="alpha")
    def _regression(self, columns: int, penalty: Any) -> AnyMechanism:
        lower, upper = self.box(columns)
        low, high = bounds_of(self.target_bounds, 1, "target_bounds")
        return regression(
            self._target(),
            solver=self.solver,
            lower=lower,
            upper=upper,
            target_lower=float(low[0]),
            target_upper=float(high[0]),
            penalty=penalty,
            unit=self._unit(),
        )


class LinearRegression(_LinearRegressor):
    """Linear regression under differential privacy, penalised only as much as the noise requires.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        target_bounds: (lower, upper) of the target; targets beyond them are clipped.
        solver: "moments" (noisy moments), "functional" (the same with Laplace noise on each coefficient), "grid" (a
            choice among models on a public grid, for up to nine columns).
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import LinearRegression
    >>> X = np.linspace(-1, 1, 4000)[:, None]
    >>> model = LinearRegression(rho=1, bounds=(-1, 1), target_bounds=(-2, 2)).fit(X, 1.5 * X[:, 0])
    >>> bool(abs(model.coef_[0] - 1.5) < 0.2)
    True

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        target_bounds: Any = None,
        solver: str = "moments",
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.target_bounds, self.solver, self.unit = bounds, target_bounds, solver, unit
        self.categories, self.budget = categories, budget

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        return self._regression(columns, 0)


class Ridge(_LinearRegressor):
    """Ridge regression under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        target_bounds: (lower, upper) of the target; targets beyond them are clipped.
        alpha: the penalty on squared weights of columns scaled by their bounds, beside what the noise requires.
        solver: "moments" (noisy moments), "functional" (the same with Laplace noise on each coefficient), "grid" (a
            choice among models on a public grid, for up to nine columns).
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import Ridge
    >>> X = np.linspace(-1, 1, 4000)[:, None]
    >>> model = Ridge(rho=1, bounds=(-1, 1), target_bounds=(-2, 2), alpha=1).fit(X, 1.5 * X[:, 0])
    >>> model.predict([[0.5]]).shape
    (1,)

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        target_bounds: Any = None,
        alpha: Any = 1,
        solver: str = "moments",
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.target_bounds, self.alpha = bounds, target_bounds, alpha
        self.solver, self.unit = solver, unit
        self.categories, self.budget = categories, budget

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        return self._regression(columns, self.alpha)
