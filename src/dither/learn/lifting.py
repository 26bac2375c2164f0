"""Learners over a data set: from an estimator and declared columns to a release that a session can price.

What is public comes from the schema: bounds of columns, classes of a label. Of each person as many rows count as the
limits leave; a learner that protects one row at some loss protects a person with k rows at what k rows lose, and that
is what is charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dither.data import DataSet, Kind, Relation
from dither.data.examples import clinic
from dither.data.schema import Column, as_real, person_unit
from dither.errors import InvalidParameter, MissingExtra
from dither.learn.linear.descent import GradientDescent
from dither.learn.models import Model
from dither.learn.trusted import trusted_estimator
from dither.lift.cells import source_of
from dither.lift.lifted import Lifted, example_of
from dither.lift.rows import NUMBERS, Rows
from dither.mechanisms.core.registry import Example, add_examples
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Loss, PureDP


def _examples() -> Iterator[Example]:
    person, swapped = person_unit("person"), person_unit("person", replaced=True)
    common: dict[str, Any] = {"lower": [0.0, 0.0], "upper": [10.0, 128.0], "classes": 2, "steps": 1}
    for unit, loss in ((person, PureDP(1)), (swapped, ZCDP("1/8")), (ROW_REPLACED, PureDP(1))):
        dataset = clinic(unit)
        relation, _ = source_of(dataset, "visits")
        rows = Rows(dataset, relation, ("cost", "age"), "site", ("north", "south"))
        row_unit = ROW_REPLACED if unit == ROW_REPLACED else ROW
        yield example_of(rows, GradientDescent.calibrated(loss, **common, unit=row_unit))


add_examples(Lifted.name, _examples)


@dataclass(frozen=True)
class PlannedFit:
    """An estimator, and the release of its model."""

    estimator: Any
    mechanism: Lifted
    loss: Loss

    def adopt(self, record: dict[str, Any], receipt: str) -> Any:
        """Return the estimator with the released model; every later step is post-processing."""
        fitted = self.estimator.adopt(Model.from_dict(record), self.mechanism.method, receipt)
        # What was stated is a loss for one row: a person is charged for all rows that count.
        unit = str(self.mechanism.distance)
        fitted.privacy_ = replace(fitted.privacy_, loss=self.loss, stated=self.loss, unit=unit)
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
        from dither.learn.base import PrivateEstimator
    except ImportError:
        raise MissingExtra("an estimator", "ml") from None
    if not isinstance(estimator, PrivateEstimator):
        raise InvalidParameter("estimator", type(estimator).__name__, "one of dither.learn")
    relation, declared = source_of(dataset, table)
    persons = {one.person for one in dataset.tables if one.person is not None}
    names = _features(relation, declared, target, features, persons)
    wanted = declared(target)
    copied: Any = trusted_estimator(estimator)
    known = copied.get_params(deep=False)
    if "bounds" in known and known["bounds"] is None:
        copied.set_params(bounds=[_bounds(declared(name)) for name in names])
    if "target_bounds" in known and wanted.kind not in NUMBERS:
        raise InvalidParameter("target", target, "a column of numbers, or true and false, for a regression")
    if "target_bounds" in known and known["target_bounds"] is None:
        copied.set_params(target_bounds=_bounds(wanted))
    if "classes" in known and known["classes"] is None:
        copied.set_params(classes=_classes(wanted))
    # No rows yet: this sets the number of columns, and refuses missing declarations.
    method, _ = copied.prepare(np.empty((0, len(names))), np.empty(0, dtype=object))
    known_classes = copied.declared_classes()
    classes = None if known_classes is None else tuple(known_classes.tolist())
    rows = Rows(dataset, relation, names, target, classes, copied.threshold_of_numbers())
    mechanism = Lifted(source=rows, method=method)
    return PlannedFit(copied, mechanism, mechanism.loss(1))


def _features(
    relation: Relation, declared: Any, target: str, features: Sequence[str] | None, persons: set[str]
) -> tuple[str, ...]:
    if features is None:
        others = [name for name in relation.columns if name != target and name not in persons]
        names = tuple(name for name in others if declared(name).kind in NUMBERS)
    else:
        names = tuple(features)
    if isinstance(features, str) or not names or len(set(names)) != len(names) or target in names:
        raise InvalidParameter("features", features, "different columns, at least one, without the target")
    for name in (*names, target):
        if name in persons:
            raise InvalidParameter("features", name, "without the privacy id: it says who a row is about")
    for name in names:
        if declared(name).kind not in NUMBERS:
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
