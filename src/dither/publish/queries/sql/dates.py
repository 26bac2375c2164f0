"""Dates and timestamps of SQL: parts, truncation, differences, intervals, in the spellings of several dialects.

A unit is a text or a bare word, first (DuckDB, PostgreSQL, Snowflake, Spark) or last (BigQuery). Where a word could be
either a unit or a column, the query is refused. Weeks begin on Monday and are those of ISO 8601, as in DuckDB.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dither.data import Call, Case, Cast, Expression, Kind, Literal
from dither.data.evaluation import evaluate
from dither.errors import DitherError
from dither.publish.queries.assemble import conjunction
from dither.publish.queries.sql.expressions import Scalars, Typed, literal
from dither.publish.queries.sql.numbers import whole_number

if TYPE_CHECKING:
    from sqlglot import exp

_PLAIN: Final = MappingProxyType(
    {
        **{part: part for part in ("year", "quarter", "month", "day", "hour", "minute", "second")},
        **dict.fromkeys(("dayofmonth", "dom"), "day"),
        **dict.fromkeys(("isodow", "dayofweekiso", "dayofweek_iso"), "weekday"),
        **dict.fromkeys(("week", "weekofyear", "isoweek"), "week"),
        **dict.fromkeys(("doy", "dayofyear"), "day_of_year"),
    }
)
_MONTHS: Final = MappingProxyType({"month": 1, "quarter": 3, "year": 12})
_DAYS: Final = MappingProxyType({"day": 1, "week": 7})
_SECONDS: Final = MappingProxyType({"second": 1, "minute": 60, "hour": 3600})
_DATE_UNITS: Final = ("year", "quarter", "month", "week", "day")
_ALIASES: Final = MappingProxyType({"isoweek": "week"})
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_KNOWN_PARTS: Final = (
    "YEAR, QUARTER, MONTH, WEEK, DAY, DOW, ISODOW, DOY, ISOYEAR, EPOCH, or HOUR, MINUTE, SECOND of a timestamp"
)
_MOST: Final = 10**7
_UNIT_FIRST: Final = frozenset(("DATEDIFF", "TIMESTAMPDIFF", "DATETRUNC", "DATEPART"))
_UNIT_LAST: Final = frozenset(("DATE_DIFF", "TIMESTAMP_DIFF", "DATETIME_DIFF", "TIMESTAMP_TRUNC", "DATETIME_TRUNC"))
_SUNDAY: Final = (
    "a WEEK that begins on Sunday",
    "write ISOWEEK, or the unit first as 'week': weeks begin on Monday here",
)


def whole(value: int) -> Typed:
    """Return an integer constant."""
    return literal(value, Kind.INTEGER)


def as_day(value: Typed) -> Typed:
    """Return the day of a timestamp; a date as it is."""
    return Typed(Cast(value.expression, Kind.DATE), Kind.DATE) if value.kind is Kind.TIMESTAMP else value


def part_of_date(scalars: Scalars, node: exp.Expression, part: str, value: Typed) -> Typed:
    """Return a part of a date or timestamp, an integer but for the seconds since 1970 of a timestamp."""
    part = part.lower()
    if part in ("dow", "dayofweek", "weekday"):
        return scalars.call(node, "remainder", scalars.call(node, "weekday", value), whole(7))
    if part in ("isoyear", "yearofweekiso"):
        # A week belongs to the year of its Thursday.
        monday = scalars.call(node, "truncate_date", value, literal("week", Kind.TEXT))
        return scalars.call(node, "year", scalars.call(node, "add_days", monday, whole(3)))
    if part == "epoch":
        if value.kind is Kind.TIMESTAMP:
            return scalars.call(node, "divide", scalars.call(node, "microseconds", value), whole(1_000_000))
        start = literal(datetime.date(1970, 1, 1), Kind.DATE)
        return scalars.call(node, "multiply", scalars.call(node, "days_between", start, value), whole(86_400))
    function = _PLAIN.get(part) or _PLAIN.get(part.removesuffix("s"))
    if function is None:
        scalars.refuse(node, f"{part.upper()[:40]} is not a part of a date that is understood", f"take {_KNOWN_PARTS}")
    return scalars.call(node, function, value)


def extract(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``EXTRACT(part FROM x)``."""
    scalars.only(node, "this", "expression")
    return part_of_date(scalars, node, str(node.this.name or node.this.key), scalars.day(node.expression))


