"""The meaning of every expression, in plain Python: the slow and obvious twin of each engine's SQL.

``evaluate`` computes an expression over one row with exactly the declared meanings of ``expressions``. It never raises
because of what a cell holds. It is the truth that engines are compared with, and it also computes what is shown of
released rows (outputs, HAVING, ORDER BY), which is post-processing.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np

from dither.data.calendar import add_days, add_months, add_seconds, microseconds, truncate_date, truncate_time
from dither.data.expressions import (
    LARGEST_INTEGER,
    Call,
    Case,
    Cast,
    Expression,
    Grid,
    Kind,
    Literal,
    Name,
    OneOf,
    kind_of,
)
from dither.data.expressions import Value as Value
from dither.data.patterns import matches
from dither.data.portable_reals import PORTABLE
from dither.data.texts import concatenated, last, part_of, replaced
from dither.errors import InvalidParameter

_INTEGER: Final = re.compile(r" *([+-]?[0-9]+)(?:\.0+)? *")
_REAL: Final = re.compile(r" *[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *")
_MOMENT: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2}):([0-9]{2}))?", re.ASCII)
_LONGEST_NUMBER: Final = 4000  # Python refuses to read more digits than this by default; no double needs them
_TRUE, _FALSE = frozenset(("true", "t", "1")), frozenset(("false", "f", "0"))
#: The type whose values are of a kind as they are; a timestamp may have a zone.
_OWN_TYPES: Final[Mapping[Kind, Any]] = {
    Kind.BOOLEAN: bool,
    Kind.INTEGER: int,
    Kind.REAL: float,
    Kind.TEXT: str,
    Kind.DATE: datetime.date,
    Kind.TIMESTAMP: None,
}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def evaluate(expression: Expression, row: Mapping[str, Value], columns: Mapping[str, Kind] | None = None) -> Value:
    """Return the value of an expression over one row.

    Args:
        expression: the expression to compute; its kinds must fit, see ``kind_of``.
        row: the values of the columns, each NULL or of its kind (see ``cell``).
        columns: the kinds of the columns. They matter where integers and reals are mixed and some are NULL; by default
            each is what the row's own value is.

    >>> evaluate(Call("divide", (Name("cost"), Literal(0, Kind.INTEGER))), {"cost": 12.5}) is None
    True

    """
    return evaluator(expression, _kinds_of_row(row) if columns is None else columns)(row)


def evaluator(expression: Expression, columns: Mapping[str, Kind]) -> Callable[[Mapping[str, Value]], Value]:
    """Return ``evaluate`` of one expression as a function of the row; work that is the same for all rows is done once.

    Args:
        expression: the expression to compute.
        columns: the kinds of the columns.

    >>> doubled = evaluator(Call("add", (Name("age"), Name("age"))), {"age": Kind.INTEGER})
    >>> doubled({"age": 4}), doubled({"age": None})
    (8, None)

    """
    if isinstance(expression, Name):
        return _column(expression.name)
    if isinstance(expression, Literal):
        constant = _constant(expression)
        return lambda row: constant
    if isinstance(expression, Case):
        return _case(expression, columns)
    below = [evaluator(child, columns) for child in expression.children()]
    if isinstance(expression, Call):
        return _call(expression, below, columns)
    (given,) = below
    if isinstance(expression, Cast):
        kind = expression.kind
        return lambda row: None if (value := given(row)) is None else cast(value, kind)
    if isinstance(expression, OneOf):
        options = [_constant(option) for option in expression.options if option.value is not None]
        return lambda row: None if (value := given(row)) is None else _is_one_of(value, options)
    if isinstance(expression, Grid):
        grid = expression
        return lambda row: None if (value := given(row)) is None else _on_grid(grid, float(value))  # type: ignore[arg-type]
    raise InvalidParameter("expression", type(expression).__name__, "a node of the closed tree")


def _column(name: str) -> Callable[[Mapping[str, Value]], Value]:
    def value_of(row: Mapping[str, Value]) -> Value:
        if name not in row:
            raise InvalidParameter("column", name, f"one of {', '.join(sorted(row)) or 'none'}")
        return row[name]

    return value_of


def _constant(literal: Literal) -> Value:
    is_whole_real = literal.kind is Kind.REAL and literal.value is not None
    return float(literal.value) if is_whole_real else literal.value  # type: ignore[arg-type]


def _case(case: Case, columns: Mapping[str, Kind]) -> Callable[[Mapping[str, Value]], Value]:
    branches = [tuple(evaluator(part, columns) for part in branch) for branch in case.branches]
    otherwise, adapt = evaluator(case.otherwise, columns), _to_kind(case, columns)

    def value_of(row: Mapping[str, Value]) -> Value:
        for condition, result in branches:
            if condition(row) is True:
                return adapt(result(row))
        return adapt(otherwise(row))

    return value_of


def _call(
    call: Call, arguments: Sequence[Callable[[Mapping[str, Value]], Value]], columns: Mapping[str, Kind]
) -> Callable[[Mapping[str, Value]], Value]:
    if call.function in _ANY_NULLS:
        of_any, adapt = _ANY_NULLS[call.function], _to_kind(call, columns)
        return lambda row: adapt(of_any([argument(row) for argument in arguments]))
    function = _FUNCTIONS[call.function]

    def value_of(row: Mapping[str, Value]) -> Value:
        values = [argument(row) for argument in arguments]
        return None if None in values else _checked(function(*_alike(values)))

    return value_of


def cast(value: Value, kind: Kind) -> Value:
    """Return the value as another kind, NULL where it cannot be: see ``Cast``.

    >>> cast(" -12.0 ", Kind.INTEGER), cast("12.5", Kind.INTEGER), cast(-0.5, Kind.INTEGER)
    (-12, None, -1)
    """
    if isinstance(value, str) and kind is not Kind.TEXT:
        return _read(value, kind)
    if isinstance(value, bool):
        return value if kind is Kind.BOOLEAN else int(value) if kind is Kind.INTEGER else None
    if isinstance(value, int) and kind is Kind.TEXT:
        return str(value)
    if isinstance(value, int | float) and kind.is_number:
        return _checked(math.floor(value) if kind is Kind.INTEGER and math.isfinite(value) else float(value))
    if isinstance(value, datetime.datetime):
        return value if kind is Kind.TIMESTAMP else value.date() if kind is Kind.DATE else None
    if isinstance(value, datetime.date):
        midnight = datetime.datetime(value.year, value.month, value.day)
        return value if kind is Kind.DATE else midnight if kind is Kind.TIMESTAMP else None
    return value if isinstance(value, str) else None


def cell(value: Any, kind: Kind) -> Value:
    """Return the value of a source's cell in a column of that kind: see ``relations.Scan``. Never raises.

    >>> [cell(value, Kind.REAL) for value in (1, "1e3", float("nan"), float("inf"), "n/a", object())]
    [1.0, 1000.0, None, None, None, None]
    >>> cell("T", Kind.BOOLEAN), cell(True, Kind.INTEGER), cell(2**63, Kind.INTEGER)
    (True, 1, None)
    """
    if value is None:
        return None
    if type(value) is _OWN_TYPES[kind]:  # nearly all cells: nothing is converted
        return None if isinstance(value, str) and _SURROGATE.search(value) else _checked(value)
    try:
        return _odd_cell(value, kind)
    except Exception:  # a foreign class may do anything when it is called
        return None


def _odd_cell(value: Any, kind: Kind) -> Value:
    """Return a cell of another type, or of a derived class; may raise anything that the class raises."""
    value = _plain(value)
    if isinstance(value, Decimal):
        # An integer is taken as it is: two long numbers may be one double.
        exact = kind is Kind.INTEGER and abs(value) < 2**64 if value.is_finite() else None
        value = None if exact is None else math.floor(value) if exact else float(value)
    if isinstance(value, str) and _SURROGATE.search(value):
        return None
    if isinstance(value, str) and kind is Kind.BOOLEAN:
        word = value.lower() if value.isascii() else ""
        return True if word in _TRUE else False if word in _FALSE else None
    if value is None or _checked(value) is None:  # no value of ours, beyond 64 bits, or no finite real
        return None
    return cast(value, kind)


def _plain(value: Any) -> Any:
    """Return a value of a plain type, NULL for any other type.

    What a class derives from is asked of its type, and converted as that base class does it: its own methods, and what
    it says of its class, may raise or lie.
    """
    if issubclass(type(value), np.datetime64):
        # Years are the coarsest unit, so that nothing can overflow; NaT is far outside.
        year = int(value.astype("datetime64[Y]").astype(np.int64)) + 1970
        return value.astype("datetime64[us]").item() if 1 <= year <= 9999 else None
    if issubclass(type(value), np.generic):
        value = value.item()
    kind = type(value)
    if kind is bool:
        return value
    if issubclass(kind, int):
        return int.__int__(value)
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, Decimal):
        return Decimal(value)
    if issubclass(kind, datetime.datetime):
        # pandas has its own kind, finer and with a NULL that equals nothing, itself included.
        if value != value:
            return None
        time = (value.hour, value.minute, value.second, value.microsecond)
        moment = datetime.datetime(value.year, value.month, value.day, *time, fold=0)
        # A moment with a zone is one in UTC, as it is in a column of nothing else; without an offset it is none.
        return moment if value.tzinfo is None else moment - value.utcoffset()
    return datetime.date(value.year, value.month, value.day) if issubclass(kind, datetime.date) else None


def sort_key(value: Value) -> tuple[bool, Any]:
    """Return the key by which values are sorted: NULL before every value, texts by code points."""
    return value is not None, 0 if value is None else value


def _kinds_of_row(row: Mapping[str, Value]) -> dict[str, Kind]:
    kinds: dict[type, Kind] = {
        bool: Kind.BOOLEAN,
        int: Kind.INTEGER,
        float: Kind.REAL,
        str: Kind.TEXT,
        datetime.date: Kind.DATE,
        datetime.datetime: Kind.TIMESTAMP,
    }
    return {name: kinds[type(value)] for name, value in row.items() if type(value) in kinds}


def _to_kind(expression: Expression, columns: Mapping[str, Kind]) -> Callable[[Value], Value]:
    """Return a function that makes integers reals where the expression as a whole is a real."""
    try:
        is_real = kind_of(expression, columns) is Kind.REAL
    except InvalidParameter:  # a column is NULL in this row and its kind is not known
        is_real = False
    return _as_real if is_real else _as_it_is


def _as_it_is(value: Value) -> Value:
    return value


def _as_real(value: Value) -> Value:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _is_one_of(value: Value, options: Iterable[Value]) -> bool:
    pairs = (_alike([value, option]) for option in options)
    return any(first == second for first, second in pairs)


def _checked(value: Value) -> Value:
    """Return NULL for a value that no cell can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
        return None
    return value


