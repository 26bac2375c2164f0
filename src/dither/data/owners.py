"""Ownership through foreign keys: rows that belong to people by reference, and joins along a reference.

A table without a privacy id may belong to people through a reference (``Owner``): ``lineitem.l_orderkey`` names an
order, ``orders.o_custkey`` a customer. Every row of such a table carries its person as any other row does (``Scan``),
so a join of two private tables pairs rows of one person whatever its condition says. What this module decides is which
conditions *mean* that: those that equate a whole declared key on both sides. Nothing here is needed for a guarantee: a
mistake would make a join drop pairs that the analyst meant, never pair rows of different people.

A side that holds the key itself, and not a reference to it, has one row for each person and key: where keys repeat in
spite of the declaration one of them counts, chosen by a hash of that person's own rows. So a join along a reference
multiplies nothing, and needs no limit on the rows that enter it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dither.data.expressions import Expression, Name
from dither.data.meeting import equated, unique_keys
from dither.data.own_tables import parts_of
from dither.data.relations import (
    Bounded,
    Filter,
    JoinPersons,
    JoinPublic,
    Keep,
    Limits,
    PerPerson,
    Project,
    Relation,
    Scan,
    Window,
    person_columns,
    rows_per_person,
)
from dither.data.schema import DataSet, Table


@dataclass(frozen=True)
class Identifier:
    """Columns of a relation that together hold the key of a private table, or a reference to it.

    Args:
        table: whose key it is.
        keys: the columns of that table.
        columns: the columns of the relation, in the same order.
        is_key: whether every row of the relation has its own, if the declaration is true.

    """

    table: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    is_key: bool

    def renamed(self, names: dict[str, str], *, is_key: bool = True) -> Identifier | None:
        """Return it under other names, None where one of its columns is gone."""
        if any(column not in names for column in self.columns):
            return None
        columns = tuple(names[column] for column in self.columns)
        return Identifier(self.table, self.keys, columns, self.is_key and is_key)


def scan_of(dataset: DataSet, table: Table) -> Relation:
    """Return the rows of a private table of a data set, with the people they belong to.

    Of each person there are at most as many as the table declares (``Table.rows_per_person``), chosen by a hash of that
    person's own rows.

    >>> from dither.data import Column, Kind
    >>> from dither.data.schema import Owner, person_unit
    >>> customer = Table("customer", (Column("id", Kind.INTEGER),), "customer.csv", person="id")
    >>> orders = Table("orders", (Column("of", Kind.INTEGER),), "orders.csv", owner=Owner("customer", ("of",), ("id",)))
    >>> shop = DataSet("shop", (customer, orders), person_unit("id"), rows=5)
    >>> sorted(person_columns(scan_of(shop, orders))), rows_per_person(scan_of(shop, orders))
    (['of'], None)
    >>> rows_per_person(scan_of(shop, replace(customer, rows_per_person=1)))
    1
    """
    scan = Scan(table, dataset.owners(table) or None)
    if table.rows_per_person is None:
        return scan
    return Bounded(scan, (), Limits(rows=table.rows_per_person), tuple(scan.columns))


def table_of(relation: Relation) -> Table | None:
    """Return the table that a relation is the rows of, as ``scan_of`` returns them; None if it is anything else."""
    scan = relation.relation if isinstance(relation, Bounded) else relation
    if not isinstance(scan, Scan):
        return None
    is_own = relation is scan or (
        isinstance(relation, Bounded)
        and not relation.keys
        and relation.limits == Limits(rows=scan.table.rows_per_person)
    )
    return scan.table if is_own else None


def declared_rows(relation: Relation) -> dict[str, int]:
    """Return how many rows of a person each table of a relation has, of those that declare it."""
    found: dict[str, int] = {}
    for part in parts_of(relation):
        table = table_of(part) if isinstance(part, Bounded) else None
        if table is not None and table.rows_per_person is not None:
            found[table.name] = table.rows_per_person
    return dict(sorted(found.items()))


def unlimited(relation: Relation) -> Relation:
    """Return the rows of a table, or those that meet a condition, without the table's limit on rows a person."""
    if isinstance(relation, Filter):
        return replace(relation, relation=unlimited(relation.relation))
    return relation.relation if isinstance(relation, Bounded) and table_of(relation) is not None else relation


def identifiers(dataset: DataSet, relation: Relation) -> tuple[Identifier, ...]:
    """Return the keys and references that the columns of a relation hold."""
    return tuple(_identifiers(dataset, relation))


def _identifiers(dataset: DataSet, relation: Relation) -> Iterator[Identifier]:
    if isinstance(relation, Scan):
        yield from _of_scan(dataset, relation)
    elif isinstance(relation, JoinPersons):
        yield from _of_join(dataset, relation)
    elif isinstance(relation, Project | PerPerson):
        named = relation.outputs if isinstance(relation, Project) else relation.keys
        names = {value.name: name for name, value in reversed(named) if isinstance(value, Name)}
        ids = person_columns(relation.relation)
        for one in _identifiers(dataset, relation.relation):
            is_key = True
            if isinstance(relation, PerPerson):
                # A group of a person for each key, and for nothing else, is as unique as the key.
                among = {*one.columns, *ids}
                is_key = all(isinstance(value, Name) and value.name in among for _, value in relation.keys)
                one = Identifier(one.table, one.keys, one.columns, is_key)
            found = one.renamed(names)
            if found is not None:
                yield found
    elif isinstance(relation, Filter | JoinPublic | Window | Keep | Bounded):
        yield from _identifiers(dataset, relation.relation)


