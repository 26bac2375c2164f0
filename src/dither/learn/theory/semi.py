"""The semi-supervised private learner: many unlabelled rows thin out the class, few labelled rows choose from it.

Rows without labels are counted with noise at every point. In the distribution that these counts stand for, concepts
that differ on a small share of rows are as good as each other, and one of them is kept. The labelled rows then choose
among the kept ones by the exponential mechanism. How many are kept is bounded by the Vapnik-Chervonenkis dimension and
not by the size of the class, and so is the number of labelled rows that are needed. Cost: one pass over the predictions
of the class for each concept that is kept. Correction: labelled rows grow with the dimension and unlabelled ones with
the dimension times the logarithm of the universe, not the other way round as tables have it; counting every point needs
unlabelled rows in proportion to the universe, which is the price of a sanitiser that is fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, probability
from dither.learn.theory.concepts import Concept, Concepts, ListedField
from dither.learn.theory.labelled import UNLABELLED, counts_of, errors_of, known_of
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics
from dither.mechanisms.core.purse import Epsilon, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, Loss, Parallel, Plan, PureDP, Unit, Within


def _examples() -> Iterator[Example]:
    rows = np.array([[0, -1], [1, -1], [1, 1], [2, 1], [9, 7]])
    pairs = ((rows, rows[1:], 1), (rows, rows[:2], 3), (rows[:0], rows[:1], 1), (rows[:0], rows[3:4], 1))
    yield Example(SemiSupervisedLearner(concepts=Concepts.thresholds(3), epsilon=1, radius="1/4"), rows, pairs)
    # A row that loses its label leaves one part of the data and enters the other: two rows.
    relabelled = ((rows, np.vstack([rows[:3], [[2, -1], [9, 7]]]), 2),)
    table = Concepts.table([[0, 1], [1, 0], [1, 1]])
    yield Example(SemiSupervisedLearner(concepts=table, epsilon="1/2", radius="1/3"), rows, relabelled)


@register(
    examples=_examples,
    source="Learning Privately with Labeled and Unlabeled Examples (Beimel, Nissim, Stemmer 2015); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 6.2.3",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class SemiSupervisedLearner(Composed[Any, Concept]):
    """Thin out a class by noisy counts of rows without labels, and choose from the rest by rows with labels.

    Guarantee: data that differs in one row loses ``epsilon``, in ``d_in`` rows that many times as much, whether rows
    have labels or not.

    A row is a point and a label; the label -1 stands for none. A row that is replaced is one that goes and one that
    comes.

    Args:
        concepts: the class.
        epsilon: the loss of one row. A row either has a label or not, so both kinds get all of it.
        radius: concepts that differ on at most this share of rows count as equally good.

    >>> SemiSupervisedLearner.calibrated(PureDP(1), concepts=Concepts.thresholds(100), radius="0.1").loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "semi-supervised-learner"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the chosen concept says nothing about how good the best one was"

    concepts: ListedField = ListedField()
    epsilon: Epsilon = Epsilon()
    radius: Positive = Positive()

    def __post_init__(self) -> None:
        if not self.radius < 1:
            raise InvalidParameter("radius", str(self.radius), "a number in (0, 1)")

    @classmethod
    def calibrated(cls, within: Loss, *, concepts: Concepts, radius: Number = Fraction(1, 20)) -> Self:
        """Return the learner whose loss for one row is within ``within``."""
        return cls(concepts=concepts, epsilon=Purse.pure_within(within).amount, radius=radius)

    @property
    def distance(self) -> Unit:
        """Rows added or removed."""
        return ROW

    @property
    def counting(self) -> Geometric:
        """The noise of the counts of rows without labels, at all points."""
        return Geometric(scale=1 / self.epsilon, shape=(self.concepts.universe,))

    def choice(self, kept: int) -> Exponential:
        """Return the choice among ``kept`` concepts: a labelled row adds 0 or 1 to the errors of each."""
        return Exponential(candidates=kept, scale=1 / self.epsilon, one_way=True)

    def plan(self) -> Plan:
        """Two disjoint parts of the data, rows without labels and rows with labels; one draw from each."""
        each = Within(PureDP(self.epsilon), (Geometric, Exponential))
        return Parallel(each, siblings=2, touched=1)

    def error(self, confidence: Number) -> Bound:
        """Return how many more errors the chosen concept may make on labelled rows than the best kept one."""
        probability("confidence", confidence, open_below=True)
        found = self.choice(self.concepts.count).error(confidence)
        return replace(found, meaning="the number of errors beyond those of the best concept that was retained")

    def release(self, data: Any, run: Runner) -> Concept:
        """Return the chosen concept."""
        universe = self.concepts.universe
        rows = known_of(data, universe, (0, 1, UNLABELLED))
        has_none = rows[:, 1] == UNLABELLED
        without, with_labels = run.parallel(2)
        there = np.bincount(rows[has_none, 0], minlength=universe).astype(np.int64)
        kept = self.cover(np.asarray(without(self.counting, there)))
        errors = errors_of(self.concepts.predictions[kept], counts_of(rows[~has_none], universe))
        chosen = int(with_labels(self.choice(kept.size), -errors))
        return self.concepts.concept(int(kept[chosen]))

    def cover(self, noisy: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the kept concepts: each one that is far from all those kept before it. Public.

        Args:
            noisy: the released numbers of rows at all points; negative ones count as 0.

        """
        weights = [max(0, count) for count in noisy.tolist()]
        # Floats that decide what is kept would be post-processing as well; integers make ties plain.
        limit = self.radius * sum(weights)
        table = self.concepts.predictions.astype(object) if max(weights) > 2**40 else self.concepts.predictions
        mass = np.array(weights, dtype=table.dtype)
        left, kept = np.arange(self.concepts.count), []
        while left.size:
            kept.append(int(left[0]))
            apart = np.abs(table[left] - table[left[0]]) @ mass
            left = left[np.array([Fraction(int(far)) > limit for far in apart.tolist()], dtype=bool)]
        return np.array(kept, dtype=np.int64)
