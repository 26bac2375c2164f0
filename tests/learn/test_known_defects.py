"""Defects that other libraries of private learning had: none of them may come back here.

Each test names the report it guards against, in diffprivlib (https://github.com/IBM/differential-privacy-library).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

import dither
import dither.learn as learn
from dither.learn.linear.moments import MomentRegression
from dither.mechanisms import Exponential
from dither.noise import system_noise
from dither.privacy import PureDP


class Silent:
    """Answers with the value itself, and remembers what it was given."""

    def __call__(self, part, value, *, stability=1):
        self.value, self.stability = np.asarray(value, dtype=object).ravel(), stability
        return np.array(value)


@pytest.mark.parametrize("bounds", [(0, 100), (-100, 0), (50, 100)])
def test_both_bounds_decide_the_sensitivity_of_a_regression(bounds: tuple[int, int]) -> None:
    """Reports 104 and 105: the lower bound was taken twice, so that bounds (0, 100) had no noise at all."""
    low, high = bounds
    learner = MomentRegression.calibrated(
        PureDP(1), lower=[low, low], upper=[high, high], target_lower=low, target_upper=high
    )
    far, none = Silent(), Silent()
    learner.release(np.array([[high, high, high]], dtype=np.float64), far)
    learner.release(np.zeros((0, 3)), none)
    moved = sum(int(entry) ** 2 for entry in far.value - none.value)
    assert 0 < moved <= far.stability**2
    rows = np.random.default_rng().uniform(low, high, (300, 2))
    fits = [
        learn.LinearRegression(epsilon=1, bounds=bounds, target_bounds=bounds).fit(rows, rows[:, 0]) for _ in range(2)
    ]
    # Two noises of many bits are the same with a probability far below 1e-9.
    assert (fits[0].coef_ != fits[1].coef_).any()


def test_a_forest_without_noise_to_speak_of_is_a_good_one() -> None:
    """Report 93: the structure of the trees, not the noise, kept a forest at the share of the largest class."""
    draw = np.random.default_rng()
    rows = draw.uniform(0, 1, (2000, 2))
    labels = (rows[:, 0] > 0.5).astype(int)
    forest = learn.RandomForestClassifier(epsilon=10**6, bounds=(0, 1), classes=[0, 1]).fit(rows, labels)
    # Over 40 runs 0.986, with a deviation of 0.003.
    assert forest.score(rows, labels) > 0.9


def test_scores_far_apart_choose_the_best_and_never_nothing() -> None:
    """Report 107: weights of scores far apart vanished, and the chances were no numbers."""
    chooser = Exponential(candidates=3, scale="1/1000")
    for scores in ([0, -(10**6), -(10**9)], [10**12, 0, 10**12 - 1], [-(10**15), -(10**15) - 5, -(10**16)]):
        drawn = chooser.draw_many(np.array(scores), 100, system_noise())
        # The second best has a chance of e^-1000.
        assert (drawn == 0).all()


def test_nothing_private_of_scikit_learn_is_used() -> None:
    """A private name moved, and the library could not be imported any more."""
    root = Path(dither.__file__).parent
    found = [
        f"{path.name}: {line.strip()}"
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"(from|import|import_module\()\s*\"?sklearn[\w.]*\._|from sklearn[\w.]* import .*\b_\w", line)
    ]
    assert found == []
