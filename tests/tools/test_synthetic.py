"""The benchmark of synthetic tables runs, on made-up tables, and its figures mean what they say."""

from __future__ import annotations

import numpy as np
import pytest

from dither.bench.compared.data import Records
from dither.lift.attributes import Attributes
from dither.privacy import ApproxDP, PureDP
from tools.bench.synthetic import accuracy_of, measure, measure_counting
from tools.bench.wide_columns import WideTable
from tools.bench.wide_columns import measure as measure_wide


def small() -> Records:
    rows = np.array([[n % 2, n % 2, (n // 2) % 3] for n in range(600)])
    return Records(Attributes.of({"a": 2, "b": 2, "c": 3}), rows)


def test_methods_are_measured_and_ordered_as_they_must_be() -> None:
    loss = ApproxDP(50, "1e-3")
    alone, tree = measure(small(), ("independent", "mst"), loss, order=2, runs=1)
    # a and b are equal, which independent columns cannot say: 1/2 on one of three pairs.
    assert 0.1 < alone.variation < 0.25
    assert tree.variation < 0.05
    assert tree.seconds > 0


def test_a_classifier_learns_from_like_rows() -> None:
    pytest.importorskip("sklearn")
    rows = small().rows[:, [2, 0, 1]]
    assert accuracy_of(rows, rows) == 1
    assert accuracy_of(rows[rows[:, 2] == 0], rows) == 0.5


def test_counting_is_timed() -> None:
    [(count, seconds)] = measure_counting((1000,), columns=3)
    assert count == 1000
    assert seconds > 0


def test_ways_to_bin_wide_columns_are_compared() -> None:
    """Half of the rows are at one value of 10,000: found bins keep it, and public ones spread it over 40 values."""
    pytest.importorskip("pyarrow")
    rows = "SELECT i % 2 AS sex, CASE WHEN i % 2 = 0 THEN 4711 ELSE i * 13 END AS paid FROM range(700) AS t(i)"
    table = WideTable(rows, {"paid": (0, 9_999)}, ("sex",))
    assert list(table.public) == ["paid"]
    public, found = measure_wide("made up", table, PureDP(1000), {"public": table.public, "found": {}}, runs=1)
    assert public.values > found.values + 0.3
    assert found.pairs < 0.2
    assert found.seconds > 0
