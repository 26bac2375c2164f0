"""The released model of few columns: which columns were chosen, and their linear model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.learn.models import LinearModel, Model, model
from dither.learn.rows import Box, Floats
from dither.mechanisms.core.public import PublicArray


@model
@dataclass(frozen=True)
class SparseModel(Model):
    """Scores that are linear in a few of the columns, each clipped and scaled by its bounds.

    Args:
        lower: bounds of all columns.
        upper: bounds of all columns.
        chosen: the places of the columns that count, each once.
        shift: their centre, in columns scaled to [-1, 1].
        radius: records are shortened to this length from the centre.
        weights: a row for each score, for records divided by the radius or their length, whichever is larger.
        intercepts: one for each score.

    """

    kind: ClassVar[str] = "sparse-linear"

    lower: PublicArray
    upper: PublicArray
    chosen: PublicArray
    shift: PublicArray
    radius: float
    weights: PublicArray
    intercepts: PublicArray

    def __post_init__(self) -> None:
        places = self.chosen.values
        right = places.ndim == 1 and places.dtype.kind == "i" and 0 < places.size == np.unique(places).size
        if not (right and bool(np.all((places >= 0) & (places < self.box.columns)))):
            raise InvalidParameter("chosen", self.chosen, "places of columns, each once")
        _ = self.inner

    @classmethod
    def of(cls, box: Box, chosen: NDArray[np.int64], inner: LinearModel) -> Self:
        """Return a linear model of chosen columns, which were scaled to [-1, 1], as a model of all columns."""
        return cls(
            box.lower, box.upper, PublicArray(chosen), inner.shift, inner.radius, inner.weights, inner.intercepts
        )

    @classmethod
    def plain(cls, box: Box, weights: Floats, intercept: float) -> Self:
        """Return the model of one score with a weight for each scaled column, most of them zero.

        Args:
            box: the bounds of all columns.
            weights: one for each column.
            intercept: the score where all scaled columns are zero.

        """
        chosen = np.flatnonzero(weights)
        chosen = chosen if chosen.size else np.zeros(1, dtype=np.int64)
        # No record of columns within [-1, 1] is longer than this.
        radius = float(np.sqrt(chosen.size))
        inside = PublicArray(weights[None, chosen] * radius)
        centre = PublicArray(np.zeros(chosen.size))
        return cls(
            box.lower, box.upper, PublicArray(chosen), centre, radius, inside, PublicArray(np.array([intercept]))
        )

    @property
    def box(self) -> Box:
        """The bounds of all columns."""
        return Box(self.lower, self.upper)

    @cached_property
    def inner(self) -> LinearModel:
        """The model of the chosen columns, scaled to [-1, 1]."""
        ones = np.ones(self.chosen.values.size)
        return LinearModel(
            PublicArray(-ones), PublicArray(ones), self.shift, self.radius, self.weights, self.intercepts
        )

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of all columns, one row each."""
        places = self.chosen.values
        return self.inner.scores(
            Box(PublicArray(self.lower.values[places]), PublicArray(self.upper.values[places])).scaled(
                values[:, places]
            )
        )

    @property
    def coefficients(self) -> Floats:
        """The weights of all columns in their own units, for records within the radius; zero for columns not chosen."""
        places = self.chosen.values
        found = np.zeros((len(self.weights.values), self.box.columns))
        found[:, places] = self.inner.coefficients / self.box.scale[places]
        return found

    @property
    def constants(self) -> Floats:
        """The scores where every column is zero in its own units, along ``coefficients``."""
        found: Floats = self.inner.constants - self.coefficients @ self.box.centre
        return found
