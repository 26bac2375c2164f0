"""Weighted records: a model for methods that release a bag of records.

What such a method gives is a list of records, each standing for a share of all of them. Every marginal is exact: a sum
of weights. Drawing rounds the weights of all records together, down or up, so no marginal is left to chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import finite_vector
from dither.estimate.public_randomness import Generator
from dither.estimate.record_fitting import shared_out
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.publish.histograms.common import Floats
from dither.publish.synthetic.models import MOST_RECORDS, Model

_MOST_WEIGHTED: Final = 2**24
_NEAR: Final = 1e-6


class WeightedRecords(Model):
    """A bag of records, and the weight of each.

    Args:
        attributes: names and sizes.
        total: the estimated number of records that they stand for.
        records: a row for each record, a column of integers for each attribute.
        weights: a number of at least 0 for each record, of which only the ratios matter; None for equal ones. Records
            that are the same count together; where no record has any weight, all count alike.

    >>> bag = WeightedRecords(Attributes.of({"a": 2, "b": 3}), 100.0, [[0, 2], [1, 0]], [3.0, 1.0])
    >>> bag.table((0,)).tolist(), np.bincount(bag.sample(8)[:, 1]).tolist()
    ([75.0, 25.0], [2, 0, 6])

    """

    kind: ClassVar[str] = "weighted-records"

    def __init__(
        self, attributes: Attributes, total: float, records: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        given = np.asarray(records)
        if given.ndim != 2 or given.shape[1] != len(attributes.sizes) or given.dtype.kind not in "iu" or not len(given):
            raise InvalidParameter("records", f"an array of shape {given.shape}", "integers, at least one record")
        if not ((given >= 0) & (given < np.array(attributes.sizes))).all() or len(given) > _MOST_WEIGHTED:
            raise InvalidParameter("records", f"{len(given)} records", f"values in range, at most {_MOST_WEIGHTED}")
        counted = np.ones(len(given)) if weights is None else finite_vector("weights", weights)
        if counted.shape != (len(given),) or not (counted >= 0).all():
            raise InvalidParameter("weights", f"an array of shape {counted.shape}", "a number >= 0 for each record")
        self.attributes, self.total = attributes, float(min(max(total, 0.0), MOST_RECORDS))
        # In the order of their values and without repetition: neighbours are alike, which drawing makes use of.
        self.records, places = np.unique(given.astype(np.int64), axis=0, return_inverse=True)
        summed = np.bincount(places.ravel(), counted, minlength=len(self.records))
        largest = float(summed.max())
        # Divided by the largest first, so that no sum overflows; without any weight all records count alike.
        scaled = summed / largest if largest > 0 else np.ones(len(self.records))
        self.weights: Floats = scaled / scaled.sum()

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records."""
        shape = self.attributes.shape_of(axes)
        if math.prod(shape) > MOST_CELLS:
            raise InvalidParameter("axes", self.attributes.named(axes), f"a marginal of at most {MOST_CELLS} cells")
        places = np.zeros(len(self.records), dtype=np.int64)
        for axis, size in zip(axes, shape, strict=True):
            places = places * size + self.records[:, axis]
        summed = np.bincount(places, self.weights, minlength=math.prod(shape)).astype(np.float64)
        return summed.reshape(shape) * self.total

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records, each as often as its weight says, rounded down or up."""
        return np.ascontiguousarray(self.records[shared_out(self.weights, rows, generator)])

    def write(self) -> dict[str, Any]:
        """Return records and weights as plain JSON values."""
        return {"records": self.records.tolist(), "weights": self.weights.tolist()}

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        records, weights = record.get("records"), record.get("weights")
        rule = "records of one integer for each attribute, and a weight for each record"
        if not isinstance(records, list) or not isinstance(weights, list) or len(records) != len(weights):
            raise InvalidParameter("records", "a record", rule)
        wide = len(attributes.sizes)
        for row in records:
            if not isinstance(row, list) or len(row) != wide or not all(type(code) is int for code in row):
                raise InvalidParameter("records", "a record", rule)
            if not all(0 <= code < size for code, size in zip(row, attributes.sizes, strict=True)):
                raise InvalidParameter("records", "a record", rule)
        if not records or not all(type(weight) in (int, float) and 0 <= weight <= 1 for weight in weights):
            raise InvalidParameter("weights", "a record", rule)
        model = cls(attributes, total, np.array(records, dtype=np.int64), np.array(weights, dtype=np.float64))
        if len(model.records) != len(records) or abs(math.fsum(weights) - 1) > _NEAR:
            raise InvalidParameter("weights", "a record", "those of different records, which add up to 1")
        # As they were written: dividing once more would move last digits.
        model.weights = np.array(weights, dtype=np.float64)
        return model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeightedRecords) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Coarse on purpose: it is for people, and an auditor tells outcomes apart by it.
        return f"WeightedRecords({len(self.records)} records for about {self.total:.0f})"
