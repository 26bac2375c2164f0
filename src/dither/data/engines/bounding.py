"""Bounding one person's contribution: which limits have an effect, and when rows need not be read one by one.

Every rewriting here leaves the very same statistic, not merely one with the same bound; each says why.
"""

from __future__ import annotations

from dither.data.relations import Aggregation, Bounded, CountOf, CountRows, Limits, Persons, Sum, rows_per_person


def effective_limits(bounded: Bounded) -> Limits:
    """Return the limits without those that cannot have an effect.

    Let k, g, m be the limits on rows, groups and rows in a group. One order of a person's rows serves both m and k.

    - *Few rows*: where a person has at most n rows by the form of the relation, they are in at most n groups, so that a
      limit of n or more drops nothing.

    - *No keys*: all rows of a person are in one group, so g >= 1 drops nothing, and taking the first m rows and then
      the first k of them is taking the first min(k, m).
    - *m >= k*: a row that m drops has m >= k rows of its own group before it. Its group is kept or dropped as a whole,
      so if the row's group survives, these k rows survive too and stand before it: k drops the row anyway. And k counts
      only the first k rows, none of which m drops, so the result is the same without m.
    - *k >= g * m*: at most g groups of at most m rows are left when k is applied, so k drops nothing.

    >>> from dither.data import Column, Kind, Scan, Table
    >>> visits = Scan(Table("visits", (Column("id", Kind.TEXT),), "visits.csv", person="id"))
    >>> effective_limits(Bounded(visits, (), Limits(rows=5, groups=2, rows_per_group=3), ()))
    Limits(rows=3, groups=None, rows_per_group=None)
    """
    most, limits = rows_per_person(bounded.relation), bounded.limits
    rows, groups, rows_per_group = (
        None if most is not None and limit is not None and limit >= most else limit
        for limit in (limits.rows, limits.groups, limits.rows_per_group)
    )
    if not bounded.keys:
        given = [limit for limit in (rows, rows_per_group) if limit is not None]
        return Limits(rows=min(given, default=None))
    if rows is not None and rows_per_group is not None and rows_per_group >= rows:
        rows_per_group = None
    if rows is not None and groups is not None and rows_per_group is not None and rows >= groups * rows_per_group:
        rows = None
    return Limits(rows=rows, groups=groups, rows_per_group=rows_per_group)


def preaggregates(aggregation: Aggregation) -> bool:
    """Return whether one row for each person and group gives the same answer as bounding row by row.

    It does if the aggregation groups by the keys of the bound, no limit on rows in all is in effect, and

    - with a limit m on rows in a group, only rows or people are counted: of n > 0 rows of a person in a group the
      limit leaves min(n, m), no matter which, and at least one, so that the person counts in the group;
    - without one, a group of a person is kept or dropped as a whole, by a hash of person and keys that is the same for
      all its rows: the counts and exact sums of the kept groups add up to those of the kept rows.

    A limit on rows without keys is the case of one group: counting rows is counting min(n, k).
    """
    bounded = aggregation.relation
    if not isinstance(bounded, Bounded) or bounded.keys != aggregation.keys:
        return False
    limits = effective_limits(bounded)
    counts_only = all(isinstance(measure, CountRows | Persons) for measure in aggregation.measures)
    if not bounded.keys:
        return counts_only
    if limits.rows is not None:
        return False
    return counts_only or (
        limits.rows_per_group is None
        and all(isinstance(measure, CountRows | Persons | CountOf | Sum) for measure in aggregation.measures)
    )


def limit_in_group(bounded: Bounded) -> int | None:
    """Return the number of rows of a person that count in a group, where no limit on rows in all remains beside it."""
    limits = effective_limits(bounded)
    return limits.rows_per_group if bounded.keys else limits.rows
