"""Models of a curator's rows: an estimator is priced by public facts, charged to the ledger, and only then learns.

What is public comes from the schema: bounds of columns, classes of a target. Of each person as many rows count as the
limits leave; a release that protects one row at some loss protects a person with k rows at what k rows lose, and that
is what is charged. Nothing here raises because of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dither.data import Aggregation, Bounded, CountRows, DataSet, Kind, Limits, Name, Relation
from dither.data.cell_values import number_of
from dither.data.contribution import contribution, effective_limits, within_structure
from dither.data.engines.protocol import Engine
from dither.data.returned import first_number
from dither.data.schema import Column, as_real
from dither.errors import InvalidParameter, MissingExtra
from dither.lift.cells import source_of
from dither.mechanisms import perform
from dither.privacy import ROW_REPLACED, Loss

_NUMBERS = (Kind.BOOLEAN, Kind.INTEGER, Kind.REAL)


@dataclass(frozen=True)
class PlannedFit:
    """A release that is priced and not yet made."""

    estimator: Any
    mechanism: Any
    aggregation: Aggregation
    loss: Loss
    unit: str
    is_classifier: bool

    def learn(self, engine: Engine) -> dict[str, Any]:
        """Return the released model of the rows that the engine holds, as plain values."""
        answer = engine.aggregate(self.aggregation)
        rows = [
            row
            for row, numbers in zip(answer.keys, answer.measures, strict=False)
            for _ in range(first_number(numbers))
        ]
        width = len(self.aggregation.keys) - 1
        values = np.array([[_number(cell) for cell in row[:width]] for row in rows], dtype=np.float64)
        labels = np.empty(len(rows), dtype=object)
        labels[:] = [row[width] if self.is_classifier else _number(row[width]) for row in rows]
        _, private = self.estimator.prepare(values.reshape(len(rows), width), labels)
        record: dict[str, Any] = perform(self.mechanism, private).to_record()
        return record

    def adopt(self, record: dict[str, Any], receipt: str) -> Any:
        """Return the estimator with the released model; what follows is post-processing."""
        from dither.learn.models import Model

        fitted = self.estimator.adopt(Model.from_record(record), self.mechanism, receipt)
        # What was stated is a loss for one row: a person is charged for all rows that count.
        fitted.privacy_ = replace(fitted.privacy_, loss=self.loss, stated=self.loss, unit=self.unit)
        return fitted


def plan_fit(
    dataset: DataSet, table: str | Relation, estimator: Any, target: str, features: Sequence[str] | None = None
) -> PlannedFit:
    """Return what an estimator would release and cost, from public facts alone.

    Args:
        dataset: the schema.
        table: the name of a private table, or its rows, filtered.
        estimator: one of ``dither.learn``; what it leaves out (bounds, classes) is taken from the schema.
        target: the column to predict.
        features: the columns to predict it from; all other numeric ones where None.

    """
    try:
        from sklearn.base import clone, is_classifier

        from dither.learn.base import PrivateEstimator
    except ImportError:
        raise MissingExtra("an estimator", "ml") from None
    if not isinstance(estimator, PrivateEstimator):
        raise InvalidParameter("estimator", type(estimator).__name__, "one of dither.learn")
    relation, declared = source_of(dataset, table)
    persons = {one.person for one in dataset.tables if one.person is not None}
    names = _features(relation, declared, target, features, persons)
    wanted = declared(target)
    copied: Any = clone(estimator)
    known = copied.get_params(deep=False)
    if "bounds" in known and known["bounds"] is None:
        copied.set_params(bounds=[_bounds(declared(name)) for name in names])
    if "target_bounds" in known and wanted.kind not in _NUMBERS:
        raise InvalidParameter("target", target, "a column of numbers, or true and false, for a regression")
    if "target_bounds" in known and known["target_bounds"] is None:
        copied.set_params(target_bounds=_bounds(wanted))
    if "classes" in known and known["classes"] is None:
        copied.set_params(classes=_classes(wanted))
    # No rows yet: this sets how many columns there are, and refuses what is not declared.
    mechanism, _ = copied.prepare(np.empty((0, len(names))), np.empty(0, dtype=object))
    if mechanism.distance == ROW_REPLACED and not dataset.is_replaced:
        raise InvalidParameter("unit", copied.unit, "'row', for a data set whose units come and go")
    limits = effective_limits(dataset, within_structure(Limits(), relation))
    unit = contribution(dataset, limits, 1)
    if dataset.protects_persons:
        relation = Bounded(relation, (), limits, (*names, target))
    rows = unit.total * (unit.touched if mechanism.distance != ROW_REPLACED else 1)
    aggregation = Aggregation(relation, tuple(map(Name, (*names, target))), (CountRows(),))
    return PlannedFit(
        copied, mechanism, aggregation, mechanism.loss(rows), str(dataset.unit), bool(is_classifier(copied))
    )


def _features(
    relation: Relation, declared: Any, target: str, features: Sequence[str] | None, persons: set[str]
) -> tuple[str, ...]:
    if features is None:
        others = [name for name in relation.columns if name != target and name not in persons]
        names = tuple(name for name in others if declared(name).kind in _NUMBERS)
    else:
        names = tuple(features)
    if isinstance(features, str) or not names or len(set(names)) != len(names) or target in names:
        raise InvalidParameter("features", features, "different columns, at least one, without the target")
    for name in (*names, target):
        if name in persons:
            raise InvalidParameter("features", name, "without the privacy id: it says who a row is about")
    for name in names:
        if declared(name).kind not in _NUMBERS:
            raise InvalidParameter("features", name, "columns of numbers, or true and false")
    return names


def _bounds(column: Column) -> tuple[float, float]:
    if column.kind is Kind.BOOLEAN:
        return 0.0, 1.0
    if column.categories is not None and column.lower is None:
        values = [as_real(value) for value in column.categories]
        return min(values), max(values)
    if column.lower is None:
        raise InvalidParameter(f"bounds of {column.name}", None, "declared in the schema, or given to the estimator")
    return as_real(column.lower), as_real(column.upper)


def _classes(column: Column) -> list[Any]:
    values = column.public_values
    if values is None:
        raise InvalidParameter(f"categories of {column.name}", None, "declared, or classes given to the estimator")
    return [value for value in values if value is not None]


def _number(cell: Any) -> float:
    return float("nan") if isinstance(cell, str) else number_of(cell)
