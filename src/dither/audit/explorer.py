"""How far does a query move when one unit changes? Exhaustive on a small universe, by hill climbing on a large one.

On a universe that can be listed the answer is the global sensitivity, exactly, with two neighbours that reach it. On a
larger one the search starts at several data sets, looks at neighbours, and steps to where the query moves farther:
what it finds is a lower bound with a pair of neighbours that anybody can check. A declared sensitivity below it is
refuted; one above it is not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, non_negative, whole
from dither.noise import Noise, system_noise
from dither.privacy import L1, Metric
from dither.privacy.sensitivity import Rows, SensitivityMap, Universe
from dither.privacy.sensitivity.search import Query

_MOST_LISTED = 20_000
_MOST_EDGES = 2_000_000
_LOOKED_AT = 32
_PATIENCE = 6
_OPTIONS = 3
_FEW = 4
_AT_THE_START = 128


@dataclass(frozen=True)
class Explored:
    """The farthest that a query was seen to move between neighbours, and where.

    Guarantee: the query moves by ``sensitivity`` between ``data`` and ``neighbour``; by no more between any two
    neighbours of the universe if ``is_exact``.
    """

    sensitivity: Fraction
    is_exact: bool
    data: Any
    neighbour: Any
    calls: int

    def refutes(self, declared: Number) -> bool:
        """Whether the query moves farther than declared."""
        return self.sensitivity > non_negative("declared", declared)

    def __str__(self) -> str:
        says = "is" if self.is_exact else "is at least"
        return f"the sensitivity {says} {self.sensitivity}: between {self.data} and {self.neighbour}"


def explore(
    query: Query,
    universe: Universe,
    metric: Metric = L1,
    *,
    starts: Iterable[Any] = (),
    most_calls: int = 10_000,
) -> Explored:
    """Return the farthest that a query moves between neighbours of a universe.

    Args:
        query: any function of a data set, which is a tuple of rows.
        universe: the data sets and which of them are neighbours.
        metric: in which answers are compared.
        starts: data sets to climb from, beside those that the search makes up itself.
        most_calls: the largest number of calls of the query when the universe is too large to be listed.

    >>> from dither.privacy import Relation
    >>> ages = Universe(range(100), range(30), relation=Relation.ADD_REMOVE)
    >>> found = explore(lambda rows: sum(rows), ages)
    >>> print(found.sensitivity, found.is_exact)
    99 False

    """
    if not isinstance(universe, Universe):
        raise InvalidParameter("universe", type(universe).__name__, "a Universe of rows")
    largest = max(universe.sizes)
    edges = universe.count * (largest + 1) * len(universe.values)
    if universe.count <= _MOST_LISTED and edges <= _MOST_EDGES:
        listed = SensitivityMap(query, universe, metric)
        data, neighbour = listed.worst or (None, None)
        return Explored(listed.everywhere, True, data, neighbour, universe.count)
    return _Climb(query, universe, metric, whole("most_calls", most_calls, least=_LOOKED_AT)).search(starts)


class _Climb:
    """A search with restarts: steps to the neighbour around which the query moves farthest, until none is better."""

    def __init__(self, query: Query, universe: Universe, metric: Metric, most_calls: int) -> None:
        self._query, self._universe, self._metric, self._most = query, universe, metric, most_calls
        self._noise: Noise = system_noise()
        self._known: dict[Any, Any] = {}
        self._calls = 0

    def search(self, starts: Iterable[Any]) -> Explored:
        first = [self._universe.canonical(start) for start in starts]
        best = Explored(Fraction(0), False, None, None, 0)
        for start in self._starts(first):
            if self._is_over:
                break
            best = max(best, self._climb(start), key=lambda found: found.sensitivity)
        return Explored(best.sensitivity, False, best.data, best.neighbour, self._calls)

    @property
    def _is_over(self) -> bool:
        """Whether the next comparison, which takes at most two questions, could exceed the limit."""
        return self._calls > self._most - 2

    def _climb(self, start: Any) -> Explored:
        here, patience = start, _PATIENCE
        best = self._around(here, _AT_THE_START)
        while patience and not self._is_over:
            options = self._some_neighbours(best.neighbour if best.neighbour is not None else here, _OPTIONS)
            better = max(
                (self._around(option) for option in options), key=lambda found: found.sensitivity, default=best
            )
            if better.sensitivity > best.sensitivity:
                best, patience = better, _PATIENCE
            else:
                patience -= 1
            here = better.data if better.data is not None else here
        return best

    def _around(self, data: Any, many: int = _LOOKED_AT) -> Explored:
        """Return the tried neighbour to which the query moves farthest."""
        best = Explored(Fraction(0), False, data, None, 0)
        for other in self._some_neighbours(data, many):
            if self._is_over:
                break
            moved = self._metric.measure(self._answer(data), self._answer(other))
            if moved is None:
                raise InvalidParameter(
                    "metric", self._metric, "one in which any two neighbouring answers have a distance"
                )
            if moved > best.sensitivity or best.neighbour is None:
                best = Explored(moved, False, data, other, 0)
        return best

    def _answer(self, data: Any) -> Any:
        if data not in self._known:
            self._calls += 1
            self._known[data] = self._query(data)
        return self._known[data]

    def _some_neighbours(self, data: Any, many: int) -> list[Any]:
        """Return a few neighbours, or all where there are few; the first and the last of them always."""
        found = list(islice(self._universe.neighbours(data), 4096))
        if len(found) <= _FEW * many:
            return found
        places = {0, len(found) - 1, *np.asarray(self._noise.uniform_below(len(found), many - 2)).tolist()}
        return [found[place] for place in sorted(places)]

    def _starts(self, given: list[Any]) -> Iterator[Any]:
        """Return the given data, then data sets of one or two repeated rows at extreme places, then random ones."""
        yield from given
        values, sizes = self._universe.values, sorted(self._universe.sizes)
        is_set = self._universe.rows is Rows.SET
        for size in dict.fromkeys((sizes[0], sizes[-1], sizes[len(sizes) // 2])):
            for place in dict.fromkeys((0, len(values) - 1, len(values) // 2)):
                yield self._universe.canonical(values[:size] if is_set else [values[place]] * size)
            for low in () if is_set else dict.fromkeys((size // 2, size // 2 + 1, size // 4, size - size // 4)):
                yield self._universe.canonical([values[0]] * min(low, size) + [values[-1]] * (size - min(low, size)))
        while True:
            size = sizes[self._below(len(sizes))]
            if is_set:
                yield self._universe.canonical(sorted(values, key=lambda _: self._below(2**62))[:size])
            else:
                yield self._universe.canonical([values[self._below(len(values))] for _ in range(size)])

    def _below(self, limit: int) -> int:
        return int(self._noise.uniform_below(limit, 1)[0])
