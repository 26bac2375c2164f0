"""What every expression means, in plain Python: the slow and obvious twin of each engine's SQL.

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
from dither.data.portable_reals import PORTABLE
from dither.errors import InvalidParameter

_INTEGER: Final = re.compile(r" *([+-]?[0-9]+)(?:\.0+)? *")
_REAL: Final = re.compile(r" *[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *")
_MOMENT: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2}):([0-9]{2}))?", re.ASCII)
_LONGEST_NUMBER: Final = 4000  # Python refuses to read more digits than this by default; no double needs them
_TRUE, _FALSE = frozenset(("true", "t", "1")), frozenset(("false", "f", "0"))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def evaluate(expression: Expression, row: Mapping[str, Value], columns: Mapping[str, Kind] | None = None) -> Value:
    """Return the value of an expression over one row.

    Args:
        expression: what to compute; its kinds must fit, see ``kind_of``.
        row: the values of the columns, each NULL or of its kind (see ``cell``).
        columns: the kinds of the columns. They matter where integers and reals are mixed and some are NULL; by default
            each is what the row's own value is.

    >>> evaluate(Call("divide", (Name("cost"), Literal(0, Kind.INTEGER))), {"cost": 12.5}) is None
    True

    """
    kinds = _kinds_of_row(row) if columns is None else columns
    if isinstance(expression, Name):
        if expression.name not in row:
            raise InvalidParameter("column", expression.name, f"one of {', '.join(sorted(row)) or 'none'}")
        return row[expression.name]
    if isinstance(expression, Literal):
        is_whole_real = expression.kind is Kind.REAL and expression.value is not None
        return float(expression.value) if is_whole_real else expression.value  # type: ignore[arg-type]
    if isinstance(expression, Case):
        for condition, result in expression.branches:
            if evaluate(condition, row, kinds) is True:
                return _of_kind(evaluate(result, row, kinds), expression, kinds)
        return _of_kind(evaluate(expression.otherwise, row, kinds), expression, kinds)
    values = [evaluate(child, row, kinds) for child in expression.children()]
    if isinstance(expression, Call):
        function = _ANY_NULLS.get(expression.function)
        if function is not None:
            return _of_kind(function(values), expression, kinds)
        if any(value is None for value in values):
            return None
        return _checked(_FUNCTIONS[expression.function](*_alike(values)))
    value = values[0]
    if value is None:
        return None
    if isinstance(expression, Cast):
        return cast(value, expression.kind)
    if isinstance(expression, OneOf):
        pairs = (_alike([value, evaluate(option, {}, {})]) for option in expression.options if option.value is not None)
        return any(first == second for first, second in pairs)
    if isinstance(expression, Grid):
        return _on_grid(expression, float(value))  # type: ignore[arg-type]
    raise InvalidParameter("expression", type(expression).__name__, "a node of the closed tree")


def cast(value: Value, kind: Kind) -> Value:
    """Return the value as another kind, NULL where it is none: see ``Cast``.

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
    """Return what a cell of a source counts as in a column of that kind: see ``relations.Scan``. Never raises.

    >>> [cell(value, Kind.REAL) for value in (1, "1e3", float("nan"), float("inf"), "n/a", object())]
    [1.0, 1000.0, None, None, None, None]
    >>> cell("T", Kind.BOOLEAN), cell(True, Kind.INTEGER), cell(2**63, Kind.INTEGER)
    (True, 1, None)
    """
    if isinstance(value, np.generic):
        value = (value.astype("datetime64[us]") if isinstance(value, np.datetime64) else value).item()
    if isinstance(value, Decimal):
        value = float(value) if value.is_finite() else None
    if isinstance(value, str) and _SURROGATE.search(value):
        return None
    if isinstance(value, datetime.datetime):
        # pandas has a kind of its own, finer and with a NULL that equals nothing, itself included.
        if value.tzinfo is not None or value != value:
            return None
        value = datetime.datetime.combine(datetime.date(value.year, value.month, value.day), value.time())
    if isinstance(value, str) and kind is Kind.BOOLEAN:
        word = value.lower() if value.isascii() else ""
        return True if word in _TRUE else False if word in _FALSE else None
    if value is None or not isinstance(value, bool | int | float | str | datetime.date):
        return None
    if _checked(value) is None:  # beyond 64 bits, or no finite real
        return None
    return cast(value, kind)


def sort_key(value: Value) -> tuple[bool, Any]:
    """Return what values are sorted by: NULL before every value, texts by code points."""
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


def _of_kind(value: Value, expression: Expression, kinds: Mapping[str, Kind]) -> Value:
    """Return an integer as a real where the expression as a whole is a real."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    try:
        return float(value) if kind_of(expression, kinds) is Kind.REAL else value
    except InvalidParameter:  # a column is NULL in this row and nobody said what kind it is
        return value


def _checked(value: Value) -> Value:
    """Return NULL for what no cell can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
        return None
    return value


def _alike(values: Sequence[Any]) -> Sequence[Any]:
    """Return integers as doubles if any of the values is one."""
    if not any(isinstance(value, float) for value in values):
        return values
    return [float(value) if isinstance(value, int) and not isinstance(value, bool) else value for value in values]


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


def _like(text: str, pattern: str) -> bool:
    parts, place = [], 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\":
            place += 1
            parts.append(re.escape(pattern[place]))
        else:
            parts.append({"%": ".*", "_": "."}.get(sign) or re.escape(sign))
        place += 1
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _letters(first: str, second: str) -> Callable[[str], str]:
    table = str.maketrans(first, second)
    return lambda text: text.translate(table)


def _truncate(moment: datetime.date, unit: str) -> datetime.date:
    day = datetime.date(moment.year, moment.month, moment.day)
    if unit == "week":
        return day - datetime.timedelta(days=day.weekday())
    if unit == "day":
        return day
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1, "month": day.month}[unit]
    return datetime.date(day.year, month, 1)


def _add_days(day: datetime.date, days: int) -> datetime.date | None:
    ordinal = day.toordinal() + days
    return datetime.date.fromordinal(ordinal) if 1 <= ordinal <= datetime.date.max.toordinal() else None


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
    "length": len,
    "concatenate": lambda *texts: "".join(texts),
    "substring": lambda a, b, c: a[b - 1 : b - 1 + c],
    "replace": lambda a, b, c: a.replace(b, c),
    "starts_with": lambda a, b: a.startswith(b),
    "ends_with": lambda a, b: a.endswith(b),
    "contains": lambda a, b: b in a,
    "like": _like,
    "year": lambda a: a.year,
    "quarter": lambda a: (a.month + 2) // 3,
    "month": lambda a: a.month,
    "day": lambda a: a.day,
    "weekday": lambda a: a.isoweekday(),
    "hour": lambda a: a.hour,
    "minute": lambda a: a.minute,
    "truncate_date": _truncate,
    "days_between": lambda a, b: b.toordinal() - a.toordinal(),
    "add_days": _add_days,
}
