"""Terms in an engine: a numeric column expressed as "young" or "old" while its rows stay where they are.

A linguistic variable gives every number the term that fits it best. Where which term wins is public, so it is written
down as ranges in advance and an engine looks a number up among them. Ranges begin where a search by halving finds the
winner to change, to the last bit of a double; between the 4,096 points that are looked at, a term that wins nowhere
else is not seen. Whatever the ranges are, they map each row by itself, so they cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dither.data import Call, Case, Column, DataSet, Expression, Kind, Literal, Name, Relation
from dither.data.expressions import Value, as_real
from dither.errors import InvalidParameter
from dither.lift.axes import Axis
from dither.lift.cells import Cells, source_of
from dither.publish.microdata.fuzzy import LinguisticVariable
from dither.publish.synthetic.columns import Coding, codings_of

#: Points of the range at which is looked who wins where.
_FINE: Final = 2**12
_HALVINGS: Final = 80

Terms = Mapping[str, Sequence[str] | LinguisticVariable]


def coded_cells(
    dataset: DataSet,
    table: str | Relation,
    columns: Sequence[str] | None = None,
    *,
    terms: Terms | None = None,
    bins: Mapping[str, Any] | None = None,
    other: Mapping[str, Value] | None = None,
) -> tuple[Cells, tuple[Coding, ...]]:
    """Return the rows of a table as codes, some columns as terms, and the meaning of the codes.

    Args:
        dataset: the schema.
        table: the name of a private table, or its rows, filtered.
        columns: which columns; None for all except the privacy id.
        terms: for numeric columns, labels that are spread evenly over the declared bounds, or a linguistic variable.
        bins: see ``codings_of``.
        other: see ``codings_of``.

    """
    cells, codings = codings_of(dataset, table, columns, bins=bins, other=other)
    _, declared = source_of(dataset, table)
    if unknown := [name for name in terms or {} if name not in cells.names]:
        raise InvalidParameter("terms", unknown, f"for columns of the table: {', '.join(cells.names)}")
    axes, kept = list(cells.axes), list(codings)
    for place, name in enumerate(cells.names):
        if name in (terms or {}):
            if name in (bins or {}):
                raise InvalidParameter("terms", name, "set without bins: a column is published in one way")
            axes[place], kept[place] = _told(declared(name), (terms or {})[name])
    return Cells(cells.dataset, cells.relation, tuple(axes)), tuple(kept)


def variable_of(column: Column, terms: Sequence[str] | LinguisticVariable) -> LinguisticVariable:
    """Return the linguistic variable of a declared column."""
    if isinstance(terms, LinguisticVariable):
        return terms
    if column.lower is None or not column.kind.is_number:
        raise InvalidParameter(f"terms of {column.name}", column.kind.value, "for a column of numbers with bounds")
    return LinguisticVariable.evenly(column.name, as_real(column.lower), as_real(column.upper), list(terms))


def ranges_of(variable: LinguisticVariable) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the ranges' inner edges, each part of the range above it, and the winning term of each range.

    >>> ranges_of(LinguisticVariable.evenly("age", 0, 100, ["young", "middle", "old"]))
    ((25.000000000000004, 75.00000000000001), (0, 1, 2))
    """
    points = variable.lower + (variable.upper - variable.lower) * np.arange(_FINE + 1) / _FINE
    winners = variable.codes(points)
    ends, terms = [], [int(winners[0])]
    for place in np.flatnonzero(winners[1:] != winners[:-1]).tolist():
        low, high, before = float(points[place]), float(points[place + 1]), int(winners[place])
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2
            if not low < middle < high:
                break
            low, high = (middle, high) if int(variable.codes([middle])[0]) == before else (low, middle)
        ends.append(high)
        terms.append(int(winners[place + 1]))
    return tuple(ends), tuple(terms)


def _told(column: Column, terms: Sequence[str] | LinguisticVariable) -> tuple[Axis, Coding]:
    variable = variable_of(column, terms)
    ends, winners = ranges_of(variable)
    labels: tuple[Value, ...] = tuple(label for label, _ in variable.terms)
    missing: Expression = Literal(None, Kind.INTEGER)
    if column.nullable:
        missing, labels = Literal(len(labels), Kind.INTEGER), (*labels, None)
    inside = _searched(Name(column.name), ends, winners)
    value = Case(((Call("is_null", (Name(column.name),)), missing),), inside)
    axis = Axis(column.name, value, tuple(range(len(labels))), None, is_numbered=True, is_ordered=False)
    return axis, Coding(column.name, Kind.TEXT, labels, None, nullable=False)


def _searched(value: Expression, ends: Sequence[float], winners: Sequence[int]) -> Expression:
    """Return the term that wins at a value, by bisection."""
    if not ends:
        return Literal(winners[0], Kind.INTEGER)
    middle = len(ends) // 2
    below = Call("less", (value, Literal(ends[middle], Kind.REAL)))
    return Case(
        ((below, _searched(value, ends[:middle], winners[: middle + 1])),),
        _searched(value, ends[middle + 1 :], winners[middle + 1 :]),
    )
