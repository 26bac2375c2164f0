"""Bugs in queries and in the SQL that is printed: limits of a person, clamps and measures, some on one engine only."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from dither.data import Bounded, CountOf, CountRows, Kind, Limits, Name, Persons, Scan
from dither.data import contribution as contributions
from dither.data.contribution import Contribution
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.emit_expressions import Scope
from dither.data.engines.emit_postgresql import PostgreSQLEmitter
from dither.data.engines.emit_relations import Printed
from dither.data.engines.emit_spark import SparkEmitter
from dither.data.examples import clinic, visit
from dither.data.reference import ReferenceEngine
from dither.data.relations import Aggregation
from dither.data.schema import person_unit
from dither.privacy import ApproxDP
from dither.publish.queries.answer import plan_query
from dither.publish.queries.examples import clinic_query
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import oversteps
from tools.mutants.record import mutated

_FAMILY = "queries and emitted SQL"


def _measured(rows: list[dict[str, Any]], limits: Limits, keys: tuple[str, ...], *measures: Any) -> dict[Any, Any]:
    """Return exact measures of a person's rows within limits, as DuckDB gives them."""
    import pandas

    dataset = clinic(person_unit("person"))
    bounded = Bounded(Scan(dataset.tables[0]), tuple(map(Name, keys)), limits, ("site", "drug", "cost"))
    asked = Aggregation(bounded, tuple(map(Name, keys)), measures)
    engine = DuckDBEngine(dataset, frames={"visits": pandas.DataFrame(rows)}, threads=1)
    try:
        found = engine.aggregate(asked)
    finally:
        engine.close()
    return dict(zip(found.keys, found.measures, strict=True))


def _total(found: dict[Any, Any], place: int = 0) -> int:
    return sum(int(measures[place]) for measures in found.values())


def _few_rows() -> str:
    """Try a person with two rows at two sites, where one site counts."""
    rows = [visit(1, "north", cost=1), visit(1, "south", cost=2)]
    found = _measured(rows, Limits(rows=3, groups=1), ("site",), CountRows())
    return f"one person is counted at {len(found)} sites, and 1 is the limit" if len(found) > 1 else ""


def _counted_rows() -> str:
    """Try a person with five rows at one site, where two count."""
    rows = [visit(1, "north", cost=number) for number in range(5)]
    worst = _total(_measured(rows, Limits(rows_per_group=2), ("site",), CountRows()))
    return f"one person counts {worst} times at a site, and 2 is the limit" if worst > 2 else ""


def _three_limits() -> str:
    """Try a person with two rows at each of two sites, where three rows count in all."""
    rows = [visit(1, site, cost=number) for site in ("north", "south") for number in range(2)]
    found = _measured(rows, Limits(rows=3, groups=2, rows_per_group=2), ("site",), CountRows())
    return f"{_total(found)} rows of one person count, and 3 is the limit" if _total(found) > 3 else ""


def _people() -> str:
    """Try a person with three rows at one site, next to a measure that needs rows."""
    rows = [visit(1, "north", cost=number) for number in range(3)]
    found = _measured(rows, Limits(rows=3), ("site",), Persons(), CountOf(Name("cost")))
    return f"one person is {_total(found)} people" if _total(found) > 1 else ""


def _evaluated(sql: str) -> Any:
    import duckdb

    with duckdb.connect(":memory:") as connection:
        return connection.execute(sql).fetchall()


def _clamp() -> str:
    """Try a value of seven between 0 and 5, in the text for PostgreSQL, which DuckDB reads alike."""
    text = PostgreSQLEmitter({}).clamped("x", "0", "5")
    found = {x: _evaluated(f"SELECT {text} FROM (VALUES ({x})) AS v(x)")[0][0] for x in (-7, 3, 7)}  # noqa: S608 - all of it is written here
    return "" if found == {-7: 0, 3: 3, 7: 5} else f"values clamped to 0 and 5 become {found}"


