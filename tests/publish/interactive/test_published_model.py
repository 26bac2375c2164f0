"""Model publishing: what a regressor learns from noisy answers, how far one row moves these, and how it is stored."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.lift.stored import read_value, write_value
from dither.mechanisms import PublicArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ZCDP, PureDP
from dither.publish.interactive import PublishedModel, QueryModel
from dither.publish.interactive.query_model import features, fitted, ridge

NONE = Geometric(scale="1/1000")
COUNTS = np.array([4, 9, 1, 0, 7, 3, 3, 5])
RANGES = np.array([[int(low <= cell < high) for cell in range(8)] for low in range(8) for high in range(low + 1, 9)])
FREE = Budget(epsilon=10**7, unit=ROW)


def test_a_ridge_over_cells_is_the_histogram_by_least_squares() -> None:
    """Without noise and with enough queries the learned weights are the counts."""
    model = release(
        PublishedModel(shape=8, queries=PublicArray(RANGES), node=NONE), COUNTS, budget=FREE, stability=1
    ).value
    assert np.allclose(model.numbers, COUNTS, atol=0.2)
    assert model.setting == 1e-4
    assert np.allclose(model.answer(np.eye(8)), COUNTS, atol=0.2)
    # Exactly, where there is no penalty to speak of: the normal equations.
    noisy = RANGES @ COUNTS + np.sin(np.arange(len(RANGES)))
    weights = np.linalg.lstsq(RANGES.astype(float), noisy, rcond=None)[0]
    assert np.allclose(ridge(RANGES.astype(float), noisy, 1e-12), weights, atol=1e-5)


def test_a_ridge_from_few_queries_keeps_an_even_table() -> None:
    halves = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]])
    weights = ridge(halves.astype(float), halves @ COUNTS, 1e-9)
    assert np.allclose(weights, [14 / 4] * 4 + [18 / 4] * 4)


def test_a_tree_answers_with_the_mean_of_queries_like_it() -> None:
    """With leaves of one query, training queries have their own answers."""
    answers = (RANGES @ COUNTS).astype(float)
    model = fitted("tree", RANGES.astype(float), answers)
    assert model.setting in (1, 2, 4, 8, 16)
    if model.setting == 1:
        assert np.allclose(model.answer(RANGES), answers)
    # A tree of one leaf is the mean: two queries that look alike have one answer.
    alike = fitted("tree", np.array([[1.0, 0, 1], [1.0, 0, 1]]), np.array([2.0, 4.0]))
    assert alike.answer([1, 0, 1]).tolist() == [3.0]
    assert features(RANGES[:1].astype(float)).tolist() == [[0, 0, 1, 0]]


@pytest.mark.parametrize("node", [Geometric(scale=1), DiscreteGaussian(sigma=1)])
def test_all_answers_together_move_by_the_longest_column(node: Geometric | DiscreteGaussian) -> None:
    """Every row of 0, 1 and -1 for three queries on two cells, and every cell that may move."""
    for weights in itertools.product((-1, 0, 1), repeat=6):
        table = np.array(weights).reshape(3, 2)
        method = PublishedModel(shape=2, queries=PublicArray(table), node=node)
        order = 1 if isinstance(node, Geometric) else 2
        moved = max(float(np.linalg.norm(table @ one, order)) for one in np.eye(2))
        assert float(method.stability) >= moved
        assert float(method.stability) <= max(moved, 1) * (1 + 1e-9)
        assert method.loss(1) == node.loss(method.stability)


def test_losses() -> None:
    for within in (PureDP("1/3"), ZCDP("1/8")):
        made = PublishedModel.calibrated(within, sensitivity=2, shape=8, queries=PublicArray(RANGES))
        assert made.loss(2) <= within
        assert not made.loss(2) <= type(within)(Fraction(99, 100) * (within.pure or within.rho))


def test_models_are_stored_exactly_and_torn_ones_are_refused() -> None:
    for regressor in ("ridge", "tree"):
        method = PublishedModel(shape=8, queries=PublicArray(RANGES), node=NONE, regressor=regressor)
        model = release(method, COUNTS, budget=FREE, stability=1).value
        again = read_value(write_value(model))
        assert np.array_equal(again.answer(RANGES), model.answer(RANGES))
        assert json.loads(json.dumps(again.to_dict())) == model.to_dict()
    record = model.to_dict()
    leads_back = [*record["numbers"]]
    leads_back[2] = (0.0).hex()
    for torn in (
        {"numbers": record["numbers"][1:]},
        {"regressor": "other"},
        {"numbers": ["nan"] * 5},
        {"numbers": leads_back},
    ):
        with pytest.raises(InvalidParameter):
            QueryModel.from_dict(record | torn)
    with pytest.raises(InvalidParameter, match="queries"):
        model.answer(np.ones((2, 3)))


@pytest.mark.parametrize("queries", [[[1, 2]], [[0.5] * 8], [[2**21] * 8], [1] * 8])
def test_what_are_no_queries_is_refused(queries: object) -> None:
    with pytest.raises(InvalidParameter, match="queries"):
        PublishedModel(shape=8, queries=PublicArray(queries), node=NONE)  # type: ignore[arg-type]
