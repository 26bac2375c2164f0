"""The SQL of DuckDB: the form of each function, giving NULL where DuckDB would raise.

Integers are computed in 128 bits and brought back by ``TRY_CAST``, which is NULL beyond 64 bits. Reals follow IEEE
(``ieee_floating_point_ops``). Texts are compared by their UTF-8 bytes, which is by code points. Texts become numbers
and dates only after a pattern has found them to be such, because ``TRY_CAST`` alone accepts far more (``1_000``,
``0x10``, ``epoch``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from dither.data.engines.emit_forms import read_form, read_typed
from dither.data.engines.emitter import Emitter
from dither.data.expressions import Kind, Value
from dither.data.patterns import automaton
from dither.data.schema import Table

_YEAR: Final = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_DAY: Final = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME: Final = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_FIRST_DAY, _LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"
_FIRST_MOMENT, _LAST_MOMENT = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
#: The microseconds in which the first and the last nanosecond of 64 bits lie.
_FIRST_NANOSECOND, _LAST_NANOSECOND = "TIMESTAMP '1677-09-21 00:12:43.145224'", "TIMESTAMP '2262-04-11 23:47:16.854775'"
_LARGEST: Final = sys.float_info.max
#: The type of a column of texts beside which another one, ``typed_name``, says which of them the file stores otherwise.
MIXED: Final = "VARCHAR OR TYPED"
#: A cast of what stands between blanks, as ``_found`` prints it.
_BETWEEN_BLANKS: Final = re.compile(
    r"TRY_CAST\(regexp_extract\(([^']*), '\^ \*\(([^']*)\) \*\$', 1\) AS (DOUBLE|BIGINT)\)"
)
_CAPITAL, _SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def _found(pattern: str, group: int, kind: str) -> str:
    """Return a template that reads what a pattern finds in a text, otherwise NULL."""
    # Where the pattern finds nothing the text is empty, and an empty text is neither a number nor a date.
    escaped = pattern.replace("{", "{{").replace("}", "}}")
    return f"TRY_CAST(regexp_extract({{0}}, '^{escaped}$', {group}) AS {kind})"


def read_at_once(sql: str) -> str:
    """Return a cast that first tries the string as it is: the same result, without cutting most strings out.

    Where the whole text fits what is between the blanks, that is what the cast would find: the text itself.

    >>> print(read_at_once("TRY_CAST(regexp_extract(x, '^ *(a+) *$', 1) AS DOUBLE)"))
    (CASE WHEN regexp_full_match(x, 'a+') THEN TRY_CAST(x AS DOUBLE) ELSE \
TRY_CAST(regexp_extract(x, '^ *(a+) *$', 1) AS DOUBLE) END)
    """
    found = _BETWEEN_BLANKS.fullmatch(sql)
    if found is None:
        return sql
    text, pattern, kind = found.groups()
    return f"(CASE WHEN regexp_full_match({text}, '{pattern}') THEN TRY_CAST({text} AS {kind}) ELSE {sql} END)"


def _wide(operation: str) -> str:
    return f"TRY_CAST({operation} AS BIGINT)"


_MONTH: Final = "(year({0}) * 12 + month({0}))"
_MONTHS_LATER: Final = (
    f"(CASE WHEN {{1}} >= 13 - {_MONTH} AND {{1}} <= 120000 - {_MONTH} "
    "THEN {0} + to_months(TRY_CAST({1} AS INTEGER)) END)"
)
_SECONDS_LATER: Final = _wide("CAST({1} AS HUGEINT) * 1000000 + epoch_us({0})")
_FIRST_MICROSECOND, _LAST_MICROSECOND = -62135596800000000, 253402300799999999


def _record(columns: Sequence[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"'{name}': {sql}" for name, sql in columns) + "}"


class DuckDBEmitter(Emitter):
    """Prints one aggregation for DuckDB.

    Args:
        sources: for every table its FROM clause, and the types of its columns.
        make_list: puts a public list into a table and returns that table's name.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

    """

    templates: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **Emitter.templates,
            "add:integer": _wide("CAST({0} AS HUGEINT) + CAST({1} AS HUGEINT)"),
            "subtract:integer": _wide("CAST({0} AS HUGEINT) - CAST({1} AS HUGEINT)"),
            "multiply:integer": _wide("CAST({0} AS HUGEINT) * CAST({1} AS HUGEINT)"),
            "quotient": _wide("CAST({0} AS HUGEINT) // CAST({1} AS HUGEINT)"),
            "remainder": _wide("CAST({0} AS HUGEINT) % CAST({1} AS HUGEINT)"),
            "negate:integer": _wide("-CAST({0} AS HUGEINT)"),
            "absolute:integer": _wide("abs(CAST({0} AS HUGEINT))"),
            "sign": "CAST(sign({0}) AS BIGINT)",
            # Both raise below 0 before DuckDB 2.0. NaN and infinities are not between 0 and the largest real.
            "square_root": f"(CASE WHEN {{0}} BETWEEN 0 AND CAST('{_LARGEST}' AS DOUBLE) THEN sqrt({{0}}) END)",
            "logarithm": "(CASE WHEN {0} > 0 THEN ln({0}) END)",
            "floor:real": "TRY_CAST(floor({0}) AS BIGINT)",
            "ceiling:real": "TRY_CAST(ceil({0}) AS BIGINT)",
            "lower": f"translate({{0}}, '{_CAPITAL}', '{_SMALL}')",
            "upper": f"translate({{0}}, '{_SMALL}', '{_CAPITAL}')",
            "trim": "trim({0}, ' ')",
            "trim_left": "ltrim({0}, ' ')",
            "trim_right": "rtrim({0}, ' ')",
            "position": "CAST(instr({0}, {1}) AS BIGINT)",
            "bit_xor": "xor({0}, {1})",
            "starts_with": "starts_with({0}, {1})",
            "ends_with": "suffix({0}, {1})",
            "contains": "contains({0}, {1})",
            **{part: f"CAST({part}({{0}}) AS BIGINT)" for part in ("year", "quarter", "month", "day")},
            **{part: f"CAST({part}({{0}}) AS BIGINT)" for part in ("hour", "minute", "second")},
            "week": "CAST(week({0}) AS BIGINT)",
            "day_of_year": "CAST(dayofyear({0}) AS BIGINT)",
            "weekday": "CAST(isodow({0}) AS BIGINT)",
            "days_between": "date_diff('day', {0}, {1})",
            "add_days": (
                "(CASE WHEN {1} >= -719162 - date_diff('day', DATE '1970-01-01', {0}) "
                "AND {1} <= 2932896 - date_diff('day', DATE '1970-01-01', {0}) "
                "THEN {0} + TRY_CAST({1} AS INTEGER) END)"
            ),
            "add_months:date": f"CAST({_MONTHS_LATER} AS DATE)",
            "add_months:timestamp": _MONTHS_LATER,
            "microseconds": "epoch_us({0})",
            "add_seconds": (
                f"(CASE WHEN {_SECONDS_LATER} BETWEEN {_FIRST_MICROSECOND} AND {_LAST_MICROSECOND} "
                f"THEN make_timestamp({_SECONDS_LATER}) END)"
            ),
            "cast:text:integer": _found(r" *([+-]?[0-9]+)(\.0+)? *", 1, "BIGINT"),
            "cast:text:real": _found(r" *([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?) *", 1, "DOUBLE"),
            "cast:text:date": _found(_DAY, 0, "DATE"),
            "cast:text:timestamp": _found(f"{_DAY}([ T]{_TIME})?", 0, "TIMESTAMP"),
        }
    )
    keeps_rows: ClassVar[bool] = True
    finite_functions: ClassVar[frozenset[str]] = frozenset(("square_root", "logarithm"))
    # A text such as 1e400 is read as an infinity.
    tested_functions: ClassVar[frozenset[str]] = Emitter.tested_functions | {"cast:text:real"}
    raw_positions: ClassVar[Mapping[str, tuple[int, ...]]] = MappingProxyType(
        # TRY_CAST gives NULL for NaN and infinities by itself.
        {**Emitter.raw_positions, "floor": (0,), "ceiling": (0,)}
    )

    def __init__(
        self,
        sources: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]],
        make_list: Callable[[Sequence[Kind], Sequence[tuple[Value, ...]]], str],
        *,
        portable: bool = False,
    ) -> None:
        super().__init__(portable=portable)
        self._sources = sources
        self._make_list = make_list

    def like(self, sql: str, pattern: str) -> str:
        """Return whether a regular expression matches: in every DuckDB an automaton, which never backtracks."""
        return f"regexp_full_match({sql}, {self.text(automaton(pattern))})"

    def first_level(self, columns: Sequence[tuple[str, str]]) -> str:
        """Return a list of one record."""
        return f"[{_record(columns)}]"

    def next_level(self, below: str, alias: str, columns: Sequence[tuple[str, str]]) -> str:
        """Return the list with its record rebuilt."""
        return f"list_transform({below}, lambda {alias}: {_record(columns)})"

    def last_level(self, below: str, alias: str, value: str) -> str:
        """Return the value computed from the one record."""
        return f"list_transform({below}, lambda {alias}: {value})[1]"

    def source(self, table: Table) -> str:
        """Return the reader of the table."""
        return f"{self._sources[table.name][0]} AS {self.fresh('s')}"

    def cell(self, table: Table, column: str, kind: Kind) -> str:
        """Return the column as its declared kind."""
        raw, stored = self._sources[table.name][1][column]
        sql = self.quote(raw)
        if stored == MIXED:
            text = self._text_cell(table, column, sql, kind)
            return f"(CASE WHEN {self.quote(typed_name(raw))} THEN {read_typed(self, sql, kind)} ELSE {text} END)"
        if family(stored) is Kind.TEXT:
            return self._text_cell(table, column, f"CAST({sql} AS VARCHAR)", kind)
        if stored == "TIMESTAMPTZ_NS":
            sql, stored = f"CAST({sql} AS TIMESTAMP_NS)", "TIMESTAMP_NS"  # the same 64 bits: both count in UTC
        if stored == "TIMESTAMP_NS":
            # A cast would round to the nearest microsecond; a moment belongs to the one in which it lies.
            # No step of this can overflow: division is towards zero, and then one less below 1970.
            below = f"(CASE WHEN epoch_ns({sql}) % 1000 < 0 THEN 1 ELSE 0 END)"
            # The last nanosecond of 64 bits, and the second one, are DuckDB's infinities; in a file they are moments.
            ends = " ".join(
                f"WHEN {sql} = CAST('{end}' AS TIMESTAMP_NS) THEN {moment}"
                for end, moment in (("infinity", _LAST_NANOSECOND), ("-infinity", _FIRST_NANOSECOND))
            )
            sql = f"(CASE {ends} ELSE make_timestamp(epoch_ns({sql}) // 1000 - {below}) END)"
        if stored == "TIMESTAMP WITH TIME ZONE":
            sql = f"make_timestamp(epoch_us({sql}))"  # which needs no table of zones
        if stored.startswith("DECIMAL") and kind is Kind.INTEGER:
            return f"TRY_CAST(floor({sql}) AS BIGINT)"  # a double would make one of two long numbers
        return self.clean(sql, family(stored), kind)

    def _text_cell(self, table: Table, column: str, sql: str, kind: Kind) -> str:
        """Return a string as its declared kind, read by the forms that its column declares."""
        forms = table.column(column).forms
        if forms:
            read = [read_form(self, sql, form, kind) for form in forms]
            return read[0] if len(read) == 1 else f"coalesce({', '.join(read)})"
        if table.decimal is not None and kind.is_number:
            # A point would be a mark between thousands, or a slip: neither is guessed.
            sql = f"(CASE WHEN NOT contains({sql}, '.') THEN replace({sql}, ',', '.') END)"
        return self.clean(sql, Kind.TEXT, kind)

    def clean(self, sql: str, stored: Kind | None, kind: Kind) -> str:
        """Return a stored value as a declared kind, NULL where it is not of it; see ``relations.Scan``."""
        if stored is Kind.BOOLEAN and kind is Kind.BOOLEAN:
            return sql
        if stored is Kind.BOOLEAN and kind is Kind.INTEGER:
            return f"CAST({sql} AS BIGINT)"
        if stored is Kind.INTEGER:
            whole = f"TRY_CAST({sql} AS BIGINT)"
            if kind is Kind.REAL:
                return self.to_real(whole)
            return {Kind.INTEGER: whole, Kind.TEXT: self.whole_text(whole)}.get(kind, self.literal(None, kind))
        if stored is Kind.REAL and kind.is_number:
            # Tested for NaN before anything else: a file's statistics leave NaN out, and DuckDB believes them, so that
            # a cast of a cell that others do not exceed would count as never NULL.
            number = self.finite(f"CAST({sql} AS DOUBLE)")
            return number if kind is Kind.REAL else self.floor_to_integer(number)
        if stored is Kind.TEXT:
            return self._read(f"CAST({sql} AS VARCHAR)", kind)
        if stored in (Kind.DATE, Kind.TIMESTAMP) and kind in (Kind.DATE, Kind.TIMESTAMP):
            moment = f"TRY_CAST({sql} AS TIMESTAMP)"
            within = f"{moment} BETWEEN {_FIRST_MOMENT} AND {_LAST_MOMENT}"
            if stored is Kind.DATE:
                within = f"{sql} BETWEEN {_FIRST_DAY} AND {_LAST_DAY}"
            value = f"TRY_CAST({sql} AS DATE)" if kind is Kind.DATE else moment
            return f"(CASE WHEN {within} THEN {value} END)"
        return self.literal(None, kind)

    def _read(self, sql: str, kind: Kind) -> str:
        if kind is Kind.TEXT:
            return sql
        if kind is Kind.BOOLEAN:
            word = self.filled("lower", [sql])
            return (
                f"(CASE WHEN {word} IN ('true', 't', '1') THEN TRUE WHEN {word} IN ('false', 'f', '0') THEN FALSE END)"
            )
        read = self.filled(f"cast:text:{kind.value}", [sql])
        return self.finite(read) if kind is Kind.REAL else read

    def public_list(self, names: Sequence[str], kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return a table made for the list: as text, 10^5 keys would be slow to parse."""
        return f"{self._make_list(kinds, values)} AS {self.fresh('v')}({', '.join(names)})"

    def order_key(self, sql: str, kind: Kind, *, descending: bool = False) -> str:
        """Return a value to sort by: DuckDB sorts texts by bytes, and 0 and -0 alike."""
        return f"{sql} {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}"

    def native_hash(self, fields: Sequence[tuple[str, Kind]]) -> str:
        """Return DuckDB's 64-bit hash, which is equal for 0 and -0."""
        return f"hash({', '.join(sql for sql, _ in fields)})"

    def days_since_1970(self, sql: str) -> str:
        """Return a date as days since 1970-01-01."""
        return f"date_diff('day', DATE '1970-01-01', {sql})"

    def microseconds_since_1970(self, sql: str) -> str:
        """Return a timestamp as microseconds since 1970-01-01 00:00:00."""
        return f"epoch_us({sql})"

    def total(self, sql: str, over: str) -> str:
        """Return the sum, which DuckDB computes in 128 bits."""
        return f"TRY_CAST(coalesce(sum({sql}){over}, 0) AS BIGINT)"


def typed_name(raw: str) -> str:
    """Return the name of the column that marks which cells of another one are not stored as strings."""
    return f"{raw} is typed"


_FAMILIES: Final = {
    "BOOLEAN": Kind.BOOLEAN,
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Kind.INTEGER),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), Kind.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), Kind.REAL),
    # A frame whose cells are all NULL has no type: to refuse it would reveal its cells.
    **dict.fromkeys(("VARCHAR", "ENUM", '"NULL"'), Kind.TEXT),
    "DATE": Kind.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Kind.TIMESTAMP),
    # A moment with a zone counts in UTC.
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"), Kind.TIMESTAMP),
}


def family(stored: str) -> Kind | None:
    """Return the kind that a type of DuckDB holds, if it is one of ours.

    >>> family("DECIMAL(18,3)"), family("TIME WITH TIME ZONE")
    (<Kind.REAL: 'real'>, None)
    """
    return _FAMILIES.get(stored.split("(", 1)[0].strip().upper())
