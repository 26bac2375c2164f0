"""Which values occur, and how many different ones: the threshold has the whole loss, and numbers move as declared."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from dither.checks.law import coverage_is_refuted
from dither.data import Column, DataSet, Kind, Table
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import Unanswerable
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ROW, ApproxDP, PureDP, Use
from dither.publish.queries import Answer, plan_query, present, quote
from dither.publish.queries.builder import table
from dither.publish.queries.distinct import exact_table
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC, LOOSE
from tests.publish.queries.test_answer_coverage import Memo

COLUMNS = (
    Column("id", Kind.INTEGER),
    Column("word", Kind.TEXT, nullable=True),
    Column("colour", Kind.TEXT, categories=("red", "blue")),
)


def shop(**limits: int) -> DataSet:
    return DataSet("shop", (Table("sales", COLUMNS, "sales.csv", person="id"),), person_unit("id"), **limits)


def answered(answer: Answer, rows: list[dict[str, Any]]) -> Any:
    engine = ReferenceEngine(answer.query.dataset, {"sales": rows})
    return present(answer, Runner(Use(answer), system_noise())(answer, engine))


@pytest.mark.parametrize(
    "sql",
    ["SELECT word FROM sales GROUP BY word", "SELECT DISTINCT word FROM sales", "SELECT DISTINCT colour FROM sales"],
)
def test_values_of_many_people_are_shown_and_those_of_one_are_not(sql: str) -> None:
    """300 people have one value and a single person another: with a threshold of tens, 1 in e^20 shows it."""
    query = parse_sql(sql, shop(rows=1))
    loss = ApproxDP(1, "1e-9")
    answer = plan_query(query, loss)
    assert answer.loss(1) <= loss
    assert answer.design.split == (Fraction(1),), "all of the loss decides which are shown"
    rows = [{"id": i, "word": "often", "colour": "red"} for i in range(300)]
    rows.append({"id": 999, "word": "once", "colour": "blue"})
    found = answered(answer, rows)
    assert [row[0] for row in found.rows] == ["often" if "word" in sql else "red"]
    assert "shown only if about" in str(quote(query, loss))


def test_both_spellings_and_the_builder_are_one_query() -> None:
    one, other = (
        parse_sql(f"SELECT {words}", CLINIC)
        for words in ("note, region FROM visits GROUP BY 1, 2", "DISTINCT note, region FROM visits")
    )
    assert one == other
    assert table("visits").group("note", "region").build(CLINIC) == one


def test_without_a_delta_nothing_can_be_selected() -> None:
    with pytest.raises(Unanswerable, match="costs a delta"):
        plan_query(parse_sql("SELECT DISTINCT region FROM visits", CLINIC), PureDP(1))


@cache
def counting(most: int, column: str) -> Answer:
    """Return the plan of a number of different values, of which ``most`` count of a person."""
    query = parse_sql(f"SELECT COUNT(DISTINCT {column}) AS n FROM sales", shop(rows=most))  # noqa: S608
    return plan_query(query, PureDP(1))


def number(most: int, rows: list[dict[str, Any]], column: str) -> int:
    """Return the exact number of different values that counts."""
    answer = counting(most, column)
    return int(exact_table(answer.design, ReferenceEngine(answer.query.dataset, {"sales": rows}), ((),))[0, 0])


@pytest.mark.parametrize(("column", "values"), [("word", ("a", "b", "c", None)), ("colour", ("red", "blue", "green"))])
def test_every_person_moves_the_number_by_at_most_its_rows(column: str, values: tuple[Any, ...]) -> None:
    """All sets of a person's values beside all of another's, for 1 and 2 values a person; the bound is attained."""
    sets = [chosen for size in range(3) for chosen in itertools.combinations(values, size)]
    for most in (1, 2):
        moved = []
        for others, mine in itertools.product(sets, sets):
            rest = [{"id": 1, "word": "z", "colour": "red", column: value} for value in others]
            more = [{"id": 2, "word": "z", "colour": "red", column: value} for value in mine]
            moved.append(number(most, rest + more, column) - number(most, rest, column))
        assert set(moved) <= set(range(most + 1))
        assert max(moved) == most


def test_rows_that_repeat_a_value_do_not_use_up_a_persons_limit() -> None:
    """Five sales of one word and one of another are two words, for a person of whom two rows count."""
    rows = [{"id": 1, "word": word, "colour": "red"} for word in ("a", "a", "a", "a", "a", "b", None)]
    assert number(2, rows, "word") == 2
    assert number(1, rows, "word") == 1


def test_few_declared_values_bound_what_a_person_can_move() -> None:
    """Of two colours nobody has more than two, however many rows count; undeclared cells are not counted."""
    answer = plan_query(parse_sql("SELECT COUNT(DISTINCT colour) AS n FROM sales", shop(rows=50)), PureDP(1))
    assert answer.design.parts[0].stability == 2
    rows = [{"id": 1, "word": "a", "colour": colour} for colour in ("red", "green", "violet")]
    assert number(50, rows, "colour") == 1
    shown = answered(answer, rows)
    assert all(0 <= low <= high <= 2 for low, high in shown.interval("n"))


@pytest.mark.statistical(false_alarm=1e-9, miss=1e-9)
def test_the_number_of_different_values_is_covered() -> None:
    """n = 400 releases of 60 words. Would catch: a number that moves by more; an eighth of the noise is refuted."""
    rows = [{"id": i, "word": f"w{i % 60}", "colour": "red"} for i in range(120)]
    query = parse_sql("SELECT COUNT(DISTINCT word) AS n FROM sales", shop(rows=3))
    honest, boastful = plan_query(query, PureDP(1)), plan_query(query, PureDP(8))
    engine = Memo(ReferenceEngine(query.dataset, {"sales": rows}))
    released = [Runner(Use(honest), system_noise())(honest, engine) for _ in range(400)]
    for answer, is_false in ((honest, False), (boastful, True)):
        ends = [present(answer, one).interval("n")[0] for one in released]
        hits = sum(bool(low <= 60 <= high) for low, high in ends)  # type: ignore[operator]
        assert coverage_is_refuted(hits, 400, 0.95, 1e-9) == is_false


def test_where_rows_are_units_any_column_has_different_values() -> None:
    assert LOOSE.unit == ROW
    (aggregate,) = parse_sql("SELECT COUNT(DISTINCT id) FROM visits", LOOSE).aggregates
    assert aggregate.function == "distinct"


@pytest.mark.parametrize("epsilon", [9_000, 10_000, 20_000, 100_000])
def test_groups_are_discovered_at_a_large_loss_too(epsilon: int) -> None:
    """The delta of a threshold had more digits than a loss takes, and the query failed with a text about a fraction."""
    for text in ("SELECT note, COUNT(*) AS n FROM visits GROUP BY note", "SELECT DISTINCT note FROM visits"):
        plan = plan_query(parse_sql(text, CLINIC), ApproxDP(epsilon, "1e-6"))
        assert plan.loss(1) <= ApproxDP(epsilon, "1e-6")
        assert plan.design.discovery.threshold <= 3
