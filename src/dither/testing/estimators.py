"""Estimators with everything declared, and random rows and neighbours for their ``fit``: what a caller passes.

Rows have two columns between 0 and 3, and a label or target. A neighbour has one row more, or another one in its place:
wild in every cell, or the same row with another label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dither.testing.choices import Choices

_BOUNDS: Final[dict[str, Any]] = {"bounds": (0, 3)}
_CLASSES: Final[dict[str, Any]] = {"classes": [0, 1], **_BOUNDS}
_TARGETS: Final[dict[str, Any]] = {"target_bounds": (-1, 1), **_BOUNDS}
#: What is declared of each estimator, small enough to be fitted thousands of times.
DECLARED: Final[dict[str, dict[str, Any]]] = {
    "BernoulliNB": {"classes": [0, 1]},
    "CategoricalNB": {"classes": [0, 1], "categories": 4},
    "CompressedLogisticRegression": {"max_iter": 2, "n_components": 1, **_CLASSES},
    "Coreset": _BOUNDS,
    "DecisionTreeClassifier": _CLASSES,
    "EmpiricalCovariance": _BOUNDS,
    "FeatureClassifier": {"max_iter": 2, **_CLASSES},
    "GaussianMixture": {"n_components": 2, **_BOUNDS},
    "GaussianNB": _CLASSES,
    "GradientBoostingClassifier": {"n_estimators": 2, **_CLASSES},
    "ImageClassifier": {
        "height": 1,
        "width": 2,
        "extractor": "convolutions",
        "n_components": 2,
        "public": [[0, 3], [3, 0], [1, 1]],
        "max_iter": 2,
        **_CLASSES,
    },
    "IncrementalLinearRegression": _TARGETS,
    "KMeans": {"n_clusters": 2, **_BOUNDS},
    "KernelLogisticRegression": {"max_iter": 2, "n_components": 6, **_CLASSES},
    "KernelSVC": {"max_iter": 2, "n_components": 6, **_CLASSES},
    "Lasso": _TARGETS,
    "LinearRegression": _TARGETS,
    "LinearSVC": {"max_iter": 5, **_CLASSES},
    "LogisticRegression": {"max_iter": 5, "unit": "row_replaced", **_CLASSES},
    "MinMaxScaler": _BOUNDS,
    "OneHotEncoder": {"categories": [[0, 1, 2], [0, 1, 2, 3]]},
    "PCA": _BOUNDS,
    "PrivateSearch": {"param_grid": {"alpha": [0, 1]}},
    "QuantileBinner": _BOUNDS,
    "RandomForestClassifier": {"n_estimators": 2, "max_depth": 2, **_CLASSES},
    "Ridge": _TARGETS,
    "SparseLogisticRegression": _CLASSES,
    "StandardScaler": _BOUNDS,
    "UniformBinner": _BOUNDS,
}
#: Estimators that read no rows, and have no budget.
PUBLIC: Final = frozenset({"MinMaxScaler", "OneHotEncoder", "UniformBinner"})

_COLUMNS: Final = 2
_CELLS: Final[tuple[Any, ...]] = (
    0.0,
    3.0,
    1.0,
    1.5,
    -1.0,
    9.0,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    -0.0,
    5e-324,
)
_ODD_CELLS: Final[tuple[Any, ...]] = ("x", None, 10**400, 1j, (1, 2), b"x", True, "1")
_LABELS: Final[tuple[Any, ...]] = (0, 1)
_ODD_LABELS: Final[tuple[Any, ...]] = (2, -1, 0.5, float("nan"), "x", None, (0, 1), 1e308)
_ROWS: Final = 6

Rows = tuple[list[Any], list[Any]]


def declared_estimator(name: str, **changes: Any) -> Any:
    """Return an estimator with everything declared, and a loss where it reads rows."""
    import dither.learn as learn

    declared = {**DECLARED[name], **changes}
    if name == "PrivateSearch":
        declared["estimator"] = learn.Ridge(**_TARGETS)
    return getattr(learn, name)(**({} if name in PUBLIC else {"rho": 10}), **declared)


def rows_pairs(*, is_replaced: bool, choices: Choices) -> Iterator[tuple[Rows, Rows, int]]:
    """Return rows and labels for ``fit``, one unit apart, or two where a label is another and rows are added."""
    while True:
        base = [_row(choices, is_wild=choices.below(4) == 0) for _ in range(_ROWS if is_replaced else choices.below(9))]
        come = _row(choices, is_wild=choices.below(2) == 0)
        if base and choices.below(2):
            # The same cells with another label.
            come = (base[0][0], choices.one([one for one in _LABELS if one != base[0][1]]))
            here, there, apart = base, [come, *base[1:]], 1 if is_replaced else 2
        elif is_replaced:
            here, there, apart = base, [come, *base[1:]], 1
        else:
            here, there, apart = base, [*base, come], 1
        sides = [([row for row, _ in side], [label for _, label in side]) for side in (here, choices.shuffled(there))]
        yield (sides[0], sides[1], apart) if choices.below(2) else (sides[1], sides[0], apart)


def _row(choices: Choices, *, is_wild: bool) -> tuple[list[Any], Any]:
    cells: list[Any] = [choices.one(_CELLS[:6]) for _ in range(_COLUMNS)]
    label: Any = choices.one(_LABELS)
    if is_wild:
        cells = [choices.one((*_CELLS, *_ODD_CELLS)) for _ in range(_COLUMNS)]
        label = choices.one((*_LABELS, *_ODD_LABELS))
    return cells, label
