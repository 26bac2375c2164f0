"""Excel workbooks: one sheet as a table, its first row the names of the columns, read whole or refused with a reason.

The sheet is looked through before it is read: for its size, which must fit into memory and is never believed from the
archive; for formulas whose results were not saved, which would be empty; and for merged cells, of which only the first
has a value. Cells with an error, such as #N/A, are NULL, and so is an empty one. A row without any value is none.
"""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from dither.data.importing.cell_writer import cell_text
from dither.data.importing.sources import absent_column
from dither.data.schema import Table
from dither.errors import EngineUnavailable, InvalidParameter, MissingExtra

#: How many bytes a sheet, and the texts of a workbook, may have once they are unpacked.
MOST_BYTES: Final = 2**29
_MOST_BESIDE: Final = 2**28
_LONGEST_ROW: Final = 2**26
#: How many cells the rectangle of a sheet may have from its first cell to the last one that is written.
MOST_CELLS: Final = 16_000_000
_MOST_ABOUT: Final = 2**24
_BLOCK: Final = 2**22
_LEGACY: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_REFERENCE: Final = re.compile(rb"""<(?:\w+:)?c\s[^>]*?\br=["']([A-Z]{1,3})([0-9]{1,7})["']""")
_CELL: Final = re.compile(rb"<(?:\w+:)?c(\s[^>]*[^/>])?>(.*?)</(?:\w+:)?c>", re.DOTALL)
_FORMULA: Final = re.compile(rb"<(?:\w+:)?f[\s/>]")
_VALUE: Final = re.compile(rb"<(?:\w+:)?v(?:\s[^>]*)?>[^<]")
_IS_STRING: Final = re.compile(rb"""\bt=["'](?:str|inlineStr)["']""")
_NAME: Final = re.compile(rb"""\br=["']([A-Z]{1,3}[0-9]{1,7})["']""")
_MERGED: Final = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?\bref=["']([A-Z0-9:]{1,30})["']""")


def sheet_names(path: str | Path) -> list[str]:
    """Return the names of the visible sheets of a workbook, in order.

    Raises:
        EngineUnavailable: the file is not a workbook that can be read, or has a password.

    """
    with _archive(path) as archive:
        return [name for name, _ in _sheets(path, archive)]


def chosen_sheet(path: str | Path, sheet: str | None) -> str:
    """Return the sheet to read: the declared one, or the only one; raise InvalidParameter otherwise."""
    names = sheet_names(path)
    if sheet is None and len(names) == 1:
        return names[0]
    if sheet is None or sheet not in names:
        listed = ", ".join(repr(name) for name in names[:20]) + (" ..." if len(names) > 20 else "")
        raise InvalidParameter("sheet", sheet, f"one of the {len(names)} sheets of {path}: {listed}")
    return sheet


def excel_names(path: str | Path, sheet: str | None) -> list[str]:
    """Return the names of the columns of a sheet; refuse one without cells."""
    return _named(path, sheet, _rows(path, sheet))


def excel_rows(path: str, table: Table) -> Iterator[list[str]]:
    """Yield the written cells of the declared columns, row by row."""
    rows = _rows(path, table.sheet)
    names = _named(path, table.sheet, rows)
    for column in table.columns:
        if names.count(column.stored_name) != 1:
            raise EngineUnavailable(absent_column(table, column, names, path))
    places = [names.index(column.stored_name) for column in table.columns]
    for row in rows:
        yield [cell_text(_plain(row[place])) for place in places]


def _named(path: str | Path, sheet: str | None, rows: Iterator[list[Any]]) -> list[str]:
    names = next(rows, [])
    if not names:
        raise EngineUnavailable(f"{path}: the sheet {chosen_sheet(path, sheet)!r} is empty; nothing was imported")
    return names


def _rows(path: str | Path, sheet: str | None) -> Iterator[list[Any]]:
    """Yield the names of the columns, and every row that is not empty."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise MissingExtra("reading an Excel workbook", "excel") from None
    name = chosen_sheet(path, sheet)
    _check(path, name)
    found: list[list[Any]] | None = None
    is_named = False
    reader: Any = None
    try:
        reader = CalamineWorkbook.from_path(str(path)).get_sheet_by_name(name).iter_rows()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of the library is no Exception
        found = []
    while found is None:
        row: list[Any] | None = None
        try:
            row = next(reader, None)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            found = []
            break
        if row is None:
            return
        if all(_plain(cell) is None for cell in row):
            continue
        yield row if is_named else [str(_plain(cell) or "") for cell in row]
        is_named = True
    raise EngineUnavailable(f"{path} cannot be read as a workbook; save it again as .xlsx")


def _plain(cell: Any) -> Any:
    """Return a cell as a value: nothing for an empty one, a string for a time of day."""
    if cell == "" or cell is None:
        return None
    return str(cell) if isinstance(cell, datetime.time | datetime.timedelta) else cell


def _archive(path: str | Path) -> zipfile.ZipFile:
    reason = "it is not a workbook; save it as .xlsx"
    try:
        with open(path, "rb") as stream:
            head = stream.read(2**16)
        if head.startswith(_LEGACY):
            is_locked = _ENCRYPTED in head or _ENCRYPTED in Path(path).read_bytes()[-(2**20) :]
            reason = "it has a password; save it without one" if is_locked else "it is an old .xls; save it as .xlsx"
        else:
            return zipfile.ZipFile(path)
    except OSError as error:
        reason = error.strerror or reason
    except zipfile.BadZipFile:
        pass
    raise EngineUnavailable(f"{path} cannot be read: {reason}")


def _sheets(path: str | Path, archive: zipfile.ZipFile) -> list[tuple[str, str]]:
    """Return the visible sheets of a workbook, each with its part of the archive."""
    found: list[tuple[str, str]] | None = None
    try:
        book = ElementTree.fromstring(_small(archive, "xl/workbook.xml"))  # noqa: S314 - expat bounds entities
        linked = ElementTree.fromstring(_small(archive, "xl/_rels/workbook.xml.rels"))  # noqa: S314
        parts = {one.get("Id"): (one.get("Target") or "", one.get("Type") or "") for one in linked}
        found = []
        for one in book.iter():
            target, kind = parts.get(one.get(_RELATION), ("", ""))
            if one.tag.endswith("}sheet") and one.get("state", "visible") == "visible" and kind.endswith("/worksheet"):
                part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
                found.append((one.get("name") or "", part))
    except (KeyError, ValueError, ElementTree.ParseError, zipfile.BadZipFile, zlib.error, EOFError, OSError):
        found = None
    except (RuntimeError, NotImplementedError):  # an encrypted part, or a way of packing that Python does not have
        found = None
    if found is None:
        raise EngineUnavailable(f"{path} cannot be read as a workbook; save it again as .xlsx")
    if not found:
        raise EngineUnavailable(f"{path} has no visible sheet with cells; nothing was imported")
    return found


def _small(archive: zipfile.ZipFile, part: str) -> bytes:
    with archive.open(part) as stream:
        data = stream.read(_MOST_ABOUT + 1)
    if len(data) > _MOST_ABOUT:
        raise ValueError
    return data


def _check(path: str | Path, sheet: str) -> None:
    """Refuse a sheet that is too large, or that does not hold the values that it shows."""
    with _archive(path) as archive:
        part = dict(_sheets(path, archive))[sheet]
        reason = None
        try:
            for info in archive.infolist():
                if info.filename.endswith(".xml") and info.filename != part and "/worksheets/" not in info.filename:
                    _check_size(archive, info.filename)
            reason = _why_not(archive, part)
        except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError):
            reason = "the workbook is damaged; save it again as .xlsx"
        except _TooLargeError as error:
            reason = str(error)
    if reason is not None:
        raise EngineUnavailable(f"{path}, sheet {sheet!r}: {reason}; nothing was imported")


class _TooLargeError(Exception):
    """A part of a workbook does not fit."""


def _check_size(archive: zipfile.ZipFile, part: str) -> None:
    size = 0
    with archive.open(part) as stream:
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > _MOST_BESIDE:
                raise _TooLargeError(_large(f"more than {_MOST_BESIDE // 2**20} MiB of text"))


def _why_not(archive: zipfile.ZipFile, part: str) -> str | None:
    """Return why a sheet cannot be taken as a table; None where it can."""
    width = height = size = unsaved = 0
    first, merged = "", []
    held = b""
    with archive.open(part) as stream:
        while True:
            block = stream.read(_BLOCK)
            size += len(block)
            if size > MOST_BYTES:
                raise _TooLargeError(_large(f"more than {MOST_BYTES // 2**20} MiB"))
            held += block
            cut = len(held) if not block else max(held.rfind(b"</row>"), held.rfind(b":row>"), 0)
            ready, held = held[:cut], held[cut:]
            if len(held) > _LONGEST_ROW:
                raise _TooLargeError(_large(f"a row of more than {_LONGEST_ROW // 2**20} MiB"))
            for letters, number in _REFERENCE.findall(ready):
                height = max(height, int(number))
                width = max(width, _column_number(letters))
            if _FORMULA.search(ready):
                lost = [_NAME.search(head) for head, body in _CELL.findall(ready) if _is_unsaved(head, body)]
                first = first or next((one[1].decode() for one in lost if one), "")
                unsaved += len(lost)
            merged += [one.decode() for one in _MERGED.findall(ready)]
            if width * height > MOST_CELLS:
                raise _TooLargeError(_large(f"a rectangle of {height:,} rows and {width:,} columns"))
            if not block:
                break
    if unsaved:
        where = f", the first in {first}" if first else ""
        return (
            f"{unsaved:,} formulas have no stored result{where}; open the workbook in a spreadsheet program and save it"
        )
    if merged:
        return f"cells are merged ({', '.join(merged[:3])}); unmerge them and fill each with its value"
    return None


def _is_unsaved(head: bytes, body: bytes) -> bool:
    """Return whether a cell has a formula without a result; the result of a formula of strings may be empty."""
    return bool(_FORMULA.search(body)) and not _VALUE.search(body) and not _IS_STRING.search(head)


def _large(what: str) -> str:
    return f"{what} is too large to be read into memory; export the sheet as CSV or Parquet"


def _column_number(letters: bytes) -> int:
    """Return the number of a column.

    >>> _column_number(b"A"), _column_number(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
