"""The reference: the meaning of every relation and aggregation, in plain Python.

The slow and obvious twin of every engine. Rows are mappings held in memory; nothing is optimised, so that each node
can be read beside its definition in ``relations``. Engines are tested against it, audits run on it, and it always
chooses rows by the portable hash. Private rows go in and exact private answers come out: like any engine, it is no
release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dither.data.base_relations import is_of_kind
from dither.data.engines.protocol import Engine
from dither.data.evaluation import Value, cell, evaluate, evaluator, sort_key
from dither.data.expressions import LARGEST_INTEGER, Expression, Kind, kind_of
from dither.data.portable_hash import group_hash, row_hash
from dither.data.public_rows import PublicScan
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
    UnionAll,
    Window,
)
from dither.data.schema import DataSet, Owner, Table
from dither.errors import EngineUnavailable, InvalidParameter

__all__ = ["ReferenceEngine", "Rows", "aggregate", "cell", "evaluate", "kind_of_person", "rows_of", "sort_rows"]

#: Rows as they are given: any cell may hold anything.
Rows = Sequence[Mapping[str, Any]]
_Row = dict[str, Value]
#: How many answers an engine over rows in memory remembers.
_MOST_KNOWN = 256
#: For how many aggregations what does not depend on rows is kept.
_MOST_PREPARED = 1024


def rows_of(relation: Relation, tables: Mapping[str, Rows]) -> list[_Row]:
    """Return the rows of a relation, with the privacy id under ``PERSON`` where they have one.

    Args:
        relation: which rows.
        tables: the rows of every table that the relation reads, by the table's name.

    """
    return _Reading(tables).rows(relation)


def aggregate(aggregation: Aggregation, tables: Mapping[str, Rows]) -> Aggregated:
    """Return the exact measures for each value of the keys that occurs, sorted by the keys.

    >>> from dither.data import Column, CountRows, Name, Scan, Table
    >>> visits = Table("visits", (Column("region", Kind.TEXT),), "visits.csv")
    >>> rows = [{"region": "north"}, {"region": "south"}, {"region": "north"}, {"region": 7}]
    >>> aggregate(Aggregation(Scan(visits), (Name("region"),), (CountRows(),)), {"visits": rows})
    Aggregated(keys=(('7',), ('north',), ('south',)), measures=((1,), (2,), (1,)))
    """
    return _aggregated(aggregation, rows_of(aggregation.relation, tables))


def _aggregated(aggregation: Aggregation, rows: list[_Row]) -> Aggregated:
    key_parts, values_of = _functions(aggregation)
    parts = list(zip(aggregation.measures, values_of, strict=True))
    groups = _grouped(rows, key_parts)
    if not aggregation.keys:
        groups = groups or {(): []}
    keys = sorted(groups, key=lambda key: [sort_key(part) for part in key])
    measures = tuple(tuple(_measure(part, groups[key], value_of) for part, value_of in parts) for key in keys)
    return Aggregated(tuple(keys), measures)  # type: ignore[arg-type]


@lru_cache(maxsize=_MOST_PREPARED)
def _functions(
    aggregation: Aggregation,
) -> tuple[Sequence[Callable[[_Row], Value]], Sequence[Callable[[_Row], Value] | None]]:
    """Return the keys of an aggregation as functions of a row, and those of the values that its measures read.

    They are the same for all tables, and audits ask the same thing of thousands of small ones.
    """
    below = aggregation.relation.columns
    keys = [evaluator(key, below) for key in aggregation.keys]
    return keys, [_value_of(part, below) for part in aggregation.measures]


class _Same:
    """An object as a key: equal to nothing but itself, whatever its class says."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


@lru_cache(maxsize=_MOST_PREPARED)
def _admit(dataset: _Same, aggregation: _Same) -> None:
    """Refuse what every engine refuses; what is admitted is looked at once, because it does not depend on rows."""
    Engine.check_tables(ReferenceEngine(dataset.it, {}), aggregation.it)


