"""The perceptron on noisy sums: a linear separator, moved a fixed number of times towards the rows it gets wrong.

For two classes that a line through bounded columns separates well. Cost: two passes over the records a round.
Corrections: the printed perceptron visits one row at a time until none is wrong, which tells of rows and of when it
stopped; here all wrong rows pull at once, each with at most a public length, for a fixed number of rounds, and the pull
is released with noise. Everything is integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Whole
from dither.learn.centred import CONSTANT, LENGTH, REST
from dither.learn.declared import DeclaredBounds
from dither.learn.models import LinearModel
from dither.learn.noise_parts import noisy, shaped
from dither.learn.rows import STEPS, BoundField, ball_radius, into_ball, labelled, records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

#: Weights are cut off here, and columns limited, so that a score of integers stays below 2^63.
_MOST_WEIGHT: Final = 2**38
_MOST_COLUMNS: Final = 2**10
USUAL_ROUNDS: Final = 20


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    pairs = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
    yield Example(NoisyPerceptron(**box, rounds=2, part=DiscreteGaussian(sigma=2**14)), rows, pairs)
    yield Example(NoisyPerceptron(**box, rounds=1, part=GammaNorm(scale=2**14), unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="Practical Privacy: the SuLQ Framework (Blum et al. 2005); Differential Privacy and "
    "Applications (Zhu et al. 2017), section 6.1.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class NoisyPerceptron(DeclaredBounds, Composed[Any, LinearModel]):
    """Move a linear separator a fixed number of times by noisy sums of the rows that it gets wrong.

    Guarantee: data ``d_in`` rows apart loses ``rounds`` times what ``part`` loses at ``d_in * 2^14``, the length of the
    longest record in L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        rounds: the number of times that the separator is moved.
        part: the noise of a sum, in steps.
        unit: ROW or ROW_REPLACED.

    A row ends with its label, 0 or 1; rows with any other label are left out.

    >>> from dither.privacy import ApproxDP
    >>> learner = NoisyPerceptron.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10])
    >>> learner.loss(1) <= ApproxDP(1, "1e-6")
    True

    """

    name: ClassVar[str] = "noisy-perceptron"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well a line separates the rows depends on the rows"
    no_interval_because: ClassVar[str] = "the best separator has no known distance from a noisy one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    rounds: Whole = Whole(least=1, most=2**20)
    part: OneEntry = OneEntry()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.box.columns >= _MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of fewer than {_MOST_COLUMNS} columns")

    @classmethod
    def calibrated(cls, within: Loss, *, lower: Any, upper: Any, rounds: int = USUAL_ROUNDS, unit: Unit = ROW) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``."""
        purse = Purse.within(within)
        touched = unit.touched if isinstance(unit, Unit) else 1
        part = (purse / max(rounds, 1)).vector_noise(touched * LENGTH)
        return cls(lower=lower, upper=upper, rounds=rounds, part=part, unit=unit)

    @property
    def stability(self) -> int:
        """How far one unit moves a sum, in steps."""
        return self.unit.touched * LENGTH

    def plan(self) -> Plan:
        """One sum for each round."""
        return Repeat(Use(shaped(self.part, self.box.columns + 1), self.stability), self.rounds)

    def release(self, data: Any, run: Runner) -> LinearModel:
        """Return the separator: the sum of its positions after each round."""
        values, classes = labelled(records_of(data, self.box.columns), 2)
        radius = ball_radius(self.box.columns)
        signed = self._signed(values, classes, radius)
        weights = np.zeros(self.box.columns + 1, dtype=np.int64)
        total = np.zeros(self.box.columns + 1)
        for _ in range(self.rounds):
            # Before the first round everything is wrong: the first sum leads from one class to the other.
            pull = signed[signed @ weights <= 0].sum(axis=0)
            moved = weights + noisy(run, self.part, pull, self.stability)
            weights = np.rint(np.clip(moved, -_MOST_WEIGHT, _MOST_WEIGHT)).astype(np.int64)
            total += weights
        total /= max(float(np.abs(total).max()), 1.0)
        return LinearModel(
            self.box.lower,
            self.box.upper,
            PublicArray(np.zeros(self.box.columns)),
            radius / STEPS,
            PublicArray(total[None, :-1] * (REST / LENGTH)),
            PublicArray(total[-1:] * (CONSTANT / LENGTH)),
        )

    def _signed(self, values: NDArray[np.float64], classes: NDArray[np.int64], radius: int) -> NDArray[np.int64]:
        """Return records of at most the public length, constant included, each multiplied by its class as +1 or -1."""
        short = into_ball(self.box.steps(values), radius, REST)
        whole = np.column_stack([short, np.full(len(short), float(CONSTANT))]).astype(np.int64)
        return whole * (2 * classes[:, None] - 1)
