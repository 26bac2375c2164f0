"""Schemas: the curator's declarations about tables, which are thereby public.

A *data set* is one privacy unit, one budget and one or more tables. Column names and kinds, bounds, categories, keys
of public tables, the privacy id and the contribution limits are public because they are declared here; nothing is ever
read off the rows. There are no defaults for what protects people: unit, bounds and limits must be stated.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dither.data.cell_forms import Form, forms_of
from dither.data.dataset_checks import check_group, check_known
from dither.data.endings import CSV_ENDINGS, DELIMITERS, EXCEL_ENDINGS, TEXT_ENDINGS, may_end_in
from dither.data.expressions import Kind, Literal, Value, as_stored
from dither.data.graphs import Graph
from dither.data.kinds import KINDS, Declaration, gathered
from dither.data.place_tables import Places
from dither.data.ticks import Ticks
from dither.errors import InvalidParameter
from dither.exact import typed, whole
from dither.privacy import Relation, Unit, group_of, person

#: How many characters of a text are read where its column does not say, and how many a column may ask for.
USUAL_LENGTH: Final = 1024
LONGEST_LENGTH: Final = 65_536
#: How many rows of a person enter a join of private tables where the data set does not say, and how many at most.
USUAL_ROWS_PER_JOIN: Final = 100
_MOST_ROWS_PER_JOIN: Final = 4096
#: How many rows of a public table one row may meet, at most.
_MOST_PUBLIC_ROWS: Final = 100_000
#: After how many seconds a query is given up where the data set does not say, and how many it may ask for.
USUAL_TIME_LIMIT: Final = 3600
#: What the only private table of a data set is called, beside its own name.
ONLY_TABLE: Final = "data"
_LONGEST_TIME_LIMIT: Final = 7 * 86_400
#: The source of a table whose rows are given as frames with every session.
FRAMES: Final = "frames"
#: What a column may be to an attacker: a name, what others may know, what they should not learn, anything else.
ROLES: Final = ("identifier", "quasi", "sensitive", "other")
_LONGEST_SOURCE: Final = 1024
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True)
@typed
class Column:
    """A column: its name, its kind, and the public facts about its values.

    Args:
        name: letters, digits and underscores, not starting with a digit or with two underscores.
        kind: the kind of its cells; any other cell is NULL.
        lower: the least value that counts as it is; smaller ones are clamped to it where they are added up.
        upper: the largest value that counts as it is.
        categories: all values that may be published; a row with another value belongs to no group.
        nullable: whether NULL is a value that may be published.
        description: one line for people.
        length: of a text, the number of characters (code points) that are read: the rest is cut off. By default
            1,024. A privacy id, or an end of an edge, that is longer is NULL instead, because two people's could become
            one.
        source: the exact name of the column in the file, the frame or the database's table, where that
            is not ``name``. Any text without NUL.
        role: what the column is to an attacker of a disguised table, one of ``ROLES``. No release depends on it.
        form: how its texts write numbers, days or moments, where that is not the one grammar: see ``cell_forms``. One
            example of a number, such as ``("1.234,56 €",)``; of days and moments one or more patterns, such as
            ``("DD.MM.YYYY", "ISO")``. Cells that the file stores as numbers or days are read as such.

    >>> Column("age", Kind.INTEGER, lower=0, upper=120).is_bounded
    True
    >>> Column("spend", Kind.REAL, source="Total Spend (£)").stored_name
    'Total Spend (£)'

    """

    name: str
    kind: Kind
    lower: Value = None
    upper: Value = None
    categories: tuple[Value, ...] | None = None
    nullable: bool = False
    description: str = ""
    length: int | None = None
    source: str | None = None
    role: str | None = None
    form: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse contradictory declarations."""
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
        if self.length is not None:
            if self.kind is not Kind.TEXT:
                raise InvalidParameter(f"length of {self.name}", self.length, f"absent for a {self.kind.value}")
            whole(f"length of {self.name}", self.length, least=1, most=LONGEST_LENGTH)
        for category in self.categories or ():
            if isinstance(category, str) and len(category) > self.longest:
                rule = f"of at most {self.longest} characters: longer ones are not read, unless length is larger"
                raise InvalidParameter(f"categories of {self.name}", category, rule)
        if self.source is not None and not _is_source_name(self.source):
            rule = f"a string of at most {_LONGEST_SOURCE} characters, without NUL and without lone surrogates"
            raise InvalidParameter(f"source of {self.name}", self.source, rule)
        if self.role is not None and self.role not in ROLES:
            raise InvalidParameter(f"role of {self.name}", self.role, f"one of {', '.join(ROLES)}")
        if self.form is not None:
            forms_of(f"form of {self.name}", self.form, self.kind)

    @property
    def forms(self) -> tuple[Form, ...]:
        """How its strings write values; empty for the grammar of all tables."""
        return () if self.form is None else forms_of(f"form of {self.name}", self.form, self.kind)

    @property
    def stored_name(self) -> str:
        """The name of the column in its source."""
        return self.name if self.source is None else self.source

    @property
    def longest(self) -> int:
        """The largest number of characters of a text in the column."""
        return USUAL_LENGTH if self.length is None else self.length

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
@typed
class Owner:
    """A reference through which the rows of a table belong to people: those to whom the rows referred to belong.

    Args:
        table: the table that is referred to.
        columns: the columns that refer to it. A row in which one of them is NULL does not exist, nor does one that
            refers to no row.
        keys: the columns of that table that they equal, in the same order.
        rows: the most rows that refer to one key; further ones do not exist, chosen by a hash of these rows, which all
            belong to the same people. None means no limit.

    >>> str(Owner("orders", ("l_orderkey",), ("o_orderkey",)))
    'l_orderkey -> orders.o_orderkey'

    """

    table: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse a reference without columns, and one that names a column twice."""
        check_name("owner", self.table)
        for names in (self.columns, self.keys):
            if not names or len(set(names)) != len(names) or len(names) != len(self.columns):
                raise InvalidParameter("owner", names, "different columns, each with the column that it equals")
        if self.rows is not None:
            whole("rows per owner", self.rows, least=1, most=2**31)

    def __str__(self) -> str:
        """Return the reference as it is written in words."""
        return ", ".join(f"{mine} -> {self.table}.{key}" for mine, key in zip(self.columns, self.keys, strict=True))


@dataclass(frozen=True, init=False)
@typed
class Table:
    """A table: its columns, the place of its rows, and the people they belong to.

    Args:
        name: its name in requests.
        columns: the declared columns; other columns of the source are never read.
        source: a path (CSV, Parquet), a pattern of paths, a folder (ending in "/" where how its files are read is
            declared), or the name of a table in the engine's database, possibly with a schema. Several paths, one a
            line, are one table.
        person: the column that holds the privacy id; None when every row is its own unit, or for public tables.
        is_public: whether its rows may be known to all: it can be joined to and costs nothing.
        key: for a public table, the columns whose values are different in every row.
        decimal: "," where the numbers of a CSV file are written as 3,14. A number with a point is then NULL: nobody
            could say whether it parts decimals or thousands. Left out for a point.
        rows: for a public table, how many of its rows one row may meet where a query joins it on less than its key: the
            number of its rows, or of those that agree in what it is joined on. By default ``rows_per_join`` of the data
            set. Further ones are left out.
        owner: for a private table without a privacy id, the reference through which its rows belong to people.
        delimiter: of a CSV file, what separates its fields; by default the one of ``DELIMITERS`` that finds most of the
            declared columns in the first row.
        sheet: of a workbook, the sheet with the rows; needed where it has several.
        rows_per_person: the most rows of this table that one person has in any request; further ones do not count,
            chosen by a hash of that person's own rows. 1 for a table of the people themselves. None means no limit
            beside those of the data set.
        declared: for a private table whose rows are of a kind of data (see ``kinds``), what is public about them.
        kinds: the same by the name of the kind: ``stream=Ticks(...)`` for rows that arrive over time,
            ``graph=Graph(...)`` for edges, ``places=Places(...)`` for positions.

    """

    name: str
    columns: tuple[Column, ...]
    source: str
    person: str | None
    is_public: bool
    key: tuple[str, ...]
    decimal: str | None
    rows: int | None
    owner: Owner | None
    rows_per_person: int | None
    delimiter: str | None
    sheet: str | None
    declared: tuple[Declaration, ...]

    def __init__(
        self,
        name: str,
        columns: tuple[Column, ...],
        source: str,
        person: str | None = None,
        is_public: bool = False,
        key: tuple[str, ...] = (),
        decimal: str | None = None,
        rows: int | None = None,
        owner: Owner | None = None,
        rows_per_person: int | None = None,
        *,
        delimiter: str | None = None,
        sheet: str | None = None,
        declared: tuple[Declaration, ...] = (),
        **kinds: Declaration | None,
    ) -> None:
        limits = {"decimal": decimal, "rows": rows, "owner": owner, "rows_per_person": rows_per_person, "sheet": sheet}
        said = {"name": name, "columns": columns, "source": source, "person": person, "is_public": is_public}
        # Set once, as a frozen record's own constructor does.
        self.__dict__.update(said, key=key, delimiter=delimiter, **limits, declared=gathered(declared, kinds))
        self.__post_init__()

    def __post_init__(self) -> None:
        """Refuse columns that are named twice, and ids or keys that are not columns."""
        check_name("table", self.name)
        names = [column.name for column in self.columns]
        if not names or len({name.lower() for name in names}) != len(names):
            raise InvalidParameter(f"columns of {self.name}", names, "different names, at least one")
        stored = [column.stored_name for column in self.columns]
        for name in stored:
            if stored.count(name) > 1:
                raise InvalidParameter(f"columns of {self.name}", name, "the source of one column only")
        for column in self.columns:
            if column.source in names and column.source != column.name:
                # A request may call a column by either name: the declared one must be clear.
                rule = (
                    "the name of no other declared column: call that one otherwise, because a query may use either name"
                )
                raise InvalidParameter(f"source of {column.name}", column.source, rule)
        if self.person is not None and (self.is_public or self.person not in names):
            raise InvalidParameter(f"privacy id of {self.name}", self.person, "a column of a private table")
        if any(name not in names for name in self.key) or (self.key and not self.is_public):
            raise InvalidParameter(f"key of {self.name}", self.key, "columns of a public table")
        if self.decimal is not None and (self.decimal != "," or not may_end_in(self.sources, TEXT_ENDINGS)):
            rule = "',' for text files and workbooks that write numbers as 3,14, and omitted otherwise"
            raise InvalidParameter(f"decimal of {self.name}", self.decimal, rule)
        is_csv = may_end_in(self.sources, CSV_ENDINGS)
        if self.delimiter is not None and not (is_csv and self.delimiter in DELIMITERS):
            rule = "a comma, a semicolon, a tab or a bar, for a CSV file"
            raise InvalidParameter(f"delimiter of {self.name}", self.delimiter, rule)
        if self.sheet is not None and not may_end_in(self.sources, EXCEL_ENDINGS):
            raise InvalidParameter(f"sheet of {self.name}", self.sheet, "omitted, unless the source is a workbook")
        if self.rows is not None:
            if not self.is_public:
                raise InvalidParameter(f"rows of {self.name}", self.rows, "not allowed, unless the table is public")
            whole(f"rows of {self.name}", self.rows, least=1, most=_MOST_PUBLIC_ROWS)
        if self.owner is not None:
            self._check_owner(self.owner, names)
        if self.rows_per_person is not None:
            if not self.identifying:
                rule = "not allowed for a table whose rows belong to no person"
                raise InvalidParameter(f"rows per person of {self.name}", self.rows_per_person, rule)
            whole(f"rows per person of {self.name}", self.rows_per_person, least=1, most=2**31)
        for one in self.declared:
            one.check(self)

    @property
    def sources(self) -> tuple[str, ...]:
        """The paths that its source names: one, unless the source has several lines."""
        return tuple(self.source.split("\n"))

    @property
    def stream(self) -> Ticks | None:
        """How its rows arrive."""
        return Ticks.of(self)

    @property
    def graph(self) -> Graph | None:
        """What is public about its edges."""
        return Graph.of(self)

    @property
    def places(self) -> Places | None:
        """What is public about its positions."""
        return Places.of(self)

    @property
    def nodes(self) -> int:
        """The number of declared nodes of a table of edges; 0 for any other table."""
        return 0 if self.graph is None else self.graph.size(self)

    def _check_owner(self, owner: Owner, names: Sequence[str]) -> None:
        if self.is_public:
            raise InvalidParameter(f"owner of {self.name}", str(owner), "not allowed for a public table")
        if self.person is not None:
            rule = (
                f"not allowed with {self.person}, which identifies the person of a row: "
                "declare the one who is protected"
            )
            raise InvalidParameter(f"owner of {self.name}", str(owner), rule)
        for name in owner.columns:
            if name not in names:
                raise InvalidParameter(f"owner of {self.name}", name, f"one of its columns {', '.join(names)}")

    @property
    def identifying(self) -> tuple[str, ...]:
        """The columns that say whose a row is: the privacy id, or those that refer to the owner."""
        if self.owner is not None:
            return self.owner.columns
        return () if self.person is None else (self.person,)

    @property
    def uncut(self) -> tuple[str, ...]:
        """The columns of which a text that is too long is NULL: cut, two people's, or two nodes', could become one."""
        return (*self.identifying, *(name for one in self.declared for name in one.uncut))

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        for column in self.columns:
            if column.source == name:
                raise InvalidParameter("column", name, f"{column.name}, as that column is declared")
        raise InvalidParameter("column", name, f"one of {', '.join(column.name for column in self.columns)}")

    @property
    def as_copied(self) -> Table:
        """The same table for rows under the declared names: a copy that was made here, or a prepared frame."""
        is_plain = (self.decimal, self.delimiter, self.sheet) == (None, None, None)
        if is_plain and all(column.source is None and column.form is None for column in self.columns):
            return self
        columns = tuple(replace(column, source=None, form=None) for column in self.columns)
        return replace(self, columns=columns, decimal=None, delimiter=None, sheet=None)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kinds of the columns by name, in order."""
        return MappingProxyType({column.name: column.kind for column in self.columns})


