"""Estimators of naive Bayes: Gaussian, categorical, Bernoulli."""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import exact
from dither.learn.base import AnyMechanism, ChanceClassifier, guarded
from dither.learn.bayes.categorical import CategoricalNaiveBayes
from dither.learn.bayes.gaussian import GaussianNaiveBayes
from dither.learn.conventions import in_words
from dither.learn.rows import Floats


class _NaiveBayes(ChanceClassifier):
    """A classifier whose scores are log joint densities."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return the log joint density of each row and class."""
        return self._scores(self._fitted(X))

    @property
    def class_prior_(self) -> Floats:
        """The shares of the classes, as released."""
        found: Floats = self.model_.shares.values
        return found


class GaussianNB(_NaiveBayes):
    """Gaussian naive Bayes under differential privacy.

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
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import GaussianNB
    >>> X = np.repeat([[-1.0], [1.0]], 500, axis=0)
    >>> model = GaussianNB(epsilon=1, bounds=(-2, 2), classes=[0, 1]).fit(X, np.repeat([0, 1], 500))
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
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes, self.unit = bounds, classes, unit
        self.categories, self.budget = categories, budget

    @guarded
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        classes = len(self.declared_classes())
        return GaussianNaiveBayes.calibrated(
            self._target(), lower=lower, upper=upper, classes=classes, unit=self._unit()
        )


class CategoricalNB(_NaiveBayes):
    """Naive Bayes on columns of declared categories, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}; or how many categories all columns have,
            or a number for each, and a category is written 0, 1, ... What is none of them tells nothing.
        classes: all labels that may occur; rows with another one are left out.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import CategoricalNB
    >>> X = np.repeat([[0, 2], [1, 0]], 500, axis=0)
    >>> model = CategoricalNB(epsilon=1, categories=3, classes=["a", "b"]).fit(X, np.repeat(["a", "b"], 500))
    >>> model.predict([[0, 2]]).tolist()
    ['a']

    """

    reads_codes = True

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        categories: Any = None,
        classes: Any = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.categories, self.classes, self.unit = categories, classes, unit
        self.budget = budget

    @guarded
    @in_words(sizes="categories")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        rule = f"declared: how many categories all columns have, or one number for each of {columns}"
        declared, given = self.encoding(), self.categories
        if declared is not None:
            given = [len(labels) for labels in declared.categories.values()]
        if given is None:
            raise InvalidParameter("categories", None, f"{rule}; they are never taken from data")
        sizes = [given] * columns if np.ndim(given) == 0 else np.asarray(given).tolist()
        if len(sizes) != columns:
            raise InvalidParameter("categories", given, rule)
        classes = len(self.declared_classes())
        return CategoricalNaiveBayes.calibrated(self._target(), sizes=sizes, classes=classes, unit=self._unit())


class BernoulliNB(_NaiveBayes):
    """Naive Bayes on binary columns, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        classes: all labels that may occur; rows with any other label are left out.
        binarize: a number above this is high; NaN tells nothing.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import BernoulliNB
    >>> X = np.repeat([[0, 1], [1, 0]], 500, axis=0)
    >>> model = BernoulliNB(epsilon=1, classes=["a", "b"]).fit(X, np.repeat(["a", "b"], 500))
    >>> model.predict([[0, 1]]).tolist()
    ['a']

    """

    reads_codes = True

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        classes: Any = None,
        binarize: float = 0.0,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.classes, self.binarize, self.unit = classes, binarize, unit
        self.budget = budget

    @guarded
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        exact("binarize", self.binarize)
        classes = len(self.declared_classes())
        return CategoricalNaiveBayes.calibrated(self._target(), sizes=[2] * columns, classes=classes, unit=self._unit())

    def threshold_of_numbers(self) -> float:
        """Return ``binarize``."""
        return float(self.binarize)
