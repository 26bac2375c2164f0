"""Bounds of what is made of one person's rows: totals, counts, means, lengths of texts.

A data set says how many rows of one person count. So the sum of 5 rows of 0 to 100 is taken to be 0 to 500: whoever has
more counts as 500, as with every value outside of its range. That is a choice of a clamp and not a fact about the data,
so it holds only where values are clamped (``clamping``): a condition or a group is never decided by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

from dither.data import (
    Call,
    Case,
    Cast,
    Column,
    CountOf,
    CountRows,
    DataSet,
    Expression,
    Filter,
    Grid,
    JoinPersons,
    JoinPublic,
    Kind,
    Largest,
    Literal,
    Measure,
    Name,
    PerPerson,
    Project,
    Relation,
    Scan,
    Smallest,
    Sum,
    UnionAll,
    Window,
)
from dither.data.expressions import names_in
from dither.data.lengths import LONGEST_TEXT, extent
from dither.data.relations import rows_per_person
from dither.publish.queries.work import once, step

Interval = tuple[Fraction | float, Fraction | float]
Find = Callable[[Expression], Interval | None]
FindBelow = Callable[[Expression, Relation], Interval | None]

_declared: ContextVar[int | None] = ContextVar("rows", default=None)
_applied: ContextVar[bool] = ContextVar("applied", default=False)


@contextmanager
def limited_to(dataset: DataSet) -> Iterator[None]:
    """Make known how many rows of a person of this data set count, to whoever chooses a clamp below."""
    rows = dataset.rows
    if rows is None and dataset.groups is not None and dataset.rows_per_group is not None:
        rows = dataset.groups * dataset.rows_per_group
    token = _declared.set(rows if dataset.protects_persons else None)
    try:
        yield
    finally:
        _declared.reset(token)


@contextmanager
def clamping() -> Iterator[None]:
    """Let bounds rest on the declared number of rows, because what lies outside of them will be clamped."""
    token = _applied.set(True)
    try:
        yield
    finally:
        _applied.reset(token)


def is_clamping() -> bool:
    """Whether bounds are those of a clamp."""
    return _applied.get()


def most_rows(relation: Relation) -> int | None:
    """Return how many rows of one person count in a relation: by its form, or as declared where values are clamped."""
    known = rows_per_person(relation) if relation.has_persons else None
    return known if known is not None or not _applied.get() else _declared.get()


def of_count(least: int, relation: Relation, most: int | None = None) -> Interval:
    """Return the bounds of a number of rows, of which there are at most ``most`` if it is given."""
    rows = _fewer(most_rows(relation), most)
    return Fraction(least), math.inf if rows is None else Fraction(max(rows, least))


def of_sum(value: Interval | None, relation: Relation, most: int | None = None) -> Interval:
    """Return the bounds of a sum over one person's rows, of which there may be none, and at most ``most``."""
    low, high = (Fraction(0), Fraction(0)) if value is None else value
    rows = _fewer(most_rows(relation), most)
    ends = (-math.inf if rows is None else rows * low), (math.inf if rows is None else rows * high)
    return (Fraction(0) if low >= 0 else ends[0]), (Fraction(0) if high <= 0 else ends[1])


def _fewer(one: int | None, other: int | None) -> int | None:
    return min((size for size in (one, other) if size is not None), default=None)


def of_ratio(
    expression: Call, relation: Relation, find: Callable[[Expression, Relation], Interval | None]
) -> Interval | None:
    """Return the bounds of a person's mean or share: a sum over the number of its values, or a count over all rows.

    They are those of the values themselves; None if the quotient is not of that form.
    """
    dividend, divisor = _scaled(expression.arguments[0]), expression.arguments[1]
    if dividend is None or not isinstance(divisor, Name):
        return None
    grouping = _grouping(relation) or _same_rows(relation, dividend[0], divisor.name)
    if grouping is None:
        return None
    measures = dict(grouping.measures)
    above, below = measures.get(dividend[0]), measures.get(divisor.name)
    factor = dividend[1]
    if isinstance(above, CountOf) and isinstance(below, CountRows):
        found: Interval | None = (Fraction(0), Fraction(1))
    elif isinstance(above, Sum) and (isinstance(below, CountRows) or _is_number_of(below, above.value)):
        found = find(above.value, grouping.relation)
        if found is not None and isinstance(below, CountRows):
            found = min(found[0], Fraction(0)), max(found[1], Fraction(0))
    else:
        return None
    if found is None:
        return None
    ends = [Fraction(0) if end == 0 else end * factor for end in found]
    return min(ends), max(ends)


def is_range(expression: Call, relation: Relation) -> bool:
    """Return whether a difference is a person's largest value less the smallest, which is not negative."""
    grouping, names = _grouping(relation), expression.arguments
    if grouping is None or not all(isinstance(name, Name) for name in names):
        return False
    measures = dict(grouping.measures)
    high, low = (measures.get(name.name) if isinstance(name, Name) else None for name in names)
    if expression.function == "days_between":
        high, low = low, high
    return isinstance(high, Largest) and isinstance(low, Smallest) and high.value == low.value


def of_length(text: Expression, relation: Relation) -> Interval:
    """Return the bounds of a text's length: no more of a column is read than it declares."""
    if not _applied.get():
        return Fraction(0), math.inf
    return Fraction(0), Fraction(_longest_made(text, relation))


