"""From noisy integers to the table that an analyst sees: estimates, intervals, outputs, HAVING, ORDER BY, LIMIT.

Everything here is a function of released numbers and public facts.

**Which intervals.** A number holds with the confidence asked for: its failure probability is divided among the measured
parts that its expression uses. Where rows are then chosen by what they show (HAVING, LIMIT, or an order by an
aggregate), a reader looks at the most striking numbers, and each of them would be wrong far more often: the failure
probability is then divided among all parts of all groups, and all intervals hold at once.

**Which values.** Every measured number is moved to the nearest one that is possible before anything is made of it, and
its interval with it (``believable``): a count is never below 0. The values of the numbers as they were drawn are kept
beside, as ``raw``: these are unbiased, and are what sums over groups are to be made of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.data import Cast, Expression, Kind, Name
from dither.data.columns import ColumnRows, Values
from dither.data.evaluation import evaluator, sort_key
from dither.data.expressions import IntervalEnd, Value, kind_of, names_in
from dither.data.returned import Group
from dither.exact import Number, probability
from dither.mechanisms.core.values import LARGEST_SUM
from dither.publish.queries.answer import Answer, Answered
from dither.publish.queries.design import Design
from dither.publish.queries.display_values import believable
from dither.publish.queries.intervals import Range, days_enclosed, enclose
from dither.publish.queries.limited_rows import limited
from dither.publish.queries.measures import Measured
from dither.publish.queries.outside_groups import outside_groups
from dither.publish.queries.query import Aggregate
from dither.publish.queries.result import Cell, End, QueryResult, ResultColumn
from dither.publish.queries.statistics import describe
from dither.publish.queries.tight_intervals import sharp

_LIST = "list"
#: How much of the failure probability of a number that is shown by itself goes to the box of its parts.
_OF_BOX = 0.1


class Enclosed(NamedTuple):
    """Values, lower and upper ends of one aggregate or output, and values as drawn, one per group."""

    shown: Values
    low: Values
    high: Values
    raw: Values

    def listed(self) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Return all four as lists of Python's own values."""
        shown, low, high, raw = (None if part is None else _list_of(part) for part in self)
        length = next((len(part) for part in (shown, low, high, raw) if part is not None), 0)
        nothing = [None] * length
        return shown or nothing, low or nothing, high or nothing, raw or nothing


def present(
    answer: Answer, released: Answered, *, confidence: Number = Fraction(19, 20), together: bool = False
) -> QueryResult:
    """Return the table for a released answer.

    Args:
        answer: the mechanism.
        released: what it released.
        confidence: of the intervals.
        together: whether all intervals hold at once, whatever the query does with them.

    """
    wanted = probability("confidence", confidence, open_below=True)
    return _Presentation(answer, released, wanted, together=together).result()


def is_selected(answer: Answer) -> bool:
    """Whether rows are chosen or ordered by their values."""
    query, names = answer.query, {aggregate.name for aggregate in answer.query.aggregates}
    shown = _aggregates_of(answer, names) if query.order else names
    by_number = any(names_in(expression) & shown for expression, _ in query.order)
    return query.having is not None or query.limit is not None or by_number


def estimand_of(design: Design, aggregate: Aggregate) -> tuple[str, str]:
    """Return what an aggregate's interval covers, and what separates it from the plain statistic."""
    counted = limited(design, aggregate)
    suffix, clipped = counted.estimand, counted.bias
    statistic = design.statistics.get(aggregate.name)
    if statistic is not None:
        biases = [text for text in (statistic.bias, clipped) if text]
        return statistic.estimand + suffix, "; ".join(biases)
    if aggregate.name in design.searched:
        number, place = design.searched[aggregate.name]
        search = design.searches[number]
        share = search.shares[place]
        name = {"minimum": "smallest value", "maximum": "largest value"}.get(
            aggregate.function, "median" if share == Fraction(1, 2) else f"quantile {float(share):g}"
        )
        text = f"{name} of {search.scaled.clamped(describe(aggregate.arguments[0]))}"
        return text + suffix, "; ".join(filter(None, ("values outside the range count as its nearest end", clipped)))
    units = "people" if design.has_persons else "rows"
    many = "commonest public value" if aggregate.function == "mode" else f"{aggregate.many} commonest public values"
    return f"{many} of {describe(aggregate.arguments[0])}, by the number of {units}{suffix}", clipped


