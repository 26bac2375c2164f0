"""Expressions in Python: columns, constants and operators on them, for the builder of queries."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.data import Call, Case, Cast, Expression, Kind, Literal, Name, OneOf
from dither.data.expressions import Value, kind_of
from dither.errors import InvalidParameter
from dither.exact import exact
from dither.publish.queries.assemble import clamp, conjunction, disjunction
from dither.publish.queries.work import check_size, step


class _Null(Literal):
    """A NULL whose kind follows from its neighbours."""


class Expr:
    """An expression over some rows' columns; Python's operators make larger ones.

    ``&``, ``|`` and ``~`` stand for AND, OR and NOT, ``/`` for division as reals, ``//`` towards zero.
    """

    __hash__ = None  # type: ignore[assignment]  # == makes an expression, so that sets and dicts cannot compare

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return f"Expr({self.expression!r})"

    def __bool__(self) -> bool:
        """Raise, because ``a and b`` would silently lose one of them."""
        raise InvalidParameter(
            "condition", "and, or, not or a chain of comparisons", "made with &, | and ~ of expressions"
        )

    def _call(self, function: str, *others: Any) -> Expr:
        return Expr(Call(function, (self.expression, *(term_of(other) for other in others))))

    def _called(self, function: str, other: Any) -> Expr:
        return Expr(Call(function, (term_of(other), self.expression)))

    def __add__(self, other: Any) -> Expr:
        return self._call("add", other)

    def __radd__(self, other: Any) -> Expr:
        return self._called("add", other)

    def __sub__(self, other: Any) -> Expr:
        return self._call("subtract", other)

    def __rsub__(self, other: Any) -> Expr:
        return self._called("subtract", other)

    def __mul__(self, other: Any) -> Expr:
        return self._call("multiply", other)

    def __rmul__(self, other: Any) -> Expr:
        return self._called("multiply", other)

    def __truediv__(self, other: Any) -> Expr:
        return self._call("divide", other)

    def __rtruediv__(self, other: Any) -> Expr:
        return self._called("divide", other)

    def __floordiv__(self, other: Any) -> Expr:
        return self._call("quotient", other)

    def __mod__(self, other: Any) -> Expr:
        return self._call("remainder", other)

    def __pow__(self, other: Any) -> Expr:
        return self._call("power", other)

    def __neg__(self) -> Expr:
        return self._call("negate")

    def __abs__(self) -> Expr:
        return self._call("absolute")

    def __floor__(self) -> Expr:
        return self._call("floor")

    def __ceil__(self) -> Expr:
        return self._call("ceiling")

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("equal", other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("unequal", other)

    def __lt__(self, other: Any) -> Expr:
        return self._call("less", other)

    def __le__(self, other: Any) -> Expr:
        return self._call("at_most", other)

    def __gt__(self, other: Any) -> Expr:
        return self._call("more", other)

    def __ge__(self, other: Any) -> Expr:
        return self._call("at_least", other)

    def __and__(self, other: Any) -> Expr:
        return Expr(conjunction((self.expression, term_of(other))))

    def __or__(self, other: Any) -> Expr:
        return Expr(disjunction((self.expression, term_of(other))))

    def __invert__(self) -> Expr:
        return self._call("not")

    def call(self, function: str, *others: Any) -> Expr:
        """Return any function of the allow-list (``dither.data.expressions.FUNCTIONS``) with this as first argument."""
        return self._call(function, *others)

    def is_null(self) -> Expr:
        """Return whether it is NULL."""
        return self._call("is_null")

    def is_in(self, options: Iterable[Value]) -> Expr:
        """Return whether it is one of some constants."""
        return Expr(OneOf(self.expression, tuple(dict.fromkeys(literal_of(option) for option in options))))

    def between(self, low: Any, high: Any) -> Expr:
        """Return whether it lies between two values, both included."""
        return Expr(conjunction(((self >= low).expression, (self <= high).expression)))

    def clamp(self, low: float, high: float) -> Expr:
        """Return it moved into [low, high]; NULL stays NULL."""
        is_whole = isinstance(low, int) and isinstance(high, int)
        kind = Kind.INTEGER if is_whole else Kind.REAL
        ends = (low, high) if is_whole else (float(low), float(high))
        return Expr(clamp(self.expression, Literal(ends[0], kind), Literal(ends[1], kind)))

    def cast(self, kind: Kind | str) -> Expr:
        """Return it as another kind, NULL if it cannot be converted."""
        return Expr(Cast(self.expression, kind if isinstance(kind, Kind) else _kind(kind)))

    def coalesce(self, *others: Any) -> Expr:
        """Return the first value that is not NULL."""
        return self._call("coalesce", *others)

    def like(self, pattern: str) -> Expr:
        """Return whether a text matches SQL's pattern with % and _; a backslash escapes."""
        return self._call("like", pattern)

    def lower(self) -> Expr:
        """Return the text with the 26 Latin letters in lower case."""
        return self._call("lower")

    def upper(self) -> Expr:
        """Return the text with the 26 Latin letters in upper case."""
        return self._call("upper")

    def year(self) -> Expr:
        """Return the year of a date."""
        return self._call("year")

    def month(self) -> Expr:
        """Return the month of a date, 1 to 12."""
        return self._call("month")

    def truncate(self, part: str) -> Expr:
        """Return the first day of a date's year, quarter, month or week."""
        return self._call("truncate_date", part)

    # Within one person.

    def sum(self) -> PersonMeasure:
        """Return the sum over a person's rows, for ``per_person``."""
        return PersonMeasure("sum", self.expression)

    def mean(self) -> PersonMeasure:
        """Return the mean over a person's rows, for ``per_person``."""
        return PersonMeasure("mean", self.expression)

    def minimum(self) -> PersonMeasure:
        """Return the smallest value of a person's rows, for ``per_person``."""
        return PersonMeasure("minimum", self.expression)

    def maximum(self) -> PersonMeasure:
        """Return the largest value of a person's rows, for ``per_person``."""
        return PersonMeasure("maximum", self.expression)

    def count(self) -> PersonMeasure:
        """Return in how many of a person's rows it is not NULL (a condition: true), for ``per_person``."""
        return PersonMeasure("count_of", self.expression)


