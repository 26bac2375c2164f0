"""Models out: estimators that learn from private rows, with scikit-learn's contract.

Belongs here: mechanisms that release a small model, in a room for each kind of model, and the estimators around them,
which need the extra 'ml'. Does not belong here: tables and synthetic rows (``publish``), estimates from released
numbers alone (``estimate``). A mechanism sees its rows only through sums of bounded integers, to which noise is
added; an estimator declares what is public (bounds, classes, categories) and never takes it from data.
"""

from __future__ import annotations

import importlib
from typing import Any

from dither.errors import MissingExtra

#: Estimators by name, and where they are; scikit-learn is imported when the first of them is asked for.
ESTIMATORS = {
    "BernoulliNB": "dither.learn.bayes.estimators",
    "CategoricalNB": "dither.learn.bayes.estimators",
    "CompressedLogisticRegression": "dither.learn.linear.mapped_estimators",
    "Coreset": "dither.learn.clusters.estimators",
    "DecisionTreeClassifier": "dither.learn.trees.estimators",
    "EmpiricalCovariance": "dither.learn.decompose.estimators",
    "FeatureClassifier": "dither.learn.images.estimators",
    "GaussianMixture": "dither.learn.clusters.estimators",
    "GaussianNB": "dither.learn.bayes.estimators",
    "GradientBoostingClassifier": "dither.learn.trees.estimators",
    "ImageClassifier": "dither.learn.images.estimators",
    "IncrementalLinearRegression": "dither.learn.streams.estimators",
    "KMeans": "dither.learn.clusters.estimators",
    "KernelLogisticRegression": "dither.learn.linear.mapped_estimators",
    "KernelSVC": "dither.learn.linear.mapped_estimators",
    "Lasso": "dither.learn.sparse.estimators",
    "LinearRegression": "dither.learn.linear.estimators",
    "LinearSVC": "dither.learn.linear.estimators",
    "LogisticRegression": "dither.learn.linear.estimators",
    "MinMaxScaler": "dither.learn.preparing.public",
    "OneHotEncoder": "dither.learn.preparing.public",
    "PCA": "dither.learn.decompose.estimators",
    "PrivateSearch": "dither.learn.selection.estimators",
    "QuantileBinner": "dither.learn.preparing.estimators",
    "RandomForestClassifier": "dither.learn.trees.estimators",
    "Ridge": "dither.learn.linear.estimators",
    "SparseLogisticRegression": "dither.learn.sparse.estimators",
    "StandardScaler": "dither.learn.preparing.estimators",
    "UniformBinner": "dither.learn.preparing.estimators",
}

#: What learns from ratings of items, and not from rows of columns.
RECOMMENDERS = {"Recommender": "dither.learn.recommend.recommender"}

__all__ = ["ESTIMATORS", "RECOMMENDERS", "load_estimator"]


def __getattr__(name: str) -> Any:
    module = ESTIMATORS.get(name) or RECOMMENDERS.get(name)
    if module is None:
        raise AttributeError(f"module 'dither.learn' has no attribute {name!r}")
    try:
        importlib.import_module("sklearn")
    except ImportError:
        raise MissingExtra("an estimator", "ml") from None
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *ESTIMATORS, *RECOMMENDERS])


def load_estimator(path: Any) -> Any:
    """Return the fitted estimator that ``save`` wrote, of any class; needs the extra 'ml'."""
    from pathlib import Path

    from dither.learn.saved import kind_of

    text = Path(path).read_text(encoding="utf-8")
    return __getattr__(kind_of(text)).from_json(text)
