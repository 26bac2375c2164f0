"""The lattice of full-domain generalisations: a level for every quasi-identifier, and what each choice leaves.

Rows with the same quasi-identifiers (and sensitive values, where rules ask for these) are looked at once, with their
number: no choice of levels tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.disguise.classes import joined, numbered
from dither.disguise.contract import Recoded
from dither.disguise.hierarchies import Hierarchy, Level
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.exact import exact

#: A level of each quasi-identifier.
Node = tuple[int, ...]
_MOST_NODES: Final = 1 << 20


class Checked(NamedTuple):
    """What a node leaves.

    Args:
        suppressed: rows in classes that do not fulfil the rules.
        penalty: the average width of cells, where a suppressed row counts as 1.

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

    """

    quasi: tuple[str, ...]
    levels: tuple[tuple[Level, ...], ...]
    codes: tuple[tuple[Codes, ...], ...]
    widths: tuple[tuple[NDArray[np.float64], ...], ...]
    rows: Codes
    weights: Codes
    of_row: Codes
    trial: Trial

    @classmethod
    def of(cls, table: Table, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy], trial: Trial) -> Lattice:
        """Return the lattice of a table."""
        for name in quasi:
            if name not in hierarchies:
                raise InvalidParameter("hierarchies", name, "given for every quasi-identifier; this one has none")
        columns = [table[name] for name in quasi]
        levels = tuple(tuple(_levels(name, table[name], hierarchies[name])) for name in quasi)
        size = int(np.prod([len(one) for one in levels], dtype=object))
        if size > _MOST_NODES:
            raise InvalidParameter("hierarchies", size, f"such that there are at most {_MOST_NODES} choices of levels")
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
        return cls(tuple(quasi), levels, codes, widths, rows, np.bincount(of_row), of_row, trial)

    @property
    def shape(self) -> Node:
        """How many levels each quasi-identifier has."""
        return tuple(map(len, self.levels))

    def floor(self) -> NDArray[np.float64]:
        """Return the penalty of every node without suppression: no node has less."""
        total = np.zeros(self.shape)
        for place, some in enumerate(self.widths):
            means = np.array([width @ self.weights for width in some]) / (len(self.of_row) * len(self.quasi))
            total += means.reshape([-1 if axis == place else 1 for axis in range(len(self.quasi))])
        return total

    def check(self, node: Node) -> Checked:
        """Return what a node leaves."""
        good = self._good(node)
        kept = self.weights * good
        width = np.zeros(len(kept))
        for some, level in zip(self.widths, node, strict=True):
            width += some[level]
        suppressed = len(self.of_row) - int(kept.sum())
        return Checked(suppressed, (float(width @ kept) / len(self.quasi) + suppressed) / len(self.of_row))

    def _good(self, node: Node) -> NDArray[np.bool_]:
        """Return which kinds of rows are in classes that fulfil the rules."""
        codes = [some[level] for some, level in zip(self.codes, node, strict=True)]
        sizes = [len(some[level].labels) for some, level in zip(self.levels, node, strict=True)]
        classes, count = numbered(joined(codes, sizes)[0])
        held = np.rint(np.bincount(classes, weights=self.weights, minlength=count)).astype(np.int64)
        return self.trial.holds(classes, held, self.rows, self.weights)[classes]

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
    lacking = [value for value in column.values if ("" if value is None else str(value)) not in hierarchy.labels]
    if lacking:
        raise InvalidParameter(name, lacking[0], "a value that its hierarchy has a line for")
    return hierarchy.levels(column)


def rows_allowed(rules: Rules, suppression: float, rows: int) -> int:
    """Return how many rows of a table may be left out."""
    if not 0 <= suppression < 1:
        raise InvalidParameter("suppression", suppression, "a share of rows, at least 0 and less than 1")
    if suppression and rules.compares:
        rule = "0 with t, beta or delta: these compare classes with the whole table, of which rows would be left out"
        raise InvalidParameter("suppression", suppression, rule)
    return math.floor(exact("suppression", suppression) * rows)
