"""A private coreset: weighted points that stand for all points, released to be clustered in any way.

For those who do not know the number of clusters yet, or want k-means and k-median of the same points: once it is
released, every number of clusters, objective and start is free. Cost: one pass over the points a level. Corrections:
published coresets are nets of exponentially many cells about good centres, which are theory; this one is the leaves of
a tree of noisy moments, and promises privacy, not an approximation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import OneOf, Whole
from dither.learn.clusters.coreset import MOST_LEVELS, usual_depth
from dither.learn.clusters.lloyd import StepNoise
from dither.learn.clusters.moment_tree import Leaves, grow, level_uses, noise_of_levels
from dither.learn.clusters.points import (
    MOST_CLUSTERS,
    MOST_COLUMNS,
    ClustersModel,
    DeclaredFrame,
    Frame,
    from_steps,
    points_of,
)
from dither.learn.clusters.settled import OBJECTIVES, settle
from dither.learn.models import Model, model
from dither.learn.rows import STEPS, BoundField, Floats
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: The depth that is usual for that many clusters.
_USUAL_CLUSTERS: Final = 16
_MOST_NUMBERS: Final = 2**24


@model
@dataclass(frozen=True)
class CoresetModel(Model):
    """Released weighted points, in columns scaled by their bounds; what is computed from them is free.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        points: one a row, in columns scaled to [-1, 1].
        weights: the approximate number of records that each stands for.
        spreads: their approximate mean squared distance from it, in scaled columns.

    """

    kind: ClassVar[str] = "coreset"

    lower: PublicArray
    upper: PublicArray
    points: PublicArray
    weights: PublicArray
    spreads: PublicArray

    def __post_init__(self) -> None:
        points = self.points.values
        if not (points.ndim == 2 and len(points) and points.shape[1] == self.frame.columns):
            raise InvalidParameter("points", self.points, f"{self.frame.columns} numbers for each of one point or more")
        for name in ("weights", "spreads"):
            given: Floats = getattr(self, name).values
            if given.shape != (len(points),) or not (np.isfinite(given) & (given >= 0)).all():
                raise InvalidParameter(name, getattr(self, name), "one for each point, at least 0")

    @property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def places(self) -> Floats:
        """The points in the columns' own units."""
        return self.frame.places(self.points.values)

    def distances(self, values: Floats) -> Floats:
        """Return the distance of each row from each point, in scaled columns."""
        return self._as_clusters.distances(values)

    def labels(self, values: Floats) -> NDArray[np.int64]:
        """Return the nearest point of each row."""
        return self._as_clusters.labels(values)

    @property
    def _as_clusters(self) -> ClustersModel:
        return ClustersModel(self.lower, self.upper, self.points, self.weights)

    def clusters(self, clusters: int, *, objective: str = "means", public_seed: str = "") -> ClustersModel:
        """Return centres of clusters of the weighted points: any number of times, at no further loss.

        Args:
            clusters: the number of centres.
            objective: "means" for small squared distances, "medians" for small distances.
            public_seed: a public text that decides the starts.

        """
        count = Whole(least=1, most=MOST_CLUSTERS).convert("clusters", clusters)
        kind = OneOf(*OBJECTIVES).convert("objective", objective)
        leaves = Leaves(self.points.values * STEPS, self.weights.values, self.spreads.values * STEPS**2)
        centres, weights, _ = settle(leaves, count, objective=kind, public_seed=public_seed)
        return from_steps(self.frame, centres, weights)

    def cost(self, centres: ClustersModel, *, objective: str = "means") -> float:
        """Return the estimated cost of centres for the records: squared distances, or distances, from the nearest.

        Args:
            centres: of the same columns.
            objective: "means" or "medians".

        """
        kind = OneOf(*OBJECTIVES).convert("objective", objective)
        squared = centres.distances(self.places).min(axis=1) ** 2 + self.spreads.values
        return float(self.weights.values @ (squared if kind == "means" else np.sqrt(squared)))


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    gaussian, pure = DiscreteGaussian(sigma=2**14), Geometric(scale=2**15)
    yield Example(PrivateCoreset(**public, levels=(gaussian, gaussian)), rows, others)
    yield Example(PrivateCoreset(**public, levels=(pure, pure), unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Private Coresets (Feldman, Fiat, Kaplan, Nissim 2009); Analyze Gauss (Dwork, Talwar, Thakurta, Zhang "
    "2014); Differential Privacy and Applications (Zhu et al. 2017), section 6.1.2.2",
)
@dataclass(frozen=True, kw_only=True)
class PrivateCoreset(DeclaredFrame, Composed[Any, CoresetModel]):
    """Divide points by a tree of noisy moments, and release its leaves: weighted points with a spread.

    Guarantee: data ``d_in`` rows apart loses what each of ``levels`` loses at ``d_in`` times what one point adds to the
    count, sum and second moments of its node, in L1 or L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        levels: the noise of one number of each level of the tree; all geometric or all Gaussian.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> coreset = PrivateCoreset.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], depth=5)
    >>> coreset.loss(1) <= ApproxDP(1, "1e-6"), len(coreset.levels)
    (True, 5)

    """

    name: ClassVar[str] = "private-coreset"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well leaves represent their points depends on the points"
    no_interval_because: ClassVar[str] = "how well leaves represent their points depends on the points"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    levels: StepNoise = StepNoise()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if not 1 <= len(self.levels) <= MOST_LEVELS or len({type(part) for part in self.levels}) > 1:
            raise InvalidParameter("levels", self.levels, f"1 to {MOST_LEVELS} noises of one kind")
        if self.frame.columns > MOST_COLUMNS or self.frame.columns * 2 ** len(self.levels) > _MOST_NUMBERS:
            raise InvalidParameter("levels", self.levels, f"so few that a draw has at most {_MOST_NUMBERS} numbers")

    @classmethod
    def calibrated(cls, within: Loss, *, lower: Any, upper: Any, depth: int | None = None, unit: Unit = ROW) -> Self:
        """Return the coreset with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            depth: the number of levels of the tree, the last of which has up to 2^(depth - 1) points; by default what
                suits up to sixteen clusters.
            unit: ROW or ROW_REPLACED.

        """
        purse, columns = Purse.within(within), len(np.atleast_1d(np.asarray(lower)))
        levels = (
            usual_depth(_USUAL_CLUSTERS, purse)
            if depth is None
            else Whole(least=1, most=MOST_LEVELS).convert("depth", depth)
        )
        touched = unit.touched if isinstance(unit, Unit) else 1
        return cls(lower=lower, upper=upper, levels=noise_of_levels(purse, columns, levels, touched), unit=unit)

    def plan(self) -> Plan:
        """Return one draw for each level."""
        uses = level_uses(self.frame.columns, self.levels, self.unit.touched)
        return InOrder(tuple(Use(part, moved) for part, moved in uses))

    def release(self, data: Any, run: Runner) -> CoresetModel:
        """Return the leaves that seem to hold points; all of them where none seems to."""
        steps = self.frame.steps(points_of(data, self.frame.columns))
        leaves = grow(run, self.levels, steps, touched=self.unit.touched)
        held = leaves.weights > 0
        kept = held if held.any() else np.ones_like(held)
        return CoresetModel(
            self.lower,
            self.upper,
            PublicArray(np.clip(leaves.places[kept] / STEPS, -1.0, 1.0)),
            PublicArray(leaves.weights[kept]),
            PublicArray(leaves.spreads[kept] / STEPS**2),
        )
