"""Released models: small frozen records of public numbers that predict and can be written as versioned JSON.

Everything here is post-processing. Reading a record runs nothing that it contains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.rows import Box, Floats
from dither.lift.stored import keep_record
from dither.mechanisms.core.public import PublicArray

VERSION: Final = 1
M = TypeVar("M", bound="type[Model]")
_models: dict[str, type[Model]] = {}


class Model:
    """A released model; subclasses are frozen dataclasses of arrays, numbers and texts."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        parts = {field.name: _written(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {"model": self.kind, "version": VERSION, **parts}

    @staticmethod
    def from_dict(record: Any) -> Model:
        """Return the model that a record describes, or refuse it."""
        if not isinstance(record, Mapping) or record.get("version") != VERSION or record.get("model") not in _models:
            raise InvalidParameter("record", "another record", f"a model of version {VERSION}")
        kind = _models[record["model"]]
        names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        if set(record) != names | {"model", "version"}:
            raise InvalidParameter("record", sorted(map(str, record)), f"a record with exactly {sorted(names)}")
        try:
            return kind(**{name: _read(record[name]) for name in names})
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter("record", "a record of other parts", "a model as it was written") from None


def model(kind: M) -> M:
    """Register a class of models under its kind."""
    _models[kind.kind] = kind
    return kind


@model
@dataclass(frozen=True)
class LinearModel(Model):
    """Scores that are linear in clipped and centred columns.

    Columns are scaled by their bounds and centred; a record longer than the radius counts as one of that length.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        shift: the centre, in columns scaled to [-1, 1].
        radius: records are shortened to this length from the centre.
        weights: a row for each score, for records divided by the radius or their length, whichever is larger.
        intercepts: one for each score.

    """

    kind: ClassVar[str] = "linear"

    lower: PublicArray
    upper: PublicArray
    shift: PublicArray
    radius: float
    weights: PublicArray
    intercepts: PublicArray

    def __post_init__(self) -> None:
        box = Box(self.lower, self.upper)
        right = self.weights.values.ndim == 2 and self.weights.values.shape[1] == box.columns
        right = right and self.shift.values.shape == (box.columns,) and self.radius > 0
        if not (right and self.intercepts.values.shape == (len(self.weights.values),)):
            raise InvalidParameter("weights", self.weights, "a weight for each score and column")

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of columns, one row each."""
        centred = Box(self.lower, self.upper).scaled(values) - self.shift.values
        lengths = np.maximum(np.linalg.norm(centred, axis=1), self.radius)
        found: Floats = (centred / lengths[:, None]) @ self.weights.values.T + self.intercepts.values
        return found

    @property
    def coefficients(self) -> Floats:
        """The weights of the columns in their own units, for records within the radius."""
        found: Floats = self.weights.values / (self.radius * Box(self.lower, self.upper).scale)
        return found

    @property
    def constants(self) -> Floats:
        """The scores where every column is zero in its own units, along ``coefficients``."""
        box = Box(self.lower, self.upper)
        found: Floats = self.intercepts.values - self.coefficients @ (box.centre + self.shift.values * box.scale)
        return found


def softmax(scores: Floats) -> Floats:
    """Return the shares of each row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares


def _written(value: Any) -> Any:
    if isinstance(value, PublicArray):
        return {"array": value.values.tolist(), "dtype": value.values.dtype.str}
    if isinstance(value, tuple):
        return [_written(entry) for entry in value]
    return value


def _read(value: Any) -> Any:
    if isinstance(value, Mapping):
        if set(value) != {"array", "dtype"} or value["dtype"] not in ("<f8", "<i8"):
            raise InvalidParameter("record", "an array of another form", "an array of numbers")
        return PublicArray(np.array(value["array"], dtype=value["dtype"]))
    return tuple(_read(entry) for entry in value) if isinstance(value, list) else value


keep_record("learned", Model)
