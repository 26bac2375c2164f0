"""Global, local and smooth sensitivity of any query, by visiting a whole universe.

The slow and obvious truth about small cases. Answers are integers over a common denominator, so every result is exact
when the query returns integers, rationals or floats (which count as what they are in memory); only the square root of
L2 and the powers of e in a smooth sensitivity are rounded, upwards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, exp_up, positive, round_up, whole
from dither.privacy.distances import Metric
from dither.privacy.sensitivity.integers import NORMS, distance_of, norms, over_one_denominator
from dither.privacy.sensitivity.universe import MOST_DATA_SETS, Neighbourhood

Query = Callable[[Any], Any]

_BLOCK = 2**20
_SHAPE_RULE = "one that answers finite numbers, always in the same shape"


class SensitivityMap:
    """The local sensitivity of one query at every data set of a universe: computed once, used often.

    >>> from dither.privacy import L1, Relation
    >>> from dither.privacy.sensitivity import Universe
    >>> ages = Universe(range(1, 11), range(1, 7), relation=Relation.ADD_REMOVE)
    >>> largest = SensitivityMap(max, ages, L1)
    >>> print(largest.everywhere, largest.local([1, 2, 3, 4, 5]), largest.within([1, 2, 3, 4, 5], distance=1))
    9 5 6

    """

    def __init__(self, query: Query, universe: Neighbourhood, metric: Metric) -> None:
        _check(query, metric)
        self._universe, self._graph, self._scale = universe, universe.graph, _Scale(metric)
        data_sets, starts, neighbours = self._graph
        answers = self._scale.integers([query(data) for data in data_sets])
        sources = np.repeat(np.arange(len(data_sets)), np.diff(starts))
        self._moves = self._scale.moves(answers, sources, neighbours)
        self._local = _largest_of_each(self._moves, starts)
        #: The data set asked about last, by number, and its profile: several questions about one follow each other.
        self._latest: tuple[int, tuple[Fraction, ...]] = (-1, ())

    @property
    def everywhere(self) -> Fraction:
        """The global sensitivity."""
        return self._scale.finish(self._local.max())

    @property
    def worst(self) -> tuple[Any, Any] | None:
        """Two neighbours that attain the global sensitivity; None if no two data sets are neighbours."""
        if not self._moves.size:
            return None
        data_sets, starts, neighbours = self._graph
        place = int(np.argmax(self._moves == self._moves.max()))
        return data_sets[int(np.searchsorted(starts, place, side="right")) - 1], data_sets[neighbours[place]]

    def local(self, data: Any) -> Fraction:
        """Return the largest change between this data set and a neighbour."""
        return self._scale.finish(self._local[self._number(data)])

    def within(self, data: Any, *, distance: int) -> Fraction:
        """Return the largest local sensitivity of any data set at most that many changes away."""
        levels = self.profile(data)
        return levels[min(whole("distance", distance), len(levels) - 1)]

    def profile(self, data: Any) -> tuple[Fraction, ...]:
        """Return the largest local sensitivity within 0, 1, 2, ... changes, until no further data set is reached."""
        number = self._number(data)
        latest = self._latest
        if latest[0] != number:
            self._latest = latest = number, self._levels(number)
        return latest[1]

    def _levels(self, number: int) -> tuple[Fraction, ...]:
        _, starts, neighbours = self._graph
        seen = np.zeros(self._local.size, dtype=bool)
        front = np.array([number])
        levels: list[Any] = []
        while front.size:
            seen[front] = True
            levels.append(max([*levels[-1:], self._local[front].max()]))
            reached = np.concatenate([neighbours[starts[here] : starts[here + 1]] for here in front.tolist()])
            fresh = np.zeros_like(seen)
            fresh[reached] = True
            front = np.flatnonzero(fresh & ~seen)
        return tuple(map(self._scale.finish, levels))

    def smooth(self, data: Any, *, beta: Number) -> Fraction:
        """Return the smooth sensitivity: the largest e^(-beta s) times the local sensitivity within s changes."""
        rate = positive("beta", beta)
        levels = self.profile(data)
        rises = [s for s, level in enumerate(levels) if s == 0 or level > levels[s - 1]]
        return max(levels[s] if s == 0 else round_up(levels[s] * exp_up(-rate * s)) for s in rises)

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {data: index for index, data in enumerate(self._graph.data_sets)}

    def _number(self, data: Any) -> int:
        return self._numbers[self._universe.canonical(data)]


def global_sensitivity(query: Query, universe: Neighbourhood, metric: Metric) -> Fraction:
    """Return the largest change of the query between any two neighbours of the universe."""
    return SensitivityMap(query, universe, metric).everywhere


def worst_neighbours(query: Query, universe: Neighbourhood, metric: Metric) -> tuple[Any, Any] | None:
    """Return two neighbours that attain the global sensitivity; None if there are no neighbours."""
    return SensitivityMap(query, universe, metric).worst


def local_sensitivity(query: Query, data: Any, universe: Neighbourhood, metric: Metric) -> Fraction:
    """Return the largest change of the query between this data set and a neighbour; others are not visited."""
    return local_sensitivity_at_distance(query, data, universe, metric, distance=0)


def local_sensitivity_at_distance(
    query: Query, data: Any, universe: Neighbourhood, metric: Metric, *, distance: int
) -> Fraction:
    """Return the largest local sensitivity at most ``distance`` changes away; farther data sets are not visited.

    Universes of any size are allowed, if the search meets at most 250,000 data sets.
    """
    _check(query, metric)
    steps = whole("distance", distance)
    number = {universe.canonical(data): 0}
    met = [universe.canonical(data)]
    sources, targets, inside = [], [], 0
    for _ in range(steps + 1):
        outside = len(met)
        for here in range(inside, outside):
            for other in universe.neighbours(met[here]):
                place = number.setdefault(other, len(met))
                if place == len(met):
                    met.append(other)
                sources.append(here)
                targets.append(place)
            if not len(met) <= MOST_DATA_SETS:
                raise InvalidParameter("distance", distance, f"one that reaches at most {MOST_DATA_SETS} data sets")
        inside = outside
    scale = _Scale(metric)
    answers = scale.integers([query(each) for each in met])
    moves = scale.moves(answers, np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64))
    return scale.finish(moves.max()) if moves.size else Fraction(0)


def smooth_sensitivity(query: Query, data: Any, universe: Neighbourhood, metric: Metric, *, beta: Number) -> Fraction:
    """Return the largest e^(-beta s) LS(s) over all s, LS(s) being the local sensitivity at distance s.

    Guarantee: exact when s = 0 decides; otherwise at least the true value, and within a relative 1e-25 of it while beta
    times s is at most 5000.

    >>> from dither.privacy import L1, Relation
    >>> from dither.privacy.sensitivity import Universe
    >>> median = lambda rows: rows[1]
    >>> triples = Universe(range(11), 3, relation=Relation.REPLACE)
    >>> print(local_sensitivity(median, [5, 5, 5], triples, L1))
    0
    >>> float(smooth_sensitivity(median, [5, 5, 5], triples, L1, beta=1))
    1.839...

    """
    return SensitivityMap(query, universe, metric).smooth(data, beta=beta)


class _Scale:
    """Turns answers into integers over one denominator, changes into comparable numbers, and those into distances.

    Of L2 the squares are compared, so that nothing is rounded before the end.
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self._is_norm = metric in NORMS
        self._denominator = 1

    def integers(self, answers: list[Any]) -> NDArray[Any]:
        """Return one row of integers per answer; the plain answers if the metric is not a norm."""
        if not self._is_norm:
            kept = np.empty(len(answers), dtype=object)
            kept[:] = answers
            return kept
        shapes = {_shape(answer) for answer in answers}
        if len(shapes) > 1:
            raise InvalidParameter("query", f"one with answers of the shapes {sorted(shapes)}", _SHAPE_RULE)
        rows = [[_rational(entry) for entry in np.asarray(answer, dtype=object).flat] for answer in answers]
        integers, self._denominator = over_one_denominator(rows)
        return integers

    def moves(self, answers: NDArray[Any], first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distance between each pair of answers."""
        if not self._is_norm:
            pairs = zip(answers[first].tolist(), answers[second].tolist(), strict=True)
            return np.array([self._measure(*pair) for pair in pairs], dtype=object)
        moves = np.zeros(first.size, dtype=answers.dtype)
        step = max(1, _BLOCK // max(1, answers.shape[1]))
        for start in range(0, first.size, step):
            block = slice(start, start + step)
            moves[block] = norms(answers[first[block]] - answers[second[block]], self._metric)
        return moves

    def finish(self, move: Any) -> Fraction:
        """Return the distance for a compared number."""
        return distance_of(int(move), self._denominator, self._metric) if self._is_norm else Fraction(move)

    def _measure(self, first: Any, second: Any) -> Fraction:
        distance = self._metric.measure(first, second)
        if distance is None:
            raise InvalidParameter("metric", self._metric, "one in which any two neighbouring answers have a distance")
        return distance


def _check(query: Query, metric: Metric) -> None:
    if not callable(query):
        raise InvalidParameter("query", query, "a function of a data set")
    if not isinstance(metric, Metric):
        raise InvalidParameter("metric", metric, "a metric, such as L1")


def _shape(answer: Any) -> tuple[int, ...]:
    try:
        return np.shape(answer)
    except ValueError:
        raise InvalidParameter("query", "one that answers a ragged array", _SHAPE_RULE) from None


def _rational(entry: Any) -> int | Fraction:
    if type(entry) is int:
        return entry
    plain = entry.item() if isinstance(entry, np.generic) and not isinstance(entry, np.longdouble) else entry
    if isinstance(plain, int):
        return int(plain)
    try:
        return plain if isinstance(plain, Fraction) else Fraction(*plain.as_integer_ratio())
    except (AttributeError, ValueError, OverflowError, TypeError):
        raise InvalidParameter("query", f"one that answers {type(entry).__name__}", _SHAPE_RULE) from None


def _largest_of_each(moves: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Return the largest move out of every data set; 0 if there is none."""
    largest = np.zeros(starts.size - 1, dtype=moves.dtype)
    some = np.diff(starts) > 0
    if some.any():
        largest[some] = np.maximum.reduceat(moves, starts[:-1][some])
    return largest
