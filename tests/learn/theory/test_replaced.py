"""Statistical queries: a row in the place of another moves a sum by what a row that comes or goes does, and pays so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dither.learn.theory.labelled import counts_of, known_of
from dither.learn.theory.queries import StatisticalQueries
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Loss, PureDP

#: All rows over two points, and three that are not in the universe.
ROWS = [(0, 0), (0, 1), (1, 0), (1, 1), (7, 1), (0, 5), (-1, 0)]


def test_one_row_moves_every_sum_by_one_at_most_however_it_changes() -> None:
    """All tables of two rows, all rows in place of the first, all properties: and 1 is reached."""
    properties = [np.array(bits).reshape(2, 2) for bits in itertools.product((0, 1), repeat=4)]
    reached = 0
    for first, second, other in itertools.product(ROWS, repeat=3):
        here, there = (counts_of(known_of(np.array(rows), 2), 2) for rows in ([first, second], [other, second]))
        # The property that always holds is the number of rows.
        reached = max(reached, *(abs(int((here - there)[holds == 1].sum())) for holds in properties))
    assert reached == 1


@pytest.mark.parametrize("within", [PureDP(1), ZCDP("1/8")], ids=str)
def test_both_units_buy_the_same_noise(within: Loss) -> None:
    came, replaced = (
        StatisticalQueries.calibrated(within, universe=4, questions=7, unit=unit) for unit in (ROW, ROW_REPLACED)
    )
    assert came.part == replaced.part
    assert came.loss(1) == replaced.loss(1) <= within
