"""Expressions: the functions and forms of ``docs/sql.md``, over the columns at hand.

A form is a text with places, ``ABS({i})``: i integers, r reals, t texts, b conditions, d dates, m timestamps. Where
DuckDB writes otherwise what we understand, the text has both, ours first: ``«DATEADD(MONTH, 3, {d})||...»``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Final

_PLACE: Final = re.compile(r"\{([irtbdm])\}")
_TWO: Final = re.compile(r"«([^«»¦]*)¦([^«»¦]*)»")

FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "i": (
        "({i} + {i})",
        "({i} - {i})",
        "(-{i})",
        "ABS({i})",
        "SIGN({i})",
        "MOD({i}, 7)",
        "({i} % 5)",
        "DIV({i}, 7)",
        "({i} // 3)",
        "GREATEST({i}, {i})",
        "LEAST({i}, 50)",
        "CLAMP({i}, 0, 60)",
        "WIDTH_BUCKET({r}, 0, 1000, 10)",
        "SAFE_ADD({i}, 1)",
        "SAFE_SUBTRACT({i}, 1)",
        "SAFE_MULTIPLY({i}, 2)",
        "SAFE_NEGATE({i})",
        "«SAFE.ABS¦ABS»({i})",
        "({i} & 3)",
        "({i} | 3)",
        "XOR({i}, 3)",
        "(~{i})",
        "(ABS({i}) << 2)",
        "({i} >> 2)",
        "BITAND({i}, 3)",
        "BITOR({i}, 3)",
        "BITXOR({i}, 3)",
        "CASE WHEN {b} THEN {i} ELSE {i} END",
        "CASE {i} WHEN 3 THEN 1 WHEN 50 THEN 2 ELSE {i} END",
        "CASE WHEN {b} THEN {i} END",
        "IF({b}, {i}, 0)",
        "IFF({b}, 1, {i})",
        "IIF({b}, 1, 0)",
        "COALESCE({i}, {i}, 0)",
        "IFNULL({i}, 0)",
        "NVL({i}, 0)",
        "«ISNULL¦IFNULL»({i}, 0)",
        "ZEROIFNULL({i})",
        "NULLIF({i}, {i})",
        "NULLIFZERO({i})",
        "NVL2({r}, 1, 0)",
        "DECODE({t}, 'ab', 1, 'north', 2, 3)",
        "«CAST¦TRY_CAST»({t} AS INTEGER)",
        "TRY_CAST({t} AS INTEGER)",
        "«SAFE_CAST({t} AS INT64)¦TRY_CAST({t} AS BIGINT)»",
        "CAST({b} AS INTEGER)",
        "LENGTH({t})",
        "LEN({t})",
        "CHAR_LENGTH({t})",
        "CHARACTER_LENGTH({t})",
        "POSITION('a' IN {t})",
        "STRPOS({t}, 'o')",
        "INSTR({t}, 'th')",
        "LOCATE('a', {t})",
        "CHARINDEX('b', {t})",
        "YEAR({d})",
        "QUARTER({d})",
        "MONTH({m})",
        "WEEK({d})",
        "WEEKOFYEAR({d})",
        "ISOYEAR({d})",
        "DAY({d})",
        "DAYOFMONTH({d})",
        "DAYOFWEEK({d})",
        "ISODOW({d})",
        "DAYOFYEAR({m})",
        "HOUR({m})",
        "MINUTE({m})",
        "SECOND({m})",
        "EXTRACT(week FROM {d})",
        "EXTRACT(hour FROM {m})",
        "DATE_PART('isodow', {d})",
        "«DATEPART(month, {d})¦DATE_PART('month', {d})»",
        "UNIX_SECONDS({m})",
        "UNIX_TIMESTAMP({m})",
        "DATEDIFF('month', {d}, {d})",
        "DATEDIFF('year', {d}, DATE '2024-06-01')",
        "DATE_DIFF('quarter', {d}, {d})",
        "DATEDIFF({d}, DATE '2023-01-01')",
        "«DATE_DIFF({d}, DATE '2023-01-01', DAY)¦DATE_DIFF('day', DATE '2023-01-01', {d})»",
        "«DATETIME_DIFF({m}, {m}, HOUR)¦DATE_DIFF('hour', {m2}, {m1})»",
        "«TIMESTAMPDIFF(HOUR, {m}, {m})¦DATE_SUB('hour', {m1}, {m2})»",
        "«TIMESTAMP_DIFF({m}, {m}, SECOND)¦DATE_SUB('second', {m2}, {m1})»",
        "({d} - {d})",
    ),
    "r": (
        "({r} + {i})",
        "({r} - {r})",
        "({r} * 0.5)",
        "({i} / 4)",
        "({r} / NULLIF({i}, 0))",
        "ABS({r})",
        "FLOOR({r})",
        "CEIL({r})",
        "CEILING({r})",
        "ROUND(ABS({r}), 1)",
        "ROUND(ABS({r}))",
        "TRUNC({r}, 1)",
        "TRUNC({r})",
        "TRUNCATE({r})",
        "SQRT({r})",
        "EXP(LEAST({i}, 5))",
        "LN({r})",
        "LOG10({r})",
        "LOG2({i})",
        "LOG(3, {r})",
        "POWER({i}, 2)",
        "POW(LEAST({i}, 20), 3)",
        "SQUARE({i})",
        "PI()",
        "RADIANS({i})",
        "DEGREES({i})",
        "GREATEST({r}, {i})",
        "LEAST({r}, 99.5)",
        "CLAMP({r}, 0, 99.5)",
        "CLAMP({i}, -2.5, 40.5)",
        "SAFE_DIVIDE({i}, {i})",
        "CASE WHEN {b} THEN {r} ELSE {i} END",
        "COALESCE({r}, 0)",
        "IFNULL({r}, 0)",
        "NVL({r}, {i})",
        "NULLIF({r}, 0)",
        "TRY_CAST({t} AS DOUBLE)",
        "«SAFE_CAST({t} AS FLOAT64)¦TRY_CAST({t} AS DOUBLE)»",
        "CAST({i} AS DOUBLE)",
        "EXTRACT(epoch FROM {m})",
        "EPOCH({m})",
    ),
    "t": (
        "CASE WHEN {i} < 18 THEN 'child' ELSE 'adult' END",
        "COALESCE({t}, 'none')",
        "NULLIF({t}, 'ab')",
        "{i}::VARCHAR",
        "CAST({i} AS VARCHAR)",
        "CAST({d} AS VARCHAR)",
        "({b})::VARCHAR",
        "LOWER({t})",
        "LCASE({t})",
        "UPPER({t})",
        "UCASE({t})",
        "TRIM({t})",
        "LTRIM({t})",
        "RTRIM({t})",
        "BTRIM({t})",
        "TRIM(LEADING ' ' FROM {t})",
        "SUBSTRING({t}, 2, 3)",
        "SUBSTRING({t} FROM 1 FOR 2)",
        "SUBSTR({t}, -2)",
        "LEFT({t}, 2)",
        "RIGHT({t}, 2)",
        "LPAD({t}, 5, '0')",
        "RPAD({t}, 5)",
        "({t} || {t})",
        "CONCAT({t}, {t})",
        "CONCAT_WS('-', {t}, {t})",
        "REPLACE({t}, 'a', 'b')",
        "SPLIT_PART({t}, '-', 2)",
        "DAYNAME({d})",
        "MONTHNAME({d})",
        "STRFTIME({d}, '%Y-%m')",
        "«TO_CHAR({d}, 'YYYY-MM')¦STRFTIME({d}, '%Y-%m')»",
        "«FORMAT_DATE('%Y', {d})¦STRFTIME({d}, '%Y')»",
    ),
    "b": (
        "{i} > {i}",
        "{i} <= 50",
        "{i} <> {i}",
        "{r} > 100.3",
        "{r} < {r}",
        "{t} = {t}",
        "{t} <> 'ab'",
        "{t} IN ('ab', 'north', '7')",
        "{d} > DATE '2023-09-09'",
        "{d} < {d}",
        "{m} >= {d}",
        "{m} > TIMESTAMP '2024-01-01 00:00:00'",
        "({b} AND {b})",
        "({b} OR {b})",
        "(NOT {b})",
        "({b}) IS TRUE",
        "({b}) IS NOT FALSE",
        "({b}) IS UNKNOWN",
        "({b}) IS NULL",
        "{r} IS NULL",
        "{t} IS NOT NULL",
        "{i} BETWEEN 10 AND 60",
        "{i} NOT BETWEEN -5 AND 5",
        "«{i} BETWEEN SYMMETRIC 20 AND 10¦{i} BETWEEN 10 AND 20»",
        "{i} IN (1, 2, 3, 50)",
        "{t} IS DISTINCT FROM {t}",
        "EQUAL_NULL({t}, {t})",
        "«{t} <=> {t}¦{t1} IS NOT DISTINCT FROM {t2}»",
        "«ISNULL({r})¦({r}) IS NULL»",
        "{t} LIKE 'a%'",
        "{t} LIKE '%o_t%'",
        "{t} ILIKE 'A%'",
        "{t} NOT LIKE '%b%'",
        "STARTS_WITH({t}, 'a')",
        "STARTSWITH({t}, 'n')",
        "PREFIX({t}, 's')",
        "ENDS_WITH({t}, 'th')",
        "ENDSWITH({t}, 'b')",
        "SUFFIX({t}, 't')",
        "CONTAINS({t}, 'o')",
        "CONTAINS_SUBSTR({t}, 'A')",
    ),
    "d": (
        "({d} + 3)",
        "({d} - «{i}¦CAST({i} AS INTEGER)»)",
        "CAST({m} AS DATE)",
        "DATE({m})",
        "TO_DATE('2024-01-31')",
        "MAKE_DATE(2024, 2, {i})",
        "LAST_DAY({d})",
        "COALESCE({d}, DATE '2024-02-29')",
        "CASE WHEN {b} THEN {d} END",
        "CAST(DATE_TRUNC('month', {d}) AS DATE)",
        "CAST(DATE_TRUNC('week', {d}) AS DATE)",
        "CAST(DATE_TRUNC('quarter', {m}) AS DATE)",
        "«DATETRUNC(month, {d})¦CAST(DATE_TRUNC('month', {d}) AS DATE)»",
        "CAST({d} - INTERVAL 1 MONTH AS DATE)",
        "CAST({d} + INTERVAL '1' YEAR AS DATE)",
        "CAST({d} + INTERVAL 2 WEEK AS DATE)",
        "CAST({d} + INTERVAL ({i}) DAY AS DATE)",
        "CAST(DATE_ADD({d}, INTERVAL 1 MONTH) AS DATE)",
        "CAST(DATE_SUB({d}, INTERVAL 1 YEAR) AS DATE)",
        "ADD_MONTHS({d}, 3)",
        "«DATEADD('month', 3, {d})¦CAST({d} + INTERVAL 3 MONTH AS DATE)»",
    ),
    "m": (
        "({m} + INTERVAL 90 MINUTE)",
        "({m} - INTERVAL 3 HOUR)",
        "({m} + INTERVAL 1 MONTH)",
        "DATE_TRUNC('hour', {m})",
        "«DATE_TRUNC({m}, HOUR)¦DATE_TRUNC('hour', {m})»",
        "CAST(«TIMESTAMP_TRUNC({m}, DAY)¦DATE_TRUNC('day', {m})» AS TIMESTAMP)",
        "«DATETIME_TRUNC({m}, MINUTE)¦DATE_TRUNC('minute', {m})»",
        "TIMESTAMP_ADD({m}, INTERVAL 1 HOUR)",
        "TIMESTAMP_SUB({m}, INTERVAL 1 DAY)",
        "«TIMESTAMPADD(HOUR, 1, {m})¦({m} + INTERVAL 1 HOUR)»",
        "DATETIME_ADD({m}, INTERVAL 1 DAY)",
        "DATETIME_SUB({m}, INTERVAL 1 DAY)",
        "CAST({d} AS TIMESTAMP)",
    ),
}
#: Where no column has the kind.
_FROM_OTHERS: Final = {
    "i": ("YEAR({d})", "LENGTH({t})", "CAST({b} AS INTEGER)"),
    "r": ("CAST({i} AS DOUBLE)", "({i} / 4)"),
    "t": ("CAST({i} AS VARCHAR)", "DAYNAME({d})", "IF({b}, 'ab', 'north')"),
    "b": ("{i} > 3", "{t} > 'k'", "{r} > 3.5", "{d} > DATE '2024-01-31'"),
    "d": ("CAST({m} AS DATE)", "MAKE_DATE(2024, 2, {i})", "(DATE '2024-02-29' + CAST(LENGTH({t}) AS INTEGER))"),
    "m": ("CAST({d} AS TIMESTAMP)", "CAST(MAKE_DATE(2024, 1, {i}) AS TIMESTAMP)"),
}
_CONSTANTS: Final = {
    "i": ("3", "17", "50"),
    "r": ("2.5", "100.25"),
    "t": ("'ab'", "'north'", "'x-y'"),
    "b": ("TRUE", "1 = 2"),
    "d": ("DATE '2023-05-31'", "DATE '2024-02-29'"),
    "m": ("TIMESTAMP '2024-01-31 23:59:00'",),
}


def expression(source: random.Random, kind: str, columns: Mapping[str, str], depth: int) -> str:
    """Return an expression of a kind over columns, given with their kinds; both spellings, where there are two."""
    own = [name for name, other in columns.items() if other == kind]
    if depth <= 0 or (own and source.random() < 0.25):
        if own and source.random() < 0.97:
            return source.choice(own)
        others = [form for form in _FROM_OTHERS[kind] if form[form.index("{") + 1] in columns.values()]
        return filled(source, source.choice(others), columns, 0) if others else source.choice(_CONSTANTS[kind])
    return filled(source, source.choice(FORMS[kind]), columns, depth)


def filled(source: random.Random, form: str, columns: Mapping[str, str], depth: int) -> str:
    """Return a form with expressions at its places; both spellings of it have the same ones."""
    ours, _, other = form.partition("¦")
    made: list[tuple[str, str]] = []

    def place(found: re.Match[str]) -> str:
        made.append((found[1], expression(source, found[1], columns, depth - 1)))
        return made[-1][1]

    written = _PLACE.sub(place, ours)
    if not other:
        return written
    for kind in "irtbdm":
        texts = [text for name, text in made if name == kind]
        for number, text in enumerate(texts, 1):
            other = other.replace(f"{{{kind}{number}}}", text)
        if texts:
            other = other.replace(f"{{{kind}}}", texts[0])
    rest = _PLACE.sub(lambda found: expression(source, found[1], columns, depth - 1), other)
    return f"{written}¦{rest}"


def spelled(text: str, *, plain: bool) -> str:
    """Return a statement as we are asked it, or as DuckDB is.

    >>> spelled("SELECT «NVL¦IFNULL»(x, 0)", plain=True)
    'SELECT IFNULL(x, 0)'
    """
    while _TWO.search(text):
        text = _TWO.sub(lambda found: found[2 if plain else 1], text)
    return text


def functions() -> set[str]:
    """Return the names of all functions that occur, as we are asked them."""
    written = " ".join(spelled(form, plain=False) for forms in FORMS.values() for form in forms)
    return set(re.findall(r"\b([A-Z][A-Z0-9_]+)\(", written)) - {"IN", "INTERVAL"}
