"""PrivGene for linear classifiers: a genetic search for weights whose parents are chosen by the exponential mechanism.

For comparison: logistic regression and support vector machines as models of which nothing is used but how good an
answer is. Cost: the scores of all records by all candidates, once a generation. Corrections: the published gain of an
"enhanced" exponential mechanism rests on a bound of how fast the fitness changes, which cannot be checked on private
records; here the fitness of every candidate falls when a record comes, so that all scores move one way and the factor
two is saved by proof. Losses are clipped, without which the fitness has no sensitivity at all.
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
from dither.exact import OneOf, Text, Whole
from dither.learn.declared import DeclaredBounds
from dither.learn.linear.gradients import LOSSES
from dither.learn.linear.parameter_grid import TOP, WEIGHT_STEPS, record_losses
from dither.learn.models import LinearModel
from dither.learn.rows import STEPS, BoundField, Floats, blocks, labelled, records_of
from dither.learn.trees.bins import public_numbers
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

MOST_COLUMNS: Final = 2**10
USUAL_GENERATIONS: Final = 10
USUAL_POPULATION: Final = 128
#: Weights of columns scaled to [-1, 1] lie within this, in whole steps.
_LARGEST: Final = 6 * WEIGHT_STEPS
#: How far weights of the first generation mutate, as a share of the largest, and what is left of it in the next.
_MUTATION: Final = 0.5
_COOLING: Final = 0.8


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "generations": 2, "population": 3}
    yield Example(GeneticClassifier(**public, loss_name="hinge", scale=TOP), rows, others)
    yield Example(GeneticClassifier(**public, loss_name="logistic", scale=4 * TOP, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="PrivGene: Differentially Private Model Fitting Using Genetic Algorithms (Zhang, Xiao, Yang, Zhang, "
    "Winslett 2013), sections 4 and 5; Differential Privacy and Applications (Zhu et al. 2017), section 6.1.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class GeneticClassifier(DeclaredBounds, Composed[Any, LinearModel]):
    """Search for the weights of a classifier by crossing and mutating those that the exponential mechanism chooses.

    Guarantee: data ``d_in`` rows apart loses what ``2 generations - 1`` choices lose at ``d_in`` times 2^12 steps of
    loss, one way for rows added or removed, any way for rows replaced.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        loss_name: "logistic", or "hinge" for a support vector machine; of two classes.
        scale: the difference in loss that makes a candidate e times as likely.
        population: the number of candidates each time.
        generations: the number of generations of candidates.
        public_seed: a public text that decides the first candidates, crossings and mutations.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> GeneticClassifier.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10], generations=5).scale
    Fraction(36864, 1)

    """

    name: ClassVar[str] = "genetic-classifier"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "whether a good candidate is ever made depends on the records"
    no_interval_because: ClassVar[str] = "the best weights have no known distance from those that were chosen"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    loss_name: OneOf = OneOf(*LOSSES)
    scale: DiscreteScale = DiscreteScale()
    population: Whole = Whole(USUAL_POPULATION, least=2, most=2**12)
    generations: Whole = Whole(USUAL_GENERATIONS, least=1, most=2**10)
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        loss_name: str = "logistic",
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
            loss_name=loss_name,
            generations=generations,
            population=population,
            scale=each.choice(TOP, one_way=touched == 1),
            public_seed=public_seed,
            unit=unit,
        )

    def plan(self) -> Plan:
        """Return two choices of parents for each generation but the last, which has one."""
        return Repeat(Use(self.choice, TOP), 2 * self.generations - 1)

    @cached_property
    def choice(self) -> Exponential:
        """The choice of a candidate: an added row raises every loss, a replaced row may raise or lower it."""
        return Exponential(candidates=self.population, scale=self.scale, one_way=self.unit.touched == 1)

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the candidate chosen last. Candidates are made from chosen ones and the seed."""
        values, classes = labelled(records_of(data, self.box.columns), 2)
        records = np.column_stack([self.box.steps(values), np.full(len(values), float(STEPS))])
        sides = np.where(classes == 1, 1.0, -1.0)
        shape = (self.population, self.box.columns + 1)
        candidates = np.rint((2 * self._numbers("first", shape) - 1) * _LARGEST)
        for generation in range(self.generations - 1):
            scores = -self.losses(records, sides, candidates)
            parents = [candidates[run(self.choice, scores, stability=TOP)] for _ in range(2)]
            candidates = self._children(parents[0], parents[1], generation)
        best = candidates[run(self.choice, -self.losses(records, sides, candidates), stability=TOP)] / WEIGHT_STEPS
        # No scaled record is longer than the root of the number of columns, so that none is shortened.
        radius = math.sqrt(self.box.columns) * (1 + 2.0**-40)
        return LinearModel(
            self.box.lower,
            self.box.upper,
            PublicArray(np.zeros(self.box.columns)),
            radius,
            PublicArray(radius * best[None, :-1]),
            PublicArray(best[-1:]),
        )

    def losses(self, records: Floats, sides: Floats, candidates: Floats) -> NDArray[np.int64]:
        """Return the loss of each candidate: exact integers, to which a record adds 0 to ``TOP``."""
        total = np.zeros(self.population, dtype=np.int64)
        for block in blocks(len(records)):
            # Integers below 2^53: no more than 2^11 products of 2^12 and 2^13.
            found = record_losses(self.loss_name, records[block] @ candidates.T, sides[block])
            total += np.add.reduce(found, axis=0).astype(np.int64)
        return total

    def _children(self, first: Floats, second: Floats, generation: int) -> Floats:
        """Return the next candidates: the parents, and crossings of them with some weights moved."""
        shape = (self.population, self.box.columns + 1)
        children = np.where(self._numbers(f"cross:{generation}", shape) < 0.5, first, second)
        drawn = self._numbers(f"move:{generation}", (2, *shape))
        aside = (drawn[0] + drawn[1] - 1) * (2 * _MUTATION * _COOLING**generation * _LARGEST)
        moved = self._numbers(f"which:{generation}", shape) < max(2 / shape[1], 0.1)
        children = np.clip(np.rint(children + np.where(moved, aside, 0.0)), -_LARGEST, _LARGEST)
        children[0], children[1] = first, second
        return np.asarray(children, dtype=np.float64)

    def _numbers(self, what: str, shape: tuple[int, ...]) -> Floats:
        drawn: Floats = public_numbers(f"{what}:{self.public_seed}", math.prod(shape)).reshape(shape) / 2.0**32
        return drawn