def _of_scan(dataset: DataSet, scan: Scan) -> Iterator[Identifier]:
    table = scan.table
    if table.owner is not None:
        yield Identifier(table.owner.table, table.owner.keys, table.owner.columns, is_key=False)
    for keys in _referred(dataset, table.name):
        yield Identifier(table.name, keys, keys, is_key=True)
    # A column that holds the privacy id refers to the people themselves, over however many tables.
    root = (table, *(scan.owners or ()))[-1]
    if root is not table and (root.person,) in _referred(dataset, root.name):
        for name in sorted(person_columns(scan)):
            yield Identifier(root.name, root.identifying, (name,), is_key=False)


def _referred(dataset: DataSet, table: str) -> list[tuple[str, ...]]:
    """Return the keys of a table that others refer to."""
    return sorted({other.owner.keys for other in dataset.tables if other.owner and other.owner.table == table})


def _of_join(dataset: DataSet, join: JoinPersons) -> Iterator[Identifier]:
    left_once, right_once = join.once
    right_once |= rows_per_person(join.right) == 1
    left_once |= rows_per_person(join.left) == 1
    for one in _identifiers(dataset, join.left):
        yield Identifier(one.table, one.keys, one.columns, one.is_key and right_once)
    names = {name: join.prefix + name for name in join.right.columns}
    for one in _identifiers(dataset, join.right):
        found = one.renamed(names, is_key=left_once)
        if found is not None:
            yield found


def names_person(dataset: DataSet, relation: Relation, names: Sequence[str]) -> bool:
    """Return whether columns say whose a row is: one is the privacy id, or they contain a whole key or reference."""
    given = set(names)
    if given & person_columns(relation):
        return True
    return relation.has_persons and any(set(one.columns) <= given for one in identifiers(dataset, relation))


def matched(
    dataset: DataSet, left: Relation, right: Relation, condition: Expression | None, prefix: str
) -> tuple[Identifier, Identifier] | None:
    """Return the key or reference that a join's condition equates on both sides; None if there is none.

    Such a condition pairs rows of one person, without naming the privacy id.

    Args:
        dataset: whose references count.
        left: the first side.
        right: the second side.
        condition: what must hold, over the columns of the left side and over ``prefix`` + those of the right.
        prefix: what stands before the columns of the right side.

    """
    if not (left.has_persons and right.has_persons):
        return None
    pairs = set()
    for one, other in equated(condition):
        if isinstance(one, Name) and isinstance(other, Name):
            pairs |= {(one.name, other.name), (other.name, one.name)}
    found = [
        (mine, theirs)
        for mine in (identifiers(dataset, left) if pairs else ())
        for theirs in identifiers(dataset, right)
        if (mine.table, mine.keys) == (theirs.table, theirs.keys)
        and all((a, prefix + b) in pairs for a, b in zip(mine.columns, theirs.columns, strict=True))
    ]
    # A side that holds the key itself meets every row of the other once.
    return max(found, key=lambda pair: (pair[0].is_key or pair[1].is_key, pair[1].is_key), default=None)


def joined_by_owner(
    dataset: DataSet, left: Relation, right: Relation, condition: Expression | None, keep_unmatched: bool, prefix: str
) -> JoinPersons | None:
    """Return the join of two sides along a declared reference, without a limit on the rows that enter it.

    None where the condition equates no whole key of which one side has each once: a join on the privacy id, or of two
    tables that refer to the same key, has the limits of ``joined``. The arguments are those of ``matched``;
    ``keep_unmatched`` keeps rows of the left side without a match.
    """
    found = matched(dataset, left, right, condition, prefix)
    if found is None or not (found[0].is_key or found[1].is_key):
        return None
    mine, theirs = found
    if theirs.is_key:
        right = one_a_key(right, theirs.columns)
    else:
        left = one_a_key(left, mine.columns)
    return JoinPersons(left, right, condition, keep_unmatched, prefix)


def one_a_key(relation: Relation, columns: tuple[str, ...]) -> Relation:
    """Return the rows of which each person has one for each key.

    Where they come from one table, rows of that table are chosen: it is known there which keys repeat at all.
    """
    if any(keys <= set(columns) for keys in unique_keys(relation)):
        return relation
    if isinstance(relation, JoinPublic) and (relation.most or 1) > 1:
        return _bounded_to_one(relation, columns)  # a row may become several
    if isinstance(relation, Bounded) and not relation.keys:
        # Rows of a key that repeats do not use up the number of rows.
        return replace(relation, relation=one_a_key(relation.relation, columns))
    if isinstance(relation, Filter | JoinPublic | Keep) and set(columns) <= relation.relation.columns.keys():
        return replace(relation, relation=one_a_key(relation.relation, columns))
    if isinstance(relation, Project):
        made = dict(relation.outputs)
        names = [value.name for name in columns if isinstance(value := made[name], Name)]
        if len(names) == len(columns):
            return replace(relation, relation=one_a_key(relation.relation, tuple(names)))
    if isinstance(relation, JoinPersons):
        left_once, right_once = relation.once
        if right_once and set(columns) <= relation.left.columns.keys():
            return replace(relation, left=one_a_key(relation.left, columns))
        names = [name.removeprefix(relation.prefix) for name in columns if name not in relation.left.columns]
        if left_once and len(names) == len(columns):
            return replace(relation, right=one_a_key(relation.right, tuple(names)))
    return _bounded_to_one(relation, columns)


def _bounded_to_one(relation: Relation, columns: tuple[str, ...]) -> Bounded:
    return Bounded(relation, tuple(map(Name, columns)), Limits(rows_per_group=1), tuple(relation.columns))