def part_by_name(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``DATE_PART('month', x)``."""
    unit, values, _ = _unit_and_values(scalars, node, (2,))
    return part_of_date(scalars, node, unit, scalars.day(values[0]))


def _word(node: exp.Expression) -> str | None:
    """Return the unit that a node may name: a text, or a bare word."""
    if node.key == "literal" and node.is_string:
        return str(node.this).lower()
    if node.key == "var":
        return str(node.name).lower()
    if node.key == "column" and not node.args.get("table"):
        return str(node.name).lower()
    return None


def _is_unit(word: str | None) -> bool:
    plain = "" if word is None else word.removesuffix("s")
    units = (*_DATE_UNITS, *_SECONDS, *_PLAIN, *_ALIASES, "dow", "doy", "epoch", "isoyear", "dayofweek", "dayofyear")
    return plain in units or word in units


def _is_column(scalars: Scalars, node: exp.Expression) -> bool:
    if node.key != "column":
        return False
    try:
        scalars.column(node)  # type: ignore[arg-type]
    except DitherError as error:
        return "raw values" in str(error)  # a column that is neither grouped by nor aggregated
    return True


def _unit_and_values(
    scalars: Scalars, node: exp.Expression, numbers: Sequence[int]
) -> tuple[str, list[exp.Expression], bool]:
    """Return the unit among a function's arguments, the others, and whether the unit came last."""
    parts = list(node.expressions)
    name = str(node.name).lstrip("~").upper()
    if len(parts) not in numbers:
        scalars.refuse(node, f"{name} with {len(parts)} arguments", f"give it {' or '.join(map(str, numbers))}")
    first, last = parts[0], parts[-1]
    may_be_first, may_be_last = _is_unit(_word(first)), _is_unit(_word(last))
    if may_be_first and may_be_last:
        # A text is never a column; a word that is a column is taken for it, unless both are.
        may_be_first = first.key == "literal" or not _is_column(scalars, first)
        may_be_last = last.key == "literal" or not _is_column(scalars, last)
    if not may_be_first and not may_be_last and _is_unit(_word(first)) and _is_unit(_word(last)):
        # Both are columns as well: these names have one order in all dialects that write a bare word.
        may_be_first, may_be_last = name in _UNIT_FIRST, name in _UNIT_LAST
    if may_be_first == may_be_last:
        scalars.refuse(
            node, f"{name} without a unit that is understood", f"write the unit as a string: {name}('month', ...)"
        )
    word = str(_word(first if may_be_first else last))
    return word, parts[1:] if may_be_first else parts[:-1], may_be_last


def truncate(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``DATE_TRUNC('month', x)``, and BigQuery's ``DATE_TRUNC(x, MONTH)``."""
    word, values, is_last = _unit_and_values(scalars, node, (2,))
    unit = _ALIASES.get(word, word)
    if is_last and word == "week":
        scalars.refuse(node, *_SUNDAY)
    if unit in _SECONDS:
        return scalars.call(node, "truncate_time", scalars.day(values[0]), literal(unit, Kind.TEXT))
    if unit not in _DATE_UNITS:
        scalars.refuse(
            node,
            f"{unit.upper()[:40]} is not a unit to truncate to",
            "truncate to year, quarter, month, week, day, hour, minute or second",
        )
    return scalars.call(node, "truncate_date", scalars.day(values[0]), literal(unit, Kind.TEXT))


def difference(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return the number of boundaries of a unit between two dates, of weeks every seven days."""
    name = str(node.name).lstrip("~").lower()
    if len(node.expressions) == 2:  # Spark and MySQL: days, the later date first
        later, earlier = (as_day(scalars.day(part)) for part in node.expressions)
        return scalars.call(node, "days_between", earlier, later)
    word, values, is_last = _unit_and_values(scalars, node, (2, 3))
    unit = _ALIASES.get(word, word).removesuffix("s")
    if is_last and word == "week":
        scalars.refuse(node, *_SUNDAY)
    first, second = (scalars.day(part) for part in values)
    earlier, later = (second, first) if is_last else (first, second)
    if name in ("timestampdiff", "timestamp_diff"):
        return _whole_units(scalars, node, unit, earlier, later)
    if unit in _SECONDS:
        ends = [units_since(scalars, node, unit, end) for end in (later, earlier)]
        return scalars.call(node, "subtract", *ends)
    earlier, later = as_day(earlier), as_day(later)
    if unit == "week":
        return scalars.call(node, "quotient", scalars.call(node, "days_between", earlier, later), whole(7))
    if unit == "day":
        return scalars.call(node, "days_between", earlier, later)
    if unit not in _MONTHS:
        scalars.refuse(
            node,
            f"{unit.upper()[:40]} is not a unit to count",
            "count years, quarters, months, weeks, days, hours, minutes or seconds",
        )
    years = scalars.call(node, "subtract", scalars.call(node, "year", later), scalars.call(node, "year", earlier))
    if unit == "year":
        return years
    parts = scalars.call(node, "subtract", scalars.call(node, unit, later), scalars.call(node, unit, earlier))
    return scalars.call(node, "add", scalars.call(node, "multiply", years, whole(12 // _MONTHS[unit])), parts)


def units_since(scalars: Scalars, node: exp.Expression, unit: str, moment: Typed) -> Typed:
    """Return the number of hours, minutes or seconds from 1970 to the one in which a moment lies."""
    start = scalars.call(node, "truncate_time", _as_moment(moment), literal(unit, Kind.TEXT))
    return scalars.call(node, "quotient", scalars.call(node, "microseconds", start), whole(_SECONDS[unit] * 1_000_000))


def _as_moment(value: Typed) -> Typed:
    return value if value.kind is Kind.TIMESTAMP else Typed(Cast(value.expression, Kind.TIMESTAMP), Kind.TIMESTAMP)


def _whole_units(scalars: Scalars, node: exp.Expression, unit: str, earlier: Typed, later: Typed) -> Typed:
    seconds = _SECONDS.get(unit) or {"day": 86_400, "week": 604_800}.get(unit)
    if seconds is None:
        scalars.refuse(node, f"whole {unit}s between two moments", f"write DATEDIFF('{unit[:20]}', earlier, later)")
    ends = [scalars.call(node, "microseconds", _as_moment(end)) for end in (later, earlier)]
    return scalars.call(node, "quotient", scalars.call(node, "subtract", *ends), whole(seconds * 1_000_000))


# Intervals.


def moved(scalars: Scalars, node: exp.Expression, value: Typed, interval: exp.Expression, sign: int) -> Typed:
    """Return a date or timestamp and an INTERVAL added or subtracted; months end at the last day of a shorter one."""
    unit = str(getattr(interval.args.get("unit"), "name", "") or "").lower().removesuffix("s")
    said = interval.args.get("this")
    if said is None or interval.args["unit"] is None or unit not in (*_MONTHS, *_DAYS, *_SECONDS):
        scalars.refuse(
            interval if said is not None else node,
            "an interval that is not a number of one unit",
            "write INTERVAL 30 DAY: YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND",
        )
    return later(scalars, node, value, _number(scalars, said), unit, sign)


def _number(scalars: Scalars, said: exp.Expression) -> Typed:
    if said.key == "literal":
        text = str(said.this).strip()
        many = whole_number(text.removeprefix("-"), _MOST)
        if many is None:
            scalars.refuse(
                said, "an interval that is not a number of one unit", f"write INTERVAL 30 DAY, with at most {_MOST:,}"
            )
        return whole(-many if text.startswith("-") else many)
    found = scalars.number(said)
    if found.kind is not Kind.INTEGER:
        scalars.refuse(said, "an interval of something else than an integer", "write INTERVAL 30 DAY")
    return found


def later(scalars: Scalars, node: exp.Expression, value: Typed, many: Typed, unit: str, sign: int) -> Typed:
    """Return the moment a number of units after a date or timestamp, or before it."""
    if isinstance(value.expression, Literal) and value.kind is Kind.TEXT:
        value = scalars.converted(node, value, Kind.DATE)
    if value.kind not in (Kind.DATE, Kind.TIMESTAMP):
        scalars.refuse(node, "an interval beside something else than a date", "add it to a date or timestamp")
    if unit in _MONTHS:
        function, factor = "add_months", _MONTHS[unit]
    elif unit in _DAYS and value.kind is Kind.DATE:
        function, factor = "add_days", _DAYS[unit]
    else:
        function, factor = "add_seconds", _SECONDS.get(unit) or _DAYS[unit] * 86_400
        value = _as_moment(value)
    by = _times(scalars, node, many, sign * factor)
    return _folded(scalars.call(node, function, value, by))


def _times(scalars: Scalars, node: exp.Expression, many: Typed, factor: int) -> Typed:
    constant = many.expression
    if isinstance(constant, Literal) and isinstance(constant.value, int):
        return whole(constant.value * factor)
    return many if factor == 1 else scalars.call(node, "multiply", many, whole(factor))


def _folded(value: Typed) -> Typed:
    """Return a constant where all parts are, so that bounds and conditions see its value."""
    made = value.expression
    if value.kind is not None and all(isinstance(part, Literal) for part in made.children()):
        return Typed(Literal(evaluate(made, {}, {}), value.kind), value.kind)
    return value


def added(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``DATE_ADD``, ``DATE_SUB`` and kin, in any dialect's order of arguments."""
    name = str(node.name).lstrip("~").lower()
    sign = -1 if "sub" in name else 1
    parts = list(node.expressions)
    if len(parts) == 2 and parts[1].key == "interval":
        return moved(scalars, node, scalars.day(parts[0]), parts[1], sign)
    if len(parts) == 2 and name in ("date_add", "date_sub"):  # Spark and MySQL: days
        return later(scalars, node, scalars.day(parts[0]), _number(scalars, parts[1]), "day", sign)
    unit = _word(parts[0]) if len(parts) == 3 and sign > 0 else None
    unit = None if unit is None else unit.removesuffix("s")
    if unit not in (*_MONTHS, *_DAYS, *_SECONDS):
        scalars.refuse(
            node,
            f"{name.upper()} in this form is not understood",
            "write x + INTERVAL 3 MONTH, DATE_ADD(x, INTERVAL 3 MONTH) or DATEADD('month', 3, x)",
        )
    return later(scalars, node, scalars.day(parts[2]), _number(scalars, parts[1]), str(unit), 1)


def add_months(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``ADD_MONTHS(x, n)``."""
    scalars.only(node, "this", "expression", "preserve_end_of_month")
    return later(scalars, node, scalars.day(node.this), _number(scalars, node.expression), "month", 1)


def last_day(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return the last day of a date's month: of the 31st of January, as many months later."""
    scalars.only(node, "this")
    day = as_day(scalars.day(node.this))
    january = scalars.call(node, "truncate_date", day, literal("year", Kind.TEXT))
    months = scalars.call(node, "subtract", scalars.call(node, "month", day), whole(1))
    return scalars.call(node, "add_months", scalars.call(node, "add_days", january, whole(30)), months)


def made_date(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``MAKE_DATE(year, month, day)``, NULL where there is no such day."""
    scalars.only(node, "year", "month", "day")
    year, month, day = (scalars.number(node.args.get(part)) for part in ("year", "month", "day"))  # type: ignore[arg-type]
    years = scalars.call(node, "multiply", scalars.call(node, "subtract", year, whole(1)), whole(12))
    months = scalars.call(node, "add", years, scalars.call(node, "subtract", month, whole(1)))
    first = scalars.call(node, "add_months", literal(datetime.date(1, 1, 1), Kind.DATE), months)
    made = scalars.call(node, "add_days", first, scalars.call(node, "subtract", day, whole(1)))
    # Whatever the month does not have is another day of another month.
    same = [scalars.call(node, "equal", scalars.call(node, "day", made), day).expression]
    for part, last in ((year, 9999), (month, 12)):
        if not isinstance(part.expression, Literal) or part.expression.value not in range(1, last + 1):
            ends = (("at_least", 1), ("at_most", last))
            same += [scalars.call(node, compared, part, whole(end)).expression for compared, end in ends]
    whole_date = Case(((conjunction(same), made.expression),), Literal(None, Kind.DATE))
    if all(isinstance(part.expression, Literal) for part in (year, month, day)):
        return literal(evaluate(whole_date, {}, {}), Kind.DATE)
    return Typed(whole_date, Kind.DATE)


def day_name(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return the English name of a weekday."""
    return _name_of(scalars, node, "weekday", _WEEKDAYS)


def month_name(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return the English name of a month."""
    return _name_of(scalars, node, "month", _MONTH_NAMES)


def _name_of(scalars: Scalars, node: exp.Expression, part: str, names: Sequence[str]) -> Typed:
    argument = node.expressions[0] if node.key == "anonymous" and len(node.expressions) == 1 else node.this
    number = scalars.call(node, part, scalars.day(argument)).expression
    branches = tuple(
        (Call("equal", (number, Literal(place, Kind.INTEGER))), Literal(name, Kind.TEXT))
        for place, name in enumerate(names, start=1)
    )
    return Typed(Case(branches, Literal(None, Kind.TEXT)), Kind.TEXT)


# Dates as texts.

_FORMATS: Final = MappingProxyType(
    {
        "%Y": ("year", 4),
        "%m": ("month", 2),
        "%d": ("day", 2),
        "%H": ("hour", 2),
        "%M": ("minute", 2),
        "%S": ("second", 2),
        "YYYY": ("year", 4),
        "MM": ("month", 2),
        "DD": ("day", 2),
        "HH24": ("hour", 2),
        "MI": ("minute", 2),
        "SS": ("second", 2),
    }
)
_PERCENT: Final = re.compile(r"%.|[^%]+", re.DOTALL)
_LETTERS: Final = re.compile(r"YYYY|MM|DD|HH24|MI|SS|[^A-Za-z\"]+|.", re.DOTALL)


def formatted(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return a date as a text of numbers: ``STRFTIME(x, '%Y-%m')``, ``TO_CHAR(x, 'YYYY-MM')``."""
    if node.key == "anonymous":
        first, second = node.expressions if len(node.expressions) == 2 else (None, None)
        if str(node.this).lower() in ("format_date", "format_timestamp", "format_datetime"):
            first, second = second, first
    else:
        scalars.only(node, "this", "format")
        first, second = node.this, node.args.get("format")
    pattern = None if second is None else scalars.constant(second)
    if first is None or not isinstance(pattern, str):
        scalars.refuse(node, "a date as text without a constant pattern", "write STRFTIME(x, '%Y-%m')")
    return written(scalars, node, scalars.day(first), pattern)


def written(scalars: Scalars, node: exp.Expression, value: Typed, pattern: str) -> Typed:
    """Return a date as a text by a pattern, of numbers alone."""
    pieces: list[Expression] = []
    for piece in (_PERCENT if "%" in pattern else _LETTERS).findall(pattern):
        found = _FORMATS.get(piece)
        if found is None:
            if piece[0] == "%" or piece[0].isalpha() or piece[0] == '"':
                scalars.refuse(
                    node,
                    f"{piece} in the pattern of a date",
                    "use %Y, %m, %d, %H, %M and %S, or EXTRACT and DATE_TRUNC",
                )
            pieces.append(Literal(piece, Kind.TEXT))
            continue
        part, size = found
        digits = Cast(scalars.call(node, part, value).expression, Kind.TEXT)
        padded = Call("concatenate", (Literal("0" * (size - 1), Kind.TEXT), digits))
        pieces.append(Call("right", (padded, Literal(size, Kind.INTEGER))))
    if not pieces:
        return literal("", Kind.TEXT)
    return Typed(Call("concatenate", tuple(pieces)) if len(pieces) > 1 else pieces[0], Kind.TEXT)
