"""What one person adds to sums over items: integers, whose length together has a public bound.

A profile becomes, for each rated item, an indicator and a value between -1 and 1, on a grid. A person whose profile is
longer than a public length counts with a smaller weight, the largest one on a grid that keeps it within that length:
nobody's rows are dropped, and a person with a thousand ratings moves the sums no farther than one with a few. The
weight is a function of that person's own ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue
from dither.lift.profiles import Floats, Ints, Profiles

#: Steps of a value of 1, and of an indicator: a half, so that values have less noise than counts.
STEPS: Final = 2**10
INDICATOR: Final = 2**9
#: Steps of a weight of 1.
WEIGHTS: Final = 2**10
#: A length of 1, of what a person adds.
LENGTH: Final = WEIGHTS * STEPS
#: The longest length that may be asked for: the square of what a person adds stays below 2^62.
LONGEST: Final = 2**10


@dataclass(frozen=True, eq=False)
class Weighed:
    """Ratings as integers: private.

    Args:
        people: for each rating the number of its person.
        items: beside them, the number of the item.
        steps: beside them, the value in steps.
        weights: beside them, the weight of the person.
        attributes: a row of public numbers for each item.

    """

    people: Ints
    items: Ints
    steps: Ints
    weights: Ints
    attributes: Floats


def profiles_of(data: Any, items: int) -> Profiles:
    """Return private profiles: as they are, or of an array with a row for each person, NaN for what is not rated.

    Args:
        data: profiles, or numbers with a column for each item. Refused by type and width alone.
        items: the number of items.

    """
    if isinstance(data, Profiles):
        return data
    if not (isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and data.ndim == 2 and data.shape[1] == items):
        raise InvalidValue("data", data, f"profiles, or an array of numbers, {items} a row: one for each item")
    values = np.asarray(data, dtype=np.float64)
    people, rated = np.nonzero(~np.isnan(values))
    return Profiles(people.astype(np.int64), rated.astype(np.int64), values[people, rated])


def steps_of(values: Floats, lower: float, upper: float) -> Ints:
    """Return values in steps from the middle of their bounds: clipped, and 0 where one is missing."""
    middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    with np.errstate(all="ignore"):
        scaled = (np.clip(np.where(np.isnan(values), middle, values), lower, upper) - middle) / half
    return np.rint(np.clip(scaled, -1.0, 1.0) * STEPS).astype(np.int64)


def weighed(data: Any, items: int, lower: float, upper: float, reach: int) -> Weighed:
    """Return the ratings of declared items as integers, so that no person's sums are longer than ``reach`` allows.

    For each person the sum over its ratings of weight^2 (indicator^2 + steps^2) is at most (LENGTH reach)^2.

    Args:
        data: profiles.
        items: the number of items; others are as if not there.
        lower: the least value.
        upper: the largest value.
        reach: the length of a profile that counts in full, where an indicator is a half and values are at most 1.

    """
    found = profiles_of(data, items)
    known = found.items < items
    people, rated = found.people[known], found.items[known]
    steps = steps_of(found.values[known], lower, upper)
    # Integers below 2^53 are added exactly, in any order.
    squares = np.bincount(people, weights=(steps * steps + INDICATOR**2).astype(np.float64)).astype(np.int64)
    most = reach * STEPS
    whole = np.minimum(np.floor(WEIGHTS * most / np.sqrt(np.maximum(squares, 1))), WEIGHTS).astype(np.int64)
    # A quotient may be rounded up to the next integer.
    whole -= whole * whole * squares > (WEIGHTS * most) ** 2
    attributes = found.attributes
    if attributes is None or attributes.shape[:1] != (items,) or not attributes.size:
        attributes = np.zeros((items, 1))
    return Weighed(people, rated, steps, whole[people], attributes)


def sums_over(items: Ints, numbers: Ints, size: int) -> NDArray[np.int64]:
    """Return the sum of integers for each item: exact, since all of them add up to less than 2^53.

    Args:
        items: for each number, of which item it is.
        numbers: at most 2^20 each.
        size: the number of items.

    """
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, items.size, 2**32):
        part = slice(start, start + 2**32)
        total += np.bincount(items[part], weights=numbers[part].astype(np.float64), minlength=size).astype(np.int64)
    return total