def kind_of_aggregate(design: Design, aggregate: Aggregate) -> Kind | None:
    """Return the kind of an aggregate's values; None for a list."""
    statistic = design.statistics.get(aggregate.name)
    if statistic is not None:
        return Kind.INTEGER if getattr(statistic, "is_integer", False) else statistic.kind
    if aggregate.name in design.searched:
        scaled = design.searches[design.searched[aggregate.name][0]].scaled
        return Kind.INTEGER if scaled.is_exact and scaled.grid.exponent == 0 else Kind.REAL
    if aggregate.function == "mode":
        return kind_of(aggregate.arguments[0], design.query.relation.columns)
    return None


class _Presentation:
    """Turns one answer into a table."""

    def __init__(self, answer: Answer, released: Answered, confidence: Fraction, *, together: bool) -> None:
        self.answer, self.released, self.confidence = answer, released, confidence
        self.design, self.query = answer.design, answer.query
        self.groups: Sequence[Group] = released.groups if released.groups is not None else self.design.groups or ()
        self.is_simultaneous = together or is_selected(answer)
        self.kinds = {a.name: kind_of_aggregate(self.design, a) for a in self.query.aggregates}
        self._cache: dict[tuple[str, float], Enclosed] = {}
        self._together: dict[tuple[int, float], list[Enclosed]] = {}

    def result(self) -> QueryResult:
        """Return the table."""
        outputs = list(self.query.outputs)
        table = [self._output(expression) for _, expression in outputs]
        order = self._chosen({name: part.shown for (name, _), part in zip(outputs, table, strict=True)})
        columns = tuple(self._column(name, expression) for name, expression in outputs)
        rows, low, high, raw = (
            ColumnRows([part[which] for part in table], len(self.groups)).taken(order) for which in range(4)
        )
        return QueryResult(
            columns,
            rows,
            low,
            high,
            self.confidence,
            self.is_simultaneous,
            self.answer.loss(1),
            str(self.answer.distance),
            self._notes(),
            raw=raw,
        )

    def _output(self, expression: Expression) -> Enclosed:
        """Return values and ends of an output in every group."""
        if isinstance(expression, IntervalEnd):
            inner = self._output(expression.value)
            ends = inner.high if expression.is_upper else inner.low
            return Enclosed(ends, None, None, ends)
        used, value_of = self._used(expression), evaluator(expression, self._columns)
        if not used:
            values = self._of_key(expression)
            if values is None:
                values = [value_of(row) for row in self._keys]
            return Enclosed(values, None, None, values)
        failure = self._failure(used)
        parts = {name: self._enclosed(name, failure) for name in used}
        if isinstance(expression, Name):
            return self._alone(expression.name, parts[expression.name])
        shown, raws, lows, highs = [], [], [], []
        cells = {name: part.listed() for name, part in parts.items()}
        for place, keys in enumerate(self._keys):
            here = {name: tuple(part[place] for part in each) for name, each in cells.items()}
            numbers = {name: one[0] for name, one in here.items()}
            drawn = {name: one[3] for name, one in here.items()}
            shown.append(value_of({**keys, **numbers}))
            raws.append(shown[-1] if drawn == numbers else value_of({**keys, **drawn}))
            least, most = self._ends(expression, keys, here)
            lows.append(least)
            highs.append(most)
        return Enclosed(shown, lows, highs, raws)

    def _of_key(self, expression: Expression) -> NDArray[Any] | list[Cell] | None:
        """Return the values of a key as it is, in every group."""
        for place, key in enumerate(self.query.keys):
            if expression == Name(key.name):
                if isinstance(self.groups, ColumnRows):
                    column = self.groups.columns[place]
                    return self.groups.listed(place) if column is None else column
                return [group[place] for group in self.groups]
        return None

    def _ends(
        self, expression: Expression, keys: Mapping[str, Value], parts: Mapping[str, tuple[Any, ...]]
    ) -> tuple[End, End]:
        ranges, known = {}, dict(keys)
        for name, (shown, low, high, _) in parts.items():
            if low is None:
                known[name] = shown
            else:
                ranges[name] = Range(low, high)
        if self._kind(expression) in (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP):
            return days_enclosed(expression, known, ranges)
        found = enclose(expression, known, ranges)
        if isinstance(found, Range):
            return found.low, found.high
        if isinstance(found, frozenset):
            truths = sorted(truth for truth in found if truth is not None)
            return (truths[0], truths[-1]) if truths else (None, None)
        return None, None

    def _chosen(self, shown: Mapping[str, Values]) -> list[int] | None:
        """Return which groups are shown, and in which order, by the noisy values alone; None for all as they are."""
        query = self.query
        if query.having is None and query.limit is None and not any(names_in(by) for by, _ in query.order):
            return None
        places = list(range(len(self.groups)))
        named, kinds = self._named(shown), self._all_columns
        columns = _Lists(named, len(self.groups))

        def values_of(expression: Expression) -> Sequence[Any]:
            if isinstance(expression, Name):
                return columns[expression.name]
            value_of, used = evaluator(expression, kinds), sorted(names_in(expression))
            return [
                value_of(dict(zip(used, row, strict=True)))
                for row in zip(*(columns[name] for name in used), strict=True)
            ]

        if query.having is not None and names_in(query.having):
            met = values_of(query.having)
            places = [place for place in places if met[place] is True]
        elif query.having is not None and evaluator(query.having, kinds)({}) is not True:
            places = []
        for expression, is_descending in reversed(query.order):
            numbers = named[expression.name] if isinstance(expression, Name) else None
            if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "if" and not np.ma.isMaskedArray(numbers):
                # Equal numbers stay as they are. The complement of an integer falls as it rises, and has no overflow.
                falling = ~numbers if numbers.dtype.kind == "i" else -numbers
                keys_of = (falling if is_descending else numbers)[places]
                places = np.asarray(places)[np.argsort(keys_of, kind="stable")].tolist()
            elif names_in(expression):
                keys = list(map(sort_key, values_of(expression)))
                places.sort(key=keys.__getitem__, reverse=is_descending)
        return places if query.limit is None else places[: query.limit]

    def _named(self, shown: Mapping[str, Values]) -> dict[str, Values]:
        """Return the columns that a condition or an order may name; what was measured goes before an output."""
        failure = 0.5  # any: only the values are read
        keys = {key.name: self._of_key(Name(key.name)) for key in self.query.keys}
        return {**shown, **keys, **{name: self._enclosed(name, failure).shown for name in self.kinds}}

    def _enclosed(self, name: str, failure: float) -> Enclosed:
        """Return values and ends of an aggregate, each of whose parts may fail with that probability."""
        if (name, failure) not in self._cache:
            # Bounds near the largest float may overflow to an infinite interval, which is true if of little use.
            with np.errstate(all="ignore"):
                self._cache[name, failure] = self._computed(name, failure)
        return self._cache[name, failure]

    def _computed(self, name: str, failure: float) -> Enclosed:
        design = self.design
        if not self.groups:
            return Enclosed([], [], [], [])
        if name in design.statistics:
            statistic = design.statistics[name]
            numbers = design.numbers[name]
            noisy = [self.released.numbers[number].values for number in numbers]
            reaches = [design.parts[number].drawn().reach(failure) for number in numbers]
            box = [
                _around(design.measured[number], values, reach)
                for number, values, reach in zip(numbers, noisy, reaches, strict=True)
            ]
            shown = statistic.values([values for values, _, _ in box])
            ends = statistic.enclosed([low for _, low, _ in box], [high for _, _, high in box])
            return _listed(shown, *ends, statistic.values(noisy))
        if name in design.searched:
            return self._found(design.searched[name], failure)
        for pick, winners in zip(design.picks, self.released.choices, strict=True):
            if pick.aggregate.name == name:
                chosen = [tuple(pick.candidates[index] for index in row) for row in winners.values.tolist()]
                is_list = pick.aggregate.function == "top"
                values = [row if is_list else row[0] for row in chosen]
                return Enclosed(values, None, None, values)
        return Enclosed(None, None, None, None)

    def _alone(self, name: str, boxed: Enclosed) -> Enclosed:
        """Return an aggregate that is shown by itself, with the interval of the sum of noises behind it, if it has one.

        That sum has most of the failure probability, and a box the rest: the true value lies in both.
        """
        statistic = self.design.statistics.get(name)
        if statistic is None or self.is_simultaneous or not self.groups:
            return boxed
        numbers, allowed = self.design.numbers[name], float(1 - self.confidence)
        with np.errstate(all="ignore"):
            ends = sharp(
                statistic,
                [self.released.numbers[number].values for number in numbers],
                [self.design.parts[number].drawn() for number in numbers],
                (1 - _OF_BOX) * allowed,
            )
        if ends is None:
            return boxed
        wide = self._enclosed(name, _OF_BOX * allowed / len(numbers))
        low, high = np.fmax(ends[0], np.asarray(wide.low)), np.fmin(ends[1], np.asarray(wide.high))
        return _listed(np.asarray(boxed.shown), low, high, np.asarray(boxed.raw))

    def _found(self, searched: tuple[int, int], failure: float) -> Enclosed:
        """Return the values and ends of a quantile; quantiles of one search are found together."""
        number, place = searched
        if (number, failure) not in self._together:
            levels = [level.values for level in self.released.levels[number]]
            part: Any = self.design.levels[number]
            found = self.design.searches[number].read(part, len(self.groups), levels, failure)
            self._together[number, failure] = [_listed(*part, part[0]) for part in found]
        return self._together[number, failure][place]

    def _used(self, expression: Expression) -> list[str]:
        names = names_in(expression)
        return [aggregate.name for aggregate in self.query.aggregates if aggregate.name in names]

    def _failure(self, used: Sequence[str]) -> float:
        """Return the failure probability of each measured part."""
        allowed = 1 - self.confidence
        if self.is_simultaneous:
            parts = len(self.design.measured) + sum(len(search.aggregates) for search in self.design.searches)
            return float(allowed / max(1, parts * len(self.groups)))
        measured: set[Any] = set()
        for name in used:
            statistic = self.design.statistics.get(name)
            measured |= {name} if statistic is None else set(self.design.numbers[name])
        return float(allowed / max(1, len(measured)))

    @property
    def _keys(self) -> list[dict[str, Value]]:
        names = [key.name for key in self.query.keys]
        return [dict(zip(names, group, strict=True)) for group in self.groups]

    @cached_property
    def _columns(self) -> dict[str, Kind]:
        kinds = dict(zip((key.name for key in self.query.keys), self.design.key_kinds, strict=True))
        return {**kinds, **{name: kind for name, kind in self.kinds.items() if kind is not None}}

    @property
    def _all_columns(self) -> dict[str, Kind]:
        shown = {}
        for name, expression in self.query.outputs:
            kind = self._kind(expression)
            if kind is not None:
                shown[name] = kind
        return {**shown, **self._columns}

    def _kind(self, expression: Expression) -> Kind | None:
        is_list = isinstance(expression, Name) and expression.name in self.kinds and self.kinds[expression.name] is None
        return None if is_list else kind_of(expression, self._columns)

    def _column(self, name: str, expression: Expression) -> ResultColumn:
        kind, used = self._kind(expression), self._used(expression)
        texts = [estimand_of(self.design, aggregate) for aggregate in self.query.aggregates if aggregate.name in used]
        if isinstance(expression, IntervalEnd):
            side = "upper" if expression.is_upper else "lower"
            ends = f"the {side} end of the interval of {describe(expression.value)}"
            return ResultColumn(name, _LIST if kind is None else kind.value, False, ends, "")
        if isinstance(expression, Name | Cast):
            estimand = texts[0][0] if texts else ""
        else:
            parts = "; ".join(f"{used_name} is the {text}" for used_name, (text, _) in zip(used, texts, strict=True))
            estimand = f"{describe(expression)}, where {parts}" if used else ""
        bias = "; ".join(dict.fromkeys(part for _, text in texts if text for part in text.split("; ")))
        heads = [limited(self.design, one).head for one in self.query.aggregates if one.name in used]
        head = "; ".join(dict.fromkeys(filter(None, heads)))
        return ResultColumn(name, _LIST if kind is None else kind.value, not used, estimand, bias, head)

    def _notes(self) -> tuple[str, ...]:
        if self.design.discovery is None:
            outside = outside_groups(self.query)
            return () if outside is None else (outside,)
        units = "people" if self.design.has_persons else "rows"
        threshold = self.design.discovery.threshold
        return (f"only groups whose noisy number of {units} reached {threshold} are shown",)


