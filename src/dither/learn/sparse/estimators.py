"""Estimators of sparse models: regression and classification from many columns of which few matter."""

# scikit-learn calls rows X.

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.learn.base import AnyMechanism, ChanceClassifier, PrivateRegressor, bounds_of, guarded
from dither.learn.conventions import Iterated, in_words
from dither.learn.rows import Floats
from dither.learn.sparse.choose import learner


class Lasso(Iterated, PrivateRegressor):
    """Sparse linear regression under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, choices cost less.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN means the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        target_bounds: (lower, upper) of the target; targets beyond them are clipped.
        n_nonzero_coefs: the number of fitted columns; not for the solvers of one stage.
        solver: "auto" and "refit" (columns by Frank-Wolfe, then a regression on them), "frank-wolfe" or "entropy" (one
            stage), "votes" (columns by what disjoint blocks of the rows find, then a regression).
        max_iter: steps of Frank-Wolfe or entropy descent.
        radius: the largest sum of absolute weights, for columns scaled by their bounds, in units of half the
            target's range.
        blocks: the number of blocks of rows, for votes.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn.sparse.estimators import Lasso
    >>> X = np.resize([[1.0, -1.0, 1.0, 0.0], [-1.0, -1.0, 0.0, 1.0]], (4000, 4))
    >>> model = Lasso(epsilon=4, bounds=(-1, 1), target_bounds=(-4, 4), n_nonzero_coefs=1).fit(X, 3 * X[:, 0])
    >>> model.columns_.tolist(), bool(abs(model.coef_[0] - 3) < 1)
    ([0], True)

    """

    columns_: NDArray[np.int64]

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
        n_nonzero_coefs: int | None = None,
        solver: str = "auto",
        max_iter: int | None = None,
        radius: Any = None,
        blocks: int | None = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.target_bounds = bounds, target_bounds
        self.n_nonzero_coefs, self.solver, self.max_iter = n_nonzero_coefs, solver, max_iter
        self.radius, self.blocks, self.unit = radius, blocks, unit
        self.categories, self.budget = categories, budget

    @in_words(kept="n_nonzero_coefs", steps="max_iter")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        low, high = bounds_of(self.target_bounds, 1, "target_bounds")
        return learner(
            self._target(),
            solver=self.solver,
            lower=lower,
            upper=upper,
            loss_name="squared",
            unit=self._unit(),
            n_nonzero_coefs=self.n_nonzero_coefs,
            max_iter=self.max_iter,
            radius=self.radius,
            blocks=self.blocks,
            target_lower=float(low[0]),
            target_upper=float(high[0]),
        )

    def _publish(self) -> None:
        super()._publish()
        self.columns_ = self.model_.chosen.values


class SparseLogisticRegression(Iterated, ChanceClassifier):
    """Logistic regression of two classes from many columns of which few matter, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, choices cost less.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN means the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        classes: the two labels that may occur; rows with another one are left out.
        n_nonzero_coefs: how many columns are fitted; not for the solvers of one stage.
        solver: "auto" and "refit" (columns by Frank-Wolfe, then a classifier of them), "frank-wolfe" or "entropy" (one
            stage), "votes" (columns by what disjoint blocks of the rows find, then a classifier).
        max_iter: steps of Frank-Wolfe or entropy descent.
        radius: the largest sum of absolute weights, for columns scaled by their bounds.
        blocks: the number of blocks of rows, for votes.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn.sparse.estimators import SparseLogisticRegression
    >>> X = np.resize([[1.0, -1.0, 1.0, 0.0], [-1.0, -1.0, 0.0, 1.0]], (4000, 4))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = SparseLogisticRegression(epsilon=4, bounds=(-1, 1), classes=["no", "yes"], n_nonzero_coefs=1).fit(X, y)
    >>> model.columns_.tolist(), model.predict(X[:2]).tolist()
    ([0], ['yes', 'no'])

    """

    coef_: Floats
    intercept_: Floats
    columns_: NDArray[np.int64]

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
        n_nonzero_coefs: int | None = None,
        solver: str = "auto",
        max_iter: int | None = None,
        radius: Any = None,
        blocks: int | None = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.n_nonzero_coefs, self.solver, self.max_iter = n_nonzero_coefs, solver, max_iter
        self.radius, self.blocks, self.unit = radius, blocks, unit
        self.categories, self.budget = categories, budget

    @guarded
    @in_words(kept="n_nonzero_coefs", steps="max_iter")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        if len(self.declared_classes()) != 2:
            raise InvalidParameter("classes", self.classes, "two labels")
        return learner(
            self._target(),
            solver=self.solver,
            lower=lower,
            upper=upper,
            loss_name="logistic",
            unit=self._unit(),
            n_nonzero_coefs=self.n_nonzero_coefs,
            max_iter=self.max_iter,
            radius=self.radius,
            blocks=self.blocks,
        )

    def _publish(self) -> None:
        super()._publish()
        self.coef_, self.intercept_ = self.model_.coefficients, self.model_.constants
        self.columns_ = self.model_.chosen.values
