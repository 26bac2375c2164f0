"""Records with weights: exact marginals, rounding of all weights together."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.publish.marginals import Attributes
from dither.publish.synthetic import Model, WeightedRecords

ATTRIBUTES = Attributes.of({"a": 2, "b": 3})
RECORDS = [[1, 2], [0, 0], [1, 2], [0, 1]]


def test_marginals_are_sums_of_weights() -> None:
    """Of every set of attributes; records that are the same count together."""
    bag = WeightedRecords(ATTRIBUTES, 40.0, RECORDS, [1, 4, 2, 1])
    assert len(bag.records) == 3
    np.testing.assert_allclose(bag.table((0, 1)), [[20, 5, 0], [0, 0, 15]])
    np.testing.assert_allclose(bag.table((1,)), [20, 5, 15])
    np.testing.assert_allclose(bag.table(()), 40)


@pytest.mark.parametrize("rows", [0, 1, 8, 1001])
def test_drawn_records_are_rounded_down_or_up(rows: int) -> None:
    """No record comes more or less often than its weight says, but for less than one."""
    bag = WeightedRecords(ATTRIBUTES, 40.0, RECORDS, [1, 4, 2, 1])
    drawn = bag.draw(rows, public_generator())
    counts = ATTRIBUTES.count(ATTRIBUTES.codes(drawn), (0, 1))
    assert (np.abs(counts - bag.table((0, 1)) / 40 * rows) < 1).all()
    assert drawn.shape == (rows, 2)


def test_odd_weights() -> None:
    """Equal ones by default and where none has any; very large and very small ones overflow nothing."""
    equal = WeightedRecords(ATTRIBUTES, 3.0, RECORDS[1:])
    assert equal == WeightedRecords(ATTRIBUTES, 3.0, RECORDS[1:], [0, 0, 0])
    np.testing.assert_allclose(equal.table((0,)), [2, 1])
    wide = WeightedRecords(ATTRIBUTES, 3.0, RECORDS[1:], [1e308, 1e308, 1e-308])
    np.testing.assert_allclose(wide.table((0,)), [1.5, 1.5])


def test_it_is_read_as_it_was_written() -> None:
    """Through JSON and back, and nothing damaged."""
    bag = WeightedRecords(ATTRIBUTES, 40.0, RECORDS, [1, 3, 3, 0.1])
    written = json.loads(json.dumps(bag.to_dict()))
    assert Model.from_dict(written) == bag
    assert "3 records" in repr(bag)
    damages: list[tuple[str, Any]] = [
        ("records", [[0, 0]]),
        ("records", [[0, 0], [0, 1], [1, 3]]),
        ("records", [[0, 0], [0, 0], [1, 2]]),
        ("records", [[0, 0], [0, 1.0], [1, 2]]),
        ("weights", [0.5, 0.5, 0.5]),
        ("weights", [0.5, -0.5, 1.0]),
        ("weights", [0.5, float("nan"), 0.5]),
        ("weights", None),
    ]
    for field, value in damages:
        with pytest.raises(InvalidParameter):
            Model.from_dict({**written, field: value})


def test_what_is_refused() -> None:
    """No record, another width, values out of range, weights of another number."""
    for records, weights in (([], None), ([[0]], None), ([[0, 3]], None), ([[0.0, 1.0]], None), ([[0, 1]], [1, 2])):
        with pytest.raises(InvalidParameter):
            WeightedRecords(ATTRIBUTES, 1.0, np.array(records), weights)
    wide = Attributes.of({f"c{number}": 1000 for number in range(3)})
    with pytest.raises(InvalidParameter, match="cells"):
        WeightedRecords(wide, 1.0, [[0, 0, 0]]).table((0, 1, 2))
