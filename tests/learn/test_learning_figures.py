"""The comparison of learners: its public facts, and figures on made-up rows."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from dither.bench.learn import EPSILONS, contests, measure_learning
from dither.bench.learning_data import Task, public_facts, tasks
from dither.cli import compare_learning


def test_public_bounds_are_not_the_extremes_of_the_data() -> None:
    for task in tasks():
        same = (task.values.min(axis=0) == task.lower) & (task.values.max(axis=0) == task.upper)
        # Brightness is 0 to 16 by its nature, and a category is there or not.
        natural = ((task.lower == 0) & (task.upper == 16)) | ((task.lower == 0) & (task.upper == 1))
        if not task.name.startswith("adult"):
            assert not (same & ~natural).any()
        assert len(public_facts([task])) == 1


def test_delta_is_the_largest_of_three_digits_below_the_limit() -> None:
    for rows in (500, 1797, 30_000):
        task = Task("made up", np.zeros((rows, 1)), np.arange(rows) % 2, np.zeros(1), np.ones(1))
        limit = task.learned_from**-1.5
        assert 0.99 * limit < float(task.delta) <= limit


def test_figures_of_made_up_rows_are_those_of_a_good_classifier() -> None:
    generator = np.random.default_rng()
    labels = np.arange(600) % 2
    values = generator.normal(size=(600, 2)) * 0.1 + np.where(labels, 0.6, -0.6)[:, None]
    task = Task("breast cancer", values, labels, np.full(2, -2.0), np.full(2, 2.0))
    given = contests([task])
    found = list(measure_learning(given=given, splits=2))
    assert [one.model for one in found] == ["logistic", "naive Bayes", "k-means"]
    for one in found:
        assert len(one.ours) == len(EPSILONS)
        assert one.ours[-1] > 0.95
        assert one.without_privacy > 0.95
        assert one.rival is None
        assert one.seconds > 0
    page = compare_learning.page(found)
    assert "naive Bayes" in page
    assert "k-means" in page
