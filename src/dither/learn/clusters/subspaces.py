"""Subspaces: the few sets of columns that describe points best, chosen by the exponential mechanism among all of them.

For points that lie near coordinate subspaces through the middle of their bounds: each cluster uses some columns, the
others are near the middle. Cost: the distances of all points from all sets of columns, for each candidate the least.
Correction: published as Gibbs sampling, of which every finite run promises nothing, because only its stationary law is
that of an exponential mechanism and it is not known when that is reached. Here candidates are listed and the choice is
drawn exactly; so there must be few of them, and subspaces are those of columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.learn.clusters.points import DeclaredFrame, Frame, points_of
from dither.learn.models import Model, model
from dither.learn.rows import STEPS, BoundField, Floats, blocks
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: A point at half the distance of a corner from every subspace adds so much to the cost; none adds more.
WORST: Final = 2**10
MOST_CANDIDATES: Final = 2**14


@model
@dataclass(frozen=True)
class SubspacesModel(Model):
    """Released subspaces of columns; a row belongs to the nearest one.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        subspaces: a row of zeros and ones for each: 1 for the columns that it has.

    """

    kind: ClassVar[str] = "subspaces"

    lower: PublicArray
    upper: PublicArray
    subspaces: PublicArray

    def __post_init__(self) -> None:
        if self.subspaces.values.ndim != 2 or self.subspaces.values.shape[1] != self.frame.columns:
            raise InvalidParameter("subspaces", self.subspaces, f"{self.frame.columns} numbers for each subspace")

    @property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    def distances(self, values: Floats) -> Floats:
        """Return the distance of each row from each subspace, in scaled columns."""
        scaled = self.frame.scaled(values)
        found: Floats = np.sqrt((scaled**2) @ (1.0 - self.subspaces.values.T))
        return found

    def labels(self, values: Floats) -> NDArray[np.int64]:
        """Return the nearest subspace of each row."""
        found: NDArray[np.int64] = self.distances(values).argmin(axis=1)
        return found


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 4.0, 0.5], [0.0, 2.0, 0.4], [float("nan"), 1.0, 0.5], [0.1, 4.0, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 9.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0, 0], "upper": [1, 8, 1], "clusters": 2, "size": 1}
    yield Example(ChosenSubspaces(**public, scale=2**9), rows, others)
    yield Example(ChosenSubspaces(**public, scale=2**11, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differentially Private Subspace Clustering (Wang, Wang, Singh 2015); Differential Privacy and Applications "
    "(Zhu et al. 2017), section 6.1.2.2",
)
@dataclass(frozen=True, kw_only=True)
class ChosenSubspaces(DeclaredFrame, Composed[Any, SubspacesModel]):
    """Choose ``clusters`` sets of ``size`` columns such that points lie near the subspace of one of them.

    Guarantee: data ``d_in`` rows apart loses what one choice among all such sets loses at ``d_in`` times 1024 steps of
    cost, one way for rows added or removed, any way for rows replaced.

    Args:
        lower: public bounds of the columns; their middle is where subspaces meet.
        upper: public bounds of the columns.
        clusters: the number of subspaces.
        size: the number of columns of each.
        scale: the difference in cost that makes a candidate e times as likely.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> chosen = ChosenSubspaces.calibrated(PureDP(1), lower=[0] * 6, upper=[1] * 6, clusters=2, size=2)
    >>> chosen.choice.candidates, chosen.loss(1).epsilon
    (105, Fraction(1, 1))

    """

    name: ClassVar[str] = "chosen-subspaces"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how close points are to any subspace depends on the points"
    no_interval_because: ClassVar[str] = "a choice says nothing about how much worse the others are"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=16)
    size: Whole = Whole(least=1, most=64)
    scale: DiscreteScale = DiscreteScale()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        columns = self.frame.columns
        few = columns <= 64 and self.size < columns
        sets = math.comb(columns, self.size) if few else 0
        if not (few and self.clusters <= sets and math.comb(sets, self.clusters) <= MOST_CANDIDATES):
            raise InvalidParameter(
                "clusters", self.clusters, f"so few that there are 1 to {MOST_CANDIDATES} candidates"
            )

    @classmethod
    def calibrated(cls, within: Loss, *, lower: Any, upper: Any, clusters: int, size: int, unit: Unit = ROW) -> Self:
        """Return the choice whose loss for one unit is within ``within``."""
        touched = unit.touched if isinstance(unit, Unit) else 1
        scale = Purse.within(within).choice(WORST, one_way=touched == 1)
        return cls(lower=lower, upper=upper, clusters=clusters, size=size, scale=scale, unit=unit)

    @cached_property
    def sets(self) -> NDArray[np.int64]:
        """All sets of columns of this size, as rows of zeros and ones."""
        chosen = list(combinations(range(self.frame.columns), self.size))
        found = np.zeros((len(chosen), self.frame.columns), dtype=np.int64)
        for place, columns in enumerate(chosen):
            found[place, list(columns)] = 1
        return found

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        """All candidates: the indices of their sets, one candidate a row."""
        return np.array(list(combinations(range(len(self.sets)), self.clusters)), dtype=np.int64)

    @cached_property
    def choice(self) -> Exponential:
        """The choice: an added row raises every cost, a replaced row may raise or lower it."""
        return Exponential(candidates=len(self.candidates), scale=self.scale, one_way=self.unit.touched == 1)

    def plan(self) -> Plan:
        """Return one choice."""
        return Use(self.choice, WORST)

    def release(self, data: Any, run: Runner) -> SubspacesModel:
        """Return the chosen subspaces."""
        scores = -self.costs(self.frame.steps(points_of(data, self.frame.columns)))
        chosen = self.candidates[run(self.choice, scores, stability=WORST)]
        return SubspacesModel(self.lower, self.upper, PublicArray(self.sets[chosen]))

    def costs(self, steps: Floats) -> NDArray[np.int64]:
        """Return the cost of every candidate: exact integers, to which a point adds 0 to ``WORST``."""
        part = max(1, math.ceil(STEPS**2 * self.frame.columns / (4 * WORST)))
        total = np.zeros(len(self.candidates), dtype=np.int64)
        beside = 1.0 - self.sets.T
        for block in blocks(len(steps)):
            inside = steps[block]
            # Integers below 2^53: exact in any order, and so is the floor of one correctly rounded quotient.
            each = np.minimum(np.floor((inside * inside) @ beside / part), WORST)
            for place, candidate in enumerate(self.candidates):
                total[place] += int(each[:, candidate].min(axis=1, initial=WORST).sum())
        return total
