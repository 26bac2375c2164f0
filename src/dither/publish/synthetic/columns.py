"""Columns: encode declared columns as codes that a model can learn, and decode drawn codes.

A ``Coding`` numbers what a column may hold, by public facts alone: its declared categories, the cells of its declared
bounds, NULL if it is nullable, and one number for every other value if the request declares one. An engine turns rows
into codes; a drawn code becomes its value, or a value spread evenly over its cell.

Cells are fine and public. Which of them are told apart is for a method to decide, from counts that it has paid for.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Call, Case, Column, DataSet, Expression, Kind, Literal, Name, Relation
from dither.data.expressions import Value
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator
from dither.lift.attributes import Attributes
from dither.lift.axes import ENDS, Axis, axis_of, even_runs
from dither.lift.cells import Cells, source_of
from dither.lift.margins import number_of

#: Cells of a numeric column, unless told otherwise or there are fewer values.
USUAL_BINS: Final = 32
#: Cells of a column of integers or dates, for a method that merges those which its noise leaves nothing of.
FINE_BINS: Final = 256
_MOST_CODES: Final = 2**16
#: In wider ranges the numbers of cells could overflow in an engine.
_MOST_FINE: Final = 2**40


@dataclass(frozen=True)
class Coding:
    """How one column is encoded.

    Args:
        column: its name.
        kind: what its values are.
        labels: the values of single codes, in order, where cells are single values; None stands for NULL.
        edges: the ends of the cells, where they are ranges; the last cell holds both of its ends.
        nullable: for ranges, whether one more code stands for NULL.
        has_other: whether the last label stands for every value that is not a category.

    """

    column: str
    kind: Kind
    labels: tuple[Value, ...] | None
    edges: tuple[Value, ...] | None
    nullable: bool
    has_other: bool = False

    @property
    def size(self) -> int:
        """The number of codes."""
        if self.labels is not None:
            return len(self.labels)
        return len(self.edges or ()) - 1 + int(self.nullable)

    def values(self, codes: NDArray[np.int64], generator: Generator) -> NDArray[Any]:
        """Return a value for every code: its label, or one drawn evenly from its cell."""
        if self.labels is not None:
            return objects_of(self.labels)[codes]
        edges = self.edges or ()
        last = len(edges) - 2
        cells = np.minimum(codes, last)
        if self.kind is Kind.REAL:
            ends = np.array(edges, dtype=np.float64)
            # Between the ends by shares, so that no difference overflows.
            shares = generator.random(codes.size)
            drawn = np.clip(ends[cells] * (1 - shares) + ends[cells + 1] * shares, ends[cells], ends[cells + 1])
            found: NDArray[Any] = drawn.astype(object)
        else:
            # A cell includes its lower end but not its upper one, except for the last.
            numbers = np.array([number_of_value(edge) for edge in edges], dtype=np.int64)
            numbers[-1] += 1
            drawn = generator.integers(numbers[cells], numbers[cells + 1])
            found = drawn.astype(object)
            if self.kind is not Kind.INTEGER:
                found = objects_of([_value(number, self.kind) for number in drawn.tolist()])
        if self.nullable:
            found[codes > last] = None
        return found


def codings_of(
    dataset: DataSet,
    table: str | Relation,
    columns: Sequence[str] | None = None,
    *,
    bins: Mapping[str, Any] | None = None,
    other: Mapping[str, Value] | None = None,
    is_merged: bool = False,
) -> tuple[Cells, tuple[Coding, ...]]:
    """Return the rows of a table as codes, and the meaning of the codes.

    Args:
        dataset: the schema.
        table: the name of a private table, or its rows, filtered.
        columns: which columns; None for all except the privacy id.
        bins: for numeric columns a number of cells or their edges; otherwise each value is a code where there are
            few, and there are 32 cells of equal width where there are many.
        is_merged: whether the method merges cells that are too rare to tell from noise. Then up to 256 integers or
            dates are a code each; of more the least one, 0 and the two largest ones are cells by themselves, because
            there heaps are, and 256 cells of equal width hold the others.
        other: for columns with categories, the label of rows with another value. Without one such rows do not
            count, as in any other request.

    """
    relation, declared = source_of(dataset, table)
    names = _names(relation, dataset, columns)
    for parameter, given in (("bins", bins or {}), ("other", other or {})):
        if unknown := [name for name in given if name not in names]:
            raise InvalidParameter(parameter, unknown, f"for columns of the synthetic table: {', '.join(names)}")
    axes, codings = [], []
    for name in names:
        column = declared(name)
        wanted = (bins or {}).get(name)
        if len(column.categories or ()) > _MOST_CODES:
            rule = f"at most {_MOST_CODES}; declare fewer, and give `other` a label for the rest"
            raise InvalidParameter(f"categories of {name}", f"{len(column.categories or ())} values", rule)
        if isinstance(wanted, int) and wanted > _MOST_CODES:
            raise InvalidParameter(f"bins of {name}", wanted, f"at most {_MOST_CODES}")
        axis = fine_axis(column) if is_merged and wanted is None else None
        coding, value = _coded(column, wanted, relation, other or {}, axis)
        codings.append(coding)
        axes.append(_numbered(coding, value))
    return Cells(dataset, relation, tuple(axes)), tuple(codings)


def recoded(cells: Cells, axes: Mapping[str, Axis]) -> Cells:
    """Return rows as codes, some columns by other cells of theirs; NULL stays a code of its own.

    Args:
        cells: rows as codes.
        axes: the cells of columns of numbers or dates, by name.

    """
    declared = source_of(cells.dataset, cells.relation)[1]
    found = [
        _numbered(*_coded(declared(axis.name), None, cells.relation, {}, axes[axis.name]))
        if axis.name in axes
        else axis
        for axis in cells.axes
    ]
    return Cells(cells.dataset, cells.relation, tuple(found))


def _numbered(coding: Coding, value: Expression) -> Axis:
    return Axis(coding.column, value, tuple(range(coding.size)), None, is_numbered=True, is_ordered=False)


def cells_for(dataset: DataSet, table: str | Relation, codings: Sequence[Coding]) -> Cells:
    """Return rows as codes of existing codings."""
    bins: dict[str, Any] = {}
    declared = source_of(dataset, table)[1]
    for coding in codings:
        fine = fine_axis(declared(coding.column)) if coding.edges is not None else None
        if fine is not None and fine.edges == coding.edges:
            continue  # as ``codings_of`` makes them, in fewer steps than by a search for the edges
        if coding.edges is not None:
            bins[coding.column] = list(coding.edges)
        elif coding.kind not in (Kind.TEXT, Kind.BOOLEAN):
            values = [label for label in coding.labels or () if label is not None]
            if declared(coding.column).categories is None:
                bins[coding.column] = len(values)
    other = {coding.column: (coding.labels or (None,))[-1] for coding in codings if coding.has_other}
    names = [coding.column for coding in codings]
    found, again = codings_of(dataset, table, names, bins=bins, other=other, is_merged=True)
    if [coding.size for coding in again] != [coding.size for coding in codings]:
        raise InvalidParameter("synthetic", "a table of other codes", "made from the data set as it is declared now")
    return found


def attributes_of(codings: Sequence[Coding]) -> Attributes:
    """Return attribute names and numbers of codes, as a method takes them."""
    return Attributes(tuple(coding.column for coding in codings), tuple(coding.size for coding in codings))


def _names(relation: Relation, dataset: DataSet, columns: Sequence[str] | None) -> tuple[str, ...]:
    persons = dataset.identifying
    if columns is None:
        return tuple(name for name in relation.columns if name not in persons)
    names = tuple(columns)
    if isinstance(columns, str) or not names or len(set(names)) != len(names):
        raise InvalidParameter("columns", columns, "different names of columns, at least one")
    for name in names:
        if name in persons:
            raise InvalidParameter("columns", name, "without the privacy id: it says who a row is about")
    return names


def _coded(
    column: Column, bins: Any, relation: Relation, other: Mapping[str, Value], fine: Axis | None
) -> tuple[Coding, Expression]:
    """Return a column's coding, and a row's code as an expression; NULL if the row does not count."""
    is_listed = column.kind in (Kind.TEXT, Kind.BOOLEAN) or (bins is None and column.categories is not None)
    if is_listed:
        return _listed(column, bins, relation, other)
    if column.name in other:
        raise InvalidParameter("other", column.name, "for columns with categories: numbers are held within bounds")
    axis = fine or axis_of(column, _usual(column) if bins is None else bins, ENDS)
    cells = axis.size
    labels, edges = axis.labels, axis.edges
    value = axis.value
    if column.nullable:
        missing = Call("is_null", (Name(column.name),))
        value = Case(((missing, Literal(cells, Kind.INTEGER)),), value)
        labels = None if labels is None else (*labels, None)
    return Coding(column.name, column.kind, labels, edges, column.nullable and edges is not None), value


def _listed(column: Column, bins: Any, relation: Relation, other: Mapping[str, Value]) -> tuple[Coding, Expression]:
    axis = axis_of(column, bins, None)
    labels = axis.labels or ()
    value = number_of(axis, relation.columns)
    if column.name in other:
        label = other[column.name]
        Literal(label, column.kind)
        if label in labels or label is None:
            raise InvalidParameter("other", label, f"a label that is no declared value of {column.name}")
        labels = (*labels, label)
        missing = Call("and", (Call("is_null", (value,)), Call("not", (Call("is_null", (Name(column.name),)),))))
        value = Case(((missing, Literal(len(labels) - 1, Kind.INTEGER)),), value)
    return Coding(column.name, column.kind, labels, None, False, column.name in other), value


def _usual(column: Column) -> int | None:
    """Return the default number of cells of a numeric column; None for one cell per value."""
    if column.kind is Kind.REAL:
        return USUAL_BINS
    values = column.public_values
    count = len(values) - int(column.nullable) if values is not None else math.inf
    return None if count <= 2 * USUAL_BINS else USUAL_BINS


def fine_axis(column: Column) -> Axis | None:
    """Return many cells of a column of integers or dates; None for one that has the usual cells.

    The least value, 0 and the two largest ones are by themselves, because there heaps are; what lies between them has
    cells of equal width.
    """
    low, high = column.lower, column.upper
    if column.kind not in (Kind.INTEGER, Kind.DATE) or low is None or high is None or column.categories is not None:
        return None
    first, last = number_of_value(low), number_of_value(high)
    span = last - first + 1
    if span <= FINE_BINS:
        return axis_of(column, None, ENDS)
    if span > _MOST_FINE:
        return None
    is_around_0 = column.kind is Kind.INTEGER and 0 < -first < span - 3
    starts = sorted({0, 1, span - 2} | ({-first, 1 - first} if is_around_0 else set()))
    runs = []
    for start, stop in zip(starts, [*starts[1:], span], strict=True):
        many = stop - start
        runs.append((start, 1 if many <= 2 else max(1, min(many, FINE_BINS * many // span))))
    return even_runs(column, runs, ENDS)


def objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """Return values of any kind as one array."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def number_of_value(value: Value) -> int:
    """Return an integer, the number of a day, or the number of a microsecond."""
    if isinstance(value, datetime.datetime):
        return (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return value.toordinal()
    return int(value)  # type: ignore[arg-type]


def _value(number: int, kind: Kind) -> Value:
    if kind is Kind.TIMESTAMP:
        return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=number)
    return datetime.date.fromordinal(number) if kind is Kind.DATE else number


register_records(Coding)