class _Reading:
    """Tables, and the rows of relations already read: several requests often read one relation."""

    def __init__(self, tables: Mapping[str, Rows]) -> None:
        self.tables = tables
        # By identity, because comparing two trees costs more than most of them do. The relation is kept with its rows,
        # so that its identity is not reused.
        self._known: dict[int, tuple[Relation, list[_Row]]] = {}

    def rows(self, relation: Relation) -> list[_Row]:
        """Return the rows of a relation, which callers must not change."""
        known = self._known.get(id(relation))
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = (
                relation.meaning(self.rows(relation.relation))
                if is_of_kind(relation)
                else _READERS[type(relation)](relation, self)
            )
            known = self._known[id(relation)] = relation, found
        return known[1]


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
        self._reading = _Reading(tables)

    def check(self) -> None:
        """Refuse a table that is absent, or a row of a public one without a declared column.

        A missing cell of a private row is NULL, and an object that is not a row has NULL alone.
        """
        for table in self.dataset.tables:
            if table.name not in self.frames:
                raise EngineUnavailable(f"table {table.name} is declared, but no rows were given for it")
            for name in table.kinds if table.is_public else ():
                if any(name not in row for row in self.frames[table.name]):
                    raise EngineUnavailable(f"column {name} of table {table.name} is declared, but rows lack it")

    def check_tables(self, aggregation: Aggregation) -> None:
        """Refuse a request that reads a table outside this data set, or whose rows are too wide."""
        _admit(_Same(self.dataset), _Same(aggregation))

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures."""
        known = self._known.get(aggregation)
        if known is None:
            self.check_tables(aggregation)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[aggregation] = _aggregated(aggregation, self._reading.rows(aggregation.relation))
        return known

    def close(self) -> None:
        """Drop the rows."""
        self.frames, self._known, self._reading = {}, {}, _Reading({})


def sort_rows(
    rows: Iterable[_Row], order: Sequence[tuple[Expression, bool]], columns: Mapping[str, Kind]
) -> list[_Row]:
    """Return rows sorted by expressions, each ascending or descending, then by all columns in order."""
    ordered = sorted(rows, key=lambda row: [sort_key(row[name]) for name in columns])
    for expression, is_descending in reversed(order):
        value_of = evaluator(expression, columns)
        # Python's sort is stable, in reverse as well: what is equal here stays as the later criteria left it.
        ordered.sort(key=lambda row: sort_key(value_of(row)), reverse=is_descending)
    return ordered


def kind_of_person(relation: Relation) -> Kind:
    """Return the kind of the privacy id, which is one and the same in all tables of a data set."""
    if isinstance(relation, Scan) and relation.has_persons:
        holding = (relation.table, *(relation.owners or ()))[-1]
        return holding.column(str(holding.person)).kind
    below = getattr(relation, "relation", None) or getattr(relation, "left", None)
    if below is None:
        raise InvalidParameter("relation", type(relation).__name__, "one whose rows belong to people")
    return kind_of_person(below)


def _scan(relation: Scan, reading: _Reading, keys: tuple[str, ...] = ()) -> list[_Row]:
    """Return the rows of a table; ``keys`` are its columns that another table refers to."""
    parent, owner = relation.parent, relation.table.owner
    if parent is not None and owner is not None:
        rows = _typed(relation.table, reading, keys)
        return _owned(relation, owner, _scan(parent, reading, owner.keys), rows)
    rows = _typed(relation.table, reading, keys)
    person = relation.table.person
    if person is None:
        return rows
    return [{**row, PERSON: row[person]} for row in rows if row[person] is not None]


def _owned(relation: Scan, owner: Owner, parents: list[_Row], rows: list[_Row]) -> list[_Row]:
    """Return each row once for each person who has a row that it refers to."""
    people: dict[tuple[Value, ...], set[Value]] = {}
    for row in parents:
        people.setdefault(tuple(row[name] for name in owner.keys), set()).add(row[PERSON])
    kinds = relation.table.kinds

    def place(row: _Row) -> Any:
        return row_hash([(row[name], kind) for name, kind in kinds.items()]), [sort_key(row[name]) for name in kinds]

    referring: dict[tuple[Value, ...], list[_Row]] = {}
    for row in rows:
        referring.setdefault(tuple(row[name] for name in owner.columns), []).append(row)
    found: list[_Row] = []
    for reference, alike in referring.items():
        kept = alike if owner.rows is None else sorted(alike, key=place)[: owner.rows]
        if None not in reference:
            found += [{**row, PERSON: person} for person in people.get(reference, ()) for row in kept]
    return found


def _typed(table: Table, reading: _Reading, keys: tuple[str, ...] = ()) -> list[_Row]:
    if table.name not in reading.tables:
        raise EngineUnavailable(f"no rows were given for table {table.name}")
    lengths = {column.name: column.longest for column in table.columns if column.kind is Kind.TEXT}
    typed = [
        {name: cell(given(row, name), kind) for name, kind in table.kinds.items()} for row in reading.tables[table.name]
    ]
    for name, longest in lengths.items():
        for row in typed:
            text = row[name]
            if isinstance(text, str) and len(text) > longest:
                # Two privacy ids that differ later on would become one person's, and keys of two people one key.
                row[name] = None if name in (*table.uncut, *keys) else text[:longest]
    return typed


def given(row: Any, name: str) -> Any:
    """Return a cell as it was given, NULL where there is none, as in an object that is not a row or cannot be read."""
    try:
        # By its type: what a row says that its class is would be asked of the row.
        if issubclass(type(row), dict):
            return dict.get(row, name)
        return row.get(name) if issubclass(type(row), Mapping) else None
    except KeyboardInterrupt:
        raise
    except BaseException:  # a foreign class, as a row or as a key of it
        return None


def _filter(relation: Filter, reading: _Reading) -> list[_Row]:
    is_met = evaluator(relation.condition, relation.relation.columns)
    return [row for row in reading.rows(relation.relation) if is_met(row) is True]


def _project(relation: Project, reading: _Reading) -> list[_Row]:
    below = relation.relation.columns
    outputs = [(name, evaluator(value, below)) for name, value in relation.outputs]
    return [
        {**_person(row), **{name: value_of(row) for name, value_of in outputs}}
        for row in reading.rows(relation.relation)
    ]


def _join_public(relation: JoinPublic, reading: _Reading) -> list[_Row]:
    table, below, most = relation.table, relation.relation.columns, relation.most or 1
    chosen = sort_rows(_typed(table, reading), (), table.kinds)
    if relation.where is not None:
        is_chosen = evaluator(relation.where, table.kinds)
        chosen = [row for row in chosen if is_chosen(row) is True]
    # An integer key meets a real one as a double, as in every comparison.
    wanted = [
        Kind.REAL if Kind.REAL in (table.kinds[name], kind_of(key, below)) else None
        for name, key in zip(relation.compared, relation.keys, strict=True)
    ]
    found: dict[tuple[Value, ...], list[_Row]] = {}
    for row in chosen:
        key = _meeting(tuple(row[name] for name in relation.compared), wanted)
        if None not in key and len(found.setdefault(key, [])) < most:
            found[key].append({relation.prefix + name: row[name] for name in table.kinds})
    parts = [evaluator(part, below) for part in relation.keys]
    is_met = None if relation.condition is None else evaluator(relation.condition, relation.columns)
    nothing = {relation.prefix + name: None for name in table.kinds}
    joined = []
    for row in reading.rows(relation.relation):
        both = [{**row, **other} for other in found.get(_meeting(tuple(part(row) for part in parts), wanted), [])]
        if is_met is not None:
            both = [pair for pair in both if is_met(pair) is True]
        joined.extend(both or ([{**row, **nothing}] if relation.keep_unmatched else []))
    return joined


def _union(relation: UnionAll, reading: _Reading) -> list[_Row]:
    names = dict(zip(relation.right.columns, relation.left.columns, strict=True))
    moved = [{**_person(row), **{new: row[old] for old, new in names.items()}} for row in reading.rows(relation.right)]
    return [*reading.rows(relation.left), *moved]


def _join_persons(relation: JoinPersons, reading: _Reading) -> list[_Row]:
    right_columns = list(relation.right.columns)
    right: dict[Value, list[_Row]] = {}
    for row in reading.rows(relation.right):
        right.setdefault(row[PERSON], []).append({relation.prefix + name: row[name] for name in right_columns})
    is_met = None if relation.condition is None else evaluator(relation.condition, relation.columns)
    joined = []
    for row in reading.rows(relation.left):
        both = [{**row, **other} for other in right.get(row[PERSON], [])]
        if is_met is not None:
            both = [pair for pair in both if is_met(pair) is True]
        if not both and relation.keep_unmatched:
            both = [{**row, **{relation.prefix + name: None for name in right_columns}}]
        joined.extend(both)
    return joined


def _per_person(relation: PerPerson, reading: _Reading) -> list[_Row]:
    below = relation.relation.columns
    names = [name for name, _ in relation.keys]
    keys = [evaluator(value, below) for _, value in relation.keys]
    parts = [(name, part, _value_of(part, below)) for name, part in relation.measures]
    result: list[_Row] = []
    for person, rows in _by_person(reading.rows(relation.relation)).items():
        for key, group in _grouped(rows, keys).items():
            measures = {name: _fitting(_measure(part, group, value_of)) for name, part, value_of in parts}
            result.append({PERSON: person, **dict(zip(names, key, strict=True)), **measures})
    return result


def _window(relation: Window, reading: _Reading) -> list[_Row]:
    below = relation.relation.columns
    partition = [evaluator(part, below) for part in relation.partition]
    result: list[_Row] = []
    for rows in _by_person(reading.rows(relation.relation)).values():
        for group in _grouped(rows, partition).values():
            ordered = sort_rows(group, relation.order, below)
            values = _window_values(relation, ordered, below)
            result.extend({**row, relation.name: value} for row, value in zip(ordered, values, strict=True))
    return result


def _window_values(relation: Window, rows: list[_Row], below: Mapping[str, Kind]) -> list[Value]:
    """Return the window's values for rows that are sorted by its order."""
    value, function = relation.value, relation.function
    if function == "row_number":
        return list(range(1, len(rows) + 1))
    if function in ("rank", "dense_rank"):
        starts = _starts_of_peers(relation, rows, below)
        numbers = {start: number for number, start in enumerate(dict.fromkeys(starts), start=1)}
        return [start + 1 if function == "rank" else numbers[start] for start in starts]
    if function in ("lag", "lead", "first", "last") and value is not None:
        values = [*map(evaluator(value, below), rows)]
        if function in ("first", "last"):
            if relation.frame is not None:
                framed = [values[start:end] for start, end in _frames(relation.frame, len(rows))]
                return [part[0 if function == "first" else -1] if part else None for part in framed]
            return [values[0 if function == "first" else -1]] * len(rows)
        away, nothing = relation.offset or 1, [None] * len(rows)
        return [*nothing[:away], *values[:-away]] if function == "lag" else [*values[away:], *nothing[:away]]
    measure: Measure = CountRows()
    if value is not None:
        measure = {"count": CountOf, "sum": Sum, "smallest": Smallest, "largest": Largest}[function](value)
    value_of = _value_of(measure, below)
    if relation.frame is not None:
        framed_rows = [rows[start:end] for start, end in _frames(relation.frame, len(rows))]
        return [_fitting(_measure(measure, part, value_of)) for part in framed_rows]
    if relation.running is None:
        return [_fitting(_measure(measure, rows, value_of))] * len(rows)
    ends = list(range(1, len(rows) + 1))
    if relation.running == "range":
        last = dict(zip(_starts_of_peers(relation, rows, below), ends, strict=True))
        ends = [last[start] for start in _starts_of_peers(relation, rows, below)]
    return [_fitting(_measure(measure, rows[:end], value_of)) for end in ends]


