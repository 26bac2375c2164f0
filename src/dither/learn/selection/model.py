"""Released models with another inside: which candidate of a search won, or how a model does on rows held out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.models import Model, model
from dither.learn.rows import Floats
from dither.mechanisms.core.public import PublicArray


class Around(Model):
    """A released model that holds another one, as JSON."""

    text: str

    @cached_property
    def inner(self) -> Model:
        """The model inside."""
        try:
            return Model.from_dict(json.loads(self.text))
        except ValueError:
            raise InvalidParameter("text", "no JSON", "a model as it was written") from None

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of columns, or what else the model inside tells of them: probabilities."""
        tell = getattr(self.inner, "scores", None) or getattr(self.inner, "probabilities", None)
        if tell is None:
            raise InvalidParameter("text", type(self.inner).__name__, "a model that scores rows")
        found: Floats = tell(values)
        return found


@model
@dataclass(frozen=True)
class TunedModel(Around):
    """The winner of a search.

    Args:
        number: of the candidate that won, counted from 0.
        text: its model, as JSON.

    """

    kind: ClassVar[str] = "tuned"

    number: int
    text: str

    def __post_init__(self) -> None:
        if not (isinstance(self.number, int) and self.number >= 0 and isinstance(self.text, str)):
            raise InvalidParameter("number", self.number, "the number of a candidate, and its model as a string")
        _ = self.inner

    @classmethod
    def of(cls, number: int, released: Model) -> Self:
        """Return the model of a candidate as that of a search."""
        return cls(int(number), _as_text(released))


@model
@dataclass(frozen=True)
class ScoredModel(Around):
    """A model, and noisy sums over rows held out.

    Args:
        text: the model, as JSON.
        sums: rows told right and wrong; or rows, targets, squared targets and squared errors, in steps.

    """

    kind: ClassVar[str] = "scored"

    text: str
    sums: PublicArray

    def __post_init__(self) -> None:
        if not (isinstance(self.text, str) and isinstance(self.sums, PublicArray) and self.sums.values.ndim == 1):
            raise InvalidParameter("sums", self.sums, "noisy sums, with a model as a string")
        _ = self.inner

    @classmethod
    def of(cls, released: Model, sums: Any) -> Self:
        """Return a released model with its noisy sums."""
        return cls(_as_text(released), PublicArray(np.array(sums, dtype=np.int64)))


def _as_text(released: Model) -> str:
    return json.dumps(released.to_dict(), separators=(",", ":"))
