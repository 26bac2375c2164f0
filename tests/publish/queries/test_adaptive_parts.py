"""Parts asked one after the other: each within its own loss, and nothing about rows of other parts."""

from __future__ import annotations

from typing import Any

import pytest

from dither import Budget, converse
from dither.data import Limits, Name
from dither.data.examples import some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import BudgetExceeded, InvalidParameter, Unanswerable
from dither.privacy import ROW, ROW_REPLACED, PureDP
from dither.publish.queries import AdaptiveParts, OpenPartition, Query, ask_part, plan_query
from dither.publish.queries.adaptive_parts import PartQuestion, clinic_parts
from dither.publish.queries.examples import aggregate


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
    for parts in (
        (("a", ("north",)), ("b", ("north", "south"))),
        (("a", ("north",)), ("a", ("south",))),
        (("a", ()),),
        (),
    ):
        with pytest.raises(InvalidParameter, match="parts"):
            OpenPartition(whole.dataset, whole.relation, whole.by, parts)
