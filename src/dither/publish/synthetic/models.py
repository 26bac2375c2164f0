"""Models: what synthetic methods release, and from which records are drawn.

A model is public: it was made of noisy measurements alone, so asking it anything, or drawing any number of records from
it, costs nothing. It is written as JSON and read again without running any code of the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator, public_generator
from dither.exact import whole
from dither.lift.attributes import Attributes, Axes
from dither.lift.stored import keep_record

#: Of the form in which models are written.
VERSION: Final = 1
MOST_RECORDS: Final = 2**31


class Model(ABC):
    """A distribution of records over public attributes, and the number of records.

    Args:
        attributes: names and sizes.
        total: the estimated number of records, at least 0.

    """

    #: Under which a written model says what it is.
    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Model]]] = {}

    attributes: Attributes
    total: float

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            Model._kinds[cls.kind] = cls

    @abstractmethod
    def table(self, axes: Axes) -> NDArray[np.float64]:
        """Return the marginal on these attributes in estimated numbers of records; it adds up to ``total``."""

    @abstractmethod
    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return ``count`` records, a row for each, whose marginals are as close to the model's as integers can be."""

    @abstractmethod
    def write(self) -> dict[str, Any]:
        """Return everything except kind, attributes and total as plain JSON values."""

    @classmethod
    @abstractmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record with InvalidParameter."""

    def marginal(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the estimated marginal on these attributes, in the order of the attributes."""
        return self.table(self.attributes.axes(names))

    def sample(self, rows: int | None = None) -> NDArray[np.int64]:
        """Return records, by default as many as the model estimates."""
        wanted = round(self.total) if rows is None else rows
        return self.draw(whole("rows", wanted, least=0, most=MOST_RECORDS), public_generator())

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values."""
        pairs = [[name, size] for name, size in zip(self.attributes.names, self.attributes.sizes, strict=True)]
        return {"model": self.kind, "version": VERSION, "attributes": pairs, "total": self.total, **self.write()}

    @staticmethod
    def from_dict(record: Any) -> Model:
        """Return the model that plain JSON values describe, or reject them."""
        if (
            not isinstance(record, Mapping)
            or record.get("version") != VERSION
            or record.get("model") not in Model._kinds
        ):
            known = ", ".join(sorted(Model._kinds))
            raise InvalidParameter("model", "a record", f"one of the models {known}, of version {VERSION}")
        pairs, total = record.get("attributes"), record.get("total")
        if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise InvalidParameter("attributes", "a record", "pairs of a name and a number of values")
        attributes = Attributes(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))
        if isinstance(total, bool) or not isinstance(total, int | float) or not 0 <= total <= MOST_RECORDS:
            raise InvalidParameter("total", "a record", f"a number from 0 to {MOST_RECORDS}")
        return Model._kinds[record["model"]].read(attributes, float(total), record)


keep_record("synthetic", Model)
