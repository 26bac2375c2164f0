"""The K-norm mechanism for a polytope: noise shaped like the set of all changes that one unit can cause.

For real vectors whose change lies in a public convex body K, under pure differential privacy; K is the convex hull of
public points and their negatives. The better K fits, the less noise. For L1 that is Laplace noise, for the largest
entry ``max_norm``, for the Euclidean length ``gamma_norm``. Cost: one draw an entry; finding the facets is done once,
exactly, by trying all sets of d corners. Nothing is walked at random: the facets are cones over simplices, from which
the law is drawn directly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, Positive, non_negative, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.grid import Grid
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics, Primitive
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import RealArray
from dither.mechanisms.core.vector_noise import gamma_reach, rounded_vectors
from dither.noise import Noise
from dither.noise.laplace import Integers
from dither.privacy import L1, Loss, Metric, PureDP, laplace_scale

_LARGEST_ENTRY = 2**20
_MOST_TRIALS = 5000
_RULE = "integer rows of at most 2^20 that, with their negatives, are the corners of a polytope"


class Facets(NamedTuple):
    """The facets of a polytope around the origin, all of them simplices."""

    corners: Integers  # facet, corner, column
    weights: list[int]  # the volumes of the cones over them, times d!
    normals: list[tuple[Fraction, ...]]  # a with a.z = 1 on the facet and below 1 on the rest of the polytope


@lru_cache(maxsize=64)
def facets(vertices: PublicArray) -> Facets:
    """Return the facets of the convex hull of the rows and their negatives, found exactly.

    Raises:
        InvalidParameter: the rows span no body of full dimension, some facet has more corners than dimensions, or
            there are too many rows.

    """
    rows = _checked(vertices)
    points = sorted({tuple(sign * entry for entry in row) for row in rows for sign in (1, -1)})
    dimension = len(rows[0])
    if math.comb(len(points), dimension) > _MOST_TRIALS:
        raise InvalidParameter("vertices", vertices, f"so few that at most {_MOST_TRIALS} sets of corners are tried")
    corners, weights, normals = [], [], []
    for chosen in itertools.combinations(points, dimension):
        solved = _normal(chosen)
        if solved is None:
            continue
        normal, volume = solved
        heights = [_dot(normal, point) for point in points]
        if max(heights) == 1:
            if sum(height == 1 for height in heights) > dimension:
                raise InvalidParameter(
                    "vertices", vertices, "corners of a body without a facet of more corners than dimensions"
                )
            corners.append(chosen)
            weights.append(volume)
            normals.append(normal)
    if not corners:
        raise InvalidParameter("vertices", vertices, "rows that span the whole space")
    return Facets(np.array(corners, dtype=np.int64), weights, normals)


def _checked(vertices: PublicArray) -> list[list[int]]:
    array = vertices.values
    if array.ndim != 2 or array.dtype.kind != "i" or np.abs(array.astype(object)).max() > _LARGEST_ENTRY:
        raise InvalidParameter("vertices", vertices, _RULE)
    rows: list[list[int]] = array.tolist()
    return rows


def _normal(corners: tuple[tuple[int, ...], ...]) -> tuple[tuple[Fraction, ...], int] | None:
    """Return a with a.v = 1 for all corners v, and |det v|; None if the corners are linearly dependent."""
    size = len(corners)
    rows = [[Fraction(entry) for entry in corner] + [Fraction(1)] for corner in corners]
    volume = Fraction(1)
    for column in range(size):
        pivot = next((row for row in range(column, size) if rows[row][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column][column]
        volume *= abs(head)
        rows[column] = [entry / head for entry in rows[column]]
        for row in range(size):
            if row != column and (factor := rows[row][column]):
                rows[row] = [entry - factor * other for entry, other in zip(rows[row], rows[column], strict=True)]
    return tuple(row[-1] for row in rows), int(volume)


def _dot(normal: tuple[Fraction, ...], point: Any) -> Fraction:
    return sum((a * b for a, b in zip(normal, point, strict=True)), Fraction(0))


class Gauge(Metric):
    """The norm whose unit ball is the polytope."""

    def __init__(self, vertices: PublicArray) -> None:
        super().__init__("GAUGE", "the least multiple of a public polytope that holds the change")
        self._vertices = vertices

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the largest height of the change over all facets."""
        normals = facets(self._vertices).normals
        # L1 knows which values have no distance; the change of the others is rational.
        here, there = np.asarray(first, dtype=object).ravel(), np.asarray(second, dtype=object).ravel()
        if here.size != len(normals[0]) or L1.measure(here, there) is None:
            return None
        change = [_rational(a) - _rational(b) for a, b in zip(here, there, strict=True)]
        return max(_dot(normal, change) for normal in normals)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gauge) and self._vertices == other._vertices

    def __hash__(self) -> int:
        return hash(self._vertices)


