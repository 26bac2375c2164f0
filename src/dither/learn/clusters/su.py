"""SU's k-means: Lloyd's noisy steps whose number, shares and start follow from an analysis of their squared error.

For comparison: every formula is the published one. Cost: one product of the points and the centres for each step.
Corrections: the number of points, by which the number of steps is chosen, is private when points come and go, so that a
public guess takes its place; the random start is drawn from a public seed; a cluster whose noisy count is below one
stays where it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Text, Whole, whole
from dither.learn.cell_noise import Moves, noisy_cells, of_shape
from dither.learn.clusters.lloyd import StepNoise
from dither.learn.clusters.points import (
    MOST_CLUSTERS,
    MOST_COLUMNS,
    ClustersModel,
    DeclaredFrame,
    cluster_sums,
    from_steps,
    points_of,
)
from dither.learn.rows import STEPS, BoundField, Floats
from dither.learn.trees.bins import public_numbers
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: The root of the mean square of a centre's coordinate, as a share of the range of a column.
_COORDINATE: Final = 0.225
#: The squared error that a step may have, all clusters together, as a share of the squared half range.
_ERROR: Final = 0.004
_FEWEST_STEPS, _MOST_STEPS = 2, 7
#: A radius of packed spheres is too large when this number of places in a row does not fit.
_TRIES: Final = 100
_HALVINGS: Final = 12
_MOST_NUMBERS: Final = 2**12


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2, "counted": 3000}
    noise = Geometric(scale=2**14)
    yield Example(SuClusters(**public, parts=(noise, noise)), rows, others)
    yield Example(SuClusters(**public, parts=(noise,), unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differentially Private k-Means Clustering (Su, Cao, Li, Bertino, Jin 2016), section 4; Differentially "
    "Private Data Analytics (Lu 2021), section 3.4",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class SuClusters(DeclaredFrame, Composed[Any, ClustersModel]):
    """Find centres of clusters in a few noisy steps of Lloyd's algorithm, with the published shares and start.

    Guarantee: data ``d_in`` rows apart loses what each of ``parts`` loses at ``d_in`` times what one point adds to the
    sum and the count of its cluster: 4096 steps for each column and ``counted`` in L1 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        counted: what a point adds to the count of its cluster: more of it is more of the loss for counts.
        parts: the geometric noise of one number of each step.
        public_seed: a public text that decides the start.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = SuClusters.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10], clusters=3, records=10_000)
    >>> learner.loss(1) <= PureDP(1), len(learner.parts)
    (True, 7)

    """

    name: ClassVar[str] = "su-clusters"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "which local optimum Lloyd's algorithm ends in depends on the points"
    no_interval_because: ClassVar[str] = "the best centres have no known distance from noisy ones"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    counted: Whole = Whole(least=1, most=2**20)
    parts: StepNoise = StepNoise()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.frame.columns > MOST_COLUMNS or self.frame.columns * self.clusters > _MOST_NUMBERS:
            raise InvalidParameter(
                "clusters", self.clusters, f"so few that centres have at most {_MOST_NUMBERS} numbers"
            )
        if not all(isinstance(part, Geometric) for part in self.parts):
            raise InvalidParameter("parts", self.parts, "geometric noise for each step")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        records: int = 10_000,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner whose loss for one unit is within ``within``, with the published number of steps.

        Args:
            within: the loss not to exceed; what a pure epsilon within it buys is spent.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            clusters: the number of centres.
            records: a public guess of the number of points, by which the number of steps is chosen.
            public_seed: a public text that decides the start.
            unit: ROW or ROW_REPLACED.

        """
        purse, columns = Purse.pure_within(within), len(np.atleast_1d(np.asarray(lower)))
        count = Whole(least=1, most=MOST_CLUSTERS).convert("clusters", clusters)
        touched = unit.touched if isinstance(unit, Unit) else 1
        least = step_epsilon(count, columns, records)
        steps = min(max(math.floor(float(purse.amount) / least), _FEWEST_STEPS), _MOST_STEPS)
        counted = round(STEPS * count_share(columns))
        part = _moves(columns, counted).noise(purse / steps, touched)
        return cls(
            lower=lower,
            upper=upper,
            clusters=count,
            counted=counted,
            parts=(part,) * steps,
            public_seed=public_seed,
            unit=unit,
        )

    def plan(self) -> Plan:
        """Return one draw for each step."""
        columns, moves = self.frame.columns, _moves(self.frame.columns, self.counted)
        shape = (self.clusters, columns + 1)
        return InOrder(
            tuple(Use(of_shape(part, shape), moves.stability(part, self.unit.touched)) for part in self.parts)
        )

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the centres after the last step. Between draws everything but the points is public."""
        columns, moves = self.frame.columns, _moves(self.frame.columns, self.counted)
        points = self.frame.steps(points_of(data, columns))
        centres, weights = STEPS * sphere_packed(self.clusters, columns, self.public_seed), np.zeros(self.clusters)
        for part in self.parts:
            whole_centres = np.rint(centres)
            sums = cluster_sums(points, whole_centres, self.counted)
            seen = noisy_cells(run, part, sums, moves.stability(part, self.unit.touched))
            weights = seen[:, -1] / self.counted
            means = seen[:, :-1] / np.maximum(weights, 1.0)[:, None]
            centres = np.clip(np.where(weights[:, None] >= 1, means, whole_centres), -STEPS, STEPS)
        return from_steps(self.frame, centres, weights)


def count_share(columns: int) -> float:
    """Return the share of a step's epsilon for counts, over that for the sum of one column: (4 d rho^2)^(1/3).

    >>> round(count_share(2), 3)
    0.74
    """
    return math.pow(4 * whole("columns", columns, least=1) * _COORDINATE**2, 1 / 3)


def step_epsilon(clusters: int, columns: int, records: int) -> float:
    """Return the least epsilon of a step whose squared error is small: sqrt(500 k^3 / n^2 (d + (4 d rho^2)^(1/3))^3).

    Clusters are taken to be of equal size.

    Args:
        clusters: the number of clusters.
        columns: the number of columns.
        records: the number of points, or a public guess.

    >>> round(step_epsilon(3, 2, 10_000), 4)
    0.0527

    """
    cubed = whole("clusters", clusters, least=1) ** 3 * (columns + count_share(columns)) ** 3
    return math.sqrt(2 / _ERROR * cubed) / whole("records", records, least=1)


def sphere_packed(clusters: int, columns: int, public_seed: str) -> Floats:
    """Return public centres in [-1, 1]: middles of spheres of equal radius, apart from each other and from the bounds.

    The radius is the largest, up to a few halvings, for which public random places do not fail a hundred times in a
    row.
    """
    low, high, found = 0.0, 1.0, _packed(clusters, columns, 0.0, public_seed)
    for _ in range(_HALVINGS):
        radius = (low + high) / 2
        tried = _packed(clusters, columns, radius, public_seed)
        if tried is None:
            high = radius
        else:
            low, found = radius, tried
    if found is None:
        raise InvalidParameter("clusters", clusters, "at least 1")
    return found


def _packed(clusters: int, columns: int, radius: float, public_seed: str) -> Floats | None:
    """Return centres at least two radii apart and a radius within the bounds, or None where a place is not found."""
    found: list[Floats] = []
    for place in range(clusters):
        numbers = public_numbers(f"sphere:{place}:{public_seed}", _TRIES * columns).reshape(_TRIES, columns) / 2.0**32
        tried = (2 * numbers - 1) * (1 - radius)
        gaps = (
            np.min([((tried - other) ** 2).sum(axis=1) for other in found], axis=0) if found else np.full(_TRIES, 9.0)
        )
        fits = np.flatnonzero(gaps >= (2 * radius) ** 2) if found else np.arange(_TRIES)
        if not len(fits):
            return None
        found.append(tried[fits[0]])
    return np.array(found)


def _moves(columns: int, counted: int) -> Moves:
    """Return how far one point moves a step: 4096 steps for each column, and its count."""
    return Moves(columns * STEPS + counted, columns * STEPS**2 + counted**2)
