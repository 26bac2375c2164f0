"""Groups: which groups exist, which rows belong to them, and the place of each one's numbers.

Public groups are known before the data is opened, each is answered whether or not it occurs, and rows of others do not
exist. Where groups are to be discovered they travel through the threshold as texts and come back sorted by value.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Call, Expression, Filter, Keep, Kind, Literal, Relation
from dither.data.columns import ColumnRows, KeyColumns
from dither.data.evaluation import sort_key
from dither.data.expressions import Value, kind_of
from dither.data.returned import Group, canonical, first_number, padded, saturated, saturated_column
from dither.errors import InvalidParameter
from dither.publish.queries.product_groups import ProductPlaces, as_integers, product_of
from dither.publish.queries.product_groups import is_run as _is_run
from dither.publish.queries.query import Query

MOST_GROUPS: Final = 2**22
#: A list of more integers than this is written as a range, if it is one.
_LONG_RUN: Final = 256


def public_groups(query: Query) -> Sequence[Group] | None:
    """Return all groups in their declared order, or None if they are to be discovered."""
    return None if query.is_discovered else _declared(query)


def _declared(query: Query) -> Sequence[Group]:
    kinds = key_kinds(query)
    if query.key_values is not None:
        groups = query.key_values
        if len(set(groups)) != len(groups) or any(len(group) != len(query.keys) for group in groups) or not groups:
            raise InvalidParameter("key_values", groups, "different tuples, at least one, with a value for every key")
        return tuple(positions(groups, kinds))
    lists = [key.values or () for key in query.keys]
    if not 0 < math.prod(map(len, lists)) <= MOST_GROUPS:
        rule = f"keys with 1 to {MOST_GROUPS} combinations"
        raise InvalidParameter("keys", [key.name for key in query.keys], rule)
    found = product_of(lists, kinds)
    # Where it is none, the combinations are gone through for the one that is refused.
    return tuple(positions(list(itertools.product(*lists)), kinds)) if found is None else found


def kept(query: Query, groups: Sequence[Group] | None) -> Relation:
    """Return the rows that belong to one of these groups; None leaves undeclared keys free."""
    relation = query.relation
    if not query.keys:
        return relation
    if groups is None or query.key_values is None:
        # One list for each key says the same as all combinations, and is shorter.
        for key in query.keys:
            if key.values is not None:
                relation = _with_values(relation, key.value, key.values)
        if groups is None or not query.is_discovered:
            return relation
    return Keep(relation, tuple(key.value for key in query.keys), tuple(groups))


def _with_values(relation: Relation, key: Expression, values: tuple[Value, ...]) -> Relation:
    """Return the rows whose key is one of some values; a long run of integers is written as its two ends."""
    whole = as_integers([value for value in values if type(value) is int])
    if whole is None or len(whole) <= _LONG_RUN:
        return Keep(relation, (key,), tuple((value,) for value in values))
    others, least, most = len(values) - len(whole), int(whole.min()), int(whole.max())
    is_run = _is_run(whole) or most - least + 1 == len(np.unique(whole))
    # Between two integers lie reals that the list does not have.
    is_whole = kind_of(key, relation.columns) is Kind.INTEGER and others == (None in values)
    if not (is_run and is_whole):
        return Keep(relation, (key,), tuple((value,) for value in values))
    ends = (("at_least", least), ("at_most", most))
    within: Expression = Call("and", tuple(Call(name, (key, Literal(end, Kind.INTEGER))) for name, end in ends))
    if others:
        within = Call("or", (Call("is_null", (key,)), within))
    return Filter(relation, within)


def key_kinds(query: Query) -> tuple[Kind, ...]:
    """Return the kind of each key."""
    return tuple(kind_of(key.value, query.relation.columns) for key in query.keys)


def positions(groups: Sequence[Group], kinds: Sequence[Kind]) -> dict[Group, int]:
    """Return the place of each group."""
    found = {}
    for place, group in enumerate(groups):
        key = canonical(group, kinds)
        if key is None or key in found:
            raise InvalidParameter("key_values", group, f"different, of kinds {', '.join(k.value for k in kinds)}")
        found[key] = place
    return found


def laid_out(
    answer: Aggregated, places: Mapping[Group, int], kinds: Sequence[Kind], measures: int
) -> NDArray[np.int64]:
    """Return one row of numbers for each place; 0 where the answer has none. Odd rows are ignored."""
    table = np.zeros((len(places), measures), dtype=np.int64)
    if isinstance(answer.keys, KeyColumns) and isinstance(answer.measures, ColumnRows):
        if answer.keys.kinds == tuple(kinds):
            found = _placed(answer.keys, places)
            for number, column in enumerate(answer.measures.columns[:measures]):
                table[found[found >= 0], number] = saturated_column(column, len(found))[found >= 0]
        return table
    for key, numbers in zip(answer.keys, answer.measures, strict=False):
        known = canonical(key, kinds)
        place = None if known is None else places.get(known)
        if place is not None:
            table[place] = [saturated(number) for number in itertools.islice(padded(numbers), measures)]
    return table


def persons_by_text(answer: Aggregated, kinds: Sequence[Kind]) -> Counter[str]:
    """Return how many units each group has, with groups written as text."""
    found: Counter[str] = Counter()
    if isinstance(answer.keys, KeyColumns) and isinstance(answer.measures, ColumnRows):
        numbers = saturated_column(answer.measures.columns[0], len(answer.keys)).tolist()
        for text, number in zip(_texts(answer.keys), numbers, strict=True):
            if text is not None:
                found[text] += number
        return found
    for key, numbers in zip(answer.keys, answer.measures, strict=False):
        known = canonical(key, kinds)
        if known is not None:
            found[_text(known)] += first_number(numbers)
    return found


def from_texts(texts: Iterable[str], kinds: Sequence[Kind]) -> tuple[Group, ...]:
    """Return the groups from their texts, sorted by value."""
    # All at once: each text is a list by itself, so that they are one with commas between.
    written = json.loads(f"[{','.join(texts)}]")
    columns = [
        [None if entry is None else _READERS[kind](entry) for entry in entries]
        for kind, entries in zip(kinds, zip(*written, strict=True), strict=False)
    ]
    groups = list(zip(*columns, strict=True)) if columns else [()] * len(written)
    if any(None in column for column in columns):
        return tuple(sorted(groups, key=lambda group: [sort_key(value) for value in group]))
    return tuple(sorted(groups))


def _placed(keys: KeyColumns, places: Mapping[Group, int]) -> NDArray[np.int64]:
    """Return the place of each group of an answer; -1 where it has none."""
    if isinstance(places, ProductPlaces):
        return places.of_columns(keys)
    return np.fromiter((places.get(key, -1) for key in keys), dtype=np.int64, count=len(keys))


def _texts(keys: KeyColumns) -> Iterator[str | None]:
    """Return each group of an answer as text; None for what ``canonical`` takes for none."""
    columns = [
        [
            "null" if value is None else json.dumps(_written(value)) if canonical((value,), (kind,)) else None
            for value in keys.listed(place)
        ]
        for place, kind in enumerate(keys.kinds)
    ]
    for parts in zip(*columns, strict=True):
        yield None if None in parts else f"[{', '.join(parts)}]"


def _text(group: Group) -> str:
    return json.dumps([None if value is None else _written(value) for value in group])


def _written(value: Value) -> str:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value)


_READERS: Final[Mapping[Kind, Any]] = {
    Kind.BOOLEAN: lambda text: text == "True",
    Kind.INTEGER: int,
    Kind.REAL: float.fromhex,
    Kind.TEXT: str,
    Kind.DATE: datetime.date.fromisoformat,
    Kind.TIMESTAMP: datetime.datetime.fromisoformat,
}
