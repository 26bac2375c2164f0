"""A parameter search as an estimator: candidates are fitted, one is chosen, and the price covers everything."""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dither.errors import InvalidParameter
from dither.exact import positive
from dither.learn.base import AnyMechanism, PrivateClassifier, PrivateEstimator, PrivateRegressor, bounds_of
from dither.learn.encoding import Encoding
from dither.learn.models import Model
from dither.learn.rows import Floats
from dither.learn.selection.disjoint import DisjointTuning
from dither.learn.selection.repeated import RepeatedTuning
from dither.mechanisms.repeat_and_select import MOST_RUNS
from dither.privacy import PureDP

METHODS = ("parts", "repeats")
_BUDGET = ("epsilon", "delta", "rho", "loss")
_BINDING = (*_BUDGET, "budget")


def _has(method: str) -> Any:
    """Return a condition: the tuned estimator has this method."""
    return lambda search: hasattr(search.estimator, method)


class PrivateSearch(PrivateEstimator):
    """Choose the parameters of a private estimator among declared candidates, and fit it, for one stated price.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed, the search included; see
    ``privacy_``. Fitting every candidate with that budget and keeping the best would lose that budget once for each
    candidate, and the choice as well.

    Args:
        estimator: a classifier or regression of ``dither.learn`` to tune, with its public bounds, without budget.
        param_grid: a dictionary of lists of values, or a list of dictionaries of values: the candidates.
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        method: "parts" (each candidate learns from its own part of the rows, and rows held out choose) or "repeats"
            (random candidates learn from most rows a secret random number of times; pure losses only).
        held_out: parts: how many times as large as the part of one candidate the part is that is held out; repeats:
            how many of four and more slots are, three being learned from.
        n_iter: how many runs are expected; for "repeats", by default the number of candidates, at least three.
        public_seed: a public text that decides which rows fall into which part.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import LogisticRegression
    >>> from dither.learn.selection.estimators import PrivateSearch
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 1000, axis=0)
    >>> y = np.repeat(["no", "yes"], 1000)
    >>> tuned = LogisticRegression(bounds=(0, 1), classes=["no", "yes"])
    >>> search = PrivateSearch(tuned, {"max_iter": [1, 30]}, epsilon=2, delta=1e-6).fit(X, y)
    >>> search.predict([[1.0, 0.0]]).tolist(), search.best_params_["max_iter"] in (1, 30)
    (['yes'], True)

    """

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_index_: int

    def __init__(
        self,
        estimator: Any = None,
        param_grid: Any = None,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        method: str = "parts",
        held_out: int = 1,
        n_iter: Any = None,
        public_seed: str = "",
        budget: Any = None,
    ) -> None:
        self.estimator, self.param_grid = estimator, param_grid
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.method, self.held_out, self.n_iter, self.public_seed = method, held_out, n_iter, public_seed
        self.budget = budget

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run: the search among all candidates."""
        if self.method not in METHODS:
            raise InvalidParameter("method", self.method, f"one of {', '.join(METHODS)}")
        template = self._template()
        candidates = [self._candidate(point).mechanism(columns) for point in self._points()]
        public: dict[str, Any] = {"held_out": self.held_out, "public_seed": self.public_seed, "candidates": candidates}
        if isinstance(template, PrivateClassifier):
            public["classes"] = len(template.declared_classes())
        else:
            low, high = bounds_of(cast(Any, template).target_bounds, 1, "target_bounds")
            public |= {"target_lower": float(low[0]), "target_upper": float(high[0])}
        if self.method == "parts":
            if self.n_iter is not None:
                raise InvalidParameter("n_iter", self.n_iter, "not allowed: method 'parts' fits each candidate once")
            return DisjointTuning.calibrated(self._target(), **public)
        stop = None if self.n_iter is None else 1 / positive("n_iter", self.n_iter, at_most=MOST_RUNS)
        return RepeatedTuning.calibrated(self._target(), stop=stop, **public)

    def adopt(self, model: Model, mechanism: AnyMechanism, receipt: str) -> Self:
        """Keep the winning model in its own estimator; every later step is post-processing."""
        super().adopt(model, mechanism, receipt)
        found = cast(Any, model)
        self.best_index_, self.best_params_ = found.number, self._points()[found.number]
        best = self._candidate(self.best_params_)
        best.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            best.feature_names_in_ = self.feature_names_in_
        best.adopt(found.inner, best.mechanism(self.n_features_in_), receipt)
        # What is told of the winner is what the whole search cost.
        best.privacy_ = replace(self.privacy_)
        self.best_estimator_ = best
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the winner."""
        return cast("NDArray[Any]", self._best().predict(X))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class under the winner."""
        return cast(Floats, self._best().predict_proba(X))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the winner."""
        return cast(Floats, self._best().decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the winner; on private rows that is a release that is not paid for."""
        return float(self._best().score(X, y))

    @property
    def classes_(self) -> NDArray[Any]:
        """The declared classes of a classifier."""
        return cast("NDArray[Any]", self._best().classes_)

    def to_json(self) -> str:
        """Return the winner as JSON, with the price of the whole search; it is read back as the tuned estimator."""
        best = self._best()
        # A ledger may have charged more than one row's loss since the winner was adopted.
        best.privacy_ = self.privacy_
        return cast(str, best.to_json())

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _template(self) -> PrivateEstimator:
        if not isinstance(self.estimator, PrivateClassifier | PrivateRegressor):
            raise InvalidParameter("estimator", type(self.estimator).__name__, "a classifier or regression of dither")
        if any(getattr(self.estimator, name, None) is not None for name in _BINDING):
            rule = "without epsilon, delta, rho, loss and budget: the search has them"
            raise InvalidParameter("estimator", type(self.estimator).__name__, rule)
        return cast(PrivateEstimator, clone(self.estimator))

    def _points(self) -> list[dict[str, Any]]:
        """Return the candidates' parameters in a public order."""
        if isinstance(self.param_grid, Mapping):
            if not all(isinstance(values, list | tuple | np.ndarray) for values in self.param_grid.values()):
                raise InvalidParameter("param_grid", self.param_grid, "a list of values for each parameter")
            points = [
                dict(zip(self.param_grid, values, strict=True))
                for values in itertools.product(*self.param_grid.values())
            ]
        else:
            points = list(self.param_grid) if isinstance(self.param_grid, list | tuple) else []
        if len(points) < 2 or not all(isinstance(point, Mapping) for point in points):
            raise InvalidParameter("param_grid", self.param_grid, "two or more candidates")
        if any(name in point for point in points for name in _BINDING):
            raise InvalidParameter(
                "param_grid", self.param_grid, "without epsilon, delta, rho and loss: the search has the budget"
            )
        if any("binarize" in point for point in points):
            raise InvalidParameter(
                "param_grid", self.param_grid, "without binarize: rows are coded once, for all candidates"
            )
        return [dict(point) for point in points]

    def _candidate(self, point: Mapping[str, Any]) -> Any:
        """Return the estimator of one candidate, with the budget that the search leaves to each."""
        stated_as = {name: getattr(self, name) for name in _BUDGET}
        if self.method == "repeats":
            stated = self._target()
            if not isinstance(stated, PureDP):
                raise InvalidParameter(
                    "epsilon",
                    self.epsilon,
                    "the whole budget, without delta or rho: repeats are priced for pure losses only",
                )
            stated_as = {"epsilon": stated.epsilon / 3}
        return self._template().set_params(**stated_as, **point)

    def _labels(self, y: Any) -> Floats:
        return self._template()._labels(y)

    def encoding(self) -> Encoding | None:
        """Return that of the estimator."""
        return self._template().encoding()

    def threshold_of_numbers(self) -> float | None:
        """Return that of the tuned estimator."""
        found: float | None = self._template().threshold_of_numbers()
        return found

    def declared_classes(self) -> NDArray[Any] | None:
        """Return those of the tuned estimator."""
        found: NDArray[Any] | None = self._template().declared_classes()
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags
