# ruff: noqa: S608 - printing SQL is what this module is for; every name and constant in it is quoted by the emitter
"""Printing relations: the rows of a request, as nested SELECTs of one dialect.

Columns and tables go by names that the emitter makes up, so that names which differ only by case, or look like SQL, do
no harm. A printed relation may have columns beyond those it lists; every SELECT over it names its columns.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Final

from dither.data.base_relations import is_of_kind
from dither.data.engines.bounding import effective_limits
from dither.data.engines.emit_crowded import where_many
from dither.data.engines.emit_expressions import ExpressionEmitter, Scope
from dither.data.engines.emit_owned import owned_rows, where_crowded
from dither.data.expressions import Kind, Literal, Name, Value, as_stored, kind_of
from dither.data.portable_hash import LARGEST_REAL, REAL_STEPS
from dither.data.public_rows import PublicScan
from dither.data.relations import (
    ORDERED,
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
from dither.data.schema import Column, Table
from dither.errors import InvalidParameter

_WINDOW_MEASURES: Final[Mapping[str, type[CountOf | Sum | Smallest | Largest]]] = MappingProxyType(
    {"count": CountOf, "sum": Sum, "smallest": Smallest, "largest": Largest}
)


@dataclass(frozen=True)
class Printed:
    """A relation as SQL: a SELECT, its visible columns, and the name of the column that holds the person."""

    text: str
    scope: Scope
    person: str | None
    person_kind: Kind | None

    @property
    def listed(self) -> str:
        """The columns, for a SELECT over this one."""
        names = [*self.scope.names.values(), *([self.person] if self.person else [])]
        return ", ".join(names) if names else "1"


class RelationEmitter(ExpressionEmitter):
    """Prints relations of one dialect.

    Args:
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

    """

    #: What keeps an optimiser from writing computed outputs out wherever they are read: stacked, they would be computed
    #: as often as there are ways through the stack, for those rows for which a CASE gets there.
    fence: ClassVar[str] = ""
    #: Whether rows may be computed once and read twice, WITH ... AS MATERIALIZED.
    keeps_rows: ClassVar[bool] = False

    def __init__(self, *, portable: bool = False) -> None:
        self.portable = portable
        self._numbers = itertools.count()

    # What a dialect may override.

    @abstractmethod
    def source(self, table: Table) -> str:
        """Return the FROM clause that reads a declared table; its raw columns keep their own names."""

    @abstractmethod
    def cell(self, table: Table, column: str, kind: Kind) -> str:
        """Return a declared column of a source as a clean value of its kind: NULL for any other content."""

    def public_list(self, names: Sequence[str], kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return the FROM clause of a public list of tuples, with columns of those names."""
        rows = ", ".join(
            "(" + ", ".join(self.literal(value, kind) for value, kind in zip(row, kinds, strict=True)) + ")"
            for row in values
        )
        return f"(VALUES {rows}) AS {self.fresh('v')}({', '.join(names)})"

    def same(self, first: str, second: str, kind: Kind) -> str:
        """Return whether two values are the same, NULL and NULL included, in a form that engines can hash."""
        return f"({first} IS NOT DISTINCT FROM {second})"

    def order_key(self, sql: str, kind: Kind, *, descending: bool = False) -> str:
        """Return a value to sort by: NULL below every value, texts by code points, 0 and -0 alike."""
        if kind is Kind.REAL:
            sql = f"({sql} + {self.real(0.0)})"
        return f"{self.compared(sql, kind)} {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}"

    def group_key(self, sql: str, kind: Kind) -> str:
        """Return a value to group by: texts by code points, 0 and -0 alike."""
        return self.compared(sql, kind)

    @abstractmethod
    def native_hash(self, fields: Sequence[tuple[str, Kind]]) -> str:
        """Return the engine's own fast hash of some values."""

    def digest(self, text: str) -> str:
        """Return the MD5 of a text in lower-case hexadecimal, in a form that sorts by code points."""
        return f"md5({text})"

    def canonical(self, sql: str, kind: Kind) -> str:
        """Return the canonical text of a value that is not NULL; see ``portable_hash``."""
        if kind is Kind.BOOLEAN:
            return f"(CASE WHEN {sql} THEN 't' ELSE 'f' END)"
        if kind is Kind.TEXT:
            return f"('s' || {self.whole_text(self.filled('length', [sql]))} || ':' || {sql})"
        letters = {Kind.INTEGER: "i", Kind.REAL: "r", Kind.DATE: "d", Kind.TIMESTAMP: "m"}
        return f"('{letters[kind]}' || {self.whole_text(self.whole(sql, kind))} || ';')"

    def whole(self, sql: str, kind: Kind) -> str:
        """Return the integer that stands for a number, date or timestamp in its canonical text."""
        if kind is Kind.REAL:
            clamped = self.clamped(sql, self.real(-LARGEST_REAL), self.real(LARGEST_REAL))
            return self.floor_to_integer(f"({clamped} * {self.real(REAL_STEPS)})")
        if kind is Kind.DATE:
            return self.days_since_1970(sql)
        return self.microseconds_since_1970(sql) if kind is Kind.TIMESTAMP else sql

    def whole_text(self, sql: str) -> str:
        """Return an integer as text."""
        return self.filled("cast:integer:text", [sql])

    @abstractmethod
    def days_since_1970(self, sql: str) -> str:
        """Return a date as days since 1970-01-01."""

    @abstractmethod
    def microseconds_since_1970(self, sql: str) -> str:
        """Return a timestamp as microseconds since 1970-01-01 00:00:00."""

    @abstractmethod
    def total(self, sql: str, over: str) -> str:
        """Return the sum of integers, 0 for none, NULL beyond 64 bits; ``over`` is a window or empty."""

    def extreme(self, sql: str, kind: Kind, *, smallest: bool, over: str) -> str:
        """Return the smallest or largest value."""
        return f"{'min' if smallest else 'max'}({self.compared(sql, kind)}){over}"

    # Relations.

    def relation(self, relation: Relation) -> Printed:
        """Return the SELECT of a relation."""
        if isinstance(relation, Scan):
            return owned_rows(self, relation)
        if isinstance(relation, PublicScan):
            return self.scanned(relation.table, None)
        if isinstance(relation, Filter):
            below = self.relation(relation.relation)
            condition = self.expression(relation.condition, below.scope)
            return self.where(below, condition)
        if isinstance(relation, Project):
            return self._project(relation)
        if isinstance(relation, JoinPublic):
            return self._join_public(relation)
        if isinstance(relation, JoinPersons):
            return self._join_persons(relation)
        if isinstance(relation, UnionAll):
            return self._union(relation)
        if isinstance(relation, PerPerson):
            return self._per_person(relation)
        if isinstance(relation, Window):
            return self._window(relation)
        if isinstance(relation, Keep):
            return self._keep(relation)
        if isinstance(relation, Bounded):
            return self._bounded(relation)
        if is_of_kind(relation):
            return relation.printed(self, self.relation(relation.relation))
        raise InvalidParameter("relation", type(relation).__name__, "one of the closed tree")

    def fresh(self, letter: str) -> str:
        """Return a name that occurs nowhere else in the statement."""
        return f"{letter}{next(self._numbers)}_"

    def select(self, outputs: Sequence[tuple[str, str]], rows: Printed) -> str:
        """Return a SELECT of named expressions over printed rows."""
        listed = ", ".join(sql if sql == name else f"{sql} AS {name}" for name, sql in outputs)
        return f"SELECT {listed or '1 AS ' + self.fresh('c')} FROM ({rows.text}) AS {self.fresh('t')}"

    def where(self, rows: Printed, condition: str) -> Printed:
        """Return the rows for which a condition is true."""
        return replace(rows, text=f"SELECT {rows.listed} FROM ({rows.text}) AS {self.fresh('t')} WHERE {condition}")

    def with_columns(self, rows: Printed, further: Sequence[tuple[str, str]]) -> Printed:
        """Return the rows with further columns that are not in any scope."""
        extra = "".join(f", {sql} AS {name}" for name, sql in further)
        return replace(rows, text=f"SELECT {rows.listed}{extra} FROM ({rows.text}) AS {self.fresh('t')}")

    def scanned(self, table: Table, person: str | None, keys: Sequence[str] = ()) -> Printed:
        """Return all rows of a table, with the column that holds the person; rows in which it is NULL do not exist.

        Args:
            table: which table.
            person: its privacy id; None without one.
            keys: the columns by which rows of another table belong to people: NULL where a text is too long.

        """
        names = {name: self.fresh("c") for name in table.kinds}
        whole = {*table.uncut, *keys}
        outputs = [
            f"{self._entering_cell(table, column, column.name in whole)} AS {names[column.name]}"
            for column in table.columns
        ]
        text = f"SELECT {', '.join(outputs)} FROM {self.source(table)}"
        scope = Scope(table.kinds, names)
        if person is None:
            return Printed(text, scope, None, None)
        held = self.fresh("p")
        outer = ", ".join([*names.values(), f"{names[person]} AS {held}"])
        text = f"SELECT {outer} FROM ({text}) AS {self.fresh('t')} WHERE {names[person]} IS NOT NULL"
        return Printed(text, scope, held, table.kinds[person])

    def _entering_cell(self, table: Table, column: Column, is_whole: bool) -> str:
        """Return a cell of its kind, a text cut at its declared length; what says whose a row is is NULL if longer."""
        sql = self.cell(table, column.name, column.kind)
        if column.kind is not Kind.TEXT:
            return sql
        if is_whole:
            return f"(CASE WHEN {self.filled('length', [sql])} <= {column.longest} THEN {sql} END)"
        return self.substring(sql, 1, column.longest)

    def _project(self, project: Project) -> Printed:
        below = self.relation(project.relation)
        names = {name: self.fresh("c") for name, _ in project.outputs}
        outputs = [(names[name], self.expression(value, below.scope)) for name, value in project.outputs]
        spans = {name: span for name, value in project.outputs if (span := self.span(value, below.scope))}
        if below.person:
            outputs.append((below.person, below.person))
        scope = Scope(project.columns, names, spans)
        is_computed = any(not isinstance(value, Name | Literal) for _, value in project.outputs)
        text = self.select(outputs, below) + (self.fence if is_computed else "")
        return replace(below, text=text, scope=scope)

    def _join_public(self, join: JoinPublic) -> Printed:
        below, public = self.relation(join.relation), self.scanned(join.table, None)
        if join.where is not None:
            public = self.where(public, self.expression(join.where, public.scope))
        pairs = []
        for key, name in zip(join.keys, join.compared, strict=True):
            kinds = (kind_of(key, below.scope.columns), join.table.kinds[name])
            common = Kind.REAL if Kind.REAL in kinds else kinds[0]
            mine = self.compared(self.as_kind(key, common, below.scope), common)
            theirs = self.compared(self.as_kind(Name(name), common, public.scope), common)
            pairs.append((mine, theirs, common))
        # The first rows of a key, by all declared columns: a public table with duplicate keys multiplies no rows.
        rank = self.fresh("r")
        order = self._by_all_columns(public)
        partition = ", ".join(self.group_key(theirs, kind) for _, theirs, kind in pairs)
        over = f"{f'PARTITION BY {partition} ' if pairs else ''}ORDER BY {order}"
        ranked = self.with_columns(public, [(rank, f"row_number() OVER ({over})")])
        unique = replace(ranked, text=self.where(ranked, f"{rank} <= {join.most or 1}").text)
        scope = _beside(below.scope, public.scope, join.columns, join.prefix)
        condition = " AND ".join(f"{mine} = {theirs}" for mine, theirs, _ in pairs) or "TRUE"
        if join.condition is not None:
            condition += f" AND {self.expression(join.condition, scope)}"
        joined = self._joined(below, unique, "LEFT" if join.keep_unmatched else "INNER", condition)
        return replace(below, text=joined, scope=scope)

    def _union(self, union: UnionAll) -> Printed:
        names = {name: self.fresh("c") for name in union.columns}
        person = self.fresh("p") if union.has_persons else None
        texts, kind = [], None
        for side in (union.left, union.right):
            printed = self.relation(side)
            given = [(new, old) for new, old in zip(names.values(), printed.scope.names.values(), strict=True)]
            given += [(person, str(printed.person))] if person else []
            texts.append(self.select(given, printed))
            kind = printed.person_kind
        return Printed(" UNION ALL ".join(texts), Scope(union.columns, names), person, kind)

    def _join_persons(self, join: JoinPersons) -> Printed:
        left, right = self.relation(join.left), self.relation(join.right)
        scope = _beside(left.scope, right.scope, join.columns, join.prefix)
        condition = f"{left.person} = {right.person}"
        if join.condition is not None:
            condition += f" AND {self.expression(join.condition, scope)}"
        joined = self._joined(left, right, "LEFT" if join.keep_unmatched else "INNER", condition)
        return replace(left, text=joined, scope=scope)

    def _joined(self, left: Printed, right: Printed, how: str, condition: str) -> str:
        names = [*left.scope.names.values(), *right.scope.names.values(), *([left.person] if left.person else [])]
        return (
            f"SELECT {', '.join(names)} FROM ({left.text}) AS {self.fresh('t')} "
            f"{how} JOIN ({right.text}) AS {self.fresh('t')} ON {condition}"
        )

    def _per_person(self, grouped: PerPerson) -> Printed:
        below = self.relation(grouped.relation)
        names = {name: self.fresh("c") for name in grouped.columns}
        inner = [
            (names[name], self.group_key(self.expression(key, below.scope), kind_of(key, below.scope.columns)))
            for name, key in grouped.keys
        ]
        keys = [name for name, _ in inner]
        measures = []
        for name, measure in grouped.measures:
            value = self.fresh("m")
            if isinstance(measure, CountOf | Sum | Smallest | Largest):
                inner.append((value, self._measured_value(measure, below.scope)))
            measures.append(f"{self._own_measure(measure, value, below.scope, '')} AS {names[name]}")
        person = str(below.person)
        text = self.select([*inner, (person, person)], below)
        listed = ", ".join([*keys, *measures, person])
        text = f"SELECT {listed} FROM ({text}) AS {self.fresh('t')} GROUP BY {', '.join([person, *keys])}"
        return replace(below, text=text, scope=Scope(grouped.columns, names))

    def _measured_value(self, measure: CountOf | Sum | Smallest | Largest, scope: Scope) -> str:
        sql = self.expression(measure.value, scope)
        return self.counted(measure, scope, sql) if isinstance(measure, CountOf) else sql

    def counted(self, measure: CountOf, scope: Scope, sql: str) -> str:
        """Return 1 where the value counts, otherwise NULL."""
        is_boolean = kind_of(measure.value, scope.columns) is Kind.BOOLEAN
        return f"(CASE WHEN {sql}{'' if is_boolean else ' IS NOT NULL'} THEN 1 END)"

    def _own_measure(self, measure: Measure, value: str, scope: Scope, over: str) -> str:
        """Return a measure of one person's rows, as a 64-bit integer or a value."""
        if isinstance(measure, CountRows):
            return f"CAST(count(*){over} AS {self.types[Kind.INTEGER]})"
        if isinstance(measure, Persons):
            return self.integer(1)
        if isinstance(measure, CountOf):
            return f"CAST(count({value}){over} AS {self.types[Kind.INTEGER]})"
        if isinstance(measure, Sum):
            return self.total(value, over)
        if isinstance(measure, Smallest | Largest):
            kind = kind_of(measure.value, scope.columns)
            return self.extreme(value, kind, smallest=isinstance(measure, Smallest), over=over)
        raise InvalidParameter("measure", type(measure).__name__, "one of the closed tree")

    def _window(self, window: Window) -> Printed:
        below = self.relation(window.relation)
        scope = below.scope
        partition = [
            str(below.person),
            *(self.group_key(self.expression(part, scope), kind_of(part, scope.columns)) for part in window.partition),
        ]
        over = f" OVER (PARTITION BY {', '.join(partition)}"
        if window.function in ORDERED or window.running is not None or window.frame is not None:
            order = [
                self.order_key(self.expression(part, scope), kind_of(part, scope.columns), descending=is_descending)
                for part, is_descending in window.order
            ]
            over += f" ORDER BY {', '.join([*order, *([self._by_all_columns(below)] if window.is_sorted_out else [])])}"
        if window.running is not None:
            over += f" {window.running.upper()} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        elif window.frame is not None:
            over += f" ROWS BETWEEN {' AND '.join(map(_end_of_frame, window.frame))}"
        elif window.function in ("first", "last"):
            over += " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        over += ")"
        value = None if window.value is None else self.expression(window.value, scope)
        if window.function in ("row_number", "rank", "dense_rank"):
            sql = f"CAST({window.function}(){over} AS {self.types[Kind.INTEGER]})"
        elif window.function in ("lag", "lead"):
            sql = f"{window.function}({value}, {window.offset or 1}){over}"
        elif window.function in ("first", "last"):
            sql = f"{window.function}_value({value}){over}"
        elif window.value is None:
            sql = self._own_measure(CountRows(), "", scope, over)
        else:
            measure = _WINDOW_MEASURES[window.function](window.value)
            sql = self._own_measure(measure, self._measured_value(measure, scope), scope, over)
        name = self.fresh("c")
        text = self.with_columns(below, [(name, sql)]).text
        names = {**scope.names, window.name: name}
        return replace(below, text=text, scope=Scope(window.columns, names, scope.spans))

    def _by_all_columns(self, rows: Printed) -> str:
        keys = [self.order_key(rows.scope.names[name], kind) for name, kind in rows.scope.columns.items()]
        return ", ".join(keys) or "1"

    def listed_keys(self, keep: Keep, kinds: Sequence[Kind]) -> tuple[str, list[str]]:
        """Return the FROM clause of a public list of keys, and the names of its columns."""
        names = [self.fresh("l") for _ in kinds]
        # A tuple that is listed twice would count its rows twice; two integers may be one and the same real.
        rows = [tuple(as_stored(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in keep.values]
        return self.public_list(names, kinds, list(dict.fromkeys(rows))), names

    def matches(self, first: Sequence[str], second: Sequence[str], kinds: Sequence[Kind]) -> str:
        """Return whether keys are those of the list, NULL included."""
        pairs = zip(first, second, kinds, strict=True)
        return " AND ".join(self.same(mine, listed, kind) for mine, listed, kind in pairs)

    def _keep(self, keep: Keep) -> Printed:
        below = self.relation(keep.relation)
        if not keep.values:
            return self.where(below, "FALSE")
        if not keep.keys:
            return below
        kinds = [kind_of(key, below.scope.columns) for key in keep.keys]
        keys = [(self.fresh("k"), self.expression(key, below.scope)) for key in keep.keys]
        rows = self.with_columns(below, keys)
        source, names = self.listed_keys(keep, kinds)
        condition = self.matches([name for name, _ in keys], names, kinds)
        text = f"SELECT {below.listed} FROM ({rows.text}) AS {self.fresh('t')} INNER JOIN {source} ON {condition}"
        return replace(below, text=text)

    # Contributions of a person.

    def scramble(self, purpose: str, person: tuple[str, Kind], fields: Sequence[tuple[str, Kind]]) -> str:
        """Return the hash that orders a person's rows or groups; another one raises ``protocol.CHOICE``."""
        if not self.portable:
            return self.native_hash([person, *fields])
        parts = [self._canonical_or_null(sql, kind) for sql, kind in (person, *fields)]
        return self.digest("(" + " || ".join([f"'{purpose};'", *parts]) + ")")

    def _canonical_or_null(self, sql: str, kind: Kind) -> str:
        return f"(CASE WHEN {sql} IS NULL THEN '~' ELSE {self.canonical(sql, kind)} END)"

    def _bounded(self, bounded: Bounded) -> Printed:
        below, limits = self.relation(bounded.relation), effective_limits(bounded)
        if limits == Limits():
            return below
        names = [key.name for key in bounded.keys if isinstance(key, Name)]
        is_alone = limits.rows is None and limits.groups is None and limits.rows_per_group is not None
        if is_alone and isinstance(bounded.relation, Scan) and len(names) == len(bounded.keys):
            most = limits.rows_per_group or 1
            return where_crowded(
                self, below, bounded.relation.table, names, most, lambda rows: self._limited(bounded, rows, limits)
            )
        return where_many(self, below, (), limits, lambda rows: self._limited(bounded, rows, limits))

    def _limited(self, bounded: Bounded, below: Printed, limits: Limits) -> Printed:
        person = (str(below.person), below.person_kind or Kind.TEXT)
        fields = self.row_fields(below, bounded)
        keys = self.group_columns(bounded, below)
        row_hash = self.fresh("h")
        further = [(name, sql) for name, sql, _ in keys]
        if limits.rows is not None or limits.rows_per_group is not None:
            further.append((row_hash, self.scramble("row", person, fields)))
        order = [f"{row_hash} ASC", *(self.order_key(sql, kind) for sql, kind in fields)]
        named = [(name, kind) for name, _, kind in keys]
        hidden = [name for name, _ in further]
        return self.limited(self.with_columns(below, further), hidden, named, order, limits)

    def row_fields(self, rows: Printed, bounded: Bounded) -> list[tuple[str, Kind]]:
        """Return the columns that decide which rows of a person stay."""
        return [(rows.scope.names[name], rows.scope.columns[name]) for name in bounded.order]

    def group_columns(self, bounded: Bounded, rows: Printed) -> list[tuple[str, str, Kind]]:
        """Return a new name, the SQL and the kind of every key of a bound."""
        kinds = [kind_of(key, rows.scope.columns) for key in bounded.keys]
        return [
            (self.fresh("k"), self.group_key(self.expression(key, rows.scope), kind), kind)
            for key, kind in zip(bounded.keys, kinds, strict=True)
        ]

    def limited(
        self,
        rows: Printed,
        hidden: Sequence[str],
        keys: Sequence[tuple[str, Kind]],
        order: Sequence[str],
        limits: Limits,
    ) -> Printed:
        """Return the rows within the limits: within groups, then groups, then rows.

        Args:
            rows: the rows of all people.
            hidden: their columns that no scope names.
            keys: the columns that make a group, which are among those of the rows.
            order: the columns by which a person's rows are ordered.
            limits: those in effect.

        """
        person = (str(rows.person), rows.person_kind or Kind.TEXT)
        names = [name for name, _ in keys]
        if limits.rows_per_group is not None:
            rows = self.first(rows, hidden, [person[0], *names], order, limits.rows_per_group)
        if limits.groups is not None:
            group_hash, rank = self.fresh("g"), self.fresh("r")
            rows = self.with_hidden(rows, hidden, [(group_hash, self.scramble("group", person, keys))])
            by_group = ", ".join([f"{group_hash} ASC", *(self.order_key(name, kind) for name, kind in keys)])
            over = f"dense_rank() OVER (PARTITION BY {person[0]} ORDER BY {by_group})"
            rows = self.where_hidden(
                self.with_hidden(rows, hidden, [(rank, over)]), hidden, f"{rank} <= {limits.groups}"
            )
        if limits.rows is not None:
            rows = self.first(rows, hidden, [person[0]], order, limits.rows)
        return rows

    def first(
        self, rows: Printed, hidden: Sequence[str], partition: Sequence[str], order: Sequence[str], most: int
    ) -> Printed:
        """Return the first rows of each part, with their hidden columns."""
        rank = self.fresh("r")
        over = f"row_number() OVER (PARTITION BY {', '.join(partition)} ORDER BY {', '.join(order)})"
        return self.where_hidden(self.with_hidden(rows, hidden, [(rank, over)]), hidden, f"{rank} <= {most}")

    def with_hidden(self, rows: Printed, hidden: Sequence[str], further: Sequence[tuple[str, str]]) -> Printed:
        """Return the rows with their hidden columns and further ones."""
        return self.with_columns(rows, [*((name, name) for name in hidden), *further])

    def where_hidden(self, rows: Printed, hidden: Sequence[str], condition: str) -> Printed:
        """Return the rows for which a condition is true, with their hidden columns."""
        listed = ", ".join([rows.listed, *hidden])
        return replace(rows, text=f"SELECT {listed} FROM ({rows.text}) AS {self.fresh('t')} WHERE {condition}")


def _end_of_frame(rows: int | None) -> str:
    """Return where a frame starts or ends, given as a number of rows after the one at hand."""
    if rows is None:
        return "UNBOUNDED PRECEDING"
    return f"{abs(rows)} {'PRECEDING' if rows < 0 else 'FOLLOWING'}" if rows else "CURRENT ROW"


def _beside(left: Scope, right: Scope, columns: Mapping[str, Kind], prefix: str) -> Scope:
    """Return the columns of both sides of a join, those of the right side under longer names."""
    return Scope(
        columns,
        {**left.names, **{prefix + name: sql for name, sql in right.names.items()}},
        {**left.spans, **{prefix + name: span for name, span in right.spans.items()}},
    )
