"""Parts asked one after the other: each within its own loss, and nothing about rows of other parts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from dither import Budget, converse
from dither.data import Aggregation, Bounded, Call, CountRows, Filter, Kind, Limits, Literal, Name, OneOf, Scan, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.examples import some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import Column, DataSet, person_unit
from dither.errors import BudgetExceeded, InvalidParameter, Unanswerable
from dither.lift.planned_size import planned_within
from dither.privacy import ROW, ROW_REPLACED, PureDP
from dither.publish.queries import AdaptiveParts, OpenPartition, Query, ask_part, plan_query
from dither.publish.queries.adaptive_parts import MOST_PARTS, PartQuestion, clinic_parts
from dither.publish.queries.builder import col, table
from dither.publish.queries.examples import aggregate
from dither.publish.queries.work import planning
from dither.verbs.offers import Offers


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
            Offers(_clinic_of(declared)).parts(_many(_clinic_of(declared), "site", kind, values), epsilon=1)
        steps.append(work.steps)
    assert 800 < steps[1] < 5 * steps[0]


def test_no_more_parts_than_can_be_looked_after_are_opened() -> None:
    dataset = _clinic_of(Column("site", Kind.INTEGER))
    assert len(_many(dataset, "site", Kind.INTEGER, list(range(MOST_PARTS))).parts) == MOST_PARTS
    with pytest.raises(InvalidParameter, match="at most 4,096, got '4,097 parts'"):
        _many(dataset, "site", Kind.INTEGER, list(range(MOST_PARTS + 1)))
    with planned_within(10), pytest.raises(InvalidParameter, match="at most 10 values"):
        Offers(dataset).parts(_many(dataset, "site", Kind.INTEGER, list(range(11))), epsilon=1)


def test_parts_that_no_row_can_be_in_are_refused() -> None:
    texts = _clinic_of(Column("site", Kind.TEXT, categories=("north", "south")))
    with pytest.raises(Unanswerable, match="'nord' is not a declared category"):
        Offers(texts).parts(_many(texts, "site", Kind.TEXT, ["north", "nord"]), epsilon=1)
    numbers = _clinic_of(Column("site", Kind.INTEGER, lower=0, upper=5))
    with pytest.raises(Unanswerable, match="site IN \\(9\\) can never be true"):
        Offers(numbers).parts(_many(numbers, "site", Kind.INTEGER, [1, 9, 2]), epsilon=1)
    # What the rows of all parts must meet counts as well.
    no_north = Filter(Scan(texts.tables[0]), Call("unequal", (Name("site"), Literal("north", Kind.TEXT))))
    split = OpenPartition(texts, no_north, Name("site"), (("a", ("south",)), ("b", ("north",))))
    with pytest.raises(Unanswerable, match="can never be true"):
        Offers(texts).parts(split, epsilon=1)


SITES = {"north": ["n"], "south": ["s", "t"], "east": ["e"]}


def _shop(rows: int, *, replaced: bool = False, groups: int | None = None) -> DataSet:
    columns = (Column("who", Kind.INTEGER), Column("site", Kind.TEXT), Column("cost", Kind.INTEGER, lower=0, upper=9))
    visits = Table("visits", columns, "visits.csv", person="who")
    return DataSet("shop", (visits,), person_unit("who", replaced=replaced), rows=rows, groups=groups)


def _split(dataset: DataSet, **more: Any) -> OpenPartition:
    return table("visits").where(col("cost") > 0).partition("site", SITES, **more).open(dataset)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_people_with_few_rows_pay_for_as_few_parts(rows: int, replaced: bool) -> None:
    price = min(3, rows * (2 if replaced else 1))
    assert _split(_shop(rows, replaced=replaced)).touched == price
    asked_at_once = table("visits").partition("site", SITES).each(lambda part: part.count())
    assert asked_at_once.build(_shop(rows, replaced=replaced)).touched == price


def test_a_stated_number_of_parts_comes_before_the_limit_on_rows() -> None:
    assert [_split(_shop(1), groups=groups).touched for groups in (1, 2, 3, 9)] == [1, 2, 3, 3]
    assert _split(_shop(1, groups=2)).touched == 1
    assert _split(_shop(3, groups=2)).touched == 2
    # The limit of a question, which is applied in each part, bounds nothing.
    whole = _split(_shop(1), groups=3)
    assert isinstance(whole.relation, Filter)


People = dict[int, list[dict[str, Any]]]


def _people(draw: random.Random) -> People:
    def row(who: int) -> dict[str, Any]:
        return {"who": who, "site": draw.choice(["n", "s", "t", "e", "w", None]), "cost": draw.randrange(4)}

    return {who: [row(who) for _ in range(draw.randrange(6))] for who in range(4)}


def _changed_parts(partition: OpenPartition, here: People, there: People, engine: Any) -> int:
    """Return how many parts have other rows in one table than in the other."""
    keys = (Name("who"), Name("site"), Name("cost"))
    contents = []
    for people in (here, there):
        rows = [row for own in people.values() for row in own]
        with engine(partition.dataset, rows) as opened:
            found = [
                opened.aggregate(Aggregation(partition.rows(label), keys, (CountRows(),)))
                for label, _ in partition.parts
            ]
        contents.append([set(zip(map(tuple, one.keys), one.measures, strict=True)) for one in found])
    return sum(mine != other for mine, other in zip(*contents, strict=True))


def _neighbours(draw: random.Random, *, replaced: bool) -> tuple[People, People]:
    here = _people(draw)
    return here, {**here, 0: _people(draw)[0]} if replaced else {who: own for who, own in here.items() if who}


def _reference(dataset: DataSet, rows: list[dict[str, Any]]) -> Any:
    return ReferenceEngine(dataset, {"visits": rows})


def _duckdb(dataset: DataSet, rows: list[dict[str, Any]]) -> Any:
    arrow = pytest.importorskip("pyarrow", reason="rows are given as an Arrow table")
    kinds = [("who", arrow.int64()), ("site", arrow.string()), ("cost", arrow.int64())]
    return DuckDBEngine(
        dataset, frames={"visits": arrow.Table.from_pylist(rows, schema=arrow.schema(kinds))}, threads=1
    )


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("rows", [1, 2])
def test_no_neighbour_changes_more_parts_than_are_paid_for(rows: int, replaced: bool) -> None:
    """Of people with up to five rows in several parts; the price is attained, so that it is not too high."""
    draw = random.Random()  # noqa: S311
    partition = _split(_shop(rows, replaced=replaced))
    pairs = [_neighbours(draw, replaced=replaced) for _ in range(150)]
    most = max(_changed_parts(partition, *pair, _reference) for pair in pairs)
    assert most <= partition.touched
    everywhere = {0: [{"who": 0, "site": site, "cost": 1} for site in ("n", "s", "e")]}
    elsewhere = {0: [{"who": 0, "site": site, "cost": 2} for site in ("n", "s", "e")] if replaced else []}
    pairs = [(everywhere, elsewhere), *(({0: [a]}, {0: [b] * replaced}) for a in everywhere[0] for b in everywhere[0])]
    pairs += [({0: [a, a]}, {0: [b, b] * replaced}) for a in everywhere[0] for b in elsewhere[0] or everywhere[0]]
    if rows == 2:
        pairs.append(({0: everywhere[0][:2]}, {0: everywhere[0][2:] * replaced}))
    assert max(_changed_parts(partition, *pair, _reference) for pair in pairs) == partition.touched


def test_the_same_in_the_sql_of_duckdb() -> None:
    draw = random.Random()  # noqa: S311
    for replaced in (False, True):
        partition = _split(_shop(1, replaced=replaced))
        for _ in range(2):
            assert _changed_parts(partition, *_neighbours(draw, replaced=replaced), _duckdb) <= partition.touched


def test_a_limit_that_is_applied_in_each_part_would_not_keep_that_price() -> None:
    """The twin: the same rows without a bound below the condition, and a limit of one row above it."""
    dataset = _shop(1)
    whole = _split(dataset, groups=3)

    class LimitAfter(OpenPartition):
        def rows(self, label: str) -> Any:
            return Bounded(super().rows(label), (), Limits(rows=1), ("who", "site", "cost"))

    after = LimitAfter(dataset, whole.relation, whole.by, whole.parts)
    everywhere = {0: [{"who": 0, "site": site, "cost": 1} for site in ("n", "s", "e")]}
    assert _changed_parts(after, everywhere, {}, _reference) == 3 == after.touched
    assert _split(dataset).touched == 1
