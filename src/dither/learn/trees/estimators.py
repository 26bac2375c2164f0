"""Estimators of trees: gradient boosting, random forests and single trees."""

# The names X and y are those of scikit-learn.

from __future__ import annotations

from typing import Any, cast

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.base import AnyMechanism, ChanceClassifier, bounds_of
from dither.learn.rows import Floats
from dither.learn.trees.bins import USUAL_BINS, bins_of
from dither.learn.trees.boosted import BoostedTrees
from dither.learn.trees.grown import ChosenTree, CountedTree
from dither.learn.trees.pruning import pruned
from dither.learn.trees.random_forest import RandomForest
from dither.learn.trees.splits import ScoreField


class _TreeClassifier(ChanceClassifier):
    """A classifier on public cells."""

    bounds: Any
    bins: Any
    categorical: Any

    def _public(self, columns: int) -> dict[str, Any]:
        """Return what is declared about the rows."""
        lower, upper = bounds_of(self.bounds, columns)
        counts, flags = bins_of(columns, lower, upper, self.bins, self.categorical)
        return {
            "lower": lower,
            "upper": upper,
            "bins": counts,
            "unordered": flags,
            "classes": len(self.declared_classes()),
            "unit": self._unit(),
        }


class GradientBoostingClassifier(_TreeClassifier):
    """Gradient-boosted trees of public shape with noisy leaves, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability outside which the promise holds; with one, noise is Gaussian and errors are smaller.
        rho: a loss in zero-concentrated differential privacy.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        classes: all labels that may occur; rows with another one are left out.
        categorical: the places of columns of codes, whose cells have no order.
        bins: cells of a column of numbers; one number for all, or one for each column.
        rounds: how many trees there are; by default as many turns of all columns as the loss suggests.
        leaves: into how many parts a tree cuts a column, at most.
        depth: how many columns a tree looks at.
        public_seed: a public text that decides the shapes of the trees.
        unit: "row" (added or removed) or "row_replaced".

    >>> import numpy as np
    >>> from dither.learn.trees.estimators import GradientBoostingClassifier
    >>> X = np.repeat([[0.1, 1.0], [0.9, 0.0]], 1000, axis=0)
    >>> y = np.repeat(["no", "yes"], 1000)
    >>> model = GradientBoostingClassifier(epsilon=1, bounds=(0, 1), classes=["no", "yes"]).fit(X, y)
    >>> model.predict([[0.9, 0.0]]).tolist(), model.privacy_.numerics
    (['yes'], 'exact')

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        classes: Any = None,
        categorical: Any = None,
        bins: Any = USUAL_BINS,
        rounds: int | None = None,
        leaves: int = 10,
        depth: int = 1,
        public_seed: str = "",
        unit: str = "row",
    ) -> None:
        self.epsilon, self.delta, self.rho = epsilon, delta, rho
        self.bounds, self.classes, self.categorical, self.bins = bounds, classes, categorical, bins
        self.rounds, self.leaves, self.depth, self.public_seed, self.unit = rounds, leaves, depth, public_seed, unit

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        return BoostedTrees.calibrated(
            self._target(),
            **self._public(columns),
            rounds=self.rounds,
            leaves=self.leaves,
            depth=self.depth,
            public_seed=self.public_seed,
        )


class _ForestClassifier(_TreeClassifier):
    """A classifier by counts in leaves."""

    def _scores(self, values: Floats) -> Floats:
        return cast(Floats, np.log(self.model_.probabilities(values)))


class RandomForestClassifier(_ForestClassifier):
    """A random forest whose trees have a public shape, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability outside which the promise holds.
        rho: a loss in zero-concentrated differential privacy.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        classes: all labels that may occur; rows with another one are left out.
        categorical: the places of columns of codes, whose cells have no order.
        bins: cells of a column of numbers; one number for all, or one for each column.
        n_estimators: how many trees there are.
        max_depth: how many questions lead to a leaf.
        divided: whether each row is counted by one tree alone; if not, trees share the budget.
        public_seed: a public text that decides the shapes of the trees.
        unit: "row" (added or removed) or "row_replaced".

    >>> import numpy as np
    >>> from dither.learn.trees.estimators import RandomForestClassifier
    >>> X = np.repeat([[0.1, 1.0], [0.9, 0.0]], 1000, axis=0)
    >>> y = np.repeat([0, 1], 1000)
    >>> model = RandomForestClassifier(epsilon=1, bounds=(0, 1), classes=[0, 1], max_depth=3).fit(X, y)
    >>> model.predict([[0.9, 0.0]]).tolist(), model.model_.trees
    ([1], 20)

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        classes: Any = None,
        categorical: Any = None,
        bins: Any = USUAL_BINS,
        n_estimators: int = 20,
        max_depth: int = 8,
        divided: bool = True,
        public_seed: str = "",
        unit: str = "row",
    ) -> None:
        self.epsilon, self.delta, self.rho = epsilon, delta, rho
        self.bounds, self.classes, self.categorical, self.bins = bounds, classes, categorical, bins
        self.n_estimators, self.max_depth, self.divided = n_estimators, max_depth, divided
        self.public_seed, self.unit = public_seed, unit

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        return RandomForest.calibrated(
            self._target(),
            **self._public(columns),
            trees=self.n_estimators,
            depth=self.max_depth,
            divided=self.divided,
            public_seed=self.public_seed,
        )


class DecisionTreeClassifier(_ForestClassifier):
    """One tree whose splits are chosen privately, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability outside which the promise holds.
        rho: a loss in zero-concentrated differential privacy.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        classes: all labels that may occur; rows with another one are left out.
        categorical: the places of columns of codes, whose cells have no order.
        bins: cells of a column of numbers; one number for all, or one for each column.
        criterion: "gini", "largest-class" or "gain", by which splits are chosen; or "counts" for the largest gain in
            noisy counts (ID3).
        max_depth: how many questions lead to a leaf, at most.
        records: a public number of rows, above which the criterion "gain" weighs more rows no finer.
        prune: whether splits that seem to change nothing are taken back.
        unit: "row" (added or removed) or "row_replaced".

    >>> import numpy as np
    >>> from dither.learn.trees.estimators import DecisionTreeClassifier
    >>> X = np.repeat([[0.1, 1.0], [0.9, 0.0]], 1000, axis=0)
    >>> y = np.repeat([0, 1], 1000)
    >>> model = DecisionTreeClassifier(epsilon=1, bounds=(0, 1), classes=[0, 1], max_depth=2).fit(X, y)
    >>> model.predict([[0.9, 0.0]]).tolist()
    [1]

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        classes: Any = None,
        categorical: Any = None,
        bins: Any = USUAL_BINS,
        criterion: str = "gini",
        max_depth: int = 5,
        records: int = 2**16,
        prune: bool = False,
        unit: str = "row",
    ) -> None:
        self.epsilon, self.delta, self.rho = epsilon, delta, rho
        self.bounds, self.classes, self.categorical, self.bins = bounds, classes, categorical, bins
        self.criterion, self.max_depth, self.records = criterion, max_depth, records
        self.prune, self.unit = prune, unit

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        if not isinstance(self.prune, bool):
            raise InvalidParameter("prune", self.prune, "True or False")
        if self.criterion == "counts":
            return CountedTree.calibrated(self._target(), **self._public(columns), depth=self.max_depth)
        return ChosenTree.calibrated(
            self._target(),
            **self._public(columns),
            depth=self.max_depth,
            score=ScoreField().convert("criterion", self.criterion),
            records=self.records,
        )

    def _publish(self) -> None:
        super()._publish()
        if self.prune:
            self.model_ = pruned(self.model_)
