"""Words of SQL and of its dialects: functions that people write, and what is said of those that are not understood."""

from __future__ import annotations

import pytest

from dither.data.reference import ReferenceEngine
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import PureDP, Use
from dither.publish.queries import plan_query, present
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import LOOSE, tables


def released(sql: str, epsilon: int = 10**9) -> list[tuple[object, ...]]:
    """Return what is released of the clinic's rows with next to no noise."""
    answer = plan_query(parse_sql(sql, LOOSE), PureDP(epsilon))
    data = ReferenceEngine(LOOSE, tables())
    return list(present(answer, Runner(Use(answer), system_noise())(answer, data)).rows)


def test_a_clamp_with_a_fraction_makes_reals_of_integers() -> None:
    """The sum of integers clamped to [2, 3.5] has halves: its bounds are not those of the integers between."""
    ages = [row["age"] for row in tables()["visits"]]
    changes = [row["change"] for row in tables()["visits"]]
    ((first, second, third),) = released(
        "SELECT SUM(CLAMP(age, 2, 3.5)), AVG(CLAMP(change, -2.5, 2.5)), SUM(CLAMP(age, 2, 3)) FROM visits"
    )
    assert first == pytest.approx(sum(min(max(age, 2), 3.5) for age in ages), abs=1e-3)
    assert second == pytest.approx(sum(min(max(one, -2.5), 2.5) for one in changes) / len(changes), abs=1e-3)
    assert third == sum(min(max(age, 2), 3) for age in ages)
