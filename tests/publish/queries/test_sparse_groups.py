"""Intervals over empty and nearly empty groups: totals of grouping sets, and the aggregates of two columns.

Groups are replicates, as in ``test_sharp_intervals``: n and the false alarm of 1e-9 are stated.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.checks.law import coverage_is_refuted
from dither.data import Column, DataSet, Kind, Table
from dither.data.reference import ReferenceEngine
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ROW, ZCDP, Loss, PureDP, Use
from dither.publish.queries import QueryResult, plan_query, plan_report, present, present_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql import parse_request

FALSE_ALARM = 1e-9
GROUPS = 150
LOSSES: list[Loss] = [
    made
    for epsilon in ("0.1", "1", "10", "100", "10000")
    for made in (PureDP(epsilon), ZCDP(Fraction(epsilon) ** 2 / 2))
]
COLUMNS = (
    Column("k", Kind.INTEGER, lower=0, upper=GROUPS - 1),
    Column("x", Kind.INTEGER, lower=0, upper=16),
    Column("y", Kind.REAL, lower=0.0, upper=64.0),
)
VISITS = DataSet("clinic", (Table("visits", COLUMNS, "visits.csv"),), ROW)
#: No row, one row, and three in every group.
ROWS: list[list[tuple[int, float]]] = [[], [(3, 1.0)], [(3, 1.0), (15, 60.0), (0, 9.5)]]


def answered(text: str, rows: list[tuple[int, float]], loss: Loss, drawn: Loss | None = None) -> QueryResult:
    """Return an answer; a twin is drawn with another loss than its reader believes."""
    asked = parse_request(text, VISITS)
    engine = ReferenceEngine(VISITS, {"visits": [{"k": k, "x": x, "y": y} for k in range(GROUPS) for x, y in rows]})
    if isinstance(asked, Report):
        loud = plan_report(asked, drawn or loss)
        return present_report(plan_report(asked, loss), Runner(Use(loud), system_noise())(loud, engine))
    noisy = plan_query(asked, drawn or loss)
    return present(plan_query(asked, loss), Runner(Use(noisy), system_noise())(noisy, engine))


def hits(result: QueryResult, name: str, truth: float | None, whole: tuple[float, float]) -> int:
    """Return in how many of the groups the truth is covered; of no values, whether all that is possible is."""
    ends: list[Any] = list(result.interval(name))[:GROUPS]
    low, high = (truth, truth) if truth is not None else whole
    return sum(
        least - 1e-9 <= low + 1e-6 and high - 1e-2 * abs(high) * (truth is None) <= most + 1e-9 for least, most in ends
    )


@pytest.mark.statistical(false_alarm=90 * FALSE_ALARM, miss=1e-9)
def test_totals_of_sparse_groups_are_covered() -> None:
    """n = 150 groups below one total, for ten losses. Would catch: a fit that moves an interval away from 0."""
    text = "SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM visits GROUP BY ROLLUP (k)"
    for rows, loss in itertools.product(ROWS, LOSSES):
        result = answered(text, rows, loss)
        assert len(result.rows) == GROUPS + 1
        xs = [x for x, _ in rows]
        truths = {"n": len(xs), "s": sum(xs), "m": sum(xs) / len(xs) if xs else None}
        for name, truth in truths.items():
            found = hits(result, name, truth, (0, 16))
            assert not coverage_is_refuted(found, GROUPS, 0.95, FALSE_ALARM), (name, rows, loss, found)
    twin = hits(answered(text, ROWS[2], PureDP(100), PureDP(2)), "m", sum(x for x, _ in ROWS[2]) / 3, (0, 16))
    assert coverage_is_refuted(twin, GROUPS, 0.95, FALSE_ALARM), twin


@pytest.mark.statistical(false_alarm=70 * FALSE_ALARM, miss=1e-9)
def test_aggregates_of_two_columns_of_sparse_groups_are_covered() -> None:
    """n = 150 groups, ten losses. Would catch: a slope or a covariance that a group of one row seems to have."""
    text = (
        "SELECT k, COVAR_POP(x, y) AS c, REGR_SLOPE(y, x) AS b, REGR_AVGX(y, x) AS a, COUNT(DISTINCT x) AS d "
        "FROM visits GROUP BY k"
    )
    for rows, loss in itertools.product(ROWS[1:], LOSSES):
        result = answered(text, rows, loss)
        xs, ys = ([row[side] for row in rows] for side in (0, 1))
        covariance = float(np.cov(xs, ys, ddof=0)[0, 1]) if len(rows) > 1 else 0.0
        truths = {"c": covariance, "a": sum(xs) / len(xs), "d": len(set(xs))}
        if len(rows) > 1:
            truths["b"] = covariance / float(np.var(xs))
        for name, truth in truths.items():
            found = hits(result, name, truth, (0, 0))
            assert not coverage_is_refuted(found, GROUPS, 0.95, FALSE_ALARM), (name, rows, loss, found)
    twin = hits(answered(text, ROWS[2], PureDP(100), PureDP(5)), "c", covariance, (0, 0))
    assert coverage_is_refuted(twin, GROUPS, 0.95, FALSE_ALARM), twin
