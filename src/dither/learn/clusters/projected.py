"""Clusters after a projection: points are projected to a few public random directions before they are divided.

For many columns, above all where the loss is pure, since the noise of a sum then grows with its columns. The tree of
moments divides projected points; a step in all columns then finds where their clusters lie, and a last one moves each
centre to the mean of its own points. Cost: one product with a small matrix, and a pass over the points a level.
Correction: it is printed that a Johnson-Lindenstrauss projection is private by itself. It is not: who knows the
matrix, or all rows but one, reads much of a row off its projection. The noise belongs to what is drawn of projected
points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Text, Whole, exact
from dither.learn.cell_noise import deviation, noisy_cells, of_shape
from dither.learn.clusters.coreset import MOST_LEVELS, moved, step_moves, step_sums, usual_depth
from dither.learn.clusters.lloyd import StepNoise
from dither.learn.clusters.moment_tree import COUNTED, NEAR, grow, into_balls, level_uses, noise_of_levels, sums_by
from dither.learn.clusters.points import (
    MOST_CLUSTERS,
    MOST_COLUMNS,
    ClustersModel,
    DeclaredFrame,
    from_steps,
    nearest,
    points_of,
)
from dither.learn.clusters.settled import settle
from dither.learn.clusters.where import ball_radius
from dither.learn.rows import STEPS, BoundField, Floats, blocks
from dither.learn.trees.bins import public_numbers
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: The parts of the loss that the tree and the first step in all columns take; the rest is for the last step.
TREE_SHARE: Final = Fraction(1, 2)
_LIFT_SHARE: Final = Fraction(3, 5)
_NARROWEST: Final = STEPS / 64


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.0, 0.5]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 1.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0, 0], "upper": [1, 8, 1], "clusters": 2, "directions": 2}
    gaussian, pure = DiscreteGaussian(sigma=2**14), Geometric(scale=2**15)
    yield Example(ProjectedClusters(**public, levels=(gaussian, gaussian), lift=gaussian, last=gaussian), rows, others)
    yield Example(ProjectedClusters(**public, levels=(pure,), lift=pure, last=pure, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differentially Private Clustering in High-Dimensional Euclidean Spaces (Balcan, Dick, Liang, Mou, Zhang "
    "2017); A Deterministic Analysis of Noisy Sparse Subspace Clustering for Dimensionality-reduced Data (Wang, Wang, "
    "Singh 2015)",
)
@dataclass(frozen=True, kw_only=True)
class ProjectedClusters(DeclaredFrame, Composed[Any, ClustersModel]):
    """Project points to a few public directions, divide them there, and find their centres in all columns.

    Guarantee: data ``d_in`` rows apart loses what each of ``levels`` loses at ``d_in`` times what one projected point
    adds to the count, sum and second moments of its node, and what ``lift`` and ``last`` lose at ``d_in`` times what
    one point adds to the count and sum of its cluster, in L1 or L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        directions: the number of public random directions of the projection.
        levels: the noise of one number of each level of the tree; all geometric or all Gaussian.
        lift: the noise of one number of the first step in all columns.
        last: the noise of one number of the last step.
        public_seed: a public text that decides the directions and the starts of k-means.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = ProjectedClusters.calibrated(PureDP(1), lower=[0] * 64, upper=[16] * 64, clusters=10)
    >>> learner.loss(1).epsilon <= 1, learner.directions
    (True, 4)

    """

    name: ClassVar[str] = "projected-clusters"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "what a projection keeps apart depends on the points"
    no_interval_because: ClassVar[str] = "the best centres have no known distance from those of projected points"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    directions: Whole = Whole(least=1, most=2**6)
    levels: StepNoise = StepNoise()
    lift: OneCount = OneCount()
    last: OneCount = OneCount()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if not 1 <= len(self.levels) <= MOST_LEVELS or len({type(part) for part in self.levels}) > 1:
            raise InvalidParameter("levels", self.levels, f"1 to {MOST_LEVELS} noises of one kind")
        if self.frame.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        directions: int | None = None,
        depth: int | None = None,
        share: Number = TREE_SHARE,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            clusters: the number of centres.
            directions: their number; by default the binary logarithm of the clusters, or columns if fewer.
            depth: the number of levels of the tree; by default one that suits the loss.
            share: the part of the loss that the tree takes.
            public_seed: a public text that decides the directions and starts.
            unit: ROW or ROW_REPLACED.

        """
        purse = Purse.within(within)
        first, columns = exact("share", share), len(np.atleast_1d(np.asarray(lower)))
        if not 0 < first < 1:
            raise InvalidParameter("share", share, "a number in (0, 1)")
        wanted = Whole(least=1, most=MOST_CLUSTERS).convert("clusters", clusters)
        across = min(columns, max(2, math.ceil(math.log2(wanted + 1)))) if directions is None else directions
        across = Whole(least=1, most=2**6).convert("directions", across)
        levels = (
            usual_depth(wanted, purse) if depth is None else Whole(least=1, most=MOST_LEVELS).convert("depth", depth)
        )
        touched = unit.touched if isinstance(unit, Unit) else 1
        rest = purse.share(1 - first)
        return cls(
            lower=lower,
            upper=upper,
            clusters=clusters,
            directions=across,
            levels=noise_of_levels(purse.share(first), across, levels, touched),
            lift=step_moves(columns).noise(rest.share(_LIFT_SHARE), touched),
            last=step_moves(columns).noise(rest.share(1 - _LIFT_SHARE), touched),
            public_seed=public_seed,
            unit=unit,
        )

    def plan(self) -> Plan:
        """Return one draw for each level, and two steps in all columns."""
        touched, columns = self.unit.touched, self.frame.columns
        tree = [Use(part, far) for part, far in level_uses(self.directions, self.levels, touched)]
        steps = [
            Use(of_shape(part, (self.clusters, columns + 1)), step_moves(columns).stability(part, touched))
            for part in (self.lift, self.last)
        ]
        return InOrder((*tree, *steps))

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the centres after the last step. Between draws everything but the points is public."""
        columns, touched = self.frame.columns, self.unit.touched
        steps = self.frame.steps(points_of(data, columns))
        short = self.projected(steps)
        leaves = grow(run, self.levels, short, touched=touched)
        places, _, spreads = settle(leaves, self.clusters, objective="means", public_seed=self.public_seed)
        moves = step_moves(columns)
        given = _lifted(steps, short, np.clip(np.rint(places), -STEPS, STEPS))
        seen = noisy_cells(run, self.lift, given, moves.stability(self.lift, touched))
        reach = np.full(self.clusters, float(ball_radius(columns)))
        whole = np.zeros((self.clusters, columns))
        centres, _ = moved(seen, whole, reach, deviation(self.lift))
        whole = np.clip(np.rint(centres), -STEPS, STEPS)
        # A direction sees its share of a spread: the columns have columns / directions times as much, squared.
        radii = np.maximum(np.rint(NEAR * np.sqrt(spreads * (columns / self.directions))), _NARROWEST)
        seen = noisy_cells(run, self.last, step_sums(steps, whole, radii), moves.stability(self.last, touched))
        return from_steps(self.frame, *moved(seen, whole, radii, deviation(self.last)))

    def projected(self, steps: Floats) -> Floats:
        """Return points projected to the public directions: integers of at most STEPS, each from its point alone."""
        count = (self.frame.columns, self.directions)
        signs = public_numbers(f"directions:{self.public_seed}", math.prod(count)).reshape(count) % 2 * 2.0 - 1.0
        # Sums of integers of at most 2^24 are exact in any order; what follows is rounded once.
        found: Floats = np.clip(np.rint((steps @ signs) / math.sqrt(self.frame.columns)), -STEPS, STEPS)
        return found


def _lifted(steps: Floats, short: Floats, places: Floats) -> NDArray[np.int64]:
    """Return exact sums and counts, in all columns, of the points that are nearest to each place after projection."""
    total = np.zeros((len(places), steps.shape[1] + 1), dtype=np.int64)
    reach = float(ball_radius(steps.shape[1]))
    for block in blocks(len(steps)):
        owner = nearest(short[block], places)
        inside = into_balls(steps[block], np.full(len(owner), reach))
        total[:, :-1] += sums_by(owner, len(places), inside).astype(np.int64)
        total[:, -1] += COUNTED * np.bincount(owner, minlength=len(places))
    return total
