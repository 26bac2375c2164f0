"""Several releases of the same people: what each of them keeps, and what all of them tell together.

Two tables that are anonymous each need not be so together. The checkers here know who is who in every release, as the
owner does, and say what somebody learns who finds a person's class in each of them.

- *m-invariance* (Xiao, Tao 2007): in every release a class has at least m rows, all with different sensitive values;
  and a person who is in several releases is in classes with the same set of values each time.
- *(rho, alpha)*: named by Lu (Adelaide 2021) against composition attacks without a definition, so that this reading is
  ours, with its reasons in ``docs/disguise.md``: of the people in two releases, at most a share rho have a value that
  somebody is surer of than alpha after seeing both. The value's probability is the product of its shares in both
  classes, over the sum for all values that both have: what follows if the releases were drawn independently and no
  value is likelier before.
- *Incremental republication* (Byun, Sohn, Bertino, Li 2006): rows are added, and each release is l-diverse by itself;
  the values of those rows that a new release added to an earlier class must be l-diverse as well, since they are known
  as a difference. So must the values that a person's classes have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.disguise.classes import classes_of
from dither.disguise.table import Table
from dither.errors import InvalidParameter

Person = Any


@dataclass(frozen=True, eq=False)
class Seen:
    """One release, as its owner knows it.

    Args:
        value: the sensitive value of each person.
        around: the values in each person's class, with how often each occurs.

    """

    value: dict[Person, Any]
    around: dict[Person, Counter[Any]]

    @classmethod
    def of(cls, table: Any, person: str, quasi: Sequence[str], sensitive: str) -> Seen:
        """Return a release with the true name of each row, which is published nowhere.

        Args:
            table: as published, with a column that says who each row is.
            person: that column.
            quasi: the columns that others may know.
            sensitive: the column that they should not learn.

        """
        given = Table.of(table)
        if not len(given):
            raise InvalidParameter("table", 0, "one or more rows long")
        who, values = given[person].cells(), given[sensitive].cells()
        again = [name for name, count in Counter(who).items() if count > 1 or name is None]
        if again:
            raise InvalidParameter(person, again[0], "there, and in one row of a release only")
        of_row = classes_of(given, quasi).of_row.tolist()
        inside: dict[int, Counter[Any]] = {}
        for number, value in zip(of_row, values, strict=True):
            inside.setdefault(number, Counter())[value] += 1
        return cls(
            dict(zip(who, values, strict=True)), {one: inside[row] for one, row in zip(who, of_row, strict=True)}
        )


def m_invariance(releases: Sequence[Any], person: str, quasi: Sequence[str], sensitive: str) -> int:
    """Return the largest m for which releases of the same people are m-invariant together; 0 if for none.

    >>> first = {"who": [1, 2], "age": ["3*", "3*"], "ill": ["flu", "cold"]}
    >>> later = {"who": [1, 3], "age": ["3*", "3*"], "ill": ["flu", "gout"]}
    >>> m_invariance([first], "who", ["age"], "ill"), m_invariance([first, later], "who", ["age"], "ill")
    (2, 0)

    """
    if not releases:
        raise InvalidParameter("releases", 0, "one or more")
    seen = [Seen.of(table, person, quasi, sensitive) for table in releases]
    smallest = min(len(values) for one in seen for values in one.around.values())
    if any(max(values.values()) > 1 for one in seen for values in one.around.values()):
        return 0
    signature: dict[Person, frozenset[Any]] = {}
    for one in seen:
        for who, values in one.around.items():
            if signature.setdefault(who, frozenset(values)) != frozenset(values):
                return 0
    return smallest


@dataclass(frozen=True)
class Together:
    """What two releases tell of the people who are in both.

    Args:
        people: in both.
        surest: the greatest probability of a value after both.
        over: for each alpha asked for, the share of people with a value that is surer: the pair is (rho, alpha) for
            this rho.
        certain: the share of people with one value left.

    """

    people: int
    surest: float
    over: tuple[tuple[float, float], ...]
    certain: float


def rho_alpha(
    first: Any, second: Any, person: str, quasi: Sequence[str], sensitive: str, alphas: Sequence[float] = (0.5,)
) -> Together:
    """Return what two releases tell of the people who are in both.

    Args:
        first: a table as published, with a column that says who each row is.
        second: the other one.
        person: that column.
        quasi: the columns that others may know, in both.
        sensitive: the column that they should not learn, in both.
        alphas: probabilities that should not be exceeded.

    """
    one, two = (Seen.of(table, person, quasi, sensitive) for table in (first, second))
    both = [who for who in one.value if who in two.value]
    if not both:
        raise InvalidParameter("second", 0, "a release with people of the first one")
    surest = np.array([max(_shares(one.around[who], two.around[who]).values()) for who in both])
    for alpha in alphas:
        if not 0 < alpha <= 1:
            raise InvalidParameter("alpha", alpha, "a probability above 0, at most 1")
    over = tuple((float(alpha), float(np.mean(surest > alpha + 1e-9))) for alpha in alphas)
    return Together(len(both), float(surest.max()), over, float(np.mean(surest > 1 - 1e-9)))


def _shares(one: Counter[Any], two: Counter[Any]) -> dict[Any, float]:
    """Return the probability of each value; where a value changed between releases, of the ones in the second."""
    found = {value: one[value] * two[value] for value in one if value in two} or dict(two)
    total = sum(found.values())
    return {value: count / total for value, count in found.items()}


@dataclass(frozen=True)
class Increment:
    """How diverse a release is that has more rows than the one before.

    Args:
        alone: distinct values of a class of the new release, at least.
        added: distinct values among the rows that a new class has besides those of one earlier class, at least; None
            where no class only grew.
        common: values that the classes of a person in both releases have in common, at least; None if nobody is in
            both.

    """

    alone: int
    added: int | None
    common: int | None

    @property
    def l(self) -> int:  # noqa: E743 - what everybody calls it
        """The least of them: both releases together are l-diverse for this l."""
        return min(one for one in (self.alone, self.added, self.common) if one is not None)


def increment(earlier: Any, later: Any, person: str, quasi: Sequence[str], sensitive: str) -> Increment:
    """Return how diverse a later release is, alone and beside an earlier one.

    Args:
        earlier: a table as published, with a column that says who each row is.
        later: the same rows and more.
        person: that column.
        quasi: the columns that others may know, in both.
        sensitive: the column that they should not learn, in both.

    """
    one, two = (Seen.of(table, person, quasi, sensitive) for table in (earlier, later))
    groups: list[dict[int, set[Person]]] = []
    for seen in (one, two):
        by_class: dict[int, set[Person]] = {}
        for who, values in seen.around.items():
            by_class.setdefault(id(values), set()).add(who)
        groups.append(by_class)
    added: list[int] = []
    homes = {who: people for people in groups[0].values() for who in people}
    for people in groups[1].values():
        inside = {id(homes[who]): homes[who] for who in people if who in homes}
        for before in inside.values():
            if before <= people and people - before:
                added.append(len({two.value[who] for who in people - before}))
    both = [who for who in one.value if who in two.value]
    common = [len(set(one.around[who]) & set(two.around[who])) for who in both]
    alone = min(len(values) for values in two.around.values())
    return Increment(alone, min(added, default=None), min(common, default=None))
