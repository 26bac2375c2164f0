"""Points as integers, their nearest centres, and the model of released centres.

A point is clipped to its bounds, put on the grid, moved by a public shift and shortened to a public length. Its nearest
centre is found in integers below 2^53, which floats hold exactly in any order of additions: where a point
belongs depends on the point and on public centres alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.learn.declared import DeclaredUnit
from dither.learn.models import Model, model
from dither.learn.rows import STEPS, BoundField, Box, Floats, blocks
from dither.mechanisms.core.public import PublicArray

#: The longest point, in whole steps.
LENGTH: Final = 2**14
MOST_CLUSTERS: Final = 2**10
MOST_COLUMNS: Final = 2**12


@dataclass(frozen=True)
class Frame:
    """Public bounds of columns, scaled so that the middle is 0 and the ends are -1 and 1: all columns count alike.

    NaN means the middle, everything beyond a bound means the bound.
    """

    lower: PublicArray
    upper: PublicArray

    def __post_init__(self) -> None:
        Box(self.lower, self.upper)

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.lower.values.size

    def scaled(self, values: Floats) -> Floats:
        """Return numbers in [-1, 1]; elementwise, so that a point's result depends on that point alone."""
        low, high = self.lower.values, self.upper.values
        with np.errstate(all="ignore"):
            known = np.where(np.isnan(values), low / 2 + high / 2, values)
            inside: Floats = np.clip(2 * ((np.clip(known, low, high) - low) / (high - low)) - 1, -1.0, 1.0)
        return inside

    def steps(self, values: Floats) -> Floats:
        """Return integers between -STEPS and STEPS, as floats."""
        return np.rint(self.scaled(values) * STEPS)

    def places(self, scaled: Floats) -> Floats:
        """Return numbers in [-1, 1] converted to the columns' own units."""
        found: Floats = self.lower.values + (scaled + 1) / 2 * (self.upper.values - self.lower.values)
        return found


class DeclaredFrame(DeclaredUnit):
    """A learner from points within declared bounds."""

    lower: BoundField
    upper: BoundField

    @cached_property
    def frame(self) -> Frame:
        """The bounds, and their grid."""
        return Frame(self.lower, self.upper)


def points_of(data: Any, columns: int) -> Floats:
    """Return private points as floats: rows of ``columns`` numbers. Refuses types and widths alone."""
    if not (isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and data.ndim == 2 and data.shape[1] == columns):
        raise InvalidValue("data", data, f"an array of numbers, {columns} a row")
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(data, dtype=np.float64)


def nearest(points: Floats, centres: Floats) -> NDArray[np.int64]:
    """Return the nearest centre of each point, the first of several, in exact integers.

    Args:
        points: integers, of at most ``LENGTH`` in length.
        centres: integers, of at most ``2 * LENGTH`` in each coordinate.

    """
    closeness = 2 * (points @ centres.T) - (centres * centres).sum(axis=1)
    return np.asarray(closeness.argmax(axis=1), dtype=np.int64)


def cluster_sums(points: Floats, centres: Floats, counted: int) -> NDArray[np.int64]:
    """Return for each centre the exact sum of its points, and ``counted`` times their number."""
    total = np.zeros((len(centres), points.shape[1] + 1), dtype=np.int64)
    for block in blocks(len(points)):
        inside = points[block]
        belongs = np.zeros((len(inside), len(centres)))
        belongs[np.arange(len(inside)), nearest(inside, centres)] = 1.0
        total[:, :-1] += (belongs.T @ inside).astype(np.int64)
        total[:, -1] += counted * belongs.sum(axis=0).astype(np.int64)
    return total


