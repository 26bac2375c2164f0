"""Joins of private tables: how many joins, and how many rows of one person enter them.

Rows of a person multiply in a join. Without a limit one person's second row could make a query of many joins take
minutes instead of a moment, or never end: the time would tell of that row. So each side has a public number of rows a
person, and a query a public number of tables.
"""

from __future__ import annotations

from typing import Final

from dither.data import Bounded, DataSet, Expression, JoinPersons, Limits, Relation, Scan
from dither.data.own_tables import check_tables, parts_of
from dither.data.owners import joined_by_owner
from dither.data.relations import rows_per_person
from dither.errors import InvalidParameter, Unanswerable

#: A query that reads more private tables is refused; a subquery counts as often as it is read.
MOST_TABLES: Final = 8


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
    if left.has_persons and right.has_persons and 1 not in (rows_per_person(left), rows_per_person(right)):
        left, right = (_entering(side, dataset.join_rows) for side in (left, right))
    return JoinPersons(left, right, condition, keep_unmatched, prefix)


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
        if isinstance(join, JoinPersons)
        and 1 not in (rows_per_person(join.left), rows_per_person(join.right))
        and not any(join.once)
        for side in (join.left, join.right)
        if isinstance(side, Bounded) and side.limits.rows is not None
    ]
    return max(found, default=None)


def check_relation(relation: Relation, dataset: DataSet) -> None:
    """Refuse rows from outside the data set, and joins of more tables or rows of one person than are allowed.

    Every record that holds a data set and a relation calls this when it is made.
    """
    check_tables(relation, dataset)
    parts = list(parts_of(relation))
    for join in parts:
        if isinstance(join, JoinPersons) and not any(join.once):
            sizes = [rows_per_person(side) for side in (join.left, join.right)]
            if 1 not in sizes and any(size is None or size > dataset.join_rows for size in sizes):
                rule = f"of at most {dataset.join_rows} rows of a person on each side, as the data set says"
                raise InvalidParameter("join", sizes, rule)
    tables = sum(isinstance(part, Scan) for part in parts)
    if tables > MOST_TABLES:
        raise Unanswerable(
            f"the query joins {tables} private tables, more than {MOST_TABLES}",
            "ask for less at once; WITH and subqueries count as often as they are read",
        )
