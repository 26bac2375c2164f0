"""How long an answer may get is known before the charge, from query and schema."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import PublicArray
from dither.privacy import ApproxDP, PureDP
from dither.publish.queries import plan_query, present
from dither.publish.queries.answer import Answer, Answered
from dither.publish.queries.rehearsal import rehearse
from dither.publish.queries.result import QueryResult
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC

LONG = "\N{GRINNING FACE}" * 30
ASKED = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT smoker, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM visits GROUP BY smoker",
    f"SELECT smoker, CASE WHEN smoker THEN '{LONG}' ELSE 'b' END AS t, COUNT(*) * 1.5 AS n FROM visits GROUP BY smoker",
    "SELECT smoker, COUNT(*) > 3 AS many, MEDIAN(age) AS m FROM visits GROUP BY smoker ORDER BY m LIMIT 1",
]


def least_length_that_passes(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the smallest limit under which an answer is not refused: its bound."""
    low, high = 0, 2**20
    while high - low > 1:
        between = (low + high) // 2
        monkeypatch.setattr("dither.lift.stored.LARGEST_ANSWER", between)
        try:
            rehearse(answer)
        except InvalidParameter:
            low = between
        else:
            high = between
    return high


def extreme(answer: Answer, number: int) -> Answered:
    """Return what could be released: every number as long as one can be."""
    design = answer.design
    groups = len(design.groups or ())
    numbers = tuple(PublicArray(np.full(groups, number)) for _ in design.measured)
    levels = tuple(
        tuple(PublicArray(np.full((groups, s.slots, s.children(k)), number)) for k in range(s.levels))
        for s in design.searches
    )
    return Answered(None, numbers, levels)


@pytest.mark.parametrize("text", ASKED)
def test_no_answer_is_longer_than_was_known(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = plan_query(parse_sql(text, CLINIC), PureDP("0.001"))
    bound = least_length_that_passes(answer, monkeypatch)
    lengths = [len(present(answer, extreme(answer, n)).to_json()) for n in (0, 1, -1, 2**60, -(2**60), 10**15 + 7)]
    assert max(lengths) <= bound <= 3 * max(lengths)


def test_a_refusal_says_how_many_rows_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    query = parse_sql("SELECT age, COUNT(*) AS n FROM visits WHERE age BETWEEN 0 AND 99 GROUP BY age", CLINIC)
    answer = plan_query(query, PureDP(1))
    monkeypatch.setattr("dither.lift.stored.LARGEST_ANSWER", 8000)
    with pytest.raises(
        InvalidParameter, match=r"query must be small enough for an answer of at most 8,000 bytes"
    ) as caught:
        rehearse(answer)
    rows = int(str(caught.value).split("request at most ")[1].split(" rows")[0])
    assert 0 < rows < 100
    rehearse(plan_query(replace(query, limit=rows), PureDP(1)))
    with pytest.raises(InvalidParameter):
        rehearse(plan_query(replace(query, limit=rows + 1), PureDP(1)))


def test_groups_that_are_discovered_are_shown_as_far_as_they_fit() -> None:
    query = parse_sql("SELECT note, COUNT(*) AS n FROM visits GROUP BY note", CLINIC)
    answer = plan_query(query, ApproxDP(1, "1e-6"))
    rehearse(answer)
    groups: tuple[Any, ...] = tuple((f"note {place}" * (place % 3),) for place in range(1, 300))
    numbers = tuple(PublicArray(np.arange(len(groups))) for _ in answer.design.measured)
    whole = present(answer, Answered(groups, numbers))
    length = len(whole.to_json())
    assert whole.within(length) == whole
    for most in (length - 1, length // 2, 3000):
        cut = whole.within(most)
        assert len(cut.to_json()) <= most
        assert cut.rows == whole.rows[: len(cut.rows)]
        assert cut.notes[-1].endswith("only the first rows are shown")
        more = len(cut.rows) + 1
        parts = {name: getattr(whole, name)[:more] for name in ("rows", "low", "high", "raw")}
        longer = replace(cut, **parts)
        assert len(longer.to_json()) >= most - 2
        assert QueryResult.from_json(cut.to_json()).rows == cut.rows
