"""Small data and queries on which answers are checked: a clinic's visits, and neighbours as bad as possible."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dither.data import Column, DataSet, Kind, Limits, Name, Scan, Table
from dither.data.schema import person_unit
from dither.mechanisms import Example
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP, Unit
from dither.publish.queries.query import Aggregate, Key, Query

_SITES = ("north", "south")
_DRUGS = ("a", "b", "c")
_LIMITS = {"rows": 3, "groups": 2, "rows_per_group": 2}


def clinic(unit: Unit) -> DataSet:
    """Return the schema of a clinic: visits with a site, a drug and a cost, of persons or by themselves."""
    of_persons = unit.protects == "user"
    columns = (
        Column("person", Kind.INTEGER),
        Column("site", Kind.TEXT, categories=_SITES),
        Column("drug", Kind.TEXT, categories=_DRUGS),
        Column("cost", Kind.INTEGER, lower=0, upper=10),
        Column("age", Kind.REAL, lower=0, upper=128),
    )
    visits = Table("visits", columns, "visits.csv", person="person" if of_persons else None)
    return DataSet("clinic", (visits,), unit, **(_LIMITS if of_persons else {}))  # type: ignore[arg-type]


def aggregate(name: str) -> Aggregate:
    """Return one aggregate of the clinic's visits by the name of its function."""
    cost, age = (0.0, 10.0), (0.0, 128.0)
    arguments: dict[str, dict[str, Any]] = {
        "count": {},
        "persons": {},
        "count_of": {"arguments": (Name("cost"),)},
        "covariance": {"arguments": (Name("cost"), Name("age")), "bounds": (cost, age)},
        "correlation": {"arguments": (Name("cost"), Name("age")), "bounds": (cost, age)},
        "quantile": {"arguments": (Name("cost"),), "bounds": (cost,), "share": Fraction(1, 2)},
        "mode": {"arguments": (Name("drug"),), "values": _DRUGS},
        "top": {"arguments": (Name("drug"),), "values": _DRUGS, "many": 2},
    }
    of_cost = {"arguments": (Name("cost"),), "bounds": (cost,)}
    return Aggregate(name, name, **arguments.get(name, of_cost))


def clinic_query(*functions: str, unit: Unit = ROW, groups: str = "public", **others: Any) -> Query:
    """Return a query for some aggregates by site: 'public' sites, 'discovered' ones, or 'none' for all rows at once."""
    dataset = clinic(unit)
    key = Key("site", Name("site"), None if groups == "discovered" else _SITES)
    aggregates = tuple(map(aggregate, functions))
    keys = () if groups == "none" else (key,)
    outputs = tuple((part.name, Name(part.name)) for part in (*keys, *aggregates))
    return Query(dataset, Scan(dataset.tables[0]), keys, aggregates, outputs, Limits(), **others)


def visit(person: Any, site: Any, drug: Any = "a", cost: Any = 1, age: Any = 40.0) -> dict[str, Any]:
    """Return one row."""
    return {"person": person, "site": site, "drug": drug, "cost": cost, "age": age}


def some_visits() -> list[dict[str, Any]]:
    """Return a few ordinary and odd rows."""
    return [
        visit(1, "north", "a", 10, 30.5),
        visit(1, "south", "b", 0, 31.0),
        visit(2, "north", "b", 3, 90.0),
        visit(3, "south", None, None, None),
        visit(None, "north", "a", 5, 5.0),
        visit(4, "elsewhere", "a", 10**9, -4.0),
    ]


def neighbours_of(dataset: DataSet) -> tuple[tuple[Any, Any, int], ...]:
    """Return pairs of engines one unit apart: the unit brings the largest, the smallest, or new values."""
    from dither.data.reference import ReferenceEngine

    def engine(rows: list[dict[str, Any]]) -> ReferenceEngine:
        return ReferenceEngine(dataset, {"visits": rows})

    rows, many = some_visits(), 1 if not dataset.protects_persons else 5
    largest = [visit(9, site, "a", 10**6, 1e300) for site in _SITES for _ in range(many)][: many * 2]
    smallest = [visit(9, site, "c", -(10**6), -1e300) for site in _SITES for _ in range(many)]
    if not dataset.protects_persons:
        largest, smallest = largest[:1], smallest[1:2]
    new = [visit(9, f"new {number}", "b", 10, 128.0) for number in range(many)]
    if dataset.is_replaced:
        pairs = [(rows + largest, rows + smallest), (rows + smallest, rows + new), (largest, new)]
    else:
        pairs = [(rows, rows + largest), (rows + smallest, rows), (rows, rows + new), ([], largest)]
    return tuple((engine(here), engine(there), 1) for here, there in pairs)


def answer_examples() -> Iterator[Example]:
    """Return answers of every kind of unit, loss, aggregate and group."""
    from dither.data.reference import ReferenceEngine
    from dither.publish.queries.answer import plan_query

    person, swapped = person_unit("person"), person_unit("person", replaced=True)
    designs: list[tuple[Query, Loss]] = [
        (clinic_query("count"), PureDP(1)),
        (clinic_query("count", "sum", "mean", unit=person), PureDP(1)),
        (clinic_query("persons", "sum", "variance", unit=swapped), ZCDP("1/2")),
        (clinic_query("covariance", "correlation", unit=person, groups="none"), ZCDP("1/2")),
        (clinic_query("quantile", "minimum", "maximum", unit=person), PureDP(2)),
        (clinic_query("mode", "top", "count", unit=person), PureDP(1)),
        (clinic_query("mode", unit=ROW_REPLACED), ZCDP("1/8")),
        (clinic_query("count", "sum", unit=person, groups="discovered"), ApproxDP(4, "1e-3")),
        (clinic_query("sum", "quantile", unit=ROW_REPLACED, groups="discovered"), ApproxDP(4, "1e-3")),
    ]
    for query, loss in designs:
        data = ReferenceEngine(query.dataset, {"visits": some_visits()})
        yield Example(plan_query(query, loss), data, neighbours_of(query.dataset))
