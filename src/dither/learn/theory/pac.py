"""The private learner of a finite class: the exponential mechanism chooses a concept by its number of errors.

For any class small enough to be listed; time grows with the class, the rows that are needed with its logarithm. Cost:
one pass over the rows, one over the predictions of all concepts. Correction: errors are counted, not divided by a
number of rows that is private when rows come and go; and because a row only ever adds errors, the factor 2 of the
general exponential mechanism is not paid for rows added or removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dither.exact import Number, Positive
from dither.learn.declared import DeclaredUnit
from dither.learn.theory.concepts import Concept, Concepts, ListedField
from dither.learn.theory.labelled import counts_of, errors_of, known_of
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit


def _examples() -> Iterator[Example]:
    rows = np.array([[0, 0], [1, 1], [2, 1], [9, 1]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(PrivateLearner(concepts=Concepts.thresholds(3), scale=1), rows, pairs)
    swapped = ((rows, np.vstack([rows[1:], [[2, 0]]]), 1),)
    table = Concepts.table([[0, 1], [1, 0], [1, 1]])
    yield Example(PrivateLearner(concepts=table, scale=2, unit=ROW_REPLACED), rows, swapped)


@register(
    examples=_examples,
    source="What Can We Learn Privately? (Kasiviswanathan et al. 2011); Differential Privacy and "
    "Applications (Zhu et al. 2017), sections 5.4.1 and 6.2.3",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PrivateLearner(DeclaredUnit, Composed[Any, Concept]):
    """Choose a concept of a finite public class with probability proportional to e^(-errors / scale).

    Guarantee: data ``d_in`` rows apart loses epsilon = ``d_in / scale`` (twice that for rows replaced) and
    rho = epsilon^2 / 8.

    Args:
        concepts: the class.
        scale: the scale of the choice, in wrongly labelled rows.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = PrivateLearner.calibrated(PureDP(1), concepts=Concepts.thresholds(100))
    >>> print(learner.error("0.95"))
    the number of errors beyond those of the best concept is at most 7.61085 with probability 0.95

    """

    name: ClassVar[str] = "pac-learner"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the chosen concept says nothing about how good the best one was"

    concepts: ListedField = ListedField()
    scale: Positive = Positive()
    unit: RowUnit = RowUnit(ROW)

    @classmethod
    def calibrated(cls, within: Loss, *, concepts: Concepts, unit: Unit = ROW) -> Self:
        """Return the sharpest choice whose loss for one unit is within ``within``."""
        draft = cls(concepts=concepts, scale=1, unit=unit)
        part = Exponential.calibrated(
            within, sensitivity=1, candidates=draft.concepts.count, one_way=draft.choice.one_way
        )
        return replace(draft, scale=part.scale)

    @property
    def choice(self) -> Exponential:
        """The choice of a concept; an added or removed row moves all errors the same way, a replaced one does not."""
        return Exponential(candidates=self.concepts.count, scale=self.scale, one_way=self.unit == ROW)

    def plan(self) -> Plan:
        """One choice."""
        return Use(self.choice)

    def error(self, confidence: Number) -> Bound:
        """Return how many more errors the chosen concept may make on these rows than the best one."""
        found = self.choice.error(confidence)
        return replace(found, meaning="the number of errors beyond those of the best concept")

    def release(self, data: Any, run: Runner) -> Concept:
        """Return the chosen concept."""
        counts = counts_of(known_of(data, self.concepts.universe), self.concepts.universe)
        chosen = run(self.choice, -errors_of(self.concepts.predictions, counts))
        return self.concepts.concept(int(chosen))
