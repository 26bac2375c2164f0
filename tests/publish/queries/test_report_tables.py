"""Queries of different tables in one report: what a row can change, by brute force, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dither.data.reference import ReferenceEngine
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP, Use
from dither.publish.queries import ReportAnswer, plan_report, present_report
from dither.publish.queries.reports.mechanism import queries_apart
from dither.publish.queries.reports.quoting import quote_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql import parse_request
from dither.testing import replay
from tests.publish.queries.exact import CLINIC, LOOSE, tables

VISITS, LAB = "SELECT 'v' AS t, COUNT(*) AS n FROM visits", "SELECT 'l', COUNT(*) FROM lab"
BOTH = "SELECT 'b', COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT 1 FROM lab)"
OLD = "SELECT 'o', SUM(CLAMP(age, 0, 99)) FROM visits WHERE age > 40"
GROUPED = "SELECT region, COUNT(*) FROM visits GROUP BY region"
APART: dict[tuple[str, ...], list[list[int]]] = {
    (VISITS, LAB): [[0], [1]],
    (VISITS, LAB, OLD): [[0, 2], [1]],
    (GROUPED, LAB): [[0], [1]],
    (VISITS, LAB, BOTH): [[0, 1, 2]],
    (VISITS, BOTH): [[0, 1]],
    (VISITS, OLD): [[0, 1]],
}


def report_of(texts: tuple[str, ...], dataset: Any = LOOSE) -> Report:
    report = parse_request(" UNION ALL ".join(texts), dataset)
    assert isinstance(report, Report)
    return report


def engine(rows: dict[str, list[Any]]) -> ReferenceEngine:
    return ReferenceEngine(LOOSE, rows)


SMALL = {name: list(rows)[:6] for name, rows in tables().items()}


@pytest.mark.parametrize("texts", APART, ids=str)
def test_a_row_changes_what_one_group_of_queries_sees(texts: tuple[str, ...]) -> None:
    """Every row of either table taken out; the exact numbers of every query before and after, and the replay."""
    planned = plan_report(report_of(texts), PureDP(1))
    assert [list(group) for group in planned.groups] == APART[texts]
    whole = engine(SMALL)

    def exact(data: ReferenceEngine) -> list[Any]:
        found = []
        for answer in planned.answers:
            answers = [data.aggregate(asked) for asked in answer.aggregations()]
            found.append([dict(zip(one.keys, one.measures, strict=True)) for one in answers])
        return found

    before, changed_at_all = exact(whole), set()
    for name in ("visits", "lab"):
        for place in range(len(SMALL[name])):
            fewer = engine({**SMALL, name: SMALL[name][:place] + SMALL[name][place + 1 :]})
            changed = {
                query for query, (one, other) in enumerate(zip(before, exact(fewer), strict=True)) if one != other
            }
            assert sum(bool(changed & set(group)) for group in planned.groups) <= 1
            changed_at_all |= changed
            if place < 2:
                assert replay(planned, whole, fewer) == []
    assert changed_at_all == set(range(len(planned.answers)))


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6")], ids=str)
def test_tables_that_share_no_row_each_have_the_whole_loss(loss: Loss) -> None:
    planned = plan_report(report_of((VISITS, LAB, OLD)), loss)
    assert planned.loss(1) <= loss
    assert planned.weights == (Fraction(1, 2), Fraction(1), Fraction(1, 2))
    assert planned.answers[1].loss(1) == plan_report(report_of((LAB, VISITS)), loss).answers[0].loss(1)
    quoted = quote_report(planned)
    assert quoted.loss == planned.loss(1)
    drawn = Runner(Use(planned), system_noise())(planned, engine(SMALL))
    assert len(present_report(planned, drawn).rows) == 3


def test_shares_are_of_the_queries_that_see_the_same_rows() -> None:
    report = report_of((VISITS, LAB, OLD))
    planned = plan_report(report, PureDP(1), shares={"release_1": 3, "release_2": 7, "release_3": 1})
    assert [answer.loss(1) for answer in planned.answers] == [PureDP("3/4"), PureDP(1), PureDP("1/4")]


@pytest.mark.parametrize("dataset", [CLINIC, replace(LOOSE, unit=ROW_REPLACED)], ids=["people", "replaced rows"])
def test_people_and_replaced_rows_may_be_in_both_tables(dataset: Any) -> None:
    texts = ("SELECT 'v' AS t, COUNT(*) AS n FROM visits", LAB)
    assert queries_apart(report_of(texts, dataset)) == ((0, 1),)
    assert queries_apart(replace(report_of(texts), dataset=LOOSE)) == ((0,), (1,))
    assert LOOSE.unit == ROW


def test_a_plan_that_took_overlapping_queries_apart_is_caught() -> None:
    """The twin: two queries of one table as if they were of two; the replay sees a row in both parts."""
    planned = plan_report(report_of((VISITS, OLD)), PureDP(1))
    broken = ReportAnswer(report=planned.report, target=PureDP(2), noise=planned.noise)
    broken.__dict__.update(groups=((0,), (1,)), answers=planned.answers)
    broken.__dict__.pop("fixed_plan", None)
    old = next(place for place, row in enumerate(SMALL["visits"]) if (row["age"] or 0) > 40)
    without = engine({**SMALL, "visits": SMALL["visits"][:old] + SMALL["visits"][old + 1 :]})
    assert replay(broken, engine(SMALL), without)
