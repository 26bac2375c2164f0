"""Contradictions between a request and the declarations: rejected before the charge, with suggestions.

Three things are certain from the schema alone, and would be paid for in vain:

- a constant that is compared with a column and is not among its declared categories (a slip of spelling, mostly);
- a condition that no row can meet, because it lies outside the declared bounds or contradicts itself;
- a group by a value that the column cannot have.

There is no way to insist on them: by declaration the answer is 0, which costs nothing to know. Rows whose values are
not as declared are the curator's to find; a text that is not declared can be looked for with LIKE, about which nothing
is declared. A condition that every row meets is harmless and is answered; the quote says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dither.data import (
    Call,
    Case,
    Column,
    CountOf,
    Expression,
    Filter,
    JoinPersons,
    JoinPublic,
    Kind,
    Largest,
    Literal,
    Name,
    OneOf,
    PerPerson,
    Project,
    Relation,
    Scan,
    Smallest,
    Sum,
    UnionAll,
    Window,
)
from dither.data.expressions import Value, as_stored, kind_of, names_in, walk
from dither.errors import Unanswerable
from dither.publish.queries.bounds import interval_of, intervals_when_true
from dither.publish.queries.interval_arithmetic import Interval
from dither.publish.queries.keys import public_values
from dither.publish.queries.product_groups import as_integers
from dither.publish.queries.query import Aggregate, Key
from dither.publish.queries.sql_text import in_sql, quoted
from dither.publish.queries.work import once, planning, step

_NEGATED: Final = {
    "equal": "unequal",
    "unequal": "equal",
    "less": "at_least",
    "at_most": "more",
    "more": "at_most",
    "at_least": "less",
}
#: Suggestions are sought among this many categories, and this many are listed.
_MOST_COMPARED, _MOST_LISTED = 2000, 8


def check_sense(relation: Relation, keys: Sequence[Key], aggregates: Sequence[Aggregate]) -> None:
    """Reject requests that contradict the declarations."""
    with planning():
        for below, expression in _expressions(relation):
            _check_constants(expression, below)
        for value in (*(key.value for key in keys), *(part for one in aggregates for part in one.arguments)):
            _check_constants(value, relation)
        for below, condition in _conditions(relation):
            check_can_hold(condition, below)
        for aggregate in aggregates:
            for condition in _filters(aggregate, relation):
                check_can_hold(condition, relation)
        for key in keys:
            _check_key(key, relation)


def check_sense_of_parts(relation: Relation, conditions: Iterable[Expression]) -> None:
    """Reject parts of the same rows that contradict the declarations, as ``check_sense`` does for each of them.

    What is the same for all parts is found once, so that the steps are as many as the parts and their values.

    Args:
        relation: the rows that are split.
        conditions: what the rows of each part meet.

    """
    with planning():
        for condition in conditions:
            _check_constants(condition, relation)
            check_can_hold(condition, relation)
        check_sense(relation, (), ())


def check_can_hold(condition: Expression, relation: Relation) -> None:
    """Reject a condition that no row of a relation meets."""
    if not can_be(condition, relation, True):
        # One part of it may be enough to say.
        alone = (part for part in _conjuncts(condition) if not can_be(part, relation, True))
        condition = next(alone, condition)
        why = "; ".join(_facts(condition, relation))
        raise Unanswerable(
            f"{said(condition, relation)} can never be true{': ' if why else ''}{why}",
            "no row would be counted: correct the condition, or remove it",
        )


def always_true(relation: Relation) -> Iterator[str]:
    """Yield, in words, the conditions that every row meets according to the declarations."""
    for below, condition in _conditions(relation):
        for part in _conjuncts(condition):
            if names_in(part) and not can_be(part, below, False):
                yield said(part, below)


def can_be(condition: Expression, relation: Relation, wanted: bool) -> bool:
    """Return whether a condition may be true (or false) in some row that fits the declarations; if in doubt, yes."""
    step()
    if isinstance(condition, Literal):
        return condition.value is wanted
    if isinstance(condition, OneOf):
        options = condition.options
        return not wanted or any(_may_compare("equal", condition.value, option, relation) for option in options)
    if not isinstance(condition, Call):
        return True
    function, parts = condition.function, condition.arguments
    if function == "not":
        return can_be(parts[0], relation, not wanted)
    if function in ("and", "or"):
        each = [can_be(part, relation, wanted) for part in parts]
        if (function == "or") == wanted:
            return any(each)
        return all(each) and (not wanted or not _contradicts(condition, relation))
    if function in _NEGATED:
        return _may_compare(function if wanted else _NEGATED[function], parts[0], parts[1], relation)
    return True


def said(condition: Expression, relation: Relation) -> str:
    """Return a condition on rows as people write it."""
    return in_sql(condition, lambda name: _called(name, relation))


def _called(name: str, relation: Relation) -> str:
    """Return what a query calls a column: without what tells the columns of joined tables apart here."""
    column = _declared(name, relation) if name in relation.columns else None
    if column is None or not name.endswith(column.name) or name == column.name:
        return name
    table = name.removesuffix(column.name).rstrip("_")
    return f"{table}.{column.name}" if table else column.name


def check_values(name: str, column: Column, values: Iterable[Value]) -> None:
    """Reject values that a column cannot have: not among its categories, or out of bounds."""
    known = None if column.categories is None else {as_stored(value, column.kind) for value in column.categories}
    listed = tuple(values)
    integers = as_integers(listed) if known is None and column.lower is not None and column.upper is not None else None
    if integers is not None:
        # Where the least and the largest lie within the bounds, so do all.
        step(len(listed) // 16)
        if column.lower <= int(integers.min()) and int(integers.max()) <= column.upper:  # type: ignore[operator]
            return
    for value in listed:
        step()
        if value is None:
            continue
        if known is not None and as_stored(value, column.kind) not in known:
            raise _unknown(name, column, value)
        if column.lower is not None and not column.lower <= value <= column.upper:  # type: ignore[operator]
            raise Unanswerable(
                f"{name} is never {quoted(value)}: it is declared to be between {quoted(column.lower)} and "
                f"{quoted(column.upper)}",
                "mend the value",
            )


# Constants beside columns that have categories.


def _check_constants(expression: Expression, relation: Relation) -> None:
    for part in walk(expression):
        step()
        if isinstance(part, OneOf) and isinstance(part.value, Name):
            _check_constant(part.value, part.options, relation)
        elif isinstance(part, Call) and part.function in ("equal", "unequal"):
            for column, other in (part.arguments, part.arguments[::-1]):
                if isinstance(column, Name) and isinstance(other, Literal):
                    _check_constant(column, (other,), relation)


def _check_constant(name: Name, literals: Sequence[Literal], relation: Relation) -> None:
    column = _declared(name.name, relation)
    if column is None or column.categories is None:
        return
    known = once("categories", name.name, column, lambda: _stored_categories(column))
    for literal in literals:
        if literal.value is not None and as_stored(literal.value, column.kind) not in known:
            raise _unknown(_called(name.name, relation), column, literal.value)


def _stored_categories(column: Column) -> frozenset[Value]:
    categories = column.categories or ()
    step(len(categories) // 16)
    return frozenset(as_stored(value, column.kind) for value in categories)


def _unknown(name: str, column: Column, value: Value) -> Unanswerable:
    categories = column.categories or ()
    near = _near(value, categories)
    hint = f"did you mean {quoted(near)}? " if near is not None else ""
    listed = ", ".join(map(quoted, categories[:_MOST_LISTED]))
    more = f" and {len(categories) - _MOST_LISTED} more" if len(categories) > _MOST_LISTED else ""
    return Unanswerable(
        f"{quoted(value)} is not a declared category of {name}, so that no row has it",
        f"{hint}{name} is one of {listed}{more}",
    )


def _near(value: Value, categories: Sequence[Value]) -> Value:
    texts: dict[str, Value] = {}
    for category in categories[:_MOST_COMPARED]:
        step()
        texts.setdefault(str(category).strip().lower(), category)
    wanted = str(value).strip().lower()[:200]
    if wanted in texts:
        return texts[wanted]
    found = difflib.get_close_matches(wanted, [text[:200] for text in texts], n=1)
    return texts.get(found[0]) if found else None


def declared_column(expression: Expression, relation: Relation) -> Column | None:
    """Return the declared column that an expression is, unchanged; None if it is computed."""
    return _declared(expression.name, relation) if isinstance(expression, Name) else None


def _declared(name: str, relation: Relation) -> Column | None:
    while True:
        step()
        if isinstance(relation, Scan):
            return relation.table.column(name)
        if isinstance(relation, JoinPersons):
            on_left = name in relation.left.columns
            name = name if on_left else name.removeprefix(relation.prefix)
            relation = relation.left if on_left else relation.right
            continue
        if isinstance(relation, UnionAll):
            return None
        if isinstance(relation, JoinPublic) and name not in relation.relation.columns:
            return relation.table.column(name.removeprefix(relation.prefix))
        if isinstance(relation, Window) and name == relation.name:
            return None
        if isinstance(relation, Project | PerPerson):
            made = dict(relation.outputs if isinstance(relation, Project) else relation.keys).get(name)
            if not isinstance(made, Name):
                return None
            name = made.name
        relation = getattr(relation, "relation")  # noqa: B009 - all of them stand over one relation


# Comparisons.


def _may_compare(function: str, left: Expression, right: Expression, relation: Relation) -> bool:
    one, other = interval_of(left, relation), interval_of(right, relation)
    if one is None or other is None:
        return False  # a side that is always NULL compares with nothing
    if function == "less":
        return one[0] < other[1]
    if function == "more":
        return other[0] < one[1]
    if function == "at_most":
        return one[0] <= other[1]
    if function == "at_least":
        return other[0] <= one[1]
    is_text = kind_of(left, relation.columns) is Kind.TEXT
    if function == "unequal":
        return is_text or not one[0] == one[1] == other[0] == other[1]
    if is_text and isinstance(right, Literal):
        values = _possible_texts(left, relation)
        return values is None or right.value in values
    return one[0] <= other[1] and other[0] <= one[1]


def _possible_texts(expression: Expression, relation: Relation) -> frozenset[Value] | None:
    """Return all texts that an expression may have, or None if they are not known."""

    def find() -> tuple[Relation, frozenset[Value] | None]:
        values = public_values(expression, relation)
        # With its relation, so that this is kept and its identity is nobody else's.
        return relation, None if values is None else frozenset(values)

    return once("texts", str(id(relation)), expression, find)[1]


def _contradicts(condition: Call, relation: Relation) -> bool:
    """Return whether parts of a conjunction leave no possible value for an expression they all constrain."""
    found: dict[Expression, Interval] = {}
    for part in condition.arguments:
        for expression, (low, high) in intervals_when_true(part).items():
            before = found.get(expression, (low, high))
            found[expression] = max(low, before[0]), min(high, before[1])
    if any(low > high for low, high in found.values()):
        return True
    texts = {name for name in names_in(condition) if relation.columns[name] is Kind.TEXT}
    rows = Filter(relation, condition)
    return any(public_values(Name(name), rows) == () for name in sorted(texts))


def _facts(condition: Expression, relation: Relation) -> Iterator[str]:
    """Yield what is known about a condition's columns, in words."""
    for name in sorted(names_in(condition))[:4]:
        column = _declared(name, relation)
        if column is not None and column.lower is not None:
            ends = f"{quoted(column.lower)} and {quoted(column.upper)}"
            yield f"{_called(name, relation)} is declared to be between {ends}"
        elif column is not None and column.categories is not None:
            yield f"{_called(name, relation)} is one of {', '.join(map(quoted, column.categories[:_MOST_LISTED]))}"


