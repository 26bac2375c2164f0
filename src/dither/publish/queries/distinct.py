"""The exact numbers of a query in every group: sums and counts at once, and numbers of different values.

COUNT(DISTINCT x) is the number of values that at least one unit has. A unit's rows are first made different, so that
each is a pair of a group and a value, and are then limited as all rows are: at most M in a group and T in all. A unit
that comes or goes changes whether a value occurs only for its own pairs. So the number of a group moves by at most M,
and all of them together by at most T, whatever values others have, and whether or not the possible values are known.
The values themselves stay in the engine's answer and are only counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.data import (
    Aggregated,
    Aggregation,
    Bounded,
    Call,
    CountRows,
    Filter,
    Keep,
    Kind,
    Name,
    PerPerson,
    Relation,
)
from dither.data.engines.protocol import Engine
from dither.data.expressions import kind_of
from dither.data.returned import Group, canonical
from dither.publish.queries.design import Design
from dither.publish.queries.groups import laid_out
from dither.publish.queries.measures import Measured

Integers = NDArray[np.int64]
_COUNT: Final = CountRows()
_VALUE: Final = "value"


def requests(design: Design, groups: Sequence[Group]) -> list[Aggregation]:
    """Return what an engine is asked for: all sums and counts together, then each number of different values.

    Of public groups they are made once, so that engines and audits know them again.
    """
    return list(design.requests_of_public) if groups is design.groups else requested(design, groups)


def requested(design: Design, groups: Sequence[Group]) -> list[Aggregation]:
    """Return what an engine is asked for in some groups."""
    plain = tuple(part.measure for part in design.measured if part.distinct is None)
    found = [Aggregation(design.bounded(groups), design.key_values, plain)] if plain else []
    return found + [_different(design, part, groups) for part in design.measured if part.distinct is not None]


def exact_table(design: Design, data: Engine, groups: Sequence[Group]) -> Integers:
    """Return the exact numbers, a row for each group and a column for each measured part."""
    places, kinds = design.places(groups), design.key_kinds
    table = np.zeros((len(groups), len(design.measured)), dtype=np.int64)
    plain = [number for number, part in enumerate(design.measured) if part.distinct is None]
    others = [number for number, part in enumerate(design.measured) if part.distinct is not None]
    asked = requests(design, groups)
    if plain:
        table[:, plain] = laid_out(data.aggregate(asked[0]), places, kinds, len(plain))
    for number, request in zip(others, asked[bool(plain) :], strict=True):
        kind = kind_of(design.measured[number].distinct or Name(""), design.query.relation.columns)
        table[:, number] = _numbers(data.aggregate(request), places, (*kinds, kind), len(groups))
    return table


def _different(design: Design, part: Measured, groups: Sequence[Group]) -> Aggregation:
    """Return the request for the pairs of a group and a value that occur, once for a unit and within its limits."""
    value = part.distinct or Name("")
    relation: Relation = Filter(design.kept(groups), Call("not", (Call("is_null", (value,)),)))
    if part.values is not None:
        relation = Keep(relation, (value,), tuple((one,) for one in part.values))
    keys = design.key_values
    if not design.has_persons:
        return Aggregation(relation, (*keys, value), (_COUNT,))
    names = [f"key_{number}" for number in range(len(keys))]
    pairs = PerPerson(relation, (*zip(names, keys, strict=True), (_VALUE, value)), ())
    named = tuple(map(Name, names))
    bounded = Bounded(pairs, named, design.limits, (*names, _VALUE))
    return Aggregation(bounded, (*named, Name(_VALUE)), (_COUNT,))


def _numbers(answer: Aggregated, places: Mapping[Group, int], kinds: tuple[Kind, ...], groups: int) -> Integers:
    """Return how many different values each group has; rows that are not of the asked kinds are ignored."""
    seen: set[Group] = set()
    for key in answer.keys:
        known = canonical(key, kinds)
        if known is not None and known[-1] is not None and known[:-1] in places:
            seen.add(known)
    table = np.zeros(groups, dtype=np.int64)
    for known in seen:
        table[places[known[:-1]]] += 1
    return table
