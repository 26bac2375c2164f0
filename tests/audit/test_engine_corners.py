"""Every bound is met from both sides, by values next to it and far beyond, and a clamp of one side alone is found."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dither.audit.engine_corners import RANGES, corner_dataset, corner_grids, corner_rows, promised, try_corners
from dither.data.engines.emit_expressions import ExpressionEmitter
from dither.testing.engines import Engines


def tried(*, far: bool, few: bool = True) -> tuple[int, int]:
    rows = corner_rows(far=far)
    with Engines() as engines, engines.opened("duckdb", corner_dataset(), {"corners": rows}, portable=True) as engine:
        found, differences = try_corners(engine, rows, few=few)
    return sum(one.is_exceeded for one in found), len(differences)


def test_values_are_next_to_every_bound() -> None:
    rows = corner_rows(far=False)
    reals, integers = {row["x"] for row in rows}, {row["a"] for row in rows}
    for low, high, _, _ in RANGES:
        for bound in (low, high):
            assert {bound, math.nextafter(bound, math.inf), math.nextafter(bound, -math.inf)} <= reals
            assert {math.floor(bound) - 1, math.floor(bound) + 1} <= integers


def test_grids_promise_what_is_worked_out_here() -> None:
    for grid in corner_grids():
        assert promised(grid) == (grid.least, grid.most)


@pytest.mark.parametrize("far", [False, True])
def test_an_engine_stays_within_its_bounds(far: bool) -> None:
    assert tried(far=far, few=False) == (0, 0)


@pytest.mark.parametrize("kept", ["lower", "upper"])
def test_a_clamp_of_one_side_alone_is_found(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def clamped(self: Any, sql: str, lower: str, upper: str) -> str:
        sign, bound = ("<", lower) if kept == "lower" else (">", upper)
        return f"(CASE WHEN {sql} {sign} {bound} THEN {bound} ELSE {sql} END)"

    monkeypatch.setattr(ExpressionEmitter, "clamped", clamped)
    exceeded, differences = tried(far=False)
    assert exceeded
    assert differences
