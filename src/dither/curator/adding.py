"""Adding a data set: its files are read once, strictly, into a draft; only a whole draft becomes the edition.

Nothing is left behind by what fails: not a file, not a name, not a budget. One data set is added at a time, under a
lock that ends with its holder, so that drafts of a killed process are known for what they are and removed. Only a line
of digests may stay in ``marks``, where it is of no account while its name has no budget.

A budget that is registered stays, so a new name is registered when all of the data set is on disk under its final
names, with its schema waiting beside its rows (``Draft.keep``). Only then the schema goes where data sets are looked
for (``show``), which whoever looks does as well as the one who adds. So whatever an add of a new name dies of, and
wherever: before it is registered, the name is free for any budget and the rows for any name; afterwards the data set is
there. A name that has its budget already is checked first, because a refusal must leave the edition before. An add that
dies while it takes that edition's place leaves the old one, the new one, or one that does not fit its schema: every
question then says that it must be added again, with the same budget.
"""

from __future__ import annotations

import datetime
import fcntl
import os
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dither.curator.editions import FILE, Edition, TableEdition, fingerprint, folder_of
from dither.curator.ledger import ledger_files
from dither.data.engines import connect
from dither.data.importing.conversion import check_parquet, convert, keep_on_disk
from dither.data.importing.sources import FRAMES, files_of, is_data, is_parquet, known
from dither.data.schema import DataSet, Table
from dither.errors import EngineUnavailable, InvalidParameter

_DRAFTS: Final = ".adding-"
_SCHEMA: Final = "schema.yaml"


@dataclass(frozen=True)
class Draft:
    """What is read of a data set that is being added, in a folder that nobody else can look into.

    Args:
        home: the curator's folder.
        folder: the draft's own; it holds the copies, the edition that names them, and the schema, all on disk.
        dataset: the name.
        edition: what it will be.

    """

    home: Path
    folder: Path
    dataset: str
    edition: Edition

    def keep(self) -> None:
        """Put everything in place and remove the copies of the edition before: only names change, nothing is written.

        The schema waits beside the rows, and comes last: where one waits, the rest is in place.
        """
        goal = folder_of(self.home, self.dataset)
        goal.mkdir(mode=0o700, exist_ok=True)
        kept = {path.name for table in self.edition.tables.values() if table.is_copy for path in _paths(table)}
        (goal / _SCHEMA).unlink(missing_ok=True)
        for name in (*sorted(kept), FILE, _SCHEMA):
            os.replace(self.folder / name, goal / name)
        for path in goal.iterdir():
            if path.name not in {*kept, FILE, _SCHEMA}:
                path.unlink(missing_ok=True)
        keep_on_disk(goal)
        keep_on_disk(self.home / "data")


def schema_of(home: Path, dataset: str) -> Path:
    """Return where the schema of a data set is that may be asked."""
    return home / "datasets" / f"{dataset}.yaml"


def waiting_schema(home: Path, dataset: str) -> Path | None:
    """Return the schema that waits beside the rows of a data set, if there is one."""
    path = folder_of(home, dataset) / _SCHEMA
    return path if path.is_file() else None


def show(home: Path, dataset: str) -> None:
    """Put a waiting schema where data sets are looked for; somebody else may have done so. The name has its budget."""
    with suppress(FileNotFoundError):
        os.replace(folder_of(home, dataset) / _SCHEMA, schema_of(home, dataset))
    keep_on_disk(home / "datasets")


def names_with_rows(home: Path) -> list[str]:
    """Return the names under which there is a folder of rows, whatever is in it."""
    found = (home / "data").glob("*")
    return sorted(path.name for path in found if path.name.isidentifier() and path.is_dir())


def forget(home: Path, dataset: str) -> None:
    """Remove what an add left that ended before the name had its budget; only whoever holds the folder may do so."""
    path = waiting_schema(home, dataset)
    if path is not None:
        path.unlink()
    if not schema_of(home, dataset).exists():
        shutil.rmtree(folder_of(home, dataset), ignore_errors=True)


def remove_copies(home: Path, dataset: str) -> None:
    """Remove the rows that were imported; by what they can be known again stays. Only whoever holds the folder may."""
    for path in folder_of(home, dataset).glob("*.parquet"):
        path.unlink(missing_ok=True)


