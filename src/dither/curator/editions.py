"""Editions: which files were imported when a data set was added, and which ones its queries read.

::

    data/clinic/edition.json            what is below, for the owner alone
    data/clinic/visits-5c1d….parquet    the rows of a table, written here when they were added

A file that changes after it was added does not matter any more: queries read the copy. Adding it again is a new
edition of the same data set, under the same budget, and the older copy goes. A copy that is not the one that was
written here is not read. The same holds of the owner's Parquet where it is read in place, and of directories of it.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from dither.data.engines import release_of
from dither.data.importing.sources import FRAMES, KnownFile, files_below, files_of
from dither.data.schema import Column, DataSet, Table
from dither.errors import DitherError, EngineUnavailable, Unanswerable

FILE: Final = "edition.json"
_VERSION: Final = 1


@dataclass(frozen=True)
class TableEdition:
    """What one table was when it was added.

    Args:
        origins: the owner's files that were read.
        files: the files that queries read: one copy, or the owner's own.
        places: what a server calls the rows, where they are not in files.
        is_copy: whether ``files`` were written here.
        is_public: whether everybody may know the rows.

    """

    origins: tuple[KnownFile, ...] = ()
    files: tuple[KnownFile, ...] = ()
    places: tuple[str, ...] = ()
    is_copy: bool = False
    is_public: bool = False

    @property
    def sources(self) -> set[str]:
        """All by which the rows that were added can be known: paths, inodes, bytes, and what servers call them."""
        return set(self.places) | marks_of_files(self.origins)

    @property
    def marks(self) -> set[str]:
        """The same, with the files that queries read."""
        return self.sources | marks_of_files(self.files)


@dataclass(frozen=True)
class Edition:
    """What a data set was when it was added.

    Args:
        fingerprint: a digest of what the import depends on: sources and kinds.
        added: when, in UTC.
        tables: by name.
        earlier: by what the private rows of earlier editions can be known: they were answered about under this budget.

    """

    fingerprint: str
    added: str
    tables: dict[str, TableEdition]
    earlier: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the record as text."""
        record = {"version": _VERSION, "fingerprint": self.fingerprint, "added": self.added}
        tables = {name: asdict(table) for name, table in self.tables.items()}
        return json.dumps({**record, "tables": tables, "earlier": self.earlier}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Edition:
        """Return the record that a text holds; raises ValueError, KeyError or TypeError."""
        record = json.loads(text)
        if record["version"] != _VERSION:
            raise ValueError
        tables = {name: _table(part) for name, part in record["tables"].items()}
        return cls(str(record["fingerprint"]), str(record["added"]), tables, tuple(map(str, record["earlier"])))

    @property
    def marks(self) -> set[str]:
        """All by which the private rows can be known again."""
        return set(self.earlier).union(*(table.marks for table in self.tables.values() if not table.is_public))

    @property
    def lasting(self) -> tuple[str, ...]:
        """Those of them that go with the rows and not with where they were: digests, and what servers call them."""
        return tuple(sorted(mark for mark in self.marks if not mark.startswith(("path ", "inode "))))


def fingerprint(dataset: DataSet) -> str:
    """Return a digest of what an import depends on; bounds, categories and limits may change without a new one."""
    tables = [
        # As with names of columns: what came later is not in the digest where it is not said.
        (table.name, table.source, table.is_public, [_imported_as(column) for column in table.columns])
        + (() if table.decimal is None else (table.decimal,))
        + tuple((name, value) for name in ("delimiter", "sheet") if (value := getattr(table, name)) is not None)
        for table in dataset.tables
    ]
    record = [dataset.name, dataset.engine.split(":", 1)[0], tables]
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _imported_as(column: Column) -> tuple[str, ...]:
    # A name of its own in the source came later: where there is none, the digest is what it was before.
    # So did forms of cells, which differ from a name by their number.
    known = (column.name, column.kind.value)
    if column.form is not None:
        return (*known, column.stored_name, "", *column.form)
    return known if column.source is None else (*known, column.source)


def has_same_rows(before: Edition | None, now: Edition) -> bool:
    """Return whether two editions hold the same rows for certain: the same bytes, read as the same kinds.

    Args:
        before: the edition that is asked; None where there is none to read.
        now: the one that takes its place.

    """
    if before is None or before.fingerprint != now.fingerprint or before.tables.keys() != now.tables.keys():
        return False
    if any(table.places for table in now.tables.values()):
        return False  # what a server holds may be anything by now
    return all(_digests(before.tables[name]) == _digests(table) for name, table in now.tables.items())


def _digests(table: TableEdition) -> list[str]:
    return [file.digest or file.path for file in table.origins]


def folder_of(home: Path, name: str) -> Path:
    """Return where the copies of a data set are."""
    return home / "data" / name


def current(home: Path, name: str) -> Edition | None:
    """Return the edition of a data set, if it was ever added with one."""
    folder = folder_of(home, name)
    edition = None
    try:
        edition = Edition.from_json((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    if edition is None:
        raise EngineUnavailable(f"the edition of {name} cannot be read; {_again(name)}")
    # Copies are beside their edition, wherever the curator's folder was moved to.
    return replace(edition, tables={name: _moved(table, folder) for name, table in edition.tables.items()})


def as_read(home: Path, dataset: DataSet, given: Collection[str] = ()) -> DataSet:
    """Return the data set with the files that its queries read as sources; refuse files that are not those.

    Args:
        home: the curator's folder.
        dataset: as it is declared.
        given: tables whose rows are given as frames.

    """
    wanted = [table for table in dataset.tables if table.name not in given]
    for table in wanted:
        if table.source == FRAMES:
            raise EngineUnavailable(f"table {table.name}: its rows are given as frames; give them with the session")
    if not wanted:
        return dataset
    edition = current(home, dataset.name)
    if edition is None or edition.fingerprint != fingerprint(dataset):
        raise EngineUnavailable(
            f"the rows of {dataset.name} were not imported as it is declared; {_again(dataset.name)}"
        )
    read = {table.name: _as_read(home, dataset, table, edition.tables[table.name]) for table in wanted}
    return replace(dataset, tables=tuple(read.get(one.name, one) for one in dataset.tables))


def mark_of_rows(home: Path, dataset: DataSet, read: DataSet, *, number: int | None = None) -> str:
    """Return what tells the rows that an engine reads, and those of them that count, from any others.

    A copy is known by its name, which no other copy ever has; the owner's files, where they are read in place, by path,
    inode, size, time and bytes, by when they were added and by which rows there were before. Which rows of a person
    count may be another choice in another release of the engine: see ``release_of``.

    Args:
        home: the curator's folder.
        dataset: as it is declared.
        read: the same with the files that the engine reads as sources: what ``as_read`` returned when it was opened.
        number: of the edition, as the ledger counts them, where it is known.

    Raises:
        EngineUnavailable: other rows were added since the engine was opened.
        Unanswerable: nothing tells the rows of a table from others, which may be there at any time.

    """
    edition = current(home, dataset.name)
    # Read again: rows that are added at this very moment are not taken for those before.
    if edition is None or as_read(home, dataset) != read or current(home, dataset.name) != edition:
        raise EngineUnavailable(f"other rows of {dataset.name} were added meanwhile: ask again")
    unknown = [name for name, table in sorted(edition.tables.items()) if not table.files]
    if unknown:
        raise Unanswerable(
            f"the rows of {', '.join(unknown)} are in no files of this machine, and may be others at any time",
            "add a copy of the rows",
        )
    known = [
        [
            name,
            [
                [Path(file.path).name] if table.is_copy else [file.path, *file.state, file.digest]
                for file in table.files
            ],
        ]
        for name, table in sorted(edition.tables.items())
    ]
    record = [edition.fingerprint, edition.added, edition.earlier, number, known, release_of(dataset)]
    return hashlib.sha256(json.dumps(record).encode()).hexdigest()


def marks_of(home: Path, dataset: DataSet, remembered: Collection[str] | None) -> set[str]:
    """Return all by which the private rows of a registered data set can be known again.

    Args:
        home: the curator's folder.
        dataset: as it is declared.
        remembered: by what its rows are known apart from its edition, if that was ever written.

    """
    edition = readable(home, dataset.name, remembered)
    known = edition.marks if edition is not None else set(_declared_marks(home, dataset))
    return known.union(remembered or ())


def readable(home: Path, name: str, remembered: Collection[str] | None) -> Edition | None:
    """Return the edition of a data set, or None where there is none to read and nothing is forgotten with it.

    Raises:
        EngineUnavailable: it is damaged, and nothing else says which rows it held.

    """
    is_damaged = False
    try:
        return current(home, name)
    except EngineUnavailable:
        is_damaged = remembered is None
    if is_damaged:
        path = folder_of(home, name) / FILE
        raise EngineUnavailable(f"{path} cannot be read, and only it says which rows {name} had; restore it")
    return None


def marks_of_files(files: Iterable[KnownFile]) -> set[str]:
    """Return all by which files can be known again: paths, inodes and bytes."""
    found = set()
    for file in files:
        found.add(f"path {file.path}")
        if file.digest:
            found.add(f"bytes {file.digest}")
        # As it is now: the inode of a file that is gone may be another one's.
        with contextlib.suppress(OSError):
            now = KnownFile.found(file.path)
            found.add(f"inode {now.device} {now.inode}")
    return found


def _declared_marks(home: Path, dataset: DataSet) -> Iterator[str]:
    """Yield what a declaration alone tells of the rows, for a data set that has no edition."""
    for table in dataset.tables:
        try:
            files = files_of(table, home) if not table.is_public else []
        except DitherError:
            continue
        yield from marks_of_files(map(KnownFile.found, files))


def _as_read(home: Path, dataset: DataSet, table: Table, edition: TableEdition) -> Table:
    for file in edition.files:
        if not file.is_same():
            what = "the copy of its rows" if edition.is_copy else f"{file.path}, which is read in place,"
            raise EngineUnavailable(f"table {table.name}: {what} is not what was added; {_again(dataset.name)}")
    if edition.is_copy:
        return replace(table.as_copied, source=glob.escape(edition.files[0].path))
    if edition.files:
        path = Path(table.source)
        now = files_below(path) if path.is_dir() else files_of(table, home)
        if now != [file.path for file in edition.files]:
            raise EngineUnavailable(f"table {table.name}: there are other files now; {_again(dataset.name)}")
    return table


def _moved(table: TableEdition, folder: Path) -> TableEdition:
    if not table.is_copy:
        return table
    return replace(table, files=tuple(replace(file, path=str(folder / Path(file.path).name)) for file in table.files))


def _again(name: str) -> str:
    return f"add it again: 'dither add SCHEMA.yaml' under the name {name}, with the same budget"


def _table(record: dict[str, Any]) -> TableEdition:
    files = {key: tuple(KnownFile(**file) for file in record[key]) for key in ("origins", "files")}
    return TableEdition(
        places=tuple(map(str, record["places"])),
        is_copy=record["is_copy"] is True,
        is_public=record["is_public"] is True,
        **files,
    )
