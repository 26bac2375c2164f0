"""Splits of a node and their scores: integers that one record moves one way, by at most a proven amount.

A column of numbers may be split at any edge of its cells, a column of categories into one category and the rest. A
score looks at the counts of the classes on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import OneOf
from dither.learn.trees.bins import Bins, Whole64

SCORES: Final = ("largest-class", "gini", "gain")
#: Steps of a Gini score per record, and of an information gain per bit and record.
_GINI_STEPS: Final = 2**8
_GAIN_STEPS: Final = 2**6
_NO_RATIO = (
    "one of largest-class, gini, gain; the gain ratio divides by a split's own information, which may be close to 0, "
    "so that no bound holds for the effect of one record"
)


class ScoreField(OneOf):
    """The score by which a split is chosen."""

    def __init__(self, default: Any = "largest-class") -> None:
        super().__init__(*SCORES, default=default)

    def convert(self, name: str, value: Any) -> Any:
        """Return the name of the score."""
        if isinstance(value, str) and "ratio" in value:
            raise InvalidParameter(name, value, _NO_RATIO)
        return super().convert(name, value)

    def offenders(self) -> Iterator[Any]:
        """Return values that are not a known score, and the score that has no bound."""
        yield from ("gain-ratio", *super().offenders())


@dataclass(frozen=True)
class Splits:
    """All splits that a node may have: public, and the same for every node."""

    bins: Bins

    @cached_property
    def columns(self) -> Whole64:
        """The column of each split."""
        counts = [self._count(column) for column in range(self.bins.columns)]
        return np.repeat(np.arange(self.bins.columns), counts)

    @cached_property
    def right(self) -> Whole64:
        """For each split, the cells of its column that go right."""
        found = np.zeros((self.number, self.bins.widest), dtype=np.int64)
        for split in range(self.number):
            column = int(self.columns[split])
            place = split - int(np.searchsorted(self.columns, column))
            if self.bins.unordered.values[column]:
                found[split, place] = 1
            else:
                found[split, place + 1 : int(self.bins.counts.values[column])] = 1
        return found

    @property
    def number(self) -> int:
        """The number of splits."""
        return len(self.columns)

    def _count(self, column: int) -> int:
        cells = int(self.bins.counts.values[column])
        return cells if self.bins.unordered.values[column] else cells - 1

    def tables(self, cells: Whole64, classes: Whole64, nodes: Whole64, count: int, kinds: int) -> list[NDArray[Any]]:
        """Return for each column the counts of records by node, cell and class.

        Args:
            cells: the cells of each record.
            classes: the class of each record.
            nodes: the node of each record.
            count: the number of nodes.
            kinds: the number of classes.

        """
        found = []
        for column, width in enumerate(self.bins.counts.values.tolist()):
            place = (nodes * width + cells[:, column]) * kinds + classes
            found.append(np.bincount(place, minlength=count * width * kinds).reshape(count, width, kinds))
        return found

    def sides(self, tables: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the counts by node, split and class on the left and on the right."""
        left, right = [], []
        for column, table in enumerate(tables):
            whole = table.sum(axis=1, keepdims=True)
            apart = table if self.bins.unordered.values[column] else whole - np.cumsum(table, axis=1)[:, :-1]
            right.append(apart)
            left.append(whole - apart)
        return np.concatenate(left, axis=1), np.concatenate(right, axis=1)


def score_of(name: str, left: Whole64, right: Whole64, records: int) -> Whole64:
    """Return the integer score of each split, from counts whose last axis is the class."""
    return _side(name, left, records) + _side(name, right, records)


def score_moves(name: str, records: int) -> int:
    """Return how far one record moves any score; all scores of a node move the same way.

    >>> score_moves("largest-class", 100), score_moves("gini", 100), score_moves("gain", 2**10)
    (1, 512, 732)
    """
    if name == "largest-class":
        return 1
    return 2 * _GINI_STEPS if name == "gini" else int(_increments(records)[-1])


def _side(name: str, counts: Whole64, records: int) -> Whole64:
    """Return the part of a split's score that comes from one side."""
    whole = counts.sum(axis=-1)
    if name == "largest-class":
        return np.asarray(counts.max(axis=-1), dtype=np.int64)
    if name == "gini":
        # Counts beyond 2^23 stay there, so that squares of 2^8 classes fit: what a record adds is then 0.
        few = np.minimum(counts, 2**23)
        squares = (few * few).sum(axis=-1) * _GINI_STEPS
        return np.asarray(squares // np.maximum(few.sum(axis=-1), 1) - _GINI_STEPS * few.sum(axis=-1), dtype=np.int64)
    return np.asarray(_entropy(counts, records).sum(axis=-1) - _entropy(whole, records), dtype=np.int64)


def _entropy(counts: Whole64, records: int) -> Whole64:
    """Return integers near 64 m log2 m: sums of increments that never decrease, and stay the same at the end."""
    increments = _increments(records)
    sums = _increment_sums(records)
    beyond = np.maximum(counts - records, 0) * increments[-1]
    return np.asarray(sums[np.minimum(counts, records)] + beyond, dtype=np.int64)


@lru_cache(maxsize=8)
def _increments(records: int) -> Whole64:
    """Return the increments from m to m + 1, for m = 0, ..., records."""
    numbers = np.arange(records + 2, dtype=np.float64)
    whole = _GAIN_STEPS * numbers * np.log2(np.maximum(numbers, 1.0))
    rising = np.maximum.accumulate(np.rint(np.diff(whole))).astype(np.int64)
    rising.setflags(write=False)
    return rising


@lru_cache(maxsize=8)
def _increment_sums(records: int) -> Whole64:
    sums = np.concatenate([[0], np.cumsum(_increments(records)[:-1])]).astype(np.int64)
    sums.setflags(write=False)
    return sums