def _rational(entry: Any) -> Fraction:
    return Fraction(entry.item() if isinstance(entry, np.generic) else entry)


def _examples() -> Iterator[Example]:
    hexagon = PublicArray(np.array([[1, 0], [0, 1], [1, 1]]))
    yield Example(KNorm(vertices=hexagon, scale=2, grid=4), np.array([0, 0]), _neighbours(hexagon))
    spindle = PublicArray(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]))
    yield Example(KNorm(vertices=spindle, scale=10), np.array([1.5, -2.25, 1e6]), _neighbours(spindle))


def _neighbours(vertices: PublicArray) -> tuple[tuple[Any, Any, int], ...]:
    start = np.zeros(vertices.values.shape[1], dtype=np.int64)
    return tuple((start, start + vertex, 1) for vertex in vertices.values)


@register(examples=_examples, source="On the Geometry of Differential Privacy (Hardt, Talwar 2010), section 4")
@dataclass(frozen=True, kw_only=True)
class KNorm(Primitive[Any, NDArray[Any]]):
    """Add a vector with density proportional to e^(-|z|_K / scale), K a polytope, and round the sum to a public grid.

    Guarantee: values whose difference lies in ``d_in`` times K lose epsilon = ``d_in / scale``.

    Args:
        vertices: integer points, one a row; K is the convex hull of them and their negatives. Every facet of K must be
            a simplex, which points in general position give.
        scale: the scale of the noise; |Z|_K / scale is Gamma distributed with shape d, the number of entries.
        grid: the step of the released numbers; by default a power of two near a thousandth of the scale.

    >>> hexagon = PublicArray([[2, 0], [1, 2], [-1, 2]])
    >>> shaped = KNorm(vertices=hexagon, scale=2)
    >>> shaped.loss(1), shaped.distance.measure([5, 5], [6, 7])
    (PureDP('1/2'), Fraction(1, 1))

    """

    name: ClassVar[str] = "k-norm"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    vertices: Of[PublicArray] = Of(PublicArray, rule="a PublicArray")
    scale: Positive = Positive()
    grid: Grid = Grid("scale")

    def __post_init__(self) -> None:
        facets(self.vertices)

    @classmethod
    def calibrated(
        cls, within: Loss, *, vertices: PublicArray, sensitivity: Number, grid: Number | None = None
    ) -> KNorm:
        """Return the mechanism with the least noise whose loss at ``sensitivity`` times K is within ``within``."""
        return cls(vertices=vertices, scale=laplace_scale(within, sensitivity), grid=grid)

    @property
    def distance(self) -> Metric:
        """The norm whose unit ball is K."""
        return Gauge(self.vertices)

    @property
    def domain(self) -> RealArray:
        """A vector of real numbers."""
        return RealArray(self.draw_shape)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One entry for each dimension of K."""
        return (self.vertices.values.shape[1],)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale."""
        return PureDP(non_negative("d_in", d_in) / self.scale)

    def error(self, confidence: Number) -> Bound:
        """Return the reach of the noise in its widest direction."""
        wanted, reach = self._reach(confidence)
        return Bound(float(reach.max()), wanted, "the largest absolute error of any entry")

    def interval(self, out: NDArray[Any], confidence: Number) -> Interval:
        """Return the reach of the noise around every entry, for all entries at once."""
        wanted, reach = self._reach(confidence)
        return Interval(out - reach, out + reach, wanted)

    def _reach(self, confidence: Number) -> tuple[Fraction, NDArray[np.float64]]:
        wanted = probability("confidence", confidence, open_below=True)
        # An entry of a point of r * K is at most r times the largest such entry of a corner.
        norm = gamma_reach(self.draw_shape[0], self.scale, share_of_failure(wanted))
        return wanted, np.abs(self.vertices.values).max(axis=0) * norm + float(self.grid) / 2

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + Z) to the grid."""
        cones = facets(self.vertices)
        return rounded_vectors(
            self.domain.admit(value),
            self.scale,
            self.grid,
            lambda width, steps: noise.rounded_conical(
                width, steps.offset, steps.exact_offset, count, corners=cones.corners, weights=cones.weights
            ),
        )
