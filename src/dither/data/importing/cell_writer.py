"""Typed cells of JSON lines and workbooks, on their way into a column of strings.

A cell is NULL, a string, or typed: a number, a truth value or a moment, which keeps its canonical text beside a mark,
because a declared form is about strings alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from dither.data.importing.raw_parquet import TextWriter

#: What begins a string, and what begins a typed cell; a cell without either is NULL.
STRING, TYPED = '"', "="
_BLOCK: Final = 20_000


def cell_text(cell: Any) -> str:
    """Return a cell of Python as it is written.

    >>> [cell_text(cell) for cell in ("a", "", None, True, 2.0, 0.5, datetime.datetime(2024, 1, 1))]
    ['"a', '"', '', '=true', '=2', '=0.5', '=2024-01-01']
    """
    if cell is None:
        return ""
    if isinstance(cell, str):
        return STRING + cell
    if isinstance(cell, bool):
        return f"{TYPED}{str(cell).lower()}"
    if isinstance(cell, float):
        return f"{TYPED}{int(cell) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)}"
    if isinstance(cell, datetime.datetime):
        day, time = cell.date(), cell.time()
        # A day alone is a moment too, the first one of it.
        return f"{TYPED}{day.isoformat()}" + (f" {time.isoformat()}" if time != datetime.time() else "")
    return f"{TYPED}{cell}"


def write_cells(writer: TextWriter, rows: Iterable[Sequence[str]], width: int) -> None:
    """Write rows of written cells, block by block.

    Args:
        writer: of as many columns.
        rows: each with one written cell a column.
        width: the number of columns.

    """
    block: list[Sequence[str]] = []
    for row in rows:
        block.append(row)
        if len(block) == _BLOCK:
            _write(writer, block, width)
            block = []
    if block:
        _write(writer, block, width)


def _write(writer: TextWriter, block: list[Sequence[str]], width: int) -> None:
    columns = []
    for place in range(width):
        cells = [_encoded(row[place]) for row in block]
        texts = np.frombuffer(b"".join(cells), dtype=np.uint8)
        columns.append((texts, np.fromiter(map(len, cells), dtype=np.int64, count=len(cells))))
    writer.write(columns, len(block))


def _encoded(cell: str) -> bytes:
    try:
        return cell.encode()
    except UnicodeEncodeError:  # half of a sign is no text, and NULL
        return b""
