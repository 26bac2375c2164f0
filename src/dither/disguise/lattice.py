"""The lattice of full-domain generalisations: a level for every quasi-identifier, and what each choice leaves.

Rows with the same quasi-identifiers (and sensitive values, where rules ask for these) are looked at once, with their
number: no choice of levels tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dither.disguise.classes import joined, numbered
from dither.disguise.contract import Recoded
from dither.disguise.hierarchies import Hierarchy, Level
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.exact import exact

#: What is to be small: the width of cells, the squares of class sizes, the bits left open, or the sum of levels.
Objective = Literal["penalty", "discernibility", "entropy", "height"]
OBJECTIVES: Final[tuple[Objective, ...]] = get_args(Objective)
#: A level of each quasi-identifier.
Node = tuple[int, ...]
_MOST_NODES: Final = 1 << 20


class Checked(NamedTuple):
    """What a node leaves.

    Args:
        suppressed: rows in classes that do not fulfil the rules.
        penalty: what is lost, from 0 to 1, where a suppressed row counts as 1.

    """

    suppressed: int
    penalty: float


@dataclass(frozen=True, eq=False)
class Lattice:
    """All nodes of a table.

    Args:
        quasi: the quasi-identifiers.
        levels: of each of them, from 0 up.
        codes: of each kind of rows, by quasi-identifier and level.
        widths: of the cells of each kind of rows, by quasi-identifier and level.
        rows: a row of each kind.
        weights: how many rows are of each kind.
        of_row: the kind of each row.
        trial: the rules.
        objective: what is to be small.

    """

    quasi: tuple[str, ...]
    levels: tuple[tuple[Level, ...], ...]
    codes: tuple[tuple[Codes, ...], ...]
    widths: tuple[tuple[NDArray[np.float64], ...], ...]
    rows: Codes
    weights: Codes
    of_row: Codes
    trial: Trial
    objective: Objective = "penalty"

    @classmethod
    def of(
        cls,
        table: Table,
        quasi: Sequence[str],
        hierarchies: Mapping[str, Hierarchy],
        trial: Trial,
        objective: Objective = "penalty",
    ) -> Lattice:
        """Return the lattice of a table."""
        for name in quasi:
            if name not in hierarchies:
                raise InvalidParameter("hierarchies", name, "set for every quasi-identifier; this one has no hierarchy")
        columns = [table[name] for name in quasi]
        levels = tuple(tuple(_levels(name, table[name], hierarchies[name])) for name in quasi)
        size = int(np.prod([len(one) for one in levels], dtype=object))
        if size > _MOST_NODES:
            raise InvalidParameter("hierarchies", size, f"few enough for at most {_MOST_NODES} choices of levels")
        told = [(column.codes, len(column.values)) for column in columns]
        if trial.rules.about_values:
            told += [(values.codes, len(values.shares)) for values in trial.values]
        of_row, count = numbered(joined([codes for codes, _ in told], [size for _, size in told])[0])
        rows = np.zeros(count, dtype=np.int64)
        rows[of_row] = np.arange(len(of_row))
        codes = tuple(
            tuple(level.codes[column.codes[rows]] for level in some)
            for some, column in zip(levels, columns, strict=True)
        )
        widths = tuple(
            tuple(level.widths[kinds] for level, kinds in zip(some, every, strict=True))
            for some, every in zip(levels, codes, strict=True)
        )
        return cls(tuple(quasi), levels, codes, widths, rows, np.bincount(of_row), of_row, trial, objective)

    @property
    def shape(self) -> Node:
        """How many levels each quasi-identifier has."""
        return tuple(map(len, self.levels))

    def floor(self) -> NDArray[np.float64]:
        """Return what every node loses without suppression, or 0: no node loses less."""
        if self.objective != "penalty":
            return np.zeros(self.shape)
        total = np.zeros(self.shape)
        for place, some in enumerate(self.widths):
            means = np.array([width @ self.weights for width in some]) / (len(self.of_row) * len(self.quasi))
            total += means.reshape([-1 if axis == place else 1 for axis in range(len(self.quasi))])
        return total

    def check(self, node: Node) -> Checked:
        """Return what a node leaves."""
        classes, held, good = self._classes(node)
        kept = self.weights * good[classes]
        if self.objective != "penalty":
            suppressed = len(self.of_row) - int(kept.sum())
            return Checked(suppressed, self._lost(node, held[good], kept, suppressed))
        width = np.zeros(len(kept))
        for some, level in zip(self.widths, node, strict=True):
            width += some[level]
        suppressed = len(self.of_row) - int(kept.sum())
        return Checked(suppressed, (float(width @ kept) / len(self.quasi) + suppressed) / len(self.of_row))

    def _lost(self, node: Node, sizes: Codes, kept: Codes, suppressed: int) -> float:
        """Return what a node loses by a measure other than the penalty."""
        rows = len(self.of_row)
        if self.objective == "discernibility":
            return (float(np.sum(sizes.astype(np.float64) ** 2)) + suppressed * rows) / rows**2
        if self.objective == "height":
            return sum(node) / max(sum(size - 1 for size in self.shape), 1)
        # Entropy: the bits that a label leaves open about the value below it, of those that the column has.
        lost = 0.0
        for some, level in zip(self.codes, node, strict=True):
            values = np.bincount(some[0], weights=self.weights)
            labels = np.bincount(some[level], weights=self.weights)
            bits = np.log2(labels[some[level]] / values[some[0]])
            most = float(np.log2(rows / values[some[0]]) @ self.weights)
            lost += float(bits @ kept) / most if most else 0.0
        return lost / len(self.quasi) + suppressed / rows

    def _good(self, node: Node) -> NDArray[np.bool_]:
        """Return which kinds of rows are in classes that fulfil the rules."""
        classes, _, good = self._classes(node)
        return good[classes]

    def _classes(self, node: Node) -> tuple[Codes, Codes, NDArray[np.bool_]]:
        """Return the class of each kind of rows, the sizes of classes, and which of them fulfil the rules."""
        codes = [some[level] for some, level in zip(self.codes, node, strict=True)]
        sizes = [len(some[level].labels) for some, level in zip(self.levels, node, strict=True)]
        classes, count = numbered(joined(codes, sizes)[0])
        held = np.rint(np.bincount(classes, weights=self.weights, minlength=count)).astype(np.int64)
        return classes, held, self.trial.holds(classes, held, self.rows, self.weights)

    def recoded(self, table: Table, node: Node, done: Sequence[str]) -> Recoded:
        """Return the quasi-identifiers of a node; rows of classes that do not fulfil the rules are left out."""
        kept = np.flatnonzero(self._good(node)[self.of_row])
        columns, penalty = {}, 0.0
        for name, some, level in zip(self.quasi, self.levels, node, strict=True):
            column = table[name].taken(kept)
            # Values that are written alike, such as 1 and "1", are one label.
            if level or len(some[0].labels) < len(column.values):
                columns[name] = Column(some[level].labels, some[level].codes[column.codes])
                penalty += float(some[level].widths[columns[name].codes].mean()) / len(self.quasi)
            else:
                columns[name] = column
        said = ", ".join(
            f"{name} {level} of {len(some) - 1}"
            for name, some, level in zip(self.quasi, self.levels, node, strict=True)
        )
        return Recoded(columns, kept, penalty, (f"Levels: {said}.", *done))


def _levels(name: str, column: Column, hierarchy: Hierarchy) -> list[Level]:
    """Return the levels of a column; a value outside its hierarchy is named with its column."""
    return hierarchy.covers(name, column).levels(column)


def rows_allowed(rules: Rules, suppression: float, rows: int) -> int:
    """Return how many rows of a table may be left out."""
    if not 0 <= suppression < 1:
        raise InvalidParameter("suppression", suppression, "a share of rows, at least 0 and less than 1")
    if suppression and rules.compares:
        rule = "0 with t, beta or delta: these compare classes with the whole table, of which rows would be suppressed"
        raise InvalidParameter("suppression", suppression, rule)
    return math.floor(exact("suppression", suppression) * rows)