def _alike(values: Sequence[Any]) -> Sequence[Any]:
    """Return integers as doubles if any of the values is a double."""
    for value in values:
        if isinstance(value, float):
            return [_as_real(each) for each in values]
    return values


def _read(text: str, kind: Kind) -> Value:
    if kind is Kind.INTEGER:
        found = _INTEGER.fullmatch(text)
        return _checked(_whole(found[1])) if found else None
    if kind is Kind.REAL:
        return _checked(float(text.strip(" "))) if _REAL.fullmatch(text) else None
    found = _MOMENT.fullmatch(text)
    if found is None or kind not in (Kind.DATE, Kind.TIMESTAMP) or (kind is Kind.DATE and found[4] is not None):
        return None
    try:
        moment = datetime.datetime(*(int(part or 0) for part in found.groups()))  # type: ignore[arg-type]
    except ValueError:
        return None
    return moment.date() if kind is Kind.DATE else moment


def _whole(text: str) -> int:
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-").lstrip("0")
    return sign * int(digits or "0") if len(digits) <= _LONGEST_NUMBER else 2**64


def _on_grid(grid: Grid, value: float) -> int:
    clamped = min(max(value, grid.lower), grid.upper)
    steps = math.floor((clamped - grid.origin) * 2.0**grid.exponent)
    return min(max(steps, grid.least), grid.most)