@contextmanager
def whole_or_nothing(home: Path, ledger: str | Path, anchors: Path) -> Iterator[list[str]]:
    """Make the folders of a curator, and remove them with all that was made in them if what follows fails.

    What was there before stays. Whoever is killed leaves an empty ledger at most, with which the next one goes on.

    Args:
        home: the curator's folder.
        ledger: where its ledger will be.
        anchors: the folder of anchors.

    Yields:
        a list for the id of the ledger, once it is there.

    """
    folders = [path for path in (*reversed(home.parents), home, home / "datasets", home / "data") if not path.exists()]
    files = [path for path in ledger_files(ledger) if not path.exists()]
    known = set(anchors.glob("*"))
    made: list[str] = []
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for inner in ("datasets", "data"):
            (home / inner).mkdir(mode=0o700, exist_ok=True)
        yield made
    except BaseException as problem:
        for path in (*files, *(path for name in made for path in anchors.glob(f"{name}.*") if path not in known)):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        for folder in reversed(folders):
            with suppress(OSError):
                folder.rmdir()  # only what is empty goes
        if isinstance(problem, OSError):
            raise EngineUnavailable(f"{home} cannot be made ({problem.strerror})") from None
        raise


@contextmanager
def one_at_a_time(home: Path) -> Iterator[None]:
    """Hold the folder for adding; whatever an earlier holder left is removed."""
    data = home / "data"
    try:
        data.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(data / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise EngineUnavailable(f"{home} cannot be written to ({error.strerror})") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in data.glob(f"{_DRAFTS}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(handle)


@contextmanager
def drafted(
    home: Path, dataset: DataSet, schema: str, *, earlier: Collection[str] = (), in_place: bool = False
) -> Iterator[Draft]:
    """Read all sources of a data set into a draft, which is gone afterwards unless it was kept.

    Args:
        home: the curator's folder.
        dataset: as it is declared, with files that can be found from ``home``.
        schema: the same, as the text of its file.
        earlier: by what the rows of earlier editions can be known.
        in_place: whether Parquet is read where it is, after it was checked whole, instead of being copied.

    """
    folder = home / "data" / f"{_DRAFTS}{uuid.uuid4().hex}"
    try:
        folder.mkdir(mode=0o700)
        elsewhere = [table for table in dataset.tables if table.source != FRAMES and not _is_file(dataset, table)]
        tables = _from_server(home, dataset, elsewhere) if elsewhere else {}
        for table in dataset.tables:
            if table.name not in tables:
                tables[table.name] = _imported(home, folder, dataset, table, in_place=in_place)
        tables = {name: replace(part, is_public=dataset.table(name).is_public) for name, part in tables.items()}
        added = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        edition = Edition(fingerprint(dataset), added, tables, tuple(sorted(earlier)))
        write_whole(folder / FILE, edition.to_json())
        write_whole(folder / _SCHEMA, schema)
        yield Draft(home, folder, dataset.name, edition)
    except OSError as error:
        raise EngineUnavailable(f"{home} cannot be written to ({error.strerror})") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all, for the owner alone."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _imported(home: Path, folder: Path, dataset: DataSet, table: Table, *, in_place: bool) -> TableEdition:
    if table.source == FRAMES:
        return TableEdition()
    files = files_of(table, home)
    if in_place:
        if not all(map(is_parquet, files)):
            raise InvalidParameter(
                "in_place", table.source, "not allowed for CSV, JSON lines and workbooks, which are always imported"
            )
        origins = check_parquet(table, files, folder)
        return TableEdition(origins=origins, files=origins)
    copy = folder / f"{table.name}-{uuid.uuid4().hex}.parquet"
    origins = convert(table, files, copy)
    # Under the name that it will have: renaming changes neither inode nor time.
    kept = replace(known(copy), path=str(folder_of(home, dataset.name) / copy.name))
    return TableEdition(origins=origins, files=(kept,), is_copy=True)


def _paths(table: TableEdition) -> Iterator[Path]:
    yield from (Path(file.path) for file in table.files)


def _is_file(dataset: DataSet, table: Table) -> bool:
    """Return whether a table's source is files of this machine; else it is a server's, or a directory's, in Spark."""
    scheme = dataset.engine.split(":", 1)[0]
    if scheme != "spark":
        return scheme == "duckdb"
    return "://" not in table.source and is_data(table.source) and (not Path(table.source).is_dir())


def _from_server(home: Path, dataset: DataSet, tables: list[Table]) -> dict[str, TableEdition]:
    """Open tables that stay where they are, and let the engine say what they are and whether they can be read."""
    # With the tables that they refer to, without which they would be nobody's.
    named = {one.name for table in tables for one in (table, *dataset.owners(table))}
    opened = tuple(table for table in dataset.tables if table.name in named)
    with connect(replace(dataset, tables=opened), folder=home) as engine:
        engine.check()
        editions = {}
        for table in tables:
            files = tuple(map(known, engine.files(table)))
            editions[table.name] = TableEdition(origins=files, files=files, places=engine.places(table))
        engine.check()
    return editions
