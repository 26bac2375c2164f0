"""Statistical queries: learning from noisy averages of functions of single rows.

For learners that ask "what share of rows has this property" and never look at a row, which many can be written as. The
conversation first measures the number of rows, then answers a fixed number of questions. Cost: one pass over the table
of counts a question. Correction: sums are divided by the *noisy* number of rows; the true one, which print divides by,
is private when rows come and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Whole, probability, typed, whole
from dither.learn.declared import DeclaredUnit
from dither.learn.theory.concepts import MOST_BITS, Conjunction
from dither.learn.theory.counting import count_reach
from dither.learn.theory.labelled import counts_of, known_of
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Interactive, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

_MOST_POINTS: Final = 2**20
#: How far one row moves a sum: what it adds is 0 or 1, so that a row in its place changes the sum by 1 at most, too.
_MOVED: Final = 1
_ZEROS_AND_ONES: Final = "zeros and ones, a row for each point and a column for each label"


@dataclass(frozen=True)
@typed
class Property:
    """A question: the pairs of a point and a label that have a property.

    Args:
        holds: zeros and ones, a row for each point, a column for each label.

    """

    holds: PublicArray

    def __post_init__(self) -> None:
        """Refuse values that are not a table of zeros and ones: a row would move a sum by its entry, and pay for 1."""
        array = self.holds.values
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind == "b" or not _is_zeros_and_ones(array):
            raise InvalidParameter("holds", self.holds, _ZEROS_AND_ONES)

    @classmethod
    def of(cls, holds: ArrayLike) -> Property:
        """Return the property described by a table of zeros and ones, or of true and false."""
        array = np.asarray(holds)
        if array.size == 0 or not _is_zeros_and_ones(array):
            raise InvalidParameter("holds", holds, _ZEROS_AND_ONES)
        return cls(PublicArray(array.astype(np.int64)))


def _is_zeros_and_ones(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "biu" and bool(np.isin(array, (0, 1)).all())


def _examples() -> Iterator[Example]:
    rows = np.array([[0, 0], [1, 1], [1, 1], [9, 1]])
    script = (Property.of([[1, 0], [0, 1]]), Property.of([[0, 0], [1, 0]]))
    tables = ((rows, rows[1:]), (rows[:0], rows[1:2]), (rows, np.vstack([rows, [[1, 0]]])))
    pairs = tuple((Dialogue(here, script), Dialogue(there, script), 1) for here, there in tables)
    oracle = StatisticalQueries(universe=2, questions=2, part=Geometric(scale=3))
    yield Example(oracle, Dialogue(rows, script), pairs)
    swapped = ((Dialogue(rows, script), Dialogue(np.vstack([rows[1:], [[1, 1]]]), script), 1),)
    gaussian = StatisticalQueries(universe=2, questions=2, part=DiscreteGaussian(sigma=2), unit=ROW_REPLACED)
    yield Example(gaussian, Dialogue(rows, script), swapped)


@register(
    examples=_examples,
    source="Practical Privacy: the SuLQ Framework (Blum et al. 2005); learning from statistical queries: Kearns "
    "1998; Differential Privacy and Applications (Zhu et al. 2017), section 6.1.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class StatisticalQueries(DeclaredUnit, Interactive[Any, "Oracle"]):
    """Answer a fixed number of statistical queries by noisy shares of rows.

    Guarantee: data ``d_in`` rows apart, added, removed or replaced, loses over the whole conversation ``questions`` + 1
    times what ``part`` loses at ``d_in``.

    Args:
        universe: the number of points; a row is a point and a label of 0 or 1, others are left out.
        questions: the number of questions that are answered.
        part: the noise of one sum.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> StatisticalQueries.calibrated(PureDP(1), universe=16, questions=7).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "statistical-queries"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "a share is a ratio of two noisy numbers; error bounds both"

    universe: Whole = Whole(least=1, most=_MOST_POINTS)
    questions: Whole = Whole(least=1, most=2**20)
    part: OneCount = OneCount()
    unit: RowUnit = RowUnit(ROW)

    @classmethod
    def calibrated(cls, within: Loss, *, universe: int, questions: int, unit: Unit = ROW) -> Self:
        """Return the conversation with the least noise whose whole loss for one unit is within ``within``."""
        draft = cls(universe=universe, questions=questions, part=Geometric(scale=1), unit=unit)
        part = (Purse.within(within) / (draft.questions + 1)).noise(_MOVED)
        return replace(draft, part=part)

    def plan(self) -> Plan:
        """Return one draw for the number of rows, and one for each answer."""
        each = Use(self.part, _MOVED)
        return InOrder.of(each, Repeat(each, self.questions))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of the number of rows and of all sums, at once."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = count_reach(self.part, share_of_failure(wanted, self.questions + 1))
        return Bound(float(reach), wanted, "the absolute error of the number of rows and of any sum")

    def open(self, data: Any, run: Runner) -> Oracle:
        """Return the conversation about these rows, after measuring how many there are."""
        counts = counts_of(known_of(data, self.universe), self.universe)
        rows = int(run(self.part, int(counts.sum()), stability=_MOVED))
        return Oracle(counts, run, self.part, rows)


class Oracle:
    """Answers questions about the rows it keeps. Bound to thread and process by its runner."""

    def __init__(self, counts: NDArray[np.int64], run: Runner, part: CountNoise, rows: int) -> None:
        self._counts, self._run, self._part = counts, run, part
        #: About how many rows there are.
        self.rows = max(rows, 1)

    @quietly
    def ask(self, question: Property) -> float:
        """Return the approximate share of rows that have a property, between 0 and 1."""
        # Read once and checked again: a question of a subclass could hold other numbers than it was made of.
        holds = np.array(question.holds.values) if isinstance(question, Property) else np.empty(0)
        if holds.shape != self._counts.shape or not _is_zeros_and_ones(holds):
            raise InvalidParameter("question", type(question).__name__, f"a Property of {len(self._counts)} points")
        total = int(self._counts[holds == 1].sum())
        noisy = int(self._run(self._part, total, stability=_MOVED))
        return min(max(noisy / self.rows, 0.0), 1.0)


def learned_conjunction(oracle: Oracle, bits: int, tolerance: float) -> Conjunction:
    """Return the conjunction of all literals that hardly any positive row contradicts, by two questions for each bit.

    A literal of the true conjunction contradicts no positive row. A literal that is kept contradicts few: with shares
    that are off by at most ``tolerance``, no literal of the truth is left out and what is kept is wrong on a share of
    rows of at most 4 * bits * ``tolerance``.

    Args:
        oracle: an open conversation with 2 * ``bits`` questions left, over 2^bits points.
        bits: the number of bits of a point.
        tolerance: how far an answer may be off.

    """
    every = np.arange(2 ** whole("bits", bits, least=1, most=MOST_BITS))
    kept = {0: 0, 1: 0}
    for bit in range(bits):
        for value in (0, 1):
            against = (every >> bit & 1) != value
            holds = np.stack([np.zeros_like(against), against], axis=1).astype(np.int64)
            kept[value] |= (oracle.ask(Property.of(holds)) <= tolerance) << bit
    return Conjunction(ones=kept[1], zeros=kept[0])