def _quotient(first: int, second: int) -> int | None:
    if second == 0:
        return None
    size = abs(first) // abs(second)
    return size if (first < 0) == (second < 0) else -size


def _remainder(first: int, second: int) -> int | None:
    size = _quotient(first, second)
    return None if size is None else first - second * size


def _divide(first: float, second: float) -> float | None:
    return None if second == 0 else float(first) / float(second)


def _of_reals(function: Callable[..., float | None]) -> Callable[..., float | None]:
    return lambda *values: function(*(float(value) for value in values))


def _letters(first: str, second: str) -> Callable[[str], str]:
    table = str.maketrans(first, second)
    return lambda text: text.translate(table)


def _known(values: Iterable[Value]) -> list[Any]:
    return [value for value in values if value is not None]


def _all_true(values: Sequence[Value]) -> Value:
    return False if False in values else None if None in values else True


def _any_true(values: Sequence[Value]) -> Value:
    return True if True in values else None if None in values else False


def _null_if(values: Sequence[Value]) -> Value:
    first, second = _alike(values)
    return None if first == second and first is not None else values[0]


_SMALL, _CAPITAL = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: Functions that have a meaning for NULL.
_ANY_NULLS: Final[Mapping[str, Callable[[Sequence[Value]], Value]]] = {
    "least": lambda values: min(_alike(_known(values)), default=None),
    "greatest": lambda values: max(_alike(_known(values)), default=None),
    "is_null": lambda values: values[0] is None,
    "and": _all_true,
    "or": _any_true,
    "coalesce": lambda values: next(iter(_known(values)), None),
    "null_if": _null_if,
}

