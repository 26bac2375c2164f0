"""Whatever a record of a query holds: it is refused, or priced and then answered; it never fails after the charge."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest

from dither.data import Call, Case, Cast, Kind, Limits, Literal, Name
from dither.data.examples import SITES, some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import DitherError, InvalidParameter
from dither.mechanisms import perform
from dither.privacy import ApproxDP
from dither.publish.queries import AGGREGATES, present
from dither.publish.queries.answer import plan_query
from dither.publish.queries.examples import clinic_query
from dither.publish.queries.partition import clinic_halves, plan_partitioned, present_partitioned
from dither.publish.queries.partitioned import Part
from dither.publish.queries.query import Aggregate, Key, Query
from dither.publish.queries.rehearsal import rehearse

LOSS = ApproxDP(1, "1e-3")
PERSON = person_unit("person")
NUMBERS: list[Any] = [0, 1, -1, 3, True, 2**53, 2**53 + 1, 2**63, 10**400, 0.5, -0.0, math.nan, math.inf, 1e308, 5e-324]
VALUES: list[Any] = [
    *NUMBERS,
    *(None, "", "x", "north", "\ud800", "\0", "a" * 5000, b"x", object(), object),
    *(Fraction(-1), Fraction(2), Fraction(1, 3), Fraction(10**400)),
    *(datetime.date.min, datetime.datetime.max, datetime.datetime.now(datetime.UTC)),
    *((), (2**53, 2**53 + 1), ("x", "x"), (True, 1), (1, 1.0), (None, "x"), ("north", "nowhere"), (5.0, 2.0)),
    *(Name("nobody"), Name(""), Name("site"), Name("cost"), Name("count"), Name("shown"), Name("person")),
    *(Literal(None, Kind.TEXT), Literal("x", Kind.TEXT), Literal(True, Kind.BOOLEAN), Literal(2**62, Kind.INTEGER)),
    Call("divide", (Name("count"), Literal(0, Kind.INTEGER))),
    Call("length", (Name("site"),)),
    Call("more", (Name("count"), Literal(1, Kind.INTEGER))),
    Cast(Name("cost"), Kind.TEXT),
    Case(((Literal(True, Kind.BOOLEAN), Name("count")),), Literal(None, Kind.INTEGER)),
    *(Limits(rows=1), Limits(groups=1, rows_per_group=1)),
    *AGGREGATES,
]
ENGINE_ROWS = {"visits": some_visits()}


#: Fields of tuples, and what a value stands in there.
WRAPPED: dict[str, Any] = {
    "arguments": lambda value: ((value,), (value, value)),
    "bounds": lambda value: (((value, value),), ((0.0, value),), (value,)),
    "values": lambda value: ((value,), (value, value), (value, "x")),
    "keys": lambda value: ((value,),),
    "aggregates": lambda value: ((value,),),
    "outputs": lambda value: ((("shown", value),), ((value, Name("count")),)),
    "key_values": lambda value: (((value,),), (value,), ((value,), ("x",))),
    "order": lambda value: (((value, True),), ((Name("count"), value),)),
}


def contents(record: type) -> Iterator[tuple[str, Any]]:
    """Return every field of a record with each value, alone and as what the field holds."""
    for field in fields(record):
        for value in VALUES:
            yield field.name, value
            for wrapped in WRAPPED.get(field.name, lambda _: ())(value):
                yield field.name, wrapped


def outcome(query: Query) -> str:
    """Say whether a query is refused before the charge, or answered; what fails after it fails the test."""
    try:
        answer = plan_query(query, LOSS)
        rehearse(answer)
    except DitherError:
        return "refused"
    released = perform(answer, ReferenceEngine(query.dataset, ENGINE_ROWS))
    assert present(answer, released).within(10**6).to_json()
    return "answered"


def tried(base: Query, field: str, value: Any) -> str:
    """Say what becomes of a query with something else in one field, if it can be made."""
    try:
        query = replace(base, **{field: value})
    except DitherError:
        return "not made"
    return outcome(query)


def made(record: Any, field: str, value: Any) -> Any:
    """Return a record with something else in one field, or None if it refuses that."""
    try:
        return replace(record, **{field: value})
    except DitherError:
        return None


@pytest.mark.parametrize("function", ["count_of", "sum", "quantile", "covariance", "mode", "top"])
def test_aggregates(function: str) -> None:
    """Every field of an aggregate of every family, in public groups."""
    seen: set[str] = set()
    base = clinic_query(function, "count")
    mine = base.aggregates[0]
    for field, value in contents(Aggregate):
        other = made(mine, field, value)
        seen.add("not made" if other is None else tried(base, "aggregates", (other, *base.aggregates[1:])))
    assert seen >= {"not made", "answered"}


@pytest.mark.parametrize("groups", ["public", "discovered", "none"])
def test_queries_and_keys(groups: str) -> None:
    """Every field of the query and of its key."""
    seen: set[str] = set()
    base = clinic_query("count", "sum", unit=PERSON, groups=groups)
    for field, value in contents(Query):
        seen.add(tried(base, field, value))
    key = base.keys[0] if base.keys else Key("site", Name("site"), SITES)
    for field, value in contents(Key):
        other = made(key, field, value)
        seen.add("not made" if other is None else tried(base, "keys", (other,)))
    assert seen >= {"not made", "answered"}


def test_expressions_over_lists_and_choices() -> None:
    """What is shown, ordered and kept, over every aggregate at once: a list is no number, and a choice no count."""
    seen: set[str] = set()
    base = clinic_query("count", "sum", "mean", "quantile", "mode", "top", unit=PERSON)
    names = [Name(aggregate.name) for aggregate in base.aggregates] + [Name("site")]
    for name in names:
        several = [
            name,
            Call("length", (name,)),
            Call("add", (name, name)),
            Call("is_null", (name,)),
            Cast(name, Kind.TEXT),
        ]
        several += [Call("more", (name, other)) for other in names[::3]]
        for value in several:
            seen.add(tried(base, "outputs", (("shown", value),)))
            seen.add(tried(base, "order", ((value, True),)))
            seen.add(tried(base, "having", value))
    assert seen == {"not made", "refused", "answered"}


def test_parts() -> None:
    seen: set[str] = set()
    base = clinic_halves(PERSON)
    part = base.parts[0]
    for field, value in contents(Part):
        try:
            answer = plan_partitioned(replace(base, parts=(replace(part, **{field: value}), base.parts[1])), LOSS)
            for one in answer.answers:
                rehearse(one)
        except DitherError:
            seen.add("refused")
            continue
        released = perform(answer, ReferenceEngine(base.dataset, ENGINE_ROWS))
        assert all(table.to_json() for table in present_partitioned(answer, released).values())
        seen.add("answered")
    assert seen == {"refused", "answered"}


def test_the_records_that_failed_after_the_charge() -> None:
    """Each was charged, and then failed: now one error, when the record is made, that names rule and offender."""
    base = clinic_query("count")
    real = Aggregate("m", "mode", (Cast(Name("cost"), Kind.REAL),), values=(2**53, 2**53 + 1))
    with pytest.raises(InvalidParameter, match="values of m must be different values of the kind real"):
        replace(base, aggregates=(real,), outputs=(("m", Name("m")),))
    with pytest.raises(InvalidParameter, match="limit must be 0 or more rows, got -1"):
        replace(base, limit=-1)
    with pytest.raises(InvalidParameter, match="many of m must be at least 1, got 0"):
        Aggregate("m", "top", (Name("drug"),), values=("a",), many=0)
    with pytest.raises(InvalidParameter, match=r"order must be made of what is released: site, count, got 'nobody'"):
        replace(base, order=((Name("nobody"), True),))
    with pytest.raises(InvalidParameter, match="having must be true or false"):
        replace(base, having=Name("count"))
    assert outcome(replace(base, limit=0)) == "answered"
