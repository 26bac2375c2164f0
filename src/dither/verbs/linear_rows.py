"""Queries as weights of cells: counts and sums with conditions over declared columns, by public facts alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import DataSet, Filter, Kind, Name, Relation
from dither.data.evaluation import evaluator
from dither.data.expressions import names_in
from dither.data.owners import table_of
from dither.data.policies import public_cells
from dither.data.schema import Table
from dither.errors import InvalidParameter
from dither.exact import exact
from dither.lift.verb import LOSSES, Verb
from dither.privacy import ROW
from dither.publish.queries import Query
from dither.publish.queries.query import Aggregate

#: Entries of a query.
LARGEST_ENTRY: Final = 2**32
KINDS_OF_CELLS: Final = {Kind.TEXT: "text", Kind.INTEGER: "integer", Kind.DATE: "date", Kind.BOOLEAN: "boolean"}
_TERMS: Final = (*LOSSES, "key", "confidence")
Weights = NDArray[np.int64]
Mask = NDArray[np.bool_]


class LinearRows:
    """Counts and sums over the cells of some columns, group by group.

    Args:
        table: the only table that may be asked about.
        columns: the columns that may be asked about.
        why: completes a refusal.

    """

    def __init__(self, table: Table, columns: Sequence[str], why: str) -> None:
        self.table, self.columns, self.why = table, tuple(columns), why
        self.labels = [public_cells(table.column(name)) or () for name in self.columns]

    def of(self, query: Query) -> list[list[Weights]]:
        """Return the weights of the cells for each group, aggregate by aggregate.

        Args:
            query: one SELECT about the table.

        """
        if query.having is not None or query.order or query.limit is not None:
            raise self.refused("HAVING, ORDER BY or LIMIT")
        outputs = [(one.name, Name(one.name)) for one in query.keys]
        outputs += [(one.name, Name(one.name)) for one in query.aggregates]
        if list(query.outputs) != outputs:
            raise self.refused("computed columns, or groups behind aggregates")
        for key in query.keys:
            if not isinstance(key.value, Name) or key.value.name not in self.columns:
                raise self.refused(f"groups of {key.name}")
        relation, counted = query.relation, np.ones(math.prod(map(len, self.labels)), dtype=np.bool_)
        while isinstance(relation, Filter):
            counted &= self._holds(relation.condition, relation.relation)
            relation = relation.relation
        found = table_of(relation)
        if found is None or found.name != self.table.name:
            raise self.refused("other rows, a join or a subquery")
        measures = [self.weights(aggregate) for aggregate in query.aggregates]
        return [
            [np.where(counted & group, weights, 0).astype(np.int64) for measure in measures for weights in measure]
            for group in self._groups(key_columns(query))
        ]

    def _groups(self, names: Sequence[str]) -> Iterator[Mask]:
        places = [self.columns.index(name) for name in names]
        for group in itertools.product(*(range(len(self.labels[place])) for place in places)):
            mask = np.ones(math.prod(map(len, self.labels)), dtype=np.bool_)
            for place, number in zip(places, group, strict=True):
                mask &= self._numbers(place) == number
            yield mask

    def _numbers(self, place: int) -> Weights:
        """Return which value of a column each cell has, by its number."""
        numbers = np.indices([len(labels) for labels in self.labels])[place].reshape(-1)
        return np.asarray(numbers, dtype=np.int64)

    def weights(self, aggregate: Aggregate) -> list[Weights]:
        """Return what a row in each cell adds to an aggregate.

        Args:
            aggregate: a count or a sum.

        """
        if aggregate.function == "count":
            return [np.ones(math.prod(map(len, self.labels)), dtype=np.int64)]
        if aggregate.function != "sum":
            raise self.refused(aggregate.function.upper())
        return [self.values(aggregate)]

    def values(self, aggregate: Aggregate) -> Weights:
        """Return the integer that an aggregate adds up, for each cell.

        Args:
            aggregate: of one column.

        """
        [argument] = aggregate.arguments
        if not isinstance(argument, Name):
            raise self.refused(f"the {aggregate.function} of an expression")
        if argument.name not in self.columns or self.table.column(argument.name).kind is not Kind.INTEGER:
            raise self.refused(f"the {aggregate.function} of {argument.name}")
        place = self.columns.index(argument.name)
        low, high = aggregate.bounds[0] if aggregate.bounds else (-math.inf, math.inf)
        values: list[Any] = [max(low, min(high, value)) for value in self.labels[place]]  # type: ignore[type-var]
        if any(Fraction(value).denominator != 1 or abs(value) > LARGEST_ENTRY for value in values):
            raise self.refused(f"the {aggregate.function} of {argument.name} within bounds that are no integers")
        return np.array([int(value) for value in values], dtype=np.int64)[self._numbers(place)]

    def _holds(self, condition: Any, relation: Relation) -> Mask:
        """Return the cells in which a condition is true, by its meaning for rows."""
        other = names_in(condition) - set(self.columns)
        if other:
            raise self.refused(f"a condition on {', '.join(sorted(other))}")
        compute = evaluator(condition, relation.columns)
        rows = itertools.product(*self.labels)
        return np.array([compute(dict(zip(self.columns, row, strict=True))) is True for row in rows], dtype=np.bool_)

    def refused(self, what: str) -> InvalidParameter:
        """Return the refusal of something else.

        Args:
            what: was asked.

        """
        return InvalidParameter("query", what, self.why)


def key_columns(query: Query) -> list[str]:
    """Return the columns by which a query groups.

    Args:
        query: with plain columns as keys.

    """
    return [key.value.name for key in query.keys if isinstance(key.value, Name)]


def is_default(verb: Verb[..., Any], name: str, value: Any) -> bool:
    """Whether an argument says what it says where it is omitted, as a command passes all of its options.

    Args:
        verb: which has it.
        name: of the argument.
        value: what it is.

    """
    known = verb.argument(name)
    if value is None or known is None or name in _TERMS:
        return value is None
    default = known.default
    is_number = isinstance(default, int | Fraction) and not isinstance(default, bool)
    return bool(exact(name, value) == default) if is_number else bool(value == default)


def twin_of(dataset: DataSet) -> DataSet:
    """Return the same tables with rows as the unit, in which a query is read; it is never released from them.

    Args:
        dataset: the schema, whose unit is that of a kind of data.

    """
    plain = tuple(replace(table, declared=()) for table in dataset.tables)
    return replace(dataset, tables=plain, unit=ROW)
