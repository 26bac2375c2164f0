"""Counts by class in an engine: the statement that counts them, and what its answer says.

One statement counts all categories of all columns, so that a model of any number of rows needs no row in Python. It is
used only where a comparison of the engine means what reading the cell means: where labels are of their column's kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from dither.data import (
    Aggregated,
    Aggregation,
    Bounded,
    Call,
    Case,
    CountOf,
    CountRows,
    Expression,
    Kind,
    Literal,
    Name,
)
from dither.data.column_values import integer_column
from dither.data.expressions import LARGEST_INTEGER, Value
from dither.data.returned import key_columns, padded, saturated
from dither.errors import InvalidParameter
from dither.mechanisms.core.class_counts import ClassCounts, OfClassCounts

if TYPE_CHECKING:
    from dither.lift.rows import Rows

#: More comparisons for each row take longer than reading the rows.
_MOST_COUNTS: Final = 512
#: Below this, numbers and the doubles next to them compare alike.
_LARGEST_DOUBLE: Final = 2**52
_TYPES: Final = {Kind.BOOLEAN: (bool,), Kind.INTEGER: (int,), Kind.TEXT: (str,), Kind.REAL: (int, float)}


def asked_of(rows: Rows, method: OfClassCounts) -> Aggregation | None:
    """Return the statement that counts classes and categories; None where rows must be read for that.

    Args:
        rows: the declared rows.
        method: the learner.

    """
    kinds = rows.relation.columns
    if rows.label is None or rows.classes is None or len(rows.classes) > method.classes:
        return None
    if sum(method.sizes) > _MOST_COUNTS or len(method.sizes) != len(rows.columns):
        return None
    classes = _tests(Name(rows.label), kinds[rows.label], rows.classes)
    if classes is None:
        return None
    counted: list[Expression] = []
    for name, labels, size in zip(rows.columns, rows.labels_of_columns, method.sizes, strict=True):
        tests = _tests_of(rows, name, labels, size)
        if tests is None or len(tests) != size:
            return None
        counted += tests
    relation = rows.relation
    if rows.dataset.protects_persons:
        relation = Bounded(relation, (), rows.limits, rows.names)
    branches = tuple((test, Literal(place, Kind.INTEGER)) for place, test in enumerate(classes))
    key = Case(branches, Literal(None, Kind.INTEGER))
    return Aggregation(relation, (key,), (CountRows(), *map(CountOf, counted)))


def counts_in(answer: Aggregated, method: OfClassCounts) -> ClassCounts:
    """Return the counts of an answer; what is not a class of this learner is as if not there.

    Args:
        answer: what an engine returned for ``asked_of``.
        method: the learner.

    """
    width = 1 + sum(method.sizes)
    table = np.zeros((method.classes, width), dtype=np.int64)
    [keys], length = key_columns(answer.keys, 1)
    if length != len(answer.keys):
        # An odd key: the measures are no longer beside their keys.
        return ClassCounts(table)
    places = integer_column(keys, length, method.classes)
    for place, numbers in zip(places.tolist(), answer.measures, strict=False):
        if place >= 0:
            table[place] += [
                max(saturated(number), 0) for number, _ in zip(padded(numbers), range(width), strict=False)
            ]
    return ClassCounts(table)


def _tests_of(rows: Rows, name: str, labels: Sequence[Value] | None, size: int) -> list[Expression] | None:
    """Return when a cell is each of the categories 0, 1, ... of its column, as the numbers of a row say it."""
    cell, kind = Name(name), rows.relation.columns[name]
    if labels is not None:
        return _tests(cell, kind, labels) if rows.as_codes and len(labels) == size else None
    if rows.threshold is None:
        if kind is Kind.BOOLEAN:
            return [_is_false(cell), cell] if size == 2 else None
        return _tests(cell, kind, range(size))
    if size != 2:
        return None
    if kind is Kind.BOOLEAN:
        return [_is_false(cell), cell] if 0 <= rows.threshold < 1 else None
    if abs(rows.threshold) >= _LARGEST_DOUBLE:
        return None
    limit = Literal(float(rows.threshold), Kind.REAL)
    return [Call("at_most", (cell, limit)), Call("more", (cell, limit))]


def _is_false(cell: Expression) -> Expression:
    return Call("not", (cell,))


def _tests(cell: Expression, kind: Kind, labels: Sequence[Value]) -> list[Expression] | None:
    """Return when a cell equals each label; None where an engine may see that otherwise than ``codes_of``."""
    tests = list(_comparisons(cell, kind, labels))
    # Two labels that are one value have the place of the last.
    return tests if len(tests) == len(labels) == len(set(labels)) else None


def _comparisons(cell: Expression, kind: Kind, labels: Sequence[Value]) -> Iterator[Expression]:
    for label in labels:
        if type(label) not in _TYPES.get(kind, ()):
            return
        if isinstance(label, int | float) and not isinstance(label, bool) and abs(label) > LARGEST_INTEGER:
            return
        if kind is Kind.REAL and isinstance(label, int) and float(label) != label:
            return
        if kind is Kind.BOOLEAN:
            yield cell if label else _is_false(cell)
            continue
        try:
            yield Call("equal", (cell, Literal(float(label) if kind is Kind.REAL else label, kind)))  # type: ignore[arg-type]
        except InvalidParameter:
            return
