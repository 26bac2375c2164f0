"""The width of rows and the work for one person's rows, from the form of a request and declarations: public.

A request may compute texts, sort, group and join by them, and keep them in windows. What that takes is added up here
before anything is charged, for the longest cells that the schema allows, at every *place* where an engine computes or
holds rows:

- **a text** has at most ``LONGEST_TEXT`` characters;
- **a row** holds at most ``ROW_BYTES`` of texts that the request computed, and four times what its tables declare
  themselves. Columns as they are declared are not counted, but for copies of them: they are what the curator has
  allowed; numbers are as long as the request;
- **a person** costs at most ``PERSON_BYTES`` that are written, or take as long, over all places together, and for each
  of their rows once what the tables declare. Rows are counted by the form of the request (``rows_per_person``); where
  that is not a public number, a person has ``PERSON_ROWS``;
- **memory**, where an engine says how much it has: at no place half of it can be taken by one person.

So no cell decides whether an engine has memory or time enough, and what one person can add to either is public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dither.data.base_relations import is_of_kind
from dither.data.expressions import Expression, Kind, Name
from dither.data.lengths import LONGEST_TEXT, bytes_of, extent
from dither.data.public_rows import PublicScan
from dither.data.relations import (
    Aggregation,
    Bounded,
    Filter,
    JoinPersons,
    JoinPublic,
    Keep,
    Measure,
    PerPerson,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
    rows_per_person,
)
from dither.data.schema import Table
from dither.errors import InvalidParameter

#: What a row may hold at one place that the request computed, beside four times what its tables declare.
ROW_BYTES: Final = 2**16
_TIMES_DECLARED: Final = 4
#: What one person may cost over all places: a second or two. And for each row as much as an ordinary one takes.
PERSON_BYTES: Final = 2**30
_EACH_ROW: Final = 2**14
#: What sorting a row costs, however narrow it is.
_SORTED_ROW: Final = 2**12
#: What a row of a moving frame costs, which some engines read anew for each row.
_FRAMED_ROW: Final = 16
#: How many rows a person is taken to have where the request does not limit them.
PERSON_ROWS: Final = 1000
_REMEDY: Final = "compute less or shorter text (SUBSTRING), or declare a shorter length of their columns"


@dataclass(frozen=True)
class _Column:
    """A column of a row: its kind, its length, and the declared cell that it is, if unchanged."""

    kind: Kind
    longest: int
    cell: tuple[int, str] | None = None

    @property
    def bytes(self) -> int:
        return bytes_of(self.kind, self.longest)


@dataclass(frozen=True)
class _Rows:
    """The rows of a relation: their columns, the declared width of a row, and the number of rows of a person."""

    columns: Mapping[str, _Column]
    declared: int
    rows: int
    is_limited: bool

    @property
    def kinds(self) -> dict[str, Kind]:
        return {name: column.kind for name, column in self.columns.items()}

    @property
    def lengths(self) -> dict[str, int]:
        return {name: column.longest for name, column in self.columns.items()}


@dataclass
class _Sum:
    """The values that are computed and held at one place."""

    computed: int = 0
    held: int = 0
    work: int = 0
    widest: str = ""
    _most: int = 0

    def hold(self, columns: Iterable[_Column]) -> None:
        """Add columns that are held side by side; a declared cell is free the first time it occurs."""
        seen = set()
        for column in columns:
            self.held += column.bytes
            if column.cell is None or column.cell in seen:
                self.computed += column.bytes if column.kind is Kind.TEXT else 0
                self.work += column.bytes
            seen.add(column.cell)

    def evaluate(self, expressions: Iterable[Expression], rows: _Rows) -> list[_Column]:
        """Add the texts that expressions write on the way, and return their results."""
        kinds, lengths, found = rows.kinds, rows.lengths, []
        for expression in expressions:
            if isinstance(expression, Name) and expression.name in rows.columns:
                found.append(rows.columns[expression.name])
                continue
            known = extent(expression, kinds, lengths)
            if known.largest > LONGEST_TEXT:
                rule = f"limited to text of at most {LONGEST_TEXT:,} characters; {_REMEDY}"
                raise _Refusal(f"{known.widest} of up to {known.largest:,} characters", rule)
            self.computed += known.made
            self.held += known.made
            self.work += known.work
            if known.made > self._most:
                self._most, self.widest = known.made, known.widest
            found.append(_Column(known.kind, known.longest))
        return found


class _Refusal(Exception):
    """A refusal, before the name of the request's parameter is known."""

    def __init__(self, offender: str, rule: str) -> None:
        super().__init__(offender)
        self.offender, self.rule = offender, rule


