"""Profiles: what each person rated and how well, in three flat arrays. Private until a mechanism has drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Profiles:
    """Ratings, of which no two have the same person and the same item.

    Args:
        people: for each rating the number of its person, from 0, rising.
        items: beside them, the number of the item, from 0; rising within a person.
        values: beside them, how well the person rates the item; NaN where that is missing.
        attributes: a row for each item: public numbers, or None.

    >>> some = Profiles.of(np.array([7, 3, 7]), np.array([0, 1, 0]), np.array([2.0, 5.0, 4.0]), np.array([1.0, 1, 2]))
    >>> some.people.tolist(), some.items.tolist(), some.values.tolist()
    ([0, 1], [1, 0], [5.0, 4.0])

    """

    people: Ints
    items: Ints
    values: Floats
    attributes: Floats | None = None

    def __post_init__(self) -> None:
        """Reject arrays that are no profiles: of one rating given twice a person would count too much."""
        wanted = (("people", np.int64), ("items", np.int64), ("values", np.float64))
        for name, kind in wanted:
            array = getattr(self, name)
            if not (isinstance(array, np.ndarray) and array.dtype == kind and array.shape == self.people.shape):
                raise InvalidValue(name, array, f"an array of {np.dtype(kind)}, one for each rating")
        people, items = self.people, self.items
        same = people[1:] == people[:-1]
        rising = bool(((people[1:] > people[:-1]) | (same & (items[1:] > items[:-1]))).all())
        if people.ndim != 1 or not rising or (people.size and (people[0] < 0 or bool((items < 0).any()))):
            raise InvalidValue("people", people, "rising, and items rising within a person: no rating twice")

    @classmethod
    def of(
        cls, people: Ints, items: Ints, values: Floats, times: Floats | Ints, attributes: Floats | None = None
    ) -> Profiles:
        """Return profiles of ratings in any order; the last of a person's ratings of an item counts.

        Args:
            people: a number for each rating that is the same for the same person.
            items: the number of the item; a rating with one below 0 is as if not there.
            values: how well it is rated.
            times: by which the last one is known; of several at one time the largest value counts.
            attributes: a row of public numbers for each item.

        """
        known = items >= 0
        people, items, values, times = people[known], items[known], values[known], times[known]
        # A missing value comes before all others, also before -inf, so that it counts only where there is no other at
        # that time, and the order in which rows arrive decides nothing.
        missing = np.isnan(values)
        order = np.lexsort((np.where(missing, -np.inf, values), ~missing, times, items, people))
        people, items, values = people[order], items[order], values[order]
        is_last = np.ones(people.size, dtype=np.bool_)
        is_last[:-1] = (people[1:] != people[:-1]) | (items[1:] != items[:-1])
        people = np.unique(people[is_last], return_inverse=True)[1].ravel()
        return cls(people.astype(np.int64), items[is_last], values[is_last], attributes)

    @property
    def persons(self) -> int:
        """The number of people with a rating: private."""
        return int(self.people[-1]) + 1 if self.people.size else 0
