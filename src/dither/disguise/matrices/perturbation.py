"""A R + E: rows turned by a secret rotation, perhaps cut to fewer columns, with Gaussian noise on every number.

The rotation is an m by m Haar matrix, m the number of columns (the source takes the left singular vectors, which are n
by n and mix people). A rotation keeps all angles and distances, a projection keeps them on average, and a little noise
hardly changes them: the attacks named here read who resembles whom off the release, and turn it back as soon as about m
rows are known. Nothing here is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.disguise.labels import KENTUCKY
from dither.disguise.matrices.contract import MatrixDisguise
from dither.disguise.matrices.measures import Matrix
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator, public_generator


def haar(size: int, drawn: Generator) -> Matrix:
    """Return an orthogonal matrix by the uniform (Haar) law.

    The signs matter: the factor Q of a Gaussian matrix is uniform only if the diagonal of R is positive.
    """
    turned, upper = np.linalg.qr(drawn.normal(size=(size, size)))
    return np.asarray(turned * np.where(np.diag(upper) < 0, -1.0, 1.0))


@dataclass(frozen=True)
class Perturbed(MatrixDisguise):
    """Rotation, projection and additive noise, each of them optional.

    Args:
        blur: the standard deviation of the noise on every number of the release; 0 for none.
        rotate: turn the rows by a secret rotation.
        columns: the number of random directions that are kept, stretched so that squared lengths are right on average.

    >>> made = Perturbed(blur=0.0).apply([[3.0, 4.0], [0.0, 1.0]])
    >>> bool(np.allclose(np.linalg.norm(made.values, axis=1), [5.0, 1.0]))
    True

    """

    blur: float = 0.0
    rotate: bool = True
    columns: int | None = None

    name: ClassVar[str] = "rotation, projection and noise"
    source: ClassVar[str] = f"{KENTUCKY}, section 2.2"
    attacks: ClassVar[tuple[str, ...]] = ("angles", "one-record", "known-set")

    def __post_init__(self) -> None:
        if not 0 <= self.blur < float("inf"):
            raise InvalidParameter("blur", self.blur, "at least 0 and finite")
        if not self.blur and not self.rotate:
            raise InvalidParameter("blur", self.blur, "above 0 without a rotation, or nothing is changed")
        if self.columns is not None and (self.columns < 1 or not self.rotate):
            raise InvalidParameter(
                "columns", self.columns, "at least 1, with a rotation: directions are drawn from one"
            )

    @property
    def keeps_columns(self) -> bool:
        """Only additive noise keeps the columns."""
        return not self.rotate

    def distort(self, matrix: Matrix) -> tuple[Matrix, tuple[str, ...]]:
        """Return the turned, projected and blurred rows."""
        width = matrix.shape[1]
        kept = width if self.columns is None else self.columns
        if kept > width:
            raise InvalidParameter("columns", kept, f"at most the {width} columns of the matrix")
        drawn, done, made = public_generator(), [], matrix
        if self.rotate:
            made = made @ haar(width, drawn)
            done.append(f"Every row is turned by one secret rotation of {width} dimensions; angles are unchanged.")
        if kept < width:
            made = made[:, :kept] * np.sqrt(width / kept)
            done.append(f"{kept} of {width} random directions are retained; squared lengths are right on average.")
        if self.blur:
            made = made + drawn.normal(scale=self.blur, size=made.shape)
            done.append(f"Gaussian noise of standard deviation {self.blur:g} is added to every number.")
        return made, tuple(done)
