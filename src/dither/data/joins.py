"""Joins of private tables: how many joins, and how many rows of one person enter them.

Rows of a person multiply in a join. Without a limit one person's second row could make a query of many joins take
minutes instead of a moment, or never end: the time would tell of that row. So each side has a public number of rows a
person, and a query a public number of tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dither.data import Bounded, DataSet, Expression, JoinPersons, JoinPublic, Limits, Relation, Scan, Table, UnionAll
from dither.data.own_tables import check_tables, parts_of
from dither.data.owners import joined_by_owner
from dither.data.public_rows import PublicScan
from dither.data.relations import rows_per_person
from dither.errors import InvalidParameter, Unanswerable

#: A query that reads more private tables is refused; a subquery counts as often as it is read.
MOST_TABLES: Final = 8
#: And one that reads more of them on all sides of its unions, whose rows do not multiply.
MOST_READ: Final = 64
#: A join to a public table in which rows of one person could become more is refused.
MOST_PAIRS: Final = 2**24


def joined(
    dataset: DataSet, left: Relation, right: Relation, condition: Expression | None, keep_unmatched: bool, prefix: str
) -> JoinPersons:
    """Return the join of a person's rows on both sides.

    Where neither side has one row a person, at most ``rows per join`` of a person's rows enter on each side, chosen by
    a hash of that person's own rows. So no result has more than its square of rows a person, whatever a person's rows
    are; and since the choice is a function of that person's rows alone, nothing changes in what a person can move.
    Along a declared reference rows do not multiply, and all of them enter.
    """
    owned = joined_by_owner(dataset, left, right, condition, keep_unmatched, prefix)
    if owned is not None:
        return owned
    left, right = entering(dataset, left, right)
    return JoinPersons(left, right, condition, keep_unmatched, prefix)


def entering(dataset: DataSet, left: Relation, right: Relation) -> tuple[Relation, Relation]:
    """Return the rows of both sides that enter a join: all of them where a side has one row a person."""
    if left.has_persons and right.has_persons and 1 not in (rows_per_person(left), rows_per_person(right)):
        return _entering(left, dataset.join_rows), _entering(right, dataset.join_rows)
    return left, right


def joined_public(
    dataset: DataSet,
    relation: Relation,
    table: Table,
    keys: Mapping[str, Expression],
    prefix: str,
    *,
    keep_unmatched: bool,
    condition: Expression | None = None,
) -> JoinPublic:
    """Return the join of each row to the rows of a public table that agree in the columns of ``keys``.

    Where these are not its whole key a row becomes as many rows as the table may have (``most_matches``), and at most
    ``rows per join`` of a person's rows enter, chosen by a hash of that person's own rows.
    """
    on = None if table.key and set(table.key) == set(keys) else tuple(keys)
    most = None if on is None else most_matches(dataset, table)
    if most == 1:
        most = None
    if most is not None and relation.has_persons:
        relation = _entering(relation, dataset.join_rows)
    values = tuple(keys[name] for name in (table.key if on is None else on))
    return JoinPublic(relation, table, values, keep_unmatched, prefix, on, most, None, condition)


def most_matches(dataset: DataSet, table: Table) -> int:
    """Return how many rows of a public table one row may meet: its declared ``rows``, or ``rows per join``."""
    return dataset.join_rows if table.rows is None else table.rows


def _entering(relation: Relation, most: int) -> Relation:
    size = rows_per_person(relation)
    if size is not None and size <= most:
        return relation
    return Bounded(relation, (), Limits(rows=most), tuple(relation.columns))


def join_limit(relation: Relation) -> int | None:
    """Return the number of rows of a person that enter a side of a join, None if no join drops any."""
    found = [
        side.limits.rows
        for join in parts_of(relation)
        for side in _sides(join)
        if isinstance(side, Bounded) and side.limits.rows is not None
    ]
    return max(found, default=None)


def _tables(relation: Relation) -> int:
    """Return the number of private tables whose rows may multiply: those of one side of a union."""
    if isinstance(relation, JoinPersons):
        return _tables(relation.left) + _tables(relation.right)
    if isinstance(relation, UnionAll):
        return max(_tables(relation.left), _tables(relation.right))
    below = getattr(relation, "relation", None)
    return 1 if below is None else _tables(below)


def _sides(join: Relation) -> tuple[Relation, ...]:
    """Return what enters a join in which rows of a person multiply."""
    if isinstance(join, JoinPersons):
        multiplies = 1 not in (rows_per_person(join.left), rows_per_person(join.right)) and not any(join.once)
        return (join.left, join.right) if multiplies else ()
    return (join.relation,) if isinstance(join, JoinPublic) and join.most is not None else ()


def check_relation(relation: Relation, dataset: DataSet) -> None:
    """Refuse rows from outside the data set, and joins of more tables or rows of one person than are allowed.

    Also a bound that leaves open which rows of a person stay. Every record that holds a data set and a relation calls
    this when it is made. An edge may stand in any number of rows, so rows of a graph are not counted as rows.
    """
    if dataset.own_kind is not None:
        raise InvalidParameter("relation", f"rows of {dataset.name}", dataset.own_kind.asked_with)
    check_tables(relation, dataset)
    parts = list(parts_of(relation))
    for join in parts:
        sizes = [rows_per_person(side) for side in _sides(join)]
        if any(size is None or size > dataset.join_rows for size in sizes):
            rule = f"of at most {dataset.join_rows} rows of a person on each side, as the data set says"
            raise InvalidParameter("join", sizes, rule)
        if isinstance(join, JoinPublic) and join.most is not None and join.most > most_matches(dataset, join.table):
            rule = f"at most {most_matches(dataset, join.table)} for {join.table.name}, as the data set says"
            raise InvalidParameter("most", join.most, rule)
        if isinstance(join, JoinPublic) and (rows_per_person(join) or 0) > MOST_PAIRS:
            raise Unanswerable(
                f"rows of a person could become {rows_per_person(join):,} in the join to {join.table.name}, more than "
                f"{MOST_PAIRS:,}",
                "join it on its key, or declare fewer 'rows' of it",
            )
        if isinstance(join, Bounded) and set(join.order) != join.relation.columns.keys():
            # Rows that differ in another column would tie, and where an engine meets them would decide between them:
            # one person's rows could change which rows of everybody else stay.
            raise InvalidParameter("order", join.order, f"all of {', '.join(join.relation.columns)}")
        if isinstance(join, PublicScan):
            raise InvalidParameter("relation", join.table.name, "private rows: public ones are only joined to them")
    tables = _tables(relation)
    if sum(isinstance(part, Scan) for part in parts) > MOST_READ:
        raise Unanswerable(f"the query reads more than {MOST_READ} private tables", "split the query")
    if tables > MOST_TABLES:
        raise Unanswerable(
            f"the query joins {tables} private tables; at most {MOST_TABLES} are supported",
            "split the query; WITH and subqueries count each time they are read",
        )
