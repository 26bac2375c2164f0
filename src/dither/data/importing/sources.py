"""Files that tables are read from: which files a source names, and whether a file has changed since it was read.

A file is known by its device, inode, size and time of change, and by the SHA-256 of its bytes. The first four are
compared before and after every statement; the digest tells a copy, or a file that was put back, from another one.
"""

from __future__ import annotations

import difflib
import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote

from dither.data.closing import Closing
from dither.data.endings import CSV_ENDINGS as CSV_ENDINGS
from dither.data.endings import EXCEL_ENDINGS, JSON_ENDINGS, TEXT_ENDINGS
from dither.data.endings import PARQUET_ENDINGS as PARQUET_ENDINGS
from dither.data.schema import FRAMES as FRAMES
from dither.data.schema import Column, Table
from dither.errors import EngineUnavailable, InvalidParameter

_BLOCK: Final = 2**20
#: What the name of a folder has where the value of its column is absent.
_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
#: A character that is no pattern because it is alone in brackets.
_ESCAPED: Final = re.compile(r"\[([*?[])\]")


@dataclass(frozen=True)
class KnownFile:
    """A file as it was at one moment.

    Args:
        path: where it is, resolved.
        device: the disk.
        inode: its number there: two hard links have one.
        size: in bytes.
        changed: when its content changed last, in nanoseconds.
        digest: the SHA-256 of its bytes; empty where it was not asked for.

    """

    path: str
    device: int
    inode: int
    size: int
    changed: int
    digest: str = ""

    @classmethod
    def found(cls, path: str | Path, *, digest: str = "") -> Self:
        """Return a file as it is now; raises OSError."""
        return cls._of(str(Path(path).resolve()), os.stat(path), digest)

    @classmethod
    def opened(cls, path: str | Path, descriptor: int, *, digest: str = "") -> Self:
        """Return an open file as it is now."""
        return cls._of(str(Path(path).resolve()), os.fstat(descriptor), digest)

    @classmethod
    def _of(cls, path: str, state: os.stat_result, digest: str) -> Self:
        return cls(path, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, digest)

    @property
    def state(self) -> tuple[int, int, int, int]:
        """The attributes that are compared before and after a statement."""
        return self.device, self.inode, self.size, self.changed

    def is_unchanged(self) -> bool:
        """Return whether the file is there and was not replaced or written to."""
        try:
            return KnownFile.found(self.path).state == self.state
        except OSError:
            return False

    def is_same(self) -> bool:
        """Return whether the file is unchanged, or has the very same bytes: it may have been restored or moved."""
        if self.is_unchanged():
            return True
        try:
            return os.stat(self.path).st_size == self.size and bool(self.digest) and digest_of(self.path) == self.digest
        except OSError:
            return False


_told: ContextVar[Callable[[int], object] | None] = ContextVar("told", default=None)


@contextmanager
def telling(tell: Callable[[int], object]) -> Iterator[None]:
    """Tell how many bytes of files were read, block by block, inside the block: for the owner, who adds them.

    Args:
        tell: is given the length of every block.

    """
    token = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(token)


class DigestingReader(Closing):
    """A file opened for reading whose bytes are digested as they pass."""

    def __init__(self, path: str | Path) -> None:
        self._stream = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close
        self._digest = hashlib.sha256()
        self._path = path
        self._before = KnownFile.opened(path, self._stream.fileno())

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; gzip reads through this."""
        block = self._stream.read(size if size >= 0 else _BLOCK)
        self._digest.update(block or b"")
        if (tell := _told.get()) is not None:
            tell(len(block or b""))
        return block or b""

    def finish(self) -> KnownFile:
        """Return the file that was read, to its end; refuse a file that changed meanwhile."""
        while self.read(_BLOCK):
            pass
        after = KnownFile.opened(self._path, self._stream.fileno(), digest=self._digest.hexdigest())
        if after.state != self._before.state:
            raise EngineUnavailable(f"{self._path} was written to while it was being read; add it again")
        return after

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def known(path: str | Path) -> KnownFile:
    """Return a file with the digest of its bytes."""
    try:
        with DigestingReader(path) as reader:
            return reader.finish()
    except OSError as error:
        raise EngineUnavailable(f"{path} cannot be read ({error.strerror})") from None


def digest_of(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    return known(path).digest


def are_unchanged(files: Iterable[KnownFile]) -> bool:
    """Return whether all files are there and were not replaced or written to."""
    return all(file.is_unchanged() for file in files)


def is_csv(path: str | Path) -> bool:
    """Return whether a file's name says that it is CSV."""
    return str(path).lower().endswith(CSV_ENDINGS)


def is_json(path: str | Path) -> bool:
    """Return whether a file's name is that of JSON lines."""
    return str(path).lower().endswith(JSON_ENDINGS)


def is_excel(path: str | Path) -> bool:
    """Return whether a file's name is that of a workbook."""
    return str(path).lower().endswith(EXCEL_ENDINGS)


def is_text(path: str | Path) -> bool:
    """Return whether a file's cells are read as they are declared to be written: CSV, JSON lines or a workbook."""
    return str(path).lower().endswith(TEXT_ENDINGS)


def is_data(path: str | Path) -> bool:
    """Return whether a file is of a kind that tables are read from."""
    return is_text(path) or is_parquet(path)


