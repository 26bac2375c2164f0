"""The reference: what every relation and aggregation means, in plain Python.

The slow and obvious twin of every engine. Rows are mappings held in memory; nothing is optimised, so that each node
can be read beside its definition in ``relations``. Engines are tested against it, audits run on it, and it always
chooses rows by the portable hash. Private rows go in and exact private answers come out: like any engine, it is no
release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dither.data.engines.protocol import Engine
from dither.data.evaluation import Value, cell, evaluate, sort_key
from dither.data.expressions import LARGEST_INTEGER, Expression, Kind, kind_of
from dither.data.portable_hash import group_hash, row_hash
from dither.data.relations import (
    PERSON,
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
    Measure,
    PerPerson,
    Persons,
    Project,
    Relation,
    Scan,
    Smallest,
    Sum,
    Window,
)
from dither.data.schema import DataSet, Table
from dither.errors import EngineUnavailable, InvalidParameter

__all__ = ["ReferenceEngine", "Rows", "aggregate", "cell", "evaluate", "kind_of_person", "rows_of", "sort_rows"]

#: Rows as they are given: any cell may hold anything.
Rows = Sequence[Mapping[str, Any]]
_Row = dict[str, Value]


def rows_of(relation: Relation, tables: Mapping[str, Rows]) -> list[_Row]:
    """Return the rows of a relation, with the privacy id under ``PERSON`` where they have one.

    Args:
        relation: which rows.
        tables: the rows of every table that the relation reads, by the table's name.

    """
    return _READERS[type(relation)](relation, tables)


def aggregate(aggregation: Aggregation, tables: Mapping[str, Rows]) -> Aggregated:
    """Return the exact measures for each value of the keys that occurs, sorted by the keys.

    >>> from dither.data import Column, CountRows, Name, Scan, Table
    >>> visits = Table("visits", (Column("region", Kind.TEXT),), "visits.csv")
    >>> rows = [{"region": "north"}, {"region": "south"}, {"region": "north"}, {"region": 7}]
    >>> aggregate(Aggregation(Scan(visits), (Name("region"),), (CountRows(),)), {"visits": rows})
    Aggregated(keys=(('7',), ('north',), ('south',)), measures=((1,), (2,), (1,)))
    """
    below = aggregation.relation.columns
    groups = _grouped(rows_of(aggregation.relation, tables), aggregation.keys, below)
    if not aggregation.keys:
        groups = groups or {(): []}
    keys = sorted(groups, key=lambda key: [sort_key(part) for part in key])
    measures = tuple(tuple(_measure(part, groups[key], below) for part in aggregation.measures) for key in keys)
    return Aggregated(tuple(keys), measures)  # type: ignore[arg-type]


#: How many answers an engine over rows in memory remembers.
_MOST_KNOWN = 256


class ReferenceEngine(Engine):
    """An engine over rows in memory, for tests, examples and audits on small data.

    Args:
        dataset: the schema.
        tables: the rows of every table of it, by name.

    """

    def __init__(self, dataset: DataSet, tables: Mapping[str, Rows]) -> None:
        super().__init__(dataset, frames=tables, portable=True)
        # Rows do not change, and an audit asks the same thing thousands of times.
        self._known: dict[Aggregation, Aggregated] = {}

    def check(self) -> None:
        """Refuse a table that is absent, or a row without a declared column."""
        for table in self.dataset.tables:
            if table.name not in self.frames:
                raise EngineUnavailable(f"table {table.name} is declared, but no rows were given for it")
            for name in table.kinds:
                if any(name not in row for row in self.frames[table.name]):
                    raise EngineUnavailable(f"column {name} of table {table.name} is declared, but rows lack it")

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures."""
        if aggregation not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[aggregation] = aggregate(aggregation, self.frames)
        return self._known[aggregation]

    def close(self) -> None:
        """Let go of the rows."""
        self.frames, self._known = {}, {}


def sort_rows(
    rows: Iterable[_Row], order: Sequence[tuple[Expression, bool]], columns: Mapping[str, Kind]
) -> list[_Row]:
    """Return rows sorted by expressions, each with whether large values come first, then by all columns in order."""
    ordered = sorted(rows, key=lambda row: [sort_key(row[name]) for name in columns])
    for expression, is_descending in reversed(order):
        # Python's sort is stable, in reverse as well: what is equal here stays as the later criteria left it.
        ordered.sort(key=lambda row: sort_key(evaluate(expression, row, columns)), reverse=is_descending)
    return ordered


