"""Estimators of clusters: k-means."""

# The names X and y are those of scikit-learn.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, TransformerMixin

from dither.errors import InvalidParameter
from dither.learn.base import AnyMechanism, PrivateEstimator, bounds_of
from dither.learn.clusters.blocks import USUAL_BLOCKS, BlockClusters
from dither.learn.clusters.grid import GridClusters
from dither.learn.clusters.lloyd import LloydClusters
from dither.learn.rows import Floats
from dither.mechanisms.release import Budget

SOLVERS: Final = ("auto", "grid", "lloyd", "blocks")
#: Up to so many columns a grid is the better choice.
_FEW_COLUMNS: Final = 3


class KMeans(TransformerMixin, ClusterMixin, PrivateEstimator):  # type: ignore[misc]
    """k-means under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.
    Labels of the rows are not released: ``predict`` computes them from the centres for whoever has rows.

    Args:
        n_clusters: how many clusters there are.
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability outside which the promise holds.
        rho: a loss in zero-concentrated differential privacy.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        solver: "auto" (a grid up to three columns, else Lloyd's algorithm), "grid", "lloyd" or "blocks".
        steps: of Lloyd's algorithm; by default as many as the loss suggests.
        schedule: of Lloyd's algorithm: "even", or "halving" for half of what is left in each step.
        zone: of Lloyd's algorithm: "mean", or "past" and "future" for orientation-controlled moves.
        records: for the grid, a public guess of how many rows there are.
        blocks: how many blocks the solver "blocks" has.
        key: a public text that decides starts.
        unit: "row" (added or removed) or "row_replaced".

    >>> import numpy as np
    >>> from dither.learn.clusters.estimators import KMeans
    >>> X = np.repeat([[0.2, 0.2], [0.8, 0.8]], 1000, axis=0)
    >>> model = KMeans(n_clusters=2, epsilon=1, bounds=(0, 1)).fit(X)
    >>> bool(np.abs(np.sort(model.cluster_centers_, axis=0) - [[0.2, 0.2], [0.8, 0.8]]).max() < 0.1)
    True

    """

    cluster_centers_: Floats

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        solver: str = "auto",
        steps: int | None = None,
        schedule: str = "even",
        zone: str = "mean",
        records: int = 10_000,
        blocks: int = USUAL_BLOCKS,
        key: str = "",
        unit: str = "row",
    ) -> None:
        self.n_clusters, self.epsilon, self.delta, self.rho = n_clusters, epsilon, delta, rho
        self.bounds, self.solver, self.steps, self.schedule, self.zone = bounds, solver, steps, schedule, zone
        self.records, self.blocks, self.key, self.unit = records, blocks, key, unit

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = bounds_of(self.bounds, columns)
        public: dict[str, Any] = {
            "lower": lower,
            "upper": upper,
            "clusters": self.n_clusters,
            "key": self.key,
            "unit": self._unit(),
        }
        if self.solver not in SOLVERS:
            raise InvalidParameter("solver", self.solver, f"one of {', '.join(SOLVERS)}")
        if self.solver == "grid" or (self.solver == "auto" and columns <= _FEW_COLUMNS):
            return GridClusters.calibrated(self._target(), **public, records=self.records)
        if self.solver == "blocks":
            return BlockClusters.calibrated(self._target(), **public, blocks=self.blocks)
        return LloydClusters.calibrated(
            self._target(), **public, steps=self.steps, schedule=self.schedule, zone=self.zone
        )

    def fit(self, X: Any, y: Any = None, *, budget: Budget | None = None) -> Self:
        """Find centres; every call is a release of its own.

        Args:
            X: rows of numbers. NaN, infinities and numbers beyond the bounds have a declared meaning.
            y: not used.
            budget: what is charged; by default a budget of exactly this release.

        """
        return super().fit(X, y, budget=budget)

    def prepare(self, X: Any, y: Any = None) -> tuple[AnyMechanism, Floats]:
        """Return the mechanism and its private rows; nothing is charged or drawn yet."""
        values = self._values(X, reset=True)
        return self.mechanism(self.n_features_in_), values

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest centre of each row."""
        values = self._fitted(X)
        found: NDArray[np.int64] = self.model_.labels(values)
        return found

    def fit_predict(self, X: Any, y: Any = None, **parameters: Any) -> NDArray[np.int64]:
        """Find centres, and return the nearest one of each row: the labels are for whoever has the rows."""
        return self.fit(X, y, **parameters).predict(X)

    def transform(self, X: Any) -> Floats:
        """Return the distance of each row from each centre, in columns scaled by their bounds."""
        values = self._fitted(X)
        found: Floats = self.model_.distances(values)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of squared distances from the nearest centres; not private when X is."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    def _publish(self) -> None:
        self.cluster_centers_ = self.model_.places

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
