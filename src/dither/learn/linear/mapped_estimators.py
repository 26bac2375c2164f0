"""Estimators that learn a linear model after a public map of the columns: kernel machines and compressed regression."""

# scikit-learn calls rows X, and the strength of a fit C.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any, ClassVar

from dither.learn.base import AnyMechanism, ChanceClassifier, PrivateClassifier, guarded
from dither.learn.conventions import Iterated, in_words
from dither.learn.linear.compressed import CompressedClassifier
from dither.learn.linear.kernels import KernelMachine
from dither.learn.rows import Floats


class _KernelClassifier(Iterated, PrivateClassifier):
    """A classifier that is linear in random Fourier features."""

    _loss_name: ClassVar[str]

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
        kernel: str = "rbf",
        gamma: Any = None,
        n_components: int | None = None,
        solver: str = "auto",
        max_iter: int | None = None,
        C: Any = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.kernel, self.gamma, self.n_components = kernel, gamma, n_components
        self.solver, self.max_iter, self.C, self.unit = solver, max_iter, C, unit
        self.categories, self.budget = categories, budget

    @guarded
    @in_words(features="n_components", steps="max_iter")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        return KernelMachine.calibrated(
            self._target(),
            lower=lower,
            upper=upper,
            classes=len(self.declared_classes()),
            loss_name=self._loss_name,
            features=self.n_components,
            gamma=self.gamma,
            kernel=self.kernel,
            steps=self.max_iter,
            solver=self.solver,
            C=self.C,
            unit=self._unit(),
        )


class KernelSVC(_KernelClassifier):
    """A support vector machine with a kernel, by random Fourier features, under differential privacy.

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
        kernel: "rbf" for exp(-gamma |x - z|^2), "laplacian" for exp(-gamma d), d the sum of absolute differences, or
            "matern" for Matern's of smoothness 3/2.
        gamma: how narrow the kernel is, columns being scaled to [-1, 1] by their bounds; by default
            16, 8, 64/27, 1 and 64/125 for one to five columns, and 2 over the number of columns from six on, and
            for "laplacian" the root of it over the root of the columns. Bounds that are wider than the data ask for a
            larger one.
        n_components: the number of random features; more approximate the kernel better, with more noise. By default
            128, and 32 where the loss is pure.
        solver: "auto", "gradient", "minibatch", "newton", "objective" or "output", as for a linear model of the
            features.
        max_iter: steps of "gradient", "minibatch" and "newton"; by default a number that suits the kind of loss.
        C: of "objective" and "output", the inverse of the strength of the penalty; by default what suits the loss.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import KernelSVC
    >>> angles = np.linspace(0, 6.28, 1000)
    >>> circle = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> X, y = np.vstack([0.2 * circle, 0.9 * circle]), np.repeat(["inner", "outer"], 1000)
    >>> model = KernelSVC(rho=1, bounds=(-1, 1), classes=["inner", "outer"], gamma=4, n_components=50).fit(X, y)
    >>> model.predict([[0.0, 0.1], [0.9, 0.0], [0.0, -0.9]]).tolist()
    ['inner', 'outer', 'outer']

    """

    _loss_name = "hinge"


class KernelLogisticRegression(_KernelClassifier, ChanceClassifier):
    """Logistic regression with a kernel, by random Fourier features, under differential privacy.

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
        kernel: "rbf" for exp(-gamma |x - z|^2), "laplacian" for exp(-gamma d), d the sum of absolute differences, or
            "matern" for Matern's of smoothness 3/2.
        gamma: how narrow the kernel is, columns being scaled to [-1, 1] by their bounds; by default
            16, 8, 64/27, 1 and 64/125 for one to five columns, and 2 over the number of columns from six on, and
            for "laplacian" the root of it over the root of the columns. Bounds that are wider than the data ask for a
            larger one.
        n_components: the number of random features; more approximate the kernel better, with more noise. By default
            128, and 32 where the loss is pure.
        solver: "auto", "gradient", "minibatch", "newton", "objective" or "output", as for a linear model of the
            features.
        max_iter: steps of "gradient", "minibatch" and "newton"; by default a number that suits the kind of loss.
        C: of "objective" and "output", the inverse of the strength of the penalty; by default what suits the loss.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import KernelLogisticRegression
    >>> X = np.repeat([[-0.9], [0.0], [0.9]], 800, axis=0)
    >>> y = np.repeat([1, 0, 1], 800)
    >>> model = KernelLogisticRegression(rho=1, bounds=(-1, 1), classes=[0, 1], gamma=4, n_components=30).fit(X, y)
    >>> model.predict([[-0.9], [0.0], [0.9]]).tolist()
    [1, 0, 1]

    """

    _loss_name = "logistic"


class CompressedLogisticRegression(Iterated, ChanceClassifier):
    """Logistic regression in a few public random directions of many columns, under differential privacy.

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
        n_components: how many directions are learned in; by default twice the root of the columns.
        max_iter: steps of gradient descent; by default as many as the kind of loss suggests.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import CompressedLogisticRegression
    >>> y = np.repeat([0, 1], 1000)
    >>> X = np.tile(np.where(y, 0.8, -0.8)[:, None], 40)
    >>> model = CompressedLogisticRegression(rho=1, bounds=(-1, 1), classes=[0, 1], n_components=4).fit(X, y)
    >>> model.coef_.shape, model.predict(X[[0, -1]]).tolist()
    ((1, 40), [0, 1])

    """

    coef_: Floats
    intercept_: Floats

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
        n_components: int | None = None,
        max_iter: int | None = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.n_components, self.max_iter, self.unit = n_components, max_iter, unit
        self.categories, self.budget = categories, budget

    @guarded
    @in_words(dimensions="n_components", steps="max_iter")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        return CompressedClassifier.calibrated(
            self._target(),
            lower=lower,
            upper=upper,
            classes=len(self.declared_classes()),
            dimensions=self.n_components,
            steps=self.max_iter,
            unit=self._unit(),
        )

    def _publish(self) -> None:
        super()._publish()
        self.coef_, self.intercept_ = self.model_.coefficients, self.model_.constants
