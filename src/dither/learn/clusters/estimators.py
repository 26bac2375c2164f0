"""Estimators of clusters: k-means, private coresets and Gaussian mixtures."""

# The names X and y are those of scikit-learn.
# ruff: noqa: N803

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, DensityMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.learn.base import AnyMechanism, RowsEstimator
from dither.learn.clusters.blocks import USUAL_BLOCKS, BlockClusters
from dither.learn.clusters.coreset import CoresetClusters
from dither.learn.clusters.grid import GridClusters
from dither.learn.clusters.lloyd import LloydClusters
from dither.learn.clusters.mixture import SHAPES, NoisyMixture
from dither.learn.clusters.points import ClustersModel
from dither.learn.clusters.priv_gene import PrivGene
from dither.learn.clusters.private_coreset import PrivateCoreset
from dither.learn.clusters.refined import RefinedClusters
from dither.learn.clusters.su import SuClusters
from dither.learn.conventions import Iterated, in_words
from dither.learn.rows import Floats
from dither.mechanisms.core.purse import Purse
from dither.privacy import Loss

ALGORITHMS: Final = ("auto", "coreset", "refined", "grid", "lloyd", "su", "blocks", "gene")
#: Up to this number of columns a refined grid is the better choice, and up to one more where the loss has no delta.
_FEW_COLUMNS: Final = 5
#: From this number of columns on, noisy steps are the better choice for two clusters where the loss is small.
_MANY_COLUMNS: Final = 16
_LITTLE_RHO: Final = Fraction(1, 100)
_LITTLE_EPSILON: Final = 4


class KMeans(Iterated, TransformerMixin, ClusterMixin, RowsEstimator):  # type: ignore[misc]
    """k-means under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.
    Labels of the rows are not released: ``predict`` computes them from the centres.

    Args:
        n_clusters: how many clusters there are.
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        algorithm: "auto" (see ``best_algorithm``; "lloyd" where its steps are declared), "coreset", "refined", "grid",
            "lloyd", "su", "blocks" or "gene".
        max_iter: steps of Lloyd's algorithm; by default a number that suits the loss.
        schedule: of Lloyd's algorithm: "even", or "halving" for half of what is left in each step.
        zone: of Lloyd's algorithm: "mean", or "past" and "future" for orientation-controlled moves.
        objective: of the coreset: "means" for small squared distances, "medians" for small distances.
        records: for "refined", "grid" and "su", a public guess of the number of rows.
        blocks: how many blocks the algorithm "blocks" has.
        public_seed: a public text that decides starts.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

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
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        algorithm: str = "auto",
        max_iter: int | None = None,
        schedule: str = "even",
        zone: str = "mean",
        objective: str = "means",
        records: int = 10_000,
        blocks: int = USUAL_BLOCKS,
        public_seed: str = "",
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.algorithm, self.max_iter = bounds, algorithm, max_iter
        self.schedule, self.zone = schedule, zone
        self.objective, self.records, self.blocks, self.public_seed, self.unit = (
            objective,
            records,
            blocks,
            public_seed,
            unit,
        )
        self.categories, self.budget = categories, budget

    @in_words(clusters="n_clusters", steps="max_iter")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        public: dict[str, Any] = {
            "lower": lower,
            "upper": upper,
            "clusters": self.n_clusters,
            "public_seed": self.public_seed,
            "unit": self._unit(),
        }
        if self.algorithm not in ALGORITHMS:
            raise InvalidParameter("algorithm", self.algorithm, f"one of {', '.join(ALGORITHMS)}")
        target, algorithm = self._target(), self.algorithm
        if algorithm == "auto" and (self.max_iter, self.schedule, self.zone) != (None, "even", "mean"):
            algorithm = "lloyd"  # who declares how it steps wants it
        if algorithm == "auto":
            clusters = whole("n_clusters", self.n_clusters, least=1)
            algorithm = "coreset" if self.objective != "means" else best_algorithm(target, len(lower), clusters)
        if algorithm == "coreset":
            return CoresetClusters.calibrated(target, **public, objective=self.objective)
        if self.objective != "means":
            raise InvalidParameter("objective", self.objective, f"means: the algorithm {algorithm} knows no other")
        if algorithm == "refined":
            return RefinedClusters.calibrated(target, **public, records=self.records)
        if algorithm == "grid":
            return GridClusters.calibrated(target, **public, records=self.records)
        if algorithm == "su":
            return SuClusters.calibrated(target, **public, records=self.records)
        if algorithm == "blocks":
            return BlockClusters.calibrated(target, **public, blocks=self.blocks)
        if algorithm == "gene":
            return PrivGene.calibrated(target, **public)
        return LloydClusters.calibrated(target, **public, steps=self.max_iter, schedule=self.schedule, zone=self.zone)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest centre of each row."""
        values = self._fitted(X)
        found: NDArray[np.int64] = self.model_.labels(values)
        return found

    def fit_predict(self, X: Any, y: Any = None, **parameters: Any) -> NDArray[np.int64]:
        """Find centres, and return the nearest one of each row: the labels are for the owner of the rows."""
        return self.fit(X, y, **parameters).predict(X)

    def transform(self, X: Any) -> Floats:
        """Return the distance of each row from each centre, in columns scaled by their bounds."""
        values = self._fitted(X)
        found: Floats = self.model_.distances(values)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of squared distances from the nearest centres; not private if X is private."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    def _publish(self) -> None:
        self.cluster_centers_ = self.model_.places


