"""The benchmark by the number of rows measures what it says it measures; no test asserts a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.bench import scale


def test_exponents_are_slopes_and_need_two_sizes() -> None:
    assert scale.exponent([10, 100], [5, 5]) == 0
    assert scale.exponent([1, 10, 100], [2, 2 * 10**1.5, 2 * 10**3]) == 1.5
    assert scale.exponent([10], [1]) is scale.exponent([10, 100], [0, 1]) is None


def test_what_comes_back_does_not_grow_where_the_engine_counts(tmp_path: Path) -> None:
    """Groups and cells are nearly the same number for four times the rows; triangles are counted in the edges."""
    grown = {}
    for name in ("sql: sums by 32 declared groups", "histogram", "graph.triangles"):
        small, large = (scale.run_one(name, rows, tmp_path) for rows in (500, 2000))
        grown[name] = large.returned / small.returned
        assert (small.rows, large.rows) == (500, 2000)
        assert small.megabytes >= 0
    assert grown["sql: sums by 32 declared groups"] == 1
    assert grown["histogram"] < 2
    assert grown["graph.triangles"] > 3


def test_sizes_grow_tenfold_and_stop_before_they_take_too_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = "sql: sums by 32 declared groups"
    monkeypatch.setattr(scale, "LEAST_ROWS", 100)
    [(found, figures)] = scale.measured(1000, tmp_path, [name], scale.run_one)
    assert (found, [one.rows for one in figures]) == (name, [100, 1000])
    monkeypatch.setattr(scale, "_MOST_SECONDS", 0.0)
    [(_, figures)] = scale.measured(1000, tmp_path, [name], scale.run_one)
    assert [one.rows for one in figures] == [100]
    assert scale.table(1000, [name], scale.run_one).row_count == 1
