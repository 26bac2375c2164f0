"""Expressions and constants as people write them in SQL, for messages. Nothing here is ever read again, or run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from dither.data import Call, Case, Cast, Expression, Literal, Name, OneOf
from dither.data.expressions import Value

_LONGEST: Final = 120
#: How tightly a sign holds what stands beside it, and the sign.
_SIGNS: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "or": (1, "OR"),
        "and": (2, "AND"),
        "equal": (4, "="),
        "unequal": (4, "<>"),
        "less": (4, "<"),
        "at_most": (4, "<="),
        "more": (4, ">"),
        "at_least": (4, ">="),
        "like": (4, "LIKE"),
        "add": (5, "+"),
        "subtract": (5, "-"),
        "concatenate": (5, "||"),
        "multiply": (6, "*"),
        "divide": (6, "/"),
        "quotient": (6, "//"),
        "remainder": (6, "%"),
    }
)
#: Functions that SQL calls by another name than ours.
_CALLED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "absolute": "ABS",
        "ceiling": "CEIL",
        "exponential": "EXP",
        "logarithm": "LN",
        "square_root": "SQRT",
        "null_if": "NULLIF",
        "trim_left": "LTRIM",
        "trim_right": "RTRIM",
    }
)
#: Parts of a date, by SQL's word for them.
_PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{part: part.upper() for part in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")},
        "weekday": "ISODOW",
        "day_of_year": "DOY",
    }
)


def in_sql(expression: Expression, shown: Callable[[str], str] = str) -> str:
    """Return an expression as SQL for people, cut where it is long.

    Args:
        expression: what is to be said.
        shown: what people call a column.

    >>> from dither.data import Kind
    >>> in_sql(Call("more", (Call("add", (Name("age"), Literal(1, Kind.INTEGER))), Literal(6, Kind.INTEGER))))
    'age + 1 > 6'

    """
    text = _said(expression, shown, 0)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def quoted(value: Value) -> str:
    """Return a constant as SQL writes it."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).upper()
    return "NULL" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _said(expression: Expression, shown: Callable[[str], str], within: int) -> str:
    """Return the text, in brackets if what stands around it holds more tightly."""
    if isinstance(expression, Name):
        return shown(expression.name)
    if isinstance(expression, Literal):
        return quoted(expression.value)
    if isinstance(expression, OneOf):
        options = ", ".join(quoted(option.value) for option in expression.options)
        return _bracketed(f"{_said(expression.value, shown, 5)} IN ({options})", 4, within)
    if isinstance(expression, Cast):
        return f"CAST({_said(expression.value, shown, 0)} AS {expression.kind.value.upper()})"
    if isinstance(expression, Case):
        parts = [f"WHEN {_said(one, shown, 0)} THEN {_said(value, shown, 0)}" for one, value in expression.branches]
        return f"CASE {' '.join(parts)} ELSE {_said(expression.otherwise, shown, 0)} END"
    if isinstance(expression, Call):
        return _called(expression, shown, within)
    below = expression.children()
    return _said(below[0], shown, within) if len(below) == 1 else "..."


def _called(call: Call, shown: Callable[[str], str], within: int) -> str:
    parts, function = call.arguments, call.function
    if function in _SIGNS:
        tight, sign = _SIGNS[function]
        rest = [_said(part, shown, tight + (function not in ("and", "or", "add", "multiply"))) for part in parts[1:]]
        return _bracketed(f" {sign} ".join([_said(parts[0], shown, tight), *rest]), tight, within)
    if function == "not":
        return _negated(parts[0], shown, within)
    if function == "is_null":
        return _bracketed(f"{_said(parts[0], shown, 5)} IS NULL", 4, within)
    if function == "negate":
        return f"-{_said(parts[0], shown, 7)}"
    if function in _PARTS:
        return f"EXTRACT({_PARTS[function]} FROM {_said(parts[0], shown, 0)})"
    if function in ("truncate_date", "truncate_time"):
        return f"DATE_TRUNC({_said(parts[1], shown, 0)}, {_said(parts[0], shown, 0)})"
    if function in ("add_days", "add_months", "add_seconds"):
        unit = function.removeprefix("add_").removesuffix("s").upper()
        return _bracketed(f"{_said(parts[0], shown, 5)} + INTERVAL {_said(parts[1], shown, 7)} {unit}", 5, within)
    name = _CALLED.get(function, function.upper())
    return f"{name}({', '.join(_said(part, shown, 0) for part in parts)})"


def _negated(inner: Expression, shown: Callable[[str], str], within: int) -> str:
    if isinstance(inner, Call) and inner.function == "is_null":
        return _bracketed(f"{_said(inner.arguments[0], shown, 5)} IS NOT NULL", 4, within)
    if isinstance(inner, Call) and inner.function == "like":
        value, pattern = (_said(part, shown, 5) for part in inner.arguments)
        return _bracketed(f"{value} NOT LIKE {pattern}", 4, within)
    if isinstance(inner, OneOf):
        options = ", ".join(quoted(option.value) for option in inner.options)
        return _bracketed(f"{_said(inner.value, shown, 5)} NOT IN ({options})", 4, within)
    return _bracketed(f"NOT {_said(inner, shown, 4)}", 3, within)


def _bracketed(text: str, tight: int, within: int) -> str:
    return f"({text})" if tight < within else text
