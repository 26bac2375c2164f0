"""Bootstrap means: the last step of k-means on secret samples of the points, with noise on each sample.

For comparison: what a last step on resampled points can promise. Cost: one pass over the points a bag. Correction: as
published, points are drawn with replacement from each cluster into a bag of its size and the mean of the bag is
released as it is. That promises nothing: a point is in the bag with probability 0.63, and then the mean tells of it
exactly. Here a bag is a secret Poisson sample, which makes the noise that its sums get count for more than it would on
all points; the price of that is what a sample does not know of the rest.
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
from dither.exact import FAR, Number, Of, Positive, Whole, exact
from dither.learn.cell_noise import deviation, noisy_cells, of_shape
from dither.learn.clusters.coreset import moved, step_moves, step_sums
from dither.learn.clusters.points import MOST_CLUSTERS, MOST_COLUMNS, ClustersModel, Frame, from_steps, points_of
from dither.learn.clusters.where import ball_radius
from dither.learn.rows import BoundField
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import Array
from dither.mechanisms.core.purse import Purse, one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, Loss, Plan, Repeat, Sampled, Unit, Use

#: From this epsilon on nothing is gained from a sample.
_LARGE: Final = 500
#: A price counts a smaller rate as more than it is: nothing further is gained from it.
_SMALLEST_RATE: Final = Fraction(1, 2**60)
USUAL_RATE: Final = Fraction(1, 2)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "centres": [[0.0, 1.0], [1.0, 6.0]]}
    yield Example(BootstrapMeans(**public, part=Geometric(scale=2**15), rate="1/2", bags=1), rows, others)


@register(
    examples=_examples,
    source="Privacy Aware K-Means Clustering with High Utility (Nguyen, Gupta, Rana, Venkatesh 2016); Differentially "
    "Private Data Analytics (Lu 2021), section 3.4",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class BootstrapMeans(Composed[Any, ClustersModel]):
    """Move public centres to noisy means of their points in secret samples.

    Guarantee: data one row apart loses ``bags`` times ln(1 + rate (e^epsilon - 1)), epsilon being what ``part`` loses
    for one point; data ``d_in`` rows apart with what it loses for as many, and the chance that any of them is sampled.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        centres: public centres, released before, in the columns' own units.
        part: the noise of one number of a bag.
        rate: the probability that a point is in a bag.
        bags: the number of bags; the means of all are averaged.

    >>> from dither.privacy import PureDP
    >>> last = BootstrapMeans.calibrated(PureDP(1), lower=[0, 0], upper=[1, 1], centres=[[0.2, 0.2], [0.8, 0.8]])
    >>> last.loss(1).epsilon <= 1, last.part.loss(31362).epsilon > 1
    (True, True)

    """

    name: ClassVar[str] = "bootstrap-means"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance of a sample from all points depends on the points"
    no_interval_because: ClassVar[str] = "the distance of a sample from all points depends on the points"

    part: Of[Geometric] = Of(Geometric, **one_number(Geometric))
    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    centres: Array = Array(
        "float", axes=2, most=MOST_CLUSTERS, rule=f"finite numbers, a row for each of 1 to {MOST_CLUSTERS} centres"
    )
    rate: Positive = Positive(least=Fraction(1, FAR), most=1)
    bags: Whole = Whole(1, least=1, most=2**10)

    def __post_init__(self) -> None:
        if self.frame.columns > MOST_COLUMNS or self.centres.values.shape[1] != self.frame.columns:
            raise InvalidParameter("centres", self.centres, f"{self.frame.columns} numbers for each centre")

    @classmethod
    def calibrated(
        cls, within: Loss, *, lower: Any, upper: Any, centres: Any, rate: Number = USUAL_RATE, bags: int = 1
    ) -> Self:
        """Return the step with about the least noise whose pure loss for one row is within ``within``."""
        purse = Purse.within(within)
        if not purse.is_pure:
            raise InvalidParameter("within", within, "pure: a rho is not known to fall by sampling")
        chance, columns = exact("rate", rate), len(np.atleast_1d(np.asarray(lower)))
        if not 0 < chance <= 1:
            raise InvalidParameter("rate", rate, "a number in (0, 1]")
        each = purse.amount / Whole(least=1).convert("bags", bags)
        # Sampling saves almost nothing of a large epsilon, and its exponential does not fit a float.
        counted = float(max(chance, _SMALLEST_RATE))
        gained = math.log1p(math.expm1(float(each)) / counted) if each < _LARGE else 0.0
        inner = max(Fraction(gained), each) * (1 - Fraction(1, 2**30))
        scale = Fraction(step_moves(columns).absolute) / inner
        part = Geometric(scale=Fraction(math.ceil(scale * 2**20), 2**20))
        return cls(lower=lower, upper=upper, centres=centres, part=part, rate=rate, bags=bags)

    @cached_property
    def frame(self) -> Frame:
        """The bounds, and their grid."""
        return Frame(self.lower, self.upper)

    @property
    def distance(self) -> Unit:
        """Rows added or removed: amplification by sampling is proved for these."""
        return ROW

    def _use(self) -> Use:
        columns = self.frame.columns
        shape = (len(self.centres.values), columns + 1)
        return Use(of_shape(self.part, shape), step_moves(columns).stability(self.part, 1))

    def plan(self) -> Plan:
        """Return one draw on a sample for each bag."""
        return Repeat(Sampled(self._use(), self.rate), self.bags)

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the average over all bags of their noisy means."""
        columns = self.frame.columns
        points = points_of(data, columns)
        start = self.frame.steps(self.centres.values)
        reach = np.full(len(start), float(ball_radius(columns)))
        places, weights = np.zeros_like(start), np.zeros(len(start))
        for _ in range(self.bags):
            bag, inner = run.sampled(points, self.rate)
            given = step_sums(self.frame.steps(bag), start, reach)
            seen = noisy_cells(inner, self.part, given, step_moves(columns).stability(self.part, 1))
            found, held = moved(seen, start, reach, deviation(self.part))
            places, weights = places + found / self.bags, weights + held / (self.bags * float(self.rate))
        return from_steps(self.frame, places, weights)
