"""The contract of the room: a frozen record of parameters, applied to a table, gives a table and what it cost.

Deliberately unlike a mechanism: a disguise has no loss, takes no noise from a runner, and is not registered where
plans, requests and sessions look. What it chooses depends on the rows (medians, clusters, levels), and that is never
called private. Its errors may name rows and values: whoever disguises a table owns it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from dither.disguise.classes import classes_of
from dither.disguise.measures import Blur, Risk, bits_lost, blur_of, risk_of
from dither.disguise.odd import odd_columns, refuse_left_in
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator

#: Stands on everything that leaves the room.
WARNING: Final = (
    "No formal guarantee: this is not differential privacy. Anyone who knows more than the quasi-identifiers, or has "
    "another release of the same people, may learn more than these figures show."
)


@dataclass(frozen=True, eq=False)
class Disguised:
    """A disguised table, what was done to it, and what was measured on it. It carries no loss: none is known.

    Args:
        disguise: the name of the method.
        table: without identifiers; rows are in the order in which they came.
        done: what was done, a sentence each.
        risk: what the table gives away.
        blur: what it has lost.
        before: what the table gave away as it was.
        kept: the places of its rows in the table as it was.

    """

    disguise: str
    table: Table
    done: tuple[str, ...]
    risk: Risk
    blur: Blur
    before: Risk
    kept: Codes

    warning: ClassVar[str] = WARNING

    def frame(self) -> Any:
        """Return the table as what it was given as: a frame of the same library, else a dictionary of columns."""
        return self.table.frame()

    def shuffled(self) -> Table:
        """Return the rows in another order: whoever knows the order of the rows knows who is who."""
        return self.table.taken(public_generator().permutation(len(self.table)))

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain data."""
        return {
            "disguise": self.disguise,
            "warning": self.warning,
            "done": list(self.done),
            "risk": self.risk.to_dict(),
            "before": self.before.to_dict(),
            "blur": self.blur.to_dict(),
        }

    def to_json(self) -> str:
        """Return everything but the rows as JSON."""
        return json.dumps(self.to_dict(), indent=2)


class Disguise(ABC):
    """A method, with its parameters: a frozen dataclass with the fields ``roles`` and ``rules``."""

    name: ClassVar[str]
    #: Where it was published.
    source: ClassVar[str]
    #: The attacks of ``dither attack`` that undo what it makes.
    attacks: ClassVar[tuple[str, ...]]

    roles: Roles
    rules: Rules

    def apply(self, table: Any) -> Disguised:
        """Return the disguised table: classes that all fulfil the rules, and the measured risk and loss.

        Args:
            table: a frame of pandas or Polars, an Arrow table, a mapping from names to columns, or a table.

        """
        given = Table.of(table)
        trial = self._checked(given)
        recoded = self.recode(given, trial)
        made = given.taken(recoded.kept).replaced(recoded.columns, self.roles.identifiers)
        classes = classes_of(made, self.roles.quasi)
        if not np.all(self.rules.over(made, self.roles.sensitive).holds(classes.of_row, classes.sizes)):
            raise RuntimeError(f"{self.name} made a class that does not fulfil {self.rules.said()}")
        gone = len(given) - len(made)
        done = [*recoded.done, f"Every one of {len(classes):,} classes fulfils {self.rules.said()}."]
        if gone:
            done.append(f"{gone:,} of {len(given):,} rows are suppressed.")
        if self.roles.identifiers:
            done.append(f"Dropped: {', '.join(self.roles.identifiers)}.")
        done += odd_columns(given, self.roles)
        ncp = (recoded.penalty * len(made) + gone) / len(given)
        return Disguised(
            self.name,
            made,
            tuple(done),
            risk_of(made, self.roles.quasi, self.roles.sensitive),
            blur_of(
                classes,
                rows=len(given),
                ncp=ncp,
                k=self.rules.k,
                bits=bits_lost(given.taken(recoded.kept), made, self.roles.quasi) if len(made) else None,
            ),
            risk_of(given, self.roles.quasi, self.roles.sensitive),
            np.arange(len(given))[recoded.kept],
        )

    @abstractmethod
    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return other columns of quasi-identifiers; the rules hold for the whole table as one class."""

    @classmethod
    @abstractmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> Disguise:
        """Return the disguise with parameters that fit a table: the checks of the room begin here."""

    def _checked(self, table: Table) -> Trial:
        """Return the trial, if the rules can be fulfilled at all."""
        refuse_left_in(table, self.roles)
        if self.rules.k > len(table):
            raise InvalidParameter("k", self.rules.k, f"at most the number of rows, {len(table)}")
        trial = self.rules.over(table, self.roles.sensitive)
        for name, values in zip(self.roles.sensitive, trial.values, strict=True):
            if self.rules.l is not None and self.rules.l > len(values.shares):
                raise InvalidParameter("l", self.rules.l, f"at most the {len(values.shares)} values of {name}")
        one = np.zeros(len(table), dtype=np.int64)
        if not trial.holds(one, np.array([len(table)])).all():
            raise InvalidParameter("rules", self.rules.said(), "rules that the table as one class fulfils")
        return trial


@dataclass(frozen=True, eq=False)
class Recoded:
    """What a maker made.

    Args:
        columns: the quasi-identifiers of the rows that are left.
        kept: the places of these rows.
        penalty: the width of their cells, on average, from 0 to 1.
        done: what was done.

    """

    columns: Mapping[str, Column]
    kept: Codes
    penalty: float
    done: tuple[str, ...]


_disguises: dict[str, type[Disguise]] = {}
_Made = TypeVar("_Made", bound=type[Disguise])


def disguise(kind: _Made) -> _Made:
    """Register a disguise under its name, which is still free."""
    if kind.name in _disguises:
        raise InvalidParameter("name", kind.name, "a name that no other disguise has")
    _disguises[kind.name] = kind
    return kind


def disguises() -> dict[str, type[Disguise]]:
    """Return all disguises by name."""
    import dither.disguise  # noqa: F401 - its makers register themselves

    return dict(sorted(_disguises.items()))


#: Two schemes of generalisation that are better known by a method of theirs.
ALSO: Final = {"full-domain": "optimal", "multidimensional": "mondrian"}


def find_disguise(name: str) -> type[Disguise]:
    """Return the disguise of that name; a scheme of generalisation stands for the method that makes it."""
    known = disguises()
    if name not in known and name not in ALSO:
        raise InvalidParameter("method", name, f"one of {', '.join((*known, *ALSO))}")
    return known[ALSO.get(name, name)]