def _first_rows() -> str:
    """Four rows of a person of which two are kept, in the text for Spark, which DuckDB reads alike."""
    scope = Scope({"x": Kind.INTEGER}, {"x": "x"})
    rows = Printed("SELECT x, p FROM (VALUES (1, 1), (2, 1), (3, 1), (4, 1)) AS v(x, p)", scope, "p", Kind.INTEGER)
    printed = SparkEmitter({}, lambda kinds, values: "").first(rows, (), ["p"], ["x"], 2)
    kept = len(_evaluated(printed.text))
    return f"{kept} rows of one person are kept, and 2 is the limit" if kept > 2 else ""


def _opposite() -> str:
    """One row of minus ten that is replaced by one of ten, in a table of one cell."""
    unit = Contribution(per_group=1, total=1, groups=1, is_replaced=True)
    found = contributions.of_rows(unit, -10, 10, 1)
    return "" if found.l1 >= 20 else f"a replaced row moves a sum by 20, and {found.l1} is stated"


def _discovered() -> str:
    """Try a person at two sites that nobody else has visited."""
    answer = plan_query(clinic_query("count", unit=person_unit("person"), groups="discovered"), ApproxDP(4, "1e-3"))
    here = [visit(1, "north")]
    there = [*here, visit(9, "new 1"), visit(9, "new 2")]
    first, second = (ReferenceEngine(answer.query.dataset, {"visits": rows}) for rows in (here, there))
    return oversteps(answer, first, second)


def _one_more(target: str) -> Callable[[], AbstractContextManager[None]]:
    def first(before: Any, self: Any, rows: Any, hidden: Any, partition: Any, order: Any, most: int) -> Any:
        return before(self, rows, hidden, partition, order, most + 1)

    return lambda: mutated(target, first)


QUERIES = (
    Plant(
        60,
        "people below the largest limit are left as they are",
        _FAMILY,
        "on DuckDB a person with few rows is in more groups than the limit",
        ("query",),
        edited("dither.data.engines.emit_crowded:harmless", ("return min(", "return max(")),
        _few_rows,
    ),
    Plant(
        61,
        "counts of a person are cut off one row late",
        _FAMILY,
        "all printed engines count one row of a person in a group more than the limit",
        ("query",),
        edited(
            "dither.data.engines.emitter:Emitter._preaggregated",
            ("least({own}, {most})", "least({own}, {most + 1})"),
        ),
        _counted_rows,
    ),
    Plant(
        62,
        "a limit of rows is dropped where there is one of groups",
        _FAMILY,
        "all printed engines count more rows of a person than the limit",
        ("query",),
        edited(
            "dither.data.engines.bounding:effective_limits",
            ("rows >= groups * rows_per_group", "rows >= groups"),
        ),
        _three_limits,
    ),
    Plant(
        63,
        "people are counted by their rows",
        _FAMILY,
        "a number of people beside a sum counts a person once a row, on printed engines",
        ("query",),
        edited(
            "dither.data.engines.emitter:Emitter._exact_measure",
            ("count(DISTINCT {rows.person})", "count({rows.person})"),
        ),
        _people,
    ),
    Plant(
        64,
        "PostgreSQL clamps below alone",
        _FAMILY,
        "a value above its bound is added up as it is, on PostgreSQL",
        ("query",),
        edited(
            "dither.data.engines.emit_postgresql:PostgreSQLEmitter.clamped",
            ("least(greatest({names[0]}, {lower}), {upper})", "greatest({names[0]}, {lower})"),
        ),
        _clamp,
    ),
    Plant(
        65,
        "Spark keeps one row more of each person",
        _FAMILY,
        "a fencepost in the rank of rows, on Spark",
        ("query",),
        _one_more("dither.data.engines.emit_spark:SparkEmitter.first"),
        _first_rows,
    ),
    Plant(
        66,
        "a replaced row moves a sum by its largest value",
        _FAMILY,
        "values of both signs move a cell from one end to the other",
        ("query", "report"),
        edited("dither.data.contribution:of_rows", ("span if unit.is_replaced else largest", "largest")),
        _opposite,
        is_known_kind=True,
    ),
    Plant(
        67,
        "a person is in one discovered group",
        _FAMILY,
        "the threshold for groups that are not declared is set for people in one of them",
        ("query",),
        edited("dither.publish.queries.design:Design.discovery", ("keys = self.contribution.groups", "keys = 1")),
        _discovered,
    ),
)
