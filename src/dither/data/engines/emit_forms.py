"""Declared forms of cells in the SQL of DuckDB: the same patterns and the same values as ``data.cell_forms``."""

from __future__ import annotations

from typing import Final, Protocol

from dither.data.cell_forms import AS_ISO, LAST_OF_2000, MINUS, MONTHS, MomentForm, NumberForm
from dither.data.expressions import Kind

_FIRST_MICROSECOND, _LAST_MICROSECOND = -62135596800000000, 253402300799999999
_OF_TIME: Final = (Kind.DATE, Kind.TIMESTAMP)
_NUMBER_GROUPS: Final = ("a", "b", "c", "d", "e")


class Reader(Protocol):
    """What reads plain numbers, days and moments."""

    def clean(self, sql: str, stored: Kind | None, kind: Kind) -> str:
        """Return a stored value as a declared kind."""

    def text(self, value: str) -> str:
        """Return a string constant."""


def read_form(reader: Reader, sql: str, form: NumberForm | MomentForm, kind: Kind) -> str:
    """Return the value of a string under a form, else NULL.

    Args:
        reader: of texts in the one grammar.
        sql: the text.
        form: as its column declares it.
        kind: of the column.

    """
    names = _NUMBER_GROUPS if isinstance(form, NumberForm) else form.names
    listed = ", ".join(f"'{name}'" for name in names)
    # Where the pattern finds nothing all groups are empty.
    found = f"regexp_extract({sql}, {reader.text(f'^{form.pattern}$')}, [{listed}])"
    part = {name: f"({found})['{name}']" for name in names}
    if isinstance(form, NumberForm):
        signs, others = (reader.text(one) for one in form.translation)
        number = f"translate({' || '.join(part.values())}, {signs}, {others})"
        return reader.clean(number, Kind.TEXT, kind)
    return _moment(reader, part, form, kind)


def read_typed(reader: Reader, sql: str, kind: Kind) -> str:
    """Return a cell that its file stores as a number, a truth value or a moment, given by its canonical text."""
    return read_form(reader, sql, AS_ISO, kind) if kind in _OF_TIME else reader.clean(sql, Kind.TEXT, kind)


def _moment(reader: Reader, part: dict[str, str], form: MomentForm, kind: Kind) -> str:
    year, month = part["y"], part["m"]
    if "YY" in form.parts:
        year = f"((CASE WHEN {year} <= '{LAST_OF_2000}' THEN '20' ELSE '19' END) || {year})"
    if "MMM" in form.parts:
        month = f"CAST((instr('{MONTHS}', lower(left({month}, 3))) + 2) // 3 AS VARCHAR)"
    day = f"{year} || '-' || lpad({month}, 2, '0') || '-' || lpad({part['d']}, 2, '0')"
    if not form.time:
        return reader.clean(f"({day})", Kind.TEXT, kind)
    hour = part["h"]
    if form.is_half:
        later = f"(CASE WHEN {part['p']} IN ('P', 'p') THEN 12 ELSE 0 END)"
        hour = f"CAST(TRY_CAST({hour} AS INTEGER) % 12 + {later} AS VARCHAR)"
    time = " || ':' || ".join(f"lpad({one}, 2, '0')" for one in (hour, part["i"], part["s"]))
    moment = reader.clean(f"({day} || ' ' || {time})", Kind.TEXT, Kind.TIMESTAMP)
    whole = f"epoch_us({moment}) + TRY_CAST(rpad({part['f']}, 6, '0') AS BIGINT)"
    if form.zone:
        whole = f"{whole} - {_offset(part['z'])}"
    read = f"(CASE WHEN {whole} BETWEEN {_FIRST_MICROSECOND} AND {_LAST_MICROSECOND} THEN make_timestamp({whole}) END)"
    return f"CAST({read} AS DATE)" if kind is Kind.DATE else read


def _offset(zone: str) -> str:
    """Return the microseconds that a zone is ahead of UTC; 0 for Z and without a zone."""
    digits = f"replace({zone}, ':', '')"
    seconds = (
        f"(TRY_CAST(substring({digits}, 2, 2) AS BIGINT) * 3600"
        f" + coalesce(TRY_CAST(substring({digits}, 4, 2) AS BIGINT), 0) * 60)"
    )
    ahead, behind = f"{seconds} * 1000000", f"{seconds} * -1000000"
    sign = f"left({zone}, 1)"
    return f"(CASE WHEN {sign} = '+' THEN {ahead} WHEN {sign} IN ('-', '{MINUS}') THEN {behind} ELSE 0 END)"
