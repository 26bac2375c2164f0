"""Joins of private tables: one person's rows multiply no further than a public number, and move no more than before."""

# ruff: noqa: S608 - statements are made up here
from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import pytest

from dither.audit import queries as brute
from dither.data import (
    Bounded,
    Column,
    DataSet,
    JoinPersons,
    Kind,
    Limits,
    Name,
    PerPerson,
    Project,
    Relation,
    Scan,
    Table,
)
from dither.data.joins import MOST_TABLES, join_limit, joined
from dither.data.reference import ReferenceEngine, rows_of
from dither.data.relations import PERSON, rows_per_person
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, Unanswerable
from dither.noise import system_noise
from dither.privacy import PureDP
from dither.publish.queries.answer import plan_query
from dither.publish.queries.builder import col, table
from dither.publish.queries.present import estimand_of
from dither.publish.queries.query import Aggregate, Query
from dither.publish.queries.quote import quote_of
from dither.publish.queries.sql import parse_sql

VISITS = Table("visits", (Column("id", Kind.INTEGER), Column("cost", Kind.INTEGER)), "visits.csv", person="id")
STAYS = Table("stays", (Column("person", Kind.INTEGER), Column("days", Kind.INTEGER)), "stays.csv", person="person")
CLINIC = DataSet("clinic", (VISITS, STAYS), person_unit("id"), rows=5, rows_per_join=3)
TABLES: dict[str, list[dict[str, Any]]] = {
    "visits": [{"id": 1, "cost": cost} for cost in range(50)] + [{"id": 2, "cost": 7}, {"id": 3, "cost": 8}],
    "stays": [{"person": 1, "days": days} for days in range(40)] + [{"person": 2, "days": 1}],
}


def chain(tables: int, condition: str = "") -> str:
    """Return a count over visits joined to itself again and again."""
    joins = "".join(f" JOIN visits v{n} ON v0.id = v{n}.id{condition.format(n=n)}" for n in range(1, tables))
    return f"SELECT COUNT(*) AS n FROM visits v0{joins}"


def parts(relation: Relation) -> list[Relation]:
    """Return a relation and all that it is made of."""
    below = [getattr(relation, name) for name in ("relation", "left", "right") if hasattr(relation, name)]
    return [relation, *itertools.chain.from_iterable(map(parts, below))]


@pytest.mark.parametrize("condition", ["", " AND v0.cost <= v{n}.cost"])
def test_a_person_with_many_rows_multiplies_no_further_than_the_square_of_the_limit(condition: str) -> None:
    """Fifty rows of one person in eight tables would be 50^8."""
    query = parse_sql(chain(MOST_TABLES, condition), CLINIC)
    for relation in parts(query.relation):
        most = rows_per_person(relation)
        found = rows_of(relation, TABLES)
        own = max(sum(row[PERSON] == person for row in found) for person in (1, 2, 3))
        assert isinstance(relation, Scan) or most is not None
        assert own <= (50 if most is None else min(most, 9))


def test_sql_and_the_builder_bound_the_same_rows() -> None:
    built = table("visits").join("stays", on=col("s_days") > 1, alias="s").count().build(CLINIC)
    written = parse_sql("SELECT COUNT(*) FROM visits JOIN stays s ON id = s.person AND s.days > 1", CLINIC)
    assert [type(side) for side in (built.relation.left, written.relation.right)] == [Bounded, Bounded]
    assert built.relation.left == written.relation.left
    assert built.relation.left.limits == Limits(rows=3)


def test_a_quote_and_a_result_name_the_limit_of_joins() -> None:
    plan = plan_query(parse_sql(chain(2), CLINIC), PureDP(1))
    assert "3 rows on each side of a join" in str(quote_of(plan))
    assert "3 rows a person on each side of a join" in estimand_of(plan.design, plan.query.aggregates[0])[0]
    assert join_limit(parse_sql("SELECT COUNT(*) FROM visits", CLINIC).relation) is None


def test_totals_of_persons_are_joined_as_they_are() -> None:
    """One row a person multiplies nothing, so that no row is left out."""
    totals = "SELECT id, SUM(CLAMP(cost, 0, 9)) AS total FROM visits GROUP BY id"
    among = "v.id IN (SELECT person FROM stays)"
    query = parse_sql(f"SELECT COUNT(*) FROM visits v JOIN ({totals}) t ON v.id = t.id WHERE {among}", CLINIC)
    assert not any(isinstance(part, Bounded) for part in parts(query.relation))
    assert len(rows_of(query.relation, TABLES)) == 51


