"""A copy of a table as Parquet, made only when the curator asks for it.

Reading a large CSV file for each query is slow; a typed Parquet file is not. The copy holds the declared columns alone,
every cell of its declared kind or NULL, in a file that only its owner can read (0600). It appears under its name when
it is complete, by one atomic rename, or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.data.schema import DataSet, Table
from dither.errors import EngineUnavailable, InvalidParameter

if TYPE_CHECKING:
    from dither.data.engines.emit_duckdb import DuckDBEmitter


def convert_to_parquet(
    dataset: DataSet, table: str, folder: str | Path, *, origin: str | Path | None = None
) -> DataSet:
    """Write a table to a Parquet file in ``folder`` and return the data set with that file as its source.

    Args:
        dataset: the schema; its engine must be DuckDB.
        table: which of its tables.
        folder: where the file ``DATASET.TABLE.parquet`` goes; made, for its owner alone, if it is absent.
        origin: where relative paths of sources start; by default the current folder.

    """
    from dither.data.engines.duckdb import DuckDBEngine
    from dither.data.engines.emit_duckdb import DuckDBEmitter

    if dataset.engine.split(":", 1)[0] != "duckdb":
        raise InvalidParameter("engine", dataset.engine.split(":", 1)[0], "duckdb: other engines keep their own tables")
    declared = dataset.table(table)
    home = Path(folder).expanduser()
    goal = home / f"{dataset.name}.{declared.name}.parquet"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Nobody else can look into this folder while the file is being written.
        workshop = Path(tempfile.mkdtemp(prefix=".converting-", dir=home))
    except OSError as error:
        raise EngineUnavailable(f"{home} cannot be written to ({error.strerror})") from None
    try:
        with DuckDBEngine(dataset, folder=Path(origin) if origin is not None else None) as engine:
            engine.check()
            _write(declared, DuckDBEmitter(engine._sources, engine._list), workshop)
        made = workshop / "rows.parquet"
        made.chmod(0o600)
        _keep(made)
        os.replace(made, goal)
        _keep(home)
    except OSError as error:
        raise EngineUnavailable(f"{home} cannot be written to ({error.strerror})") from None
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    source = str(goal.resolve())
    tables = tuple(replace(part, source=source) if part.name == declared.name else part for part in dataset.tables)
    return replace(dataset, tables=tables)


def _write(table: Table, emitter: DuckDBEmitter, workshop: Path) -> None:
    import duckdb

    cells = [f"{emitter.cell(table, name, kind)} AS {emitter.quote(name)}" for name, kind in table.kinds.items()]
    rows = f"SELECT {', '.join(cells)} FROM {emitter.source(table)}"  # noqa: S608 - printed by the emitter
    settings: dict[str, Any] = {
        "temp_directory": str(workshop),
        "preserve_insertion_order": "false",
        "ieee_floating_point_ops": "true",
    }
    failed = False
    with duckdb.connect(":memory:", config=settings) as connection:
        try:
            connection.execute(f"COPY ({rows}) TO '{_quoted(workshop)}/rows.parquet' (FORMAT parquet)")
        except duckdb.Error:
            failed = True  # what it says may quote a cell
    if failed:
        raise EngineUnavailable(f"table {table.name} could not be copied: its file is damaged, or the disk is full")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _keep(path: Path) -> None:
    """Make what was written survive a loss of power."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
