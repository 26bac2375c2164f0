"""Parts asked one after the other: each within its own loss, and nothing about rows of other parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dither import Budget, converse
from dither.curator.offers.parts import parts
from dither.data import Call, Filter, Kind, Limits, Literal, Name, OneOf, Scan
from dither.data.examples import some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import Column, DataSet, person_unit
from dither.errors import BudgetExceeded, InvalidParameter, Unanswerable
from dither.lift.planned_size import planned_within
from dither.privacy import ROW, ROW_REPLACED, PureDP
from dither.publish.queries import AdaptiveParts, OpenPartition, Query, ask_part, plan_query
from dither.publish.queries.adaptive_parts import MOST_PARTS, PartQuestion, clinic_parts
from dither.publish.queries.examples import aggregate
from dither.publish.queries.work import planning


def talk_about(partition: OpenPartition, epsilon: Any = 1) -> Any:
    mechanism = AdaptiveParts(partition=partition, each=PureDP(epsilon))
    rows = ReferenceEngine(partition.dataset, {"visits": some_visits()})
    unit = partition.dataset.unit
    return converse(mechanism, rows, budget=Budget(epsilon=mechanism.loss(1).epsilon, unit=unit))


def asked(partition: OpenPartition, label: str, function: str = "count") -> Query:
    part = aggregate(function)
    shown = ((function, Name(function)),)
    return Query(partition.dataset, partition.rows(label), (), (part,), shown, Limits())


def test_the_price_is_that_of_the_parts_that_a_unit_touches() -> None:
    for unit, touched in ((ROW, 1), (ROW_REPLACED, 2), (person_unit("person"), 2)):
        assert AdaptiveParts(partition=clinic_parts(unit), each=PureDP(3)).loss(1).epsilon == 3 * touched


def test_every_part_has_a_budget_of_its_own() -> None:
    partition = clinic_parts(ROW)
    talk = talk_about(partition)
    for label in ("north", "south", "north"):
        result = ask_part(talk, label, asked(partition, label), PureDP("1/2"))
        assert result.rows[0][0] >= 0
    # North has had two halves, south one: what south has left does not help north.
    with pytest.raises(BudgetExceeded):
        ask_part(talk, "north", asked(partition, "north"), PureDP("1/100"))
    assert talk.left("south") == PureDP("1/2")
    ask_part(talk, "south", asked(partition, "south", "sum"), PureDP("1/2"))


def test_questions_that_fit_answer_the_rows_of_their_part() -> None:
    partition = clinic_parts(ROW)
    talk = talk_about(partition, 10**6)
    for label in ("north", "south"):
        truth = sum(row["site"] == label for row in some_visits())
        ((count,),) = ask_part(talk, label, asked(partition, label), PureDP(10**5)).rows
        assert count == truth


def test_what_is_not_about_the_part_is_refused_and_costs_nothing() -> None:
    partition = clinic_parts(ROW)
    talk = talk_about(partition)
    before = talk.left("north")
    with pytest.raises(InvalidParameter, match="query of part north"):
        ask_part(talk, "north", asked(partition, "south"), PureDP("1/2"))
    with pytest.raises(InvalidParameter, match="label"):
        ask_part(talk, "west", asked(partition, "north"), PureDP("1/2"))
    with pytest.raises(InvalidParameter, match="question"):
        talk.ask("how many?")
    chosen = plan_query(asked(partition, "north", "quantile"), PureDP("1/2"), quantiles="exponential")
    for answer in (chosen, plan_query(asked(partition, "north", "mode"), PureDP("1/2"))):
        with pytest.raises(Unanswerable):
            talk.ask(PartQuestion("north", answer))
    assert talk.left("north") == before


def test_parts_must_be_disjoint_and_named() -> None:
    whole = clinic_parts(ROW)
    for overlapping in (
        (("a", ("north",)), ("b", ("north", "south"))),
        (("a", ("north",)), ("a", ("south",))),
        (("a", ()),),
        (),
    ):
        with pytest.raises(InvalidParameter, match="parts"):
            OpenPartition(whole.dataset, whole.relation, whole.by, overlapping)


def _clinic_of(column: Column) -> DataSet:
    """Return the clinic with one column declared otherwise."""
    dataset = clinic_parts(ROW).dataset
    table = dataset.tables[0]
    columns = tuple(column if one.name == column.name else one for one in table.columns)
    return replace(dataset, tables=(replace(table, columns=columns), *dataset.tables[1:]))


def _many(dataset: DataSet, by: str, kind: Kind, values: list[Any]) -> OpenPartition:
    """Return a part for each value."""
    listed = OneOf(Name(by), tuple(Literal(value, kind) for value in values))
    named = tuple((f"part {place}", (value,)) for place, value in enumerate(values))
    return OpenPartition(dataset, Filter(Scan(dataset.tables[0]), listed), Name(by), named)


@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.INTEGER])
def test_planning_takes_steps_by_the_number_of_parts_and_not_by_its_square(kind: Kind) -> None:
    steps = []
    for many in (200, 800):
        values: list[Any] = [f"site {number}" for number in range(many)] if kind is Kind.TEXT else list(range(many))
        declared = Column("site", kind, categories=tuple(values))
        with planning() as work:
            parts(_clinic_of(declared), _many(_clinic_of(declared), "site", kind, values), epsilon=1)
        steps.append(work.steps)
    assert 800 < steps[1] < 5 * steps[0]


def test_no_more_parts_than_can_be_looked_after_are_opened() -> None:
    dataset = _clinic_of(Column("site", Kind.INTEGER))
    assert len(_many(dataset, "site", Kind.INTEGER, list(range(MOST_PARTS))).parts) == MOST_PARTS
    with pytest.raises(InvalidParameter, match="at most 4,096, got '4,097 parts'"):
        _many(dataset, "site", Kind.INTEGER, list(range(MOST_PARTS + 1)))
    with planned_within(10), pytest.raises(InvalidParameter, match="at most 10 values"):
        parts(dataset, _many(dataset, "site", Kind.INTEGER, list(range(11))), epsilon=1)


def test_parts_that_no_row_can_be_in_are_refused() -> None:
    texts = _clinic_of(Column("site", Kind.TEXT, categories=("north", "south")))
    with pytest.raises(Unanswerable, match="'nord' is not a declared category"):
        parts(texts, _many(texts, "site", Kind.TEXT, ["north", "nord"]), epsilon=1)
    numbers = _clinic_of(Column("site", Kind.INTEGER, lower=0, upper=5))
    with pytest.raises(Unanswerable, match="site IN \\(9\\) can never be true"):
        parts(numbers, _many(numbers, "site", Kind.INTEGER, [1, 9, 2]), epsilon=1)
    # What the rows of all parts must meet counts as well.
    no_north = Filter(Scan(texts.tables[0]), Call("unequal", (Name("site"), Literal("north", Kind.TEXT))))
    split = OpenPartition(texts, no_north, Name("site"), (("a", ("south",)), ("b", ("north",))))
    with pytest.raises(Unanswerable, match="can never be true"):
        parts(texts, split, epsilon=1)
