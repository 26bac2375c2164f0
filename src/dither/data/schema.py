"""Schemas: what the curator declares about tables, and thereby makes public.

A *data set* is one privacy unit, one budget and one or more tables. Column names and kinds, bounds, categories, keys
of public tables, the privacy id and the contribution limits are public because they are declared here; nothing is ever
read off the rows. There are no defaults for what protects people: unit, bounds and limits must be said.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dither.data.expressions import Kind, Literal, Value, as_stored
from dither.errors import InvalidParameter
from dither.exact import whole
from dither.privacy import Relation, Unit, user

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and what is public about its values.

    Args:
        name: letters, digits and underscores, not starting with a digit or with two underscores.
        kind: what its cells hold; any other cell is NULL.
        lower: the least value that counts as it is; smaller ones are clamped to it where they are added up.
        upper: the largest value that counts as it is.
        categories: all values that may be published; a row with another value belongs to no group.
        nullable: whether NULL is a value that may be published.
        description: one line for people.

    >>> Column("age", Kind.INTEGER, lower=0, upper=120).is_bounded
    True

    """

    name: str
    kind: Kind
    lower: Value = None
    upper: Value = None
    categories: tuple[Value, ...] | None = None
    nullable: bool = False
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        check_name("column", self.name)
        if not isinstance(self.kind, Kind):
            raise InvalidParameter(f"kind of {self.name}", self.kind, f"one of {', '.join(k.value for k in Kind)}")
        if (self.lower is None) != (self.upper is None):
            raise InvalidParameter(f"bounds of {self.name}", (self.lower, self.upper), "both given or both absent")
        for bound in (self.lower, self.upper):
            if self.kind in (Kind.TEXT, Kind.BOOLEAN) and bound is not None:
                raise InvalidParameter(f"bounds of {self.name}", bound, f"absent for a {self.kind.value}")
            Literal(bound, self.kind)
        if self.lower is not None and not self.lower <= self.upper:  # type: ignore[operator]
            raise InvalidParameter(f"bounds of {self.name}", (self.lower, self.upper), "in ascending order")
        if self.categories is not None:
            for category in self.categories:
                Literal(category, self.kind)
            told_apart = {as_stored(category, self.kind) for category in self.categories} - {None}
            if not self.categories or len(told_apart) != len(self.categories):
                rule = "different values, at least one, without NULL (see nullable)"
                raise InvalidParameter(f"categories of {self.name}", self.categories, rule)

    @property
    def is_bounded(self) -> bool:
        """Whether values can be added up: numbers within declared bounds."""
        return self.lower is not None and self.kind.is_number

    @property
    def public_values(self) -> tuple[Value, ...] | None:
        """All values that may be published, if they are declared and at most a million; NULL last if nullable."""
        values = self.categories
        if values is None and self.kind is Kind.BOOLEAN:
            values = (False, True)
        elif values is None and isinstance(self.lower, int) and isinstance(self.upper, int):
            if self.kind is Kind.INTEGER and self.upper - self.lower < 10**6:
                values = tuple(range(self.lower, self.upper + 1))
        elif values is None and self.kind is Kind.DATE and isinstance(self.lower, datetime.date):
            last = self.upper.toordinal() if isinstance(self.upper, datetime.date) else 0
            first = self.lower.toordinal()
            if last - first < 10**6:
                values = tuple(datetime.date.fromordinal(day) for day in range(first, last + 1))
        return values if values is None or not self.nullable else (*values, None)


@dataclass(frozen=True)
class Table:
    """A table: its columns, where its rows are, and whose they are.

    Args:
        name: how requests call it.
        columns: what is declared; other columns of the source are never read.
        source: a path (CSV, Parquet), or the name of a table in the engine's database, possibly with a schema.
        person: the column that holds the privacy id; None when every row is a unit of its own, or for public tables.
        is_public: whether its rows may be known to all: it can be joined to and costs nothing.
        key: for a public table, the columns whose values are different in every row.

    """

    name: str
    columns: tuple[Column, ...]
    source: str
    person: str | None = None
    is_public: bool = False
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse columns that are named twice, and ids or keys that are no columns."""
        check_name("table", self.name)
        names = [column.name for column in self.columns]
        if not names or len({name.lower() for name in names}) != len(names):
            raise InvalidParameter(f"columns of {self.name}", names, "different names, at least one")
        if self.person is not None and (self.is_public or self.person not in names):
            raise InvalidParameter(f"privacy id of {self.name}", self.person, "a column of a private table")
        if any(name not in names for name in self.key) or (self.key and not self.is_public):
            raise InvalidParameter(f"key of {self.name}", self.key, "columns of a public table")

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidParameter("column", name, f"one of {', '.join(column.name for column in self.columns)}")

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kinds of the columns by name, in order."""
        return MappingProxyType({column.name: column.kind for column in self.columns})


