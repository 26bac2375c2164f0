"""Which rows are in none of the public groups: said from the schema and the query alone, whatever the rows hold."""

from __future__ import annotations

from collections.abc import Iterator

from dither.data import Call, Expression, Filter, Kind, Relation
from dither.data.evaluation import evaluate
from dither.data.expressions import names_in
from dither.publish.queries.contradictions import declared_column
from dither.publish.queries.query import Key, Query

_MOST_NAMED = 3


def outside_groups(query: Query) -> str | None:
    """Return what is said of rows that belong to no group; None where every row belongs to one, or is left out anyway.

    A group is public where the schema declares its values. A row with another one, or with NULL in a column that is not
    declared to have it, is then in no group.
    """
    kinds = query.relation.columns
    found: dict[str, list[str]] = {}
    for key in query.keys:
        if key.values is None or not names_in(key.value):
            continue
        nothing = dict.fromkeys(names_in(key.value))
        without = [] if _left_out(key, query.relation) else ["NULL"]
        if evaluate(key.value, nothing, kinds) in key.values:
            without = []
        column = declared_column(key.value, query.relation)
        if column is not None and column.kind is not Kind.BOOLEAN and not _narrowed(key, query.relation):
            without.append("a value that is not declared")
        said = " or ".join(without)
        if said:
            found.setdefault(said, []).append(key.name)
    texts = [f"{said} in {_listed(names)}" for said, names in found.items()]
    return f"rows with {', and those with '.join(texts)} are in no group" if texts else None


def _listed(names: list[str]) -> str:
    shown = names if len(names) <= _MOST_NAMED else [*names[:_MOST_NAMED], "others"]
    return " or ".join(shown)


def _left_out(key: Key, relation: Relation) -> bool:
    """Return whether a condition of the query leaves out rows in which what the key is made of is NULL."""
    nothing, kinds = dict.fromkeys(names_in(key.value)), relation.columns
    return any(
        names_in(part) and names_in(part) <= nothing.keys() and evaluate(part, nothing, kinds) is not True
        for part in _conditions(relation)
    )


def _narrowed(key: Key, relation: Relation) -> bool:
    """Return whether a condition of the query says which values of the key are asked for."""
    return any(names_in(part) and names_in(part) <= names_in(key.value) for part in _conditions(relation))


def _conditions(relation: Relation) -> Iterator[Expression]:
    """Yield the parts of the conditions that stand directly above a query's rows."""
    while isinstance(relation, Filter):
        stack = [relation.condition]
        while stack:
            part = stack.pop()
            if isinstance(part, Call) and part.function == "and":
                stack += part.arguments
            else:
                yield part
        relation = relation.relation
