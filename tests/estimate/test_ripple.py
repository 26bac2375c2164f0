"""Filling negative cells from their neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dither.errors import InvalidParameter
from dither.estimate.ripple import ripple


def step_by_step(table: np.ndarray) -> np.ndarray:
    """Fill the negative cells of a round one by one, each from the cells at Hamming distance 1, by definition."""
    found = table.copy()
    for _ in range(1000):
        below = [place for place in np.ndindex(found.shape) if found[place] < -1e-9 * np.abs(table).max()]
        if not below:
            return found
        debts = {place: -found[place] for place in below}
        for place in below:
            found[place] = 0
        for place, debt in debts.items():
            near = [other for other in np.ndindex(found.shape) if np.count_nonzero(np.subtract(place, other)) == 1]
            for other in near:
                found[other] -= debt / len(near)
    return found


@given(arrays(np.float64, (2, 3, 2), elements=st.integers(-3, 20)))
def test_it_does_what_its_definition_says(table: np.ndarray) -> None:
    found = ripple(table)
    assert (found >= 0).all()
    if table.sum() > 0:
        assert found.sum() == pytest.approx(table.sum())
        expected = step_by_step(table)
        if (expected >= -1e-6).all():
            assert found == pytest.approx(expected, abs=1e-6)


def test_odd_tables() -> None:
    assert ripple([[-1.0, -2.0]]).tolist() == [[0.0, 0.0]]
    assert ripple(7.0).tolist() == 7.0
    assert ripple(np.zeros((0, 2))).shape == (0, 2)
    assert ripple([3.0, -0.5, 1.0], threshold=1).tolist() == [3.0, -0.5, 1.0]


@pytest.mark.parametrize(
    ("words", "parameter"),
    [
        ({"values": [np.nan]}, "values"),
        ({"values": [1], "threshold": -1}, "threshold"),
        ({"values": [1], "rounds": 0}, "rounds"),
    ],
)
def test_refusals(words: dict[str, object], parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        ripple(**words)  # type: ignore[arg-type]
    assert caught.value.parameter == parameter