def test_more_tables_are_refused_by_name() -> None:
    parse_sql(chain(MOST_TABLES), CLINIC)
    with pytest.raises(Unanswerable, match=f"joins {MOST_TABLES + 1} private tables"):
        parse_sql(chain(MOST_TABLES + 1), CLINIC)
    rows = table("visits")
    for number in range(MOST_TABLES):
        rows = rows.join("visits", alias=f"v{number}")
    with pytest.raises(Unanswerable, match="private tables"):
        rows.count().build(CLINIC)


def test_the_record_of_a_join_refuses_rows_without_a_public_number() -> None:
    with pytest.raises(InvalidParameter, match="public number of rows"):
        JoinPersons(Scan(VISITS), Scan(STAYS), None, False, "s_")
    one = PerPerson(Scan(STAYS), (("person", Name("person")),), ())
    assert rows_per_person(one) == 1
    JoinPersons(Scan(VISITS), one, None, False, "s_")
    two = PerPerson(Scan(STAYS), (("days", Name("days")),), ())
    with pytest.raises(InvalidParameter, match="public number of rows"):
        JoinPersons(Scan(VISITS), two, None, False, "s_")


def test_a_query_refuses_more_rows_of_a_person_than_the_data_set_says() -> None:
    query = parse_sql(chain(2), CLINIC)
    wide = dataclasses.replace(CLINIC, rows_per_join=4)
    relation = joined(wide, Scan(VISITS), Scan(STAYS), None, False, "s_")
    with pytest.raises(InvalidParameter, match="at most 3 rows of a person"):
        dataclasses.replace(query, relation=relation)


def test_a_query_refuses_a_bound_that_leaves_open_which_rows_of_a_person_stay() -> None:
    """Rows that tie are told apart by where an engine meets them, which the rows of somebody else may change."""
    (visits, _), cost = map(Scan, CLINIC.tables), Aggregate("cost", "sum", (Name("cost"),), ((0.0, 9.0),))
    for order in (("id",), (), ("id", "cost")):
        one = Project(Bounded(visits, (), Limits(rows=1), order), (("cost", Name("cost")),))
        asked = functools.partial(Query, CLINIC, one, (), (cost,), (("cost", Name("cost")),), Limits())
        if set(order) == visits.columns.keys():
            assert asked().relation == one
        else:
            with pytest.raises(InvalidParameter, match="order must be all of id, cost"):
                asked()


def test_without_one_person_everybody_elses_joined_rows_are_as_they_were() -> None:
    query = parse_sql(chain(3, " AND v0.cost <= v{n}.cost"), CLINIC)
    for gone in (1, 2, 3):
        fewer = {name: [row for row in rows if gone != next(iter(row.values()))] for name, rows in TABLES.items()}
        kept = [row for row in rows_of(query.relation, TABLES) if row[PERSON] != gone]
        assert kept == rows_of(query.relation, fewer)


def test_no_number_of_a_joined_query_moves_farther_than_its_plan_says() -> None:
    """Hostile neighbours, all aggregates, over a table joined with itself: the same search as for plain tables."""
    noise, tried = system_noise(), 0
    for answer in itertools.islice(brute.hostile_answers(noise), 48):
        query = answer.query
        if not query.dataset.protects_persons or query.is_discovered:
            continue
        dataset = dataclasses.replace(query.dataset, rows_per_join=1 + tried % 3)
        scan = query.relation
        both = joined(dataset, scan, scan, None, bool(tried % 2), "other_")
        comparison = brute.Comparison(plan_query(dataclasses.replace(query, dataset=dataset, relation=both), PureDP(1)))
        for _ in range(6):
            here, there = (ReferenceEngine(dataset, {"visits": rows}) for rows in brute.neighbours(dataset, noise))
            for found in comparison.of(here, there):
                assert not found.is_exceeded, found.what
        tried += 1
    assert tried >= 10


@pytest.mark.parametrize("limit", [0, -1, 1.5, 10**6, True])
def test_a_limit_for_joins_is_a_small_whole_number(limit: Any) -> None:
    with pytest.raises(InvalidParameter, match="rows_per_join"):
        dataclasses.replace(CLINIC, rows_per_join=limit)