@dataclass(frozen=True)
class DataSet:
    """One privacy unit, one budget, one or more tables.

    Args:
        name: how the catalogue, the ledger and requests call it.
        tables: private and public ones.
        unit: ROW, ROW_REPLACED, or ``user(id_column, relation)``; then every private table names its privacy id.
        rows: how many rows of one person count in one request, over all groups (persons only; 1 for rows).
        groups: how many groups of a request one person may count in.
        rows_per_group: how many rows of one person count in one group.
        engine: where the rows are: "duckdb" (files), "postgresql://...", "spark", "spark://...". What is written as
            ``${NAME}`` in an address is read from the environment when a connection is opened: see ``addresses``.

    """

    name: str
    tables: tuple[Table, ...]
    unit: Unit
    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None
    engine: str = field(default="duckdb", repr=False)  # an address may hold a password

    def __post_init__(self) -> None:
        """Refuse a unit that the tables do not have, and persons without limits."""
        check_name("dataset", self.name)
        names = [table.name for table in self.tables]
        if len({name.lower() for name in names}) != len(names) or not any(not table.is_public for table in self.tables):
            raise InvalidParameter("tables", names, "different names, at least one of them private")
        relations = (Relation.ADD_REMOVE, Relation.REPLACE)
        if self.unit.protects not in ("row", "user") or self.unit.relation not in relations:
            raise InvalidParameter("unit", self.unit, "rows, rows replaced, or persons")
        for table in self.tables:
            if not table.is_public and (table.person is not None) != self.protects_persons:
                rule = "declared for every private table exactly when the unit is a person"
                raise InvalidParameter(f"privacy id of {table.name}", table.person, rule)
        kinds = {table.column(table.person).kind for table in self.tables if table.person is not None}
        if len(kinds) > 1:
            raise InvalidParameter("privacy ids", sorted(kind.value for kind in kinds), "of one kind in all tables")
        limits = {"rows": self.rows, "groups": self.groups, "rows_per_group": self.rows_per_group}
        for name, limit in limits.items():
            if limit is not None:
                whole(name, limit, least=1, most=2**31)
                if not self.protects_persons:
                    raise InvalidParameter(name, limit, "left out when every row is a unit of its own")
        if self.protects_persons and self.rows is None and (self.groups is None or self.rows_per_group is None):
            raise InvalidParameter("rows", None, "given when a person is the unit, or groups and rows_per_group")

    @property
    def protects_persons(self) -> bool:
        """Whether the unit is a person with all their rows."""
        return self.unit.protects == "user"

    @property
    def is_replaced(self) -> bool:
        """Whether neighbours replace a unit instead of adding or removing one."""
        return self.unit.relation is Relation.REPLACE

    def table(self, name: str) -> Table:
        """Return the table of that name; upper and lower case do not matter."""
        for table in self.tables:
            if table.name.lower() == name.lower():
                return table
        raise InvalidParameter("table", name, f"one of {', '.join(table.name for table in self.tables)}")


def check_name(parameter: str, name: object) -> None:
    """Refuse what is no plain name: letters, digits, underscores, at most 63, not two underscores first."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)) or name.startswith("__"):
        rule = "letters, digits and underscores (63 at most), starting with a letter and not with two underscores"
        raise InvalidParameter(parameter, name, rule)


def person_unit(id_column: str, *, replaced: bool = False) -> Unit:
    """Return the unit of a person with all their rows."""
    return user(id_column, Relation.REPLACE if replaced else Relation.ADD_REMOVE)


def as_real(value: Value) -> float:
    """Return a declared bound as a double.

    >>> as_real(3)
    3.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidParameter("bound", value, "a finite number")
    return float(value)
