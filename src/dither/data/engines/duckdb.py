"""DuckDB, in this process: CSV and Parquet files, pandas, Polars and Arrow frames.

**Closed.** Before the first query the connection is locked: only the declared files can be read, nothing can be
written but spilled intermediate results (in a folder of this engine's own, see ``spill``), no extension can be loaded,
no setting changed. Undeclared columns are not read.

**No parser while answering.** A CSV file is taken whole, or refused with line and reason, when the engine is opened:
see ``importing``. Queries read the Parquet that was made of it. A Parquet file that is read in place is read to its end
first, when it was added or when the engine is opened: a cell that DuckDB cannot read (a text that is not UTF-8, a
moment beyond 64 bits of microseconds) is found before anything is charged, and not by a query. Before and after each
statement every file that is read must still be the one that was opened.

**Silent.** Cells of another kind are NULL, and nothing is reported about them. A query that fails, or meets the data
set's time limit, raises ``EngineFailure``, whose text is always the same and which carries no cause.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.data.engines.columnar import columnar, read_columns
from dither.data.engines.deadline import time_limit
from dither.data.engines.emit_duckdb import DuckDBEmitter
from dither.data.engines.emitter import Statement
from dither.data.engines.frames import prepared
from dither.data.engines.protocol import FILES_CHANGED, Engine
from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind, Value
from dither.data.importing.conversion import check_parquet, convert
from dither.data.importing.duckdb_tables import Source, parquet_source, text_constant, typed_source
from dither.data.importing.sources import KnownFile, are_unchanged, files_of, is_parquet
from dither.data.relations import Aggregated, Aggregation
from dither.data.schema import DataSet, Table
from dither.errors import DitherError, EngineFailure, EngineUnavailable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_LISTS: Final = 8
#: What would slow down or open up the engine; an older release that lacks one of these optimisers has no need of it.
_SETTINGS: Final = (
    # A window that is limited to its first rows is otherwise rewritten into an aggregate that is several times slower.
    "SET disabled_optimizers = 'top_n_window_elimination'",
    "SET error_on_division_by_zero = false",
    "SET enable_progress_bar = false",  # how far a query is tells the number of rows
)


class DuckDBEngine(Engine):
    """The tables of one data set in DuckDB. Not shared between threads.

    Args:
        dataset: the schema.
        folder: relative paths of sources start here.
        frames: rows given as pandas or Polars frames or Arrow tables, by table.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.
        memory: how much memory queries may use before they spill to disk, such as "4GB"; DuckDB's own share if None.
        threads: the number of threads; all processors if None.
        are_read: whether Parquet files were read to their end when they were added; otherwise opening does it.

    """

    def __init__(
        self,
        dataset: DataSet,
        *,
        folder: Path | None = None,
        frames: Mapping[str, Any] | None = None,
        portable: bool = False,
        are_read: bool = False,
        memory: str | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(dataset, folder=folder, frames=frames, portable=portable)
        self._memory, self._threads, self._are_read = memory, threads, are_read
        self._connection: DuckDBPyConnection | None = None
        self._sources: dict[str, Source] = {}
        self._lists: dict[tuple[Any, ...], str] = {}
        self._numbers = iter(range(2**62))
        self._spill: SpillFolder | None = None
        self._read: tuple[KnownFile, ...] = ()
        self._copied: set[str] = set()
        self._limit: int | None = None

    def check(self) -> None:
        """Open every table, compare declared columns with those that exist, and files with those that were opened."""
        self._opened()
        if not are_unchanged(self._read):
            raise EngineUnavailable(FILES_CHANGED)

    @property
    def memory_bytes(self) -> int | None:
        """DuckDB's limit, which is the machine's or the curator's."""
        self._opened()
        return self._limit

    def statement(self, aggregation: Aggregation) -> Statement:
        """Return the SQL that ``aggregate`` runs: public, a function of schema and request alone."""
        self.check_tables(aggregation)
        connection = self._opened()
        # Before the statement is written, so that none of its own lists goes while it names more.
        while len(self._lists) >= _MOST_LISTS:
            connection.execute(f"DROP TABLE {self._lists.pop(next(iter(self._lists)))}")
        return DuckDBEmitter(self._sources, self._list, portable=self.portable).aggregation(aggregation)

    def prepare(self, aggregation: Aggregation) -> None:
        """Print the statement; refuse one that is too long or too deep."""
        self.statement(aggregation)

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures."""
        self.check_tables(aggregation)
        connection = self._opened()
        answer: Aggregated | None = None
        try:
            statement = self.statement(aggregation)
            if are_unchanged(self._read):
                with time_limit(self.dataset.seconds, connection.interrupt):
                    answer = self._answer(connection, statement)
        except DitherError:
            raise  # a request that cannot be printed: its text is public
        except Exception:  # noqa: S110 - what DuckDB says may quote a private cell, so it goes nowhere
            pass
        # Raised outside the handler, so that no context hangs on it.
        if answer is None or not are_unchanged(self._read):
            raise EngineFailure
        return answer

    def _answer(self, connection: DuckDBPyConnection, statement: Statement) -> Aggregated:
        """Return the answer as columns where all its kinds are those of arrays, and as rows otherwise."""
        text = columnar(statement)
        if text is not None:
            found = read_columns(statement, connection.execute(text).fetchnumpy())
            if found is not None:
                return found
        # Never fetchnumpy or a frame of the statement itself: both turn 128-bit integers into doubles.
        return statement.read(connection.execute(statement.text).fetchall())

    def close(self) -> None:
        """Close files, frames and memory; remove spilled files."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._sources, self._lists, self._read = None, {}, {}, ()
        if self._spill is not None:
            self._spill.close()
        self._spill = None

    # Opening.

    def _opened(self) -> DuckDBPyConnection:
        if self._connection is None:
            try:
                self._connection = self._open()
            except BaseException:
                self.close()
                raise
        return self._connection

    def _open(self) -> DuckDBPyConnection:
        import duckdb

        self._spill = SpillFolder()  # readable by this user alone
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "ieee_floating_point_ops": "true",
            "default_collation": "",
            "preserve_insertion_order": "false",
            "temp_directory": str(self._spill.path),
        }
        if self._memory is not None:
            settings["memory_limit"] = self._memory
        if self._threads is not None:
            settings["threads"] = self._threads
        try:
            connection = duckdb.connect(":memory:", config=settings)
        except duckdb.Error as problem:
            raise EngineUnavailable(f"DuckDB does not start: {_first_line(problem)}") from None
        for setting in _SETTINGS:
            with contextlib.suppress(duckdb.Error):
                connection.execute(setting)
        self._connection = connection
        self._limit = _bytes(connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])
        found = {table.name: self._files(table) for table in self.dataset.tables if table.name not in self.frames}
        self._read = tuple(KnownFile.found(path) for files in found.values() for path in files)
        paths = ", ".join(text_constant(file.path) for file in self._read)
        connection.execute(f"SET allowed_paths = [{paths}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        for table in self.dataset.tables:
            self._sources[table.name] = self._source(connection, table, found.get(table.name))
        return connection

    def _files(self, table: Table) -> list[str]:
        """Return the Parquet files to read: those of the source, or the one that its CSV was converted to."""
        files = files_of(table, self.folder)
        if self._spill is None or all(map(is_parquet, files)):
            if self._spill is not None and not self._are_read:
                check_parquet(table, files, self._spill.path)
            return files
        copy = self._spill.path / f"{table.name}.parquet"
        convert(table, files, copy)
        self._copied.add(table.name)
        return [str(copy.resolve())]

    def _source(self, connection: DuckDBPyConnection, table: Table, files: Sequence[str] | None) -> Source:
        if files is None:
            return self._frame(connection, table)
        return parquet_source(connection, table.as_copied if table.name in self._copied else table, files)

    def _frame(self, connection: DuckDBPyConnection, table: Table) -> Source:
        frame = prepared(table, self.frames[table.name])
        name = f"f{next(self._numbers)}"
        is_readable = True
        try:
            connection.register(name, frame)
        except Exception:
            # What DuckDB says of a frame may quote a cell.
            is_readable = False
        if not is_readable:
            kinds = "a pandas or Polars frame or an Arrow table with columns of plain types"
            raise EngineUnavailable(f"table {table.name}: a {type(frame).__name__} cannot be read; give {kinds}")
        return typed_source(connection, table.as_copied, name, "the frame")

    # Public lists.

    def _list(self, kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return the name of a table that holds a public list, kept for the next request with the same list."""
        key = (tuple(kinds), tuple(values))
        if key not in self._lists:
            connection = self._opened()
            name = f"l{next(self._numbers)}"
            types = [DuckDBEmitter.types[kind] for kind in kinds]
            outputs = ", ".join(f"unnest(CAST(? AS {kind}[])) AS k{place}" for place, kind in enumerate(types))
            columns = [[row[place] for row in values] for place in range(len(kinds))]
            connection.execute(f"CREATE TEMP TABLE {name} AS SELECT {outputs}", columns)
            self._lists[key] = name
        return self._lists[key]


def _bytes(size: str) -> int | None:
    """Return the number of bytes in a size that DuckDB prints; None if it is not a size.

    >>> _bytes("476.8 MiB"), _bytes("12 bytes"), _bytes("none")
    (499961036, 12, None)
    """
    units = {"byte": 0, "bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50}
    number, _, unit = size.partition(" ")
    try:
        return int(Fraction(number) * 2 ** units[unit])
    except (ValueError, KeyError):
        return None


def _first_line(problem: Exception) -> str:
    return str(problem).split("\n", 1)[0]
