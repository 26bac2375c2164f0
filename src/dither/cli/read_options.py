"""How ``dither add`` reads a data file, as options say: the sheet of a workbook, the delimiter, the decimal sign."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from dither.cli.console import say
from dither.data.endings import DELIMITERS
from dither.data.importing.excel_reader import sheet_names
from dither.data.importing.sources import is_excel, is_text
from dither.errors import InvalidParameter


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read.

    Args:
        sheet: of a workbook.
        delimiter: of a CSV file.
        decimal: the sign before decimals.

    """

    sheet: str | None = None
    delimiter: str | None = None
    decimal: str | None = None

    @property
    def words(self) -> list[str]:
        """The options as they would be typed again."""
        stated = {"sheet": self.sheet, "delimiter": self.delimiter, "decimal": self.decimal}
        return [word for name, value in stated.items() if value is not None for word in (f"--{name}", value)]


def read_options(
    path: Path, sheet: str | None, delimiter: str | None, decimal: str | None, *, is_asked: bool
) -> ReadOptions:
    """Return how a file is read; on a terminal, ask for the sheet of a workbook that has several.

    Args:
        path: a data file, or a schema, which declares all of it itself.
        sheet: as it was typed.
        delimiter: as it was typed; "tab" is one.
        decimal: as it was typed.
        is_asked: whether there is a terminal.

    """
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter.lower(), delimiter)
        if delimiter not in DELIMITERS:
            raise InvalidParameter("delimiter", delimiter, "one of , ; | or tab")
    if decimal not in (None, ".", ","):
        raise InvalidParameter("decimal", decimal, "'.' or ','")
    if decimal is not None and not is_text(path):
        raise InvalidParameter("decimal", decimal, "for a CSV file, JSON lines or a workbook; a schema declares it")
    if sheet is not None and not is_excel(path):
        raise InvalidParameter("sheet", sheet, "for a workbook; a schema declares it")
    if delimiter is not None and (is_excel(path) or not is_text(path)):
        raise InvalidParameter("delimiter", delimiter, "for a CSV file; a schema declares it")
    if sheet is None and is_asked and is_excel(path) and path.is_file():
        sheet = _asked_sheet(sheet_names(path))
    return ReadOptions(sheet, delimiter, decimal)


def _asked_sheet(names: list[str]) -> str | None:
    """Ask which sheet of several holds the rows, by number or name; None where there is one, or no answer."""
    if len(names) == 1:
        return None
    say(f"The workbook has {len(names)} sheets:")
    for place, name in enumerate(names, 1):
        say(f"  {place} {name}")
    while True:
        try:
            typed = str(typer.prompt("Which one holds the rows?", prompt_suffix=" ", default="", show_default=False))
        except (EOFError, KeyboardInterrupt, typer.Abort):
            return None
        if typed in names:
            return typed
        if typed.isascii() and typed.isdecimal() and 1 <= int(typed[:6]) <= len(names):
            return names[int(typed) - 1]
        say(f"type a number from 1 to {len(names)}, or the name of a sheet")
