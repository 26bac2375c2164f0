"""Relations: the private rows of a request, as a small closed tree that engines print.

Below an aggregate every operator is row-wise (``Filter``, ``Project``, ``UnionAll``), within one person
(``JoinPersons``, ``PerPerson``, ``Window``, ``Bounded``) or a join to a public table (``JoinPublic``, ``Keep``). So the
rows that come from one person are a function of that person's own rows alone: this is what makes a bound on them a
bound on the sensitivity. Nothing in the tree can express anything else. Where every row is a unit of its own, each of
them becomes one row or none.

Every relation over private tables carries the privacy id in the hidden column ``PERSON`` when the unit is a person;
rows whose id is NULL do not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dither.data.base_relations import PERSON as PERSON
from dither.data.base_relations import Over as _Over
from dither.data.base_relations import Relation as Relation
from dither.data.base_relations import distinct_columns as _columns
from dither.data.base_relations import need_persons as _need_persons
from dither.data.expressions import Call, Expression, Kind, Literal, Name, Value, kind_of, names_in
from dither.data.measures import CountOf as CountOf
from dither.data.measures import CountRows as CountRows
from dither.data.measures import Largest as Largest
from dither.data.measures import Measure as Measure
from dither.data.measures import Persons as Persons
from dither.data.measures import Smallest as Smallest
from dither.data.measures import Sum as Sum
from dither.data.measures import kind_of_measure as kind_of_measure
from dither.data.schema import FRAMES, Table
from dither.data.windows import FARTHEST as FARTHEST
from dither.data.windows import ORDERED as ORDERED
from dither.data.windows import PEERS as PEERS
from dither.data.windows import WIDEST_FRAME as WIDEST_FRAME
from dither.data.windows import Window as Window
from dither.errors import InvalidParameter
from dither.exact import typed, whole


@dataclass(frozen=True)
@typed
class Scan(Relation):
    """All rows of a declared private table, every cell of its declared kind or NULL.

    A cell of another kind is cast as ``Cast`` casts, and is NULL where that is impossible; a text is true where it is
    ``true``, ``t`` or ``1`` in any case, false where it is ``false``, ``f`` or ``0``.

    Where the table has an owner, ``owners`` are the tables that lead to the privacy id, the next one first. A row then
    belongs to each person who has a row of the next table whose keys equal its reference, once; a row that nobody has
    does not exist. Of those with one reference at most ``Owner.rows`` exist: the first by a hash of all their columns,
    then by these columns.
    """

    table: Table
    owners: tuple[Table, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse a public table: it is joined to, never counted; and owners that are not those of the table."""
        if self.table.is_public:
            raise InvalidParameter("table", self.table.name, "a private table; a public one can only be joined to")
        named: Table = self.table
        for table in self.owners or ():
            if named.owner is None or named.owner.table != table.name or table.is_public:
                raise InvalidParameter("owners", table.name, f"what the rows of {named.name} are declared to refer to")
            named = table
        if named.owner is not None or self.owners == ():
            raise InvalidParameter("owners", self.owners, f"all tables from {self.table.name} to the privacy id")

    @property
    def parent(self) -> Scan | None:
        """The rows that those of this table refer to, where they belong to people through them."""
        if self.owners is None:
            return None
        return Scan(self.owners[0], self.owners[1:] or None)

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The declared columns."""
        return self.table.kinds

    @property
    def has_persons(self) -> bool:
        """Whether the table names a privacy id, or belongs to people through another one."""
        return self.table.person is not None or self.owners is not None


@dataclass(frozen=True)
@typed
class Filter(_Over):
    """The rows for which the condition is true."""

    relation: Relation
    condition: Expression

    def __post_init__(self) -> None:
        """Refuse a condition that is not true or false."""
        if kind_of(self.condition, self.relation.columns) is not Kind.BOOLEAN:
            raise InvalidParameter("condition", self.condition, "true or false")


@dataclass(frozen=True)
@typed
class Project(_Over):
    """Named expressions of each row."""

    relation: Relation
    outputs: tuple[tuple[str, Expression], ...]

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The outputs."""
        below = self.relation.columns
        return _columns([(name, kind_of(value, below)) for name, value in self.outputs])


