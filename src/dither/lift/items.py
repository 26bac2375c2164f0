"""Item tables: private rows of a person and an item, read as one set of items for each person.

A person is one transaction, however many rows there are: rows of one person and one item are one item. An engine packs
the items of a person into a few integers, 48 items to each, and counts how many people have the same ones. So
nothing but counts of sets comes back, and no limit on the rows of a person is needed: a person moves one count by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import (
    Aggregated,
    Aggregation,
    Call,
    Case,
    CountRows,
    DataSet,
    Expression,
    Filter,
    Kind,
    Literal,
    Name,
    PerPerson,
    Project,
    Relation,
    Sum,
)
from dither.data.column_values import counted_columns, integer_column
from dither.data.engines.protocol import Engine
from dither.data.joins import check_relation
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.axes import Axis
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import RECORDS, Distance

#: Items of one integer.
_PACKED: Final = 48
MOST_ITEMS: Final = 2**10
#: People of one set that are written out; no table has more rows in memory.
_MOST_PERSONS: Final = 2**24
_ITEM, _MASK, _MANY = "item", "mask", "many"


@dataclass(frozen=True)
@typed
class ItemTable(Source[NDArray[np.bool_]]):
    """Private rows, each of a person and an item.

    Args:
        dataset: the schema, whose unit is a person.
        relation: the private rows.
        item: which item a row has, as a number.

    """

    dataset: DataSet
    relation: Relation
    item: Axis

    def __post_init__(self) -> None:
        """Reject rows without a person, and items that are not numbered."""
        if not self.dataset.protects_persons or not self.relation.has_persons:
            rule = "about a data set whose unit is a person: all items of one privacy id are one transaction"
            raise InvalidParameter("method", "diffpart", rule)
        check_relation(self.relation, self.dataset)
        if not self.item.is_numbered or not 1 <= self.item.size <= MOST_ITEMS:
            raise InvalidParameter(
                f"items of {self.item.name}", self.item.size, f"at most {MOST_ITEMS} numbered values"
            )

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts people by their items."""
        return (self.asked,)

    def read(self, engine: Engine) -> NDArray[np.bool_]:
        """Return transactions, a row for each person and a column for each item."""
        return self.records(engine.aggregate(self.asked))

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many transactions one person adds or removes: two if people are replaced."""
        return {RECORDS: Fraction(2 if self.dataset.is_replaced else 1)}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for other items."""
        super().check(method)
        if getattr(getattr(method, "taxonomy", None), "size", None) != self.item.size:
            raise InvalidParameter("method", method.name, f"a method for {self.item.size} items")

    @cached_property
    def asked(self) -> Aggregation:
        """The engine's aggregation: how many people have each set of items that occurs."""
        numbered = Project(self.relation, ((_ITEM, self.item.value),))
        known = Filter(numbered, Call("not", (Call("is_null", (Name(_ITEM),)),)))
        # One row for each person and item, so that an item that came twice is added once.
        once = PerPerson(known, ((_ITEM, Name(_ITEM)),), ((_MANY, CountRows()),))
        starts = range(0, self.item.size, _PACKED)
        masks = tuple((f"{_MASK}{place}", Sum(_bit(start, self.item.size))) for place, start in enumerate(starts))
        sets = PerPerson(once, (), masks)
        return Aggregation(sets, tuple(Name(name) for name, _ in masks), (CountRows(),))

    def records(self, answer: Aggregated) -> NDArray[np.bool_]:
        """Return transactions, a row for each person and a column for each item; odd rows are ignored."""
        words = -(-self.item.size // _PACKED)
        columns, counts = counted_columns(answer, words)
        found = np.column_stack([integer_column(cells, len(counts), 2**_PACKED) for cells in columns])
        is_set = (found >= 0).all(axis=1)
        found = found[is_set]
        # The lowest six bytes of every word, item by item.
        octets = found.astype("<i8").view(np.uint8).reshape(len(found), words, 8)[:, :, : _PACKED // 8]
        bits = np.unpackbits(
            octets.reshape(len(found), words * _PACKED // 8), axis=1, bitorder="little", count=self.item.size
        )
        sets = bits.astype(np.bool_)
        return np.repeat(sets, np.minimum(counts[is_set], _MOST_PERSONS), axis=0)


def _bit(start: int, size: int) -> Expression:
    """Return 2^k for the k-th item from ``start`` on, and 0 for items in other words."""
    stop = min(start + _PACKED, size)
    found = _searched(range(start, stop), start)
    if start:
        found = Case(((Call("less", (Name(_ITEM), _whole(start))), _whole(0)),), found)
    if stop < size:
        found = Case(((Call("less", (Name(_ITEM), _whole(stop))), found),), _whole(0))
    return found


def _searched(items: Sequence[int], start: int) -> Expression:
    if len(items) == 1:
        return _whole(1 << (items[0] - start))
    middle = len(items) // 2
    below = Call("less", (Name(_ITEM), _whole(items[middle])))
    return Case(((below, _searched(items[:middle], start)),), _searched(items[middle:], start))


def _whole(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


register_records(ItemTable)
