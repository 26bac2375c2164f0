"""Estimators of trees: gradient boosting, random forests and single trees."""

# The names X and y are those of scikit-learn.

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.base import AnyMechanism, ChanceClassifier, guarded
from dither.learn.conventions import in_words
from dither.learn.rows import Floats
from dither.learn.trees.bins import USUAL_BINS, bins_of
from dither.learn.trees.boosted import USUAL_CANDIDATES, BoostedTrees
from dither.learn.trees.grown import ChosenTree, CountedTree
from dither.learn.trees.pruning import pessimistic, pruned
from dither.learn.trees.random_forest import RandomForest

#: What mechanisms call these parameters.
_WORDS: Final = {"bins": "n_bins", "categorical": "categorical_features", "unordered": "categorical_features"}

#: Scores of splits by scikit-learn's words. A gain ratio is not among them: one record may move it by any amount.
_SCORES: Final = {"gini": "gini", "entropy": "gain", "largest-class": "largest-class"}


class _TreeClassifier(ChanceClassifier):
    """A classifier on public cells."""

    reads_codes = True

    bounds: Any
    n_bins: Any
    categorical_features: Any

    def _public(self, columns: int) -> dict[str, Any]:
        """Return what is declared about the rows."""
        lower, upper = self.box(columns)
        declared, places = self.encoding(), self.categorical_features
        if declared is not None:
            if places is not None:
                raise InvalidParameter("categorical_features", places, "not allowed where columns are declared by name")
            places = declared.coded_places
        counts, flags = bins_of(columns, lower, upper, self.n_bins, places)
        return {
            "lower": lower,
            "upper": upper,
            "bins": counts,
            "unordered": flags,
            "classes": len(self.declared_classes()),
            "unit": self._unit(),
        }