def kind_of_person(relation: Relation) -> Kind:
    """Return the kind of the privacy id, which is one and the same in all tables of a data set."""
    if isinstance(relation, Scan) and relation.table.person is not None:
        return relation.table.column(relation.table.person).kind
    below = getattr(relation, "relation", None) or getattr(relation, "left", None)
    if below is None:
        raise InvalidParameter("relation", type(relation).__name__, "one whose rows belong to persons")
    return kind_of_person(below)


def _scan(relation: Scan, tables: Mapping[str, Rows]) -> list[_Row]:
    rows = _typed(relation.table, tables)
    person = relation.table.person
    if person is None:
        return rows
    return [{**row, PERSON: row[person]} for row in rows if row[person] is not None]


def _typed(table: Table, tables: Mapping[str, Rows]) -> list[_Row]:
    if table.name not in tables:
        raise EngineUnavailable(f"no rows were given for table {table.name}")
    return [{name: cell(row.get(name), kind) for name, kind in table.kinds.items()} for row in tables[table.name]]


def _filter(relation: Filter, tables: Mapping[str, Rows]) -> list[_Row]:
    below = relation.relation.columns
    return [row for row in rows_of(relation.relation, tables) if evaluate(relation.condition, row, below) is True]


def _project(relation: Project, tables: Mapping[str, Rows]) -> list[_Row]:
    below = relation.relation.columns
    return [
        {**_person(row), **{name: evaluate(value, row, below) for name, value in relation.outputs}}
        for row in rows_of(relation.relation, tables)
    ]


def _join_public(relation: JoinPublic, tables: Mapping[str, Rows]) -> list[_Row]:
    table, below = relation.table, relation.relation.columns
    first: dict[tuple[Value, ...], _Row] = {}
    for row in sort_rows(_typed(table, tables), (), table.kinds):
        first.setdefault(tuple(row[name] for name in table.key), row)
    # An integer key meets a real one as a double, as in every comparison.
    wanted = [
        Kind.REAL if Kind.REAL in (table.kinds[name], kind_of(key, below)) else None
        for name, key in zip(table.key, relation.keys, strict=True)
    ]
    found = {_meeting(key, wanted): row for key, row in reversed(first.items()) if None not in key}
    joined = []
    for row in rows_of(relation.relation, tables):
        key = _meeting(tuple(evaluate(part, row, below) for part in relation.keys), wanted)
        match = None if None in key else found.get(key)
        if match is not None or relation.keep_unmatched:
            public = {relation.prefix + name: None if match is None else match[name] for name in table.kinds}
            joined.append({**row, **public})
    return joined


def _join_persons(relation: JoinPersons, tables: Mapping[str, Rows]) -> list[_Row]:
    right_columns = list(relation.right.columns)
    right: dict[Value, list[_Row]] = {}
    for row in rows_of(relation.right, tables):
        right.setdefault(row[PERSON], []).append({relation.prefix + name: row[name] for name in right_columns})
    joined = []
    for row in rows_of(relation.left, tables):
        both = [{**row, **other} for other in right.get(row[PERSON], [])]
        if relation.condition is not None:
            both = [pair for pair in both if evaluate(relation.condition, pair, relation.columns) is True]
        if not both and relation.keep_unmatched:
            both = [{**row, **{relation.prefix + name: None for name in right_columns}}]
        joined.extend(both)
    return joined


def _per_person(relation: PerPerson, tables: Mapping[str, Rows]) -> list[_Row]:
    below = relation.relation.columns
    names = [name for name, _ in relation.keys]
    result: list[_Row] = []
    for person, rows in _by_person(rows_of(relation.relation, tables)).items():
        for key, group in _grouped(rows, [value for _, value in relation.keys], below).items():
            measures = {name: _fitting(_measure(part, group, below)) for name, part in relation.measures}
            result.append({PERSON: person, **dict(zip(names, key, strict=True)), **measures})
    return result


def _window(relation: Window, tables: Mapping[str, Rows]) -> list[_Row]:
    below = relation.relation.columns
    result: list[_Row] = []
    for rows in _by_person(rows_of(relation.relation, tables)).values():
        for group in _grouped(rows, relation.partition, below).values():
            ordered = sort_rows(group, relation.order, below)
            values = _window_values(relation, ordered, below)
            result.extend({**row, relation.name: value} for row, value in zip(ordered, values, strict=True))
    return result


def _window_values(relation: Window, rows: list[_Row], below: Mapping[str, Kind]) -> list[Value]:
    value, function = relation.value, relation.function
    if function == "row_number":
        return list(range(1, len(rows) + 1))
    if function in ("lag", "lead") and value is not None:
        values = [evaluate(value, row, below) for row in rows]
        return [None, *values[:-1]] if function == "lag" else [*values[1:], None]
    measure: Measure = CountRows()
    if value is not None:
        measure = {"count": CountOf, "sum": Sum, "smallest": Smallest, "largest": Largest}[function](value)
    return [_fitting(_measure(measure, rows, below))] * len(rows)