def _aggregates_of(answer: Answer, names: set[str]) -> set[str]:
    """Return the names of aggregates, and of outputs computed from them."""
    made = {name for name, expression in answer.query.outputs if names_in(expression) & names}
    return names | made


def _around(part: Measured, values: NDArray[Any], reach: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return a measured number in every group, as shown, and its ends, cut at 0 if all contributions have one sign."""
    # A reach beyond every integer that is released would not fit beside them.
    around: Any = int(reach) if reach <= LARGEST_SUM else float(reach)
    least, most = 0 if part.least >= 0 else -math.inf, 0 if part.most <= 0 else math.inf
    if part.values is not None:
        most = len(part.values)
    return believable(values, values - around, values + around, least, most)


def _listed(shown: NDArray[Any], low: NDArray[Any], high: NDArray[Any], raw: NDArray[Any]) -> Enclosed:
    """Return values and ends; an end that rounding moved beyond the value is set to it."""
    return Enclosed(shown, np.fmin(low, shown), np.fmax(high, shown), raw)


def _list_of(part: NDArray[Any] | list[Any]) -> list[Any]:
    return part if isinstance(part, list) else part.tolist()


class _Lists(dict[str, list[Any]]):
    """Columns as lists, each made when it is asked for."""

    def __init__(self, columns: Mapping[str, Values], length: int) -> None:
        super().__init__()
        self._columns, self._length = columns, length

    def __missing__(self, name: str) -> list[Any]:
        column = self._columns[name]
        self[name] = [None] * self._length if column is None else _list_of(column)
        return self[name]
