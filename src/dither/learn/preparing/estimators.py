"""Transformers that learn from rows, each by its own release: standardised columns, and bins."""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any, Final

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from dither.errors import InvalidParameter
from dither.learn.base import AnyMechanism, RowsEstimator, bounds_of
from dither.learn.decompose.moments import NoisyMoments
from dither.learn.preparing.column_counts import USUAL_CELLS, ColumnCounts
from dither.learn.preparing.public import PublicTransformer
from dither.learn.rows import Floats

#: A column is never assumed to be narrower than this share of its bounds.
_LEAST_SPREAD: Final = 1e-3


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, RowsEstimator):  # type: ignore[misc]
    """Columns moved to a noisy mean and divided by a noisy standard deviation.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        bounds: (lower, upper) for all columns, or a pair for each; numbers beyond are clipped, NaN is the mean.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import StandardScaler
    >>> scaler = StandardScaler(epsilon=10, bounds=(0, 10)).fit(np.linspace(0, 10, 4000)[:, None])
    >>> bool(abs(scaler.mean_[0] - 5) < 0.5), bool(abs(scaler.scale_[0] - 2.9) < 0.5)
    (True, True)

    """

    mean_: Floats
    scale_: Floats

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.unit = bounds, unit
        self.budget = budget

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        return NoisyMoments.calibrated(self._target(), lower=lower, upper=upper, reach=1, unit=self._unit())

    def transform(self, X: Any) -> Floats:
        """Return the rows in standard deviations from the mean."""
        values = self._fitted(X)
        with np.errstate(all="ignore"):
            known = np.where(np.isnan(values), self.mean_, values)
            inside = np.clip(known, self.model_.lower.values, self.model_.upper.values)
        found: Floats = (inside - self.mean_) / self.scale_
        return found

    def inverse_transform(self, X: Any) -> Floats:
        """Return rows in their own units."""
        found: Floats = self._fitted(X) * self.scale_ + self.mean_
        return found

    def _publish(self) -> None:
        spread = np.sqrt(np.diag(self.model_.covariance.values))
        self.mean_ = self.model_.frame.places(self.model_.mean.values)
        self.scale_ = np.maximum(spread, _LEAST_SPREAD) * self.model_.half_ranges


class QuantileBinner(TransformerMixin, RowsEstimator):  # type: ignore[misc]
    """Columns cut into bins of about equally many rows, by noisy counts; a number becomes the index of its bin.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        n_bins: the number of bins of each column.
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        bounds: (lower, upper) for all columns, or a pair for each; numbers beyond are clipped, NaN means the middle.
        cells: the number of even cells from which bins are made.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import QuantileBinner
    >>> binner = QuantileBinner(2, epsilon=10, bounds=(0, 1)).fit(np.linspace(0, 1, 4000)[:, None] ** 2)
    >>> bool(abs(binner.bin_edges_[0, 1] - 0.25) < 0.05), binner.transform([[0.9]]).tolist()
    (True, [[1.0]])

    """

    bin_edges_: Floats

    def __init__(
        self,
        n_bins: int = 5,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        cells: int = USUAL_CELLS,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.n_bins = n_bins
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.cells, self.unit = bounds, cells, unit
        self.budget = budget

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        checked_bins(self.n_bins)
        lower, upper = self.box(columns)
        return ColumnCounts.calibrated(self._target(), lower=lower, upper=upper, cells=self.cells, unit=self._unit())

    def transform(self, X: Any) -> Floats:
        """Return the index of the bin of each number, from 0 on."""
        return binned(self._fitted(X), self.bin_edges_)

    def _publish(self) -> None:
        self.bin_edges_ = self.model_.edges(int(self.n_bins))


class UniformBinner(OneToOneFeatureMixin, PublicTransformer):  # type: ignore[misc]
    """Columns cut into bins of one width between declared bounds; costs nothing, because no row is read.

    Args:
        n_bins: the number of bins of each column.
        bounds: (lower, upper) for all columns, or a pair for each; numbers beyond are clipped, NaN means the middle.

    >>> from dither.learn import UniformBinner
    >>> UniformBinner(4, bounds=[(0, 1)]).fit([[0.0]]).transform([[0.3], [1.0]]).tolist()
    [[1.0], [3.0]]

    """

    bin_edges_: Floats

    def __init__(self, n_bins: int = 5, *, bounds: Any = None) -> None:
        self.n_bins, self.bounds = n_bins, bounds

    def transform(self, X: Any) -> Floats:
        """Return the index of the bin of each number, from 0 on."""
        return binned(self._checked(X), self.bin_edges_)

    def _declare(self, columns: int) -> None:
        lower, upper = bounds_of(self.bounds, columns)
        self.bin_edges_ = np.linspace(lower, upper, checked_bins(self.n_bins) + 1, axis=1)


def checked_bins(bins: Any) -> int:
    """Return a number of bins, or refuse it."""
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 2 <= bins <= 2**16:
        raise InvalidParameter("n_bins", bins, "an integer from 2 to 65536")
    return int(bins)


def binned(values: Floats, edges: Floats) -> Floats:
    """Return the index of the bin of each number; an edge belongs to the bin above, the last edge to the last bin."""
    middle = edges[:, 0] / 2 + edges[:, -1] / 2
    known = np.where(np.isnan(values), middle, values)
    columns = [
        np.searchsorted(inner, column, side="right") for inner, column in zip(edges[:, 1:-1], known.T, strict=True)
    ]
    return np.column_stack(columns).astype(np.float64)