@dataclass
class _Request:
    """The places of one request so far."""

    memory: int | None
    work: int = 0
    rows: int = 1
    scans: int = 0
    heaviest: tuple[int, str] = field(default=(0, ""))

    def take(self, what: str, place: _Sum, rows: _Rows, *, held: int | None = None) -> None:
        """Add a place; refuse rows that are too wide there, and too much work for one person up to here.

        Args:
            what: the place is, for people.
            place: the values computed and held for a row.
            rows: those that come there.
            held: the number of a person's rows that are held there at once, if not all.

        """
        allowed = ROW_BYTES + _TIMES_DECLARED * rows.declared
        if place.computed > allowed:
            by = f", most by {place.widest}" if place.widest else ""
            rule = (
                f"limited to {allowed:,} bytes of computed text in a row ({ROW_BYTES:,} and {_TIMES_DECLARED} times "
                f"what its tables declare; 4 for a character); {_REMEDY}"
            )
            raise _Refusal(f"{what}: {place.computed:,} bytes{by}", rule)
        many = rows.rows if held is None else held
        taken = many * (place.held if rows.is_limited else place.computed)
        if self.memory is not None and 2 * taken > self.memory:
            rule = (
                f"limited to rows of one person that take at most half of the engine's memory of {self.memory:,} "
                f"bytes; {_REMEDY}, select fewer columns, lower 'rows per join', or give the engine more memory"
            )
            raise _Refusal(f"{what}: {many:,} rows a person, {taken:,} bytes", rule)
        cost = rows.rows * place.work
        self.work += cost
        self.rows = max(self.rows, rows.rows)
        self.heaviest = max(self.heaviest, (cost, what))
        allowed = PERSON_BYTES + self.rows * (_EACH_ROW + rows.declared)
        if self.work > allowed:
            rule = (
                f"limited to {allowed:,} bytes written or searched for one person's rows; {_REMEDY}, use fewer "
                "windows and joins, compute before a join instead of after it, or lower 'rows per join'"
            )
            raise _Refusal(f"{self.work:,} bytes, most in {self.heaviest[1]}", rule)


def check_widths(aggregation: Aggregation, *, memory: int | None = None, parameter: str = "query") -> None:
    """Refuse a request whose rows are too wide, or in which one person could cost too much.

    Args:
        aggregation: the request to an engine; no row is read.
        memory: the number of bytes that the engine may use, if known.
        parameter: the caller's name for the request.

    """
    bounded = aggregation.relation if isinstance(aggregation.relation, Bounded) else None
    relation = aggregation.relation if bounded is None else bounded.relation
    values = [*aggregation.keys, *_values(aggregation.measures)]
    request = _Request(memory)
    try:
        rows = _walk(relation, request)
        place = _Sum()
        # What is counted is carried through the sorts that bound a person, instead of what it is counted from.
        held = place.evaluate(values, rows)
        if bounded is not None:
            place.hold(rows.columns[name] for name in bounded.order)  # hashed
            held += place.evaluate([key for key in bounded.keys if key not in aggregation.keys], rows)
            place.hold(held)  # sorted by
        place.hold(held)
        request.take("keys and values", place, rows)
    except _Refusal as refusal:
        found = refusal
    else:
        return
    raise InvalidParameter(parameter, _Said(found.offender), found.rule)


