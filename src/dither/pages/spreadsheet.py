"""CSV of released tables, for the command, the service and drawn rows alike: nothing in it is run by a spreadsheet.

All texts stand in quotes, NULL is an empty cell, and an apostrophe stands before whatever a spreadsheet would take for
a formula. A reader that must have every text unchanged takes JSON or Parquet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

#: What some spreadsheets end a cell with, whatever stands around it.
_ENDS: Final = ";\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
#: Where one may begin a formula: at the beginning of a text or of what it takes for another cell, behind signs that it
#: passes over (white space, controls, marks without width).
_FORMULA: Final = re.compile(
    f"(^|[{_ENDS}])((?:(?![{_ENDS}])"
    "[\\s\x00-\x1f\x7f-\x9f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff])*"
    "[=+\\-@\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20])"
)


def csv_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    r"""Return the lines of a CSV file, each with its end: first the names, then the rows.

    Args:
        names: of the columns.
        rows: each with a value for every column.

    >>> list(csv_lines(["ward", "visits"], [("=1+1", 3), (None, 2.5)]))
    ['"ward","visits"\r\n', '"\'=1+1",3\r\n', ',2.5\r\n']

    """
    yield f"{','.join(map(_cell, names))}\r\n"
    for row in rows:
        yield f"{','.join(map(_cell, row))}\r\n"


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file in UTF-8."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(csv_lines(names, rows))


def safe(text: str) -> str:
    """Return a text with an apostrophe before whatever a spreadsheet would take for a formula, and else as it is.

    >>> [safe(text) for text in ("=1", " -1", "a;=1", "a-1", "1")]
    ["'=1", "' -1", "a;'=1", 'a-1', '1']
    """
    marked = _FORMULA.sub(r"\1'\2", text)
    return f"'{marked}" if text[:1] in ("\t", "\r", "\n") else marked


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    return '"{}"'.format(safe(str(value)).replace('"', '""'))
