"""Bins that follow the mass: as many as asked for, whatever the counts; heaps alone; narrow where rows are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dither.errors import InvalidParameter
from dither.estimate.mass_bins import FAN_OUT, bin_starts, level_sizes

HUGE = st.floats(-1e18, 1e18) | st.sampled_from([0.0, 1.0, -1.0])


@settings(max_examples=60)
@given(st.data())
def test_there_are_exactly_as_many_as_asked_for_and_they_hold_all_cells(data: st.DataObject) -> None:
    cells = data.draw(st.integers(2, 200))
    bins = data.draw(st.integers(2, cells))
    levels = [data.draw(arrays(np.float64, size, elements=HUGE)) for size in level_sizes(cells)]
    starts = bin_starts(levels, [data.draw(st.floats(0, 100)) for _ in levels], bins)
    assert len(starts) == bins
    assert (starts[0], starts[-1]) == (0, cells - 1)
    assert (np.diff(starts) > 0).all()


def starts_of(counts: np.ndarray, bins: int) -> list[int]:
    levels = [
        np.add.reduceat(counts, np.arange(0, counts.size, FAN_OUT**depth)).astype(np.float64)
        for depth in range(len(level_sizes(counts.size)))
    ]
    return bin_starts(levels, [10.0] * len(levels), bins).tolist()


def test_a_value_that_stands_out_is_alone() -> None:
    counts = np.zeros(100_000, dtype=np.int64)
    heaps = [0, 3103, 3104, 15_024, 99_998]
    counts[heaps] = 50
    starts = starts_of(counts, 64)
    for heap in heaps:
        assert {heap, heap + 1} <= set(starts)


def test_bins_are_narrow_where_rows_are() -> None:
    counts = np.zeros(100_000, dtype=np.int64)
    counts[40_000:40_640] = 9  # none of them stands out by itself, and their blocks do
    starts = np.array(starts_of(counts, 64))
    inside = ((starts >= 40_000 - FAN_OUT) & (starts <= 40_640 + FAN_OUT)).sum()
    assert inside >= 40
    assert np.diff(starts).max() <= 100_000 // 8


def test_odd_requests_are_refused() -> None:
    levels = [np.zeros(10)]
    for bins in (1, 11):
        with pytest.raises(InvalidParameter, match="bins"):
            bin_starts(levels, [1.0], bins)
    with pytest.raises(InvalidParameter, match="levels"):
        bin_starts([np.zeros(100)], [1.0], 5)
