"""Sample-and-aggregate subspaces: disjoint blocks of the points vote for sets of columns, and a vote is drawn.

For comparison: the search for subspaces stays a black box, of which only what it answers on a block is used. Cost: the
distances of all points from all sets of columns, for each block. Corrections: published subspaces are compared by a
distance between them and their middle is released, which has no exact form; here blocks vote for listed sets of
columns, of which one is drawn by its number of votes, exactly. A block without points votes for none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Text, Whole
from dither.learn.clusters.points import DeclaredFrame, points_of
from dither.learn.clusters.subspaces import ChosenSubspaces, SubspacesModel
from dither.learn.rows import BoundField
from dither.learn.trees.random_forest import tree_of
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

USUAL_BLOCKS: Final = 64


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 4.0, 0.5], [0.0, 2.0, 0.4], [float("nan"), 1.0, 0.5], [0.1, 4.0, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 9.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0, 0], "upper": [1, 8, 1], "clusters": 2, "size": 1, "blocks": 2}
    yield Example(VotedSubspaces(**public, scale=1), rows, others)
    yield Example(VotedSubspaces(**public, scale=3, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Differentially Private Subspace Clustering (Wang, Wang, Singh 2015), section 3; Smooth Sensitivity and "
    "Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 5",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class VotedSubspaces(DeclaredFrame, Composed[Any, SubspacesModel]):
    """Let blocks of the points vote for ``clusters`` sets of ``size`` columns, and draw a set by its votes.

    Guarantee: data ``d_in`` rows apart loses what one choice among all such sets loses when votes move by ``d_in``,
    and by twice that for rows replaced.

    Args:
        lower: public bounds of the columns; their middle is where subspaces meet.
        upper: public bounds of the columns.
        clusters: the number of subspaces.
        size: the number of columns of each.
        blocks: the number of blocks of points.
        scale: the difference in votes that makes a candidate e times as likely.
        public_seed: a public text that decides the division.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> voted = VotedSubspaces.calibrated(PureDP(1), lower=[0] * 6, upper=[1] * 6, clusters=2, size=2)
    >>> voted.choice.candidates, voted.loss(1).epsilon
    (105, Fraction(1, 1))

    """

    name: ClassVar[str] = "voted-subspaces"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how many blocks agree depends on the points"
    no_interval_because: ClassVar[str] = "a choice says nothing about how much worse the others are"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=16)
    size: Whole = Whole(least=1, most=64)
    blocks: Whole = Whole(USUAL_BLOCKS, least=1, most=2**12)
    scale: DiscreteScale = DiscreteScale()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        _ = self.listed

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        size: int,
        blocks: int = USUAL_BLOCKS,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the vote whose loss for one unit is within ``within``."""
        touched = unit.touched if isinstance(unit, Unit) else 1
        scale = Purse.within(within).choice(touched)
        public: dict[str, Any] = {"lower": lower, "upper": upper, "clusters": clusters, "size": size}
        return cls(**public, blocks=blocks, scale=scale, public_seed=public_seed, unit=unit)

    @cached_property
    def listed(self) -> ChosenSubspaces:
        """The candidates, and how their costs are found."""
        public: dict[str, Any] = {"lower": self.lower, "upper": self.upper, "clusters": self.clusters}
        return ChosenSubspaces(**public, size=self.size, scale=1)

    @cached_property
    def choice(self) -> Exponential:
        """The choice by votes: one block may take a vote from one candidate and give it to another."""
        return Exponential(candidates=len(self.listed.candidates), scale=self.scale)

    def plan(self) -> Plan:
        """Return one choice."""
        return Use(self.choice, self.unit.touched)

    def release(self, data: Any, run: Runner) -> SubspacesModel:
        """Return the drawn subspaces."""
        listed = self.listed
        votes = self.votes(listed.frame.steps(points_of(data, listed.frame.columns)))
        chosen = listed.candidates[run(self.choice, votes, stability=self.unit.touched)]
        return SubspacesModel(self.lower, self.upper, PublicArray(listed.sets[chosen]))

    def votes(self, steps: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of blocks for which each candidate has the least cost, the first of several."""
        block = tree_of(steps.astype(np.int64), self.blocks, self.public_seed)
        found = np.zeros(len(self.listed.candidates), dtype=np.int64)
        for number in range(self.blocks):
            inside = steps[block == number]
            if len(inside):
                found[int(self.listed.costs(inside).argmin())] += 1
        return found
