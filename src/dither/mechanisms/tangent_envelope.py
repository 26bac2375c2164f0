"""Draws from a log-concave density over a ball of few dimensions, exact over the reals, without a random walk.

The density is e^(-f), f the logistic loss of given records. A tangent of a convex function lies below it; so boxes that
cover the ball, each with the tangent at its centre, are an envelope whose pieces are products of truncated exponential
laws and are drawn from directly. A point is kept with chance e^(tangent - f), and one that is kept has the density
itself. Boxes are divided where the envelope is loose until it is known that at least every sixteenth point is kept.
All numbers are floats, which is why releases that rest on this are idealised.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.noise import Noise

Floats = NDArray[np.float64]

#: The least share of the envelope that is known to be kept.
_LEAST_KEPT: Final = 1 / 16
#: Points that are tried at once: with the least share, all are rejected once in 60 times.
_TRIED: Final = 64
#: Numbers of one table of records and boxes.
_TABLE: Final = 2_000_000
_WORD: Final = 2**53
#: Below this product of slope and half width a truncated exponential law counts as uniform.
_LEVEL: Final = 1e-6
_SMALL: Final = 1e-300


class _Boxes(NamedTuple):
    """Boxes in the directions of the records, one a row."""

    centres: Floats
    halves: Floats
    heights: Floats  # f at the centre
    slopes: Floats
    masses: Floats  # logarithms: of the envelope over the whole box
    kept: Floats  # and of what is surely kept of it; of a box across the border nothing is
    axes: NDArray[np.int64]  # along which a box is divided next


class Envelope:
    """The envelope of e^(-f) over a ball, f(w) the sum over records a of ln(1 + e^(-a.w)) divided by the scale.

    Args:
        records: one a row, each of length 1 at most.
        radius: of the ball around 0.
        scale: of f.

    """

    def __init__(self, records: Floats, radius: float, scale: float) -> None:
        width = records.shape[1]
        # Boxes along the directions of the records: a ridge of the density then lies along a box.
        self._turn: Floats = np.asarray(np.linalg.eigh(records.T @ records)[1], dtype=np.float64)
        self._records: Floats = records @ self._turn
        self._radius, self._scale = radius, scale
        boxes = self._boxes(np.zeros((1, width)), np.full((1, width), radius))
        while not self._is_tight(boxes):
            boxes = self._divided(boxes)
        self.boxes = boxes
        self._until = np.cumsum(_shares(boxes.masses, boxes.masses))

    def loss(self, points: Floats) -> Floats:
        """Return f at points, one a row, in the directions of the boxes."""
        found: Floats = np.logaddexp(0.0, -(self._records @ points.T)).sum(axis=0) / self._scale
        return found

    def draw(self, noise: Noise) -> Floats:
        """Return one point of the ball."""
        boxes, width = self.boxes, self._records.shape[1]
        while True:
            uniform = (noise.uniform_below(_WORD, _TRIED * (width + 2)) + 0.5) / _WORD
            which, kept, *places = uniform.astype(np.float64).reshape(width + 2, _TRIED)
            found = np.minimum(np.searchsorted(self._until, which * self._until[-1]), len(boxes.centres) - 1)
            moves = _truncated(np.array(places).T, boxes.slopes[found], boxes.halves[found])
            points = boxes.centres[found] + moves
            tangents = boxes.heights[found] + (boxes.slopes[found] * moves).sum(axis=1)
            is_kept = (points * points).sum(axis=1) <= self._radius**2
            is_kept &= kept <= np.exp(np.minimum(tangents - self.loss(points), 0.0))
            if is_kept.any():
                turned: Floats = self._turn @ points[is_kept.argmax()]
                return turned

    def _is_tight(self, boxes: _Boxes) -> bool:
        return bool(_shares(boxes.kept, boxes.masses).sum() >= _LEAST_KEPT * _shares(boxes.masses, boxes.masses).sum())

    def _divided(self, boxes: _Boxes) -> _Boxes:
        """Return boxes of which those that hold half of what may be rejected are cut into halves."""
        loose = _shares(boxes.masses, boxes.masses) - _shares(boxes.kept, boxes.masses)
        order = np.argsort(-loose, kind="stable")
        running = np.cumsum(loose[order])
        cut = order[: int(np.searchsorted(running, running[-1] / 2)) + 1]
        rest = np.ones(len(loose), dtype=bool)
        rest[cut] = False
        rows, axes = np.arange(len(cut)), boxes.axes[cut]
        halves, shift = boxes.halves[cut].copy(), np.zeros_like(boxes.halves[cut])
        halves[rows, axes] /= 2
        shift[rows, axes] = halves[rows, axes]
        centres, halves = np.vstack([boxes.centres[cut] - shift, boxes.centres[cut] + shift]), np.vstack([halves] * 2)
        nearest = np.maximum(np.abs(centres) - halves, 0.0)
        meets = (nearest * nearest).sum(axis=1) <= self._radius**2
        new = self._boxes(centres[meets], halves[meets])
        return _Boxes(*(np.concatenate([old[rest], fresh]) for old, fresh in zip(boxes, new, strict=True)))

    def _boxes(self, centres: Floats, halves: Floats) -> _Boxes:
        """Return boxes with their tangents and masses, a table of limited size at a time."""
        several = max(1, _TABLE // max(1, len(self._records)))
        parts = [
            self._some_boxes(centres[first : first + several], halves[first : first + several])
            for first in range(0, len(centres), several)
        ]
        return _Boxes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _some_boxes(self, centres: Floats, halves: Floats) -> _Boxes:
        scores = self._records @ centres.T
        heights = np.logaddexp(0.0, -scores).sum(axis=0) / self._scale
        slopes = -((1 - np.tanh(scores / 2)) / 2).T @ self._records / self._scale
        # The steepest change of a slope within the box: a record's is largest where its score is nearest to 0.
        nearest = np.exp(-np.maximum(np.abs(scores) - np.abs(self._records) @ halves.T, 0.0))
        bends = (nearest / np.square(1 + nearest)).T @ np.square(self._records) / self._scale
        pulls = halves * np.sqrt(bends)
        gaps = np.square(pulls.sum(axis=1)) / 2
        masses = (np.log(2 * halves) + _log_mean(slopes * halves)).sum(axis=1) - heights
        inside = np.square(np.abs(centres) + halves).sum(axis=1) <= self._radius**2
        is_bent = (inside | (gaps > np.log(2))) & (pulls.max(axis=1) > 0)
        axes = np.where(is_bent, pulls.argmax(axis=1), halves.argmax(axis=1))
        return _Boxes(centres, halves, heights, slopes, masses, np.where(inside, masses - gaps, -np.inf), axes)


def _shares(logarithms: Floats, masses: Floats) -> Floats:
    """Return numbers by their logarithms, the largest mass being 1."""
    shares: Floats = np.exp(logarithms - masses.max())
    return shares


def _log_mean(products: Floats) -> Floats:
    """Return ln(sinh x / x): the logarithm of the mean of e^(-x t) for t in [-1, 1]."""
    far = np.maximum(np.abs(products), _LEVEL)
    means: Floats = np.where(
        np.abs(products) < _LEVEL, 0.0, far + np.log1p(-np.exp(-2 * far)) - np.log(2 * np.maximum(far, _SMALL))
    )
    return means


def _truncated(uniform: Floats, slopes: Floats, halves: Floats) -> Floats:
    """Return numbers in [-half, half] with density proportional to e^(-slope * x), from uniform ones in (0, 1)."""
    products = slopes * halves
    steep = np.maximum(np.abs(products), _LEVEL)
    # For a slope above 0 the lower end is likelier.
    found = -1 - np.log1p(uniform * np.expm1(-2 * steep)) / steep
    placed: Floats = halves * np.where(np.abs(products) < _LEVEL, 2 * uniform - 1, np.sign(products) * found)
    return np.clip(placed, -halves, halves)
