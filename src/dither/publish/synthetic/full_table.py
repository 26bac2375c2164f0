"""A full table as a model: for few attributes, where every cell can be stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.multiplicative_weights import summed
from dither.estimate.public_randomness import Generator
from dither.estimate.record_fitting import shared_out
from dither.lift.attributes import Attributes, Axes
from dither.publish.histograms.common import Floats
from dither.publish.synthetic.cell_queries import check_table
from dither.publish.synthetic.models import MOST_RECORDS, Model


class FullTable(Model):
    """A weight for every combination of values.

    Args:
        attributes: names and sizes; at most 2^20 cells.
        total: the estimated number of records.
        weights: a number of at least 0 for each cell, of which only the ratios matter; where all are 0, all count
            alike.

    >>> model = FullTable(Attributes.of({"a": 2, "b": 2}), 8.0, np.array([[3.0, 1.0], [0.0, 0.0]]))
    >>> model.table((1,)).tolist(), np.bincount(model.sample(8)[:, 1]).tolist()
    ([6.0, 2.0], [6, 2])

    """

    kind: ClassVar[str] = "full-table"

    def __init__(self, attributes: Attributes, total: float, weights: Floats) -> None:
        check_table(attributes, ())
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != attributes.sizes or not np.isfinite(given).all() or (given < 0).any():
            rule = f"a finite number of at least 0 for each of {attributes.cells} cells"
            raise InvalidParameter("weights", f"an array of shape {given.shape}", rule)
        largest = float(given.max())
        # Divided by the largest first, so that no sum overflows.
        scaled = given / largest if largest > 0 else np.ones(given.shape)
        self.attributes, self.total = attributes, float(min(max(total, 0.0), MOST_RECORDS))
        self.law: Floats = scaled / scaled.sum()

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records."""
        return np.asarray(summed(self.law, axes) * self.total)

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records, every cell as often as its weight says, rounded down or up."""
        cells = shared_out(self.law.ravel(), rows, generator)
        return np.stack(np.unravel_index(cells, self.attributes.sizes), axis=1).astype(np.int64)

    def write(self) -> dict[str, Any]:
        """Return the weights as plain JSON values."""
        return {"law": self.law.ravel().tolist()}

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        law, rule = record.get("law"), f"a probability for each of {attributes.cells} cells, which add up to 1"
        if not isinstance(law, list) or len(law) != attributes.cells:
            raise InvalidParameter("law", "a record", rule)
        if not all(type(share) in (int, float) and 0 <= share <= 1 for share in law):
            raise InvalidParameter("law", "a record", rule)
        if not math.isclose(math.fsum(law), 1.0, abs_tol=1e-6):
            raise InvalidParameter("law", "a record", rule)
        kept = np.array(law, dtype=np.float64).reshape(attributes.sizes)
        model = cls(attributes, total, kept)
        # As it was written: dividing once more would move last digits.
        model.law = kept
        return model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FullTable) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Coarse on purpose: it is for people, and an auditor tells outcomes apart by it.
        return f"FullTable({self.law.size} cells, about {self.total:.0f} records)"
