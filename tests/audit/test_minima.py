"""Objective perturbation follows its law: the linear terms behind released weights are the noise they should be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.audit import minima
from dither.audit.goodness import noise_test
from dither.audit.minima import minima_test

DRAWS = 1100
ALARM = 1e-9


@pytest.fixture(scope="module")
def terms() -> dict[Any, Any]:
    """Draw the weights once for all tests."""
    return {part.part: minima.linear_terms(part, DRAWS) for part in minima._parts().values()}


@pytest.mark.statistical(n=DRAWS, false_alarm=ALARM, catches="weights that are not at the minimum of their objective")
def test_weights_follow_their_law(terms: dict[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minima, "linear_terms", lambda part, draws: terms[part.part])
    found = minima_test(DRAWS, false_alarm=ALARM)
    assert len(found) == 4
    assert not any(fit.is_refuted for fit, _ in found.values())
    # What would be seen at the size of the whole audit is stated beside it, and smaller.
    assert max(error for _, error in found.values()) < 0.3


@pytest.mark.statistical(n=DRAWS, miss=1e-9, catches="a linear term that is half as long as it should be")
def test_a_shorter_term_is_rejected(terms: dict[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: lengths half of what they should be lie 0.3 away, more than twice what 1,100 draws need."""
    monkeypatch.setattr(minima, "linear_terms", lambda part, draws: terms[part.part] / 2)
    assert sum(fit.is_refuted for fit, _ in minima_test(DRAWS, false_alarm=ALARM).values()) == 2


def test_the_gradient_is_that_of_the_loss() -> None:
    """By differences of the loss itself, on weights of no account."""
    part: Any = minima._parts()["pure"]
    records, sides = minima._RECORDS[:, :2], 2 * minima._RECORDS[:, 2] - 1

    def objective(weights: Any) -> Any:
        return np.logaddexp(0, -sides * (records @ weights)).sum() + float(part.penalty) / 2 * weights @ weights

    class Fixed:
        penalty = Fraction(2)

        def draw_many(self, rows: Any, count: int, noise: Any) -> Any:
            return np.array([[0.3, -1.2], [2.0, 0.5]])[:count]

    for weights, term in zip(Fixed().draw_many(None, 2, None), minima.linear_terms(Fixed(), 2), strict=True):  # type: ignore[arg-type]
        steps = [1e-6 * np.eye(2)[axis] for axis in range(2)]
        slope = [(objective(weights + step) - objective(weights - step)) / 2e-6 for step in steps]
        # Records were rounded to 2^-14.
        assert -term == pytest.approx(slope, abs=1e-3)


def test_uniform_angles_are_what_directions_have() -> None:
    angles = np.linspace(-np.pi, np.pi, 10_001)
    assert noise_test(angles, lambda x: minima._directions(x, 1.0)).distance < 1e-3