@dataclass(frozen=True)
class PersonMeasure:
    """A measure of one person's own rows."""

    function: str
    value: Expression | None


def rows() -> PersonMeasure:
    """Return the number of a person's rows, for ``per_person``."""
    return PersonMeasure("count", None)


def col(name: str) -> Expr:
    """Return a column; ``"regions.country"`` is the column country of a joined table called regions."""
    return Expr(Name(name.replace(".", "_")))


def lit(value: Value) -> Expr:
    """Return a public constant; None is a NULL of any kind."""
    return Expr(literal_of(value))


class When:
    """A CASE in the making: ``when(a).then(x).when(b).then(y).otherwise(z)``."""

    def __init__(self, branches: tuple[tuple[Expression, Expression], ...], condition: Expression | None) -> None:
        self._branches, self._condition = branches, condition

    def then(self, value: Any) -> When:
        """Set the value under the last condition."""
        if self._condition is None:
            raise InvalidParameter("then", "a second value", "set once after each when")
        return When((*self._branches, (self._condition, term_of(value))), None)

    def when(self, condition: Expr) -> When:
        """Add another condition."""
        return When(self._branches, condition.expression)

    def otherwise(self, value: Any) -> Expr:
        """Set the value if no condition holds."""
        if self._condition is not None or not self._branches:
            raise InvalidParameter("otherwise", "a condition without a value", "after then(...)")
        return Expr(Case(self._branches, term_of(value)))

    def end(self) -> Expr:
        """Return NULL if no condition holds."""
        return self.otherwise(None)


def when(condition: Expr) -> When:
    """Begin a CASE."""
    return When((), condition.expression)


def _kind(name: str) -> Kind:
    for kind in Kind:
        if kind.value == name:
            return kind
    raise InvalidParameter("kind", name, f"one of {', '.join(kind.value for kind in Kind)}")


def literal_of(value: Any) -> Literal:
    """Return a public constant, whose kind follows from its Python type."""
    if value is None:
        return _Null(None, Kind.TEXT)
    kinds: tuple[tuple[type, Kind], ...] = (
        (bool, Kind.BOOLEAN),
        (int, Kind.INTEGER),
        (float, Kind.REAL),
        (str, Kind.TEXT),
        (datetime.datetime, Kind.TIMESTAMP),
        (datetime.date, Kind.DATE),
    )
    given: Any = value
    kind = next((kind for python, kind in kinds if isinstance(given, python)), None)
    if kind is not None and not (kind is Kind.REAL and not math.isfinite(given)):
        return Literal(given, kind)
    raise InvalidParameter("constant", value, "a finite number, a string, a date, a timestamp, true, false or None")


def term_of(value: Any) -> Expression:
    """Return the expression, or a constant."""
    return value.expression if isinstance(value, Expr) else literal_of(value)


def column_of(value: Any) -> Expression:
    """Return the expression, or a column by its name."""
    return col(value).expression if isinstance(value, str) else term_of(value)


def fitted(expression: Expression, columns: Mapping[str, Kind]) -> Expression:
    """Return the expression with every untyped NULL given its neighbours' kind."""
    step()
    check_size(expression)
    if isinstance(expression, Case):
        branches = [(fitted(condition, columns), fitted(value, columns)) for condition, value in expression.branches]
        last = fitted(expression.otherwise, columns)
        values = _alike([*(value for _, value in branches), last], columns)
        pairs = zip((condition for condition, _ in branches), values[:-1], strict=True)
        return Case(tuple(pairs), values[-1])
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_alike([fitted(one, columns) for one in expression.arguments], columns)))
    if isinstance(expression, Cast):
        return Cast(fitted(expression.value, columns), expression.kind)
    if isinstance(expression, OneOf):
        return OneOf(fitted(expression.value, columns), expression.options)
    kind_of(expression, columns)
    return expression


def _alike(values: Sequence[Expression], columns: Mapping[str, Kind]) -> list[Expression]:
    kinds = [kind_of(value, columns) for value in values if not isinstance(value, _Null)]
    kind = Kind.REAL if Kind.REAL in kinds else kinds[0] if kinds else Kind.TEXT
    return [Literal(None, kind) if isinstance(value, _Null) else value for value in values]


def share_of(share: float | str | Fraction) -> Fraction:
    """Return the share of a quantile, exactly; a float is read as its shortest decimal."""
    found = exact("share", share, rule="a number from 0 to 1")
    if not 0 <= found <= 1:
        raise InvalidParameter("share", share, "a number from 0 to 1")
    return found
