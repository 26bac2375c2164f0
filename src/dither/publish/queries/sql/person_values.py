"""COUNT(DISTINCT x) beside other totals of a person: rows that are the first with their value are counted.

The first row is found by a window within the person, the group and the value. Which of several equal rows it is does
not matter, since only their number counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dither.data import Call, Expression, Kind, Literal, Name, Relation, Window
from dither.publish.queries.assemble import conjunction, free_name, only_where
from dither.publish.queries.sql.aggregates import Asked


def value_of(asked: Asked, relation: Relation) -> Expression:
    """Return the values whose number is asked for: NULL where the condition does not hold."""
    value = asked.distinct or Literal(None, Kind.TEXT)
    return value if asked.where is None else only_where(asked.where, value, relation.columns)


def with_first_rows(
    relation: Relation, keys: Sequence[tuple[str, Expression]], values: Sequence[Expression]
) -> tuple[Relation, Mapping[Expression, Expression]]:
    """Return the rows with a number among those of equal value, and for each value the condition that it counts."""
    found: dict[Expression, Expression] = {}
    for value in values:
        if value in found:
            continue
        name = free_name("equal_value", relation.columns)
        partition = (*(key for _, key in keys), value)
        relation = Window(relation, name, "row_number", None, partition, ((value, False),))
        known = Call("not", (Call("is_null", (value,)),))
        found[value] = conjunction((known, Call("equal", (Name(name), Literal(1, Kind.INTEGER)))))
    return relation, found
