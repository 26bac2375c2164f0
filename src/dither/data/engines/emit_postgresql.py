"""The SQL of PostgreSQL: the form of each function, giving NULL where PostgreSQL would raise.

Arithmetic never raises (``postgresql_forms``), nor does the reading of texts (``postgresql_texts``). Forms that read an
operand several times would grow beyond all measure when nested, so a long operand is computed once, in a subquery that
the planner may not dissolve (``OFFSET 0``). Texts compare in collation "C", by code points. Integers are always 64 bits
wide. Public lists are array constants, which need no temporary table: a role that may only read is enough.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from dither.data.engines import postgresql_forms as forms
from dither.data.engines import postgresql_texts as texts
from dither.data.engines.emitter import Emitter
from dither.data.expressions import Grid, Kind, Value
from dither.data.patterns import escaped
from dither.data.portable_hash import LARGEST_REAL, REAL_STEPS
from dither.data.schema import Table

#: An operand of more characters is computed once where a form reads it several times.
_LONG: Final = 160
_FIRST_DAY, _LAST_DAY = "'0001-01-01'::date", "'9999-12-31'::date"
#: What stands for NULL where two values are compared by equality, beside a comparison of who is NULL.
_STAND_IN: Final = MappingProxyType(
    {
        Kind.BOOLEAN: "false",
        Kind.INTEGER: "0",
        Kind.REAL: "0",
        Kind.TEXT: "''",
        Kind.DATE: _FIRST_DAY,
        Kind.TIMESTAMP: "'0001-01-01'::timestamp",
    }
)

_MONTH: Final = "(extract(year from {0})::bigint * 12 + extract(month from {0})::bigint)"
_MONTHS_LATER: Final = (
    "(CASE WHEN {1} BETWEEN -120000 AND 120000 THEN"
    f" CASE WHEN {{1}} BETWEEN 13 - {_MONTH} AND 120000 - {_MONTH}"
    " THEN {0} + make_interval(months => {1}::integer) END END)"
)


def _outputs(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in columns)


@dataclass(frozen=True)
class Source:
    """Where a declared table is: what stands after FROM, and for each declared column its name there and its type."""

    place: str
    columns: Mapping[str, tuple[str, str]]


class PostgreSQLEmitter(Emitter):
    """Prints one aggregation for PostgreSQL.

    Args:
        sources: where the declared tables are.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

    """

    fence: ClassVar[str] = " OFFSET 0"
    types: ClassVar[Mapping[Kind, str]] = MappingProxyType(
        {**Emitter.types, Kind.REAL: "double precision", Kind.TEXT: "text"}
    )
    templates: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **Emitter.templates,
            "add:integer": forms.add_integers("{0}", "{1}"),
            "subtract:integer": forms.subtract_integers("{0}", "{1}"),
            "multiply:integer": forms.multiply_integers("{0}", "{1}"),
            "quotient": forms.quotient("{0}", "{1}"),
            "remainder": forms.remainder("{0}", "{1}"),
            "negate:integer": forms.negate_integer("{0}"),
            "absolute:integer": forms.absolute_integer("{0}"),
            "sign": forms.sign("{0}"),
            "shift_right": forms.shift_right("{0}", "{1}"),
            "floor:real": forms.real_to_integer("{0}"),
            "ceiling:real": forms.real_to_integer("{0}", "ceil"),
            "add:real": forms.add_reals("{0}", "{1}"),
            "subtract:real": forms.add_reals("{0}", "{1}", "-"),
            "multiply:real": forms.multiply_reals("{0}", "{1}"),
            "divide": forms.divide_reals("{0}", "{1}"),
            "square_root": forms.square_root("{0}"),
            "exponential": forms.exponential("{0}"),
            "logarithm": forms.logarithm("{0}"),
            "power": forms.power("{0}", "{1}"),
            # Of this collation the 26 letters alone; translate takes fifty times as long.
            "lower": 'lower({0} COLLATE "C")',
            "upper": 'upper({0} COLLATE "C")',
            "trim": "btrim({0}, ' ')",
            "trim_left": "ltrim({0}, ' ')",
            "trim_right": "rtrim({0}, ' ')",
            "length": "length({0})::bigint",
            "position": "strpos({0}, {1})::bigint",
            "bit_xor": "({0} # {1})",
            "starts_with": "starts_with({0}, {1})",
            "ends_with": "(right({0}, length({1})) = {1})",
            "contains": "(strpos({0}, {1}) > 0)",
            **{part: f"extract({part} from {{0}})::bigint" for part in ("year", "quarter", "month", "day")},
            **{part: f"extract({part} from {{0}})::bigint" for part in ("hour", "minute")},
            "second": "floor(extract(second from {0}))::bigint",
            "microseconds": "(extract(epoch from {0}) * 1000000)::bigint",
            "week": "extract(week from {0})::bigint",
            "day_of_year": "extract(doy from {0})::bigint",
            "weekday": "extract(isodow from {0})::bigint",
            "days_between": "({1} - {0})::bigint",
            "add_days": (
                "(CASE WHEN {1} BETWEEN -3652058 AND 3652058 THEN"
                f" CASE WHEN {{1}} BETWEEN {_FIRST_DAY} - {{0}} AND {_LAST_DAY} - {{0}} THEN {{0}} + {{1}}::integer END"
                " END)"
            ),
            "add_months:date": f"{_MONTHS_LATER}::date",
            "add_months:timestamp": _MONTHS_LATER,
            # A double times a second is exact for all of these, because a million has six factors of two.
            "add_seconds": (
                "(CASE WHEN floor(extract(epoch from {0})) + {1} BETWEEN -62135596800 AND 253402300799"
                " THEN {0} + make_interval(secs => {1}::double precision) END)"
            ),
            "cast:boolean:integer": "{0}::integer::bigint",
            "cast:integer:text": "{0}::text",
            "cast:date:timestamp": "{0}::timestamp",
            "cast:timestamp:date": "{0}::date",
            "cast:text:integer": texts.INTEGER,
            "cast:text:real": texts.REAL,
            "cast:text:date": texts.DATE,
            "cast:text:timestamp": texts.TIMESTAMP,
        }
    )
    # Nothing is ever NaN or infinite: the forms give NULL.
    raw_positions: ClassVar[Mapping[str, tuple[int, ...]]] = MappingProxyType({})
    tested_functions: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, sources: Mapping[str, Source], *, portable: bool = False) -> None:
        super().__init__(portable=portable)
        self._sources = sources

    # Expressions.

    def literal(self, value: Value, kind: Kind) -> str:
        """Return a constant of the kind; a text without its type would be read, at once, as the type it is cast to."""
        sql = super().literal(value, kind)
        return f"{sql}::text" if kind is Kind.TEXT and value is not None else sql

    def finite(self, sql: str) -> str:
        """Return the value unchanged: it is finite."""
        return sql

    def compared(self, sql: str, kind: Kind) -> str:
        """Return a text in the collation that compares by code points."""
        return f'({sql} COLLATE "C")' if kind is Kind.TEXT else sql

    def filled(self, key: str, arguments: Sequence[str]) -> str:
        """Return the template with its arguments; long arguments that it repeats are computed once."""
        template = self.templates.get(key) or self.templates[key.split(":")[0]]
        repeated = [template.count(f"{{{place}}}") > 1 for place in range(len(arguments))]
        return self._bound(arguments, repeated, lambda names: template.format(*names, all=", ".join(names)))

    def _bound(self, operands: Sequence[str], repeated: Sequence[bool], form: Callable[[Sequence[str]], str]) -> str:
        long = [is_repeated and len(sql) > _LONG for sql, is_repeated in zip(operands, repeated, strict=True)]
        if not any(long):
            return form(operands)
        alias = self.fresh("b")
        names = [
            f"{alias}.x{place}" if is_long else sql
            for place, (sql, is_long) in enumerate(zip(operands, long, strict=True))
        ]
        computed = ", ".join(f"{sql} AS x{place}" for place, sql in enumerate(operands) if long[place])
        return f"(SELECT {form(names)} FROM (SELECT {computed} OFFSET 0) AS {alias})"  # noqa: S608 - printed here

    def like(self, sql: str, pattern: str) -> str:
        """Return PostgreSQL's own LIKE, which tries each place of a text once for each ``%``."""
        return f"({sql} LIKE {self.text(escaped(pattern))} ESCAPE {self.text(chr(92))})"

    def clamped(self, sql: str, lower: str, upper: str) -> str:
        """Return the value moved into a range; NULL stays NULL."""

        def form(names: Sequence[str]) -> str:
            return f"(CASE WHEN {names[0]} IS NOT NULL THEN least(greatest({names[0]}, {lower}), {upper}) END)"

        return self._bound([sql], [True], form)

    def grid(self, sql: str, grid: Grid) -> str:
        """Return the clamped number of steps from the origin to a clamped real, as an integer."""
        lower, upper, origin = float(grid.lower), float(grid.upper), float(grid.origin)

        def form(names: Sequence[str]) -> str:
            moved = f"least(greatest({names[0]}, {self.real(lower)}), {self.real(upper)})"
            if origin and math.isfinite(lower - origin) and math.isfinite(upper - origin):
                moved = f"({moved} - {self.real(origin)})"
            elif origin:
                moved = self.filled("subtract:real", [moved, self.real(origin)])
            steps = f"floor({self._scaled(moved, grid.exponent)})::bigint"
            if origin:
                steps = f"least(greatest({steps}, {self.integer(grid.least)}), {self.integer(grid.most)})"
            return f"(CASE WHEN {names[0]} IS NOT NULL THEN {steps} END)"

        return self._bound([sql], [True], form)

    def _scaled(self, sql: str, exponent: int) -> str:
        """Return the product with a power of two, 0 where it underflows; it is known not to overflow."""
        if exponent == 0:
            return sql
        factor = self.real(2.0**exponent)
        if exponent > 0:
            return f"({sql} * {factor})"
        vanishing = self.real(2.0 ** (-1075 - exponent))

        def form(names: Sequence[str]) -> str:
            return f"(CASE WHEN abs({names[0]}) <= {vanishing} THEN 0 ELSE {names[0]} * {factor} END)"

        return self._bound([sql], [True], form)

    def truncate_date(self, sql: str, unit: str, kind: Kind) -> str:
        """Return the first day of the unit, as a date."""
        return f"date_trunc('{unit}', {sql}::timestamp)::date"

    def substring(self, sql: str, start: int, length: int) -> str:
        """Return ``length`` code points from position ``start`` >= 1; no text has 10^9 of them."""
        return f"substring({sql}, {min(start, 10**9)}, {min(length, 10**9)})"

    def first_level(self, columns: Sequence[tuple[str, str]]) -> str:
        """Return a subquery that the planner may not flatten."""
        return f"SELECT {_outputs(columns)} OFFSET 0"

    def next_level(self, below: str, alias: str, columns: Sequence[tuple[str, str]]) -> str:
        """Return a subquery over the one below."""
        return f"SELECT {_outputs(columns)} FROM ({below}) AS {alias} OFFSET 0"  # noqa: S608 - printed here

    def last_level(self, below: str, alias: str, value: str) -> str:
        """Return the value of a subquery."""
        return f"(SELECT {value} FROM ({below}) AS {alias})"  # noqa: S608 - printed here

    # Tables.

    def source(self, table: Table) -> str:
        """Return the table."""
        return f"{self._sources[table.name].place} AS {self.fresh('s')}"

    def cell(self, table: Table, column: str, kind: Kind) -> str:
        """Return the column as its declared kind."""
        raw, stored = self._sources[table.name].columns[column]
        return self.clean(self.quote(raw), stored, kind)

    def clean(self, sql: str, stored: str, kind: Kind) -> str:
        """Return a value of a type of PostgreSQL as a declared kind, NULL where it is not of it."""
        held = family(stored)
        if stored == "numeric" and kind is Kind.INTEGER:
            within = f"{sql} >= {forms.LEAST_INTEGER}::numeric AND {sql} < {2**63}"
            return f"(CASE WHEN {within} THEN floor({sql})::bigint END)"
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
                f"(CASE WHEN {word} IN ('true', 't', '1') THEN true WHEN {word} IN ('false', 'f', '0') THEN false END)"
            )
        return self.filled(f"cast:{held.value}:{kind.value}", [value])

    def _entering(self, sql: str, stored: str) -> str:
        """Return a value as the kind that its type holds; NaN, infinities and far dates are NULL."""
        if stored == "numeric":
            size = f"abs({sql})"
            tiny = f"CASE WHEN {size} <= {texts.UNDERFLOW} THEN 0 ELSE {sql}::double precision END"
            return f"(CASE WHEN {size} < {texts.OVERFLOW} THEN {tiny} END)"
        if family(stored) is Kind.REAL:
            inside = f"{sql} > '-Infinity'::{stored} AND {sql} < 'Infinity'::{stored}"
            return f"(CASE WHEN {inside} THEN {sql}::double precision END)"
        if stored == "date":
            return f"(CASE WHEN {sql} BETWEEN {_FIRST_DAY} AND {_LAST_DAY} THEN {sql} END)"
        if stored in ("timestamp", "timestamptz"):
            zone = "+00" if stored == "timestamptz" else ""
            first, beyond = (f"'{day} 00:00:00{zone}'::{stored}" for day in ("0001-01-01", "10000-01-01"))
            value = f"({sql} AT TIME ZONE 'UTC')" if zone else sql
            return f"(CASE WHEN {sql} >= {first} AND {sql} < {beyond} THEN {value} END)"
        if family(stored) is Kind.TEXT:
            return f'({sql}::text COLLATE "C")'
        return f"{sql}::bigint" if family(stored) is Kind.INTEGER else sql

    # Relations.

    def public_list(self, names: Sequence[str], kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return the list as one array for each column."""
        columns = []
        for place, kind in enumerate(kinds):
            elements = ",".join(_element(row[place], kind) for row in values)
            columns.append(f"CAST({self.text('{' + elements + '}')} AS {self.types[kind]}[])")
        return f"unnest({', '.join(columns)}) AS {self.fresh('v')}({', '.join(names)})"

    def same(self, first: str, second: str, kind: Kind) -> str:
        """Return whether two values are the same, by equalities alone: IS NOT DISTINCT FROM cannot be hashed."""
        stand_in = _STAND_IN[kind]
        mine, theirs = (self.compared(sql, kind) for sql in (first, second))
        equal = f"coalesce({mine}, {stand_in}) = coalesce({theirs}, {stand_in})"
        return f"({equal} AND ({first} IS NULL) = ({second} IS NULL))"

    def native_hash(self, fields: Sequence[tuple[str, Kind]]) -> str:
        """Return PostgreSQL's 64-bit hash of a record, which is equal for 0 and -0."""
        return f"hash_record_extended(ROW({', '.join(sql for sql, _ in fields)}), 0)"

    def digest(self, text: str) -> str:
        """Return the MD5 of a text, in the collation that sorts by code points."""
        return f'(md5({text}) COLLATE "C")'

    def whole(self, sql: str, kind: Kind) -> str:
        """Return the integer that stands for a value in its canonical text."""
        if kind is not Kind.REAL:
            return super().whole(sql, kind)
        clamped = self.clamped(sql, self.real(-LARGEST_REAL), self.real(LARGEST_REAL))
        return f"floor({clamped} * {self.real(REAL_STEPS)})::bigint"

    def days_since_1970(self, sql: str) -> str:
        """Return a date as days since 1970-01-01."""
        return f"({sql} - '1970-01-01'::date)::bigint"

    def microseconds_since_1970(self, sql: str) -> str:
        """Return a timestamp as microseconds since 1970-01-01 00:00:00, by way of exact decimals."""
        return f"(extract(epoch from {sql}) * 1000000)::bigint"

    def total(self, sql: str, over: str) -> str:
        """Return the sum, which PostgreSQL computes exactly."""
        added = f"coalesce(sum({sql}){over}, 0)"
        fits = f"{added} BETWEEN {forms.LEAST_INTEGER}::numeric AND {forms.MOST_INTEGER}::numeric"
        return f"(CASE WHEN {fits} THEN {added}::bigint END)"

    def extreme(self, sql: str, kind: Kind, *, smallest: bool, over: str) -> str:
        """Return the smallest or largest value; booleans have their own aggregates."""
        if kind is Kind.BOOLEAN:
            return f"{'bool_and' if smallest else 'bool_or'}({sql}){over}"
        return super().extreme(sql, kind, smallest=smallest, over=over)


def _element(value: Value, kind: Kind) -> str:
    """Return an element of an array constant."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, datetime.datetime):
        return f'"{value.isoformat(sep=" ")}"'
    return repr(float(value)) if kind is Kind.REAL and isinstance(value, int | float) else str(value)


_FAMILIES: Final = {
    "bool": Kind.BOOLEAN,
    **dict.fromkeys(("int2", "int4", "int8"), Kind.INTEGER),
    **dict.fromkeys(("float4", "float8", "numeric"), Kind.REAL),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid", "enum"), Kind.TEXT),
    "date": Kind.DATE,
    **dict.fromkeys(("timestamp", "timestamptz"), Kind.TIMESTAMP),
}


def family(stored: str) -> Kind | None:
    """Return the kind that a type of PostgreSQL holds, if it is one of ours. A moment with a zone counts in UTC.

    >>> family("int4"), family("jsonb")
    (<Kind.INTEGER: 'integer'>, None)
    """
    return _FAMILIES.get(stored)
