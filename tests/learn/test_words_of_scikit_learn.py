"""Parameters of estimators have scikit-learn's words wherever scikit-learn has the concept."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("sklearn")

from dither import ROW, ROW_REPLACED, ApproxDP, Budget, PureDP, learn
from dither.errors import InvalidParameter
from dither.privacy import EDGE, ZCDP, GaussianDP

#: What every private estimator has, and no estimator of scikit-learn: what may be lost, for whom, and what is public.
PRIVATE = {
    "epsilon": "what may be lost; scikit-learn's epsilons are widths of loss functions",
    "delta": "what may be lost",
    "rho": "what may be lost",
    "loss": "what may be lost, as everywhere in this package; which function is minimised is another class here",
    "unit": "who is protected",
    "bounds": "public bounds of the columns, which scikit-learn takes from the rows",
    "target_bounds": "public bounds of the target, which scikit-learn takes from the rows",
    "classes": "the public labels, as in scikit-learn's partial_fit",
    "categories": "the public labels of columns by name, which scikit-learn's encoders take from the rows",
    "budget": "what all fits are charged to, those of copies in a search included",
    "public_seed": "public choices alone depend on it, so that it is not a random_state",
}
#: Words that scikit-learn has others for.
OTHER_WORDS = {
    "steps": "max_iter",
    "iterations": "max_iter",
    "epochs": "max_iter",
    "rounds": "n_estimators or max_iter",
    "trees": "n_estimators",
    "leaves": "max_leaf_nodes",
    "depth": "max_depth",
    "penalty": "alpha, or C for its inverse",
    "strength": "alpha, or C for its inverse",
    "regularisation": "alpha, or C for its inverse",
    "kept": "n_nonzero_coefs, n_features_to_select or k",
    "features": "n_components of a map, n_features_to_select of a choice",
    "dimensions": "n_components",
    "components": "n_components",
    "clusters": "n_clusters",
    "centres": "n_clusters",
    "neighbours": "n_neighbors",
    "n_neighbours": "n_neighbors",
    "folds": "cv",
    "jobs": "n_jobs",
    "rate": "learning_rate",
    "batch": "batch_size",
    "bins": "n_bins",
    "categorical": "categorical_features",
    "grid": "param_grid",
    "candidates": "param_grid",
    "repeats": "n_iter",
    "tolerance": "tol",
    "bandwidths": "gamma or bandwidth",
    "seed": "public_seed, where it is public; there is no other",
    "random_state": "public_seed, where it is public; there is no other",
}
SOLVER = "by which mechanism; scikit-learn's word for it in Ridge and LogisticRegression"
BLOCKS = "into how many disjoint blocks rows are divided, which scikit-learn does not do"
RECORDS = "a public guess of how many rows there are, which scikit-learn counts"
PUBLIC = "records that are about nobody who is protected; scikit-learn has no such records"
SIZE = "the public size of images; scikit-learn has no images"
BINS, TREES = "preprocessing.KBinsDiscretizer", "ensemble.HistGradientBoostingClassifier"


class Words(NamedTuple):
    """Classes of scikit-learn whose words an estimator has, and its own words with a reason for each."""

    kinds: tuple[str, ...]
    own: Mapping[str, str] = MappingProxyType({})


TABLE = {
    "BernoulliNB": Words(("naive_bayes.BernoulliNB",)),
    "CategoricalNB": Words(
        ("naive_bayes.CategoricalNB",),
        {"categories": "how many there are; scikit-learn's min_categories is a least number beside those in the rows"},
    ),
    "CompressedLogisticRegression": Words(
        ("linear_model.LogisticRegression", "random_projection.GaussianRandomProjection")
    ),
    "DecisionTreeClassifier": Words(
        ("tree.DecisionTreeClassifier", TREES, BINS),
        {"records": RECORDS, "prune": "whether noise alone made a split; scikit-learn's ccp_alpha weighs real errors"},
    ),
    "Coreset": Words(("cluster.Birch", TREES)),
    "EmpiricalCovariance": Words(
        ("covariance.EmpiricalCovariance",), {"reach": "how long a row may be before it is shortened"}
    ),
    "FeatureClassifier": Words(
        ("linear_model.LogisticRegression", "decomposition.PCA"),
        {
            "extractor": "a frozen public function of one record; scikit-learn has a step of a pipeline for it",
            "n_outputs": "how many features the extractor returns, which no row is asked for",
            "public": PUBLIC,
        },
    ),
    "GaussianMixture": Words(("mixture.GaussianMixture",)),
    "GaussianNB": Words(("naive_bayes.GaussianNB",)),
    "GradientBoostingClassifier": Words(
        ("ensemble.GradientBoostingClassifier", TREES, BINS),
        {"n_candidates": "from how many public shapes a tree is chosen; scikit-learn looks at every split"},
    ),
    "ImageClassifier": Words(
        ("linear_model.LogisticRegression", "decomposition.PCA"),
        {
            "height": SIZE,
            "width": SIZE,
            "channels": SIZE,
            "form": "how images come; scikit-learn has no images",
            "extractor": "which public features images have; scikit-learn has no images",
            "public": PUBLIC,
        },
    ),
    "IncrementalLinearRegression": Words(
        ("linear_model.Ridge",), {"batches": "how many calls of partial_fit the price covers"}
    ),
    "KMeans": Words(
        ("cluster.KMeans",),
        {
            "schedule": "how the budget is divided among steps",
            "zone": "how far noise may move a centre",
            "objective": "means or medians; scikit-learn has means alone",
            "records": RECORDS,
            "blocks": BLOCKS,
        },
    ),
    "KernelLogisticRegression": Words(("linear_model.LogisticRegression", "kernel_approximation.Nystroem")),
    "KernelSVC": Words(("svm.SVC", "linear_model.LogisticRegression", "kernel_approximation.Nystroem")),
    "Lasso": Words(
        ("linear_model.Lasso", "linear_model.OrthogonalMatchingPursuit"),
        {
            "solver": SOLVER,
            "radius": "what absolute weights add up to, a bound that must hold; scikit-learn's alpha is a price",
            "blocks": BLOCKS,
        },
    ),
    "LinearRegression": Words(("linear_model.LinearRegression",), {"solver": SOLVER}),
    "LinearSVC": Words(("svm.LinearSVC",), {"solver": SOLVER}),
    "LogisticRegression": Words(("linear_model.LogisticRegression",)),
    "MinMaxScaler": Words(("preprocessing.MinMaxScaler",)),
    "OneHotEncoder": Words(("preprocessing.OneHotEncoder",)),
    "PCA": Words(
        ("decomposition.PCA",),
        {
            "solver": "by which mechanism; scikit-learn's svd_solver says how one matrix is decomposed",
            "reach": "how long a row may be before it is shortened",
            "scaled": "columns have public bounds here, by which they can be brought to one scale",
        },
    ),
    "PrivateSearch": Words(
        ("model_selection.GridSearchCV", "model_selection.RandomizedSearchCV"),
        {
            "method": "how candidates share rows; cross-validation would pay for every fold",
            "held_out": "how much larger the held-out part is than that of a candidate",
        },
    ),
    "QuantileBinner": Words((BINS,), {"cells": "of how many public cells bins are made up"}),
    "RandomForestClassifier": Words(
        ("ensemble.RandomForestClassifier", TREES, BINS),
        {"divided": "whether trees share rows or the budget"},
    ),
    "Ridge": Words(("linear_model.Ridge",)),
    "SparseLogisticRegression": Words(
        ("linear_model.LogisticRegression", "linear_model.OrthogonalMatchingPursuit"),
        {
            "radius": "what absolute weights add up to, a bound that must hold; scikit-learn's C is a price",
            "blocks": BLOCKS,
        },
    ),
    "StandardScaler": Words(("preprocessing.StandardScaler",)),
    "UniformBinner": Words((BINS,)),
}


def words_of(place: str) -> set[str]:
    """The parameters of a class of scikit-learn."""
    room, _, name = place.rpartition(".")
    return set(getattr(import_module(f"sklearn.{room}"), name)._get_param_names())


def complaints(parameters: set[str], said: Words) -> Iterator[str]:
    """What is wrong with the words of an estimator."""
    known = set().union(*map(words_of, said.kinds))
    for word in sorted(parameters):
        if word in OTHER_WORDS:
            yield f"{word}: scikit-learn says {OTHER_WORDS[word]}"
        elif word not in {*known, *PRIVATE, *said.own}:
            yield f"{word}: not a word of {', '.join(said.kinds)}, and no reason is given"
    for word in sorted(set(said.own)):
        if word not in parameters:
            yield f"{word}: a reason for a word that is not used"
        elif word in known:
            yield f"{word}: a reason for a word that scikit-learn has"


@pytest.mark.parametrize("name", sorted(learn.ESTIMATORS))
def test_an_estimator_has_the_words_of_scikit_learn(name: str) -> None:
    assert name in TABLE, f"{name} needs a line in TABLE: which class of scikit-learn it is like"
    assert list(complaints(set(getattr(learn, name)().get_params(deep=False)), TABLE[name])) == []


def test_no_line_is_left_over() -> None:
    assert set(TABLE) == set(learn.ESTIMATORS)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"steps"}, Words(("linear_model.Ridge",))),
        ({"random_state"}, Words(("cluster.KMeans",))),
        ({"depth"}, Words(("tree.DecisionTreeClassifier",), {"depth": "shorter"})),
        ({"wobble"}, Words(("cluster.KMeans",))),
        ({"alpha"}, Words(("linear_model.Ridge",), {"alpha": "a penalty"})),
        ({"alpha"}, Words(("linear_model.Ridge",), {"wobble": "not used"})),
    ],
)
def test_another_word_is_refused(parameters: set[str], said: Words) -> None:
    assert len(list(complaints(parameters, said))) == 1


def rows() -> tuple[np.ndarray, np.ndarray]:
    """A few rows of two columns, and a side for each."""
    values = np.random.default_rng().uniform(0, 1, size=(40, 2))
    return values, (values[:, 0] > 0.5).astype(int)


def declared(name: str, **more: Any) -> Any:
    """An estimator with everything that must be declared for these rows."""
    kind = getattr(learn, name)
    public = {"bounds": (0, 1), "target_bounds": (0, 1), "classes": [0, 1], "categories": 2, "height": 1, "width": 2}
    known = kind._get_param_names()
    return kind(**({word: value for word, value in public.items() if word in known} | more))


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("LogisticRegression", {"max_iter": 0}, "max_iter"),
    ("LogisticRegression", {"solver": "objective", "max_iter": 3}, "max_iter"),
    ("LinearSVC", {"max_iter": -1}, "max_iter"),
    ("LogisticRegression", {"C": 0, "solver": "objective"}, "C"),
    ("LogisticRegression", {"C": 1, "solver": "gradient"}, "C"),
    ("KernelSVC", {"n_components": 0}, "n_components"),
    ("KernelLogisticRegression", {"max_iter": 0}, "max_iter"),
    ("CompressedLogisticRegression", {"n_components": 99}, "n_components"),
    ("Lasso", {"n_nonzero_coefs": 0}, "n_nonzero_coefs"),
    ("Lasso", {"n_nonzero_coefs": 1, "solver": "entropy"}, "n_nonzero_coefs"),
    ("SparseLogisticRegression", {"max_iter": 0}, "max_iter"),
    ("Ridge", {"alpha": -1}, "alpha"),
    ("IncrementalLinearRegression", {"alpha": -1}, "alpha"),
    ("GradientBoostingClassifier", {"n_estimators": 0}, "n_estimators"),
    ("GradientBoostingClassifier", {"max_leaf_nodes": 1}, "max_leaf_nodes"),
    ("GradientBoostingClassifier", {"max_depth": 3}, "max_depth"),
    ("GradientBoostingClassifier", {"n_bins": 0}, "n_bins"),
    ("RandomForestClassifier", {"n_estimators": 0}, "n_estimators"),
    ("RandomForestClassifier", {"max_depth": 0}, "max_depth"),
    ("RandomForestClassifier", {"categorical_features": [0], "bounds": (0, 0.5)}, "categorical_features"),
    ("DecisionTreeClassifier", {"max_depth": 0}, "max_depth"),
    ("DecisionTreeClassifier", {"criterion": "gain"}, "criterion"),
    ("DecisionTreeClassifier", {"criterion": []}, "criterion"),
    ("KMeans", {"n_clusters": 0}, "n_clusters"),
    ("KMeans", {"algorithm": "elkan"}, "algorithm"),
    ("KMeans", {"max_iter": -1}, "max_iter"),
    ("GaussianMixture", {"n_components": 0}, "n_components"),
    ("GaussianMixture", {"max_iter": 0}, "max_iter"),
    ("CategoricalNB", {"categories": 0}, "categories"),
]


@pytest.mark.parametrize(("name", "options", "word"), BAD)
def test_refusals_have_the_words_of_the_estimator(name: str, options: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        declared(name, rho=1, **options).mechanism(2)
    assert refused.value.parameter == word


def test_steps_are_told_as_scikit_learn_tells_them() -> None:
    values, labels = rows()
    for name, more, expected in (
        ("LogisticRegression", {"max_iter": 3}, 3),
        ("LogisticRegression", {"solver": "output"}, 1),
        ("KernelSVC", {"max_iter": 2, "n_components": 4}, 2),
        ("Lasso", {"solver": "frank-wolfe", "max_iter": 2}, 2),
        ("Lasso", {"n_nonzero_coefs": 1}, 2),
        ("KMeans", {"n_clusters": 2, "algorithm": "lloyd", "max_iter": 4}, 4),
        ("GaussianMixture", {"n_components": 2, "max_iter": 2}, 2),
    ):
        fitted = declared(name, rho=100, **more)
        assert not hasattr(fitted, "n_iter_")
        fitted.fit(values, labels)
        assert fitted.n_iter_ == expected
        assert type(fitted).from_json(fitted.to_json()).n_iter_ == expected


PRIVATE_ONES = sorted(name for name in learn.ESTIMATORS if "epsilon" in getattr(learn, name)._get_param_names())


@pytest.mark.parametrize("name", PRIVATE_ONES)
def test_a_loss_is_given_in_words_or_as_a_record(name: str) -> None:
    more: dict[str, Any] = {}
    if name == "PrivateSearch":
        more = {"estimator": declared("Ridge"), "param_grid": {"alpha": [0, 1]}}
    for words, record in (
        ({"epsilon": 2}, PureDP(2)),
        ({"rho": 1}, ZCDP(1)),
        ({"epsilon": 1, "delta": "1e-6"}, ApproxDP(1, "1e-6")),
    ):
        if name == "GaussianMixture" and "rho" not in words:
            more["covariance_type"] = "diag"
        assert declared(name, **words, **more).mechanism(2) == declared(name, loss=record, **more).mechanism(2)
    for bad in ({"loss": PureDP(1), "epsilon": 1}, {"loss": 1}, {"loss": PureDP(0)}, {"loss": GaussianDP(1)}):
        with pytest.raises(InvalidParameter, match="loss"):
            declared(name, **bad, **more).mechanism(2)


def test_a_loss_and_a_unit_are_saved_and_charged() -> None:
    values, labels = rows()
    made = declared("GaussianNB", loss=PureDP(2), unit=ROW_REPLACED)
    fitted = made.fit(values, labels, budget=Budget(loss=PureDP(2), unit="row_replaced"))
    again = learn.GaussianNB.from_json(fitted.to_json())
    assert (again.loss, again.unit) == (PureDP(2), "row_replaced")
    assert (
        again.mechanism(2) == fitted.mechanism(2) == declared("GaussianNB", epsilon=2, unit="row_replaced").mechanism(2)
    )
    for unit in ("rows", EDGE, "edge", None):
        with pytest.raises(InvalidParameter, match="unit"):
            declared("GaussianNB", epsilon=1, unit=unit).mechanism(2)
    assert declared("GaussianNB", epsilon=1, unit=ROW).mechanism(2) == declared("GaussianNB", epsilon=1).mechanism(2)


def test_a_model_with_older_words_is_refused_with_a_reason() -> None:
    values, labels = rows()
    text = declared("LogisticRegression", rho=1).fit(values, labels).to_json()
    older = text.replace('"version":2', '"version":1', 1).replace('"max_iter"', '"steps"')
    with pytest.raises(InvalidParameter, match="version 2: fit the model again"):
        learn.LogisticRegression.from_json(older)


def test_nothing_but_what_is_learned_is_positional() -> None:
    """As in scikit-learn: what an estimator is about may come first, everything else has its word."""
    first = {"estimator", "param_grid", "n_clusters", "n_components", "n_bins"}
    for name in learn.ESTIMATORS:
        given = list(inspect.signature(getattr(learn, name).__init__).parameters.values())[1:]
        assert {one.name for one in given if one.kind is not one.KEYWORD_ONLY} <= first
