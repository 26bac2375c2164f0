"""Groups of values: neighbours, few enough, of about equal mass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate.value_groups import group_values


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.one_of(st.just(0.0), st.floats(0, 1e6), st.just(1e12)), min_size=1, max_size=60),
    st.integers(1, 20),
)
def test_groups_are_runs_and_few_enough(masses: list[float], most: int) -> None:
    """Numbers of groups begin at 0 and rise by 0 or 1; there are at most ``most``, or a value for each."""
    groups = group_values(masses, most)
    assert groups[0] == 0
    assert set(np.diff(groups).tolist()) <= {0, 1}
    assert groups[-1] + 1 <= min(most, len(masses))
    if len(masses) <= most:
        assert groups.tolist() == list(range(len(masses)))


def test_masses_are_about_equal() -> None:
    """Equal values give groups of equal size, up to one value."""
    sizes = np.bincount(group_values(np.ones(100), 10))
    assert len(sizes) == 10
    assert sizes.max() - sizes.min() <= 1


def test_a_frequent_value_stands_alone() -> None:
    """What has more than the mass of a group shares it with nobody, if its neighbours have enough themselves."""
    masses = np.ones(41)
    masses[20] = 100.0
    groups = group_values(masses, 12)
    assert np.count_nonzero(groups == groups[20]) == 1


def test_very_many_values_are_put_together_first() -> None:
    """A hundred thousand values give groups of equal mass too, and values without any mass change nothing."""
    masses = np.zeros(100_000)
    masses[::10] = 1.0
    groups = group_values(masses, 20)
    sums = np.bincount(groups, masses)
    assert 15 <= len(sums) <= 20
    assert sums.max() <= 1.2 * sums.min()
    assert set(np.bincount(group_values(np.zeros(40), 4)).tolist()) == {10}


def test_what_is_refused() -> None:
    """Negative masses, and no group at all."""
    for masses, most in (([1.0, -1.0], 3), ([1.0], 0), ([float("nan")], 2)):
        with pytest.raises(InvalidParameter, match="masses"):
            group_values(masses, most)