def _keep(relation: Keep, tables: Mapping[str, Rows]) -> list[_Row]:
    below = relation.relation.columns
    wanted = [Kind.REAL if kind_of(key, below) is Kind.REAL else None for key in relation.keys]
    allowed = {_meeting(key, wanted) for key in relation.values}
    return [
        row
        for row in rows_of(relation.relation, tables)
        if tuple(evaluate(key, row, below) for key in relation.keys) in allowed
    ]


def _bounded(relation: Bounded, tables: Mapping[str, Rows]) -> list[_Row]:
    below, limits = relation.relation.columns, relation.limits
    person_kind = kind_of_person(relation)
    key_kinds = [kind_of(key, below) for key in relation.keys]

    def row_place(row: _Row) -> Any:
        fields = [(row[name], below[name]) for name in relation.order]
        return row_hash([(row[PERSON], person_kind), *fields]), [sort_key(value) for value, _ in fields]

    result: list[_Row] = []
    for person, rows in _by_person(rows_of(relation.relation, tables)).items():
        groups = _grouped(rows, relation.keys, below)

        def group_place(key: tuple[Value, ...], person: Value = person) -> Any:
            fields = list(zip(key, key_kinds, strict=True))
            return group_hash([(person, person_kind), *fields]), [sort_key(value) for value in key]

        kept = {key: sorted(group, key=row_place)[: limits.rows_per_group] for key, group in groups.items()}
        chosen = sorted(kept, key=group_place)[: limits.groups]
        result.extend(sorted((row for key in chosen for row in kept[key]), key=row_place)[: limits.rows])
    return result


def _measure(measure: Measure, rows: list[_Row], below: Mapping[str, Kind]) -> Value:
    if isinstance(measure, CountRows):
        return len(rows)
    if isinstance(measure, Persons):
        return len({row[PERSON] for row in rows})
    if not isinstance(measure, CountOf | Sum | Smallest | Largest):
        raise InvalidParameter("measure", type(measure).__name__, "a measure of the closed tree")
    values: list[Any] = [evaluate(measure.value, row, below) for row in rows]
    values = [value for value in values if value is not None]
    if isinstance(measure, CountOf):
        return sum(value is not False for value in values)
    if isinstance(measure, Sum):
        return sum(int(value) for value in values)
    if not values:
        return None
    extreme: Value = min(values) if isinstance(measure, Smallest) else max(values)
    return extreme


def _fitting(value: Value) -> Value:
    """Return NULL for an integer beyond 64 bits."""
    too_large = isinstance(value, int) and not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER
    return None if too_large else value


def _grouped(
    rows: Iterable[_Row], keys: Sequence[Expression], columns: Mapping[str, Kind]
) -> dict[tuple[Value, ...], list[_Row]]:
    groups: dict[tuple[Value, ...], list[_Row]] = {}
    for row in rows:
        # 0 and -0 are one group, and are written as 0.
        key = tuple(
            0.0 if value == 0.0 and isinstance(value, float) else value for value in _values(keys, row, columns)
        )
        groups.setdefault(key, []).append(row)
    return groups


def _values(expressions: Sequence[Expression], row: _Row, columns: Mapping[str, Kind]) -> list[Value]:
    return [evaluate(expression, row, columns) for expression in expressions]


def _by_person(rows: Iterable[_Row]) -> dict[Value, list[_Row]]:
    persons: dict[Value, list[_Row]] = {}
    for row in rows:
        persons.setdefault(row[PERSON], []).append(row)
    return persons


def _person(row: _Row) -> _Row:
    return {PERSON: row[PERSON]} if PERSON in row else {}


def _meeting(key: tuple[Value, ...], wanted: Sequence[Kind | None]) -> tuple[Value, ...]:
    """Return a key with its integers as doubles where they meet reals."""
    return tuple(
        float(value) if kind is Kind.REAL and isinstance(value, int) else value
        for value, kind in zip(key, wanted, strict=True)
    )


_READERS: dict[type[Relation], Callable[[Any, Mapping[str, Rows]], list[_Row]]] = {
    Scan: _scan,
    Filter: _filter,
    Project: _project,
    JoinPublic: _join_public,
    JoinPersons: _join_persons,
    PerPerson: _per_person,
    Window: _window,
    Keep: _keep,
    Bounded: _bounded,
}
