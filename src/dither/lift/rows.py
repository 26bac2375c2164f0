"""Rows: private rows as numbers, with a class or a number to predict, to which learners are lifted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Aggregation, Bounded, CountRows, DataSet, Kind, Limits, Name, Relation, Scan
from dither.data.cell_values import codes_of, is_label, number_of
from dither.data.contribution import Contribution, contribution, effective_limits, within_structure
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value
from dither.data.joins import check_relation
from dither.data.returned import first_number
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.source import Source
from dither.privacy import ROW, ROW_REPLACED, Distance

#: Kinds of columns that are numbers, or true (1) and false (0).
NUMBERS = (Kind.BOOLEAN, Kind.INTEGER, Kind.REAL)


@dataclass(frozen=True)
@typed
class Rows(Source[NDArray[np.float64]]):
    """A row of numbers for each counted private row: its columns, then its label.

    What is not a number is NaN. The limits say how many rows of each person count.

    Args:
        dataset: the schema, with the unit and the limits.
        relation: the private rows.
        columns: the columns of numbers, in this order.
        label: the column to predict, which comes last; None for none.
        classes: the declared labels, whose places stand for them, -1 for any other; if None, the label is a number.
        threshold: a number in a column is read as 1 above it and as 0 otherwise; None reads it unchanged.

    """

    dataset: DataSet
    relation: Relation
    columns: tuple[str, ...]
    label: str | None = None
    classes: tuple[Value, ...] | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        check_relation(self.relation, self.dataset)
        kinds, persons = self.relation.columns, {table.person for table in self.dataset.tables}
        if not self.columns or len(set(self.names)) != len(self.names):
            raise InvalidParameter("columns", self.columns, "different columns, at least one, without the label")
        for name in self.names:
            if name not in kinds or name in persons:
                raise InvalidParameter("columns", name, "columns of the rows, and not the privacy id")
            if kinds[name] not in NUMBERS and (name != self.label or self.classes is None):
                raise InvalidParameter("columns", name, "columns of numbers, or true and false")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InvalidParameter("threshold", self.threshold, "a finite number")
        if self.classes is not None and (self.label is None or not all(map(is_label, self.classes))):
            raise InvalidParameter("classes", self.classes, "labels, and only where there is a column of them")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, the label last."""
        return self.columns if self.label is None else (*self.columns, self.label)

    @cached_property
    def limits(self) -> Limits:
        """How much of one person counts."""
        return effective_limits(self.dataset, within_structure(Limits(), self.relation))

    @cached_property
    def contribution(self) -> Contribution:
        """How much of one unit counts."""
        return contribution(self.dataset, self.limits, 1)

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: how often each counted row occurs."""
        relation = self.relation
        if self.dataset.protects_persons:
            relation = Bounded(relation, (), self.limits, self.names)
        return Aggregation(relation, tuple(map(Name, self.names)), (CountRows(),))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts equal rows."""
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.float64]:
        """Return the counted rows, each as often as it occurs."""
        return self.filled(engine.aggregate(self.asked))

    def filled(self, answer: Aggregated) -> NDArray[np.float64]:
        """Return the rows of an answer; anything that is not a row of this width is ignored."""
        width = len(self.columns)
        # Built here and not kept: dictionaries of labels belong to no record.
        code = None if self.classes is None else codes_of(self.classes)
        rows, counts = [], []
        for key, numbers in zip(answer.keys, answer.measures, strict=False):
            if not isinstance(key, tuple | list) or len(key) != len(self.names):
                continue
            row = [_number(cell) for cell in key[:width]]
            if self.label is not None:
                row.append(_number(key[width]) if code is None else code(key[width]))
            rows.append(row)
            counts.append(max(first_number(numbers), 0))
        found = np.array(rows, dtype=np.float64).reshape(-1, len(self.names))
        if self.threshold is not None:
            values = found[:, :width]
            with np.errstate(all="ignore"):
                found[:, :width] = np.where(np.isnan(values), np.nan, values > float(self.threshold))
        return np.repeat(found, np.array(counts, dtype=np.int64), axis=0)

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many rows one unit adds and removes together; or replaces, if their number never changes.

        It does not where every row of a table counts whatever it holds, and units are its rows.
        """
        found: dict[Distance, Fraction] = {ROW: Fraction(self.contribution.total * self.contribution.touched)}
        if self.dataset.unit == ROW_REPLACED and isinstance(self.relation, Scan):
            found[ROW_REPLACED] = Fraction(1)
        return found


def _number(cell: Any) -> float:
    return float("nan") if isinstance(cell, str) else number_of(cell)


register_records(Rows)