class Coreset(TransformerMixin, ClusterMixin, RowsEstimator):  # type: ignore[misc]
    """Weighted points that stand for all rows, under differential privacy: k-means and k-median of them are free.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.
    Sub-clusters of the rows are not released: ``predict`` computes them from the points.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        max_depth: levels of the tree whose leaves are the points; by default what suits up to sixteen clusters.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import Coreset
    >>> X = np.repeat([[0.2, 0.2], [0.8, 0.8], [0.8, 0.3]], 1000, axis=0)
    >>> found = Coreset(rho=1, bounds=(0, 1)).fit(X)
    >>> [len(found.clusters(count, objective="medians").places) for count in (2, 3)]
    [2, 3]

    """

    subcluster_centers_: Floats
    subcluster_weights_: Floats

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        max_depth: int | None = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.max_depth, self.unit = bounds, max_depth, unit
        self.categories, self.budget = categories, budget

    @in_words(depth="max_depth")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        return PrivateCoreset.calibrated(
            self._target(), lower=lower, upper=upper, depth=self.max_depth, unit=self._unit()
        )

    @in_words(clusters="n_clusters")
    def clusters(self, n_clusters: int, *, objective: str = "means", public_seed: str = "") -> ClustersModel:
        """Return centres of clusters of the released points: any number of times, at no further loss.

        Args:
            n_clusters: how many clusters there are.
            objective: "means" for small squared distances, "medians" for small distances.
            public_seed: a public text that decides starts.

        """
        check_is_fitted(self, "model_")
        found: ClustersModel = self.model_.clusters(n_clusters, objective=objective, public_seed=public_seed)
        return found

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest released point of each row."""
        values = self._fitted(X)
        found: NDArray[np.int64] = self.model_.labels(values)
        return found

    def fit_predict(self, X: Any, y: Any = None, **parameters: Any) -> NDArray[np.int64]:
        """Find points, and return the nearest one of each row: the labels are for the owner of the rows."""
        return self.fit(X, y, **parameters).predict(X)

    def transform(self, X: Any) -> Floats:
        """Return the distance of each row from each released point, in columns scaled by their bounds."""
        values = self._fitted(X)
        found: Floats = self.model_.distances(values)
        return found

    def _publish(self) -> None:
        self.subcluster_centers_, self.subcluster_weights_ = self.model_.places, self.model_.weights.values


class GaussianMixture(Iterated, DensityMixin, RowsEstimator):  # type: ignore[misc]
    """A mixture of Gaussian components under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.
    Components of the rows are not released: ``predict`` computes them from the model.

    Args:
        n_components: the number of components.
        covariance_type: "full" (which needs a loss with a delta, or rho), "diag" or "spherical".
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name. Each label is
            a column of zeros and ones; a cell that is none of them is zeros alone.
        max_iter: how many steps of expectation and maximisation are taken.
        public_seed: a public text that decides the start.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn.clusters.estimators import GaussianMixture
    >>> square = np.stack(np.meshgrid(*[np.linspace(-0.1, 0.1, 55)] * 2), axis=-1).reshape(-1, 2)
    >>> X = np.vstack([0.2 + square, 0.8 + square])
    >>> model = GaussianMixture(2, epsilon=1, delta="1e-6", bounds=(0, 1)).fit(X)
    >>> bool(np.abs(np.sort(model.means_, axis=0) - [[0.2, 0.2], [0.8, 0.8]]).max() < 0.1)
    True

    """

    weights_: Floats
    means_: Floats
    covariances_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        max_iter: int = 5,
        public_seed: str = "",
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.n_components, self.covariance_type = n_components, covariance_type
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds = bounds
        self.max_iter, self.public_seed, self.unit = max_iter, public_seed, unit
        self.categories, self.budget = categories, budget

    @in_words(clusters="n_components", shape="covariance_type", steps="max_iter")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        lower, upper = self.box(columns)
        if self.covariance_type not in SHAPES:
            raise InvalidParameter("covariance_type", self.covariance_type, f"one of {', '.join(SHAPES)}")
        return NoisyMixture.calibrated(
            self._target(),
            lower=lower,
            upper=upper,
            clusters=self.n_components,
            shape=self.covariance_type,
            steps=self.max_iter,
            public_seed=self.public_seed,
            unit=self._unit(),
        )

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most likely component of each row."""
        values = self._fitted(X)
        found: NDArray[np.int64] = self.model_.labels(values)
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each component for each row."""
        values = self._fitted(X)
        found: Floats = self.model_.probabilities(values)
        return found

    def score_samples(self, X: Any) -> Floats:
        """Return the log density of each row; rows beyond the bounds are clipped to them."""
        values = self._fitted(X)
        found: Floats = self.model_.densities(values)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density; not private if X is private."""
        return float(self.score_samples(X).mean())

    def _publish(self) -> None:
        self.weights_, self.means_ = self.model_.weights.values, self.model_.means
        shapes = self.model_.shapes
        if self.covariance_type != "full":
            shapes = np.diagonal(shapes, axis1=1, axis2=2).copy()
        # A spherical component has one spread in columns scaled by their bounds; in their own units it is the mean one.
        self.covariances_ = shapes.mean(axis=1) if self.covariance_type == "spherical" else shapes


def best_algorithm(within: Loss, columns: int, clusters: int) -> str:
    """Return the algorithm that suits a loss and the size of a task: a function of public facts alone.

    A refined grid for up to five columns, or six where the loss is pure; Lloyd's steps for two clusters in more than
    sixteen columns where little may be lost; else a coreset.

    >>> from dither.privacy import ApproxDP, PureDP
    >>> best_algorithm(PureDP(1), 2, 10), best_algorithm(ApproxDP(1, "1e-6"), 10, 20), best_algorithm(PureDP(1), 30, 2)
    ('refined', 'coreset', 'lloyd')
    """
    purse = Purse.within(within)
    if columns <= _FEW_COLUMNS + int(purse.is_pure):
        return "refined"
    is_little = purse.amount < (_LITTLE_EPSILON if purse.is_pure else _LITTLE_RHO)
    return "lloyd" if is_little and clusters <= 2 and columns > _MANY_COLUMNS else "coreset"
