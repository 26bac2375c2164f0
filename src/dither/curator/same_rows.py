"""No row stands in two tables of a data set in which every row is a unit of its own.

There a row counts once in a request, because a request reads different tables where it unites them. Two tables that
read the same rows would let one row count twice. They are known as the rows of another data set are: by path and inode,
by the bytes that were read and that were written, and by what a server calls them. Of frames nothing is known before
they are given; there one object is not two tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations
from typing import Any

from dither.curator.editions import Edition, TableEdition, marks_of_files
from dither.data.importing.fit import has_rows
from dither.data.schema import DataSet, Table
from dither.errors import EngineUnavailable, InvalidParameter


def refuse_rows_twice(dataset: DataSet, edition: Edition) -> None:
    """Refuse a data set whose units are rows, if two of its private tables read the same ones.

    Files without rows may be in both: nothing of them can count. They are compared again when they are added again.

    Args:
        dataset: as it is declared.
        edition: what was read of it.

    """
    for one, other in combinations(_tables(dataset), 2):
        mine, theirs = edition.tables[one.name], edition.tables[other.name]
        if mine.marks & theirs.marks and _with_rows(one, mine) & _with_rows(other, theirs):
            raise InvalidParameter("source", [one.source, other.source], _rule(one.name, other.name))


def refuse_frames_twice(dataset: DataSet, frames: Mapping[str, Any]) -> None:
    """Refuse one frame as the rows of two private tables, where units are rows.

    Args:
        dataset: as it is declared.
        frames: the rows, by the names of tables.

    """
    for one, other in combinations([table for table in _tables(dataset) if table.name in frames], 2):
        if frames[one.name] is frames[other.name]:
            raise InvalidParameter("frames", [one.name, other.name], _rule(one.name, other.name))


def _tables(dataset: DataSet) -> list[Table]:
    return [] if dataset.protects_persons else [table for table in dataset.tables if not table.is_public]


def _rule(one: str, other: str) -> str:
    return (
        f"of different rows for {one} and {other}: each row is its own unit, and would count twice where a query "
        "unites them; declare one table, or people as the unit"
    )


def _with_rows(table: Table, edition: TableEdition) -> set[str]:
    """Return by what the rows of a table are known, without the files that hold none."""
    found = set(edition.places)
    is_empty = True
    for file in edition.origins:
        is_bare = False
        with suppress(EngineUnavailable):
            # What was read is what is counted: a file that is another one by now may have had rows.
            is_bare = not has_rows(table, file.path) and file.is_same()
        if not is_bare:
            is_empty = False
            found |= marks_of_files([file])
    return found if is_empty else found | marks_of_files(edition.files)