def unknown_kind(path: str | Path) -> str:
    """Return the message for a file of another kind."""
    ends = str(path).lower()
    if ends.endswith((".xls", ".ods", ".xlsb", ".numbers")):
        return f"{path} is a workbook of another kind; save it as .xlsx"
    if ends.endswith(".json"):
        return f"{path} is one JSON text; write one object a line into a file that ends in .jsonl"
    return f"{path} is of no known kind; files end in {', '.join((*TEXT_ENDINGS, *PARQUET_ENDINGS))}"


def is_parquet(path: str | Path) -> bool:
    """Return whether a file's name says that it is Parquet."""
    return str(path).lower().endswith(PARQUET_ENDINGS)


def is_path_in_spark(source: str) -> bool:
    """Return whether Spark takes a source for a path instead of a table of its catalogue."""
    return "/" in source or is_data(source)


def files_of(table: Table, folder: Path | None) -> list[str]:
    """Return the files that a source names, each once: patterns and folders expanded, links followed.

    Files of other kinds are refused.
    """
    if "\x00" in table.source:
        raise InvalidParameter("source", table.source, "without the character U+0000")
    if table.source == FRAMES:
        raise EngineUnavailable(f"table {table.name}: its rows are given as frames; give them with the session")
    files = [file for source in table.sources for file in _files_of_one(table, source, folder)]
    for file in files:
        if not is_data(file):
            raise EngineUnavailable(f"table {table.name}: {unknown_kind(file)}")
    # A file that is found twice, also by a link, has its rows once.
    found = {(state.st_dev, state.st_ino): str(Path(file).resolve()) for file in files if (state := os.stat(file))}
    return list(found.values())


def _files_of_one(table: Table, source: str, folder: Path | None) -> list[str]:
    """Return the files of one path, pattern or folder; refuse one that names none."""
    path = Path(source)
    if not path.is_absolute():
        path = (folder or Path.cwd()) / path
    found = sorted(glob.glob(str(path))) if glob.has_magic(source) else [str(path)]
    files = []
    for one in found or [str(path)]:
        below = files_below(Path(one)) if Path(one).is_dir() else [one]
        if not below:
            raise EngineUnavailable(f"table {table.name}: the folder {one} has no files; correct its source")
        files += below
    for file in files:
        if not Path(file).is_file():
            fix = "correct its source in the schema or put the file there"
            raise EngineUnavailable(f"table {table.name}: {file} does not exist; {fix}")
    return files


def folder_values(table: Table, file: str) -> dict[str, str | None]:
    """Return what the names of folders say about all rows of a file: ``ward=north/part.parquet`` has ward north.

    Folders count below the folder that a source names, or below the first part of a pattern that is one.

    Args:
        table: what is declared.
        file: resolved.

    >>> from dither.data.expressions import Kind
    >>> sales = Table("sales", (Column("n", Kind.INTEGER),), "/data/year=2023")
    >>> folder_values(sales, "/data/year=2023/day=1%2F2/x.parquet")
    {'day': '1/2'}

    """
    for source in table.sources:
        parts = list(takewhile(lambda part: not glob.has_magic(_ESCAPED.sub("", part)), Path(source).parts))
        root = Path(*(_ESCAPED.sub(r"\1", part) for part in parts)).resolve()
        if Path(file).is_relative_to(root):
            named = (part.partition("=") for part in Path(file).relative_to(root).parts[:-1] if "=" in part)
            return {unquote(key): None if value == _NO_VALUE else unquote(value) for key, _, value in named}
    return {}


def files_below(folder: Path) -> list[str]:
    """Return the files of a folder, as Spark reads it: names that begin with a dot or _ do not count.

    A link to a file outside the folder is refused: whoever can write to the folder could bring in any file that its
    reader may read.
    """
    found = []
    base = folder.resolve()
    for path in folder.rglob("*"):
        if any(part.startswith((".", "_")) for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        real = path.resolve()
        if not real.is_relative_to(base):
            raise EngineUnavailable(
                f"{path} is a link to a file outside {folder}; name that file itself, or remove the link"
            )
        found.append(str(real))
    return sorted(found)


def one_line(path: str) -> bool:
    """Return whether a path has no line break, so that a list of paths can have one in each line."""
    return "\n" not in path and "\r" not in path


def absent_column(table: Table, column: Column, present: Sequence[str], where: str | None = None) -> str:
    """Return the message for a declared column that a source lacks, or has twice.

    Args:
        table: what is declared.
        column: the declared column.
        present: the names of the columns that the source has.
        where: the name of the source in messages; by default that of the schema.

    """
    place, name = table.source if where is None else where, column.stored_name
    called = f"column {column.name} of table {table.name}"
    if column.source is not None:
        called += f" (from {name!r})"
    if list(present).count(name) > 1:
        return f"{called} occurs twice in {place}; give its columns different names"
    if not any(present):
        return f"{called} is declared, but the first line of {place} has no column names"
    near = difflib.get_close_matches(name, [one for one in present if one and one != name], 1)
    hint = f"; did you mean {near[0]!r}?" if near else "; remove it from the schema, or correct its name"
    return f"{called} is declared, but {place} has no such column{hint}"
