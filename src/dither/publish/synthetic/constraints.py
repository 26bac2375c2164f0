"""Public constraints: impossible combinations and columns that determine others, respected by every drawn row.

Constraints are facts about the world, not about the data: they must not be read off private rows. They are applied to
drawn records, so they cost nothing and hold exactly whatever the noise did.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.data.expressions import Value
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator
from dither.publish.synthetic.columns import Coding
from dither.publish.synthetic.models import Model

Codes = NDArray[np.int64]

#: How often rows that cannot be are drawn again before their columns are set to what can.
_ROUNDS: Final = 8
#: Combinations of constrained columns among which one that can be is looked for.
_MOST_COMBINATIONS: Final = 2**20


@dataclass(frozen=True)
class Impossible:
    """Combinations of values that do not occur in some columns.

    Args:
        columns: names of columns with listed values.
        values: the combinations, each with a value for each column.

    >>> Impossible(("sex", "pregnant"), (("male", True),)).columns
    ('sex', 'pregnant')

    """

    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        """Reject combinations of another width."""
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise InvalidParameter("columns", self.columns, "different names of columns, at least one")
        if not self.values or any(len(row) != len(self.columns) for row in self.values):
            raise InvalidParameter("values", self.values, f"combinations of {len(self.columns)} values, at least one")


@dataclass(frozen=True)
class Determined:
    """A column whose value is determined by another column.

    The column is not measured at all, so the others have its share of the budget.

    Args:
        column: the one that follows.
        by: the one that it follows from, with listed values.
        values: pairs of a value of ``by`` and the value of ``column`` that goes with it, for all values of ``by``.

    """

    column: str
    by: str
    values: tuple[tuple[Value, Value], ...]

    def __post_init__(self) -> None:
        """Reject a column that determines itself, and two values for one."""
        if self.column == self.by:
            raise InvalidParameter("by", self.by, "another column")
        if len({first for first, _ in self.values}) != len(self.values):
            raise InvalidParameter("values", self.values, f"one value of {self.column} for each value of {self.by}")


Constraint = Impossible | Determined


def check_constraints(constraints: Sequence[Constraint], codings: Mapping[str, Coding]) -> None:
    """Reject constraints on unknown columns or values, and those that leave no possible row."""
    following: set[str] = set()
    for constraint in constraints:
        if isinstance(constraint, Determined):
            known = _labels(codings, constraint.by)
            given = {first for first, _ in constraint.values}
            if missing := [label for label in known if label not in given]:
                raise InvalidParameter("values", missing[0], f"with a value of {constraint.column} for it too")
            if constraint.column in following:
                raise InvalidParameter("constraints", constraint.column, "determined by one other column at most")
            following.add(constraint.column)
        elif isinstance(constraint, Impossible):
            for place, column in enumerate(constraint.columns):
                labels = _labels(codings, column)
                for row in constraint.values:
                    if row[place] not in labels:
                        raise InvalidParameter("values", row[place], f"a declared value of {column}")
        else:
            raise InvalidParameter("constraints", constraint, "Impossible or Determined")
    for constraint in constraints:
        named = constraint.columns if isinstance(constraint, Impossible) else (constraint.by,)
        if chained := [name for name in named if name in following]:
            raise InvalidParameter("constraints", chained[0], "stated of columns that are not determined themselves")
    forbidden = [constraint for constraint in constraints if isinstance(constraint, Impossible)]
    if forbidden and possible_row(forbidden, codings) is None:
        raise InvalidParameter(
            "constraints", len(forbidden), "so that some row is possible: these contradict each other"
        )


def possible_row(forbidden: Sequence[Impossible], codings: Mapping[str, Coding]) -> dict[str, int] | None:
    """Return codes of the constrained columns that no constraint forbids, or None if every combination is forbidden."""
    columns = list(dict.fromkeys(name for constraint in forbidden for name in constraint.columns))
    sizes = [codings[name].size for name in columns]
    if math.prod(sizes) > _MOST_COMBINATIONS:
        rule = f"on columns of at most {_MOST_COMBINATIONS} combinations together"
        raise InvalidParameter("constraints", math.prod(sizes), rule)
    grid = np.array(list(itertools.product(*map(range, sizes))), dtype=np.int64).reshape(-1, len(columns))
    places = {name: place for place, name in enumerate(columns)}
    bad = np.zeros(len(grid), dtype=bool)
    for constraint in forbidden:
        bad |= _violated(constraint, codings, grid, places)
    if bad.all():
        return None
    return dict(zip(columns, grid[int(np.argmin(bad))].tolist(), strict=True))


def draw_possible(
    model: Model,
    rows: int,
    forbidden: Sequence[Impossible],
    codings: Mapping[str, Coding],
    generator: Generator,
) -> Codes:
    """Return records of a model, conditioned on being possible: impossible ones are drawn again.

    What remains impossible after some rounds has its constrained columns set to a combination that is possible.
    """
    drawn = model.draw(rows, generator)
    if not forbidden:
        return drawn
    places = {name: place for place, name in enumerate(model.attributes.names)}

    def impossible(codes: Codes) -> NDArray[np.intp]:
        bad = np.zeros(len(codes), dtype=bool)
        for constraint in forbidden:
            bad |= _violated(constraint, codings, codes, places)
        return np.flatnonzero(bad)

    for _ in range(_ROUNDS):
        bad = impossible(drawn)
        if not bad.size:
            return drawn
        drawn[bad] = model.draw(bad.size, generator)
    bad, fixed = impossible(drawn), possible_row(forbidden, codings) or {}
    for name, code in fixed.items():
        drawn[bad, places[name]] = code
    return drawn


def _violated(
    constraint: Impossible, codings: Mapping[str, Coding], codes: Codes, places: Mapping[str, int]
) -> NDArray[np.bool_]:
    """Return which records have an impossible combination."""
    sizes = [codings[name].size for name in constraint.columns]
    labels = [codings[name].labels or () for name in constraint.columns]
    bad = {
        int(np.ravel_multi_index([known.index(value) for known, value in zip(labels, row, strict=True)], sizes))
        for row in constraint.values
    }
    cells = np.ravel_multi_index([codes[:, places[name]] for name in constraint.columns], sizes)
    return np.isin(cells, np.array(sorted(bad), dtype=np.int64))


def _labels(codings: Mapping[str, Coding], column: str) -> tuple[Value, ...]:
    if column not in codings:
        raise InvalidParameter("constraints", column, f"on columns of the table: {', '.join(codings)}")
    labels = codings[column].labels
    if labels is None:
        raise InvalidParameter("constraints", column, "on columns with listed values; cells of numbers hold several")
    return labels


register_records(Impossible, Determined)
