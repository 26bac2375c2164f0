"""How the texts of a file are meant: which of them stand for nothing, and how dates are written.

A file does not say what its texts mean. ``n/a`` among numbers makes texts of them all, and 03/04/2021 is a day in March
or one in April: ordered by its letters it is neither. What is meant is declared once for a table, and what would better
be declared is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dither.disguise.dates import LOCAL_DATES, LocalDates, is_local, is_short, standard
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter

#: Words that stand for nothing in most files, in small letters: they are never read so unless that is declared.
_NOTHING: Final = frozenset(
    ("n/a", "na", "n.a.", "nan", "null", "none", "nil", "-", "--", ".", "?", "unknown", "missing")
)


@dataclass(frozen=True)
class Reading:
    """What texts of a table stand for.

    Args:
        null: texts that stand for nothing, as they are written, such as ``n/a``.
        dates: how dates such as 03/04/2021 are written: ``day-first`` or ``month-first``; not given, they are texts.

    >>> read = Reading(("n/a",), "day-first").of({"age": ["31", "n/a"], "seen": ["03/04/2021", "20/04/2021"]})
    >>> read.columns()
    {'age': ['31', None], 'seen': ['2021-04-03', '2021-04-20']}

    """

    null: tuple[str, ...] = ()
    dates: LocalDates | None = None

    def __post_init__(self) -> None:
        given: Any = self.null
        if isinstance(given, str):
            raise InvalidParameter("null", given, "a sequence of strings, not one string")
        object.__setattr__(self, "null", tuple(self.null))
        if self.dates is not None and self.dates not in LOCAL_DATES:
            raise InvalidParameter("dates", self.dates, f"one of {', '.join(LOCAL_DATES)}")

    def of(self, table: Any) -> Table:
        """Return the table as it is meant."""
        return self.told(table)[0]

    def told(self, table: Any) -> tuple[Table, tuple[str, ...]]:
        """Return the table as it is meant, and a sentence for each column that this changed."""
        given = Table.of(table)
        columns, said = {}, []
        for name in given.names:
            column, holes = self._without(given[name])
            if holes:
                said.append(f"{name}: {holes:,} cells are read as missing.")
            if self.dates is not None and _has_dates(column):
                column = self._dated(name, column)
                said.append(f"{name} is read as dates, {self.dates}, and written as year, month and day.")
            columns[name] = column
        words = {value.strip() for name in given.names for value in given[name].values if isinstance(value, str)}
        said += [f"null: no cell is {word!r}." for word in self.null if word not in words]
        if self.dates is not None and not any("read as dates" in one for one in said):
            said.append("dates: no column has dates such as 03/04/2021.")
        return given.replaced(columns), tuple(said)

    def _without(self, column: Column) -> tuple[Column, int]:
        """Return a column without the texts that stand for nothing, and how many cells had one."""
        gone = [isinstance(value, str) and value.strip() in self.null for value in column.values]
        if not any(gone):
            return column, 0
        holes = int(np.count_nonzero(np.array(gone)[column.codes]))
        return _renamed(column, [None if out else value for value, out in zip(column.values, gone, strict=True)]), holes

    def _dated(self, name: str, column: Column) -> Column:
        how = self.dates
        try:
            return _renamed(
                column,
                [None if value is None else standard(str(value), how or "day-first") for value in column.values],
            )
        except InvalidParameter as failure:
            raise InvalidParameter(name, failure.offender, f"a date {failure.rule}") from None


def _renamed(column: Column, values: Sequence[Any]) -> Column:
    """Return a column with other values in place of its own, of which some may be equal."""
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(value, len(places)) for value in values], dtype=np.int64)
    return Column(tuple(places), codes[column.codes])


def _has_dates(column: Column) -> bool:
    """Return whether most values of a column are local dates."""
    present = [value for value in column.values if value is not None]
    return 2 * sum(map(is_local, present)) > len(present)


def hints(table: Table, names: Iterable[str]) -> list[str]:
    """Return a sentence for each column that is not what it seems: texts among numbers, dates that are ambiguous."""
    said = []
    for name in names:
        column = table[name]
        present = [column.values[code] for code in np.flatnonzero(np.bincount(column.codes)).tolist()]
        there = [value for value in present if value is not None]
        texts = [value for value in there if Column.of([value]).numbers() is None]
        if texts and 2 * len(texts) < len(there):
            words = [value for value in texts if str(value).strip().lower() in _NOTHING]
            end = f": --null {','.join(map(str, words))} reads it as missing." if len(words) == len(texts) else "."
            said.append(f"{name} is read as text, because of {texts[0]!r} among its numbers{end}")
        elif there and _has_dates(column):
            said.append(
                f"{name} looks like dates, such as {next(filter(is_local, there))!r}, and is read as text in "
                f"alphabetical order: set --dates {' or '.join(LOCAL_DATES)} for dates."
            )
        elif there and 2 * len(short := list(filter(is_short, there))) > len(there):
            said.append(
                f"{name} looks like dates with years of two digits, such as {short[0]!r}, and is read as text in "
                "alphabetical order: write years with four digits."
            )
    return said
