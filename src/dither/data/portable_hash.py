"""The portable hash: chooses which rows and groups of a person count, the same on every engine.

This module is the one definition; every engine's emitter prints the same thing in its own SQL. A choice is made by the
MD5 (lower-case hexadecimal, compared as text) of a *canonical text* in UTF-8::

    row:    "row;"   + canonical(person) + canonical(each of the ``order`` columns, in order)
    group:  "group;" + canonical(person) + canonical(each of the keys, in order)

and the smallest come first. The canonical text of one value is, by its declared kind:

=========  =============================================================================================
NULL       ``~`` (of any kind)
boolean    ``t`` or ``f``
integer    ``i``, decimal digits with a minus sign if negative, ``;``
real       ``r``, the integer ``floor(min(max(x, -2^42), 2^42) * 2^20)`` as for an integer, ``;``
text       ``s``, the number of code points in decimal, ``:``, the text itself
date       ``d``, whole days since 1970-01-01 as for an integer, ``;``
timestamp  ``m``, whole microseconds since 1970-01-01 00:00:00 as for an integer, ``;``
=========  =============================================================================================

Each of these ends where the next begins, so that two rows have the same text only if they agree in every value, except
for reals that differ by less than 2^-20 or lie beyond 2^42 on the same side. **Ties** are therefore broken by the
values themselves: by the person's ``order`` columns (or keys) in order, ascending, NULL before every value, texts by
code points. What still ties is equal in everything that counts. No engine may break a tie by a position: another
person's rows could then decide which rows of this one stay, and no bound on a person would bound the sensitivity.

MD5 is used as a scrambler, not as a secret: privacy needs only that the choice is a function of the person's own rows.
Clamping before the product keeps it finite, and a product with 2^20 of a double is exact, on every engine.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Iterable
from typing import Final

from dither.data.expressions import Kind, Value
from dither.errors import InvalidParameter

#: Reals beyond this are clamped to it before they are scaled.
LARGEST_REAL: Final = 2.0**42
#: Reals are hashed as whole multiples of one over this.
REAL_STEPS: Final = 2.0**20

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def canonical(value: Value, kind: Kind) -> str:
    """Return the canonical text of one value of that kind.

    >>> [canonical(value, kind) for value, kind in [(None, Kind.TEXT), (True, Kind.BOOLEAN), (-5, Kind.INTEGER)]]
    ['~', 't', 'i-5;']
    >>> [canonical(value, kind) for value, kind in [(0.5, Kind.REAL), (-1e300, Kind.REAL), ("naïve", Kind.TEXT)]]
    ['r524288;', 'r-4611686018427387904;', 's5:naïve']
    >>> canonical(datetime.date(1969, 12, 31), Kind.DATE), canonical(datetime.datetime(1970, 1, 2), Kind.TIMESTAMP)
    ('d-1;', 'm86400000000;')
    """
    if value is None:
        return "~"
    if kind is Kind.BOOLEAN and isinstance(value, bool):
        return "t" if value else "f"
    if kind is Kind.INTEGER and isinstance(value, int):
        return f"i{value:d};"
    if kind is Kind.REAL and isinstance(value, int | float):
        return f"r{math.floor(min(max(float(value), -LARGEST_REAL), LARGEST_REAL) * REAL_STEPS)};"
    if kind is Kind.TEXT and isinstance(value, str):
        return f"s{len(value)}:{value}"
    if kind is Kind.TIMESTAMP and isinstance(value, datetime.datetime):
        return f"m{(value - _EPOCH) // _MICROSECOND};"
    if kind is Kind.DATE and isinstance(value, datetime.date):
        return f"d{value.toordinal() - _EPOCH.toordinal()};"
    # The value may be private: only its type is named.
    raise InvalidParameter("value", type(value).__name__, f"NULL or a {kind.value}")


def row_hash(fields: Iterable[tuple[Value, Kind]]) -> str:
    """Return the hash that orders a person's rows: the id first, then the ``order`` columns.

    >>> row_hash([(7, Kind.INTEGER), ("north", Kind.TEXT)])
    'edec39b175ae3ba743d276d6555f2250'
    """
    return _digest("row;", fields)


def group_hash(fields: Iterable[tuple[Value, Kind]]) -> str:
    """Return the hash that orders a person's groups: the id first, then the keys."""
    return _digest("group;", fields)


def _digest(purpose: str, fields: Iterable[tuple[Value, Kind]]) -> str:
    text = purpose + "".join(canonical(value, kind) for value, kind in fields)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
