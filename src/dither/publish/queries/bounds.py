"""Public bounds of an expression, from the schema's declarations and the request itself.

``bounds_of`` walks an expression and the relation below it in interval arithmetic: declared bounds of columns, WHERE
conditions, CASE branches and clamps narrow an interval, arithmetic combines them, and every step is rounded outwards,
so that the value which an engine computes in doubles lies inside whenever the cells are as declared. Privacy does not
rest on it (a measure clamps each value again): accuracy does, because a narrow interval is what keeps noise small.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from dither.data import (
    Call,
    Case,
    Cast,
    Column,
    CountOf,
    CountRows,
    Expression,
    Filter,
    Grid,
    JoinPersons,
    JoinPublic,
    Kind,
    Largest,
    Literal,
    Measure,
    Name,
    OneOf,
    PerPerson,
    Persons,
    Project,
    Relation,
    Scan,
    Smallest,
    Sum,
    UnionAll,
    Window,
)
from dither.data.expressions import Value, kind_of
from dither.errors import InvalidParameter
from dither.publish.queries.bounds_of_parts import bounds_of_part
from dither.publish.queries.interval_arithmetic import (
    ALL,
    Interval,
    absolute,
    each,
    exponential,
    floats,
    is_finite,
    join,
    meet,
    outward,
    power,
    product,
    quotient,
    remainder,
    square,
    square_root,
    widened,
)
from dither.publish.queries.person_bounds import (
    is_clamping,
    is_range,
    of_count,
    of_length,
    of_ratio,
    of_sum,
)
from dither.publish.queries.work import once, planning, step

_Known = Mapping[Expression, Interval]

_TRUTH: Interval = (Fraction(0), Fraction(1))
_PARTS = {
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "week": (1, 53),
    "day_of_year": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "sign": (-1, 1),
}


def bounds_of(expression: Expression, relation: Relation) -> tuple[float, float] | None:
    """Return the least and largest value of a number (false and true count as 0 and 1), or None if unknown.

    An expression that is always NULL has no bounds either.
    """
    kind = kind_of(expression, relation.columns)
    if not (kind.is_number or kind is Kind.BOOLEAN):
        return None
    with planning():
        interval = _bounds(expression, relation, {})
    if interval is None or not (is_finite(interval[0]) and is_finite(interval[1])):
        return None
    low, high = float(interval[0]), float(interval[1])
    return low + 0.0, high + 0.0  # never minus zero


def date_bounds_of(expression: Expression, relation: Relation) -> tuple[datetime.date, datetime.date] | None:
    """Return the first and last day of a date, or of a timestamp's dates, or None if unknown."""
    kind = kind_of(expression, relation.columns)
    if kind not in (Kind.DATE, Kind.TIMESTAMP):
        return None
    with planning():
        interval = _bounds(Cast(expression, Kind.DATE), relation, {})
    if interval is None or not (is_finite(interval[0]) and is_finite(interval[1])):
        return None
    first, last = (min(max(int(end), 1), datetime.date.max.toordinal()) for end in interval)
    return datetime.date.fromordinal(first), datetime.date.fromordinal(last)


def interval_of(expression: Expression, relation: Relation) -> Interval | None:
    """Return the interval of the non-NULL values, with infinite ends where nothing is known; None if all are NULL.

    Dates count days, timestamps microseconds; texts have no bounds.
    """
    with planning():
        return _bounds(expression, relation, {})


def intervals_when_true(condition: Expression) -> dict[Expression, Interval]:
    """Return intervals of expressions in the rows that meet a condition, from its comparisons with constants."""
    return _when_true(condition)


def _bounds(expression: Expression, relation: Relation, known: _Known) -> Interval | None:
    """Return the interval of the non-NULL values, None if there are none."""
    step()
    interval = _interval(expression, relation, known)
    if interval is not None and expression in known:
        interval = meet(interval, known[expression])
    return None if interval is None else outward(interval)


