"""Estimators of decompositions: principal components and covariances."""

# The names X and y are those of scikit-learn.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dither.errors import InvalidParameter
from dither.learn.base import AnyMechanism, RowsEstimator
from dither.learn.decompose.chosen import ChosenComponents
from dither.learn.decompose.moments import USUAL_REACH, NoisyMoments, principal_components
from dither.learn.rows import Floats


class _Moments(RowsEstimator):
    """An estimator without labels, by noisy moments."""

    bounds: Any
    reach: Any

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        reach = USUAL_REACH if self.reach is None else self.reach
        return NoisyMoments.calibrated(self._target(), lower=lower, upper=upper, reach=reach, unit=self._unit())


class PCA(TransformerMixin, _Moments):  # type: ignore[misc]
    """Principal components of columns, in their own units, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        n_components: the number of components to keep; None for all of them.
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        bounds: (lower, upper) for all columns, or a pair for each; numbers beyond are clipped, NaN means the middle.
        reach: rows longer than this share of the way to a corner of the bounds are shortened; for "moments".
        solver: "moments" (a noisy matrix), or "chosen" (the exponential mechanism, which needs ``n_components``).
        scaled: whether each column is first scaled to [-1, 1] by its bounds, so that none counts for its unit alone;
            otherwise columns are taken as they are, as in scikit-learn.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn.decompose.estimators import PCA
    >>> X = np.outer(np.linspace(-1, 1, 4000), [1.0, 0.5])
    >>> model = PCA(1, epsilon=1, bounds=(-1, 1)).fit(X)
    >>> bool(abs(model.components_[0] @ [0.894, 0.447]) > 0.95), model.transform(X).shape
    (True, (4000, 1))

    """

    components_: Floats
    explained_variance_: Floats
    explained_variance_ratio_: Floats
    mean_: Floats

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        reach: Any = None,
        solver: str = "moments",
        scaled: bool = False,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.reach, self.solver, self.scaled, self.unit = bounds, reach, solver, scaled, unit
        self.budget = budget

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        kept = self.n_components
        if not (kept is None or (isinstance(kept, int | np.integer) and 1 <= kept <= columns)):
            raise InvalidParameter("n_components", kept, f"an integer from 1 to {columns}, or None")
        if self.solver == "moments":
            return super().mechanism(columns)
        if self.solver != "chosen":
            raise InvalidParameter("solver", self.solver, "moments or chosen")
        if kept is None or self.reach is not None:
            raise InvalidParameter("solver", self.solver, "moments, unless n_components is given and reach is not")
        lower, upper = self.box(columns)
        return ChosenComponents.calibrated(
            self._target(), lower=lower, upper=upper, components=int(kept), unit=self._unit()
        )

    def transform(self, X: Any) -> Floats:
        """Return the coordinates of each row along the components."""
        frame = self.model_.frame
        values = frame.scaled(self._fitted(X))
        found: Floats = ((values if self.scaled else frame.places(values)) - self.mean_) @ self.components_.T
        return found

    def inverse_transform(self, X: Any) -> Floats:
        """Return the rows, in their own units, with these coordinates."""
        check_is_fitted(self, "model_")
        found: Floats = np.asarray(X) @ self.components_ + self.mean_
        return self.model_.frame.places(found) if self.scaled else found

    def _publish(self) -> None:
        count = self.n_features_in_ if self.n_components is None else int(self.n_components)
        model = self.model_
        if self.scaled:
            covariance, self.mean_ = model.covariance.values, model.mean.values
        else:
            covariance = model.covariance.values * np.outer(model.half_ranges, model.half_ranges)
            self.mean_ = model.frame.places(model.mean.values)
        self.components_, self.explained_variance_ = principal_components(covariance, count)
        total = max(float(np.trace(covariance)), 1e-300)
        self.explained_variance_ratio_ = self.explained_variance_ / total


class EmpiricalCovariance(_Moments):
    """Mean and covariance of the columns in their own units, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        bounds: (lower, upper) for all columns, or a pair for each; numbers beyond are clipped, NaN means the middle.
        reach: rows longer than this share of the way to a corner of the bounds are shortened.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn.decompose.estimators import EmpiricalCovariance
    >>> X = np.outer(np.linspace(0, 10, 4000), [1.0, 0.5])
    >>> EmpiricalCovariance(epsilon=1, bounds=(0, 10)).fit(X).covariance_.shape
    (2, 2)

    """

    location_: Floats
    covariance_: Floats

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        reach: Any = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.reach, self.unit = bounds, reach, unit
        self.budget = budget

    def _publish(self) -> None:
        lengths = self.model_.half_ranges
        self.location_ = self.model_.frame.places(self.model_.mean.values)
        self.covariance_ = self.model_.covariance.values * np.outer(lengths, lengths)