class GradientBoostingClassifier(_TreeClassifier):
    """Gradient-boosted trees, chosen from public shapes, with noisy leaves, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, Gaussian noise and smaller errors.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name: columns
            without an order. What is none of the labels is a cell of its own.
        classes: all labels that may occur; rows with another one are left out.
        categorical_features: the places of columns of codes, whose cells have no order.
        n_bins: cells of a column of numbers; one number for all, or one for each column.
        n_estimators: the number of trees; by default one that suits the loss.
        max_leaf_nodes: the number of parts of each column that a tree reads; its leaves, if that is one column. By
            default what suits the loss, the number of columns and their cells.
        max_depth: the number of columns that a tree reads, one after the other; by default the same. With 1 the model
            is a sum of functions of one column each.
        n_candidates: the number of public shapes that each tree is chosen from; 1 for no choice.
        public_seed: a public text that decides the shapes of the trees.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

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
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        classes: Any = None,
        categorical_features: Any = None,
        n_bins: Any = USUAL_BINS,
        n_estimators: int | None = None,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        n_candidates: int = USUAL_CANDIDATES,
        public_seed: str = "",
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.categorical_features, self.n_bins = categorical_features, n_bins
        self.n_estimators, self.max_leaf_nodes, self.max_depth = n_estimators, max_leaf_nodes, max_depth
        self.n_candidates = n_candidates
        self.public_seed, self.unit = public_seed, unit
        self.categories, self.budget = categories, budget

    @guarded
    @in_words(**_WORDS, rounds="n_estimators", leaves="max_leaf_nodes", depth="max_depth", candidates="n_candidates")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        return BoostedTrees.calibrated(
            self._target(),
            **self._public(columns),
            rounds=self.n_estimators,
            leaves=self.max_leaf_nodes,
            depth=self.max_depth,
            candidates=self.n_candidates,
            public_seed=self.public_seed,
        )


class _ForestClassifier(_TreeClassifier):
    """A classifier that counts classes in leaves."""

    def _scores(self, values: Floats) -> Floats:
        return cast(Floats, np.log(self.model_.probabilities(values)))


class RandomForestClassifier(_ForestClassifier):
    """A random forest whose trees have a public shape, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name: columns
            without an order. What is none of the labels is a cell of its own.
        classes: all labels that may occur; rows with another one are left out.
        categorical_features: the places of columns of codes, whose cells have no order.
        n_bins: cells of a column of numbers; one number for all, or one for each column.
        n_estimators: the number of trees.
        max_depth: the number of questions on the way to a leaf.
        divided: whether each row is counted by one tree alone; if not, trees share the budget.
        public_seed: a public text that decides the shapes of the trees.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

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
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        classes: Any = None,
        categorical_features: Any = None,
        n_bins: Any = USUAL_BINS,
        n_estimators: int = 20,
        max_depth: int = 8,
        divided: bool = True,
        public_seed: str = "",
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.categorical_features, self.n_bins = categorical_features, n_bins
        self.n_estimators, self.max_depth, self.divided = n_estimators, max_depth, divided
        self.public_seed, self.unit = public_seed, unit
        self.categories, self.budget = categories, budget

    @guarded
    @in_words(**_WORDS, trees="n_estimators", depth="max_depth")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
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
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        bounds: (lower, upper) of all columns, or a pair for each; numbers beyond are clipped, NaN is the centre.
        categories: the labels of columns by name, {"ward": ["heart", "skin"]}, beside ``bounds`` by name: columns
            without an order. What is none of the labels is a cell of its own.
        classes: all labels that may occur; rows with another one are left out.
        categorical_features: the places of columns of codes, whose cells have no order.
        n_bins: cells of a column of numbers; one number for all, or one for each column.
        criterion: "gini", "entropy" (information gain) or "largest-class", by which splits are chosen; or "counts" for
            the largest gain in noisy counts (ID3).
        max_depth: the largest number of questions on the way to a leaf.
        records: a public number of rows, above which the criterion "entropy" weighs more rows no finer.
        min_samples_split: the least noisy number of rows at which a node is split, for which a tenth of the loss is
            spent: a number, or "auto" for one at which leaves are above their noise. By default every node is split.
        prune: whether splits that seem to change nothing are undone; "pessimistic" for those that do not lower an upper
            limit on the errors (C4.5).
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

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
        loss: Any = None,
        bounds: Any = None,
        categories: Any = None,
        classes: Any = None,
        categorical_features: Any = None,
        n_bins: Any = USUAL_BINS,
        criterion: str = "gini",
        max_depth: int = 5,
        records: int = 2**16,
        min_samples_split: Any = None,
        prune: Any = False,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.classes = bounds, classes
        self.categorical_features, self.n_bins = categorical_features, n_bins
        self.criterion, self.max_depth, self.records = criterion, max_depth, records
        self.min_samples_split, self.prune, self.unit = min_samples_split, prune, unit
        self.categories, self.budget = categories, budget

    @guarded
    @in_words(**_WORDS, depth="max_depth", least="min_samples_split")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run."""
        if not (isinstance(self.prune, bool) or (isinstance(self.prune, str) and self.prune == "pessimistic")):
            raise InvalidParameter("prune", self.prune, "True, False or pessimistic")
        if not (isinstance(self.criterion, str) and self.criterion in (*_SCORES, "counts")):
            raise InvalidParameter("criterion", self.criterion, f"one of {', '.join(_SCORES)}, counts")
        least = self.min_samples_split
        if not (least is None or least == "auto" or (isinstance(least, int) and not isinstance(least, bool))):
            raise InvalidParameter("min_samples_split", least, "None, auto or a number of rows")
        if self.criterion == "counts":
            if least is not None:
                raise InvalidParameter(
                    "min_samples_split", least, "not allowed: the criterion 'counts' stops by its counts"
                )
            return CountedTree.calibrated(self._target(), **self._public(columns), depth=self.max_depth)
        return ChosenTree.calibrated(
            self._target(),
            **self._public(columns),
            depth=self.max_depth,
            score=_SCORES[self.criterion],
            records=self.records,
            least=least,
        )

    def _publish(self) -> None:
        super()._publish()
        if self.prune:
            self.model_ = pruned(self.model_) if self.prune is True else pessimistic(self.model_)