def _frames(frame: tuple[int | None, int], rows: int) -> list[tuple[int, int]]:
    """Return the places where the frame of each row begins, and those behind its end."""
    start, end = frame
    return [(0 if start is None else max(place + start, 0), max(place + end + 1, 0)) for place in range(rows)]


def _starts_of_peers(relation: Window, rows: list[_Row], below: Mapping[str, Kind]) -> list[int]:
    """Return for each sorted row the place of the first one that the order leaves equal to it."""
    parts = [evaluator(part, below) for part, _ in relation.order]
    keys = [[sort_key(part(row)) for part in parts] for row in rows]
    starts: list[int] = []
    for place, key in enumerate(keys):
        starts.append(starts[-1] if place and keys[place - 1] == key else place)
    return starts


def _keep(relation: Keep, reading: _Reading) -> list[_Row]:
    below = relation.relation.columns
    wanted = [Kind.REAL if kind_of(key, below) is Kind.REAL else None for key in relation.keys]
    allowed = {_meeting(key, wanted) for key in relation.values}
    parts = [evaluator(key, below) for key in relation.keys]
    return [row for row in reading.rows(relation.relation) if tuple(part(row) for part in parts) in allowed]


def _bounded(relation: Bounded, reading: _Reading) -> list[_Row]:
    below, limits = relation.relation.columns, relation.limits
    person_kind = kind_of_person(relation)
    key_kinds = [kind_of(key, below) for key in relation.keys]
    keys = [evaluator(key, below) for key in relation.keys]

    def row_place(row: _Row) -> Any:
        fields = [(row[name], below[name]) for name in relation.order]
        return row_hash([(row[PERSON], person_kind), *fields]), [sort_key(value) for value, _ in fields]

    result: list[_Row] = []
    for person, rows in _by_person(reading.rows(relation.relation)).items():
        groups = _grouped(rows, keys)

        def group_place(key: tuple[Value, ...], person: Value = person) -> Any:
            fields = list(zip(key, key_kinds, strict=True))
            return group_hash([(person, person_kind), *fields]), [sort_key(value) for value in key]

        kept = {key: sorted(group, key=row_place)[: limits.rows_per_group] for key, group in groups.items()}
        chosen = sorted(kept, key=group_place)[: limits.groups]
        result.extend(sorted((row for key in chosen for row in kept[key]), key=row_place)[: limits.rows])
    return result