@model
@dataclass(frozen=True)
class ClustersModel(Model):
    """Released centres; a row belongs to the nearest one, in columns scaled by their bounds.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        centres: one a row, in columns scaled to [-1, 1].
        weights: the approximate number of records of each.

    """

    kind: ClassVar[str] = "clusters"

    lower: PublicArray
    upper: PublicArray
    centres: PublicArray
    weights: PublicArray

    def __post_init__(self) -> None:
        columns = self.frame.columns
        if not (self.centres.values.ndim == 2 and self.centres.values.shape[1] == columns):
            raise InvalidParameter("centres", self.centres, f"{columns} numbers for each centre")
        if self.weights.values.shape != (len(self.centres.values),):
            raise InvalidParameter("weights", self.weights, "one for each centre")

    @property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def places(self) -> Floats:
        """The centres in the columns' own units."""
        return self.frame.places(self.centres.values)

    def distances(self, values: Floats) -> Floats:
        """Return the distance of each row from each centre, in scaled columns."""
        scaled = self.frame.scaled(values)
        centres = self.centres.values
        squared = (scaled**2).sum(axis=1)[:, None] - 2 * scaled @ centres.T + (centres**2).sum(axis=1)
        found: Floats = np.sqrt(np.maximum(squared, 0.0))
        return found

    def labels(self, values: Floats) -> NDArray[np.int64]:
        """Return the centre of each row."""
        found: NDArray[np.int64] = self.distances(values).argmin(axis=1)
        return found


def from_steps(frame: Frame, centres: Floats, weights: Floats) -> ClustersModel:
    """Return the model of centres given in steps, kept within the bounds."""
    scaled = np.clip(centres / STEPS, -1.0, 1.0)
    return ClustersModel(frame.lower, frame.upper, PublicArray(scaled), PublicArray(np.maximum(weights, 0.0)))


def weighted_clusters(
    places: Floats, weights: Floats, clusters: int, starts: Iterator[Floats]
) -> tuple[Floats, Floats]:
    """Return the best centres of weighted public points over several starts, and their weights: plain Lloyd.

    Args:
        places: public points, one a row.
        weights: the weight of each; not negative.
        clusters: the number of centres.
        starts: centres to start from.

    """
    best: tuple[Floats, Floats] | None = None
    cost = np.inf
    for start in starts:
        centres = start.copy()
        for _ in range(50):
            owner = squared_distances(places, centres).argmin(axis=1)
            mass = np.bincount(owner, weights=weights, minlength=clusters)
            sums = np.stack(
                [np.bincount(owner, weights=weights * column, minlength=clusters) for column in places.T], axis=1
            )
            moved = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-300)[:, None], centres)
            if np.array_equal(moved, centres):
                break
            centres = moved
        squared = squared_distances(places, centres)
        total = float((weights * squared.min(axis=1)).sum())
        if best is None or total < cost:
            held = np.bincount(squared.argmin(axis=1), weights=weights, minlength=clusters)
            best, cost = (centres, held.astype(np.float64)), total
    if best is None:
        raise InvalidParameter("starts", starts, "at least one")
    return best


def spread_starts(places: Floats, weights: Floats, clusters: int, numbers: NDArray[np.float64]) -> Iterator[Floats]:
    """Yield centres to start from: heavy points far from one another (k-means++), one start for each row of numbers.

    Args:
        places: public points.
        weights: the weight of each.
        clusters: the number of centres.
        numbers: public numbers in [0, 1), ``clusters`` a row.

    """
    for row in numbers:
        chosen: list[int] = []
        squared = np.ones(len(places))
        for number in row:
            mass = np.cumsum(weights * squared)
            if mass[-1] <= 0:
                mass = np.cumsum(np.ones(len(places)))
            chosen.append(int(min(np.searchsorted(mass, number * mass[-1], side="right"), len(places) - 1)))
            distance = ((places - places[chosen[-1]]) ** 2).sum(axis=1)
            squared = distance if len(chosen) == 1 else np.minimum(squared, distance)
        yield places[chosen]


def squared_distances(places: Floats, centres: Floats) -> Floats:
    """Return the squared distance of each place from each centre."""
    squared = (places**2).sum(axis=1)[:, None] - 2 * places @ centres.T + (centres**2).sum(axis=1)
    closest: Floats = np.maximum(squared, 0.0)
    return closest
