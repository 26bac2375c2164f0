"""Post-randomisation (PRAM): every cell of a column is drawn again, by the row of a matrix that its value names.

Source: Gouweleeuw, Kooiman, Willenborg and de Wolf (1998). With a row for every true value and a column for every
published one, the matrix is that of a local randomiser. **It is local differential privacy exactly if** the matrix and
its list of values were fixed without looking at the rows and every cell is drawn once, by itself; epsilon is then the
largest log-ratio of two entries of one column, and infinite if one of them is 0 and the other is not. The invariant
form is computed from the true frequencies: its ratios are only ratios, not a guarantee. Draws here are ordinary
floating-point ones, so no loss is stated even where the sentence holds: take a local mechanism for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dither.disguise.classes import Figures
from dither.disguise.perturbation.contract import Perturbation, perturbation
from dither.disguise.rules import ordered_values
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator


@perturbation
@dataclass(frozen=True)
class PostRandomisation(Perturbation):
    """Cells drawn again by a matrix of probabilities.

    Args:
        column: to be drawn again.
        keep: the probability of each value to stay; all others share the rest. Not used with a matrix.
        values: in the order of the matrix; those of the table, in their order, if not given.
        matrix: a row for each true value, a column for each published one.
        invariant: make of the matrix one under which the frequencies of values stay as they are, on average.

    >>> PostRandomisation("ward", keep=1.0).apply({"ward": ["a", "b"]}).frame()["ward"]
    ['a', 'b']

    """

    column: str
    keep: float = 0.8
    values: tuple[Any, ...] | None = None
    matrix: tuple[tuple[float, ...], ...] | None = None
    invariant: bool = False

    name: ClassVar[str] = "post-randomisation"
    source: ClassVar[str] = "Gouweleeuw, Kooiman, Willenborg, de Wolf (1998)"
    attacks: ClassVar[tuple[str, ...]] = ("homogeneity", "background", "skewness")

    def __post_init__(self) -> None:
        if not 0 <= self.keep <= 1:
            raise InvalidParameter("keep", self.keep, "from 0 to 1")
        if self.values is not None and (not self.values or len(set(self.values)) != len(self.values)):
            raise InvalidParameter("values", self.values, "one or more, each once")
        if self.matrix is not None:
            matrix_of(self.matrix)
            if self.values is not None and len(self.values) != len(self.matrix):
                raise InvalidParameter(
                    "values", len(self.values), f"one for each row of the matrix, {len(self.matrix)}"
                )

    def perturb(self, table: Table) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the column drawn again."""
        column = table[self.column]
        values = self.values
        if values is None:
            present = set(column.codes.tolist())
            values = tuple(column.values[place] for place in ordered_values(column).tolist() if place in present)
        places = {value: place for place, value in enumerate(values)}
        outside = [value for value in set(column.cells()) if value not in places]
        if outside:
            raise InvalidParameter(self.column, outside[0], "one of the given values")
        codes = np.array([places[cell] for cell in column.cells()], dtype=np.int64)
        plain = self._plain(len(values))
        used = plain
        if self.invariant:
            used = invariant(plain, np.bincount(codes, minlength=len(values)) / len(codes))
        drawn = public_generator()
        made = np.empty_like(codes)
        for code, chances in enumerate(used):
            rows = np.flatnonzero(codes == code)
            made[rows] = drawn.choice(len(values), size=len(rows), p=chances)
        return {self.column: Column(values, made)}, self._said(used)

    def _plain(self, size: int) -> Figures:
        if self.matrix is None:
            return staying(size, self.keep)
        if len(self.matrix) != size:
            raise InvalidParameter("matrix", len(self.matrix), f"a row for each of the {size} values of {self.column}")
        return matrix_of(self.matrix)

    def _said(self, used: Figures) -> tuple[str, ...]:
        done = (
            f"Every cell of {self.column} is drawn again; it stays with probability {np.diag(used).min():.4g} or more."
        )
        epsilon = epsilon_of(used)
        if self.invariant:
            about = "The matrix was computed from the true frequencies, so it is not local differential privacy."
        elif self.values is None:
            about = (
                "The values were read from the table, so this is not local differential privacy; with a list fixed "
                f"in advance, this matrix would be, with epsilon {epsilon:.4g}."
            )
        elif math.isinf(epsilon):
            about = "Some values rule others out: this matrix is not local differential privacy for any epsilon."
        else:
            about = (
                f"If matrix and values were fixed without looking at the rows, this matrix is local differential "
                f"privacy of this one column, with epsilon {epsilon:.4g}; the draws here are not exact ones."
            )
        return done, about

    @classmethod
    def example(cls, numbers: str, texts: str) -> PostRandomisation:
        """Return the invariant form for the texts."""
        return cls(texts, keep=0.6, invariant=True)


def matrix_of(rows: Sequence[Sequence[float]]) -> Figures:
    """Return a square matrix of probabilities, each row of which sums to 1."""
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("matrix", type(rows).__name__, "rows of numbers of equal length") from None
    if matrix.ndim != 2 or not matrix.size or matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameter("matrix", list(matrix.shape), "square, with one row or more")
    if not (np.all(matrix >= 0) and np.allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-9)):
        raise InvalidParameter("matrix", matrix.sum(axis=1).tolist(), "probabilities that sum to 1 in every row")
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def staying(size: int, keep: float) -> Figures:
    """Return the matrix under which each value stays with one probability and all others share the rest."""
    if size == 1:
        return np.ones((1, 1))
    others = (1 - keep) / (size - 1)
    return np.full((size, size), others) + np.eye(size) * (keep - others)


def invariant(matrix: Figures, shares: Figures) -> Figures:
    """Return a matrix under which the shares of values stay as they are, on average.

    It is the given matrix, and then the chance of each true value given the published one, by Bayes. With t the shares,
    (t P)_l Q_lk = t_k P_kl, so that t P Q = t.

    Args:
        matrix: a row for each true value.
        shares: how frequent each true value is.

    >>> invariant(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0.75, 0.25])).tolist()
    [[0.75, 0.25], [0.75, 0.25]]

    """
    together = matrix * shares[:, None]
    seen = together.sum(axis=0)
    # Values that are never published are never turned back.
    back = np.divide(together, seen, out=np.zeros_like(together), where=seen > 0).T
    both = matrix @ back
    lost = np.flatnonzero(both.sum(axis=1) < 1 - 1e-9)
    # A value that nobody has may be published only as what nobody has: it stays.
    both[lost] = np.eye(len(both))[lost]
    return np.asarray(both / both.sum(axis=1, keepdims=True))


def epsilon_of(matrix: Figures) -> float:
    """Return the epsilon of a matrix of local responses: the largest log-ratio of two entries of one column.

    It is that of local differential privacy only for a matrix fixed without looking at the rows.

    >>> round(epsilon_of(staying(2, 0.75)), 6) == round(math.log(3), 6)
    True

    """
    most, least = matrix.max(axis=0), matrix.min(axis=0)
    used = most > 0
    if np.any(least[used] == 0):
        return math.inf
    return float(np.log(most[used] / least[used]).max())
