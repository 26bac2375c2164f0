"""Public arrays stay what they were when a record was checked."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from dither.mechanisms import PublicArray


def test_nothing_makes_a_public_array_writable() -> None:
    array = PublicArray([[0, 1], [1, 0]])
    for view in (array.values, array.values[0], array.values.reshape(-1)):
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.setflags(write=True)
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 5
    assert array.values.tolist() == [[0, 1], [1, 0]]


def test_what_an_array_was_made_from_may_change() -> None:
    given = np.array([1, 2])
    array = PublicArray(given)
    given[0] = 2**50
    assert array.values.tolist() == [1, 2]


def test_copies_are_equal() -> None:
    array = PublicArray([1.5, 2.5])
    for same in (copy.copy(array), copy.deepcopy(array), pickle.loads(pickle.dumps(array))):  # noqa: S301 - made here
        assert same == array
        assert not same.values.flags.writeable
