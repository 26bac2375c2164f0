"""Updates: what a table of all cells learns from one measured answer.

A question is a set of cells; its answer on a table is the sum over them. Each update moves the table towards a measured
answer, and each has a potential that shrinks with every gross error that it is told about:

- *proportional*: the cells of the question are scaled to the measured answer, all others to the rest of the total. Of
  all tables with that answer and total it is the nearest in relative entropy (Csiszar 1975).
- *multiplicative*: cells of the question are multiplied by e^(error / (2 total)), and the table is brought back to its
  total (Hardt and Rothblum 2010). At most 4 n^2 ln(cells) / error^2 such steps can be needed.
- *frieze-kannan*: the error is shared out evenly among the cells of the question, which may become negative. Of all
  tables with that answer it is the nearest in the Euclidean distance (Gupta, Roth and Ullman 2012, section 4).

The *median* is of another kind: it keeps all small databases that agree with what was measured, and answers with the
median of theirs (Roth and Roughgarden 2010). Of those that are left, at least half are dropped by every gross error.

Post-processing only: answers have been released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: From a table, a question and its measured answer to the next table.
Update = Callable[[Floats, Mask, float], Floats]

#: No cell is multiplied by more than e to this, or less than its inverse, in one update.
_FARTHEST: Final = 4.0


def proportional(table: Floats, question: Mask, measured: float) -> Floats:
    """Return the table scaled inside and outside of the question, so that it has the measured answer.

    >>> proportional(np.full(4, 5.0), np.array([True, False, False, False]), 11.0).tolist()
    [11.0, 3.0, 3.0, 3.0]

    """
    total, held = float(table.sum()), float(table[question].sum())
    wanted = min(max(measured, 0.0), total)
    moved = table.copy()
    for place, has, gets in ((question, held, wanted), (~question, total - held, total - wanted)):
        cells = int(place.sum())
        if cells:
            # Where nothing was, all cells get the same.
            moved[place] = moved[place] * (gets / has) if has > 0 else gets / cells
    return moved


def multiplicative(table: Floats, question: Mask, measured: float) -> Floats:
    """Return the table after one step of multiplicative weights.

    >>> multiplicative(np.full(4, 5.0), np.array([True, True, False, False]), 20.0).round(2).tolist()
    [5.62, 5.62, 4.38, 4.38]

    """
    total = float(table.sum())
    if not total > 0:
        return table
    step = (measured - float(table[question].sum())) / (2 * total)
    moved = np.where(question, table * np.exp(np.clip(step, -_FARTHEST, _FARTHEST)), table)
    return np.asarray(moved * (total / moved.sum()))


def frieze_kannan(table: Floats, question: Mask, measured: float) -> Floats:
    """Return the table with the error shared out evenly among the cells of the question.

    >>> frieze_kannan(np.zeros(3), np.array([True, True, False]), 5.0).tolist()
    [2.5, 2.5, 0.0]

    """
    cells = int(question.sum())
    return table + question * ((measured - float(table[question].sum())) / cells) if cells else table


#: The updates by name.
UPDATES: Final[Mapping[str, Update]] = MappingProxyType(
    {"proportional": proportional, "multiplicative": multiplicative, "frieze-kannan": frieze_kannan}
)
#: How many answers are gone over again, in how many passes, and with how many steps in all at each new one.
_MOST_KEPT: Final = 256
_MOST_KEPT_CELLS: Final = 2**26
_PASSES: Final = 10
_STEPS: Final = 256
#: What answers by the median of small databases.
MEDIAN: Final = "median"
#: The most databases that the median is taken over.
MOST_DATABASES: Final = 2**14


class Learner(Protocol):
    """What answers questions and learns from measured answers."""

    def answer(self, question: Mask) -> float:
        """Return the answer to a question."""

    def learn(self, question: Mask, measured: float) -> None:
        """Learn a measured answer."""


class TableLearner:
    """A table of all cells, and an update, which goes over the latest answers again and again: that is free.

    Args:
        table: to begin with.
        update: the name of the update.

    """

    def __init__(self, table: Floats, update: str) -> None:
        self.table = table
        self._update = UPDATES[update]
        self._told: list[tuple[Mask, float]] = []

    def answer(self, question: Mask) -> float:
        """Return the sum over the cells of the question."""
        return float(np.sum(self.table, where=question))

    def learn(self, question: Mask, measured: float) -> None:
        """Update the table with this answer and with those before it, several times if they are few."""
        kept = max(1, min(_MOST_KEPT, _MOST_KEPT_CELLS // question.size))
        self._told = [*self._told, (question, measured)][-kept:]
        for _ in range(max(1, min(_PASSES, _STEPS // len(self._told)))):
            for asked, answer in self._told:
                self.table = self._update(self.table, asked, answer)


class MedianLearner:
    """All databases of a few records, scaled to a total: those that agree with what was measured.

    Args:
        shape: of the table.
        records: how many records each database has.
        total: how many rows they stand for together.

    >>> learner = MedianLearner((2,), records=2, total=10.0)
    >>> first = np.array([True, False])
    >>> learner.answer(first)
    5.0
    >>> learner.learn(first, 9.0)
    >>> learner.answer(first)
    10.0

    """

    def __init__(self, shape: tuple[int, ...], records: int, total: float) -> None:
        cells = math.prod(shape)
        chosen = np.array(list(combinations_with_replacement(range(cells), records)), dtype=np.int64)
        rows = np.repeat(np.arange(len(chosen)), records)
        self._databases = np.zeros((len(chosen), cells))
        np.add.at(self._databases, (rows, chosen.ravel()), total / records)

    def answer(self, question: Mask) -> float:
        """Return the median of the answers of all databases that are left."""
        return float(np.median(self._answers(question)))

    def learn(self, question: Mask, measured: float) -> None:
        """Drop the databases whose answers are on the wrong side of the median, if any is left."""
        answers = self._answers(question)
        middle = float(np.median(answers))
        stays = answers > middle if measured > middle else answers < middle
        if stays.any():
            self._databases = self._databases[stays]

    def _answers(self, question: Mask) -> Floats:
        return np.asarray(self._databases[:, question.ravel()].sum(axis=1))


def databases(cells: int, records: int) -> int:
    """Return how many databases of a few records there are.

    >>> databases(4, 3)
    20

    """
    return math.comb(cells + records - 1, records)
