"""The benchmark of queries runs at a small size, and what it compares are the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.data.engines.duckdb import DuckDBEngine
from tools.bench.queries import (
    PLAIN,
    PLAIN_BOUNDED,
    ROWS_A_PERSON,
    RivalFigures,
    measure_queries,
    measure_rival,
    requests,
    rival_line,
    table,
    write_rows,
)

duckdb = pytest.importorskip("duckdb")


def test_figures_are_measured_in_one_run_with_the_load(tmp_path: Path) -> None:
    figures = measure_queries(2000, repeats=1, folder=tmp_path)
    assert [one.task for one in figures] == ["row unit", "row unit, public keys", "user unit, public keys"]
    assert all(one.ratio > 0 and "load" in one.load for one in figures)
    assert set(figures[-1].plain) == set(PLAIN_BOUNDED)
    assert table(figures).row_count == 3


def test_plain_and_protected_queries_count_the_same_rows(tmp_path: Path) -> None:
    """The bound leaves other rows of a person than the plain forms do, but as many."""
    file = tmp_path / "rows.parquet"
    write_rows(file, 3000, 300)
    plain = {row[:2]: row[2] for row in duckdb.sql(PLAIN.replace("{file}", str(file))).fetchall()}
    bounded = PLAIN_BOUNDED["window, two keys"][1].replace("{file}", str(file))
    kept = sum(row[2] for row in duckdb.sql(bounded).fetchall())
    assert kept < 300 * ROWS_A_PERSON
    for task, (dataset, aggregation) in requests(file).items():
        with DuckDBEngine(dataset) as engine:
            answer = engine.aggregate(aggregation)
        counts = {key: row[0] for key, row in zip(answer.keys, answer.measures, strict=True)}
        if task.startswith("row unit"):
            assert counts == plain
        else:
            assert sum(counts.values()) == kept


def test_the_rival_is_measured_where_it_is_installed_and_named_where_it_is_not() -> None:
    assert measure_rival(1000, None) is None
    assert "absent" in rival_line(None)
    assert "12.0 times its rate (goal 10)" in rival_line(RivalFigures(1000, 0.25, 3.0))


def test_areas_and_kinds_go_together_in_every_way(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.parquet", 20_000, 4000)
    rows = duckdb.read_parquet(str(tmp_path / "rows.parquet"))
    assert len(rows.project("area, kind").distinct().fetchall()) == 1000
