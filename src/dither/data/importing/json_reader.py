"""JSON lines: one object a line, read to the end or refused with line and reason.

Keys are the columns. A number counts by the digits that are written, whatever their number. A declared column holds no
list and no object.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from dither.data.closing import Closing
from dither.data.importing.cell_writer import TYPED, cell_text
from dither.data.importing.sources import DigestingReader, KnownFile, absent_column
from dither.data.schema import Table
from dither.errors import EngineUnavailable

_BLOCK: Final = 2**22
_LONGEST_LINE: Final = 2**26
#: How many lines are read for the names of columns.
_FIRST_LINES: Final = 10_000
_BOM: Final = b"\xef\xbb\xbf"


class _Digits(str):
    """A number, as it is written."""

    __slots__ = ()


class JsonLinesReader(Closing):
    """An open file of JSON lines. Iterate over it once, to the end.

    Args:
        file: its path.

    """

    def __init__(self, file: str | Path) -> None:
        self._file = file
        try:
            self._raw = DigestingReader(file)
        except OSError as error:
            raise EngineUnavailable(f"{file} cannot be read: {error.strerror}; write it again") from None
        self._stream: Any = gzip.GzipFile(fileobj=self._raw) if str(file).lower().endswith(".gz") else self._raw  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number of each line and its object; raise EngineUnavailable for any other line."""
        for number, line in enumerate(self._lines(), 1):
            if line.strip():
                yield number, self._object(number, line)

    def rows(self, table: Table) -> Iterator[list[str]]:
        """Yield the written cells of the declared columns, row by row; refuse a column that no line has."""
        names = [column.stored_name for column in table.columns]
        seen: dict[str, None] = {}
        number = 0
        for number, found in self:
            seen.update(dict.fromkeys(found))
            yield [self._cell(number, name, found.get(name)) for name in names]
        for column in table.columns:
            if number and column.stored_name not in seen:
                raise EngineUnavailable(absent_column(table, column, list(seen), str(self._file)))

    def finish(self) -> KnownFile:
        """Return the file that was read, with the digest of its bytes."""
        return self._raw.finish()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def _cell(self, number: int, name: str, value: Any) -> str:
        if isinstance(value, _Digits):
            return f"{TYPED}{value}"
        if isinstance(value, list | dict):
            what = "a list" if isinstance(value, list) else "an object"
            raise self._refusal(number, f"{name!r} is {what}; write its parts as columns, or do not declare it")
        return cell_text(value)

    def _object(self, number: int, line: bytes) -> dict[str, Any]:
        found: Any = None
        reason = "not one JSON object"
        try:
            found = json.loads(
                line.decode(),
                object_pairs_hook=_pairs,
                parse_float=_Digits,
                parse_int=_Digits,
                parse_constant=_Digits,
            )
        except UnicodeDecodeError:
            reason = "bytes that are not UTF-8"
        except KeyError:
            reason = "a key occurs twice"
        except (ValueError, RecursionError):
            pass
        if not isinstance(found, dict):
            raise self._refusal(number, reason)
        return found

    def _lines(self) -> Iterator[bytes]:
        held, is_first = b"", True
        while True:
            block = self._block()
            if is_first:
                block, is_first = block.removeprefix(_BOM), False
            *lines, held = (held + block).split(b"\n")
            yield from lines
            if not block:
                break
            if len(held) > _LONGEST_LINE:
                raise EngineUnavailable(
                    f"{self._file}: a line of more than {_LONGEST_LINE} bytes; nothing was imported"
                )
        yield held

    def _block(self) -> bytes:
        reason = ""
        try:
            found: bytes = self._stream.read(_BLOCK)
        except OSError as error:
            reason = error.strerror or "it is no whole gzip file"
        except (EOFError, zlib.error):
            reason = "it is no whole gzip file"
        if reason:
            raise EngineUnavailable(f"{self._file} cannot be read: {reason}; write it again")
        return found

    def _refusal(self, number: int, reason: str) -> EngineUnavailable:
        return EngineUnavailable(f"{self._file}, line {number}: {reason}; nothing was imported")


def json_names(file: str | Path) -> list[str]:
    """Return the keys of the first lines of a file, in the order in which they appear."""
    with JsonLinesReader(file) as reader:
        found: dict[str, None] = {}
        for _, one in islice(reader, _FIRST_LINES):
            found.update(dict.fromkeys(one))
    if not found:
        raise EngineUnavailable(f"{file} has no object with a key; nothing was imported")
    return list(found)


def _pairs(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise KeyError
    return found
