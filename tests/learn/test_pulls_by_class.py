"""Pulls of several classes, class by class, are those of the rows one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dither.learn.linear import gradients
from dither.learn.linear.gradients import PULL, _table, pulls
from dither.learn.rows import into_ball

SCORES = st.integers(-(2**51), 2**51) | st.integers(-(2**27), 2**27)


@given(st.integers(2, 5).flatmap(lambda width: st.lists(st.tuples(*[SCORES] * width), min_size=1, max_size=4)))
def test_several_classes_are_pulled_as_row_by_row(rows: list[tuple[int, ...]]) -> None:
    """Against integers: the table's heights by an exact quotient, then the ball of ``rows``."""
    classes = np.arange(len(rows)) % len(rows[0])
    wanted = []
    for row, own in zip(rows, classes, strict=True):
        places = [min((max(row) - score) // gradients._FINE, gradients._FINE_CELLS - 1) for score in row]
        raised = [float(_table("exponential")[place]) for place in places]
        pull = [math.floor(height * PULL / sum(raised)) for height in raised]
        pull[own] -= PULL
        wanted.append(pull)
    found = pulls("logistic", np.array(rows, dtype=np.float64), classes)
    assert found.tolist() == into_ball(np.array(wanted, dtype=np.float64), PULL, PULL).tolist()
    assert all(sum(int(one) ** 2 for one in row) <= PULL**2 for row in found.tolist())


@given(st.lists(SCORES, min_size=1, max_size=6))
def test_cells_are_quotients_rounded_down(scores: list[int]) -> None:
    reach = gradients._REACH * gradients._CELLS
    wanted = [min(max(score // gradients._CELL, -reach), reach - 1) + reach for score in scores]
    assert gradients._cells(np.array(scores, dtype=np.float64)).tolist() == wanted


def test_cells_have_the_length_of_a_power_of_two() -> None:
    for length in (gradients._FINE, gradients._CELL):
        assert length & (length - 1) == 0
