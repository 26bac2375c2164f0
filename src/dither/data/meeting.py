"""Which side of a join within a person meets each row of the other at most once: then rows do not multiply."""

from __future__ import annotations

from collections.abc import Iterator

from dither.data.expressions import Call, Expression, Name, kind_of, names_in
from dither.data.relations import (
    Bounded,
    Filter,
    JoinPersons,
    JoinPublic,
    Keep,
    PerPerson,
    Project,
    Relation,
    Window,
    rows_per_person,
)


def meets_once(join: JoinPersons) -> tuple[bool, bool]:
    """Return, for the left and the right side, whether each row of the other side meets at most one row of it.

    That is so where the side has one row for each person and key, and the condition equates the whole key with what is
    on the other side, in one kind.
    """
    pairs: list[tuple[Name, Expression]] = []
    for one, other in equated(join.condition):
        pairs += [(mine, its) for mine, its in ((one, other), (other, one)) if isinstance(mine, Name)]
    left = frozenset(join.left.columns)
    right = frozenset(join.prefix + name for name in join.right.columns)

    def is_equated(prefix: str, side: Relation, beside: frozenset[str]) -> bool:
        met = {
            mine.name
            for mine, its in pairs
            # Two integers may equal one real, so that a key that is compared as a real is not one.
            if names_in(its) <= beside and kind_of(its, join.columns) is join.columns[mine.name]
        }
        return bool(met) and any(all(prefix + name in met for name in keys) for keys in unique_keys(side))

    return is_equated("", join.left, right), is_equated(join.prefix, join.right, left)


def equated(condition: Expression | None) -> Iterator[tuple[Expression, Expression]]:
    """Yield the pairs that are equal wherever a condition is true."""
    waiting = [] if condition is None else [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == "and":
            waiting += part.arguments
        elif isinstance(part, Call) and part.function == "equal":
            yield part.arguments[0], part.arguments[1]


def unique_keys(relation: Relation) -> Iterator[frozenset[str]]:
    """Yield columns of which a person has each combination once, by the form of the relation; NULL may repeat."""
    if isinstance(relation, PerPerson):
        yield frozenset(name for name, _ in relation.keys)
    elif isinstance(relation, JoinPersons):
        left_once, right_once = relation.once
        if right_once or rows_per_person(relation.right) == 1:
            yield from unique_keys(relation.left)
        is_single = rows_per_person(relation.left) == 1
        for keys in unique_keys(relation.right) if left_once or is_single else ():
            if keys or is_single or not relation.keep_unmatched:
                yield frozenset(relation.prefix + name for name in keys)
            else:
                # Rows that are kept without a match are NULL there, and the one row of the side is there once.
                yield from (frozenset([relation.prefix + name]) for name in relation.right.columns)
    elif isinstance(relation, Project):
        # A column that is shown twice goes by its first name, as it does among identifiers.
        names = {value.name: name for name, value in reversed(relation.outputs) if isinstance(value, Name)}
        yield from (
            frozenset(names[name] for name in keys) for keys in unique_keys(relation.relation) if keys <= names.keys()
        )
    elif isinstance(relation, JoinPublic) and (relation.most or 1) > 1:
        return  # a row may become several
    elif isinstance(relation, Filter | JoinPublic | Window | Keep | Bounded):
        yield from unique_keys(relation.relation)
        if isinstance(relation, Bounded) and rows_per_person(relation) == 1:
            yield frozenset()
        if isinstance(relation, Bounded) and relation.limits.rows_per_group == 1:
            own = frozenset(key.name for key in relation.keys if isinstance(key, Name))
            if len(own) == len(relation.keys):
                yield own