def missing(expression: Expression, relation: Relation, find: Find) -> str | None:
    """Return the column whose bounds are not known and would bound an expression; None for a text, which has none."""
    for child in expression.children():
        below = missing(child, relation, find)
        if below is not None:
            return below
    found = find(expression)
    is_known = found is None or (math.isfinite(found[0]) and math.isfinite(found[1]))
    if is_known or isinstance(expression, Literal):
        return None
    is_ordered = isinstance(expression, Name) and relation.columns[expression.name] not in (Kind.TEXT, Kind.BOOLEAN)
    return expression.name if isinstance(expression, Name) and is_ordered else None


def _grouping(relation: Relation) -> PerPerson | None:
    """Return the totals of people that a relation is, rows of which may have been left out."""
    while isinstance(relation, Filter):
        relation = relation.relation
    return relation if isinstance(relation, PerPerson) else None


def _same_rows(relation: Relation, total: str, number: str) -> PerPerson | None:
    """Return a sum and a count over the same rows of a window, as measures of these rows; None if they are not that."""
    found: dict[str, tuple[Window, int]] = {}
    conditions = 0
    while isinstance(relation, Filter | Window):
        if isinstance(relation, Window):
            found.setdefault(relation.name, (relation, conditions))
        else:
            conditions += 1
        relation = relation.relation
    if total not in found or number not in found:
        return None
    (above, conditions), (below, others) = found[total], found[number]
    if conditions != others:
        return None  # rows that one of them reads were left out before the other
    if (above.function, below.function) != ("sum", "count"):
        return None
    if _rows_of(above) != _rows_of(below) or above.value is None or below.value is None:
        return None
    return PerPerson(above.relation, (), ((total, Sum(above.value)), (number, CountOf(below.value))))


def _rows_of(window: Window) -> tuple[object, ...]:
    return window.partition, window.order, window.running, window.frame


def _scaled(expression: Expression) -> tuple[str, Fraction] | None:
    """Return a measure's name, and the positive number by which it is multiplied; NULL where there is nothing."""
    if isinstance(expression, Name):
        return expression.name, Fraction(1)
    if isinstance(expression, Cast) and expression.kind is Kind.REAL:
        return _scaled(expression.value)
    if isinstance(expression, Case) and all(
        value == Literal(None, Kind.REAL) or value == Literal(None, Kind.INTEGER) for _, value in expression.branches
    ):
        return _scaled(expression.otherwise)
    if isinstance(expression, Call) and expression.function == "multiply":
        for one, other in (expression.arguments, expression.arguments[::-1]):
            if isinstance(other, Literal) and isinstance(other.value, int | float) and other.value > 0:
                found = _scaled(one)
                return None if found is None else (found[0], found[1] * Fraction(other.value))
    return None


def _is_number_of(measure: Measure | None, value: Expression) -> bool:
    """Return whether a measure counts the rows that a sum adds up."""
    if not isinstance(measure, CountOf):
        return False
    inner = value.value if isinstance(value, Grid) else value
    counted = measure.value
    return counted in (inner, value) or (isinstance(counted, Case) and _is_clamped(counted, inner))


def _is_clamped(case: Case, value: Expression) -> bool:
    """Return whether a CASE is NULL exactly where a value is: the value, or an end in place of what lies beyond it."""
    return case.otherwise == value and all(
        isinstance(end, Literal)
        and end.value is not None
        and condition in (Call("less", (value, end)), Call("more", (value, end)))
        for condition, end in case.branches
    )


def _longest(name: str, relation: Relation) -> int:
    """Return the largest number of characters of a text column: as declared, or of what it is made by."""
    return once("length", name, relation, lambda: min(_longest_anew(name, relation), LONGEST_TEXT))


def _longest_anew(name: str, relation: Relation) -> int:
    step()
    if isinstance(relation, Scan):
        return _longest_declared(relation.table.column(name))
    if isinstance(relation, JoinPersons):
        on_left = name in relation.left.columns
        return _longest(
            name if on_left else name.removeprefix(relation.prefix), relation.left if on_left else relation.right
        )
    if isinstance(relation, UnionAll):
        other = list(relation.right.columns)[list(relation.left.columns).index(name)]
        return max(_longest(name, relation.left), _longest(other, relation.right))
    if isinstance(relation, JoinPublic) and name not in relation.relation.columns:
        return _longest_declared(relation.table.column(name.removeprefix(relation.prefix)))
    below: Relation = getattr(relation, "relation")  # noqa: B009 - all the others stand over one relation
    if isinstance(relation, Project):
        return _longest_made(dict(relation.outputs)[name], below)
    if isinstance(relation, PerPerson):
        made = dict(relation.keys).get(name)
        # Of measures only the smallest and the largest are texts.
        return _longest_made(dict(relation.measures)[name].value if made is None else made, below)  # type: ignore[attr-defined]
    if isinstance(relation, Window) and name == relation.name and relation.value is not None:
        return _longest_made(relation.value, below)
    return _longest(name, below)


def _longest_declared(column: Column) -> int:
    if column.categories is None:
        return column.longest
    return max((len(one) for one in column.categories if isinstance(one, str)), default=0)


def _longest_made(text: Expression, relation: Relation) -> int:
    columns = relation.columns
    lengths = {name: _longest(name, relation) for name in names_in(text) if columns[name] is Kind.TEXT}
    return extent(text, columns, lengths).longest
