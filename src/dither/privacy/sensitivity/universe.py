"""Small synthetic universes of data sets, and which of them are neighbours.

A universe is finite: at its largest size nothing can be added any more. Choose it larger than the data sets of
interest by as many rows as the question looks ahead.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from functools import cached_property
from itertools import chain, combinations, combinations_with_replacement, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Field, OneOf, whole
from dither.privacy.distances import Relation

MOST_DATA_SETS = 250_000
MOST_NEIGHBOURS = 2**24

Code = tuple[int, ...]


class Rows(Enum):
    """How the rows of a data set are treated."""

    MULTISET = "rows in no order, which may repeat"
    SET = "rows in no order, each at most once"
    TUPLE = "rows in order"


class Graph(NamedTuple):
    """All data sets of a universe; the neighbours of number i are ``neighbours[starts[i]:starts[i + 1]]``."""

    data_sets: list[Any]
    starts: NDArray[np.int64]
    neighbours: NDArray[np.int64]


class Neighbourhood(Protocol):
    """What the search needs from a universe."""

    def canonical(self, data: Any) -> Hashable:
        """Return the data set in its listed form, or reject it by name."""

    def neighbours(self, data: Any) -> Iterator[Any]:
        """Yield every neighbour of a data set once."""

    @property
    def graph(self) -> Graph:
        """All data sets and their neighbours; raises if there are too many."""


class _Values(Field[Iterable[Hashable], tuple[Hashable, ...]]):
    def convert(self, name: str, value: Iterable[Hashable]) -> tuple[Hashable, ...]:
        values = tuple(value) if isinstance(value, Iterable) else ()
        if not values or len(set(values)) < len(values):
            raise InvalidParameter(name, value, "at least one value, each only once")
        return values

    def offenders(self) -> Iterator[Any]:
        """Return empty and repeated values, and anything that holds no values."""
        yield from ((), (1, 1), 1, None, object())


class _Sizes(Field["int | range", range]):
    def convert(self, name: str, value: int | range) -> range:
        sizes = value if isinstance(value, range) else range(whole(name, value), whole(name, value) + 1)
        if not (sizes.step == 1 and len(sizes) and sizes.start >= 0):
            raise InvalidParameter(name, value, "a size, or a range of consecutive sizes of at least 0")
        return sizes

    def offenders(self) -> Iterator[Any]:
        """Return ranges that are empty, have a step, or begin below 0, and anything that is not a size."""
        yield from (-1, range(0), range(-1, 2), range(0, 4, 2), 0.5, "3", True, None, object())


@dataclass(frozen=True)
class Universe:
    """All data sets whose rows are among ``values`` and whose number of rows is among ``sizes``.

    Args:
        values: what a row may be.
        sizes: one size, or a range of them.
        relation: ADD_REMOVE makes data sets neighbours when one row was added or removed, REPLACE when one was
            replaced; then only data sets of one size are connected.
        rows: whether rows have an order, and whether they may repeat.

    >>> bits = Universe((0, 1), range(3), relation=Relation.ADD_REMOVE)
    >>> list(bits)
    [(), (0,), (1,), (0, 0), (0, 1), (1, 1)]
    >>> list(bits.neighbours([1]))
    [(0, 1), (1, 1), ()]
    >>> Universe(range(10), range(60), relation=Relation.ADD_REMOVE, rows=Rows.SET).count
    1024

    """

    values: _Values = _Values()
    sizes: _Sizes = _Sizes()
    _: KW_ONLY
    relation: OneOf = OneOf(Relation.ADD_REMOVE, Relation.REPLACE, rule="ADD_REMOVE or REPLACE")
    rows: OneOf = OneOf(*Rows, default=Rows.MULTISET, rule="MULTISET, SET or TUPLE")

    def __post_init__(self) -> None:
        if self.relation is Relation.ADD_REMOVE and len(self.sizes) < 2:
            raise InvalidParameter("sizes", self.sizes, "at least two sizes when rows are added or removed")

    @property
    def count(self) -> int:
        """The number of data sets, without listing them."""
        values = len(self.values)
        ways: Callable[[int], int] = {
            Rows.MULTISET: lambda size: math.comb(values + size - 1, size),
            Rows.SET: lambda size: math.comb(values, size),
            Rows.TUPLE: lambda size: values**size,
        }[self.rows]
        return sum(map(ways, self.sizes))

    def canonical(self, data: Iterable[Hashable]) -> tuple[Hashable, ...]:
        """Return the rows in listed form: in the order of ``values``, unless the order of rows matters."""
        return self._decode(self._encode(data))

    def __iter__(self) -> Iterator[tuple[Hashable, ...]]:
        return map(self._decode, self._codes())

    def neighbours(self, data: Iterable[Hashable]) -> Iterator[tuple[Hashable, ...]]:
        """Yield every neighbour within the universe once."""
        return map(self._decode, self._others(self._encode(data)))

    @cached_property
    def graph(self) -> Graph:
        """All data sets and their neighbours; raises beyond 250,000 data sets or 2^24 neighbours."""
        if not self.count <= MOST_DATA_SETS:
            raise InvalidParameter("universe", f"{self.count} data sets", f"one of at most {MOST_DATA_SETS} data sets")
        if not self.count * self._most_neighbours() <= MOST_NEIGHBOURS:
            found = f"{self.count} data sets with up to {self._most_neighbours()} neighbours each"
            raise InvalidParameter("universe", found, "one with at most 2^24 neighbours in all")
        codes = list(self._codes())
        number = {code: index for index, code in enumerate(codes)}
        lists = [[number[other] for other in self._others(code)] for code in codes]
        return _graph(list(map(self._decode, codes)), lists)

    def _most_neighbours(self) -> int:
        values, size = len(self.values), max(self.sizes)
        if self.relation is Relation.REPLACE:
            return size * (values - 1)
        return size + values * (size + 1 if self.rows is Rows.TUPLE else 1)

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {value: index for index, value in enumerate(self.values)}

    def _encode(self, data: Iterable[Hashable]) -> Code:
        code: Code | None = None
        with suppress(KeyError, TypeError):
            code = tuple(self._position[row] for row in data)
        # Refused out here, so that the error does not carry along the one that names a row.
        if code is None:
            raise InvalidValue("data", data, "rows among the values of the universe")
        if self.rows is not Rows.TUPLE:
            code = tuple(sorted(code))
        if len(code) not in self.sizes or (self.rows is Rows.SET and len(set(code)) < len(code)):
            raise InvalidValue(
                "data", data, f"a number of rows that the universe allows: {self.sizes}, {self.rows.value}"
            )
        return code

    def _decode(self, code: Code) -> tuple[Hashable, ...]:
        return tuple(map(self.values.__getitem__, code))

    def _codes(self) -> Iterator[Code]:
        places = range(len(self.values))
        listing: Callable[[int], Iterator[Code]] = {
            Rows.MULTISET: lambda size: combinations_with_replacement(places, size),
            Rows.SET: lambda size: combinations(places, size),
            Rows.TUPLE: lambda size: product(places, repeat=size),
        }[self.rows]
        return chain.from_iterable(map(listing, self.sizes))

    def _others(self, code: Code) -> Iterator[Code]:
        if self.relation is Relation.REPLACE:
            if self.rows is Rows.TUPLE:
                return self._substituted(code)
            return (
                other
                for place in _first_of_each(code)
                for other in self._with_one_more(code[:place] + code[place + 1 :], without=code[place])
            )
        more = self._with_one_more(code) if len(code) + 1 in self.sizes else iter(())
        return chain(more, self._with_one_less(code) if len(code) - 1 in self.sizes else iter(()))

    def _with_one_more(self, code: Code, without: int = -1) -> Iterator[Code]:
        if self.rows is Rows.TUPLE:
            grown = (
                (*code[:at], index, *code[at:]) for at in range(len(code) + 1) for index in range(len(self.values))
            )
            yield from dict.fromkeys(grown)
            return
        taken = {*code, without} if self.rows is Rows.SET else {without}
        for index in range(len(self.values)):
            if index not in taken:
                at = bisect_left(code, index)
                yield (*code[:at], index, *code[at:])

    def _with_one_less(self, code: Code) -> Iterator[Code]:
        if self.rows is Rows.TUPLE:
            yield from dict.fromkeys(code[:place] + code[place + 1 :] for place in range(len(code)))
        else:
            yield from (code[:place] + code[place + 1 :] for place in _first_of_each(code))

    def _substituted(self, code: Code) -> Iterator[Code]:
        for place, old in enumerate(code):
            for index in range(len(self.values)):
                if index != old:
                    yield (*code[:place], index, *code[place + 1 :])


class Listed:
    """Any finite collection of data sets with its own neighbour relation: graphs, users, windows.

    The relation must be symmetric, which is checked; neighbours outside the collection are left out.

    >>> corners = Listed(range(4), lambda corner: [corner ^ 1, corner ^ 2])
    >>> list(corners.neighbours(0))
    [1, 2]

    """

    def __init__(self, data_sets: Iterable[Hashable], neighbours: Callable[[Any], Iterable[Hashable]]) -> None:
        self._data_sets = list(data_sets)
        self._number = {data: index for index, data in enumerate(self._data_sets)}
        self._relation = neighbours
        if not 0 < len(self._number) <= MOST_DATA_SETS:
            raise InvalidParameter("data_sets", f"{len(self._number)} of them", f"between 1 and {MOST_DATA_SETS}")
        if len(self._number) < len(self._data_sets):
            raise InvalidParameter("data_sets", "one that repeats", "different from each other")

    def canonical(self, data: Hashable) -> Hashable:
        """Return the data set as listed."""
        with suppress(KeyError, TypeError):
            return self._data_sets[self._number[data]]
        raise InvalidValue("data", data, "one of the data sets listed")

    def neighbours(self, data: Hashable) -> Iterator[Any]:
        """Yield every neighbour among the listed data sets once."""
        here = self.canonical(data)
        found = dict.fromkeys(other for other in self._relation(here) if other in self._number and other != here)
        return (self._data_sets[self._number[other]] for other in found)

    @cached_property
    def graph(self) -> Graph:
        """All data sets and their neighbours; raises beyond 2^24 neighbours, or if the relation is not symmetric."""
        lists, total = [], 0
        for data in self._data_sets:
            lists.append([self._number[other] for other in self.neighbours(data)])
            total += len(lists[-1])
            if not total <= MOST_NEIGHBOURS:
                raise InvalidParameter("neighbours", f"more than {MOST_NEIGHBOURS}", "at most 2^24 in all")
        there = {(here, other) for here, others in enumerate(lists) for other in others}
        if any((other, here) not in there for here, other in there):
            raise InvalidParameter("neighbours", self._relation, "symmetric: neighbours of each other")
        return _graph(self._data_sets, lists)


def _first_of_each(code: Code) -> Iterator[int]:
    """Yield the first place of each distinct row of a sorted data set."""
    return (place for place, index in enumerate(code) if place == 0 or code[place - 1] != index)


def _graph(data_sets: list[Any], lists: list[list[int]]) -> Graph:
    lengths = np.array([0, *map(len, lists)], dtype=np.int64)
    flat = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
    return Graph(data_sets, np.cumsum(lengths), flat)
