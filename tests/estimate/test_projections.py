"""Projections against their optimality conditions and a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate.projections import non_negative_with_total, simplex

NUMBERS = st.lists(st.integers(-30, 30), min_size=1, max_size=12)


@given(NUMBERS, st.integers(1, 60), st.data())
def test_no_pair_of_entries_can_be_improved(values: list[int], total: int, data: st.DataObject) -> None:
    """Karush-Kuhn-Tucker: the slope w (x - y) is the same wherever x > 0, and no smaller where x = 0."""
    weights = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values))), dtype=float)
    found = non_negative_with_total(values, total, weights)
    assert found.sum() == pytest.approx(total)
    assert (found >= 0).all()
    slope = weights * (found - np.array(values))
    inside = found > 1e-9
    assert slope[inside] == pytest.approx(np.full(inside.sum(), slope[inside].mean()), abs=1e-6)
    assert (slope[~inside] >= slope[inside].mean() - 1e-6).all()


def test_a_general_solver_agrees() -> None:
    from scipy.optimize import minimize

    values, weights = np.array([3.0, -2.0, 0.5, 8.0, 0.1]), np.array([1.0, 2.0, 0.5, 4.0, 1.0])
    solved = minimize(
        lambda x: (weights * (x - values) ** 2).sum(),
        np.full(5, 1.2),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 6},
        tol=1e-12,
    )
    assert non_negative_with_total(values, 6, weights) == pytest.approx(solved.x, abs=1e-4)


@given(NUMBERS)
def test_the_own_total_is_kept(values: list[int]) -> None:
    found = non_negative_with_total(np.array(values).reshape(1, -1))
    assert found.shape == (1, len(values))
    assert found.sum() == pytest.approx(max(0, sum(values)), abs=1e-9)


@given(NUMBERS)
def test_a_simplex_is_a_simplex(values: list[int]) -> None:
    found = simplex(values)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert simplex(found) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize(("values", "total"), [([1.0], -1), ([np.nan], 1), ([], 1), ([1.0], np.inf)])
def test_odd_input_is_refused(values: list[float], total: float) -> None:
    with pytest.raises(InvalidParameter):
        non_negative_with_total(values, total)


@pytest.mark.parametrize("values", [[2.0**60], [2.0**60, 3.0], [-(2.0**70), 2.0**150, 5.0]], ids=str)
def test_a_total_that_is_lost_beside_the_values_goes_to_the_largest(values: list[float]) -> None:
    found = non_negative_with_total(values, total=1)
    assert found.sum() == 1
    assert found.argmax() == int(np.argmax(values))


def test_a_zero_among_numbers_that_are_not_negative_stays_zero() -> None:
    # As the pruned squares of a map have them. The sum of all and the last of the running sums round differently.
    for size in range(160, 3000, 300):
        values = np.zeros(size)
        full = values[:: size // 50]
        full[:] = np.sqrt(np.arange(1.0, full.size + 1)) / 3
        found = non_negative_with_total(values)
        assert not found[values == 0].any()
        assert found == pytest.approx(values)
