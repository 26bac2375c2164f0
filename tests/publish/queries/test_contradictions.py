"""What is certainly wrong is refused before it is charged, and nothing else is."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import Call, Column, DataSet, Expression, Filter, Kind, Literal, Name, OneOf, Scan, Table
from dither.data.evaluation import evaluate
from dither.errors import InvalidParameter, Unanswerable
from dither.privacy import ROW, PureDP, stated_loss
from dither.publish.queries import quote
from dither.publish.queries.builder import col, table
from dither.publish.queries.contradictions import always_true, can_be
from dither.publish.queries.keys import public_values
from dither.publish.queries.sql import parse_sql
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.rows import Rows
from dither.publish.queries.sql_text import in_sql

INCOMES = ("<=50K", ">50K")
TABLE = Table(
    "people",
    (
        Column("age", Kind.INTEGER, lower=0, upper=5),
        Column("income", Kind.TEXT, categories=INCOMES, nullable=True),
        Column("hours", Kind.REAL, lower=0, upper=99),
        Column("day", Kind.DATE),
        Column("note", Kind.TEXT),
    ),
    "people.csv",
)
PEOPLE = DataSet("census", (TABLE,), ROW)
ROWS = [
    dict(zip(("age", "income"), row, strict=True)) for row in itertools.product((*range(6), None), (*INCOMES, None))
]

REFUSED = [
    ("income = '>50k'", "'>50k' is not a declared category of income", "did you mean '>50K'?"),
    ("'>50k' = income", "not a declared category", "did you mean '>50K'?"),
    ("income <> '50K'", "not a declared category", "did you mean '>50K'?"),
    ("income IN ('>50K', 'rich')", "'rich' is not a declared category", "income is one of '<=50K', '>50K'"),
    ("NOT (income = ' >50K ')", "not a declared category", "did you mean '>50K'?"),
    ("age > 5", "age > 5 can never be true", "age is declared to be between 0 and 5"),
    ("age < 0", "age < 0 can never be true", "between 0 and 5"),
    ("age + 1 > 6", "can never be true", "between 0 and 5"),
    ("age = 17", "age = 17 can never be true", "between 0 and 5"),
    ("NOT (age <= 5)", "can never be true", "between 0 and 5"),
    ("age BETWEEN 4 AND 2", "can never be true", "correct the condition"),
    ("age > 3 AND age < 2", "can never be true", "correct the condition"),
    ("age IN (7, 8)", "can never be true", "between 0 and 5"),
    ("income = '>50K' AND income = '<=50K'", "can never be true", "income is one of"),
    ("hours > 100 OR hours < -1", "can never be true", "between 0 and 99"),
    ("1 = 2", "can never be true", "remove it"),
]


@pytest.mark.parametrize(("condition", "reason", "instead"), REFUSED)
def test_a_condition_that_no_row_meets_is_refused_with_what_may_be_meant(
    condition: str, reason: str, instead: str
) -> None:
    for text in (
        "SELECT COUNT(*) FROM people WHERE ?".replace("?", condition),
        "SELECT COUNT(*) FILTER (WHERE ?) FROM people".replace("?", condition),
    ):
        with pytest.raises(Unanswerable) as caught:
            parse_sql(text, PEOPLE)
        assert reason in str(caught.value)
        assert instead in str(caught.value)


@pytest.mark.parametrize(
    "condition",
    [
        "income = '>50K'",
        "income LIKE '>50k'",
        "LOWER(income) = '>50k'",
        "income IS NULL",
        "note = 'anything'",
        "age >= 0",
        "age = 5 OR age > 100",
        "age * 2 > 9",
        "hours > 98.9",
        "day > DATE '2024-01-01'",
        "income <> '>50K' AND income <> '<=50K' OR age = 1",
    ],
)
def test_what_may_be_so_is_answered(condition: str) -> None:
    assert parse_sql("SELECT COUNT(*) FROM people WHERE ?".replace("?", condition), PEOPLE)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CASE WHEN income = '>50k' THEN 'rich' ELSE 'poor' END AS c, COUNT(*) FROM people GROUP BY c",
        "SELECT SUM(CASE WHEN income = 'no' THEN age ELSE 0 END) FROM people",
        "SELECT COUNT(*) FROM (SELECT income AS i FROM people) WHERE i = '>50k'",
    ],
)
def test_constants_are_checked_wherever_they_stand(text: str) -> None:
    with pytest.raises(Unanswerable, match="not a declared category"):
        parse_sql(text, PEOPLE)


def test_groups_that_cannot_occur_are_refused() -> None:
    people = table("people")
    with pytest.raises(Unanswerable, match=r"'>50k' is not a declared category of income.*did you mean '>50K'"):
        people.group("income", keys=[">50k"]).count().build(PEOPLE)
    with pytest.raises(Unanswerable, match="age is never 9: it is declared to be between 0 and 5"):
        people.group("age", keys=[9]).count().build(PEOPLE)
    with pytest.raises(Unanswerable, match="not a declared category"):
        people.where(col("income") == "rich").count().build(PEOPLE)


texts = st.sampled_from([Literal(income, Kind.TEXT) for income in INCOMES])
numbers = st.sampled_from([Literal(number, Kind.INTEGER) for number in (-2, 0, 3, 5, 6, None)])
signs = st.sampled_from(["equal", "unequal", "less", "at_most", "more", "at_least"])
sums = st.one_of(
    st.just(Name("age")),
    st.builds(lambda one: Call("add", (Name("age"), one)), numbers),
    st.builds(lambda one: Call("multiply", (Name("age"), one)), numbers),
)
leaves = st.one_of(
    st.builds(lambda sign, one, other: Call(sign, (one, other)), signs, sums, st.one_of(numbers, sums)),
    st.builds(lambda sign, one: Call(sign, (Name("income"), one)), signs, texts),
    st.builds(lambda many: OneOf(Name("age"), tuple(many)), st.lists(numbers, min_size=1, max_size=3, unique=True)),
    st.builds(lambda many: OneOf(Name("income"), tuple(many)), st.lists(texts, min_size=1, max_size=2, unique=True)),
    st.just(Call("is_null", (Name("income"),))),
)
conditions = st.recursive(
    leaves,
    lambda below: st.one_of(
        st.builds(lambda one, other: Call("and", (one, other)), below, below),
        st.builds(lambda one, other: Call("or", (one, other)), below, below),
        st.builds(lambda one: Call("not", (one,)), below),
    ),
    max_leaves=6,
)


@given(conditions)
def test_nothing_is_called_impossible_that_a_declared_row_can_be(condition: Expression) -> None:
    """Exhaustively over all rows that are as declared, NULLs among them."""
    found: set[Any] = {evaluate(condition, row) for row in ROWS}
    for truth in (True, False):
        if truth in found:
            assert can_be(condition, Scan(TABLE), truth)


@given(signs, numbers)
def test_one_comparison_is_decided_exactly(sign: str, number: Literal) -> None:
    condition = Call(sign, (Name("age"), number))
    found = {evaluate(condition, row) for row in ROWS}
    # All whole numbers between the bounds occur, so that what is possible is what is found: but for holes of equality.
    if sign not in ("equal", "unequal") or number.value is None:
        assert can_be(condition, Scan(TABLE), True) == (True in found)


def test_a_condition_that_every_row_meets_is_said_and_answered() -> None:
    query = parse_sql("SELECT COUNT(*) FROM people WHERE age >= 0 AND hours < 50", PEOPLE)
    assert list(always_true(query.relation)) == ["age >= 0"]
    assert quote(query, PureDP(1))


def test_a_loss_that_nobody_stated_says_how_to_state_it() -> None:
    with pytest.raises(InvalidParameter, match=r"epsilon is required.*add epsilon=0.1, or --epsilon 0.1"):
        stated_loss()
    with pytest.raises(InvalidParameter, match=r"budget is required.*--budget 0.1"):
        stated_loss(called="budget")
    with pytest.raises(InvalidParameter, match="budget must be"):
        stated_loss(epsilon=-1, called="budget")
    with pytest.raises(InvalidParameter, match=r"delta is not allowed beside rho"):
        stated_loss(rho=1, delta="1e-6")


@pytest.mark.parametrize(
    "condition",
    [
        "RIGHT('000' || note || CAST(age AS TEXT), 4) = 'x'",
        "age - (age - 1) > 2 * (age + 1)",
        "(age > 3 OR age < 2) AND income <> '>50K'",
        "NOT (age > 3 AND age < 5) OR income IS NOT NULL",
        "age NOT IN (1, 2) AND note NOT LIKE '%50%' AND note LIKE '>%'",
        "CASE WHEN age > 3 THEN 'it''s' ELSE 'b' END = 'b'",
        "EXTRACT(YEAR FROM day) = 2024 AND DATE_TRUNC('month', day) = DATE '2024-01-01'",
        "day + INTERVAL 3 DAY > DATE '2024-01-01' AND -age < 3",
        "ABS(age) // 2 = COALESCE(age, 0) % 3",
        "SUBSTRING(income, 1, 2) = UPPER(LTRIM(income))",
    ],
)
def test_what_is_said_of_a_condition_is_sql_that_means_the_same(condition: str) -> None:
    text = in_sql(_read(condition)).replace("2024-01-01", "DATE '2024-01-01'")
    assert _read(text) == _read(condition)


def test_columns_of_joined_tables_are_called_as_in_a_query_and_one_part_is_blamed() -> None:
    columns = Column("name", Kind.TEXT), Column("size", Kind.INTEGER, lower=0, upper=9)
    cities = Table("cities", columns, "cities.csv", is_public=True, key=("name",))
    joined = DataSet("census", (TABLE, cities), ROW)
    with pytest.raises(Unanswerable, match=r"^cities\.size > 9 can never be true: cities\.size is declared") as caught:
        parse_sql("SELECT COUNT(*) FROM people JOIN cities ON note = name WHERE age > 2 AND size > 9", joined)
    assert "age" not in str(caught.value)


def test_groups_that_conditions_leave_are_those_that_some_row_may_have() -> None:
    """Every pair of simple conditions, put together by AND and OR: nothing possible is lost, and OR narrows."""
    simple = ["age = 1", "age = 2", "age > 3", "income = '>50K'", "income <> '>50K'", "age < 4", "income IS NULL"]
    pairs = [f"{one} AND {other}" for one in simple for other in simple]
    for first, second in zip(pairs, reversed(pairs), strict=True):
        text = f"({first}) OR ({second})"
        relation = Filter(Scan(TABLE), _read(text))
        met = [row for row in ROWS if row["age"] is not None and evaluate(relation.condition, row) is True]
        for name in ("age", "income"):
            values = public_values(Name(name), relation)
            assert values is not None
            assert {row[name] for row in met} <= set(values), text
    query = parse_sql(
        "SELECT age, income, COUNT(*) FROM people WHERE (age = 1 AND income = '>50K') "
        "OR (age = 3 AND income = '<=50K') GROUP BY age, income",
        PEOPLE,
    )
    assert [key.values for key in query.keys] == [(1, 3), INCOMES]
    listed = parse_sql(
        "SELECT note, COUNT(*) FROM people WHERE note = 'a' OR (note = 'b' AND age > 1) GROUP BY note", PEOPLE
    )
    assert listed.keys[0].values == ("a", "b")


def _read(condition: str) -> Expression:
    scalars = Rows(Parsed(f"SELECT {condition}"), PEOPLE)
    return scalars.scalars(scalars.alone("people", Scan(TABLE))).condition(scalars.parsed.tree.expressions[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.06 + 0.01", "0.07"),
        ("0.06 - 0.01", "0.05"),
        ("0.1 + 0.2 - 0.3", "0.0"),
        ("3 * 0.1", "0.3"),
        ("-(0.1 + 0.2)", "-0.3"),
        ("1.1 * (0.1 - 0.3)", "-0.22"),
    ],
)
def test_sums_of_decimal_constants_are_exact(text: str, value: str) -> None:
    assert _read(f"hours <= {text}") == _read(f"hours <= {value}")


def test_constants_that_are_not_decimals_are_computed_as_they_stand() -> None:
    assert _read("hours <= 6e-2 + 1e-2") != _read("hours <= 0.07")
    assert _read("age <= 1 + 2") != _read("age <= 3.0")
    long = "0." + "1" * 50
    assert _read(f"hours <= {long} * {long}")
