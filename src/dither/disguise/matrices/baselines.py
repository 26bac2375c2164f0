"""Two baselines that the literature names beside the others: non-negative factors and Fourier coefficients.

Reference only: built so that comparisons are complete, offered by no command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.disguise.labels import KENTUCKY
from dither.disguise.matrices.contract import MatrixDisguise
from dither.disguise.matrices.measures import Matrix
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator

_TINY = 1e-12


@dataclass(frozen=True)
class FewFactors(MatrixDisguise):
    """A product of two non-negative matrices of low rank, by Lee and Seung's multiplicative updates.

    Args:
        rank: how many factors.
        rounds: how many updates of both factors; the distance never grows with one.

    """

    rank: int
    rounds: int = 200

    name: ClassVar[str] = "non-negative factors"
    source: ClassVar[str] = f"{KENTUCKY}, chapter 1; Lee and Seung, 2001"
    attacks: ClassVar[tuple[str, ...]] = ("angles", "one-record")

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InvalidParameter("rank", self.rank, "at least 1")
        if self.rounds < 1:
            raise InvalidParameter("rounds", self.rounds, "at least 1")

    def distort(self, matrix: Matrix) -> tuple[Matrix, tuple[str, ...]]:
        """Return the product of the factors."""
        if matrix.min() < 0:
            raise InvalidParameter("values", float(matrix.min()), "at least 0 for non-negative factors")
        if self.rank > min(matrix.shape):
            raise InvalidParameter("rank", self.rank, f"at most {min(matrix.shape)}, the smaller side of the matrix")
        drawn = public_generator()
        size = np.sqrt(max(float(matrix.mean()), _TINY) / self.rank)
        people = size * drawn.uniform(0.5, 1.5, size=(matrix.shape[0], self.rank))
        parts = size * drawn.uniform(0.5, 1.5, size=(self.rank, matrix.shape[1]))
        for _ in range(self.rounds):
            parts *= (people.T @ matrix) / np.maximum(people.T @ people @ parts, _TINY)
            people *= (matrix @ parts.T) / np.maximum(people @ (parts @ parts.T), _TINY)
        return people @ parts, (f"{self.rank} non-negative factors, after {self.rounds} updates.",)


@dataclass(frozen=True)
class FewFrequencies(MatrixDisguise):
    """The largest coefficients of the matrix's two-dimensional Fourier transform; the others are dropped.

    Args:
        share: the share of coefficients kept, above 0 and at most 1.

    """

    share: float

    name: ClassVar[str] = "Fourier coefficients"
    source: ClassVar[str] = f"{KENTUCKY}, chapter 1"
    attacks: ClassVar[tuple[str, ...]] = ("angles", "one-record")

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidParameter("share", self.share, "above 0 and at most 1")

    def distort(self, matrix: Matrix) -> tuple[Matrix, tuple[str, ...]]:
        """Return the matrix with fewer frequencies."""
        found = np.fft.fft2(matrix)
        sizes = np.abs(found)
        kept = int(np.ceil(self.share * found.size))
        cut = np.partition(sizes, found.size - kept, axis=None)[found.size - kept]
        # A frequency and its mirror are equally large up to rounding, and are kept or dropped together.
        keep = sizes >= cut * (1 - 1e-9)
        made = np.real(np.fft.ifft2(np.where(keep, found, 0.0)))
        return np.asarray(made), (f"{int(keep.sum())} of {found.size} Fourier coefficients are retained.",)