@dataclass(frozen=True)
@typed
class DataSet:
    """One privacy unit, one budget, one or more tables.

    Args:
        name: its name in the catalogue, the ledger and requests.
        tables: private and public ones.
        unit: ROW, ROW_REPLACED, or ``person(id_column, relation)``; then every private table names its privacy id, or
            the reference through which its rows belong to people. EDGE, NODE or WEIGHT where the one private
            table is a graph.
        rows: the most rows of one person that count in one request, over all groups (people only; 1 for rows).
        groups: the largest number of groups of a request in which one person counts.
        rows_per_group: the largest number of rows of one person that count in one group.
        engine: where the rows are: "duckdb" (files), "postgresql://...", "spark", "spark://...". What is written as
            ``${NAME}`` in an address is read from the environment when a connection is opened: see ``addresses``.
        rows_per_join: the most rows of one person that enter each side of a join of private tables (people only); by
            default 100.
        time_limit: the number of seconds after which an engine stops a query; an hour by default.
        people: about how many people there are, from a public source; never counted, nor compared with the rows. A
            query that would show nothing with that many is refused before it is charged.
        dropped: the share of all rows that ``rows`` drops, from a public source or a paid release; answers show it.
        dropped_up_to: how many rows of a person that share counts.
        group_size: of how many rows, or people, the members of a group are at most, where groups are protected: see
            ``protected``. With ``declared_group`` as the unit, the number of rows of a group that count.

    """

    name: str
    tables: tuple[Table, ...]
    unit: Unit
    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None
    engine: str = field(default="duckdb", repr=False)  # an address may hold a password
    rows_per_join: int | None = None
    time_limit: int | None = None
    people: int | None = None
    dropped: float | None = None
    dropped_up_to: int | None = None
    group_size: int | None = None

    def __post_init__(self) -> None:
        """Refuse a unit that the tables do not have, and people without limits."""
        check_name("dataset", self.name)
        names = [table.name for table in self.tables]
        if len({name.lower() for name in names}) != len(names) or not any(not table.is_public for table in self.tables):
            raise InvalidParameter("tables", names, "different names, at least one of them private")
        relations = (Relation.ADD_REMOVE, Relation.REPLACE)
        if self.own_kind is None and (
            self.unit.protects not in ("row", "person", "group") or self.unit.relation not in relations
        ):
            others = [word for kind in KINDS.parts.values() for word in kind.units]
            raise InvalidParameter("unit", self.unit, f"rows, rows replaced, people, or one of {', '.join(others)}")
        self._check_kinds()
        for table in self.tables:
            self._check_forms(table)
            if not table.is_public and bool(table.identifying) != self.protects_persons:
                rule = "declared for every private table exactly when the unit is a person, unless it has an owner"
                raise InvalidParameter(f"privacy id of {table.name}", table.person or str(table.owner), rule)
            self._check_owner(table)
        kinds = {table.column(table.person).kind for table in self.tables if table.person is not None}
        if len(kinds) > 1:
            raise InvalidParameter("privacy ids", sorted(kind.value for kind in kinds), "of one kind in all tables")
        if self.time_limit is not None:
            whole("time_limit", self.time_limit, least=1, most=_LONGEST_TIME_LIMIT)
        for name in ("rows", "groups", "rows_per_group", "rows_per_join"):
            limit = getattr(self, name)
            if limit is not None:
                whole(name, limit, least=1, most=_MOST_ROWS_PER_JOIN if name == "rows_per_join" else 2**31)
                if not self.protects_persons:
                    raise InvalidParameter(name, limit, "not allowed when every row is a separate unit")
        if self.protects_persons and self.rows is None and (self.groups is None or self.rows_per_group is None):
            raise InvalidParameter("rows", None, "required when a person is the unit, or groups and rows_per_group")
        check_known(self)
        check_group(self)

    def _check_kinds(self) -> None:
        """Refuse a private table without the kind whose unit is protected, and what a kind does not allow."""
        private, own = [table for table in self.tables if not table.is_public], self.own_kind
        for table in private:
            if own is not None and own.of(table) is None:
                raise InvalidParameter(
                    f"{own.kind} of {table.name}", None, f"declared: the unit is {self.unit.protects}"
                )
        for table in private:
            for one in table.declared:
                one.check_in(table, self)

    def _check_forms(self, table: Table) -> None:
        """Refuse forms of cells where another system reads the rows."""
        if (
            table.source == FRAMES
            or all(one.lower().endswith(TEXT_ENDINGS) for one in table.sources)
            or self.engine.startswith("duckdb")
        ):
            return
        for column in (one for one in table.columns if one.form is not None):
            rule = "absent where the engine reads the rows: it is for text files and frames"
            raise InvalidParameter(f"form of {table.name}.{column.name}", column.form, rule)

    def _check_owner(self, table: Table) -> None:
        """Refuse a reference that leads to no privacy id, or compares what is not a key."""
        known = {other.name: other for other in self.tables}
        passed = [table.name]
        while (owner := table.owner) is not None:
            here, found = f"owner of {table.name}", known.get(owner.table)
            if found is None or found.is_public:
                private = ", ".join(other.name for other in self.tables if not other.is_public)
                raise InvalidParameter(here, owner.table, f"one of the private tables {private}")
            if found.name in passed:
                rule = "a reference that leads to a table with a privacy id, and not back to where it began"
                raise InvalidParameter(here, " -> ".join([*passed, found.name]), rule)
            for mine, key in zip(owner.columns, owner.keys, strict=True):
                kinds = table.kinds[mine], found.kinds.get(key)
                if kinds[1] is None:
                    rule = f"equal to columns of {found.name}: {', '.join(found.kinds)}"
                    raise InvalidParameter(here, key, rule)
                if kinds[0] is not kinds[1] or kinds[0] is Kind.REAL:
                    said = f"{mine} ({kinds[0].value}) -> {found.name}.{key} ({kinds[1].value})"
                    raise InvalidParameter(here, said, "columns of one kind, which is not real")
            passed.append(found.name)
            table = found

    def owners(self, table: Table) -> tuple[Table, ...]:
        """Return the tables through which rows of a table belong to people, from the next one to that with the id."""
        chain: list[Table] = []
        while table.owner is not None:
            table = self.table(table.owner.table)
            chain.append(table)
        return tuple(chain)

    @property
    def own_kind(self) -> type[Declaration] | None:
        """The kind of data whose own unit is protected, such as an edge; None where rows or people are."""
        return next((kind for kind in KINDS.parts.values() if self.unit in kind.units.values()), None)

    @property
    def is_graph(self) -> bool:
        """Whether the unit is an edge of a graph, with all rows that say it, its weight, or a node with its edges."""
        return self.own_kind is Graph

    @property
    def protects_persons(self) -> bool:
        """Whether the unit is a person with all their rows, or a declared group with its rows."""
        return self.unit.protects in ("person", "group")

    @property
    def protected(self) -> Unit:
        """What neighbours differ in: the unit, or a group of several units that nobody declares one by one."""
        if self.group_size is None or self.unit.protects == "group":
            return self.unit
        return group_of(self.unit, self.group_size)

    @property
    def members(self) -> int:
        """How many units change together: 1, or the size of undeclared groups."""
        return 1 if self.group_size is None or self.unit.protects == "group" else self.group_size

    @property
    def identifying(self) -> frozenset[str]:
        """The columns that say whose a row is, of all tables: never published, nor learned from."""
        return frozenset(name for table in self.tables for name in table.identifying)

    @property
    def join_rows(self) -> int:
        """The number of rows of one person that enter each side of a join of private tables."""
        return USUAL_ROWS_PER_JOIN if self.rows_per_join is None else self.rows_per_join

    @property
    def seconds(self) -> int:
        """The number of seconds after which a query is stopped."""
        return USUAL_TIME_LIMIT if self.time_limit is None else self.time_limit

    @property
    def is_replaced(self) -> bool:
        """Whether neighbours replace a unit instead of adding or removing one."""
        return self.unit.relation is Relation.REPLACE

    def table(self, name: str) -> Table:
        """Return the table of that name; upper and lower case do not matter.

        The only private table is ``data``, too, unless another one has that name.
        """
        for table in self.tables:
            if table.name.lower() == name.lower():
                return table
        private = [table for table in self.tables if not table.is_public]
        if name.lower() == ONLY_TABLE and len(private) == 1:
            return private[0]
        raise InvalidParameter("table", name, f"one of {', '.join(table.name for table in self.tables)}")


def check_name(parameter: str, name: object) -> None:
    """Refuse a name that is not plain: letters, digits, underscores, at most 63, not starting with two underscores."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)) or name.startswith("__"):
        rule = "letters, digits and underscores (63 at most), starting with a letter and not with two underscores"
        raise InvalidParameter(parameter, name, rule)


def _is_source_name(name: str) -> bool:
    """Whether a source may use this name for a column, and every engine can be asked for it."""
    return len(name) <= _LONGEST_SOURCE and "\x00" not in name and _SURROGATE.search(name) is None


def person_unit(id_column: str, *, replaced: bool = False) -> Unit:
    """Return the unit of a person with all their rows."""
    return person(id_column, Relation.REPLACE if replaced else Relation.ADD_REMOVE)