def _measure(measure: Measure, rows: list[_Row], value_of: Callable[[_Row], Value] | None) -> Value:
    """Return a measure of rows, given the function from a row to its value where it has one."""
    if isinstance(measure, CountRows):
        return len(rows)
    if isinstance(measure, Persons):
        return len({row[PERSON] for row in rows})
    if value_of is None:
        raise InvalidParameter("measure", type(measure).__name__, "a measure of the closed tree")
    values: list[Any] = [value for value in map(value_of, rows) if value is not None]
    if isinstance(measure, CountOf):
        return sum(value is not False for value in values)
    if isinstance(measure, Sum):
        return sum(int(value) for value in values)
    if not values:
        return None
    extreme: Value = min(values) if isinstance(measure, Smallest) else max(values)
    return extreme


def _value_of(measure: Measure, below: Mapping[str, Kind]) -> Callable[[_Row], Value] | None:
    """Return the function from a row to the measured value; counts of rows and people have none."""
    return evaluator(measure.value, below) if isinstance(measure, CountOf | Sum | Smallest | Largest) else None


def _fitting(value: Value) -> Value:
    """Return NULL for an integer beyond 64 bits."""
    too_large = isinstance(value, int) and not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER
    return None if too_large else value


def _grouped(rows: Iterable[_Row], parts: Sequence[Callable[[_Row], Value]]) -> dict[tuple[Value, ...], list[_Row]]:
    groups: dict[tuple[Value, ...], list[_Row]] = {}
    for row in rows:
        # 0 and -0 are one group, and are written as 0.
        values = (part(row) for part in parts)
        key = tuple(0.0 if value == 0.0 and isinstance(value, float) else value for value in values)
        groups.setdefault(key, []).append(row)
    return groups


def _by_person(rows: Iterable[_Row]) -> dict[Value, list[_Row]]:
    persons: dict[Value, list[_Row]] = {}
    for row in rows:
        persons.setdefault(row[PERSON], []).append(row)
    return persons


def _person(row: _Row) -> _Row:
    return {PERSON: row[PERSON]} if PERSON in row else {}


def _meeting(key: tuple[Value, ...], wanted: Sequence[Kind | None]) -> tuple[Value, ...]:
    """Return a key with its integers as doubles where they are compared with reals."""
    return tuple(
        float(value) if kind is Kind.REAL and isinstance(value, int) else value
        for value, kind in zip(key, wanted, strict=True)
    )


_READERS: dict[type[Relation], Callable[[Any, _Reading], list[_Row]]] = {
    Scan: _scan,
    PublicScan: lambda relation, reading: _typed(relation.table, reading),
    Filter: _filter,
    Project: _project,
    JoinPublic: _join_public,
    JoinPersons: _join_persons,
    UnionAll: _union,
    PerPerson: _per_person,
    Window: _window,
    Keep: _keep,
    Bounded: _bounded,
}
