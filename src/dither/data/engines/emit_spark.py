"""The SQL of Spark: the form of each function, giving NULL where ANSI mode would raise.

Integers go through ``try_`` functions. Doubles are made finite in a single reading: the remainder by infinity leaves a
finite number as it is and makes NaN of all else, and ``nanvl`` makes NULL of NaN. Texts compare by their UTF-8 bytes,
which is by code points. Forms that read an operand several times bind a long one to the variable of a lambda, so that
SQL grows in proportion to the tree. Timestamps have no zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from dither.data.engines.emit_expressions import too_long
from dither.data.engines.emitter import Emitter
from dither.data.engines.postgresql_texts import DAY_PATTERN, TIME_PATTERN
from dither.data.expressions import Grid, Kind, Value
from dither.data.patterns import atomic
from dither.data.schema import Table

_CAPITAL, _SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_LEAST: Final = "CAST('-9223372036854775808' AS BIGINT)"
_TWO_63: Final = "9.223372036854775808E18D"
_FIRST_DAY, _LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"
_FIRST_MOMENT = "TIMESTAMP_NTZ '0001-01-01 00:00:00'"
_LAST_MOMENT = "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"
#: Java tries other lengths for a part that repeats, unless it is possessive (``++``): of a million digits and a letter
#: it would make a million times a million tries. No part here may begin with what the part before it repeats.
_INTEGER: Final = " *+[+-]?[0-9]++([.]0++)? *+"
_REAL: Final = " *+[+-]?([0-9]++[.]?[0-9]*+|[.][0-9]++)([eE][+-]?[0-9]++)? *+"
#: Spark plans for minutes over what other engines read at once: longer SQL for one expression is refused.
_LONGEST_EXPRESSION: Final = 30_000
#: What a column may be called: read twice, it costs nothing.
_COLUMN: Final = re.compile(r"[A-Za-z]\w*|`[^`]+`")
#: An operand of more characters is computed once where a form reads it several times.
_LONG: Final = 240

_MONTH: Final = "(year({0}) * 12 + month({0}))"
_SECONDS_LATER: Final = "try_add(try_multiply({1}, 1000000L), unix_micros(CAST({0} AS TIMESTAMP)))"


def _matching(pattern: str, value: str) -> str:
    # \z is the very end of the text, while $ would let a line break follow.
    return f"(CASE WHEN {{0}} RLIKE r'\\A{pattern}\\z' THEN {value} END)"


def _rounded(function: str) -> str:
    return f"(CASE WHEN {{0}} >= -{_TWO_63} AND {{0}} < {_TWO_63} THEN {function}({{0}}) END)"


def _record(columns: Sequence[tuple[str, str]]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {sql}" for name, sql in columns) + ")"


@dataclass(frozen=True)
class Source:
    """Where a declared table is: the view that stands after FROM, and for each declared column its name and type."""

    view: str
    columns: Mapping[str, tuple[str, str]]


class SparkEmitter(Emitter):
    """Prints one aggregation for Spark.

    Args:
        sources: where the declared tables are.
        make_list: puts a public list into a view and returns that view's name.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

    """

    types: ClassVar[Mapping[Kind, str]] = MappingProxyType(
        {**Emitter.types, Kind.TEXT: "STRING", Kind.TIMESTAMP: "TIMESTAMP_NTZ"}
    )
    longest_part: ClassVar[int] = 3_000
    templates: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **Emitter.templates,
            "add:integer": "try_add({0}, {1})",
            "subtract:integer": "try_subtract({0}, {1})",
            "multiply:integer": "try_multiply({0}, {1})",
            "quotient": f"(CASE WHEN {{1}} <> 0 AND NOT ({{1}} = -1 AND {{0}} = {_LEAST}) THEN {{0}} div {{1}} END)",
            "remainder": "try_mod({0}, {1})",
            "negate:integer": "try_subtract(0L, {0})",
            "absolute:integer": f"(CASE WHEN {{0}} > {_LEAST} THEN abs({{0}}) END)",
            "sign": "CAST(sign({0}) AS BIGINT)",
            "shift_right": "(CASE WHEN {1} >= 0 AND {1} <= 62 THEN shiftright({0}, try_cast({1} AS INT)) END)",
            "floor:real": _rounded("floor"),
            "ceiling:real": _rounded("ceil"),
            "divide": "try_divide({0}, {1})",
            "lower": f"translate({{0}}, '{_CAPITAL}', '{_SMALL}')",
            "upper": f"translate({{0}}, '{_SMALL}', '{_CAPITAL}')",
            "trim": "trim(BOTH ' ' FROM {0})",
            "trim_left": "trim(LEADING ' ' FROM {0})",
            "trim_right": "trim(TRAILING ' ' FROM {0})",
            "position": "CAST(instr({0}, {1}) AS BIGINT)",
            "bit_xor": "({0} ^ {1})",
            "length": "CAST(char_length({0}) AS BIGINT)",
            "starts_with": "startswith({0}, {1})",
            "ends_with": "endswith({0}, {1})",
            "contains": "contains({0}, {1})",
            **{part: f"CAST({part}({{0}}) AS BIGINT)" for part in ("year", "quarter", "month", "day")},
            **{part: f"CAST({part}({{0}}) AS BIGINT)" for part in ("hour", "minute", "second")},
            "week": "CAST(weekofyear({0}) AS BIGINT)",
            "day_of_year": "CAST(dayofyear({0}) AS BIGINT)",
            "weekday": "CAST(weekday({0}) + 1 AS BIGINT)",
            "days_between": "CAST(datediff({1}, {0}) AS BIGINT)",
            "add_days": (
                f"(CASE WHEN {{1}} >= datediff({_FIRST_DAY}, {{0}}) AND {{1}} <= datediff({_LAST_DAY}, {{0}})"
                " THEN date_add({0}, try_cast({1} AS INT)) END)"
            ),
            "add_months": (
                f"(CASE WHEN {{1}} >= 13 - {_MONTH} AND {{1}} <= 120000 - {_MONTH}"
                " THEN {0} + make_ym_interval(0, try_cast({1} AS INT)) END)"
            ),
            "microseconds": "unix_micros(CAST({0} AS TIMESTAMP))",
            "truncate_time": "CAST(date_trunc({1}, CAST({0} AS TIMESTAMP)) AS TIMESTAMP_NTZ)",
            "add_seconds": (
                f"(CASE WHEN {_SECONDS_LATER} BETWEEN -62135596800000000L AND 253402300799999999L"
                f" THEN CAST(timestamp_micros({_SECONDS_LATER}) AS TIMESTAMP_NTZ) END)"
            ),
            "cast:integer:text": "CAST({0} AS STRING)",
            "cast:date:timestamp": "CAST({0} AS TIMESTAMP_NTZ)",
            "cast:text:integer": _matching(_INTEGER, r"try_cast(regexp_extract({0}, r'([+-]?[0-9]+)', 1) AS BIGINT)"),
            "cast:text:real": _matching(
                _REAL,
                "nanvl(mod(try_cast({0} AS DOUBLE), CAST('Infinity' AS DOUBLE)), CAST(NULL AS DOUBLE))",
            ),
            "cast:text:date": _matching(DAY_PATTERN, "try_cast({0} AS DATE)"),
            "cast:text:timestamp": _matching(f"{DAY_PATTERN}([ T]{TIME_PATTERN})?", "try_cast({0} AS TIMESTAMP_NTZ)"),
        }
    )

    def __init__(
        self,
        sources: Mapping[str, Source],
        make_list: Callable[[Sequence[Kind], Sequence[tuple[Value, ...]]], str],
        *,
        portable: bool = False,
    ) -> None:
        super().__init__(portable=portable)
        self._sources = sources
        self._make_list = make_list

    # Expressions.

    def quote(self, name: str) -> str:
        """Return a name that can only be read as a name."""
        return quoted(name)

    def text(self, value: str) -> str:
        """Return a text constant, in which Spark reads backslashes."""
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def real(self, value: float) -> str:
        """Return a finite real constant."""
        return f"({value!r}D)" if value < 0 else f"{value!r}D"

    def finite(self, sql: str) -> str:
        """Return the real value, or NULL if it is NaN or infinite; all but a column is read once."""
        if _COLUMN.fullmatch(sql):
            # The same in cheap operations: 0 times a finite number is 0, and NaN with anything else.
            return f"nanvl((({sql} * 0.0D) + {sql}), CAST(NULL AS DOUBLE))"
        return f"nanvl(mod({sql}, CAST('Infinity' AS DOUBLE)), CAST(NULL AS DOUBLE))"

    def filled(self, key: str, arguments: Sequence[str]) -> str:
        """Return the template with its arguments; long arguments that it repeats are computed once."""
        template = self.templates.get(key) or self.templates[key.split(":")[0]]
        repeated = [template.count(f"{{{place}}}") > 1 for place in range(len(arguments))]
        return self._bound(arguments, repeated, lambda names: template.format(*names, all=", ".join(names)))

    def _bound(self, operands: Sequence[str], repeated: Sequence[bool], form: Callable[[Sequence[str]], str]) -> str:
        long = [is_repeated and len(sql) > _LONG for sql, is_repeated in zip(operands, repeated, strict=True)]
        if not any(long):
            return form(operands)
        variable = self.fresh("b")
        names = [
            f"{variable}.x{place}" if is_long else sql
            for place, (sql, is_long) in enumerate(zip(operands, long, strict=True))
        ]
        computed = ", ".join(f"'x{place}', {sql}" for place, sql in enumerate(operands) if long[place])
        return f"element_at(transform(array(named_struct({computed})), {variable} -> {form(names)}), 1)"

    def _short(self, sql: str) -> str:
        if len(sql) > _LONGEST_EXPRESSION:
            raise too_long(sql)
        return sql

    def clamped(self, sql: str, lower: str, upper: str) -> str:
        """Return the value moved into a range; NULL stays NULL."""
        return self._bound([sql], [True], lambda names: super(SparkEmitter, self).clamped(names[0], lower, upper))

    def grid(self, sql: str, grid: Grid) -> str:
        """Return the clamped number of steps from the origin to a clamped real, as an integer."""

        def form(names: Sequence[str]) -> str:
            moved = self.clamped(names[0], self.real(float(grid.lower)), self.real(float(grid.upper)))
            if grid.origin:
                moved = f"({moved} - {self.real(float(grid.origin))})"
            if grid.exponent:
                moved = f"({moved} * {self.real(2.0**grid.exponent)})"
            # At most 2^62 steps, and a double near that is far from 2^63: floor cannot overflow.
            steps = f"floor({moved})"
            if grid.origin:
                steps = f"least(greatest({steps}, {self.integer(grid.least)}), {self.integer(grid.most)})"
            return f"if({names[0]} IS NULL, NULL, {steps})" if grid.origin else steps

        return self._bound([sql], [True], form)

    def like(self, sql: str, pattern: str) -> str:
        """Return whether a regular expression matches that never backtracks; Spark's LIKE does."""
        return f"({sql} RLIKE {self.text(atomic(pattern))})"

    def truncate_date(self, sql: str, unit: str, kind: Kind) -> str:
        """Return the first day of the unit, as a date."""
        day = sql if kind is Kind.DATE else f"CAST({sql} AS DATE)"
        return day if unit == "day" else f"trunc({day}, '{unit}')"

    def substring(self, sql: str, start: int, length: int) -> str:
        """Return ``length`` code points from position ``start`` >= 1; no text has 10^9 of them."""
        return f"substring({sql}, {min(start, 10**9)}, {min(length, 10**9)})"

    def first_level(self, columns: Sequence[tuple[str, str]]) -> str:
        """Return a list of one record."""
        return f"array({_record(columns)})"

    def next_level(self, below: str, alias: str, columns: Sequence[tuple[str, str]]) -> str:
        """Return the list with its record rebuilt."""
        return f"transform({below}, {alias} -> {_record(columns)})"

    def last_level(self, below: str, alias: str, value: str) -> str:
        """Return the value computed from the one record."""
        return f"element_at(transform({below}, {alias} -> {value}), 1)"

    # Tables.

    def source(self, table: Table) -> str:
        """Return the view of the table."""
        return f"{self.quote(self._sources[table.name].view)} AS {self.fresh('s')}"

    def cell(self, table: Table, column: str, kind: Kind) -> str:
        """Return the column as its declared kind."""
        raw, stored = self._sources[table.name].columns[column]
        return self.clean(self.quote(raw), stored, kind)

    def clean(self, sql: str, stored: str, kind: Kind) -> str:
        """Return a value of a type of Spark as a declared kind, NULL where it is not of it."""
        held = family(stored)
        if stored.startswith("decimal") and kind is Kind.INTEGER:
            return f"try_cast(floor({sql}) AS BIGINT)"
        value = self._entering(sql, stored)
        if held is kind or held is None:
            return value
        if held is Kind.REAL and kind is Kind.INTEGER:
            return self.floor_to_integer(value)
        if held is Kind.INTEGER and kind is Kind.REAL:
            return self.to_real(value)
        if held is Kind.TEXT and kind is Kind.BOOLEAN:
            word = self.filled("lower", [value])
            return (
                f"(CASE WHEN {word} IN ('true', 't', '1') THEN TRUE WHEN {word} IN ('false', 'f', '0') THEN FALSE END)"
            )
        return self.filled(f"cast:{held.value}:{kind.value}", [value])

    def _entering(self, sql: str, stored: str) -> str:
        """Return a value as the kind that its type holds; NaN, infinities and far dates are NULL."""
        held = family(stored)
        if stored.startswith("decimal"):
            return f"CAST({sql} AS DOUBLE)"
        if held is Kind.REAL:
            return self.finite(sql if stored == "double" else f"CAST({sql} AS DOUBLE)")
        if held is Kind.DATE:
            return f"(CASE WHEN {sql} BETWEEN {_FIRST_DAY} AND {_LAST_DAY} THEN {sql} END)"
        if held is Kind.TIMESTAMP:
            moment = sql if stored == "timestamp_ntz" else f"CAST({sql} AS TIMESTAMP_NTZ)"
            return f"(CASE WHEN {moment} BETWEEN {_FIRST_MOMENT} AND {_LAST_MOMENT} THEN {moment} END)"
        if held is Kind.INTEGER:
            return sql if stored == "bigint" else f"CAST({sql} AS BIGINT)"
        return f"CAST({sql} AS STRING)" if held is Kind.TEXT and stored != "string" else sql

    # Relations.

    def public_list(self, names: Sequence[str], kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return a view made for the list: as text, 10^5 keys would be slow to parse."""
        return f"{self.quote(self._make_list(kinds, values))} AS {self.fresh('v')}({', '.join(names)})"

    def same(self, first: str, second: str, kind: Kind) -> str:
        """Return whether two values are the same, NULL and NULL included."""
        return f"({first} <=> {second})"

    def native_hash(self, fields: Sequence[tuple[str, Kind]]) -> str:
        """Return Spark's 64-bit hash, which is equal for 0 and -0."""
        return f"xxhash64({', '.join(sql for sql, _ in fields)})"

    def digest(self, text: str) -> str:
        """Return the MD5 of a text."""
        return f"md5(CAST({text} AS BINARY))"

    def days_since_1970(self, sql: str) -> str:
        """Return a date as days since 1970-01-01."""
        return f"CAST(unix_date({sql}) AS BIGINT)"

    def microseconds_since_1970(self, sql: str) -> str:
        """Return a timestamp as microseconds since 1970-01-01 00:00:00; the session's zone is UTC."""
        return f"unix_micros(CAST({sql} AS TIMESTAMP))"

    def total(self, sql: str, over: str) -> str:
        """Return the sum from two limbs that cannot overflow, so that the order of rows does not matter."""
        low = f"coalesce(sum({sql} & 4294967295L){over}, 0L)"
        high = f"coalesce(sum(shiftright({sql}, 32)){over}, 0L)"
        whole = f"({high} + shiftright({low}, 32))"
        return f"try_add(try_multiply({whole}, 4294967296L), {low} & 4294967295L)"

    def limbs(self, sql: str) -> tuple[str, str]:
        """Return the low limb (0 to 2^30 - 1) and the rest (towards minus infinity) of an integer."""
        return f"({sql} & {2**30 - 1}L)", f"shiftright({sql}, 30)"


def quoted(name: str) -> str:
    """Return a name that Spark can only read as a name.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


_FAMILIES: Final = {
    "boolean": Kind.BOOLEAN,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Kind.INTEGER),
    **dict.fromkeys(("float", "double", "decimal"), Kind.REAL),
    **dict.fromkeys(("string", "char", "varchar"), Kind.TEXT),
    "date": Kind.DATE,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Kind.TIMESTAMP),
}


def family(stored: str) -> Kind | None:
    """Return the kind that a type of Spark holds, if it is one of ours. A moment with a zone counts in UTC.

    >>> family("decimal(10,2)"), family("array<int>")
    (<Kind.REAL: 'real'>, None)
    """
    return _FAMILIES.get(stored.split("(", 1)[0])
