"""The error of a column as a sentence: a group is named in which it is small, and no smaller one."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from dither.publish.queries.expected_error import OWN_UNIT, PER_VALUE, PER_VALUE_SQUARED, ExpectedError

SIZES = st.floats(1e-6, 1e9)


@given(st.floats(1e-6, 1e12), SIZES, st.sampled_from([PER_VALUE, PER_VALUE_SQUARED]))
def test_the_group_is_the_first_round_one_with_an_error_of_a_twentieth_of_the_range(
    error: float, size: float, unit: str
) -> None:
    found = ExpectedError(error, unit, size)
    rows = found.rows()
    assert str(rows).rstrip("0") in ("1", "2", "5")
    assert found.at(rows) <= size / 20 * (1 + 1e-6)
    smaller = rows * 2 // 5 if str(rows)[0] == "5" else rows // 2
    assert rows == 100 or found.at(smaller) > size / 20 * (1 - 1e-6)
    assert f"in a group of {rows:,} rows" in found.words()


def test_the_sentence_has_the_unit_that_people_write() -> None:
    assert (
        ExpectedError(19920.0, PER_VALUE, 240.0, "minutes").against(ExpectedError(39840.0, PER_VALUE, 240.0, "minutes"))
        == "± 4 minutes instead of ± 8 in a group of 5,000 rows"
    )
    assert ExpectedError(3.0, "people").words() == "± 3 people"
    assert ExpectedError(3.0, OWN_UNIT).words() == "± 3"
    assert ExpectedError(3.0, "rows fewer than the commonest").words() == "at most 3 rows fewer than the commonest"
    # A standard deviation is off by at most the root of what its variance is off by.
    assert math.isclose(ExpectedError(900.0, PER_VALUE_SQUARED, 60.0).at(100), 3.0)


def test_an_error_without_end_is_a_sentence_too() -> None:
    assert "inf" in ExpectedError(math.inf, PER_VALUE, 1.0).words()
