"""Blocks of values that are written alike, and the greedy growth of them until every class fulfils the rules.

Rows with the same values are one kind and are counted together. A step groups the kinds once. The moves of a step are
those of the commonest value, in each quasi-identifier, among the rows in classes that break a rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from dither.disguise.classes import Figures, joined, numbered
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.recoding import set_of
from dither.disguise.rules import Trial, ordered_values
from dither.disguise.table import Codes, Column, Table

#: Of more blocks than this only those next to a block, in the order of values, are tried.
_MOST_OTHERS: Final = 64


class Blocks(ABC):
    """The blocks of one column, each a set of its values.

    Args:
        column: whose values they are.

    """

    def __init__(self, column: Column) -> None:
        self.column = column
        self.block: Codes = np.arange(len(column.values))

    def block_of(self, value: int) -> Codes:
        """Return the values that are written like a value."""
        codes = self.codes()
        return np.flatnonzero(codes == codes[value])

    def codes(self) -> Codes:
        """Return the number of each value's block."""
        return self.block

    def others(self, value: int, among: Codes | None = None) -> Iterator[Codes]:
        """Yield the blocks of other values: all, or those next to a value's where there are many."""
        codes, order = self.codes(), ordered_values(self.column)
        if among is not None:
            order = order[np.isin(order, among)]
        found, firsts = np.unique(codes[order], return_index=True)
        in_order = found[np.argsort(firsts)]
        here = int(np.flatnonzero(in_order == codes[value])[0])
        start = max(0, min(here - _MOST_OTHERS // 2, len(in_order) - _MOST_OTHERS))
        for code in in_order[start : start + _MOST_OTHERS]:
            if code != codes[value]:
                yield np.flatnonzero(codes == code)

    @abstractmethod
    def moves(self, value: int) -> Iterator[Codes]:
        """Yield the values that may become one block together with a value's own."""

    def merge(self, values: Codes) -> None:
        """Make one block of values, of which all blocks that they touch are part."""
        self.block[values] = self.block[values].min()

    def widths(self) -> Figures:
        """Return for each value the share of other values that its label stands for as well."""
        sizes = np.bincount(self.block, minlength=len(self.block))[self.block]
        return np.asarray((sizes - 1) / max(len(self.block) - 1, 1))

    def width_of(self, values: Codes) -> float:
        """Return the same for values, if they were one block."""
        return (len(values) - 1) / max(len(self.block) - 1, 1)

    def labels(self) -> tuple[list[object], Codes]:
        """Return what blocks are written as, and which of them each value becomes."""
        found, of_value = np.unique(self.block, return_inverse=True)
        order = ordered_values(self.column)
        of_order = self.block[order]
        sets = [[self.column.values[place] for place in order[of_order == one]] for one in found]
        return [set_of(one) for one in sets], of_value.astype(np.int64)


class Labelled(Blocks):
    """Blocks that are written as nodes of a hierarchy: what is written alike has the same node on the same level.

    Args:
        column: whose values they are.
        tree: its hierarchy.
        struck: what every level above the lowest is written as; the labels of the hierarchy, if not given.

    """

    def __init__(self, column: Column, tree: Hierarchy, struck: str | None = None) -> None:
        super().__init__(column)
        levels = tree.levels(column)
        # Values that are written alike, such as 1 and "1", are one block from the beginning.
        self._nodes = np.stack([level.codes for level in levels])
        self._names = [level.labels for level in levels]
        self._shares = np.stack([level.widths[level.codes] for level in levels])
        self._struck = struck
        self.level = np.zeros(len(column.values), dtype=np.int64)

    def codes(self) -> Codes:
        """Return the number of each value's label."""
        keys = self.level * len(self.level) + self._nodes[self.level, np.arange(len(self.level))]
        return numbered(keys)[0]

    def widths(self) -> Figures:
        """Return for each value the share of other values that its label stands for as well."""
        return np.asarray(self._shares[self.level, np.arange(len(self.level))])

    def width_of(self, values: Codes) -> float:
        """Return the width of the lowest node above values."""
        return float(self._shares[self.above(values), values[0]])

    @property
    def height(self) -> int:
        """The number of the last level."""
        return len(self._nodes) - 1

    def below(self, value: int, level: int) -> Codes:
        """Return the values below a value's node on a level."""
        return np.flatnonzero(self._nodes[level] == self._nodes[level, value])

    def above(self, values: Codes) -> int:
        """Return the lowest level, above the lowest of these values, on which they have one node."""
        level = min(int(self.level[values].min()) + 1, self.height)
        while not np.all(self._nodes[level, values] == self._nodes[level, values[0]]):
            level += 1
        return level

    def labels(self) -> tuple[list[object], Codes]:
        """Return the labels of blocks, and which of them each value becomes."""
        codes = self.codes()
        firsts = np.unique(codes, return_index=True)[1].tolist()
        names: list[object] = []
        for first in firsts:
            level = int(self.level[first])
            label = self._names[level][self._nodes[level, first]]
            names.append((self._struck if level and self._struck else label) or None)
        return names, codes


def grown(
    table: Table, quasi: Sequence[str], blocks: Sequence[Blocks], trial: Trial, allowed: int
) -> tuple[Codes, int]:
    """Let blocks grow until the classes that break a rule have few enough rows; return the others' rows, and steps.

    Args:
        table: as it was.
        quasi: its quasi-identifiers.
        blocks: of each of them, which are changed.
        trial: of the rules.
        allowed: how many rows may be left out.

    """
    columns = [table[name] for name in quasi]
    told = [(column.codes, len(column.values)) for column in columns]
    if trial.rules.about_values:
        told += [(values.codes, len(values.shares)) for values in trial.values]
    of_row, count = numbered(joined([codes for codes, _ in told], [size for _, size in told])[0])
    rows = np.zeros(count, dtype=np.int64)
    rows[of_row] = np.arange(len(of_row))
    weights = np.bincount(of_row, minlength=count)
    values = [column.codes[rows] for column in columns]
    totals = [
        np.bincount(codes, weights=weights, minlength=len(one.values))
        for codes, one in zip(values, columns, strict=True)
    ]
    steps = 0
    while True:
        good = _good(blocks, values, rows, weights, trial)
        left = weights * ~good
        if left.sum() <= allowed:
            return np.flatnonzero(good[of_row]), steps
        best: tuple[float, int, Codes] | None = None
        for place, (one, codes) in enumerate(zip(blocks, values, strict=True)):
            reached = np.bincount(codes, weights=left, minlength=len(totals[place]))
            now = one.widths() * totals[place]
            for some in one.moves(int(reached.argmax())):
                cost = max(one.width_of(some) * float(totals[place][some].sum()) - float(now[some].sum()), 1e-9)
                gain = float(reached[some].sum()) / cost
                if best is None or gain > best[0]:
                    best = (gain, place, some)
        if best is None:
            raise RuntimeError("the table as one class does not fulfil the rules")
        blocks[best[1]].merge(best[2])
        steps += 1


def _good(blocks: Sequence[Blocks], values: Sequence[Codes], rows: Codes, weights: Codes, trial: Trial) -> np.ndarray:
    """Return which kinds of rows are in classes that fulfil the rules."""
    codes = [one.codes() for one in blocks]
    sizes = [int(some.max()) + 1 for some in codes]
    classes, count = numbered(joined([one[some] for one, some in zip(codes, values, strict=True)], sizes)[0])
    held = np.rint(np.bincount(classes, weights=weights, minlength=count)).astype(np.int64)
    return np.asarray(trial.holds(classes, held, rows, weights)[classes])
