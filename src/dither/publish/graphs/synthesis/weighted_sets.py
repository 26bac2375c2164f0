"""Weighted data sets: records with exact rational weights, and operators that move no two sets farther apart.

The algebra of wPINQ. The distance of two sets is the sum of the changes of all weights. Every operator of one set moves
its results by no more than its input moved, every operator of two sets by no more than both did together. So a query
moves by at most as much as one edge moves the source, times how often the source is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

Weights = Mapping[Any, Fraction]


def distance(one: Weights, other: Weights) -> Fraction:
    """Return the sum of the changes of all weights.

    >>> distance({"a": Fraction(1)}, {"a": Fraction(1, 2), "b": Fraction(1)})
    Fraction(3, 2)
    """
    return sum((abs(one.get(key, Fraction(0)) - other.get(key, Fraction(0))) for key in {**one, **other}), Fraction(0))


def _added(parts: Iterable[tuple[Hashable, Fraction]]) -> dict[Any, Fraction]:
    found: defaultdict[Any, Fraction] = defaultdict(Fraction)
    for record, weight in parts:
        found[record] += weight
    return {record: weight for record, weight in found.items() if weight}


def select(data: Weights, made: Callable[[Any], Hashable]) -> dict[Any, Fraction]:
    """Return the records that a function makes; weights of equal ones add up."""
    return _added((made(record), weight) for record, weight in data.items())


def where(data: Weights, is_kept: Callable[[Any], bool]) -> dict[Any, Fraction]:
    """Return the records for which a condition holds."""
    return {record: weight for record, weight in data.items() if is_kept(record)}


def shave(data: Weights) -> dict[Any, Fraction]:
    """Return each record in pieces of weight 1, with their numbers, and the rest.

    >>> sorted(shave({"a": Fraction(5, 2)}).items())
    [(('a', 0), Fraction(1, 1)), (('a', 1), Fraction(1, 1)), (('a', 2), Fraction(1, 2))]
    """
    found = {}
    for record, weight in data.items():
        for piece in range(-(-weight.numerator // weight.denominator)):
            found[record, piece] = min(weight - piece, Fraction(1))
    return found


def group_by(data: Weights, key: Callable[[Any], Hashable]) -> dict[Any, Fraction]:
    """Return with each key its heaviest records, one, two, ... of them, at half of the weight down to the next."""
    groups: defaultdict[Any, list[tuple[Any, Fraction]]] = defaultdict(list)
    for record, weight in data.items():
        groups[key(record)].append((record, weight))
    found = {}
    for name, members in groups.items():
        members.sort(key=lambda one: (-one[1], repr(one[0])))
        for place, (_, weight) in enumerate(members):
            after = members[place + 1][1] if place + 1 < len(members) else Fraction(0)
            if weight > after:
                found[name, frozenset(record for record, _ in members[: place + 1])] = (weight - after) / 2
    return found


def concat(one: Weights, other: Weights) -> dict[Any, Fraction]:
    """Return the sums of weights."""
    return _added([*one.items(), *other.items()])


def union(one: Weights, other: Weights) -> dict[Any, Fraction]:
    """Return the larger weights."""
    return {record: max(one.get(record, Fraction(0)), other.get(record, Fraction(0))) for record in {**one, **other}}


def intersect(one: Weights, other: Weights) -> dict[Any, Fraction]:
    """Return the smaller weights."""
    return {record: min(weight, other[record]) for record, weight in one.items() if record in other}


def join(
    one: Weights,
    other: Weights,
    first: Callable[[Any], Hashable],
    second: Callable[[Any], Hashable],
    made: Callable[[Any, Any], Hashable],
) -> dict[Any, Fraction]:
    """Return what is made of pairs with equal keys, at the product of weights over all weights of both with that key.

    Args:
        one: a set.
        other: a set.
        first: gives the key of a record of the one.
        second: gives the key of a record of the other.
        made: makes a record of a pair.

    """
    sides: defaultdict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for place, (data, key) in enumerate(((one, first), (other, second))):
        for item in data.items():
            sides[key(item[0])][place].append(item)
    parts = []
    for left, right in sides.values():
        total = sum((weight for _, weight in (*left, *right)), Fraction(0))
        parts += [(made(here, there), weight * more / total) for here, weight in left for there, more in right if total]
    return _added(parts)
