"""Small queries for checks, over a clinic's visits."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dither.data import Limits, Name, Scan
from dither.data.examples import DRUGS, SITES, clinic, neighbours_of, some_visits
from dither.data.schema import person_unit
from dither.mechanisms import Example
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP, Unit
from dither.publish.queries.query import Aggregate, Key, Query


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
        "mode": {"arguments": (Name("drug"),), "values": DRUGS},
        "top": {"arguments": (Name("drug"),), "values": DRUGS, "many": 2},
    }
    of_cost = {"arguments": (Name("cost"),), "bounds": (cost,)}
    return Aggregate(name, name, **arguments.get(name, of_cost))


def clinic_query(*functions: str, unit: Unit = ROW, groups: str = "public", **others: Any) -> Query:
    """Return a query for some aggregates by site: 'public' sites, 'discovered' ones, or 'none' for all rows."""
    dataset = clinic(unit)
    key = Key("site", Name("site"), None if groups == "discovered" else SITES)
    aggregates = tuple(map(aggregate, functions))
    keys = () if groups == "none" else (key,)
    outputs = tuple((part.name, Name(part.name)) for part in (*keys, *aggregates))
    return Query(dataset, Scan(dataset.tables[0]), keys, aggregates, outputs, Limits(), **others)


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
    for query, loss in (
        (clinic_query("quantile", "minimum", "count", unit=person), PureDP(2)),
        (clinic_query("quantile", unit=ROW_REPLACED, groups="none"), ZCDP("1/2")),
    ):
        data = ReferenceEngine(query.dataset, {"visits": some_visits()})
        yield Example(plan_query(query, loss, quantiles="exponential"), data, neighbours_of(query.dataset))
