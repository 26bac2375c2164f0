"""Gaussian copulas: laws against numerical integrals, sensitivities by brute force, what is found without noise."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.gaussian_copula import (
    LARGEST,
    cell_coefficients,
    latent_correlation,
    nearest_correlations,
    pair_law,
)
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes
from dither.lift.records import CodedRecords
from dither.mechanisms import Geometric, perform
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.synthetic.copula import GRID, CopulaModel, GaussianCopula, product_sum, rank_scores
from dither.publish.synthetic.measuring import Seen
from dither.publish.synthetic.models import Model

LAWS = (np.array([0.2, 0.5, 0.3]), np.array([0.05, 0.0, 0.6, 0.35]))


@pytest.mark.parametrize("correlation", [-0.95, -0.3, 0.0, 0.6, 0.95])
def test_pair_laws_are_rectangles_of_the_normal_law(correlation: float) -> None:
    from scipy.special import ndtr, ndtri

    found = pair_law(*(cell_coefficients(law) for law in LAWS), correlation)
    cuts = [np.clip(ndtri(np.concatenate([[0], np.cumsum(law)])), -9, 9) for law in LAWS]

    def below(x: float, y: float) -> float:
        """The chance that both variables are below their cuts, by the trapezium rule over the first."""
        at = np.linspace(-9, x, 4001)
        inside = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi) * ndtr((y - correlation * at) / np.sqrt(1 - correlation**2))
        return float(np.trapezoid(inside, at))

    corners = np.array([[below(x, y) for y in cuts[1]] for x in cuts[0]])
    wanted = np.diff(np.diff(corners, axis=0), axis=1)
    assert np.abs(found - wanted).max() < 2e-4
    assert np.allclose(found.sum(axis=1), LAWS[0], atol=1e-3)


def test_the_correlation_is_found_again() -> None:
    scores = [rank_scores(law) for law in LAWS]
    both = [cell_coefficients(law) for law in LAWS]
    parts = [coefficients @ score for coefficients, score in zip(both, scores, strict=True)]
    means = []
    for correlation in (-0.9, -0.2, 0.0, 0.4, 0.97):
        mean = float(scores[0] @ pair_law(*both, correlation) @ scores[1])
        means.append(mean)
        assert latent_correlation(*parts, mean) == pytest.approx(correlation, abs=0.01)
    assert means == sorted(means)
    assert latent_correlation(*parts, 1e9) == pytest.approx(LARGEST)
    # Noise beyond all that could be seen, or a constant: nothing is known.
    assert latent_correlation(*parts, means[-1], noise=1e9) == 0
    assert latent_correlation(cell_coefficients(np.ones(1)) @ np.zeros(1), parts[0], 3.0) == 0


def test_repaired_matrices_are_correlations() -> None:
    generator = public_generator()
    for width in (2, 5, 9):
        given = generator.uniform(-1, 1, (width, width))
        given = (given + given.T) / 2
        np.fill_diagonal(given, 1.0)
        found = nearest_correlations(given)
        assert np.linalg.eigvalsh(found)[0] > 0
        assert np.allclose(np.diagonal(found), 1)
        assert np.abs(found).max() <= 1 + 1e-12
    good = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert np.array_equal(nearest_correlations(good), good)


def test_a_record_moves_all_sums_of_products_by_what_is_paid_for() -> None:
    table = Attributes.of({"a": 3, "b": 2, "c": 4})
    rows = np.array([[0, 1, 3], [2, 0, 1], [1, 1, 1]])
    method = GaussianCopula.calibrated(PureDP(1), attributes=table)
    # Any margins may have been released, also those with all mass at one end.
    laws = [np.array([1.0, 0.0, 0.0]), np.array([0.25, 0.75]), np.array([0.0, 0.1, 0.2, 0.7])]
    edges = [np.array([-GRID, 0, GRID]), np.array([-GRID, GRID]), np.array([-GRID, -1, 1, GRID])]
    for scores in ([rank_scores(law) for law in laws], edges):
        before = [product_sum(Seen(CodedRecords(table, rows)), axes, scores) for axes in method.pairs]
        slow = [sum(scores[i][row[i]] * scores[j][row[j]] for row in rows) for i, j in method.pairs]
        assert before == slow
        farthest = 0
        for row in product(range(3), range(2), range(4)):
            after = [
                product_sum(Seen(CodedRecords(table, np.vstack([rows, row]))), axes, scores) for axes in method.pairs
            ]
            farthest = max(farthest, sum(abs(b - a) for a, b in zip(before, after, strict=True)))
        assert farthest <= method.stability
    assert farthest == 3 * GRID**2 == method.stability
    gaussian = GaussianCopula.calibrated(ZCDP(1), attributes=table)
    assert Fraction(3) * GRID**4 <= gaussian.stability**2 < Fraction(301, 100) * GRID**4


def test_scores_are_middle_ranks() -> None:
    assert rank_scores(np.array([0.5, 0.5])).tolist() == [-32, 32]
    assert rank_scores(np.array([1.0])).tolist() == [0]
    assert np.abs(rank_scores(np.array([0.0] * 5 + [1.0] + [0.0] * 5))).max() == GRID


class Still:
    """A run without noise."""

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        return value


@pytest.mark.statistical(false_alarm=1e-9)
def test_without_noise_margins_and_correlations_come_out() -> None:
    """40,000 records, limits of ten standard deviations; correlations of ranks in place of normal ones would fail."""
    generator = public_generator()
    wanted = np.array([[1.0, 0.7, -0.4], [0.7, 1.0, 0.0], [-0.4, 0.0, 1.0]])
    normal = generator.standard_normal((40_000, 3)) @ np.linalg.cholesky(wanted).T
    rows = np.stack(
        [np.digitize(normal[:, 0], [-1, 0, 0.3, 2]), normal[:, 1] > 0.5, np.digitize(normal[:, 2], np.arange(-3, 3))], 1
    )
    table = Attributes.of({"a": 5, "b": 2, "c": 7, "d": 1})
    data = np.concatenate([rows, np.zeros((len(rows), 1))], axis=1).astype(np.int64)
    model = GaussianCopula.calibrated(PureDP(1), attributes=table).release(data, Still())
    # The standard deviation of a correlation of 40,000 pairs is below 0.01: ten of them.
    assert np.abs(model.correlations[:3, :3] - wanted).max() < 0.1
    assert np.array_equal(model.correlations[3], [0, 0, 0, 1])
    for axis in range(4):
        assert np.allclose(model.table((axis,)), table.count(table.codes(data), (axis,)))
        drawn = np.bincount(model.sample(1000)[:, axis], minlength=table.sizes[axis])
        assert (np.abs(drawn - 1000 * model.laws[axis]) < 1).all()
    assert np.allclose(model.table((0, 1, 2)).sum(axis=2), model.table((0, 1)), atol=0.01 * 40_000)
    assert model.table(()) == 40_000
    assert Model.from_dict(json.loads(json.dumps(model.to_dict()))) == model


def test_prices() -> None:
    table = Attributes.of({"a": 5, "b": 2, "c": 7})
    for target in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
        assert GaussianCopula.calibrated(target, attributes=table).loss(1) <= target
    both = GaussianCopula(attributes=table, single=Geometric(scale=3), product=Geometric(scale=3 * GRID**2))
    assert both.loss(1).epsilon == 2
    alone = Attributes.of({"a": 3})
    method = GaussianCopula.calibrated(PureDP(1), attributes=alone)
    assert method.loss(1) == PureDP(1)
    assert perform(method, np.zeros((5, 1), dtype=np.int64), stability=1).correlations.tolist() == [[1.0]]


def test_damaged_models_are_refused() -> None:
    model = CopulaModel(Attributes.of({"a": 2, "b": 1}), 5.0, [np.array([0.5, 0.5]), np.ones(1)], np.eye(2))
    record = json.loads(json.dumps(model.to_dict()))
    for laws in (None, [[0.5, 0.5]], [[0.5, 0.4], [1.0]], [[1.5, -0.5], [1.0]], [["a", "b"], [1.0]]):
        with pytest.raises(InvalidParameter, match="laws"):
            Model.from_dict({**record, "laws": laws})
    for rows in (
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 0.1], [0.2, 1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[0.5, 0.0], [0.0, 1.0]],
    ):
        with pytest.raises(InvalidParameter, match="correlations"):
            Model.from_dict({**record, "correlations": rows})
