"""The model of all pairs: what it answers, what it draws, what it reads again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.publish.marginals import Attributes
from dither.publish.synthetic import Model, PairModel, pair_model
from dither.publish.synthetic.merging import Merging

ATTRIBUTES = Attributes.of({"a": 2, "b": 6, "c": 3})


def model_of(total: float = 600.0) -> PairModel:
    """Return a model with two groups of three values for b, and one pair that is not independent."""
    shares = (np.ones(2), np.array([0.5, 0.25, 0.25, 0.6, 0.4, 0.0]), np.ones(3))
    merging = Merging((np.arange(2), np.array([0, 0, 0, 1, 1, 1]), np.arange(3)), shares)
    singles = [np.array([0.4, 0.6]), np.array([0.5, 0.5]), np.array([0.2, 0.3, 0.5])]
    return PairModel(ATTRIBUTES, total, singles, {(0, 1): np.array([[0.35, 0.05], [0.15, 0.45]])}, merging)


def test_tables_of_one_two_and_three() -> None:
    """Groups are divided by shares; pairs without a law are products; three attributes by largest entropy.

    With one dependent pair the law of largest entropy is that pair times the third attribute.
    """
    model = model_of()
    np.testing.assert_allclose(model.table(()), 600)
    np.testing.assert_allclose(model.table((1,)), [150, 75, 75, 180, 120, 0])
    np.testing.assert_allclose(model.table((0, 1))[0], 600 * np.array([0.175, 0.0875, 0.0875, 0.03, 0.02, 0]))
    np.testing.assert_allclose(model.table((0, 2)), 600 * np.multiply.outer([0.4, 0.6], [0.2, 0.3, 0.5]))
    expected = np.multiply.outer(model.table((0, 1)), [0.2, 0.3, 0.5])
    np.testing.assert_allclose(model.table((0, 1, 2)), expected, atol=1e-6)


def test_three_pairs_give_the_law_of_largest_entropy() -> None:
    """Of three binary attributes that all agree pairwise, it is the one with no interaction of the third order."""
    pair = np.array([[0.35, 0.15], [0.15, 0.35]])
    axes = [(0, 1), (0, 2), (1, 2)]
    model = PairModel(Attributes.of({"a": 2, "b": 2, "c": 2}), 1.0, [np.full(2, 0.5)] * 3, dict.fromkeys(axes, pair))
    law = model.table((0, 1, 2))
    for place in range(3):
        np.testing.assert_allclose(law.sum(axis=place), pair, atol=1e-5)
    ratio = law[0, 0, 0] * law[0, 1, 1] * law[1, 0, 1] * law[1, 1, 0]
    assert ratio == pytest.approx(law[1, 1, 1] * law[1, 0, 0] * law[0, 1, 0] * law[0, 0, 1], rel=1e-3)


@pytest.mark.parametrize("rows", [0, 1, 50, 600])
def test_drawn_records_have_the_pairs_of_the_model(rows: int) -> None:
    """Up to rounding, where there is a law; values without a share never come."""
    model = model_of()
    drawn = model.draw(rows, public_generator())
    assert drawn.shape == (rows, 3)
    assert not (drawn[:, 1] == 5).any()
    codes = ATTRIBUTES.codes(drawn)
    for axes in ((0,), (1,), (2,), (0, 1)):
        off = np.abs(ATTRIBUTES.count(codes, axes) - model.table(axes) * rows / 600).sum() / 2
        assert off <= 0.02 * rows + 4


def test_many_records_repeat_patterns_and_keep_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what is fitted one by one the pairs of groups stay as they are."""
    monkeypatch.setattr(pair_model, "_MOST_FITTED", 200)
    monkeypatch.setattr(pair_model, "_LEAST_FITTED", 100)
    drawn = model_of().draw(1234, public_generator())
    assert drawn.shape == (1234, 3)
    groups = np.bincount(drawn[:, 0] * 2 + drawn[:, 1] // 3, minlength=4) / 1234
    assert np.abs(groups - [0.35, 0.05, 0.15, 0.45]).sum() < 0.05


def test_too_many_values_for_a_fit_are_drawn_all_the_same() -> None:
    """Five thousand values that are not grouped have no square table: attributes are then drawn one by one."""
    attributes = Attributes.of({"a": 5000, "b": 2})
    model = PairModel(attributes, 10.0, [np.full(5000, 1 / 5000), np.array([0.3, 0.7])], {})
    assert np.bincount(model.sample(10)[:, 1]).tolist() == [3, 7]


def test_it_is_read_as_it_was_written() -> None:
    """Through JSON and back; nothing that is not finite, non-negative and consistent is read."""
    model = model_of()
    written = json.loads(json.dumps(model.to_dict()))
    assert Model.from_dict(written) == model
    assert model_of(1.0) != model
    assert "1 pairs" in repr(model)
    damages: list[tuple[str, Any]] = [
        ("singles", [[0.5, 0.5]]),
        ("singles", [[0.4, 0.6], [0.5, 0.5], [0.2, 0.3, 0.6]]),
        ("singles", [[0.5, 0.5], [0.5, 0.5], [0.2, 0.3, 0.5]]),
        ("pairs", [[[0, 1], [0.35, 0.05, 0.15, -0.45]]]),
        ("pairs", [[[0, 1], [0.35, 0.05, 0.6]]]),
        ("pairs", [[[1, 0], [0.35, 0.05, 0.15, 0.45]]]),
        ("pairs", [[[0, True], [0.35, 0.05, 0.15, 0.45]]]),
        ("pairs", [[[0], [0.35]]]),
        ("pairs", None),
        ("merging", {}),
    ]
    for field, value in damages:
        with pytest.raises(InvalidParameter):
            Model.from_dict({**written, field: value})
