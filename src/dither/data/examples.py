"""Small data on which releases are checked: a clinic's visits, and worst-case neighbours."""

from __future__ import annotations

from typing import Any

from dither.data.expressions import Kind
from dither.data.schema import Column, DataSet, Table
from dither.privacy import Unit

SITES = ("north", "south")
DRUGS = ("a", "b", "c")
_LIMITS = {"rows": 3, "groups": 2, "rows_per_group": 2}


def clinic(unit: Unit) -> DataSet:
    """Return the schema of a clinic: visits with a site, a drug and a cost, of people or as single rows."""
    of_persons = unit.protects == "person"
    columns = (
        Column("person", Kind.INTEGER),
        Column("site", Kind.TEXT, categories=SITES),
        Column("drug", Kind.TEXT, categories=DRUGS),
        Column("cost", Kind.INTEGER, lower=0, upper=10),
        Column("age", Kind.REAL, lower=0, upper=128),
    )
    visits = Table("visits", columns, "visits.csv", person="person" if of_persons else None)
    return DataSet("clinic", (visits,), unit, **(_LIMITS if of_persons else {}))  # type: ignore[arg-type]


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
    largest = [visit(9, site, "a", 10**6, 1e300) for site in SITES for _ in range(many)][: many * 2]
    smallest = [visit(9, site, "c", -(10**6), -1e300) for site in SITES for _ in range(many)]
    if not dataset.protects_persons:
        largest, smallest = largest[:1], smallest[1:2]
    new = [visit(9, f"new {number}", "b", 10, 128.0) for number in range(many)]
    if dataset.is_replaced:
        pairs = [(rows + largest, rows + smallest), (rows + smallest, rows + new), (largest, new)]
    else:
        pairs = [(rows, rows + largest), (rows + smallest, rows), (rows, rows + new), ([], largest)]
    return tuple((engine(here), engine(there), 1) for here, there in pairs)
