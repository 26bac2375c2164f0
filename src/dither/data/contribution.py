"""How far the exact numbers of a query move when one unit of data is added, removed or replaced.

A *unit* is a row, or a person of whom the limits leave at most ``total`` rows, at most ``per_group`` in a group, in at
most ``groups`` groups. The numbers are laid out in *cells*: one a group, or several disjoint ones in every group. A row
adds a number between ``least`` and ``most`` to at most one cell, and nothing to the others.

**Added or removed.** A unit adds at most ``per_group * v`` to a cell in absolute value and ``total * v`` to all cells
together, where v is the larger of ``|least|`` and ``|most|``.

**Replaced.** Before and after, a cell holds between ``per_group * min(least, 0)`` and ``per_group * max(most, 0)`` of
the unit, so it moves by at most ``per_group * (max(most, 0) - min(least, 0))``; and all cells by at most twice the
above together.

So a change is a vector whose entries are at most C each and at most D together, with D also at most C times the number
of cells. Its L1 norm is at most D. Its L2 norm is largest where the entries are as unequal as possible: ``D // C`` of
them are C and one is the rest, since the sum of squares is convex. Both bounds are attained by whole rows whenever D
and C are, which the tests check by brute force.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dither.data import DataSet, Limits, Relation
from dither.data.relations import rows_per_person
from dither.errors import InvalidParameter
from dither.exact import sqrt_up


@dataclass(frozen=True)
class Contribution:
    """How much of one unit counts: rows in a group, rows in all, groups; and whether units are replaced."""

    per_group: int
    total: int
    groups: int
    is_replaced: bool

    @property
    def touched(self) -> int:
        """The number of contributions that one change removes or adds: two where a unit is replaced."""
        return 2 if self.is_replaced else 1


@dataclass(frozen=True)
class Sensitivity:
    """Bounds on the change of a vector for one unit: its L1 norm, and its L2 norm rounded up."""

    l1: Fraction
    l2: Fraction


def effective_limits(dataset: DataSet, limits: Limits) -> Limits:
    """Return the smaller of the data set's limits and the query's own, one by one.

    >>> from dither.data.schema import person_unit
    >>> from dither.data import Column, Kind, Table
    >>> visits = Table("visits", (Column("id", Kind.INTEGER),), "visits.csv", person="id")
    >>> effective_limits(DataSet("clinic", (visits,), person_unit("id"), rows=5), Limits(rows=9, groups=2))
    Limits(rows=5, groups=2, rows_per_group=None)
    """
    names = ("rows", "groups", "rows_per_group")
    found = {name: [x for x in (getattr(dataset, name), getattr(limits, name)) if x is not None] for name in names}
    return Limits(**{name: min(values) if values else None for name, values in found.items()})


def within_structure(limits: Limits, relation: Relation) -> Limits:
    """Return the limits, with fewer rows a person where the relation cannot have more, by its form.

    So it is with totals by the privacy id alone, and where tables say how many rows a person has in them
    (``Table.rows_per_person``), or how many may refer to one key (``Owner.rows``).

    >>> from dither.data import Column, CountRows, Kind, PerPerson, Scan, Table
    >>> visits = Scan(Table("visits", (Column("id", Kind.INTEGER),), "visits.csv", person="id"))
    >>> within_structure(Limits(rows=9), PerPerson(visits, (), (("n", CountRows()),)))
    Limits(rows=1, groups=None, rows_per_group=None)
    """
    most = rows_per_person(relation) if relation.has_persons else None
    if most is None or (limits.rows is not None and limits.rows <= most):
        return limits
    return replace(limits, rows=most)


def contribution(dataset: DataSet, limits: Limits, groups: int | None) -> Contribution:
    """Return how much of one unit counts in a query over ``groups`` public groups (None: groups to be discovered)."""
    if dataset.own_kind is not None:
        rule = f"one whose unit is a row or a person: here it is {dataset.own_kind.called}"
        raise InvalidParameter("dataset", dataset.name, rule)
    if not dataset.protects_persons:
        return Contribution(1, 1, 1, dataset.is_replaced)
    left = effective_limits(dataset, limits)
    caps = [cap for cap in (left.rows, left.rows_per_group) if cap is not None]
    reach = [cap for cap in (left.rows, left.groups, groups) if cap is not None]
    if not caps or not reach:
        raise InvalidParameter("limits", left, "rows, or groups and rows_per_group: how much of one person counts")
    per_group, touched = min(caps), min(reach)
    total = per_group * touched if left.rows is None else min(left.rows, per_group * touched)
    return Contribution(per_group, total, touched, dataset.is_replaced)


def of_rows(unit: Contribution, least: int, most: int, cells: int | None) -> Sensitivity:
    """Return the bounds for cells to which every row adds a number in [``least``, ``most``].

    >>> of_rows(Contribution(2, 5, 3, False), 0, 10, None)
    Sensitivity(l1=Fraction(50, 1), l2=Fraction(30, 1))
    """
    largest, span = max(abs(least), abs(most)), max(most, 0) - min(least, 0)
    in_one = unit.per_group * (span if unit.is_replaced else largest)
    return _bounds(in_one, unit.touched * unit.total * largest, cells)


def of_persons(unit: Contribution, cells: int | None) -> Sensitivity:
    """Return the bounds for cells that count units, each once in every group it is in.

    >>> of_persons(Contribution(2, 5, 3, False), None)
    Sensitivity(l1=Fraction(3, 1), l2=Fraction(...))
    """
    return _bounds(1, unit.touched * unit.groups, cells)


def _bounds(in_one: int, together: int, cells: int | None) -> Sensitivity:
    # What never moves still needs a number above zero to be given to a mechanism.
    in_one = max(in_one, 1)
    together = max(together if cells is None else min(together, in_one * cells), 1)
    full, rest = divmod(together, in_one)
    return Sensitivity(Fraction(together), sqrt_up(Fraction(full * in_one * in_one + rest * rest)))
