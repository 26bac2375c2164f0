"""The released model of a search: which candidate won, and its model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

from dither.errors import InvalidParameter
from dither.learn.models import Model, model
from dither.learn.rows import Floats


@model
@dataclass(frozen=True)
class TunedModel(Model):
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
            raise InvalidParameter("number", self.number, "the number of a candidate, and its model as a text")
        _ = self.inner

    @classmethod
    def of(cls, number: int, released: Model) -> Self:
        """Return the model of a candidate as that of a search."""
        return cls(int(number), json.dumps(released.to_dict(), separators=(",", ":")))

    @cached_property
    def inner(self) -> Model:
        """The model of the candidate that won."""
        try:
            return Model.from_dict(json.loads(self.text))
        except ValueError:
            raise InvalidParameter("text", "no JSON", "a model as it was written") from None

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of columns."""
        found: Floats = self.inner.scores(values)  # type: ignore[attr-defined]
        return found
