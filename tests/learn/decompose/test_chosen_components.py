"""Chosen components: what one row moves, beside exact arithmetic, and that good directions are chosen."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, PureDP
from dither.errors import InvalidParameter
from dither.learn.decompose import ChosenComponents
from dither.learn.decompose.chosen import MOVED
from dither.learn.decompose.estimators import PCA

BOUNDS: dict[str, Any] = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 4.0, 10.0]}


class Best:
    """Chooses the best candidate, adds no noise, and remembers every value with its stability."""

    def __init__(self, shown: list[Any] | None = None) -> None:
        self.shown = shown
        self.seen: list[tuple[str, list[int], Fraction]] = []

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        values = [int(entry) for entry in np.ravel(value)]
        self.seen.append((part.name, values, Fraction(stability)))
        if self.shown is not None:
            return self.shown[len(self.seen) - 1]
        return int(np.argmax(values)) if part.name == "exponential" else np.array(value)


class Keeping(Best):
    """As ``Best``, and keeps the answers, so that another run can be given the same."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Any] = []

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.answers.append(super().__call__(part, value, stability=stability))
        return self.answers[-1]


def rows_of(count: int) -> np.ndarray:
    draw = np.random.default_rng()
    return np.column_stack([draw.uniform(-2, 2, count), draw.uniform(-1, 5, count), draw.normal(5, 5, count)])


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, "1e-6")])
def test_one_row_moves_scores_and_measurements_by_their_stability_at_most(target: Any, unit: Any) -> None:
    learner = ChosenComponents.calibrated(target, **BOUNDS, components=2, candidates=8, rounds=2, unit=unit)
    assert learner.loss(1) <= target
    rows, first = rows_of(20), Keeping()
    rows[0], rows[1] = [9, 9, 99], np.nan
    learner.release(rows, first)
    farthest = 0.0
    for place in range(20):
        changed = np.delete(rows, place, axis=0) if unit == ROW else rows.copy()
        if unit == ROW_REPLACED:
            changed[place] = [-9, -9, 99]
        other = Best(first.answers)
        learner.release(changed, other)
        for (name, here, stability), (_, there, _) in zip(first.seen, other.seen, strict=True):
            change = [one - two for one, two in zip(here, there, strict=True)]
            if name == "exponential":
                assert max(map(abs, change)) <= stability == MOVED
                assert unit == ROW_REPLACED or min(change) >= 0
                farthest = max(farthest, max(map(abs, change)) / MOVED)
            elif name in ("geometric", "gamma-norm"):
                bound = stability if name == "geometric" else stability**2
                assert sum(abs(one) if name == "geometric" else one**2 for one in change) <= bound
            else:
                assert sum(one**2 for one in change) <= stability**2
    assert farthest > 0.5


def test_the_best_direction_is_found_and_measured() -> None:
    """Rows on an ellipse, none of which is far enough out to be shortened."""
    turns = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    ellipse = np.outer(0.8 * np.cos(turns), [0.6, 0.8, 0]) + np.outer(0.3 * np.sin(turns), [0.8, -0.6, 0])
    learner = ChosenComponents.calibrated(PureDP(1), lower=[-1] * 3, upper=[1] * 3, components=2)
    components, variances = learner.release(ellipse, Best()).components(2)
    assert abs(components[0] @ [0.6, 0.8, 0]) > 0.995
    assert abs(components[1] @ [0.8, -0.6, 0]) > 0.99
    assert variances == pytest.approx([0.32, 0.045], rel=0.05)


def test_the_estimator_offers_it_and_checks_declarations() -> None:
    pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")
    rows = np.outer(np.linspace(-1, 1, 2000), [0.8, 0.4, 0.0])
    model = PCA(1, epsilon=1000, bounds=(-1, 1), solver="chosen").fit(rows)
    assert abs(model.components_[0] @ [0.894, 0.447, 0]) > 0.9
    with pytest.raises(InvalidParameter, match="solver"):
        PCA(epsilon=1, bounds=(-1, 1), solver="chosen").fit(rows)
    with pytest.raises(InvalidParameter, match="solver"):
        PCA(1, epsilon=1, bounds=(-1, 1), solver="other").fit(rows)
    with pytest.raises(InvalidParameter, match="components"):
        ChosenComponents.calibrated(PureDP(1), **BOUNDS, components=4)
