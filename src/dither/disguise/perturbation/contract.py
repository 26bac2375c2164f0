"""A frozen record of parameters, applied to a table, gives a table of the same rows with other cells in some columns.

As everywhere in the room: no loss, no noise from a runner, and nothing that a plan or a session could name. What is
measured is how many cells are others, and how many rows are found again by whoever has the true columns.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from dither.disguise.classes import Figures
from dither.disguise.contract import WARNING
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator

#: At most this number of true rows is looked for among the perturbed ones.
_LOOKED_FOR: Final = 1000


@dataclass(frozen=True, eq=False)
class PerturbedTable:
    """A perturbed table, what was done to it, and what was measured. It carries no loss.

    Args:
        disguise: the name of the method.
        table: its rows are in the order in which they came, which tells who is who.
        done: what was done, a sentence each.
        changed: the share of cells that are others, by column.
        linked: the share of rows found again by whoever has the true columns and takes the nearest perturbed row.

    """

    disguise: str
    table: Table
    done: tuple[str, ...]
    changed: dict[str, float]
    linked: float

    warning: ClassVar[str] = WARNING

    def frame(self) -> Any:
        """Return the table as what it was given as: a frame of the same library, else a dictionary of columns."""
        return self.table.frame()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain data."""
        return {
            "disguise": self.disguise,
            "warning": self.warning,
            "done": list(self.done),
            "changed": dict(self.changed),
            "linked": self.linked,
        }

    def to_json(self) -> str:
        """Return everything but the rows as JSON."""
        return json.dumps(self.to_dict(), indent=2)


class Perturbation(ABC):
    """A method that changes cells, with its parameters: a frozen dataclass."""

    name: ClassVar[str]
    #: Where it was published.
    source: ClassVar[str]
    #: The attacks of ``dither attack`` that undo what it makes.
    attacks: ClassVar[tuple[str, ...]]

    def apply(self, table: Any) -> PerturbedTable:
        """Return the perturbed table.

        Args:
            table: a frame of pandas or Polars, an Arrow table, a mapping from names to columns, or a table.

        """
        given = Table.of(table)
        if not len(given):
            raise InvalidParameter("table", 0, "one or more rows long")
        columns, done = self.perturb(given)
        made = given.replaced(columns)
        changed = {name: _changed(given[name], made[name]) for name in columns}
        return PerturbedTable(self.name, made, done, changed, linked(given, made, tuple(columns)))

    @abstractmethod
    def perturb(self, table: Table) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the other columns, and what was done."""

    @classmethod
    @abstractmethod
    def example(cls, numbers: str, texts: str) -> Perturbation:
        """Return the method with parameters that fit a column of numbers and one of texts."""


_perturbations: dict[str, type[Perturbation]] = {}
_Made = TypeVar("_Made", bound=type[Perturbation])


def perturbation(kind: _Made) -> _Made:
    """Register a perturbation under its name, which is still free."""
    if kind.name in _perturbations:
        raise InvalidParameter("name", kind.name, "a name that no other perturbation has")
    _perturbations[kind.name] = kind
    return kind


def perturbations() -> dict[str, type[Perturbation]]:
    """Return all perturbations by name."""
    import dither.disguise.perturbation  # noqa: F401 - its modules register themselves

    return dict(sorted(_perturbations.items()))


def columns_named(given: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns to change: one or more, each once."""
    if isinstance(given, str) or not given or len(set(given)) != len(given):
        raise InvalidParameter("columns", given, "one or more different names, in a sequence")
    return tuple(given)


def linked(true: Table, made: Table, columns: Sequence[str]) -> float:
    """Return the share of rows whose own perturbed row is the nearest one to the true row.

    Numbers are compared by standard deviations, everything else by being equal or not. Of several nearest rows one is
    taken at random, so each counts in part. At most 1,000 rows, drawn at random, are looked for.

    >>> linked(Table.of({"a": [1, 2, 9]}), Table.of({"a": [2, 1, 9]}), ["a"])
    0.3333333333333333

    """
    rows = len(true)
    some = np.arange(rows) if rows <= _LOOKED_FOR else public_generator().permutation(rows)[:_LOOKED_FOR]
    pairs = [_places(true[name], made[name]) for name in columns]
    found = 0.0
    for row in some.tolist():
        far = np.zeros(rows)
        for before, after, is_number in pairs:
            gap = after - before[row]
            far += gap**2 if is_number else gap != 0
        nearest = far <= far.min() + 1e-12
        found += float(nearest[row]) / int(nearest.sum())
    return found / len(some)


def _places(true: Column, made: Column) -> tuple[Figures, Figures, bool]:
    before, after = true.numbers(), made.numbers()
    if before is None or after is None or np.isnan(before).any() or np.isnan(after).any():
        codes: dict[Any, int] = {}
        every = [[codes.setdefault(cell, len(codes)) for cell in column.cells()] for column in (true, made)]
        return np.array(every[0], dtype=np.float64), np.array(every[1], dtype=np.float64), False
    cells = before[true.codes]
    spread = float(cells.std()) or 1.0
    return cells / spread, after[made.codes] / spread, True


def _changed(true: Column, made: Column) -> float:
    pairs = zip(true.cells(), made.cells(), strict=True)
    return sum(bool(one != other) for one, other in pairs) / len(true.codes)
