"""The columns of a file without its rows: names and declared types alone."""

from __future__ import annotations

from pathlib import Path

from dither.data.expressions import Kind
from dither.data.facts import FROM_DATA, FROM_TYPE, ColumnFacts, read_as
from dither.data.hints import plain_names
from dither.data.importing.named_files import NamedFiles
from dither.data.suggest import described, unfit
from dither.errors import InvalidParameter


class Outline:
    """The columns of a file without its rows: names and declared types.

    Args:
        path: a data file.
        sheet: of a workbook with several.
        delimiter: of a CSV file, where it is declared.
        decimal: "," or ".", where it is declared.

    """

    decimal = None

    def __init__(
        self,
        path: str | Path | NamedFiles,
        *,
        sheet: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> None:
        named = path if isinstance(path, NamedFiles) else NamedFiles.one(path)
        self.path = named.source
        self.read = read_as(str(named.first), sheet, delimiter, decimal)
        found = described(named, sheet=sheet, delimiter=delimiter)
        listed = [name for name, *_ in found]
        if not any(name.strip() for name in listed):
            raise InvalidParameter("schema", str(path), "a file whose first line names its columns: this one is empty")
        #: The columns that a schema can name.
        self.columns: tuple[ColumnFacts, ...] = tuple(
            ColumnFacts(plain, name, kind or Kind.TEXT, FROM_TYPE if kind else FROM_DATA, 0, 0)
            for plain, (name, kind, stored) in zip(plain_names(listed), found, strict=True)
            if not unfit(name, kind, stored, listed)
        )

    def column(self, name: str) -> ColumnFacts:
        """Return a column by its declared name."""
        return next(one for one in self.columns if one.name == name)
