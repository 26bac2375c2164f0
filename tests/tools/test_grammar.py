"""Random statements of the language mean what DuckDB says; ``python -m tools.grammar`` tries them by the thousand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from dither.data.engines.protocol import connect
from dither.publish.queries.sql.unknown import FUNCTIONS
from tools.grammar import words
from tools.grammar.compare import answered, difference, judged
from tools.grammar.statements import Statement, statements
from tools.grammar.world import dataset, frames, plain

#: Every clause and form that a statement may have, at least once in 1,500 of them.
OCCURS = (
    *("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "USING", " IN (SELECT", "NOT IN (SELECT"),
    *("EXISTS (SELECT", "UNION ALL", " UNION SELECT", "EXCEPT", "INTERSECT", "WITH ", "OVER (", "QUALIFY", "HAVING"),
    *("ORDER BY", "LIMIT", "OFFSET", "ROLLUP", "CUBE", "GROUPING SETS", "SELECT DISTINCT", "FILTER (", "MEDIAN("),
    *("CORR(", "REGR_SLOPE(", "COUNT(DISTINCT", "RANK()", "bills", "items", "EXCEPT ALL"),
    *(
        "INTERSECT ALL",
        "APPROX_QUANTILES(",
        "UNNEST(",
        "SEMI JOIN",
        "ANTI JOIN",
        "ROWS BETWEEN 2 PRECEDING AND",
        "AND 2 FOLLOWING",
        "NATURAL JOIN",
        "NATURAL LEFT JOIN",
    ),
    *(", AUTO)", "WITH DIFFERENTIAL_PRIVACY", "WITH ANONYMIZATION", "contribution_bounds_per_group", "CLAMPED BETWEEN"),
)


@pytest.fixture(scope="module")
def engine() -> Any:
    pytest.importorskip("pyarrow")
    with connect(dataset(), frames=frames()) as opened:
        yield opened


def test_random_statements_mean_what_duckdb_says(engine: Any) -> None:
    verdicts: Counter[str] = Counter()
    for statement in statements(1, 16):
        outcome = judged(statement, engine)
        verdicts[outcome.verdict] += 1
        assert outcome.verdict in ("same", "empty", "refused"), (outcome, statement.text)
    assert verdicts["same"] >= 10
    assert verdicts["refused"] <= 4


def test_all_of_the_language_occurs() -> None:
    """Every function of the reference, and every clause."""
    assert words.functions() - {"ABS"} == set(FUNCTIONS) - {"ABS"}
    texts = " ".join(statement.text for statement in statements(2, 1500))
    assert [form for form in OCCURS if form not in texts] == []


def test_another_answer_is_noticed(engine: Any) -> None:
    """The twin asks for something that is nearly the same."""
    text = "SELECT region AS k0, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY region"
    ours = answered(text, engine)
    statement = Statement(text, text, 1, False)
    assert not difference(ours, plain().execute(text).fetchall(), statement)
    for other in (
        text.replace("COUNT(*)", "COUNT(*) + 1"),
        text.replace("SUM(cost)", "SUM(cost) + 0.25"),
        text.replace("region AS", "'x' || region AS").replace("BY region", "BY 1"),
        text.replace("visits", "visits WHERE region <> 'east'"),
    ):
        assert difference(ours, plain().execute(other).fetchall(), replace(statement, plain=other)), other
