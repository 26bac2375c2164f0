"""Clusters of a grid that is refined where many points lie, with a last noisy step at the centres it leads to.

For points of few columns in many clusters, or in clusters of uneven size and width. A coarse grid is counted; each of
its cells is divided into the more sub-cells the more points it seems to hold, and these are counted as well; plain
k-means on what was counted costs nothing more; a last step moves each centre to the mean of its own points. Cost: three
passes over the points, and k-means on the cells that seem to hold somebody. Corrections: cells that hold noise alone
drew centres away from small clusters, however rare they were; a cell now counts only if it stands out by itself, or
together with its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Text, Whole
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.clusters.best_centres import best_centres
from dither.learn.clusters.coreset import moved, step_moves, step_sums
from dither.learn.clusters.points import (
    MOST_CLUSTERS,
    ClustersModel,
    DeclaredFrame,
    from_steps,
    points_of,
    squared_distances,
)
from dither.learn.rows import STEPS, BoundField, Floats
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

Whole64 = NDArray[np.int64]

#: The parts of the loss that go to cells and to sub-cells; the rest is for the last step.
_CELLS, _SUB_CELLS = Fraction(2, 5), Fraction(21, 50)
_MOST_CELLS: Final = 2**18
_MOST_SIDE: Final = 64
_USUAL_RECORDS: Final = 10_000
#: Points lie on this number of steps along each column.
_LINE: Final = 2 * STEPS + 1
#: How many points, in deviations of the noise, a cell and a sub-cell are meant to hold.
_OF_A_CELL, _OF_A_SUB_CELL = 8.0, 2.0
_FINEST: Final = 32
#: A cell stands out alone above this multiple of ln(cells) scales of noise, and with its neighbours above this number
#: of deviations of what they hold together.
_ALONE: Final = 1.1
_TOGETHER: Final = 3.5
#: Points farther from a centre than this many spreads of its cluster are shortened in the last step.
_NEAR: Final = 1.2
_NARROWEST: Final = STEPS / 256
_ONE: Final = Moves(1, 1)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2, "side": 3, "room": 20}
    pure, gaussian = Geometric(scale=1), DiscreteGaussian(sigma=2)
    steps = Geometric(scale=2**14), DiscreteGaussian(sigma=2**14)
    yield Example(RefinedClusters(**public, cells=pure, sub_cells=pure, part=steps[0]), rows, others)
    yield Example(RefinedClusters(**public, cells=gaussian, sub_cells=gaussian, part=steps[1], unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differentially Private k-Means Clustering (Su, Cao, Li, Bertino, Jin 2016), section 5; Differentially "
    "Private Grids for Geospatial Data (Qardaji, Yang, Li 2013), section 4",
)
@dataclass(frozen=True, kw_only=True)
class RefinedClusters(DeclaredFrame, Composed[Any, ClustersModel]):
    """Count points in a grid that is refined where many seem to lie, cluster the counts, and move centres once.

    Guarantee: data ``d_in`` rows apart loses what ``cells`` and ``sub_cells`` lose at ``d_in``, and what ``part`` loses
    at ``d_in`` times what one point adds to the count and sum of its cluster (twice these for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        side: the number of cells of the coarse grid along each column.
        room: the largest number of sub-cells in all.
        cells: the noise of one count of the coarse grid.
        sub_cells: the noise of one count of a sub-cell.
        part: the noise of one number of the last step.
        public_seed: a public text that decides the starts of k-means.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP, PureDP
    >>> RefinedClusters.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10], clusters=3).side
    19
    >>> learner = RefinedClusters.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], clusters=3)
    >>> learner.loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "refined-clusters"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance of the centres of cells from those of points depends on the points"
    no_interval_because: ClassVar[str] = "the best centres have no known distance from those of a noisy grid"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    side: Whole = Whole(least=1, most=2**10)
    room: Whole = Whole(least=1, most=2 * _MOST_CELLS)
    cells: OneCount = OneCount()
    sub_cells: OneCount = OneCount()
    part: OneCount = OneCount()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        columns = self.frame.columns
        if columns > 18 or self.side**columns > _MOST_CELLS:
            raise InvalidParameter(
                "side", self.side, f"so small that {columns} columns have at most {_MOST_CELLS} cells"
            )
        if not self.side**columns <= self.room:
            raise InvalidParameter("room", self.room, f"at least {self.side**columns}, the number of cells")

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
            within: the loss not to exceed. A delta is not used where geometric noise of its epsilon is smaller.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            clusters: the number of centres.
            side: the number of cells along each column; by default one that suits the loss and ``records``.
            records: a public guess of the number of records.
            public_seed: a public text that decides the starts of k-means.
            unit: ROW or ROW_REPLACED.

        """
        touched = unit.touched if isinstance(unit, Unit) else 1
        purse = better_purse(within)
        cells = purse.share(_CELLS).noise(touched)
        columns = len(np.atleast_1d(np.asarray(lower)))
        width = _usual_side(columns, records, deviation(cells)) if side is None else side
        number = Whole(least=1, most=2**10).convert("side", width) ** columns
        return cls(
            lower=lower,
            upper=upper,
            clusters=clusters,
            side=width,
            room=min(max(4 * number, number + 2**13), 2 * _MOST_CELLS),
            cells=cells,
            sub_cells=purse.share(_SUB_CELLS).noise(touched),
            part=step_moves(columns).noise(purse.share(1 - _CELLS - _SUB_CELLS), touched),
            public_seed=public_seed,
            unit=unit,
        )

    @property
    def _shape(self) -> tuple[int, ...]:
        return (int(self.side),) * self.frame.columns

    def plan(self) -> Plan:
        """Return one draw of all cells, one of all sub-cells and one of the last step."""
        columns, touched = self.frame.columns, self.unit.touched
        return InOrder(
            (
                Use(of_shape(self.cells, self._shape), _ONE.stability(self.cells, touched)),
                Use(of_shape(self.sub_cells, (int(self.room),)), _ONE.stability(self.sub_cells, touched)),
                Use(
                    of_shape(self.part, (int(self.clusters), columns + 1)),
                    step_moves(columns).stability(self.part, touched),
                ),
            )
        )

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the centres after the last step. Between draws everything but the points is public."""
        columns, touched = self.frame.columns, self.unit.touched
        steps = self.frame.steps(points_of(data, columns))
        # Whole numbers: in which cell and sub-cell a point lies is decided exactly.
        along = (steps + STEPS).astype(np.int64) * int(self.side)
        inside = np.ravel_multi_index(tuple((along // _LINE).T), self._shape)
        given = np.bincount(inside, minlength=math.prod(self._shape)).reshape(self._shape)
        coarse = noisy_cells(run, self.cells, given, _ONE.stability(self.cells, touched))
        fine = self._finer(coarse)
        finer, place = fine[inside], np.zeros(len(steps), dtype=np.int64)
        for column in (along % _LINE).T:
            place = place * finer + column * finer // _LINE
        first = np.cumsum(fine**columns) - fine**columns
        held = np.bincount(first[inside] + place, minlength=int(self.room))
        seen = noisy_cells(run, self.sub_cells, held, _ONE.stability(self.sub_cells, touched))
        centres, spreads = self._settled(coarse, fine, seen)
        radii = np.maximum(np.rint(_NEAR * np.sqrt(spreads)), _NARROWEST)
        whole = np.clip(np.rint(centres), -STEPS, STEPS)
        sums = noisy_cells(
            run, self.part, step_sums(steps, whole, radii), step_moves(columns).stability(self.part, touched)
        )
        return from_steps(self.frame, *moved(sums, whole, radii, deviation(self.part)))

    def _finer(self, coarse: Floats) -> Whole64:
        """Return into how many parts each cell is cut along each column, from its noisy count."""
        columns, counts = self.frame.columns, coarse.ravel()
        wanted = np.maximum(counts / (_OF_A_SUB_CELL * deviation(self.sub_cells)), 0.0) ** (2 / (2 + columns))
        wanted[counts <= deviation(self.cells) * math.sqrt(max(math.log(counts.size), 1.0))] = 1.0
        fine = np.clip(np.rint(wanted), 1, _FINEST).astype(np.int64)
        # There is always room for one sub-cell a cell. In floats: 32 to the power of 18 wraps around in 64 bits.
        while (fine.astype(np.float64) ** columns).sum() > self.room:
            fine = np.maximum(fine - np.maximum(fine // 4, 1), 1)
        return fine

    def _settled(self, coarse: Floats, fine: Whole64, seen: Floats) -> tuple[Floats, Floats]:
        """Return the centres that released counts lead to, and the mean squared distance of what is theirs."""
        columns, many = self.frame.columns, fine**self.frame.columns
        owner = np.repeat(np.arange(fine.size), many)
        counts, variances = seen[: owner.size], (deviation(self.cells) ** 2, many * deviation(self.sub_cells) ** 2)
        # A cell was counted twice, once as the sum of its sub-cells, which take up the difference.
        sums = np.bincount(owner, weights=counts, minlength=fine.size)
        best = (coarse.ravel() * variances[1] + sums * variances[0]) / (variances[0] + variances[1])
        noise = np.sqrt(variances[0] * variances[1] / (variances[0] + variances[1]))
        weights = counts + ((best - sums) / many)[owner]
        places, widths = self._middles(fine, owner)
        least = np.where(
            many > 1,
            deviation(self.sub_cells) * np.sqrt(2 * np.log(np.maximum(many, 2))),
            noise * math.sqrt(max(math.log(fine.size), 1.0)),
        )
        kept = (weights > least[owner]) & self._stands_out(best, noise)[owner]
        if kept.sum() < self.clusters:
            kept = np.zeros(weights.size, dtype=bool)
            kept[np.argsort(-weights, kind="stable")[: self.clusters]] = True
        places, weights, widths = places[kept], np.maximum(weights[kept], 1e-6), widths[kept]
        if len(places) < self.clusters:
            places = np.concatenate([places, np.zeros((int(self.clusters) - len(places), columns))])
            weights, widths = (np.resize(column, len(places)) for column in (weights, widths))
        centres = best_centres(places, weights, self.clusters, public_seed=self.public_seed)
        squared = squared_distances(places, centres)
        nearest, apart = squared.argmin(axis=1), weights * (squared.min(axis=1) + columns * widths**2 / 12)
        mass = np.bincount(nearest, weights=weights, minlength=len(centres))
        spreads = np.bincount(nearest, weights=apart, minlength=len(centres)) / np.maximum(mass, 1e-300)
        return centres, np.where(mass > 0, spreads, float(apart.sum() / weights.sum()))

    def _stands_out(self, best: Floats, noise: Floats) -> NDArray[np.bool_]:
        """Return whether cells hold more than noise, by themselves or with the neighbours along each column."""
        alone = best > _ALONE * math.log(max(best.size, 2)) * noise / math.sqrt(2)
        counts, variances = best.reshape(self._shape), (noise**2).reshape(self._shape)
        together = np.stack([counts, variances])
        for axis in range(self.frame.columns):
            for there, here in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
                index: tuple[slice, ...] = (slice(None),) * axis
                together[0][*index, here] += counts[*index, there]
                together[1][*index, here] += variances[*index, there]
        found: NDArray[np.bool_] = alone | (together[0] > _TOGETHER * np.sqrt(together[1])).ravel()
        return found

    def _middles(self, fine: Whole64, owner: Whole64) -> tuple[Floats, Floats]:
        """Return the middles of all sub-cells, and their widths, in steps."""
        finer, wide = fine[owner], 2 * STEPS / self.side
        rest = np.arange(owner.size) - np.repeat(
            np.cumsum(fine**self.frame.columns) - fine**self.frame.columns, fine**self.frame.columns
        )
        places = np.empty((owner.size, self.frame.columns))
        for column, cell in reversed(list(enumerate(np.unravel_index(owner, self._shape)))):
            places[:, column] = (cell + (rest % finer + 0.5) / finer) * wide - STEPS
            rest = rest // finer
        return places, wide / finer


def better_purse(within: Loss) -> Purse:
    """Return the epsilon or the rho that a loss allows, whichever buys less noise for two counts of one record."""
    stated = Purse.within(within)
    if stated.is_pure:
        return stated
    try:
        pure = Purse.pure_within(within)
    except NoGuarantee:
        return stated
    return pure if deviation((pure / 2).noise()) < deviation((stated / 2).noise()) else stated


def _usual_side(columns: int, records: int, noise: float) -> int:
    """Return the number of cells along each column, which balances their width and their noise as in a plain grid."""
    across = math.pow(max(records / (_OF_A_CELL * noise), 4.0), 2 / (2 + columns))
    most = math.floor(math.pow(_MOST_CELLS, 1 / columns) + 1e-9)
    return max(min(round(across), most, _MOST_SIDE), 1)
