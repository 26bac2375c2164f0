"""PostgreSQL's reading of texts as numbers and dates, in forms that cannot raise.

The rule is that of ``postgresql_forms``: a pattern that admits nothing but what is meant stands before every cast.
Forms are templates of ``str.format`` with the text as ``{0}``; patterns are written without braces.
"""

from __future__ import annotations

from typing import Final

from dither.data.engines.postgresql_forms import LEAST_INTEGER, MOST_INTEGER

_LEAP: Final = "0[48]|[2468][048]|[13579][26]"
_MONTH_AND_DAY: Final = (
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
#: The days of the years 1 to 9999 as YYYY-MM-DD.
DAY_PATTERN: Final = f"((?!0000)[0-9][0-9][0-9][0-9]-{_MONTH_AND_DAY}|([0-9][0-9]({_LEAP})|({_LEAP})00)-02-29)"
TIME_PATTERN: Final = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
INTEGER_PATTERN: Final = " *[+-]?[0-9]+([.]0+)? *"
REAL_PATTERN: Final = " *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *"

#: Halfway between the largest double and the next power of two, and between 0 and the smallest: what is beyond either
#: rounds to an infinity or to 0. Both are rounded towards the safe side after thirty digits.
OVERFLOW: Final = "'1.79769313486231580793728971405e308'::numeric"
UNDERFLOW: Final = "'2.47032822920623272082994396435e-324'::numeric"
#: PostgreSQL's decimal numbers hold 16,383 digits after the point: a longer numeral is none.
_LONGEST_NUMERAL: Final = 15_000


def _part(start: int, length: int) -> str:
    return f"substr({{0}}, {start}, {length})::integer"


def _time_part(start: int) -> str:
    return f"coalesce(nullif(substr({{0}}, {start}, 2), ''), '0')::integer"


_DATE_PARTS: Final = f"{_part(1, 4)}, {_part(6, 2)}, {_part(9, 2)}"
_TIME_PARTS: Final = f"{_time_part(12)}, {_time_part(15)}, {_time_part(18)}"

DATE: Final = f"(CASE WHEN {{0}} ~ '^{DAY_PATTERN}$' THEN make_date({_DATE_PARTS}) END)"
TIMESTAMP: Final = (
    f"(CASE WHEN {{0}} ~ '^{DAY_PATTERN}([ T]{TIME_PATTERN})?$' THEN make_timestamp({_DATE_PARTS}, {_TIME_PARTS}) END)"
)

_DIGITS: Final = "substring({0} from '^ *[+-]?0*([0-9]*)')"
_NUMBER: Final = f"((CASE WHEN strpos({{0}}, '-') > 0 THEN '-0' ELSE '0' END) || {_DIGITS})::numeric"
_READ_INTEGER: Final = (
    f"CASE WHEN {_NUMBER} BETWEEN {LEAST_INTEGER}::numeric AND {MOST_INTEGER}::numeric THEN {_NUMBER}::bigint END"
)
INTEGER: Final = (
    f"(CASE WHEN {{0}} ~ '^{INTEGER_PATTERN}$' THEN CASE WHEN length({_DIGITS}) <= 19 THEN {_READ_INTEGER} END END)"
)

# An exponent of four digits or more decides alone, as no numeral of ordinary length makes up for it.
_EXPONENT: Final = "coalesce(substring({0} from '[eE][+-]?0*([0-9]*)'), '')"
_BY_SIZE: Final = (
    f"CASE WHEN abs({{0}}::numeric) >= {OVERFLOW} THEN NULL WHEN abs({{0}}::numeric) <= {UNDERFLOW} THEN 0"
    " ELSE {0}::double precision END"
)
_READ_REAL: Final = (
    "CASE WHEN {0} !~ '^[^eE]*[1-9]' THEN 0"
    f" WHEN length({_EXPONENT}) > 3 THEN CASE WHEN {{0}} ~ '[eE]-' THEN 0 END"
    f" WHEN length({{0}}) <= {_LONGEST_NUMERAL} THEN {_BY_SIZE} END"
)
REAL: Final = f"(CASE WHEN {{0}} ~ '^{REAL_PATTERN}$' THEN {_READ_REAL} END)::double precision"
