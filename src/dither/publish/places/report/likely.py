"""Likely places: noise shaped by the set of cells in which a public model expects the device to be.

The delta-location set is the smallest set of cells that has the probability 1 - delta under a **public** prior, which
may have been updated by earlier reports. A cell outside it counts as the nearest one inside. The noise is that of the
K-norm mechanism for the hull of all differences of two cells of the set; the paper's isotropic position is a linear
map, under which that law does not change. Cost: the hull once, then two draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data.places import Box, CellGrid
from dither.errors import InvalidParameter
from dither.exact import Of, Positive, Probability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import Category
from dither.mechanisms.k_norm import KNorm
from dither.privacy import Plan, Relation, Unit, Use

#: One report about one place, for any two places: relaxed, because a trace is many of them.
ONE_PLACE = Unit("place", Relation.REPLACE, "in one report; reports of a trace add up")


def _examples() -> Iterator[Example]:
    cells = CellGrid(Box.of(0, 0, 300, 400, plane=True), 4, 3)
    prior = np.array([1, 8, 8, 0, 4, 16, 8, 1, 0, 2, 2, 0], dtype=np.float64)
    pairs = ((5, 6, 1), (5, 0, 1), (11, 3, 1), (-7, 99, 1))
    yield Example(LikelyPlaces(cells=cells, prior=prior, delta="0.1", epsilon=1), 5, pairs)
    yield Example(LikelyPlaces(cells=cells, prior=np.eye(12)[5], delta="0.1", epsilon=1), 5, pairs)


@register(
    examples=_examples,
    source="Protecting Locations with Differential Privacy under Temporal Correlations (Xiao, Xiong 2015), sections 3 "
    "to 5; the Adelaide thesis, section 3.3",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class LikelyPlaces(Composed[Any, int]):
    """Report a cell, with noise shaped by the likely cells of a public prior.

    Guarantee: any two cells lose ``epsilon`` in one report: cells outside the likely set are moved into it first. The
    paper promises this for the likely cells only. It is NOT a promise for a person: reports of a trace add up.

    Args:
        cells: the grid; public.
        prior: how likely each cell is, from a public model and earlier reports alone.
        delta: how much probability the likely set may leave out; it says where accuracy is spent, not what is hidden.
        epsilon: the loss of one report.

    >>> cells = CellGrid(Box.of(0, 0, 100, 300, plane=True), 3, 1)
    >>> near = LikelyPlaces(cells=cells, prior=[6, 3, 1], delta="0.1", epsilon=1)
    >>> near.likely.tolist(), near.loss(1)
    ([0, 1], PureDP('1'))

    """

    name: ClassVar[str] = "likely-places"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a place that the model holds for unlikely is moved, any distance"
    no_interval_because: ClassVar[str] = no_error_because

    cells: Of[CellGrid] = Of(CellGrid, where=lambda grid: grid.cells <= 2**16, rule="a grid of at most 65,536 cells")
    prior: Array = Array("float", axes=1, within=(0, 1e15), rule="a number of at least 0 for each cell, not all 0")
    delta: Probability = Probability()
    epsilon: Positive = Positive(least=Positive().convert("least", "1e-6"), most=1000)

    def __post_init__(self) -> None:
        """Refuse a prior of another length or without any probability."""
        if len(self.prior.values) != self.cells.cells or not self.prior.values.sum() > 0:
            raise InvalidParameter("prior", self.prior, "a number of at least 0 for each cell, not all 0")

    @property
    def distance(self) -> Unit:
        """Another place in one report."""
        return ONE_PLACE

    @cached_property
    def likely(self) -> NDArray[np.int64]:
        """The smallest set of cells with the probability 1 - delta; of equally likely ones the first."""
        order = np.argsort(-self.prior.values, kind="stable")
        held = np.cumsum(self.prior.values[order])
        count = int(np.searchsorted(held, held[-1] * (1 - float(self.delta)) * (1 - 1e-12))) + 1
        return np.sort(order[:count])

    @cached_property
    def _inside(self) -> NDArray[np.int64]:
        """For each cell the nearest likely one."""
        places = self._columns(np.arange(self.cells.cells))
        likely = places[self.likely]
        found = [int(((likely - one) ** 2).sum(axis=1).argmin()) for one in places]
        return np.asarray(self.likely[found])

    def _columns(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.stack([cells % self.cells.columns, cells // self.cells.columns], axis=-1)

    @cached_property
    def noise(self) -> KNorm:
        """The noise for the hull of all differences of two likely cells."""
        return KNorm(vertices=PublicArray(difference_hull(self._columns(self.likely))), scale=1 / self.epsilon)

    def plan(self) -> Plan:
        """Return one draw: the difference of two likely cells lies in the hull."""
        return Use(self.noise)

    def release(self, data: Any, run: Runner) -> int:
        """Return the cell nearest to the noisy one."""
        cell = int(self._inside[Category(self.cells.cells).admit(data)])
        column, row = np.asarray(run(self.noise, self._columns(np.array(cell)).astype(np.float64))).tolist()
        columns, rows = self.cells.columns, self.cells.rows
        return int(min(max(round(row), 0), rows - 1) * columns + min(max(round(column), 0), columns - 1))


def difference_hull(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the corners, one of each pair of opposite ones, of the hull of all differences of two points.

    A hull without an area is given one by a step to each side.

    >>> difference_hull(np.array([[0, 0], [2, 0], [0, 1]])).tolist()
    [[0, 1], [2, -1], [2, 0]]
    """
    corners = _hull([(int(x), int(y)) for x, y in points])
    apart = {(a[0] - b[0], a[1] - b[1]) for a in corners for b in corners}
    found = _hull(sorted(apart))
    if len(found) < 3:
        found = _hull([*found, (1, 0), (-1, 0), (0, 1), (0, -1)])
    return np.array(sorted(corner for corner in found if corner > (0, 0)), dtype=np.int64)


def _hull(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the corners of the convex hull in order, without points on its sides, by integers."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(run: list[tuple[int, int]]) -> list[tuple[int, int]]:
        kept: list[tuple[int, int]] = []
        for point in run:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 0:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return half(ordered) + half(ordered[::-1])


def _turn(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
