"""Instances of queries and of queries of parts, planned from what is asked, of whom, and for which loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from dither.data import Bounded, Column, DataSet, Filter, Kind, Limits, Literal, Name, OneOf, Scan
from dither.data.examples import clinic, neighbours_of, some_visits, visit
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.mechanisms import Dialogue, Example
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP, Unit
from dither.publish.queries.adaptive_parts import AdaptiveParts, OpenPartition, PartQuestion
from dither.publish.queries.answer import plan_query
from dither.publish.queries.examples import aggregate, clinic_query
from dither.publish.queries.partition import plan_partitioned
from dither.publish.queries.partitioned import Part, Partitioned, number_of_part
from dither.publish.queries.query import Query
from dither.testing.spaces import Axis, Space

_UNITS: Final = (ROW, ROW_REPLACED, person_unit("person"), person_unit("person", replaced=True))
_LOSSES: Final = (PureDP(1), ZCDP("1/2"), ApproxDP(4, "1e-3"))
_FUNCTIONS: Final = (
    *(("count",), ("sum", "mean"), ("persons", "variance"), ("quantile", "minimum")),
    *(("mode",), ("top", "count_of"), ("covariance",), ("correlation", "maximum")),
)
#: Sites of a clinic that is split, more than any person touches.
_SITES: Final = ("a", "b", "c", "d", "e")


def _query() -> Space:
    axes = (
        Axis("functions", _FUNCTIONS),
        Axis("unit", _UNITS),
        Axis("groups", ("public", "discovered", "none")),
        Axis("loss", _LOSSES),
        Axis("noise", ("laplace", "gaussian")),
        Axis("quantiles", ("tree", "exponential")),
    )

    def make(start: int, values: dict[str, Any]) -> Example:
        query = clinic_query(*values["functions"], unit=values["unit"], groups=values["groups"])
        mechanism = plan_query(query, values["loss"], noise=values["noise"], quantiles=values["quantiles"])
        data = ReferenceEngine(query.dataset, {"visits": some_visits()})
        return Example(mechanism, data, neighbours_of(query.dataset))

    return Space("query", axes, ((0,) * len(axes),), make)


def _split_clinic(unit: Unit, rows: int) -> DataSet:
    """Return a clinic of five sites, in which so many rows of a person count."""
    dataset = clinic(unit)
    (visits,) = dataset.tables
    columns = tuple(
        Column("site", Kind.TEXT, categories=_SITES) if column.name == "site" else column for column in visits.columns
    )
    limited = {"rows": rows, "groups": rows, "rows_per_group": rows} if unit.protects == "person" else {}
    return replace(dataset, tables=(replace(visits, columns=columns),), **limited)  # type: ignore[arg-type]


def _split_rows(dataset: DataSet, groups: int | None) -> Any:
    """Return the rows that are split; of each person those in a number of parts, where there is one."""
    source = Scan(dataset.tables[0])
    if groups is None or not dataset.protects_persons:
        return source
    number = number_of_part(Name("site"), [(site,) for site in _SITES], Kind.TEXT)
    return Bounded(source, (number,), Limits(groups=groups), tuple(source.columns))


def _asked(dataset: DataSet, rows: Any, site: str, function: str) -> Query:
    part = Filter(rows, OneOf(Name("site"), (Literal(site, Kind.TEXT),)))
    return Query(dataset, part, (), (aggregate(function),), ((function, Name(function)),), Limits())


def _people(dataset: DataSet) -> tuple[tuple[Any, Any, int], ...]:
    """Return engines one unit apart: one in a single site, one with a row in every site, one with many in two."""
    base = [visit(number, site, "a", 3, 40.0) for number, site in enumerate(_SITES)]
    everywhere = [visit(99, site, "b", 10, 90.0) for site in _SITES]
    two = [visit(99, site, "b", 10, 90.0) for site in _SITES[1:3] for _ in range(4)]
    come = [everywhere[:1], everywhere, two] if dataset.protects_persons else [everywhere[:1], everywhere[-1:]]
    if dataset.is_replaced:
        pairs = [(base + one, base + other) for one in come for other in come if one is not other]
    else:
        pairs = [(base, base + one) for one in come] + [(base + one, base) for one in come]

    def engine(rows: list[dict[str, Any]]) -> ReferenceEngine:
        return ReferenceEngine(dataset, {"visits": rows})

    return tuple((engine(here), engine(there), 1) for here, there in pairs)


_PART_AXES: Final = (
    Axis("unit", _UNITS),
    Axis("rows", (2, 1, 4)),
    Axis("groups", (None, 1, 2)),
    Axis("parts", (5, 2, 3)),
    Axis("functions", (("count", "sum"), ("sum", "mean"), ("persons", "variance"))),
    Axis("loss", _LOSSES[:2]),
)


def _partitioned() -> Space:
    def make(start: int, values: dict[str, Any]) -> Example:
        dataset = _split_clinic(values["unit"], values["rows"])
        rows = _split_rows(dataset, values["groups"])
        functions = values["functions"]
        parts = tuple(
            Part(site, (site,), _asked(dataset, rows, site, functions[place % len(functions)]))
            for place, site in enumerate(_SITES[: values["parts"]])
        )
        mechanism = plan_partitioned(Partitioned(dataset, rows, Name("site"), parts), values["loss"])
        pairs = _people(dataset)
        return Example(mechanism, pairs[0][0], pairs)

    return Space("partitioned-query", _PART_AXES, ((0,) * len(_PART_AXES),), make)


def _adaptive() -> Space:
    def make(start: int, values: dict[str, Any]) -> Example:
        dataset = _split_clinic(values["unit"], values["rows"])
        rows = _split_rows(dataset, values["groups"])
        functions, sites = values["functions"], _SITES[: values["parts"]]
        partition = OpenPartition(dataset, rows, Name("site"), tuple((site, (site,)) for site in sites))
        half = PureDP("1/2") if isinstance(values["loss"], PureDP) else ZCDP("1/4")
        script = tuple(
            PartQuestion(site, plan_query(_asked(dataset, rows, site, functions[place % len(functions)]), half))
            for place, site in enumerate((*sites, *sites[::-1]))
        )
        pairs = tuple(
            (Dialogue(here, script), Dialogue(there, script), apart) for here, there, apart in _people(dataset)
        )
        return Example(AdaptiveParts(partition=partition, each=values["loss"]), pairs[0][0], pairs)

    return Space("adaptive-parts", _PART_AXES, ((0,) * len(_PART_AXES),), make)


RULES: Final[dict[str, Callable[[], Space]]] = {
    "query": _query,
    "partitioned-query": _partitioned,
    "adaptive-parts": _adaptive,
}
