"""PrivGene: k-means by a genetic search whose parents are chosen by the exponential mechanism.

For comparison, and as a pattern for learners of which nothing is known but how good an answer is. Cost: the distances
of all points from all centres of all candidates, once a generation. Corrections: the published gain of an "enhanced"
exponential mechanism rests on a bound of how fast the fitness changes, which cannot be checked on private points; here
the fitness of every candidate falls when a point comes, so all scores move one way and the factor two is saved by
proof. Distances are clipped, because without that the fitness has no sensitivity at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Text, Whole
from dither.learn.clusters.points import (
    MOST_CLUSTERS,
    MOST_COLUMNS,
    ClustersModel,
    DeclaredFrame,
    from_steps,
    points_of,
)
from dither.learn.rows import STEPS, BoundField, Floats, blocks
from dither.learn.trees.bins import public_numbers
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

#: A point that lies as far from every centre as points are looked for adds so much to the cost.
WORST: Final = 2**10
#: How far that is, as a share of the distance of a corner of the bounds from their middle.
_REACH: Final = 0.7
USUAL_GENERATIONS: Final = 8
USUAL_POPULATION: Final = 64
#: How far centres of the first generation mutate, as a share of half the bounds, and what is left of it in the next.
_MUTATION: Final = 0.4
_COOLING: Final = 0.75


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2, "generations": 2, "population": 3}
    yield Example(PrivGene(**public, scale=2**10), rows, others)
    yield Example(PrivGene(**public, scale=2**12, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="PrivGene: Differentially Private Model Fitting Using Genetic Algorithms (Zhang, Xiao, Yang, Zhang, "
    "Winslett 2013); Differentially Private Data Analytics (Lu 2021), section 3.4",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PrivGene(DeclaredFrame, Composed[Any, ClustersModel]):
    """Search for centres by crossing and mutating those that the exponential mechanism chooses.

    Guarantee: data ``d_in`` rows apart loses what ``2 generations - 1`` choices lose at ``d_in`` times 1024 steps of
    cost, one way for rows added or removed, any way for rows replaced.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        generations: the number of generations of candidates.
        population: the number of candidates each time.
        scale: the difference in cost that makes a candidate e times as likely.
        public_seed: a public text that decides the first candidates, crossings and mutations.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> PrivGene.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10], clusters=3, generations=5).scale
    Fraction(9216, 1)

    """

    name: ClassVar[str] = "priv-gene"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "whether a good candidate is ever made depends on the points"
    no_interval_because: ClassVar[str] = "the best centres have no known distance from those that were chosen"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    generations: Whole = Whole(USUAL_GENERATIONS, least=1, most=2**10)
    population: Whole = Whole(USUAL_POPULATION, least=2, most=2**12)
    scale: DiscreteScale = DiscreteScale()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.frame.columns > MOST_COLUMNS or self.frame.columns * self.clusters * self.population > 2**24:
            raise InvalidParameter("population", self.population, "so small that all candidates have 2^24 numbers")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        generations: int = USUAL_GENERATIONS,
        population: int = USUAL_POPULATION,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the search whose loss for one unit is within ``within``."""
        each = Purse.within(within) / (2 * Whole(least=1).convert("generations", generations) - 1)
        touched = unit.touched if isinstance(unit, Unit) else 1
        return cls(
            lower=lower,
            upper=upper,
            clusters=clusters,
            generations=generations,
            population=population,
            scale=each.choice(WORST, one_way=touched == 1),
            public_seed=public_seed,
            unit=unit,
        )

    @cached_property
    def choice(self) -> Exponential:
        """The choice of a candidate: an added row raises every cost, a replaced row may raise or lower it."""
        return Exponential(candidates=self.population, scale=self.scale, one_way=self.unit.touched == 1)

    def plan(self) -> Plan:
        """Return two choices of parents for each generation but the last, which has one."""
        return Repeat(Use(self.choice, WORST), 2 * self.generations - 1)

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the candidate chosen last. Candidates are made from chosen ones and the seed."""
        steps = self.frame.steps(points_of(data, self.frame.columns))
        shape = (self.population, self.clusters, self.frame.columns)
        candidates = np.rint((2 * self._numbers("first", shape) - 1) * STEPS)
        for generation in range(self.generations - 1):
            scores = self._scores(steps, candidates)
            parents = [candidates[run(self.choice, scores, stability=WORST)] for _ in range(2)]
            candidates = self._children(parents[0], parents[1], generation)
        best = run(self.choice, self._scores(steps, candidates), stability=WORST)
        return from_steps(self.frame, candidates[best], np.ones(self.clusters))

    def _scores(self, steps: Floats, candidates: Floats) -> NDArray[np.int64]:
        """Return minus the cost of each candidate: exact integers, to which a point adds 0 to ``WORST``."""
        part = max(1, math.ceil((_REACH * STEPS) ** 2 * self.frame.columns / WORST))
        found = np.zeros(self.population, dtype=np.int64)
        for block in blocks(len(steps)):
            inside = steps[block]
            lengths = np.add.reduce(inside * inside, axis=1)
            for place, centres in enumerate(candidates):
                # Integers below 2^53: exact in any order, and so is the floor of one correctly rounded quotient.
                closeness = 2 * (inside @ centres.T) - (centres * centres).sum(axis=1)
                squared = lengths - closeness.max(axis=1, initial=-(2.0**52))
                found[place] -= int(np.minimum(np.floor(squared / part), WORST).sum())
        return found

    def _children(self, first: Floats, second: Floats, generation: int) -> Floats:
        """Return the next candidates: the parents, and crossings of them with one or a few centres moved."""
        shape = (self.population, self.clusters, self.frame.columns)
        pick = self._numbers(f"cross:{generation}", shape[:2]) < 0.5
        children = np.where(pick[:, :, None], first, second)
        drawn = self._numbers(f"move:{generation}", (2, *shape))
        aside = (drawn[0] + drawn[1] - 1) * (2 * _MUTATION * _COOLING**generation * STEPS)
        moved = self._numbers(f"which:{generation}", shape[:2]) < max(1.5 / self.clusters, 0.1)
        children = np.clip(np.rint(children + np.where(moved[:, :, None], aside, 0.0)), -STEPS, STEPS)
        children[0], children[1] = first, second
        return np.asarray(children, dtype=np.float64)

    def _numbers(self, what: str, shape: tuple[int, ...]) -> Floats:
        drawn: Floats = public_numbers(f"{what}:{self.public_seed}", math.prod(shape)).reshape(shape) / 2.0**32
        return drawn
