"""Clusters of a grid: noisy counts of public cells, in which plain k-means then finds the centres.

For points of few columns, up to about five: the grid is drawn once, and any number of starts and steps on it costs
nothing more. Cost: one pass over the points, and k-means on the cells that seem to hold somebody. Corrections: the
number of cells is public and follows from the loss and a public guess of the number of records, where the
published rule takes the true number; noise in empty cells, which would pull centres to the middle, is cut off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Text, Whole
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.clusters.points import (
    MOST_CLUSTERS,
    ClustersModel,
    Frame,
    from_steps,
    points_of,
    spread_starts,
    weighted_clusters,
)
from dither.learn.declared import DeclaredUnit
from dither.learn.rows import STEPS, BoundField, Floats
from dither.learn.trees.bins import public_numbers
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

MOST_CELLS: Final = 2**20
_USUAL_RECORDS: Final = 10_000
_STARTS: Final = 12
_ONE: Final = Moves(1, 1)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2, "side": 3}
    yield Example(GridClusters(**public, part=Geometric(scale=1)), rows, others)
    yield Example(GridClusters(**public, part=DiscreteGaussian(sigma=2), unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differentially Private k-Means Clustering (Su, Cao, Li, Bertino, Jin 2016), section 4 (EUGkM)",
)
@dataclass(frozen=True, kw_only=True)
class GridClusters(DeclaredUnit, Composed[Any, ClustersModel]):
    """Count the points in the cells of a public grid, and cluster the noisy counts.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in`` (at twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        side: the number of cells of the grid along each column.
        part: the noise of one count.
        public_seed: a public text that decides the starts of k-means.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> GridClusters.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10], clusters=3).side
    32

    """

    name: ClassVar[str] = "grid-clusters"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance of the centres of cells from those of points depends on the points"
    no_interval_because: ClassVar[str] = "the best centres have no known distance from those of a noisy grid"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    side: Whole = Whole(least=1, most=2**10)
    part: OneCount = OneCount()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        columns = self.frame.columns
        if columns > 20 or self.side**columns > MOST_CELLS:
            raise InvalidParameter(
                "side", self.side, f"so small that {columns} columns have at most {MOST_CELLS} cells"
            )

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        side: int | None = None,
        records: int = _USUAL_RECORDS,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the grid with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            clusters: the number of centres.
            side: the number of cells of the grid along each column; by default one that suits the loss and ``records``.
            records: a public guess of the number of records.
            public_seed: a public text that decides the starts of k-means.
            unit: ROW or ROW_REPLACED.

        """
        touched = unit.touched if isinstance(unit, Unit) else 1
        part = Purse.within(within).noise(touched)
        columns = len(np.atleast_1d(np.asarray(lower)))
        width = usual_side(columns, records, deviation(part)) if side is None else side
        return cls(
            lower=lower, upper=upper, clusters=clusters, side=width, part=part, public_seed=public_seed, unit=unit
        )

    @cached_property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells of the grid."""
        return (int(self.side),) * self.frame.columns

    @property
    def stability(self) -> Fraction:
        """How far one unit moves all counts together."""
        return _ONE.stability(self.part, self.unit.touched)

    def plan(self) -> Plan:
        """Return one draw of all counts."""
        return Use(of_shape(self.part, self.shape), self.stability)

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the centres of the noisy grid; everything after the draw is post-processing."""
        shares = (self.frame.scaled(points_of(data, self.frame.columns)) + 1) / 2
        cells = np.minimum(np.floor(shares * self.side), self.side - 1).astype(np.int64)
        flat = np.ravel_multi_index(tuple(cells.T), self.shape)
        counts = np.bincount(flat, minlength=math.prod(self.shape)).reshape(self.shape).astype(np.int64)
        seen = noisy_cells(run, self.part, counts, self.stability).ravel()
        # Few of the empty cells exceed this by noise alone.
        kept = seen > deviation(self.part) * math.sqrt(max(math.log(seen.size), 1.0))
        if kept.sum() < self.clusters:
            kept = np.zeros(seen.size, dtype=bool)
            kept[np.argsort(-seen, kind="stable")[: self.clusters]] = True
        places, weights = self._middles()[kept], np.maximum(seen[kept], 0.0)
        numbers = public_numbers(f"starts:{self.public_seed}", _STARTS * self.clusters).reshape(_STARTS, -1) / 2.0**32
        starts = spread_starts(places, weights, self.clusters, numbers)
        return from_steps(self.frame, *weighted_clusters(places, weights, self.clusters, starts))

    def _middles(self) -> Floats:
        """Return the middles of all cells, in steps."""
        axis = ((np.arange(self.side) + 0.5) / self.side * 2 - 1) * STEPS
        axes = np.meshgrid(*[axis] * self.frame.columns, indexing="ij")
        return np.stack([along.ravel() for along in axes], axis=1)


def usual_side(columns: int, records: int, noise: float) -> int:
    """Return the number of cells along each column: (records / (7 noise))^(2d / (2 + d)) cells in all, as published."""
    across = math.pow(max(records / (7 * noise), 4.0), 2 / (2 + columns))
    most = math.floor(math.pow(MOST_CELLS, 1 / columns) + 1e-9)
    return max(min(round(across), most, 128), 2)
