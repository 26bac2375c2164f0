"""Every estimator passes the checks of scikit-learn where they can hold; what cannot is listed, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

import dither.learn as learn

_BOUNDS: dict[str, Any] = {"bounds": (-10, 10)}
_CLASSES: dict[str, Any] = {"classes": [0, 1, 2], **_BOUNDS}
_TARGETS: dict[str, Any] = {"target_bounds": (-100, 100), **_BOUNDS}
#: What is declared for the checks, whose data lie within about 10 and have up to three classes.
DECLARED: dict[str, dict[str, Any]] = {
    "BernoulliNB": {"classes": [0, 1, 2]},
    "CategoricalNB": {"classes": [0, 1, 2], "categories": 4},
    "CompressedLogisticRegression": {"max_iter": 2, "n_components": 1, **_CLASSES},
    "Coreset": _BOUNDS,
    "DecisionTreeClassifier": _CLASSES,
    "EmpiricalCovariance": _BOUNDS,
    "FeatureClassifier": {"max_iter": 2, **_CLASSES},
    "GaussianMixture": {"n_components": 2, **_BOUNDS},
    "GaussianNB": _CLASSES,
    "GradientBoostingClassifier": {"n_estimators": 2, **_CLASSES},
    "IncrementalLinearRegression": _TARGETS,
    "KMeans": {"n_clusters": 2, **_BOUNDS},
    "KernelLogisticRegression": {"max_iter": 2, "n_components": 6, **_CLASSES},
    "KernelSVC": {"max_iter": 2, "n_components": 6, **_CLASSES},
    "Lasso": _TARGETS,
    "LinearRegression": _TARGETS,
    "LinearSVC": {"max_iter": 5, **_CLASSES},
    "LogisticRegression": {"max_iter": 5, **_CLASSES},
    "MinMaxScaler": _BOUNDS,
    "PCA": _BOUNDS,
    "QuantileBinner": _BOUNDS,
    "RandomForestClassifier": {"n_estimators": 2, "max_depth": 2, **_CLASSES},
    "Ridge": _TARGETS,
    "SparseLogisticRegression": {"classes": [0, 1], **_BOUNDS},
    "StandardScaler": _BOUNDS,
    "UniformBinner": _BOUNDS,
}
#: Estimators that read no rows, and so lose nothing.
PUBLIC = {"MinMaxScaler", "UniformBinner"}
#: Estimators that the checks cannot be run on, and why.
UNCHECKED = {
    "ImageClassifier": "the size of images is declared, and the checks have as many columns as they like",
    "OneHotEncoder": "categories are declared for each column, and the checks have as many columns as they like",
    "PrivateSearch": "what it tunes is checked; a search saves the estimator that won",
}

_NOISE = "two fits draw two different noises, so that their answers differ"
_DECLARED = "classes are declared and never found in y: here 0, 1, 2, whatever the check has in its data"
_TOTAL = "nothing raises because of data: what is no label or no number has a declared meaning"
#: Checks that cannot hold, and why.
EXCEPTIONS = {
    "check_estimators_empty_data_messages": "the number of rows is private, so that no rows are learned from like any",
    "check_supervised_y_no_nan": _TOTAL,
    "check_dtype_object": _TOTAL,
    "check_complex_data": _TOTAL,
    "check_transformer_data_not_an_array": "a list of rows has no width of its own: one row could be of any length",
    "check_classifiers_regression_target": _TOTAL,
    "check_classifiers_classes": _DECLARED,
    "check_classifiers_train": _DECLARED,
    "check_estimator_sparse_array": _DECLARED,
    "check_estimator_sparse_matrix": _DECLARED,
    "check_decision_proba_consistency": _DECLARED,
    "check_classifiers_one_label": _NOISE,
    "check_classifier_data_not_an_array": _NOISE,
    "check_regressor_data_not_an_array": _NOISE,
    "check_supervised_y_2d": _NOISE,
    "check_regressors_int": _NOISE,
    "check_regressors_train": _NOISE,
    "check_fit_idempotent": _NOISE,
    "check_methods_subset_invariance": _NOISE,
    "check_methods_sample_order_invariance": _NOISE,
    "check_sample_weights_invariance": _NOISE,
    "check_clustering": "the labels of rows are not released, so that there is no labels_",
}
_COMPONENTS = "the check sets n_components, which requires public records"
#: Checks that cannot hold for one estimator, and why.
OWN_EXCEPTIONS = {
    "FeatureClassifier": {
        "check_dont_overwrite_parameters": _COMPONENTS,
        "check_fit2d_1sample": _COMPONENTS,
        "check_fit2d_1feature": _COMPONENTS,
        "check_fit2d_predict1d": _COMPONENTS,
    }
}


def test_every_estimator_is_checked_or_there_is_a_reason() -> None:
    assert set(DECLARED) | set(UNCHECKED) == set(learn.ESTIMATORS)
    assert not set(DECLARED) & set(UNCHECKED)


@pytest.mark.parametrize("name", sorted(DECLARED))
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_pass_where_they_can_hold(name: str) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    promise = {} if name in PUBLIC else {"rho": 1000}
    found = check_estimator(
        getattr(learn, name)(**promise, **DECLARED[name]),
        expected_failed_checks=EXCEPTIONS | OWN_EXCEPTIONS.get(name, {}),
        on_fail=None,
        on_skip=None,
    )
    assert {one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"} == {}
    assert sum(one["status"] == "passed" for one in found) >= 30
