"""Personal budgets: a column that says how much each person allows, in public levels.

Neighbouring data sets have one row more or less. What one row may lose is in proportion to its own level: a release
that loses epsilon for a row of the highest level loses half of that for a row of half the level. Which level a row has
is as private as the rest of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dither.data.expressions import Call, Case, Expression, Kind, Literal, Name
from dither.data.kinds import Declaration, declares
from dither.errors import InvalidParameter
from dither.exact import exact, typed
from dither.privacy import PERSONAL, Unit

if TYPE_CHECKING:
    from dither.data.schema import DataSet, Table

_MOST_LEVELS: Final = 64
_LARGEST_WEIGHT: Final = 2**16


@declares
@dataclass(frozen=True)
@typed
class Personal(Declaration):
    """How much each row may lose.

    Args:
        budget: the column of numbers that holds what each row allows.
        levels: the allowed levels, from the least one up. A row's own number counts as the highest level that is not
            above it. A row below the least level, or without a number, counts nowhere.

    >>> Personal("allows", (0.1, 0.5, 1.0)).weights
    (1, 5, 10)

    """

    budget: str
    levels: tuple[float, ...]

    kind: ClassVar[str] = "personal"
    called: ClassVar[str] = "personal budgets"
    answers_by_offers: ClassVar[bool] = True
    units: ClassVar[Mapping[str, Unit]] = MappingProxyType({"personal": PERSONAL})
    asked_with: ClassVar[str] = "counts, sums and averages by session.sql or session.ask: rows have personal budgets"

    def __post_init__(self) -> None:
        """Refuse levels that are not above 0 and in order, and those without small weights."""
        if not 1 <= len(self.levels) <= _MOST_LEVELS:
            raise InvalidParameter("levels", self.levels, f"1 to {_MOST_LEVELS} levels")
        found = [exact("levels", level) for level in self.levels]
        if found != sorted(set(found)) or found[0] <= 0:
            raise InvalidParameter("levels", self.levels, "numbers above 0, from the least one up, each once")
        if self.weights[-1] > _LARGEST_WEIGHT:
            rule = "multiples of one number, of which the highest level has at most 65,536: round them down"
            raise InvalidParameter("levels", self.levels, rule)

    @property
    def weights(self) -> tuple[int, ...]:
        """The levels as multiples of their largest common divisor."""
        exact_levels = [exact("levels", level) for level in self.levels]
        common = math.lcm(*(level.denominator for level in exact_levels))
        whole = [int(level * common) for level in exact_levels]
        divisor = math.gcd(*whole)
        return tuple(number // divisor for number in whole)

    @property
    def least_share(self) -> Fraction:
        """The least level as a share of the highest one."""
        return Fraction(self.weights[0], self.weights[-1])

    def level_of(self, table: Table) -> Expression:
        """Return the number of a row's level, from 0; NULL below the least one and where there is no number.

        Args:
            table: which declares it.

        """
        column = Name(self.budget)
        kind = table.column(self.budget).kind

        def below(level: float) -> Expression:
            # Of integers, what is below a level is below the next integer.
            bound = math.ceil(exact("levels", level)) if kind is Kind.INTEGER else float(level)
            return Call("less", (column, Literal(bound, kind)))

        nothing = Literal(None, Kind.INTEGER)
        branches = [(Call("is_null", (column,)), nothing), (below(self.levels[0]), nothing)]
        branches += [(below(level), Literal(number, Kind.INTEGER)) for number, level in enumerate(self.levels[1:])]
        return Case(tuple(branches), Literal(len(self.levels) - 1, Kind.INTEGER))

    def check(self, table: Table) -> None:
        """Refuse a column that holds no numbers, and a table of another kind."""
        here = f"personal of {table.name}"
        if table.is_public or table.identifying or len(table.declared) != 1:
            rule = "not allowed, unless the table is private, without privacy id and of no other kind"
            raise InvalidParameter(here, self.budget, rule)
        known = {column.name: column for column in table.columns}
        if self.budget not in known or known[self.budget].kind not in (Kind.INTEGER, Kind.REAL):
            raise InvalidParameter(here, self.budget, "a column of numbers: what each row allows")

    def check_in(self, table: Table, dataset: DataSet) -> None:
        """Refuse budgets without their unit, and those beside another private table."""
        here = f"personal of {table.name}"
        if dataset.own_kind is not Personal:
            raise InvalidParameter(here, self.budget, "not allowed, unless the unit of the data set is personal")
        private = [other.name for other in dataset.tables if not other.is_public]
        if len(private) != 1:
            raise InvalidParameter("tables", private, "one private table where personal budgets are declared")

    def limits(self, table: Table) -> dict[str, Any]:
        """Return the levels."""
        return {f"personal_of_{table.name}": {"budget": self.budget, "levels": list(self.levels)}}


def personal_of(dataset: DataSet) -> tuple[Table, Personal]:
    """Return the table whose rows have budgets, and how they are declared.

    Args:
        dataset: the schema, whose unit is personal.

    """
    for table in dataset.tables:
        found = Personal.of(table)
        if found is not None:
            return table, found
    raise InvalidParameter("dataset", dataset.name, "one whose schema declares personal budgets")
