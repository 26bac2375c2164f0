"""Labels of an array are coded as each of them would be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither.data.cell_values import codes_of
from dither.learn.base import _coded
from dither.learn.containers import cells_in

ARRAYS = [
    np.array([2, 0, 1, 5, 0, -1]),
    np.array([2, 0, 1], dtype=np.uint8),
    np.array([2**53, 2**53 + 1, 2**63 - 1]),
    np.array([True, False, True]),
    np.array([0.0, -0.0, 1.0, np.nan, np.inf, 1.5, np.nan]),
    np.array(["a", "0", "1", "2", "", "a"]),
    np.array(["a", 0, None, 1.0, (1,), "0"], dtype=object),
    np.array([[1], [0], [1]]),
    np.array([], dtype=np.int64),
    np.array([], dtype="U3"),
]


@pytest.mark.parametrize("labels", [[0, 1, 2], [0, 2**53, 2**53 + 1], ["a", "0", ""], [False, True]], ids=repr)
@pytest.mark.parametrize("array", ARRAYS, ids=repr)
def test_an_array_is_coded_as_its_cells_are(array: Any, labels: list[Any]) -> None:
    code = codes_of(labels)
    found = _coded(array, code)
    assert found.tolist() == [code(cell) for cell in cells_in(array)]
    assert found.dtype == np.float64
