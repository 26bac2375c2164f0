"""The interval of an expression over released numbers has every value that the numbers' own intervals allow."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import Call, Case, Cast, Expression, Kind, Literal, Name, OneOf
from dither.data.evaluation import evaluate
from dither.data.expressions import Value
from dither.publish.queries.intervals import ANYTHING, Known, Range, days_enclosed, enclose

ONE_NUMBER = ("negate", "absolute", "sign", "floor", "ceiling", "square_root", "exponential", "logarithm")
TWO_NUMBERS = ("add", "subtract", "multiply", "divide", "quotient", "remainder", "power", "null_if")
MANY_NUMBERS = ("least", "greatest", "coalesce")
COMPARISONS = ("less", "at_most", "more", "at_least", "equal", "unequal")
#: Released numbers, each a real or a whole one.
NAMES = ("real", "other", "whole")
ENDS = st.one_of(st.integers(-4, 4).map(float), st.floats(-50, 50, allow_nan=False))


def literal(value: Value) -> Literal:
    kinds = {int: Kind.INTEGER, datetime.date: Kind.DATE}
    return Literal(value, kinds.get(type(value), Kind.REAL))


def calls(names: Sequence[str], *below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.builds(lambda name, arguments: Call(name, arguments), st.sampled_from(names), st.tuples(*below))


def numbers(deep: int) -> st.SearchStrategy[Expression]:
    """Return trees whose values are numbers."""
    leaves = st.one_of(
        st.sampled_from(NAMES).map(Name),
        st.sampled_from([-2, 0, 1, 2, 0.5, -1.25, None]).map(literal),
    )
    if deep == 0:
        return leaves
    below = numbers(deep - 1)
    return st.one_of(
        leaves,
        calls(ONE_NUMBER, below),
        calls(TWO_NUMBERS, below, below),
        calls(MANY_NUMBERS, below, below, below),
        st.builds(lambda one: Cast(one, Kind.INTEGER), below),
        st.builds(lambda one: Cast(one, Kind.REAL), below),
        st.builds(lambda one: Cast(one, Kind.INTEGER), truths(deep - 1)),
        st.builds(lambda one, two, three: Case(((one, two),), three), truths(deep - 1), below, below),
    )


def truths(deep: int) -> st.SearchStrategy[Expression]:
    """Return trees whose values are true, false or NULL."""
    below = numbers(max(deep - 1, 0))
    options = st.tuples(*[st.sampled_from([-1, 0, 1, 2.5]).map(literal)] * 2)
    simple = st.one_of(
        calls(COMPARISONS, below, below),
        calls(("is_null",), below),
        st.builds(OneOf, below, options),
    )
    if deep <= 0:
        return simple
    further = truths(deep - 1)
    return st.one_of(
        simple,
        calls(("and", "or"), further, further),
        calls(("not",), further),
        st.builds(lambda one, two, three: Case(((one, two),), three), further, further, further),
    )


def holds(value: object, found: Known) -> bool:
    if isinstance(found, frozenset):
        return value in found
    if isinstance(found, Range):
        return found.may_be_null if value is None else value in found
    return value == found


@st.composite
def boxes(draw: st.DrawFn) -> tuple[dict[str, Range], dict[str, float | int]]:
    """Return an interval of each number, and numbers in these."""
    ranges, point = {}, {}
    for name in NAMES:
        # Adding 0 turns -0 into 0.
        low, high = sorted((draw(ENDS) + 0.0, draw(ENDS) + 0.0))
        if name == "whole":
            low, high = math.floor(low), math.ceil(high)
            point[name] = draw(st.integers(low, high))
        else:
            point[name] = draw(st.one_of(st.sampled_from([low, high]), st.floats(low, high)))
        ranges[name] = Range(low, high)
    return ranges, point


@given(numbers(3), boxes())
def test_a_number_lies_in_the_interval_of_its_expression(
    expression: Expression, box: tuple[dict[str, Range], dict[str, float | int]]
) -> None:
    ranges, point = box
    assert holds(evaluate(expression, point), enclose(expression, {}, ranges))


@given(truths(3), boxes())
def test_what_is_the_case_is_among_what_may_be(
    expression: Expression, box: tuple[dict[str, Range], dict[str, float | int]]
) -> None:
    ranges, point = box
    assert holds(evaluate(expression, point), enclose(expression, {}, ranges))


A, B = Name("real"), Name("other")


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (Call("negate", (A,)), -3, 2),
        (Call("absolute", (A,)), 0, 3),
        (Call("sign", (A,)), -1, 1),
        (Call("sign", (B,)), 1, 1),
        (Call("quotient", (A, B)), -1, 1),
        (Call("remainder", (A, B)), -3, 3),
        (Call("least", (A, B)), -2, 3),
        (Call("greatest", (A, B)), 2, 4),
        (Call("coalesce", (A, B)), -2, 4),
        (Call("null_if", (A, B)), -2, 3),
        (Cast(Call("less", (A, B)), Kind.INTEGER), 0, 1),
        (Call("floor", (Call("divide", (A, literal(2))),)), -2, 1),
        (Case(((Call("less", (B, literal(9))), A),), B), -2, 3),
    ],
)
def test_intervals_are_no_longer_than_they_must(expression: Expression, low: float, high: float) -> None:
    found = enclose(expression, {}, {"real": Range(-2, 3), "other": Range(2, 4)})
    assert isinstance(found, Range)
    assert found.low == pytest.approx(low, abs=1)
    assert found.high == pytest.approx(high, abs=1)
    assert found != ANYTHING


def test_a_released_day_lies_between_two() -> None:
    start = datetime.date(2026, 11, 18)
    days = Call("add_days", (literal(start), A))
    found = days_enclosed(days, {}, {"real": Range(-1.5, 2.25)})
    assert found == (start - datetime.timedelta(days=2), start + datetime.timedelta(days=3))
    far = days_enclosed(days, {}, {"real": ANYTHING})
    assert far == (datetime.date.min, datetime.date.max)
    assert days_enclosed(Call("add_days", (literal(start), literal(1))), {}, {}) == (None, None)
    assert days_enclosed(A, {}, {"real": Range(0, 1)}) == (None, None)
