"""k-member clustering beside a slow twin that looks at every row of every cluster anew."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.disguise import KMember, Roles, Rules
from dither.disguise.k_member import clusters, line_of
from dither.disguise.table import Column


def width(cells: dict[str, list[Any]], rows: list[int]) -> Fraction:
    ages = [cells["age"][row] for row in rows]
    every = cells["age"]
    return Fraction(max(ages) - min(ages), max(every) - min(every)) + Fraction(
        len({cells["ward"][row] for row in rows}) - 1, len(set(cells["ward"])) - 1
    )


def twin(cells: dict[str, list[Any]], k: int) -> list[list[int]]:
    left, found, last = list(range(len(cells["age"]))), [], 0
    while len(left) >= k:
        last = max(left, key=lambda row: width(cells, [last, row]))
        made = [last]
        left.remove(last)
        while len(made) < k:
            row = min(left, key=lambda row: width(cells, [*made, row]))
            made.append(row)
            left.remove(row)
        found.append(made)
    for row in left:
        best = min(
            found, key=lambda some: (len(some) + 1) * width(cells, [*some, row]) - len(some) * width(cells, some)
        )
        best.append(row)
    return found


@pytest.mark.parametrize(("rows", "k"), [(5, 2), (17, 3), (23, 4), (6, 6), (7, 1)])
def test_clusters_are_those_of_the_slow_twin(rows: int, k: int) -> None:
    numbers = np.random.default_rng()
    # Sixteenths and quarters are exact as floats, so that equal widths are equal in both.
    cells = {
        "age": [0, 16, *numbers.integers(0, 17, rows - 2).tolist()],
        "ward": [*"abcde", *numbers.choice(list("abcde"), rows - 5).tolist()],
    }
    of_row = clusters([line_of(Column.of(cells[name])) for name in ("age", "ward")], k)
    found = [sorted(np.flatnonzero(of_row == place).tolist()) for place in range(int(of_row.max()) + 1)]
    assert found == [sorted(some) for some in twin(cells, k)]
    assert min(map(len, found)) >= k


def test_rows_without_a_number_and_constant_columns_are_clustered() -> None:
    table = {"age": [None, None, 3, 3], "ward": ["x"] * 4}
    shown = KMember(Roles(("age", "ward")), Rules(k=2)).apply(table).frame()
    assert shown["age"] == [None, None, 3, 3]