@dataclass(frozen=True)
@typed
class JoinPublic(_Over):
    """Each row with the rows of a public table whose columns ``on`` equal ``keys`` of it.

    NULL equals nothing. ``on`` is the public table's declared key unless it is given. Of public rows that agree in
    ``on`` engines keep the first ``most``, by all declared columns in order (NULL before every value): one, unless it
    is given, so that a row stays one row whatever the table holds. ``where`` chooses public rows before that, and is
    over the public table's own columns. ``condition`` must hold too, and is over the columns of both sides.
    ``keep_unmatched`` keeps rows without a match, the public columns NULL (LEFT JOIN). Public columns appear as
    ``prefix`` + name.

    Where a row may become several, one person has at most a public number of rows below (``Bounded``).
    """

    relation: Relation
    table: Table
    keys: tuple[Expression, ...]
    keep_unmatched: bool
    prefix: str
    on: tuple[str, ...] | None = None
    most: int | None = None
    where: Expression | None = None
    condition: Expression | None = None

    def __post_init__(self) -> None:
        """Refuse a private table, keys that are not those of the table, and rows that become any number of rows."""
        if not self.table.is_public or (self.on is None and not self.table.key):
            raise InvalidParameter("table", self.table.name, "a public table with a declared unique key")
        if len(self.keys) != len(self.compared):
            columns = ", ".join(self.compared) or "nothing"
            raise InvalidParameter("keys", len(self.keys), f"one for each column of the key {columns}")
        for key, name in zip(self.keys, self.compared, strict=True):
            # What cannot be compared would be converted cell by cell, and fail at one that is of another kind.
            same = Call(
                "equal", (Literal(None, kind_of(key, self.relation.columns)), Name(self.table.column(name).name))
            )
            kind_of(same, self.table.kinds)
        if self.most is not None:
            whole("most", self.most, least=2, most=2**31)
            _need_persons(self.relation, f"a join to {self.table.name} in which a row becomes several")
            if rows_per_person(self.relation) is None:
                rule = "of a public number of rows a person (Bounded), where a row becomes several"
                raise InvalidParameter("join", "rows without a limit", rule)
        if self.where is not None and kind_of(self.where, self.table.kinds) is not Kind.BOOLEAN:
            raise InvalidParameter("where", self.where, "true or false")
        if self.condition is not None and kind_of(self.condition, self.columns) is not Kind.BOOLEAN:
            raise InvalidParameter("condition", self.condition, "true or false")

    @property
    def compared(self) -> tuple[str, ...]:
        """The public table's columns that are compared with the keys."""
        return self.table.key if self.on is None else self.on

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The columns below, and those of the public table."""
        public = [(self.prefix + name, kind) for name, kind in self.table.kinds.items()]
        return _columns([*self.relation.columns.items(), *public])


@dataclass(frozen=True)
@typed
class UnionAll(Relation):
    """All rows of both sides, each the person's whose it was; columns go by their position and the left side's names.

    Where every row is a unit of its own, the sides read different tables of different sources, so that no row counts on
    both.
    """

    left: Relation
    right: Relation

    def __post_init__(self) -> None:
        """Refuse sides of other columns, of people and of rows, and one row on both sides."""
        if list(self.left.columns.values()) != list(self.right.columns.values()):
            shown = [[kind.value for kind in side.columns.values()] for side in (self.left, self.right)]
            raise InvalidParameter("union", shown, "of sides with the same number of columns, each of one kind on both")
        if self.left.has_persons != self.right.has_persons:
            raise InvalidParameter("union", "people and rows", "of one unit on both sides")
        if not self.left.has_persons and (both := tables_read(self.left) & tables_read(self.right)):
            rule = "of different tables and sources, where each row is its own unit"
            raise InvalidParameter("union", sorted({name for _, name in both}), rule)

    @property
    def columns(self) -> Mapping[str, Kind]:
        """Those of the left side."""
        return self.left.columns

    @property
    def has_persons(self) -> bool:
        """As both sides."""
        return self.left.has_persons


@dataclass(frozen=True)
@typed
class JoinPersons(Relation):
    """Every row of a person on the left with every row of the same person on the right.

    Rows multiply, so one of the sides has at most one row a person, or meets each row of the other at most once
    (``once``), or both have at most a public number of them (``rows_per_person``): how large a result becomes is
    not one person's secret. ``condition`` is over the columns of both sides, ``keep_unmatched`` keeps left rows without
    a match. Columns of the right side appear as ``prefix`` + name.
    """

    left: Relation
    right: Relation
    condition: Expression | None
    keep_unmatched: bool
    prefix: str

    def __post_init__(self) -> None:
        """Refuse relations without people: a row is not joined to other units."""
        if not (self.left.has_persons and self.right.has_persons):
            raise InvalidParameter("join", "two private tables", "on the privacy id, which both tables must declare")
        if self.condition is not None and kind_of(self.condition, self.columns) is not Kind.BOOLEAN:
            raise InvalidParameter("condition", self.condition, "true or false")
        sizes = [rows_per_person(side) for side in (self.left, self.right)]
        if 1 not in sizes and None in sizes and not any(self.once):
            rule = "of sides with a public number of rows a person each (Bounded), or one row on either side"
            raise InvalidParameter("join", "rows without a limit", rule)

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The columns of the left side, then those of the right."""
        right = [(self.prefix + name, kind) for name, kind in self.right.columns.items()]
        return _columns([*self.left.columns.items(), *right])

    @property
    def has_persons(self) -> bool:
        """Always."""
        return True

    @cached_property
    def once(self) -> tuple[bool, bool]:
        """Whether the left side, and the right one, meets each row of the other at most once: see ``meeting``."""
        from dither.data.meeting import meets_once  # it is about relations, and they are refused by it

        return meets_once(self)

    @cached_property
    def most_rows(self) -> int | None:
        """The largest number of rows of one person, None if it is not public: see ``rows_per_person``."""
        left, right = (rows_per_person(side) for side in (self.left, self.right))
        left_once, right_once = self.once
        found = [left if right_once else None]  # a row that meets one row, or is kept without
        if left is not None and right is not None:
            found += [left * right, right + left * self.keep_unmatched if left_once else None]
        elif left_once and not self.keep_unmatched:
            found.append(right)
        return min((size for size in found if size is not None), default=None)


