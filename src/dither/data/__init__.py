"""What is public about data, and how to reach it: schemas, expressions, relations, and engines that hold the rows.

Belongs here: what a curator declares about tables (``schema``), the closed trees in which a request says what it wants
of them (``expressions``, ``relations``), and the engines that turn such a tree into a few exact integers
(``engines``). Does not belong here: noise, prices, budgets, and anything that lets a value out.
"""

from dither.data.expressions import Call, Case, Cast, Expression, Grid, Kind, Literal, Name, OneOf
from dither.data.files import schema_from
from dither.data.relations import (
    Aggregated,
    Aggregation,
    Bounded,
    CountOf,
    CountRows,
    Filter,
    JoinPersons,
    JoinPublic,
    Keep,
    Largest,
    Limits,
    Measure,
    PerPerson,
    Persons,
    Project,
    Relation,
    Scan,
    Smallest,
    Sum,
    UnionAll,
    Window,
)
from dither.data.schema import Column, DataSet, Owner, Table

__all__ = [
    "Aggregated",
    "Aggregation",
    "Bounded",
    "Call",
    "Case",
    "Cast",
    "Column",
    "CountOf",
    "CountRows",
    "DataSet",
    "Expression",
    "Filter",
    "Grid",
    "JoinPersons",
    "JoinPublic",
    "Keep",
    "Kind",
    "Largest",
    "Limits",
    "Literal",
    "Measure",
    "Name",
    "OneOf",
    "Owner",
    "PerPerson",
    "Persons",
    "Project",
    "Relation",
    "Scan",
    "Smallest",
    "Sum",
    "Table",
    "UnionAll",
    "Window",
    "schema_from",
]