def _interval(expression: Expression, relation: Relation, known: _Known) -> Interval | None:
    if isinstance(expression, Literal):
        if expression.value is None:
            return None
        place = _place(expression.value)
        return ALL if place is None else (place, place)
    if isinstance(expression, Name):
        return _of_column(expression.name, relation)
    if isinstance(expression, OneOf):
        return _TRUTH
    if isinstance(expression, Grid):
        return Fraction(expression.least), Fraction(expression.most)
    if isinstance(expression, Cast):
        below = _bounds(expression.value, relation, known)
        return None if below is None else _of_cast(expression, below, kind_of(expression.value, relation.columns))
    if isinstance(expression, Case):
        return _of_case(expression, relation, known)
    if isinstance(expression, Call):
        return _of_call(expression, relation, known)
    return ALL


def _of_cast(expression: Cast, below: Interval, given: Kind) -> Interval:
    day = 86_400_000_000
    if given is expression.kind or given in (Kind.BOOLEAN, Kind.INTEGER) or expression.kind is Kind.TEXT:
        return below if expression.kind is not Kind.TEXT else ALL
    if given is Kind.REAL:
        return each(below, math.floor)
    if given is Kind.DATE:
        return each(below, lambda days: (days - 1) * day)
    if given is Kind.TIMESTAMP:
        return each(below, lambda instant: instant // day + 1)
    return ALL


def _of_case(expression: Case, relation: Relation, known: _Known) -> Interval | None:
    passed = dict(known)
    found: list[Interval | None] = []
    for condition, value in expression.branches:
        here = _when_true(condition)
        if all(_may_hold(part, interval, relation, passed) for part, interval in here.items()):
            found.append(_bounds(value, relation, _both(passed, here)))
        passed = _both(passed, _when_not_true(condition))
    found.append(_bounds(expression.otherwise, relation, passed))
    return join(found)


def _may_hold(expression: Expression, wanted: Interval, relation: Relation, known: _Known) -> bool:
    """Return whether the expression can lie where a condition requires it; unreachable branches do not count."""
    given = _bounds(expression, relation, known)
    return given is not None and given[0] <= wanted[1] and wanted[0] <= given[1]


def _of_call(expression: Call, relation: Relation, known: _Known) -> Interval | None:
    function = expression.function
    if function in _PARTS:
        low, high = _PARTS[function]
        return Fraction(low), Fraction(high)
    below = [_bounds(argument, relation, known) for argument in expression.arguments]
    if function == "coalesce":
        return join(below)
    if function in ("least", "greatest"):
        return _of_extreme(expression, below)
    if function == "is_null":
        return _TRUTH
    if function in ("and", "or", "not") or function in _COMPARISONS or function in _TESTS:
        return _TRUTH
    given = [interval for interval in below if interval is not None]
    if len(given) < len(below):
        return None  # one argument is always NULL, so is the call
    if function in _ARITHMETIC:
        found = _ARITHMETIC[function](*given)
        if function in ("subtract", "days_between") and is_range(expression, relation):
            return max(found[0], Fraction(0)), found[1]
        return found
    return _of_function(expression, given, relation)


_TESTS = frozenset(("starts_with", "ends_with", "contains", "like"))
_COMPARISONS = {
    "equal": "equal",
    "less": "more",
    "at_most": "at_least",
    "more": "less",
    "at_least": "at_most",
    "unequal": "unequal",
}


def _of_function(expression: Call, given: list[Interval], relation: Relation) -> Interval:
    function, first = expression.function, given[0]
    if function == "multiply":
        same = expression.arguments[0] == expression.arguments[1]
        return square(first) if same else product(first, given[1])
    if function == "divide":
        ratio = of_ratio(expression, relation, lambda value, below: _bounds(value, below, {}))
        if ratio is not None:
            return ratio
        return quotient(first, given[1], kind_of(expression.arguments[1], relation.columns) is Kind.INTEGER)
    if function == "quotient":
        return each(quotient(first, given[1], True), math.trunc)
    if function == "remainder":
        return remainder(first, given[1])
    if function == "shift_right":
        bits = given[1]
        if not (bits[0] == bits[1] and 0 <= bits[0] <= 62):
            return ALL
        return each(first, lambda end: math.floor(end / 2 ** int(bits[0])))
    if function == "power":
        return power(first, given[1])
    if function == "length":
        return of_length(expression.arguments[0], relation)
    if function == "year":
        return each(first, lambda end: _year(end, kind_of(expression.arguments[0], relation.columns)))
    if function == "truncate_date":
        return _truncated(expression, first, kind_of(expression.arguments[0], relation.columns))
    if function == "null_if":
        return first
    return bounds_of_part(expression, given, kind_of(expression.arguments[0], relation.columns)) or ALL


# Intervals of columns, through the relations.


def _of_column(name: str, relation: Relation) -> Interval | None:
    what = "clamp" if is_clamping() else "bounds"
    return once(what, name, relation, lambda: _of_new_column(name, relation))


def _of_new_column(name: str, relation: Relation) -> Interval | None:
    step()
    if isinstance(relation, Scan):
        return _of_declared(relation.table.column(name))
    if isinstance(relation, Filter):
        return _bounds(Name(name), relation.relation, _when_true(relation.condition))
    if isinstance(relation, Project):
        return _bounds(dict(relation.outputs)[name], relation.relation, {})
    if isinstance(relation, JoinPublic):
        below = relation.relation.columns
        return (
            _of_column(name, relation.relation)
            if name in below
            else _of_declared(relation.table.column(name.removeprefix(relation.prefix)))
        )
    if isinstance(relation, JoinPersons):
        on_left = name in relation.left.columns
        side = relation.left if on_left else relation.right
        found = _of_column(name if on_left else name.removeprefix(relation.prefix), side)
        if relation.condition is not None and not relation.keep_unmatched and found is not None:
            found = meet(found, _when_true(relation.condition).get(Name(name), ALL))
        return found
    if isinstance(relation, UnionAll):
        other = list(relation.right.columns)[list(relation.left.columns).index(name)]
        return join([_of_column(name, relation.left), _of_column(other, relation.right)])
    if isinstance(relation, PerPerson):
        keys, measures = dict(relation.keys), dict(relation.measures)
        return (
            _bounds(keys[name], relation.relation, {})
            if name in keys
            else _of_measure(measures[name], relation.relation)
        )
    if isinstance(relation, Window) and name == relation.name:
        return _of_window(relation)
    return _of_column(name, getattr(relation, "relation"))  # noqa: B009 - all the others stand over one relation


def _of_measure(measure: Measure, relation: Relation) -> Interval | None:
    if isinstance(measure, CountRows):
        return of_count(1, relation)
    if isinstance(measure, CountOf):
        return of_count(0, relation)
    if isinstance(measure, Persons):
        return Fraction(1), Fraction(1)
    if isinstance(measure, Sum):
        return of_sum(_bounds(measure.value, relation, {}), relation)
    if isinstance(measure, Smallest | Largest):
        return _bounds(measure.value, relation, {})
    return ALL


def _of_window(window: Window) -> Interval | None:
    if window.function in ("row_number", "rank", "dense_rank"):
        return of_count(1, window.relation)
    if window.function == "count":
        return of_count(0, window.relation, window.most_framed)
    value = ALL if window.value is None else _bounds(window.value, window.relation, {})
    return of_sum(value, window.relation, window.most_framed) if window.function == "sum" else value


def _of_declared(column: Column) -> Interval:
    if column.kind is Kind.BOOLEAN:
        return _TRUTH
    if column.kind is Kind.TEXT:
        return ALL
    ends: Iterable[Value] = (column.lower, column.upper)
    if column.lower is None:
        ends = column.categories or ()
    places = [place for place in map(_place, ends) if place is not None]
    return (min(places), max(places)) if places else ALL


# What a condition says about the expressions in it.


def _when_true(condition: Expression) -> dict[Expression, Interval]:
    step()
    if isinstance(condition, OneOf):
        places = [_place(option.value) for option in condition.options]
        known = [place for place in places if place is not None]
        return {condition.value: (min(known), max(known))} if known and len(known) == len(places) else {}
    if not isinstance(condition, Call):
        return {}
    if condition.function == "and":
        found: dict[Expression, Interval] = {}
        for part in condition.arguments:
            found = _both(found, _when_true(part))
        return found
    return _compared(condition.function, condition.arguments)


_NEGATED = {"less": "at_least", "at_most": "more", "more": "at_most", "at_least": "less", "unequal": "equal"}


def _when_not_true(condition: Expression) -> dict[Expression, Interval]:
    """Return intervals where the condition is false or NULL; there, the expression lies in its interval or is NULL."""
    step()
    if not isinstance(condition, Call):
        return {}
    if condition.function == "or":
        found: dict[Expression, Interval] = {}
        for part in condition.arguments:
            found = _both(found, _when_not_true(part))
        return found
    if condition.function == "not":
        return {}
    return _compared(_NEGATED.get(condition.function, ""), condition.arguments)


def _compared(function: str, arguments: tuple[Expression, ...]) -> dict[Expression, Interval]:
    if function not in _COMPARISONS or function == "unequal":
        return {}
    left, right = arguments
    if isinstance(left, Literal):
        left, right, function = right, left, _COMPARISONS[function]
    place = _place(right.value) if isinstance(right, Literal) else None
    if place is None:
        return {}
    low = place if function in ("more", "at_least", "equal") else -math.inf
    high = place if function in ("less", "at_most", "equal") else math.inf
    return {left: (low, high)}


def _both(first: _Known, second: _Known) -> dict[Expression, Interval]:
    step(len(first) + len(second))
    joined = dict(first)
    for expression, interval in second.items():
        joined[expression] = meet(joined[expression], interval) if expression in joined else interval
    return joined


# Arithmetic of intervals.


def _place(value: Value) -> Fraction | None:
    """Return a value's place on the number line, None for texts, truth values and NULL."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return None if value is None or isinstance(value, str) else Fraction(int(value))
    if isinstance(value, datetime.datetime):
        return Fraction((value - datetime.datetime.min) // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return Fraction(value.toordinal())
    return Fraction(value)


def _of_extreme(expression: Call, below: list[Interval | None]) -> Interval | None:
    """NULL arguments are skipped, so only constants are certain to take part."""
    joined = join(below)
    if joined is None:
        return None
    certain = [
        interval[0]
        for argument, interval in zip(expression.arguments, below, strict=True)
        if isinstance(argument, Literal) and interval is not None
    ]
    low, high = joined
    for constant in certain:
        if expression.function == "greatest":
            low = max(low, constant)
        else:
            high = min(high, constant)
    return low, high


def _year(end: Fraction, kind: Kind) -> int:
    return _day(end, kind).year


def _day(end: Fraction, kind: Kind) -> datetime.date:
    ordinal = int(end) if kind is Kind.DATE else int(end // 86_400_000_000) + 1
    return datetime.date.fromordinal(min(max(ordinal, 1), datetime.date.max.toordinal()))


def _truncated(expression: Call, first: Interval, kind: Kind) -> Interval:
    unit = expression.arguments[1]
    part = unit.value if isinstance(unit, Literal) else ""
    return each(first, lambda end: first_day(_day(end, kind), str(part)).toordinal())


def first_day(day: datetime.date, part: str) -> datetime.date:
    """Return the first day of the year, quarter, month or week in which a day lies.

    >>> first_day(datetime.date(2024, 5, 9), "quarter")
    datetime.date(2024, 4, 1)
    """
    if part == "year":
        return day.replace(month=1, day=1)
    if part == "quarter":
        return day.replace(month=day.month - (day.month - 1) % 3, day=1)
    if part == "month":
        return day.replace(day=1)
    if part == "week":
        return datetime.date.fromordinal(max(day.toordinal() - day.weekday(), 1))
    if part == "day":
        return day
    raise InvalidParameter("part", part, "year, quarter, month, week or day")


_ARITHMETIC: Mapping[str, Callable[..., Interval]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "negate": lambda a: (-a[1], -a[0]),
    "absolute": absolute,
    "floor": lambda a: each(a, math.floor),
    "ceiling": lambda a: each(a, math.ceil),
    "square_root": square_root,
    "exponential": exponential,
    "logarithm": lambda a: widened(floats(a, math.log, least=-math.inf)),
    "days_between": lambda a, b: (b[0] - a[1], b[1] - a[0]),
    "add_days": lambda a, b: (a[0] + b[0], a[1] + b[1]),
}
