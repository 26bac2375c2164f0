"""What a reader gets back from a distorted matrix: angles of pairs, the neighbour of a known row, all rows from a few.

The steps of the attacks in ``attack.perturbation``, and those attacks run on a release of one's own, such as those of
``disguise.matrices``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

Matrix = NDArray[np.float64]
#: Two degrees.
_WITHIN: Final = float(np.pi / 90)


def noise_level(released: Matrix) -> float:
    """Return the standard deviation of the noise, if the last direction of the rows holds nothing else."""
    return float(np.linalg.svd(released, compute_uv=False)[-1] / np.sqrt(len(released)))


def usable_rank(released: Matrix, level: float) -> int | None:
    """Return the largest rank whose last singular value, and the gap after it, both exceed the norm of the noise."""
    values = np.linalg.svd(released, compute_uv=False)
    bound = level * (np.sqrt(len(released)) + np.sqrt(released.shape[1]))
    gaps = values - np.append(values[1:], 0.0)
    fit = np.flatnonzero((values >= bound) & (gaps >= bound))
    return int(fit[-1]) + 1 if fit.size else None


def denoised(released: Matrix) -> Matrix:
    """Return the rows without the part below the noise, if the release shows a rank above it."""
    rank = usable_rank(released, noise_level(released))
    if rank is None:
        return released
    left, values, right = np.linalg.svd(released, full_matrices=False)
    return np.asarray((left[:, :rank] * values[:rank]) @ right[:rank])


def angles(first: Matrix, second: Matrix) -> NDArray[np.float64]:
    """Return the angle between each row of ``first`` and the same row of ``second``."""
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray(np.arccos(np.clip((first * second).sum(axis=1) / np.maximum(lengths, 1e-300), -1.0, 1.0)))


def rotation_between(known: Matrix, released: Matrix) -> Matrix:
    """Return the orthogonal matrix that takes the known rows nearest to the released ones (Procrustes).

    If the release has fewer columns, its columns are orthonormal.
    """
    left, _, right = np.linalg.svd(known.T @ released, full_matrices=False)
    return np.asarray(left @ right)


@dataclass(frozen=True)
class Undone:
    """What the attacks get from one release.

    Args:
        angle_pairs: the share of pairs of people whose angle is known to within two degrees.
        one_record: the median relative error of a nearest row, told from one known row.
        known_set: the median relative error of the other rows, told from the known ones by Procrustes or least squares.
        known: how many rows were known.
        span: how many directions they span; the rotation is known along these alone.

    """

    angle_pairs: float
    one_record: float
    known_set: float
    known: int
    span: int

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)


def angle_pairs(true: Matrix, released: Matrix, within: float = _WITHIN) -> float:
    """Return the share of pairs of rows whose angle in the release is the true one to within a tolerance in radians.

    Pairs with a row of zeros have no angle and are left out.
    """
    there = np.flatnonzero((true != 0).any(axis=1) & (released != 0).any(axis=1))
    if len(there) < 2:
        raise InvalidParameter("rows", len(there), "two or more that are not zero")
    first, second = np.triu_indices(len(there), 1)
    seen = [np.arccos(np.clip(_cosines(one[there]), -1.0, 1.0))[first, second] for one in (true, released)]
    return float(np.mean(np.abs(seen[0] - seen[1]) <= within))


def undone(true: Matrix, released: Matrix, known: Collection[int]) -> Undone:
    """Return what a reader who knows some rows gets from a release, with or without a cut at the level of the noise.

    Each figure is the better of the two for the reader.

    Args:
        true: the rows as they are.
        released: the same rows, in the same order, as they were published; it may have fewer columns.
        known: the places of the rows that the reader knows.

    """
    if len(true) != len(released):
        raise InvalidParameter("released", len(released), f"a matrix with the rows of the true one, {len(true)}")
    places = np.unique(np.fromiter(known, dtype=np.int64, count=len(known)))
    if not 0 < len(places) < len(true):
        raise InvalidParameter("known", len(places), f"at least one row and fewer than all {len(true)}")
    # Cutting off what looks like noise helps where there is noise and harms where there is none.
    tries = [_tried(true, view, places) for view in (released, denoised(released))]
    return Undone(
        angle_pairs=max(one.angle_pairs for one in tries),
        one_record=min(one.one_record for one in tries),
        known_set=min(one.known_set for one in tries),
        known=len(places),
        span=int(np.linalg.matrix_rank(true[places])),
    )


def _tried(true: Matrix, view: Matrix, places: NDArray[np.int64]) -> Undone:
    back = rotation_between(true[places], view[places])
    # A rotation is fitted well by few rows; a stretch or a cut to fewer columns needs a map of any kind.
    fitted = np.linalg.lstsq(view[places], true[places], rcond=None)[0]
    unknown = np.setdiff1d(np.arange(len(true)), places)
    cosines = _cosines(view)
    np.fill_diagonal(cosines, -np.inf)
    nearest = cosines[places].argmax(axis=1)
    sizes = np.linalg.norm(view, axis=1)
    # A small angle means proportional rows: a copied row is rescaled.
    copies = true[places] * (sizes[nearest] / np.maximum(sizes[places], 1e-300))[:, None]
    return Undone(
        angle_pairs=angle_pairs(true, view),
        one_record=_median_error(copies, true[nearest]),
        known_set=min(_median_error(view[unknown] @ map_back, true[unknown]) for map_back in (back.T, fitted)),
        known=len(places),
        span=int(np.linalg.matrix_rank(true[places])),
    )


def _cosines(rows: Matrix) -> Matrix:
    directions = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return np.asarray(directions @ directions.T)


def _median_error(guesses: Matrix, truth: Matrix) -> float:
    sizes = np.maximum(np.linalg.norm(truth, axis=1), 1e-300)
    return float(np.median(np.linalg.norm(guesses - truth, axis=1) / sizes))