#: All others: no argument is NULL, and integers are doubles where any argument is one.
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divide,
    "quotient": _quotient,
    "remainder": _remainder,
    "negate": lambda a: -a,
    "absolute": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "floor": math.floor,
    "ceiling": math.ceil,
    "shift_right": lambda a, b: a >> b if 0 <= b <= 62 else None,
    "bit_and": lambda a, b: a & b,
    "bit_or": lambda a, b: a | b,
    "bit_xor": lambda a, b: a ^ b,
    "square_root": lambda a: math.sqrt(a) if a >= 0 else None,
    # To the last bit what engines compute in portable mode; otherwise they are a few units in the last place off.
    **{name: _of_reals(function) for name, function in PORTABLE.items()},
    "equal": lambda a, b: a == b,
    "unequal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "at_most": lambda a, b: a <= b,
    "more": lambda a, b: a > b,
    "at_least": lambda a, b: a >= b,
    "not": lambda a: not a,
    "lower": _letters(_CAPITAL, _SMALL),
    "upper": _letters(_SMALL, _CAPITAL),
    "trim": lambda a: a.strip(" "),
    "trim_left": lambda a: a.lstrip(" "),
    "trim_right": lambda a: a.rstrip(" "),
    "length": len,
    "concatenate": concatenated,
    "substring": lambda a, b, c: a[b - 1 : b - 1 + c],
    "right": last,
    "position": lambda a, b: a.find(b) + 1,
    "split_part": part_of,
    "replace": replaced,
    "starts_with": lambda a, b: a.startswith(b),
    "ends_with": lambda a, b: a.endswith(b),
    "contains": lambda a, b: b in a,
    "like": matches,
    "year": lambda a: a.year,
    "quarter": lambda a: (a.month + 2) // 3,
    "month": lambda a: a.month,
    "day": lambda a: a.day,
    "weekday": lambda a: a.isoweekday(),
    "week": lambda a: a.isocalendar().week,
    "day_of_year": lambda a: a.timetuple().tm_yday,
    "hour": lambda a: a.hour,
    "minute": lambda a: a.minute,
    "second": lambda a: a.second,
    "microseconds": microseconds,
    "truncate_time": truncate_time,
    "truncate_date": truncate_date,
    "days_between": lambda a, b: b.toordinal() - a.toordinal(),
    "add_days": add_days,
    "add_months": add_months,
    "add_seconds": add_seconds,
}