# Where expressions and conditions stand.


def _relations(relation: Relation) -> Iterator[Relation]:
    waiting = [relation]
    while waiting:
        step()
        one = waiting.pop()
        yield one
        if isinstance(one, JoinPersons | UnionAll):
            waiting += [one.left, one.right]
        elif not isinstance(one, Scan):
            waiting.append(getattr(one, "relation"))  # noqa: B009 - all the others stand over one relation


def _expressions(relation: Relation) -> Iterator[tuple[Relation, Expression]]:
    """Yield every expression of a relation with the rows it refers to."""
    for one in _relations(relation):
        if isinstance(one, Filter):
            yield one.relation, one.condition
        elif isinstance(one, JoinPersons | JoinPublic) and one.condition is not None:
            yield one, one.condition
        elif isinstance(one, Project):
            yield from ((one.relation, value) for _, value in one.outputs)
        elif isinstance(one, PerPerson):
            yield from ((one.relation, value) for _, value in one.keys)
            measures = (measure for _, measure in one.measures)
            values = (part.value for part in measures if isinstance(part, Sum | CountOf | Smallest | Largest))
            yield from ((one.relation, value) for value in values)
        elif isinstance(one, Window) and one.value is not None:
            yield one.relation, one.value


def _conditions(relation: Relation) -> Iterator[tuple[Relation, Expression]]:
    """Yield the conditions that rows must meet."""
    for one in _relations(relation):
        if isinstance(one, Filter):
            yield one.relation, one.condition
        elif isinstance(one, JoinPersons | JoinPublic) and one.condition is not None and not one.keep_unmatched:
            yield one, one.condition


def _filters(aggregate: Aggregate, relation: Relation) -> Iterator[Expression]:
    """Yield the conditions for rows to count in an aggregate: FILTER, or the only branch of a CASE without ELSE."""
    for argument in aggregate.arguments:
        if aggregate.function == "count_of" and kind_of(argument, relation.columns) is Kind.BOOLEAN:
            yield argument
        elif (
            isinstance(argument, Case)
            and len(argument.branches) == 1
            and argument.otherwise == Literal(None, kind_of(argument, relation.columns))
        ):
            yield argument.branches[0][0]


def _conjuncts(condition: Expression) -> tuple[Expression, ...]:
    is_and = isinstance(condition, Call) and condition.function == "and"
    return condition.children() if is_and else (condition,)


def _check_key(key: Key, relation: Relation) -> None:
    if key.values == ():
        raise Unanswerable(
            f"no group is left of {key.name}: no value of it meets the conditions", "mend the conditions"
        )
    column = declared_column(key.value, relation)
    if column is not None and key.values is not None:
        check_values(key.name, column, key.values)
