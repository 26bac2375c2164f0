"""Rows: private rows as numbers, with a class or a number to predict, to which learners are lifted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Aggregation, Bounded, CountRows, DataSet, Kind, Limits, Name, Relation, Scan
from dither.data.cell_values import is_label
from dither.data.column_values import code_column, counted_columns, label_numbers, number_column
from dither.data.columns import Values
from dither.data.contribution import Contribution, contribution, effective_limits, within_structure
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value
from dither.data.joins import check_relation
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.class_counts import asked_of, counts_in
from dither.lift.source import Source
from dither.mechanisms.core.class_counts import ClassCounts, OfClassCounts
from dither.mechanisms.core.mechanism import Mechanism
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
        label: the column to predict, which comes last; none where None.
        classes: the declared labels, whose places stand for them, -1 for any other; where None the label is a number.
        threshold: a number in a column is read as 1 above it and as 0 otherwise; as it is where None.
        categories: for each column its declared labels, or None where it is a column of numbers; None where all are.
        as_codes: whether a column of categories is the place of the cell among them, and their number for any other
            cell; else it is a column for each category, 1 where the cell equals it and 0 otherwise.

    """

    dataset: DataSet
    relation: Relation
    columns: tuple[str, ...]
    label: str | None = None
    classes: tuple[Value, ...] | None = None
    threshold: float | None = None
    categories: tuple[tuple[Value, ...] | None, ...] | None = None
    as_codes: bool | None = None

    def __post_init__(self) -> None:
        check_relation(self.relation, self.dataset)
        kinds, persons = self.relation.columns, self.dataset.identifying
        if not self.columns or len(set(self.names)) != len(self.names):
            raise InvalidParameter("columns", self.columns, "different columns, at least one, without the label")
        labels = dict(zip(self.columns, self.labels_of_columns, strict=False))
        if len(self.labels_of_columns) != len(self.columns):
            raise InvalidParameter("categories", self.categories, "labels or None for each column")
        for name in self.names:
            if name not in kinds or name in persons:
                raise InvalidParameter("columns", name, "columns of the rows, and not the privacy id")
            is_label_of_classes = name == self.label and self.classes is not None
            if kinds[name] not in NUMBERS and labels.get(name) is None and not is_label_of_classes:
                raise InvalidParameter("columns", name, "columns of numbers, or true and false, or with categories")
        if not all(one and all(map(is_label, one)) for one in labels.values() if one is not None):
            raise InvalidParameter("categories", self.categories, "one label or more where a column has categories")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InvalidParameter("threshold", self.threshold, "a finite number")
        if self.classes is not None and (self.label is None or not all(map(is_label, self.classes))):
            raise InvalidParameter("classes", self.classes, "labels, and only where there is a column of them")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, the label last."""
        return self.columns if self.label is None else (*self.columns, self.label)

    @property
    def labels_of_columns(self) -> tuple[tuple[Value, ...] | None, ...]:
        """The declared labels of each column, None for columns of numbers."""
        return (None,) * len(self.columns) if self.categories is None else self.categories

    @property
    def width(self) -> int:
        """How many numbers stand for the columns of a row."""
        return sum(1 if one is None or self.as_codes else len(one) for one in self.labels_of_columns)

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

    def aggregations_for(self, method: Mechanism[Any, Any]) -> tuple[Aggregation, ...]:
        """Return the statement that counts classes for a method that needs no more, else that of all rows."""
        counted = asked_of(self, method) if isinstance(method, OfClassCounts) else None
        return self.aggregations() if counted is None else (counted,)

    def read_for(self, engine: Engine, method: Mechanism[Any, Any]) -> NDArray[np.float64] | ClassCounts:
        """Return the counts that the engine makes for a method that needs no more, else the rows."""
        if isinstance(method, OfClassCounts) and (counted := asked_of(self, method)) is not None:
            return counts_in(engine.aggregate(counted), method)
        return self.read(engine)

    def filled(self, answer: Aggregated) -> NDArray[np.float64]:
        """Return the rows of an answer; what is not a row of this width is as if not there."""
        columns, counts = counted_columns(answer, len(self.names))
        found = np.empty((len(counts), self.width + (self.label is not None)), dtype=np.float64)
        place = 0
        for block in self._blocks(columns, len(counts)):
            found[:, place : place + block.shape[1]] = block
            place += block.shape[1]
        # Rows that all occur once are not copied.
        return found if (counts == 1).all() else np.repeat(found, counts, axis=0)

    def _blocks(self, columns: Sequence[Values], length: int) -> Iterator[NDArray[np.float64]]:
        """Yield the numbers that stand for each column, a row of them for each cell; those of the label at the end."""
        for cells, labels in zip(columns, self.labels_of_columns, strict=False):
            if labels is not None:
                yield label_numbers(code_column(cells, length, labels), len(labels), as_codes=bool(self.as_codes))
                continue
            numbers = number_column(cells, length)
            if self.threshold is not None:
                numbers = np.where(np.isnan(numbers), numbers, numbers > float(self.threshold))
            yield numbers[:, None]
        if self.label is not None:
            known, cells = self.classes, columns[-1]
            label = number_column(cells, length) if known is None else code_column(cells, length, known)
            yield label[:, None].astype(np.float64)

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many rows one unit adds and removes together; or replaces, if their number never changes.

        It does not where every row of a table counts whatever it holds, and units are its rows.
        """
        found: dict[Distance, Fraction] = {ROW: Fraction(self.contribution.total * self.contribution.touched)}
        if self.dataset.unit == ROW_REPLACED and isinstance(self.relation, Scan):
            found[ROW_REPLACED] = Fraction(1)
        return found


register_records(Rows)
