"""A frozen record of parameters, applied to a matrix, gives another matrix and how far it lies from the first.

As everywhere in the room, no loss and no noise from a runner: what is drawn hides nothing that a guarantee rests on.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dither.disguise.labels import NO_GUARANTEE
from dither.disguise.matrices.measures import Distortion, Matrix, distortion
from dither.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Distorted:
    """A distorted matrix, what was done to it, and how far it lies from the true one. It carries no loss.

    Args:
        disguise: the name of the method.
        values: a row for each row of the true matrix, in the same order.
        done: what was done, a sentence each.
        distortion: None where the columns are no longer those of the true matrix.

    """

    disguise: str
    values: Matrix
    done: tuple[str, ...]
    distortion: Distortion | None

    warning: ClassVar[str] = NO_GUARANTEE

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the values as plain data."""
        return {
            "disguise": self.disguise,
            "warning": self.warning,
            "shape": list(self.values.shape),
            "done": list(self.done),
            "distortion": None if self.distortion is None else self.distortion.to_dict(),
        }

    def to_json(self) -> str:
        """Return everything but the values as JSON."""
        return json.dumps(self.to_dict(), indent=2)


class MatrixDisguise(ABC):
    """A method of distortion, with its parameters: a frozen dataclass."""

    name: ClassVar[str]
    #: Where it was published.
    source: ClassVar[str]
    #: The attacks of ``dither attack`` that undo what it makes.
    attacks: ClassVar[tuple[str, ...]]

    def apply(self, values: ArrayLike) -> Distorted:
        """Return the distorted matrix.

        Args:
            values: numbers, a row for each person and a column for each attribute, none of them missing.

        """
        matrix = matrix_of(values)
        made, done = self.distort(matrix)
        far = distortion(matrix, made) if made.shape == matrix.shape and self.keeps_columns else None
        return Distorted(self.name, made, done, far)

    @property
    def keeps_columns(self) -> bool:
        """Whether a column of the release stands for the same column of the true matrix."""
        return True

    @abstractmethod
    def distort(self, matrix: Matrix) -> tuple[Matrix, tuple[str, ...]]:
        """Return the other matrix, and what was done."""


def matrix_of(values: ArrayLike) -> Matrix:
    """Return a copy of the values as a matrix of floats, if they are one."""
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("values", type(values).__name__, "numbers in rows of equal length") from None
    if matrix.ndim != 2 or not matrix.size:
        raise InvalidParameter("values", matrix.shape, "one or more rows and columns")
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        row, column = wrong[0].tolist()
        rule = "a finite number: a matrix has no missing values"
        raise InvalidParameter(f"row {row}, column {column}", float(matrix[row, column]), rule)
    return matrix
