"""Does the file still fit the schema? For the owner alone.

**Not private.** It reads rows without a mechanism and without a charge, and shows single cells. What it returns must
not leave the owner's machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dither.curator.editions import TableEdition, current
from dither.data.importing.fit import TableFit, fit_of
from dither.data.importing.references import ReferenceFit, reference_of
from dither.data.importing.sources import FRAMES, files_of
from dither.data.schema import DataSet, Table
from dither.errors import EngineUnavailable


@dataclass(frozen=True)
class TableCheck:
    """What was found about one table.

    Args:
        table: what is declared.
        fit: how its rows fit; None where they are not in files of this machine, and so were not read.
        note: what else its owner should know: the file has changed since it was added, or is gone.
        reference: how its rows fit the table through which they belong to people; None where that was not read.

    """

    table: Table
    fit: TableFit | None
    note: str = ""
    reference: ReferenceFit | None = None

    @property
    def is_right(self) -> bool:
        """Whether there is nothing to complain of."""
        is_referring = self.reference is None or self.reference.is_whole
        return not self.note and is_referring and (self.fit is None or self.fit.is_whole)


def check_files(home: Path, dataset: DataSet) -> tuple[TableCheck, ...]:
    """Return how the files of a data set fit its schema, table by table. NOT PRIVATE: for the owner's eyes.

    Args:
        home: the curator's folder.
        dataset: as it is declared.

    """
    edition = None
    with suppress(EngineUnavailable):
        edition = current(home, dataset.name)
    parts = {} if edition is None else edition.tables
    found = [_check(home, dataset, table, parts.get(table.name)) for table in dataset.tables]
    return tuple(replace(one, reference=_reference(home, dataset, one)) for one in found)


def fits_of(home: Path, dataset: DataSet) -> tuple[TableFit, ...]:
    """Return how the files of a data set fit that is about to be added; tables that are not in files are left out.

    Args:
        home: the curator's folder.
        dataset: as it is declared.

    """
    tables = [table for table in dataset.tables if _is_in_files(dataset, table)]
    return tuple(fit_of(table, files_of(table, home)) for table in tables)


def references_of(home: Path, dataset: DataSet, fits: Sequence[TableFit]) -> tuple[tuple[Table, ReferenceFit], ...]:
    """Return how the references of a data set fit that is about to be added. NOT PRIVATE: for the owner's eyes.

    Args:
        home: the curator's folder.
        dataset: as it is declared.
        fits: of its tables that are in files.

    """
    found = ((fit.table, _reference(home, dataset, TableCheck(fit.table, fit))) for fit in fits)
    return tuple((table, reference) for table, reference in found if reference is not None)


def _is_in_files(dataset: DataSet, table: Table) -> bool:
    return dataset.engine.startswith("duckdb") and table.source != FRAMES


def _reference(home: Path, dataset: DataSet, one: TableCheck) -> ReferenceFit | None:
    """Return how references fit, as far as the files of the tables on the way to the person are still there."""
    if one.table.owner is None or one.fit is None:
        return None
    chain = []
    for table in (one.table, *dataset.owners(one.table)):
        if not _is_in_files(dataset, table):
            break
        try:
            chain.append((table, files_of(table, home)))
        except EngineUnavailable:
            break
    return reference_of(chain) if len(chain) > 1 else None


def _check(home: Path, dataset: DataSet, table: Table, edition: TableEdition | None) -> TableCheck:
    if not _is_in_files(dataset, table):
        return TableCheck(table, None)
    try:
        files = files_of(table, home)
    except EngineUnavailable:
        files = []
    origins = [] if edition is None else [file.path for file in edition.origins]
    if not files:
        if edition is None or not edition.is_copy or not all(Path(file.path).is_file() for file in edition.files):
            return TableCheck(table, None, "its file is gone, and so is the copy of its rows")
        fit = fit_of(table.as_copied, [file.path for file in edition.files])
        return TableCheck(table, fit, f"{table.source} is gone: the copy was read, in which lost cells are empty")
    note = ""
    if edition is not None and (files != origins or not all(file.is_same() for file in edition.origins)):
        note = "the file has changed since it was added: answers are about the rows of then, until it is added again"
    return TableCheck(table, fit_of(table, files), note)