@dataclass(frozen=True)
@typed
class PerPerson(_Over):
    """One row for each person and each value of ``keys``, with measures of that person's own rows.

    A ``Sum`` that does not fit into 64 bits is NULL.
    """

    relation: Relation
    keys: tuple[tuple[str, Expression], ...]
    measures: tuple[tuple[str, Measure], ...]

    def __post_init__(self) -> None:
        """Refuse rows without a person."""
        _need_persons(self.relation, "grouping by person")

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The keys, then the measures."""
        below = self.relation.columns
        keys = [(name, kind_of(value, below)) for name, value in self.keys]
        return _columns([*keys, *((name, kind_of_measure(measure, below)) for name, measure in self.measures)])


@dataclass(frozen=True)
@typed
class Keep(_Over):
    """The rows whose keys are in a public list of key tuples; NULL counts as a value."""

    relation: Relation
    keys: tuple[Expression, ...]
    values: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        """Refuse key tuples of another length, and values of another kind."""
        below = self.relation.columns
        kinds = [kind_of(key, below) for key in self.keys]
        if any(len(row) != len(kinds) for row in self.values):
            raise InvalidParameter("values", "key tuples", f"each of {len(kinds)} values, as there are keys")
        for place, kind in enumerate(kinds):
            # One value of each type stands for all, because there may be very many.
            for value in {type(row[place]): row[place] for row in self.values}.values():
                Literal(value, kind)


@dataclass(frozen=True)
@typed
class Limits:
    """How much of one person's rows may count: rows in all, groups, rows in any one group; None means no limit."""

    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not integers above 0."""
        for name in ("rows", "groups", "rows_per_group"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least=1, most=2**31)


@dataclass(frozen=True)
@typed
class Bounded(_Over):
    """The rows of each person within the limits.

    Applied in this order, each by a hash of the person's id and the ``order`` columns of that person's own rows, never
    by a position: at most ``rows_per_group`` rows in each group, then at most ``groups`` groups, then at most ``rows``
    rows. Ties are broken by the ``order`` columns themselves, so that rows that still tie are equal in all that counts:
    ``order`` must name every column that is read above. ``portable_hash`` defines the hash of the portable mode.
    """

    relation: Relation
    keys: tuple[Expression, ...]
    limits: Limits
    order: tuple[str, ...]  # the columns that the request uses: what decides which rows stay

    def __post_init__(self) -> None:
        """Refuse rows without a person."""
        _need_persons(self.relation, "a limit on contributions")
        below = self.relation.columns
        for name in self.order:
            kind_of(Name(name), below)
        _need_ordered("keys", self.keys, self)


@dataclass(frozen=True)
@typed
class Aggregation:
    """A request to an engine: exact integer measures of a relation, for each value of the keys that occurs.

    Measures are ``CountRows``, ``CountOf``, ``Persons`` and ``Sum``: integers all.
    """

    relation: Relation
    keys: tuple[Expression, ...]
    measures: tuple[Measure, ...]

    def __post_init__(self) -> None:
        """Refuse measures that are not exact integers."""
        below = self.relation.columns
        for key in self.keys:
            kind_of(key, below)
        for measure in self.measures:
            if isinstance(measure, Smallest | Largest) or kind_of_measure(measure, below) is not Kind.INTEGER:
                raise InvalidParameter("measure", measure, "a count, a number of people or a sum of integers")
            if isinstance(measure, Persons):
                _need_persons(self.relation, "a number of people")
        if isinstance(self.relation, Bounded):
            values = [measure.value for measure in self.measures if isinstance(measure, CountOf | Sum)]
            _need_ordered("keys and measures", (*self.keys, *values), self.relation)

    def __hash__(self) -> int:
        """Return a hash; the tree is walked once, because answers are looked up by it."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.relation, self.keys, self.measures))


