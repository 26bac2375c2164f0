"""Printing expressions: one template or method for every function, and nothing that can raise because of a cell.

A dialect subclasses ``ExpressionEmitter`` and gives templates; the tree is walked here, once for all engines. Every
name and every constant is quoted by the emitter, and columns go by generated names, so that no text of a schema or of
an analyst is ever read as SQL.

**Reals.** IEEE arithmetic carries a NaN or an infinity through sums, differences and products, so inside such a chain
values are left *raw* and only its end is tested once: ``a + b * c`` is tested in one place, and what would have been
NULL in the middle is NULL at the end. This is exact: x + y, x - y, x * y, -x, |x| and the square root are finite only
if their operands are. A function that could turn an infinity into a finite value (a denominator, an exponent, a
comparison) gets tested operands. An engine whose arithmetic raises instead says ``raw_positions = {}`` and gives
templates that return NULL.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from dither.data.engines.emit_portable import Levels
from dither.data.engines.long_parts import LongParts
from dither.data.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    Grid,
    Kind,
    Literal,
    Name,
    OneOf,
    Value,
    kind_of,
)
from dither.data.patterns import plain_texts
from dither.data.portable_reals import PORTABLE
from dither.errors import InvalidParameter

#: Longer SQL for one expression is refused: tests repeat their operand, and nesting them multiplies the length.
LONGEST_EXPRESSION: Final = 400_000
#: Doubles hold every integer up to this one.
_EXACT_IN_DOUBLE: Final = 2**53
_COMPARISONS: Final = ("equal", "unequal", "less", "at_most", "more", "at_least")
_ALL_REAL: Final = ("divide", "square_root", "exponential", "logarithm", "power")

Span = tuple[int, int]


@dataclass(frozen=True)
class Scope:
    """The columns that an expression may name: their kinds, their names in SQL, and ranges of integers."""

    columns: Mapping[str, Kind]
    names: Mapping[str, str]
    spans: Mapping[str, Span] = field(default_factory=dict)


class ExpressionEmitter(Levels):
    """Prints expressions of one dialect.

    ``templates`` has one entry for each function, found as ``"function:kind"`` (the kind of the first argument, after
    integers became reals where a real is among them) or ``"function"``, and for casts as ``"cast:from:to"``. In a
    template ``{0}``, ``{1}`` are the arguments and ``{all}`` all of them, separated by commas.
    """

    #: What the dialect calls the kinds.
    types: ClassVar[Mapping[Kind, str]] = MappingProxyType(
        {
            Kind.BOOLEAN: "BOOLEAN",
            Kind.INTEGER: "BIGINT",
            Kind.REAL: "DOUBLE",
            Kind.TEXT: "VARCHAR",
            Kind.DATE: "DATE",
            Kind.TIMESTAMP: "TIMESTAMP",
        }
    )
    #: Standard SQL where all dialects agree; a dialect adds the rest and replaces what it must.
    templates: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "add:real": "({0} + {1})",
            "subtract:real": "({0} - {1})",
            "multiply:real": "({0} * {1})",
            "divide": "({0} / {1})",
            "negate:real": "(-{0})",
            "absolute:real": "abs({0})",
            "floor:integer": "{0}",
            "ceiling:integer": "{0}",
            "square_root": "sqrt({0})",
            "exponential": "exp({0})",
            "logarithm": "ln({0})",
            "power": "power({0}, {1})",
            "least": "least({all})",
            "greatest": "greatest({all})",
            "equal": "({0} = {1})",
            "unequal": "({0} <> {1})",
            "less": "({0} < {1})",
            "at_most": "({0} <= {1})",
            "more": "({0} > {1})",
            "at_least": "({0} >= {1})",
            "is_null": "({0} IS NULL)",
            "not": "(NOT {0})",
            "coalesce": "coalesce({all})",
            "length": "length({0})",
            "replace": "replace({0}, {1}, {2})",
            "bit_and": "({0} & {1})",
            "bit_or": "({0} | {1})",
            "right": "right({0}, {1})",
            "split_part": "split_part({0}, {1}, {2})",
            "truncate_time": "date_trunc({1}, {0})",
            "shift_right": "(CASE WHEN {1} >= 0 AND {1} <= 62 THEN {0} >> CAST({1} AS INTEGER) END)",
            "cast:boolean:integer": "CAST({0} AS BIGINT)",
            "cast:integer:text": "CAST({0} AS VARCHAR)",
            "cast:date:timestamp": "CAST({0} AS TIMESTAMP)",
            "cast:timestamp:date": "CAST({0} AS DATE)",
        }
    )
    #: Which real arguments of a function may be NaN or infinite, because the value is then NaN, infinite or NULL too.
    raw_positions: ClassVar[Mapping[str, tuple[int, ...]]] = MappingProxyType(
        {
            "add": (0, 1),
            "subtract": (0, 1),
            "multiply": (0, 1),
            "negate": (0,),
            "absolute": (0,),
            "divide": (0,),
            "square_root": (0,),
        }
    )
    #: Functions and casts whose real value must still be tested; a template that gives NULL itself is not among them.
    tested_functions: ClassVar[frozenset[str]] = frozenset(
        ("add", "subtract", "multiply", "divide", "square_root", "exponential", "logarithm", "power")
    )

    #: Functions whose template makes a real value finite or NULL for all arguments.
    finite_functions: ClassVar[frozenset[str]] = frozenset()

    #: A part of an expression whose SQL is longer is computed by itself, once.
    longest_part: ClassVar[int] = 4_000

    #: Whether functions are printed such that all engines agree to the last bit.
    portable: bool = False
    _long: LongParts | None = None

    # Names and constants.

    def quote(self, name: str) -> str:
        """Return a name that can only be read as a name."""
        if "\x00" in name:
            raise InvalidParameter("name", name, "without the character U+0000")
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Return a text constant that can only be read as a text constant."""
        return "'" + value.replace("'", "''") + "'"

    def literal(self, value: Value, kind: Kind) -> str:
        """Return a constant of the kind, with its type."""
        if value is None:
            return f"CAST(NULL AS {self.types[kind]})"
        if kind is Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        if kind is Kind.TEXT:
            return self.text(str(value))
        if kind is Kind.REAL and isinstance(value, int | float):
            return self.real(float(value))
        if isinstance(value, datetime.datetime):
            return f"CAST('{value.isoformat(sep=' ', timespec='microseconds')}' AS {self.types[kind]})"
        return f"CAST('{value}' AS {self.types[kind]})"

    def real(self, value: float) -> str:
        """Return a finite real constant; its shortest decimal reads back as the same double."""
        return f"CAST('{value!r}' AS {self.types[Kind.REAL]})"

    def integer(self, value: int) -> str:
        """Return an integer constant."""
        return self.literal(value, Kind.INTEGER)

    # What a dialect overrides when a template is not enough.

    def finite(self, sql: str) -> str:
        """Return the real value, or NULL if it is NaN or infinite."""
        return f"(CASE WHEN isfinite({sql}) THEN {sql} END)"

    def to_real(self, sql: str) -> str:
        """Return an integer as the nearest double."""
        return f"CAST({sql} AS {self.types[Kind.REAL]})"

    def floor_to_integer(self, sql: str) -> str:
        """Return the floor of a real as an integer, NULL beyond 64 bits; see ``raw_positions`` for unchecked reals."""
        return self.filled("floor:real", [sql])

    def compared(self, sql: str, kind: Kind) -> str:
        """Return the value in a form that compares by code points, for texts."""
        return sql

    def like(self, sql: str, pattern: str) -> str:
        """Return whether a text matches a pattern, in a form whose time is linear in the text: see ``patterns``."""
        raise NotImplementedError

    def truncate_date(self, sql: str, unit: str, kind: Kind) -> str:
        """Return the first day of the unit that the date or timestamp lies in, as a date."""
        return f"CAST(date_trunc({self.text(unit)}, {sql}) AS {self.types[Kind.DATE]})"

    def substring(self, sql: str, start: int, length: int) -> str:
        """Return ``length`` code points from position ``start`` >= 1."""
        return f"substring({sql}, {start}, {length})"

    # The walk.

    def expression(self, expression: Expression, scope: Scope) -> str:
        """Return the SQL of an expression, which is never NaN or infinite and never raises."""
        if self._long is not None:
            return self._tested(expression, scope)
        self._long = parts = LongParts(expression)
        try:
            return self._short(parts.around(self._tested(expression, scope), self))
        finally:
            self._long = None

    def _tested(self, expression: Expression, scope: Scope) -> str:
        sql, is_tested = self._print(expression, scope)
        return sql if is_tested else self._short(self.finite(sql))

    def _print(self, expression: Expression, scope: Scope) -> tuple[str, bool]:
        """Return the SQL, and whether a real in it is known to be finite; a long part is computed once."""
        if isinstance(expression, Name):
            return scope.names[expression.name], True
        if isinstance(expression, Literal):
            return self.literal(expression.value, expression.kind), True
        parts = self._long
        if parts is None or expression is parts.root:
            return self._print_new(expression, scope)
        known = parts.read(expression)
        if known is not None:
            return known, True
        outside, parts.deepest = parts.deepest, 0
        sql, is_tested = self._print_new(expression, scope)
        if len(sql) > self.longest_part:
            sql, is_tested = parts.compute(expression, sql if is_tested else self.finite(sql), self), True
        parts.deepest = max(parts.deepest, outside)
        return sql, is_tested

    def _print_new(self, expression: Expression, scope: Scope) -> tuple[str, bool]:
        if isinstance(expression, Case):
            return self._case(expression, scope), True
        if isinstance(expression, Cast):
            return self._cast(expression, scope), not self._needs_test(expression, scope)
        if isinstance(expression, OneOf):
            return self._one_of(expression, scope), True
        if isinstance(expression, Grid):
            return self._grid(expression, scope), True
        if isinstance(expression, Call):
            sql, is_tested = self._call(expression, scope)
            return self._short(sql), is_tested
        raise InvalidParameter("expression", type(expression).__name__, "one of the closed tree")

    def _call(self, call: Call, scope: Scope) -> tuple[str, bool]:
        function, arguments = call.function, call.arguments
        kinds = [kind_of(argument, scope.columns) for argument in arguments]
        if function in _CONSTANT_METHODS:
            return self._with_constants(call, scope, kinds[0]), True
        becomes_real = function in _ALL_REAL or (Kind.REAL in kinds and all(kind.is_number for kind in kinds))
        raw = self.raw_positions.get(function, ())
        printed, all_tested, original = [], True, ""
        for position, (argument, kind) in enumerate(zip(arguments, kinds, strict=True)):
            if position in raw:
                sql, is_tested = self._print(argument, scope)
                all_tested = all_tested and is_tested
            else:
                sql = self.expression(argument, scope)
            original = original or sql
            if becomes_real and kind is Kind.INTEGER:
                sql = self.to_real(sql)
            if function in (*_COMPARISONS, "least", "greatest", "null_if"):
                sql = self.compared(sql, kind)
            printed.append(sql)
        first = Kind.REAL if becomes_real else kinds[0]
        if function == "null_if":
            # The value keeps the kind of the first argument, also where it is compared as a real.
            return f"(CASE WHEN {printed[0]} = {printed[1]} THEN NULL ELSE {original} END)", True
        if function in ("and", "or"):
            return "(" + f" {function.upper()} ".join(printed) + ")", True
        if function == "concatenate":
            return self.concatenate(printed), True
        if len(arguments) == 1 and function in ("least", "greatest", "coalesce"):
            return printed[0], True
        if self.portable and function in PORTABLE:
            return self.portable_function(function, printed), True
        sql = self.filled(f"{function}:{first.value}", printed)
        if kind_of(call, scope.columns) is not Kind.REAL:
            return sql, True
        is_finite = function in self.finite_functions
        return sql, is_finite or (all_tested and function not in self.tested_functions)

    def concatenate(self, printed: Sequence[str]) -> str:
        """Return texts one after the other, NULL if any is NULL."""
        return "(" + " || ".join(printed) + ")"

    def filled(self, key: str, arguments: Sequence[str]) -> str:
        """Return the template of that function and kind, or of that function, with its arguments filled in."""
        template = self.templates.get(key) or self.templates[key.split(":")[0]]
        return template.format(*arguments, all=", ".join(arguments))

    def _with_constants(self, call: Call, scope: Scope, kind: Kind) -> str:
        """Return the functions whose later arguments are constants; ``Call`` has checked them."""
        function, first = call.function, self.expression(call.arguments[0], scope)
        constants = [argument.value for argument in call.arguments[1:] if isinstance(argument, Literal)]
        if function == "substring":
            start, length = (int(str(constant)) for constant in constants)
            return self.substring(first, start, length)
        if function in ("right", "split_part"):
            many = str(min(int(str(constants[-1])), 10**9))
            return self.filled(function, [first, *(self.text(str(constant)) for constant in constants[:-1]), many])
        texts = [str(constant) for constant in constants]
        if function == "like":
            return self._like(first, texts[0])
        if function == "truncate_date":
            return self.truncate_date(first, texts[0], kind)
        return self.filled(function, [first, *(self.text(text) for text in texts)])

    def _like(self, sql: str, pattern: str) -> str:
        texts = plain_texts(pattern)
        if texts is not None and len(texts) == 1:
            return self.filled("equal", [self.compared(sql, Kind.TEXT), self.text(texts[0])])
        if texts is not None and len(texts) == 2 and "" in texts:
            return self.filled("ends_with" if texts[1] else "starts_with", [sql, self.text(texts[1] or texts[0])])
        if texts is not None and len(texts) == 3 and texts[0] == texts[2] == "":
            return self.filled("contains", [sql, self.text(texts[1])])
        return self.like(sql, pattern)

    def _case(self, case: Case, scope: Scope) -> str:
        kind = kind_of(case, scope.columns)
        branches = [
            f"WHEN {self.expression(condition, scope)} THEN {self.as_kind(value, kind, scope)}"
            for condition, value in case.branches
        ]
        otherwise = self.as_kind(case.otherwise, kind, scope)
        return self._short(f"(CASE {' '.join(branches)} ELSE {otherwise} END)") if branches else otherwise

    def as_kind(self, expression: Expression, kind: Kind, scope: Scope) -> str:
        """Return the expression, an integer as a real where a real is wanted."""
        sql = self.expression(expression, scope)
        is_integer = kind_of(expression, scope.columns) is Kind.INTEGER
        return self.to_real(sql) if kind is Kind.REAL and is_integer else sql

    def _cast(self, cast: Cast, scope: Scope) -> str:
        given = kind_of(cast.value, scope.columns)
        if given is Kind.REAL and cast.kind is Kind.INTEGER:
            return self._floor(cast.value, scope)
        sql = self.expression(cast.value, scope)
        if given is cast.kind:
            return sql
        if given is Kind.INTEGER and cast.kind is Kind.REAL:
            return self.to_real(sql)
        return self._short(self.filled(f"cast:{given.value}:{cast.kind.value}", [sql]))

    def _needs_test(self, cast: Cast, scope: Scope) -> bool:
        given = kind_of(cast.value, scope.columns)
        return f"cast:{given.value}:{cast.kind.value}" in self.tested_functions

    def _floor(self, value: Expression, scope: Scope) -> str:
        sql = self._print(value, scope)[0] if "floor" in self.raw_positions else self.expression(value, scope)
        return self._short(self.floor_to_integer(sql))

    def _one_of(self, one_of: OneOf, scope: Scope) -> str:
        kind = kind_of(one_of.value, scope.columns)
        sql = self.expression(one_of.value, scope)
        options = [option for option in one_of.options if option.value is not None]
        if not options:
            return f"(CASE WHEN {sql} IS NOT NULL THEN FALSE END)"
        # Each option is compared on its own, so that an integer becomes a double only where it meets a real one.
        tests = []
        for common in dict.fromkeys(Kind.REAL if kind is Kind.REAL else option.kind for option in options):
            value = self.to_real(sql) if common is Kind.REAL and kind is Kind.INTEGER else self.compared(sql, kind)
            alike = [option for option in options if kind is Kind.REAL or option.kind is common]
            tests.append(f"{value} IN ({', '.join(self.literal(option.value, common) for option in alike)})")
        return self._short(f"({' OR '.join(tests)})")

    def _grid(self, grid: Grid, scope: Scope) -> str:
        kind = kind_of(grid.value, scope.columns)
        sql = self.expression(grid.value, scope)
        numbers = (grid.lower, grid.upper, grid.origin)
        is_small = all(number.is_integer() and abs(number) <= _EXACT_IN_DOUBLE // 2 for number in map(float, numbers))
        if kind is Kind.INTEGER and is_small and grid.exponent == 0:
            # The same number without doubles: rounding to a double is monotone and leaves the bounds where they are,
            # so clamping before or after it gives one integer below 2^52, and the difference to the origin is exact.
            lower, upper, origin = (int(number) for number in numbers)
            clamped = self.clamped(sql, self.integer(lower), self.integer(upper))
            return self._short(clamped if origin == 0 else f"({clamped} - {self.integer(origin)})")
        if kind is Kind.INTEGER:
            sql = self.to_real(sql)
        return self._short(self.grid(sql, grid))

    def grid(self, sql: str, grid: Grid) -> str:
        """Return the clamped number of steps from the origin to a clamped real, as an integer."""
        clamped = self.clamped(sql, self.real(float(grid.lower)), self.real(float(grid.upper)))
        moved = clamped if grid.origin == 0 else f"({clamped} - {self.real(float(grid.origin))})"
        scaled = moved if grid.exponent == 0 else f"({moved} * {self.real(2.0**grid.exponent)})"
        steps = self.floor_to_integer(scaled)
        if stays_in_range(grid):
            return steps
        return self.clamped(steps, self.integer(grid.least), self.integer(grid.most))

    def clamped(self, sql: str, lower: str, upper: str) -> str:
        """Return the value moved into a range; NULL stays NULL, which ``least`` and ``greatest`` would hide."""
        return f"(CASE WHEN {sql} < {lower} THEN {lower} WHEN {sql} > {upper} THEN {upper} ELSE {sql} END)"

    def _short(self, sql: str) -> str:
        if len(sql) > LONGEST_EXPRESSION:
            raise too_long(sql)
        return sql

    # What is known of integers before any row is read.

    def span(self, expression: Expression, scope: Scope) -> Span | None:
        """Return a range that holds every value of an integer expression, if one follows from its form."""
        if isinstance(expression, Grid):
            return expression.least, expression.most
        if isinstance(expression, Literal) and isinstance(expression.value, int):
            return int(expression.value), int(expression.value)
        if isinstance(expression, Name):
            return scope.spans.get(expression.name)
        if isinstance(expression, Cast) and kind_of(expression.value, scope.columns) is Kind.BOOLEAN:
            return 0, 1
        if isinstance(expression, Case):
            parts = [self.span(value, scope) for value in (*(v for _, v in expression.branches), expression.otherwise)]
            known = [part for part in parts if part is not None]
            return (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(parts) else None
        return None


def too_long(sql: str) -> InvalidParameter:
    """Return the refusal of an expression whose SQL an engine would not take."""
    rule = "of shorter expressions: compute a part of them in a subquery, or nest fewer functions"
    return InvalidParameter("query", f"an expression of {len(sql):,} characters, written out", rule)


_CONSTANT_METHODS: Final = frozenset(
    (
        *("substring", "replace", "starts_with", "ends_with", "contains", "like", "truncate_date"),
        *("truncate_time", "right", "position", "split_part"),
    )
)


def stays_in_range(grid: Grid) -> bool:
    """Return whether doubles give a number of steps in [least, most] for every value, so that clamping is not needed.

    Clamping, subtracting the origin, scaling and taking the floor are each monotone in the value, rounding included.
    So it is enough to look at the two bounds.

    >>> stays_in_range(Grid(Name("x"), 0.0, 100.0, 0.0, 20)), stays_in_range(Grid(Name("x"), 0.0, 0.3, -0.1, 55))
    (True, False)
    """
    ends = [math.floor((float(end) - float(grid.origin)) * 2.0**grid.exponent) for end in (grid.lower, grid.upper)]
    return grid.least <= ends[0] and ends[1] <= grid.most
