"""Clusters of a private coreset: a tree of noisy moments gives weighted points, in which k-means finds the centres.

For many clusters and several columns, where Lloyd's algorithm from a start without data ends in a poor optimum and a
grid has too many cells. The tree divides points along the direction in which they lie most widely, so that clusters
come apart level by level; any number of starts on its leaves costs nothing; a last noisy step moves each centre to the
mean of its own points. Cost: one pass over the points a level. Corrections: published coresets are grids of
exponentially many cells about good centres, which are theory; trees of random hyperplanes divide without looking, and
need several times as many leaves.
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
from dither.exact import Number, OneOf, Text, Whole, exact
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.clusters.lloyd import StepNoise
from dither.learn.clusters.moment_tree import COUNTED, NEAR, grow, into_balls, level_uses, noise_of_levels, sums_by
from dither.learn.clusters.points import (
    LENGTH,
    MOST_CLUSTERS,
    MOST_COLUMNS,
    ClustersModel,
    DeclaredFrame,
    from_steps,
    nearest,
    points_of,
)
from dither.learn.clusters.settled import OBJECTIVES, settle
from dither.learn.rows import CACHED_ROWS, STEPS, BoundField, Floats, blocks
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: The part of the loss that the tree takes; the rest is for the last steps.
TREE_SHARE: Final = Fraction(7, 10)
MOST_LEVELS: Final = 14
_MOST_NUMBERS: Final = 2**24
#: A median is moved by what points within this many spreads of a leaf say.
_MEDIAN_NEAR: Final = 1.0
#: A cluster whose count is below this number of standard deviations of its noise stays where it is.
_HELD: Final = 2.0
#: No cluster is assumed to be narrower than this, in steps.
_NARROWEST: Final = STEPS / 64


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2}
    gaussian, pure = DiscreteGaussian(sigma=2**14), Geometric(scale=2**15)
    yield Example(CoresetClusters(**public, levels=(gaussian, gaussian), parts=(gaussian,)), rows, others)
    yield Example(
        CoresetClusters(**public, levels=(pure, pure), parts=(), objective="medians", unit=ROW_REPLACED), rows
    )


@register(
    examples=_examples,
    source="Private Coresets (Feldman, Fiat, Kaplan, Nissim 2009); Differentially Private Clustering: Tight "
    "Approximation Ratios (Ghazi, Kumar, Manurangsi 2020); Practical Differentially Private Clustering (Chang, Kamath "
    "2021); Analyze Gauss (Dwork, Talwar, Thakurta, Zhang 2014)",
)
@dataclass(frozen=True, kw_only=True)
class CoresetClusters(DeclaredFrame, Composed[Any, ClustersModel]):
    """Divide points by a tree of noisy moments, and cluster its leaves.

    Guarantee: data ``d_in`` rows apart loses what each of ``levels`` loses at ``d_in`` times what one point adds to the
    count, sum and second moments of its node, and what each of ``parts`` loses at ``d_in`` times what it adds to the
    count and sum of its cluster, in L1 or L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        levels: the noise of one number of each level of the tree; all geometric or all Gaussian.
        parts: the noise of one number of each last step.
        objective: "means" for small squared distances, "medians" for small distances.
        public_seed: a public text that decides the starts of k-means.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = CoresetClusters.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], clusters=10)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), len(learner.levels)
    (True, 7)

    """

    name: ClassVar[str] = "coreset-clusters"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well leaves represent their points depends on the points"
    no_interval_because: ClassVar[str] = "the best centres have no known distance from those of a noisy coreset"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    levels: StepNoise = StepNoise()
    parts: StepNoise = StepNoise()
    objective: OneOf = OneOf(*OBJECTIVES, default="means")
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if not 1 <= len(self.levels) <= MOST_LEVELS or len({type(part) for part in self.levels}) > 1:
            raise InvalidParameter("levels", self.levels, f"1 to {MOST_LEVELS} noises of one kind")
        numbers = self.frame.columns * max(2 ** len(self.levels), self.clusters)
        if self.frame.columns > MOST_COLUMNS or numbers > _MOST_NUMBERS:
            raise InvalidParameter("levels", self.levels, f"so few that a draw has at most {_MOST_NUMBERS} numbers")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        depth: int | None = None,
        steps: int | None = None,
        share: Number = TREE_SHARE,
        objective: str = "means",
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            clusters: the number of centres.
            depth: the number of levels of the tree; by default enough for two or more leaves a cluster.
            steps: the number of last steps; by default one, or two where the loss has a delta.
            share: the part of the loss that the tree takes.
            objective: "means" or "medians".
            public_seed: a public text that decides the starts of k-means.
            unit: ROW or ROW_REPLACED.

        """
        purse = Purse.within(within)
        first, columns = exact("share", share), len(np.atleast_1d(np.asarray(lower)))
        if not 0 < first < 1:
            raise InvalidParameter("share", share, "a number in (0, 1)")
        wanted = Whole(least=1, most=MOST_CLUSTERS).convert("clusters", clusters)
        levels = (
            usual_depth(wanted, purse) if depth is None else Whole(least=1, most=MOST_LEVELS).convert("depth", depth)
        )
        last = (1 if purse.is_pure else 2) if steps is None else Whole(least=0, most=2**10).convert("steps", steps)
        first = first if last else Fraction(1)
        touched = unit.touched if isinstance(unit, Unit) else 1
        return cls(
            lower=lower,
            upper=upper,
            clusters=clusters,
            levels=noise_of_levels(purse.share(first), columns, levels, touched),
            parts=tuple(step_moves(columns).noise(purse.share(1 - first) / last, touched) for _ in range(last)),
            objective=objective,
            public_seed=public_seed,
            unit=unit,
        )

    def plan(self) -> Plan:
        """Return one draw for each level, and one for each last step."""
        columns, touched = self.frame.columns, self.unit.touched
        tree = [Use(part, moved) for part, moved in level_uses(columns, self.levels, touched)]
        last = [
            Use(of_shape(part, (self.clusters, columns + 1)), step_moves(columns).stability(part, touched))
            for part in self.parts
        ]
        return InOrder((*tree, *last))

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the centres after the last step. Between draws everything but the points is public."""
        columns, touched = self.frame.columns, self.unit.touched
        steps = self.frame.steps(points_of(data, columns))
        leaves = grow(run, self.levels, steps, touched=touched)
        centres, weights, spreads = settle(
            leaves, self.clusters, objective=self.objective, public_seed=self.public_seed
        )
        near = NEAR if self.objective == "means" else _MEDIAN_NEAR
        radii = np.maximum(np.rint(near * np.sqrt(spreads)), _NARROWEST)
        for part in self.parts:
            whole = np.clip(np.rint(centres), -STEPS, STEPS)
            sums = noisy_cells(run, part, step_sums(steps, whole, radii), step_moves(columns).stability(part, touched))
            centres, weights = moved(sums, whole, radii, deviation(part))
        return from_steps(self.frame, centres, weights)


def usual_depth(clusters: int, purse: Purse) -> int:
    """Return the number of levels: the last has at least two nodes for each cluster, more where noise is small."""
    more = int(purse.amount >= 4) if purse.is_pure else 1 + int(2 * purse.amount >= 1)
    return min(math.ceil(math.log2(4 * clusters)) + more, MOST_LEVELS)


def step_moves(columns: int) -> Moves:
    """Return how far one point moves a last step: at most ``LENGTH`` in L2 for the sum, and its count."""
    return Moves(math.isqrt(columns * LENGTH**2) + COUNTED, LENGTH**2 + COUNTED**2)


def step_sums(steps: Floats, centres: Floats, radii: Floats) -> NDArray[np.int64]:
    """Return, for each centre, the exact sum of its points relative to it, within its radius, and their count."""
    total = np.zeros((len(centres), steps.shape[1] + 1), dtype=np.int64)
    for block in blocks(len(steps), CACHED_ROWS):
        inside = steps[block]
        owner = nearest(inside, centres)
        short = into_balls(inside - centres[owner], radii[owner])
        total[:, :-1] += sums_by(owner, len(centres), short).astype(np.int64)
        total[:, -1] += COUNTED * np.bincount(owner, minlength=len(centres))
    return total


def moved(sums: Floats, centres: Floats, radii: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the moved centres, shrunk towards where they were as far as the noise asks, and the counts of clusters."""
    columns = centres.shape[1]
    counts = sums[:, -1] / COUNTED
    held = np.maximum(counts, _HELD * noise / COUNTED + 1)[:, None]
    move = sums[:, :-1] / (LENGTH * held)
    square = np.maximum((move * move).sum(axis=1, keepdims=True), 1e-300)
    kept = np.maximum(0.0, 1 - columns * (noise / (LENGTH * held)) ** 2 / square)
    return centres + kept * move * radii[:, None], np.maximum(counts, 0.0)
