"""One odd transaction changes no other, and refuses nobody's, whatever it is and however items are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither.learn.itemsets import Transactions

ODD: list[Any] = [None, 3.5, "x", b"x", {}, object(), np.array(2), np.zeros((2, 2)), [[0]], [None, "x", 10**400], 1j]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_one_odd_transaction_changes_no_other(odd: Any) -> None:
    for made, rows in (
        (lambda data: Transactions.of(3, data), [[0, 2], [1]]),
        (lambda data: Transactions.named(["a", "b", "c"], data), [["a", "c"], ["b"]]),
    ):
        with_it = made([rows[0], odd, rows[1]])
        parts = [with_it.values[a:b].tolist() for a, b in zip(with_it.offsets, with_it.offsets[1:], strict=False)]
        assert (parts[0], parts[2]) == ([0, 2], [1])
