"""Controlled rounding against all roundings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate.rounding import largest_remainder, round_tree
from dither.estimate.trees import block_sums, fit_tree


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=7))
def test_no_rounding_with_that_total_is_nearer(quarters: list[int]) -> None:
    values = np.array(quarters) / 8
    found = largest_remainder(values)
    assert found.sum() == round(values.sum())
    choices = itertools.product(*({int(np.floor(value)), int(np.ceil(value))} for value in values))
    best = min(np.abs(np.array(choice) - values).sum() for choice in choices if sum(choice) == found.sum())
    assert np.abs(found - values).sum() == pytest.approx(best)


@given(st.lists(st.integers(-99, 99), min_size=12, max_size=12), st.integers(-99, 99))
def test_trees_stay_trees(cells: list[int], moved: int) -> None:
    noisy = np.array(cells, dtype=float) / 4
    levels = [noisy, block_sums(noisy, (3,)) + moved / 8, block_sums(block_sums(noisy, (3,)), (2,))]
    fit = fit_tree(levels, [1.0, 2.0, 3.0], [(3,), (2,)])
    rounded = round_tree(fit.levels, [(3,), (2,)])
    for level, (whole, real) in enumerate(zip(rounded, fit.levels, strict=True)):
        assert np.abs(whole - real).max() < 1 + 1e-6
        if level:
            assert whole.tolist() == block_sums(rounded[level - 1], ((3,), (2,))[level - 1]).tolist()


def test_planes_stay_planes() -> None:
    cells = np.arange(24).reshape(4, 6) / 7
    rounded = round_tree([cells, block_sums(cells, (2, 2))], [(2, 2)])
    assert block_sums(rounded[0], (2, 2)).tolist() == rounded[1].tolist()
    assert rounded[1].sum() == round(cells.sum())


@pytest.mark.parametrize(("values", "total"), [([0.5, 0.5], 3), ([1e300], None), ([np.nan], None)])
def test_what_cannot_be_rounded_is_refused(values: list[float], total: int | None) -> None:
    with pytest.raises(InvalidParameter):
        largest_remainder(values, total)
