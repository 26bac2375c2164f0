"""The model that a conversation begins with: what is known of the noise of an answer, against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.lift.attributes import Attributes, Axes
from dither.publish.interactive.first_model import FirstModel

PEOPLE = Attributes.of({"a": 2, "b": 3, "c": 2})
VARIANCES: dict[Axes, float] = {(0, 1): 2.0, (0, 2): 1.0, (1, 2): 5.0}


@pytest.mark.parametrize("sets", [tuple(VARIANCES), ((0, 1), (1, 2)), ((0, 1),)])
def test_the_variance_of_an_estimate_and_the_share_of_one_draw(sets: tuple[Axes, ...]) -> None:
    """An estimate is linear in the noisy cells: its weights are read off cell by cell, for every question on a pair."""
    nothing = {axes: np.zeros(PEOPLE.shape_of(axes)) for axes in sets}
    variances = {axes: VARIANCES[axes] for axes in sets}
    one_cell = []
    for axes in sets:
        for place in np.ndindex(*PEOPLE.shape_of(axes)):
            noisy = {other: table.copy() for other, table in nothing.items()}
            noisy[axes][place] = 1.0
            one_cell.append((VARIANCES[axes], FirstModel(PEOPLE, noisy, variances)))
    plain = FirstModel(PEOPLE, nothing, variances)
    for bits in itertools.product((False, True), repeat=6):
        question = np.broadcast_to(np.array(bits).reshape(2, 3, 1), PEOPLE.sizes).copy()
        known = plain.estimate(question)
        assert known is not None
        parts = []
        for variance, model in one_cell:
            found = model.estimate(question)
            assert found is not None
            parts.append(variance * found.answer**2)
        assert known.variance == pytest.approx(math.fsum(parts), abs=1e-9)
        if any(bits):
            assert known.largest >= max(parts) - 1e-9
        assert known.largest <= 9 * max(max(parts), VARIANCES[sets[0]])


def test_single_columns_of_the_table_are_those_of_least_squares() -> None:
    """Along a wide column noise below 0 is taken off in many empty cells; sums along the column stay what they were."""
    wide = Attributes.of({"age": 60, "country": 30, "sex": 2})
    true = np.zeros(wide.sizes)
    true[:30, 0] = 200.0
    noisy = {}
    for axes in ((0, 1), (0, 2), (1, 2)):
        table = true.sum(axis=tuple(axis for axis in range(3) if axis not in axes))
        noisy[axes] = table + 28 * np.cos(7.0 * np.arange(table.size) ** 2).reshape(table.shape)
    model = FirstModel(wide, noisy, dict.fromkeys(noisy, 800.0))
    young = np.zeros(wide.sizes, dtype=bool)
    young[:30] = True
    known = model.estimate(young)
    assert known is not None
    assert abs(float(model.table[young].sum()) - known.answer) < 3 * math.sqrt(known.variance)
