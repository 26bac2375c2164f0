"""Give a distorted matrix the column means and standard deviations of the true one.

Of all columns with the true mean and deviation, the shifted and stretched one lies nearest to the distorted column
(Liu, section 3.3; by Cauchy and Schwarz). It publishes exact means and deviations, which is a release
of its own and hides nobody: who knows all rows but one computes that row's numbers from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.disguise.labels import KENTUCKY
from dither.disguise.matrices.contract import MatrixDisguise
from dither.disguise.matrices.measures import Matrix
from dither.errors import InvalidParameter

#: A deviation below this share of the column's size is rounding.
_FLAT = 1e-12


def restored(true: Matrix, released: Matrix) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the released matrix with the true means and deviations, and the columns that could not be stretched.

    A column that the distortion made constant has no deviation to stretch: it becomes the true mean throughout.
    """
    if true.shape != released.shape:
        raise InvalidParameter("released", released.shape, f"of the shape of the true matrix, {true.shape}")
    if len(true) < 2:
        raise InvalidParameter("rows", len(true), "two or more: one row has no deviation")
    centred = released - released.mean(axis=0)
    spread = np.std(released, axis=0, ddof=1)
    flat = spread <= _FLAT * np.maximum(np.abs(released).max(axis=0), 1e-300)
    factor = np.where(flat, 0.0, np.std(true, axis=0, ddof=1) / np.where(flat, 1.0, spread))
    lost = flat & (np.ptp(true, axis=0) > 0)
    return centred * factor + true.mean(axis=0), np.flatnonzero(lost)


@dataclass(frozen=True)
class Restored(MatrixDisguise):
    """Another disguise, followed by the restoring of means and deviations.

    Args:
        inner: the disguise; its columns stand for the true ones.

    >>> from dither.disguise.matrices import FewRanks
    >>> true = np.array([[1.0, 4.0], [2.0, 9.0], [4.0, 8.0]])
    >>> made = Restored(FewRanks(1)).apply(true)
    >>> bool(np.allclose(made.values.mean(axis=0), true.mean(axis=0)))
    True

    """

    inner: MatrixDisguise

    name: ClassVar[str] = "restored moments"
    source: ClassVar[str] = f"{KENTUCKY}, section 3.3"
    attacks: ClassVar[tuple[str, ...]] = ("one-record",)

    def __post_init__(self) -> None:
        if not isinstance(self.inner, MatrixDisguise) or not self.inner.keeps_columns:
            raise InvalidParameter("inner", self.inner, "a disguise that keeps the columns")

    def distort(self, matrix: Matrix) -> tuple[Matrix, tuple[str, ...]]:
        """Return the other disguise's matrix with the true means and deviations."""
        made, done = self.inner.distort(matrix)
        out, lost = restored(matrix, made)
        told = f"{self.inner.name}; then every column has its true mean and standard deviation back, exactly."
        flat = [f"Column {column} had become constant and holds its true mean throughout." for column in lost.tolist()]
        return out, (*done, told, *flat)