@dataclass(frozen=True)
class Aggregated:
    """The exact answer of an engine: private. Key tuples in no particular order, one row of measures each.

    Without keys there is exactly one row, also when there is nothing to count. Integers are Python's own.
    """

    keys: Sequence[tuple[Value, ...]]
    measures: Sequence[tuple[int, ...]]


def rows_per_person(relation: Relation) -> int | None:
    """Return the largest number of rows of one person in a relation, by its form alone; None if it is not public.

    >>> from dither.data import Column, Scan, Table
    >>> visits = Scan(Table("visits", (Column("id", Kind.TEXT),), "visits.csv", person="id"))
    >>> rows_per_person(visits), rows_per_person(Bounded(visits, (), Limits(rows=5), ("id",)))
    (None, 5)
    """
    if isinstance(relation, Scan):
        return _rows_of_owned(relation)
    if isinstance(relation, JoinPersons):
        return relation.most_rows
    if isinstance(relation, UnionAll):
        sizes = [rows_per_person(side) for side in (relation.left, relation.right)]
        return None if sizes[0] is None or sizes[1] is None else sizes[0] + sizes[1]
    if isinstance(relation, PerPerson) and all(
        isinstance(value, Name) and value.name in person_columns(relation.relation) for _, value in relation.keys
    ):
        return 1
    if not isinstance(relation, _Over):
        return None
    below = rows_per_person(relation.relation)
    if isinstance(relation, JoinPublic):
        return None if below is None else below * (relation.most or 1)
    if not isinstance(relation, Bounded):
        return below  # a row becomes one row or none, and groups are no more than rows
    limits = relation.limits
    in_groups = None
    if limits.rows_per_group is not None and (limits.groups is not None or not relation.keys):
        in_groups = limits.rows_per_group * (limits.groups or 1 if relation.keys else 1)
    return min((size for size in (below, limits.rows, in_groups) if size is not None), default=None)


def _rows_of_owned(relation: Scan) -> int | None:
    """Return the largest number of rows of a person in a table: what is declared for each key, times the keys."""
    parent, owner = relation.parent, relation.table.owner
    if parent is None or owner is None or owner.rows is None:
        return None
    keys = 1 if set(owner.keys) <= person_columns(parent) else rows_per_person(parent)
    return None if keys is None else keys * owner.rows


def person_columns(relation: Relation) -> frozenset[str]:
    """Return the visible columns that hold the privacy id in every row."""
    if isinstance(relation, Scan):
        owner, parent = relation.table.owner, relation.parent
        if owner is None or parent is None:
            return frozenset(relation.table.identifying)
        ids = person_columns(parent)
        return frozenset(mine for mine, key in zip(owner.columns, owner.keys, strict=True) if key in ids)
    if isinstance(relation, Project | PerPerson):
        below = person_columns(relation.relation)
        named = relation.outputs if isinstance(relation, Project) else relation.keys
        return frozenset(name for name, value in named if isinstance(value, Name) and value.name in below)
    if isinstance(relation, JoinPersons):
        right = frozenset() if relation.keep_unmatched else person_columns(relation.right)
        return person_columns(relation.left) | {relation.prefix + name for name in right}
    if isinstance(relation, UnionAll):
        left, right = (person_columns(side) for side in (relation.left, relation.right))
        pairs = zip(relation.left.columns, relation.right.columns, strict=True)
        return frozenset(name for name, other in pairs if name in left and other in right)
    return person_columns(relation.relation) if isinstance(relation, _Over) else frozenset()


def tables_read(relation: Relation) -> frozenset[tuple[str, str]]:
    """Return the names of the private tables that a relation reads, and of their sources: two may name one file."""
    if isinstance(relation, Scan):
        table = relation.table
        source = () if table.source == FRAMES else (("source", table.source),)
        return frozenset((("table", table.name), *source))
    below = [getattr(relation, name, None) for name in ("relation", "left", "right")]
    return frozenset[tuple[str, str]]().union(*(tables_read(part) for part in below if isinstance(part, Relation)))


def _need_ordered(parameter: str, expressions: tuple[Expression, ...], bounded: Bounded) -> None:
    """Refuse to read a column that does not decide which rows stay: rows that differ in it could tie."""
    read = frozenset[str]().union(*(names_in(expression) for expression in expressions))
    if not read <= set(bounded.order):
        raise InvalidParameter(parameter, sorted(read), f"of columns that decide which rows stay: {bounded.order}")