class _Said(str):
    """A text whose repr is the text itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _values(measures: Sequence[Measure]) -> list[Expression]:
    return [value for measure in measures if (value := getattr(measure, "value", None)) is not None]


def _walk(relation: Relation, request: _Request) -> _Rows:
    """Return the rows of a relation, after adding all places below it."""
    if isinstance(relation, Scan | PublicScan):
        request.scans += 1
        return _limited(relation, _scanned(relation.table, request.scans))
    if isinstance(relation, JoinPersons):
        left, right = _walk(relation.left, request), _walk(relation.right, request)
        beside = {relation.prefix + name: column for name, column in right.columns.items()}
        columns = {**left.columns, **beside}
        rows = _limited(relation, replace(left, columns=columns, declared=left.declared + right.declared))
        place = _Sum()
        place.evaluate([] if relation.condition is None else [relation.condition], rows)
        place.hold(columns.values())
        # One side is held, and its rows are; pairs are handed on as they are made.
        request.take("a join of private tables", place, rows, held=max(left.rows, right.rows))
        return rows
    if isinstance(relation, UnionAll):
        return _together(relation, _walk(relation.left, request), _walk(relation.right, request), request)
    below = _walk(relation.relation, request)  # type: ignore[attr-defined]
    place = _Sum()
    what, rows = _over(relation, below, place, request)
    request.take(what, place, below)
    if isinstance(relation, JoinPublic) and (relation.most is not None or relation.condition is not None):
        rows = _limited(relation, rows)
        pairs = _Sum()
        pairs.evaluate([] if relation.condition is None else [relation.condition], rows)
        pairs.hold(rows.columns.values())
        # Pairs are handed on as they are made.
        request.take(what, pairs, rows, held=below.rows)
    return _limited(relation, rows) if isinstance(relation, PerPerson | Bounded) else rows


def _together(union: UnionAll, left: _Rows, right: _Rows, request: _Request) -> _Rows:
    """Return the rows of both sides; a column is as wide as on the side where it is wider."""
    pairs = zip(left.columns.items(), right.columns.values(), strict=True)
    columns = {name: _Column(one.kind, max(one.longest, other.longest)) for (name, one), other in pairs}
    rows = _limited(union, replace(left, columns=columns, declared=max(left.declared, right.declared)))
    place = _Sum()
    for column in columns.values():
        place.held += column.bytes
        place.work += column.bytes
    request.take("a union", place, rows)
    return rows


def _over(relation: Relation, below: _Rows, place: _Sum, request: _Request) -> tuple[str, _Rows]:
    """Add the values computed and held for each row below a relation; return a name for it, and the rows above."""
    if isinstance(relation, Filter):
        place.evaluate([relation.condition], below)
        return "a condition", below
    if isinstance(relation, Project):
        given = place.evaluate([value for _, value in relation.outputs], below)
        place.hold(given)
        names = [name for name, _ in relation.outputs]
        return "the outputs of a SELECT", replace(below, columns=dict(zip(names, given, strict=True)))
    if isinstance(relation, JoinPublic):
        keys = place.evaluate(relation.keys, below)
        place.hold(keys)
        place.hold(below.columns.values())
        request.scans += 1
        public = _scanned(relation.table, request.scans)
        columns = {relation.prefix + name: column for name, column in public.columns.items()}
        declared = below.declared + public.declared
        return f"a join to {relation.table.name}", replace(
            below, columns={**below.columns, **columns}, declared=declared
        )
    if isinstance(relation, PerPerson):
        keys = place.evaluate([value for _, value in relation.keys], below)
        values = place.evaluate(_values([measure for _, measure in relation.measures]), below)
        place.hold([*keys, *values])
        columns = dict(zip((name for name, _ in relation.keys), keys, strict=True))
        for name, measure in relation.measures:
            kind = relation.columns[name]
            longest = 0
            if kind is Kind.TEXT:
                longest = extent(_values([measure])[0], below.kinds, below.lengths).longest
            columns[name] = _Column(kind, longest)
        return "the groups of a person", replace(below, columns=columns)
    if isinstance(relation, Window):
        value = place.evaluate([] if relation.value is None else [relation.value], below)
        place.hold(place.evaluate([*relation.partition, *(part for part, _ in relation.order)], below))
        if relation.is_sorted_out:
            place.hold(below.columns.values())  # what decides between rows that are equal in the order
        place.work += _SORTED_ROW + (relation.most_framed or 0) * max([_FRAMED_ROW, *(one.bytes for one in value)])
        kind = relation.columns[relation.name]
        new = _Column(kind, value[0].longest if value and kind is Kind.TEXT else 0)
        columns = {**below.columns, relation.name: new}
        place.hold(columns.values())
        return f"the window {relation.name}", replace(below, columns=columns)
    if isinstance(relation, Keep):
        place.hold(place.evaluate(relation.keys, below))
        return "the keys of a list", below
    if isinstance(relation, Bounded):
        chosen = [below.columns[name] for name in relation.order]
        place.hold(place.evaluate(relation.keys, below))
        place.hold(chosen)  # hashed
        place.hold(chosen)  # sorted by, where hashes are equal
        place.hold(below.columns.values())
        return "the choice of a person's rows", below
    if is_of_kind(relation):
        for together in relation.held:
            place.hold(below.columns[name] for name in together)
        same = relation.unchanged
        columns = {
            name: below.columns[same[name]] if name in same else _Column(kind, 0)
            for name, kind in relation.columns.items()
        }
        return relation.called, replace(below, columns=columns)
    raise InvalidParameter("relation", type(relation).__name__, "one of the closed tree")


def _scanned(table: Table, number: int) -> _Rows:
    columns = {
        column.name: _Column(column.kind, column.longest if column.kind is Kind.TEXT else 0, (number, column.name))
        for column in table.columns
    }
    return _Rows(columns, sum(column.bytes for column in columns.values()), 1, True)


def _limited(relation: Relation, rows: _Rows) -> _Rows:
    """Return the rows with the number of them that one unit has."""
    many = rows_per_person(relation) if relation.has_persons else 1
    return replace(rows, rows=PERSON_ROWS if many is None else many, is_limited=many is not None)
