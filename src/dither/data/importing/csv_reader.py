"""A CSV file as blocks of whole rows: the file is read to its end, or refused with line and reason.

Memory is bounded by the longest row, which may have 64 MiB. Files that end in .gz are unpacked on the way.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from dither.data.closing import Closing
from dither.data.importing.csv_grammar import DELIMITERS, Dialect, MalformedError, Rows, first_row, last_block, scan
from dither.data.importing.sources import DigestingReader, KnownFile
from dither.errors import EngineUnavailable

_BLOCK: Final = 2**22
_LONGEST_ROW: Final = 2**26
_LONGEST_HEADER: Final = 2**20
_BOM: Final = b"\xef\xbb\xbf"


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes, none at the end."""


@dataclass(frozen=True)
class Header:
    """The first row of a file, and how the file is written.

    Args:
        dialect: delimiter and line end.
        names: the columns.
        size: the bytes of the first row.

    """

    dialect: Dialect
    names: tuple[str, ...]
    size: int


#: What helps against a refusal, by a word of its reason.
_CURES: Final = (
    ("UTF-8", "save the file as UTF-8; "),
    ("NUL", "save the file as UTF-8 (a file in UTF-16 looks like this); "),
    ("quote", "write the file with a tool that quotes; "),
)


class CsvReader(Closing):
    """An open CSV file. Iterate over it once, to the end.

    Args:
        file: its path.
        wanted: names of columns: of all delimiters the one counts that finds most of them in the first row.
        delimiter: the one that counts, where it is declared.

    """

    def __init__(self, file: str | Path, wanted: Collection[str] = (), delimiter: str | None = None) -> None:
        self._delimiters = DELIMITERS if delimiter is None else (delimiter,)
        self._file = file
        with self._reading():
            self._raw = DigestingReader(file)
        self._stream: _Stream = gzip.GzipFile(fileobj=self._raw) if str(file).lower().endswith(".gz") else self._raw  # type: ignore[call-overload]
        self._held = b""
        self._is_over = False
        self._line = 1
        try:
            self.header = self._header(set(wanted))
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Rows]:
        """Yield all rows but the first, block by block; raise EngineUnavailable where the file is not CSV."""
        dialect, width = self.header.dialect, len(self.header.names)
        wanted = _BLOCK
        while not self._is_over or self._held:
            self._more(wanted)
            data = last_block(self._held, dialect, width) if self._is_over else self._held
            with self._refusing(data):
                rows = scan(data, dialect, width, is_last=self._is_over)
            if rows is None and not self._is_over:
                # A row longer than the block: twice as much, so that the whole takes time in proportion to it.
                if len(data) > _LONGEST_ROW:
                    raise self._refusal(0, data, f"a row of more than {_LONGEST_ROW} bytes, or an unclosed quote")
                wanted = 2 * len(data)
                continue
            wanted = _BLOCK
            if rows is not None:
                self._check_encoding(data[: rows.size])
                yield rows
                self._line += rows.lines
            self._held = b"" if rows is None or self._is_over else data[rows.size :]

    def finish(self) -> KnownFile:
        """Return the file that was read, with the digest of its bytes."""
        with self._reading():
            return self._raw.finish()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def _header(self, wanted: set[str]) -> Header:
        self._more(_LONGEST_HEADER)
        if self._held.startswith(_BOM):
            self._held = self._held[len(_BOM) :]
        data = self._held
        if not data and self._is_over:
            return Header(Dialect(","), (), 0)
        if self._is_over and not data.endswith(b"\n"):
            data += b"\n"
        found: list[Header] = []
        problem: MalformedError | None = None
        try:
            for delimiter in self._delimiters:
                try:
                    row = first_row(data, delimiter)
                except MalformedError as error:
                    problem = problem or error
                else:
                    found += [Header(*row)] if row is not None else []
        except UnicodeDecodeError:
            problem, found = MalformedError(0, "bytes that are not UTF-8"), []
        if not found:
            reason = problem.reason if problem else f"more than {_LONGEST_HEADER} bytes, or an unclosed quote"
            raise self._refusal(problem.place if problem else 0, data, f"in the names of the columns, {reason}")
        best = max(found, key=lambda one: (len(wanted & set(one.names)), len(one.names)))
        self._line += data.count(b"\n", 0, best.size)
        self._held = self._held[best.size :]
        return best

    def _more(self, wanted: int) -> None:
        """Hold at least that number of bytes, or all that are left."""
        parts, size = [self._held], len(self._held)
        with self._reading():
            while size < wanted and not self._is_over:
                part = self._stream.read(wanted - size)
                self._is_over = not part
                parts.append(part)
                size += len(part)
        self._held = b"".join(parts)
        if self._is_over and self._held.endswith(b"\r"):
            # Held until now in any case: it is in a row that has no end.
            raise self._refusal(
                size - 1, self._held, "a carriage return at the end of the file, half of a line end or not"
            )

    def _check_encoding(self, data: bytes) -> None:
        if data.isascii():
            return
        place: int | None = None
        try:
            data.decode()
        except UnicodeDecodeError as error:
            place = error.start
        if place is not None:
            raise self._refusal(place, data, "bytes that are not UTF-8")

    @contextmanager
    def _refusing(self, data: bytes) -> Iterator[None]:
        problem: MalformedError | None = None
        try:
            yield
        except MalformedError as error:
            problem = error
        if problem is not None:
            raise self._refusal(problem.place, data, problem.reason)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        reason = ""
        try:
            yield
        except OSError as error:
            reason = error.strerror or "it is no whole gzip file"
        except (EOFError, zlib.error):
            reason = "it is no whole gzip file"
        if reason:
            raise EngineUnavailable(f"{self._file} cannot be read: {reason}; write it again")

    def _refusal(self, place: int, data: bytes, reason: str) -> EngineUnavailable:
        line = self._line + data.count(b"\n", 0, place)
        fix = next((cure for word, cure in _CURES if word in reason), "")
        return EngineUnavailable(f"{self._file}, line {line}: {reason}; {fix}nothing was imported")
