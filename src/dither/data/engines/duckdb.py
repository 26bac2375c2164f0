# ruff: noqa: S608 - every name and path in a statement is quoted or made up here
"""DuckDB, in this process: CSV and Parquet files, pandas, Polars and Arrow frames.

**Closed.** Before the first query the connection is locked: only the declared files can be read, nothing can be
written but spilled intermediate results (in a folder of this engine's own, see ``spill``), no extension can be loaded,
no setting changed. Types are given to the readers, never guessed from values; undeclared columns are not read.

**Silent.** Rows that a reader cannot parse do not exist, cells of another kind are NULL, and nothing is reported about
either. A query that fails, or meets the data set's time limit, raises ``EngineFailure``, whose text is always the same
and which carries no cause.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import glob
import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.data.engines.deadline import time_limit
from dither.data.engines.emit_duckdb import DuckDBEmitter, family
from dither.data.engines.emitter import Statement
from dither.data.engines.frames import prepared
from dither.data.engines.protocol import Engine, can_hold
from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind, Value
from dither.data.relations import Aggregated, Aggregation
from dither.data.schema import DataSet, Table
from dither.errors import DitherError, EngineFailure, EngineUnavailable, InvalidParameter

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CSV_ENDINGS: Final = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_PARQUET_ENDINGS: Final = (".parquet", ".pq", ".parq")
_DELIMITERS: Final = (",", ";", "\t", "|")
_LONGEST_HEADER: Final = 2**20
_LONGEST_LINE: Final = 64 * 2**20
_MOST_LISTS: Final = 8
#: What would slow down or open up the engine; an older release that lacks one of these optimisers has no need of it.
_SETTINGS: Final = (
    # A window that is limited to its first rows is otherwise rewritten into an aggregate that is several times slower.
    "SET disabled_optimizers = 'top_n_window_elimination'",
    "SET error_on_division_by_zero = false",
    "SET enable_progress_bar = false",  # how far a query is tells how many rows there are
)

#: What stands after FROM, and for each declared column its name there and its type.
_Source = tuple[str, dict[str, tuple[str, str]]]


class DuckDBEngine(Engine):
    """The tables of one data set in DuckDB. Not shared between threads.

    Args:
        dataset: the schema.
        folder: relative paths of sources start here.
        frames: rows given as pandas or Polars frames or Arrow tables, by table.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.
        memory: how much memory queries may use before they spill to disk, such as "4GB"; DuckDB's own share if None.
        threads: how many threads work; all processors if None.

    """

    def __init__(
        self,
        dataset: DataSet,
        *,
        folder: Path | None = None,
        frames: Mapping[str, Any] | None = None,
        portable: bool = False,
        memory: str | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(dataset, folder=folder, frames=frames, portable=portable)
        self._memory, self._threads = memory, threads
        self._connection: DuckDBPyConnection | None = None
        self._sources: dict[str, _Source] = {}
        self._lists: dict[tuple[Any, ...], str] = {}
        self._numbers = iter(range(2**62))
        self._spill: SpillFolder | None = None

    def check(self) -> None:
        """Open every table and compare the declared columns with those that exist; no value is read."""
        self._opened()

    def statement(self, aggregation: Aggregation) -> Statement:
        """Return the SQL that ``aggregate`` runs: public, a function of schema and request alone."""
        connection = self._opened()
        # Before the statement is written, so that none of its own lists goes while it names more.
        while len(self._lists) >= _MOST_LISTS:
            connection.execute(f"DROP TABLE {self._lists.pop(next(iter(self._lists)))}")
        return DuckDBEmitter(self._sources, self._list, portable=self.portable).aggregation(aggregation)

    def prepare(self, aggregation: Aggregation) -> None:
        """Print the statement, which refuses what is too long or too deep."""
        self.statement(aggregation)

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures."""
        connection = self._opened()
        answer: Aggregated | None = None
        try:
            statement = self.statement(aggregation)
            # Never fetchnumpy or a frame: both turn 128-bit integers into doubles.
            with time_limit(self.dataset.seconds, connection.interrupt):
                answer = statement.read(connection.execute(statement.text).fetchall())
        except DitherError:
            raise  # a request that cannot be printed: its text is public
        except Exception:  # noqa: S110 - what DuckDB says may quote a private cell, so it goes nowhere
            pass
        # Raised outside the handler, so that no context hangs on it.
        if answer is None:
            raise EngineFailure
        return answer

    def close(self) -> None:
        """Let go of files, frames and memory; remove what was spilled."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._sources, self._lists = None, {}, {}
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

        self._spill = SpillFolder()  # readable by nobody else
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
        found = {table.name: self._files(table) for table in self.dataset.tables if table.name not in self.frames}
        paths = ", ".join(_text(path) for files in found.values() for path in files)
        connection.execute(f"SET allowed_paths = [{paths}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        for table in self.dataset.tables:
            self._sources[table.name] = self._source(connection, table, found.get(table.name))
        return connection

    def _files(self, table: Table) -> list[str]:
        path = Path(table.source)
        if not path.is_absolute():
            path = (self.folder or Path.cwd()) / path
        files = sorted(glob.glob(str(path))) if glob.has_magic(table.source) else [str(path)]
        for file in files or [str(path)]:
            if not Path(file).is_file():
                fix = "correct its source in the schema or put the file there"
                raise EngineUnavailable(f"table {table.name}: {file} does not exist; {fix}")
        return [str(Path(file).resolve()) for file in files]

    def _source(self, connection: DuckDBPyConnection, table: Table, files: Sequence[str] | None) -> _Source:
        if files is None:
            return self._frame(connection, table)
        endings = {file.lower().endswith(_PARQUET_ENDINGS) for file in files}
        if endings == {True}:
            listed = ", ".join(_text(file) for file in files)
            return self._typed(connection, table, f"read_parquet([{listed}], hive_partitioning = false)", "the file")
        if endings == {False} and all(file.lower().endswith(_CSV_ENDINGS) for file in files):
            return _csv(table, files)
        known = ", ".join((*_CSV_ENDINGS, *_PARQUET_ENDINGS))
        raise EngineUnavailable(f"table {table.name}: {table.source} is of no known kind; files end in {known}")

    def _frame(self, connection: DuckDBPyConnection, table: Table) -> _Source:
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
        return self._typed(connection, table, name, "the frame")

    def _typed(self, connection: DuckDBPyConnection, table: Table, source: str, what: str) -> _Source:
        """Return a source that has types of its own, after comparing them with the declared kinds."""
        described: list[tuple[Any, ...]] | None = None
        # Only the footer of a file is read here.
        with contextlib.suppress(Exception):
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        if described is None:
            fix = "it is damaged or of another kind: write it again"
            raise EngineUnavailable(f"table {table.name}: {table.source} cannot be read; {fix}")
        types = {str(name): str(stored) for name, stored, *_ in described}
        columns = {}
        for name, kind in table.kinds.items():
            if name not in types:
                raise EngineUnavailable(_absent(table, name, list(types)))
            if not can_hold(family(types[name]), kind):
                fix = "change its kind in the schema, or leave it out"
                declared = f"column {name} of table {table.name} is declared {kind.value}"
                raise EngineUnavailable(f"{declared}, but {what} stores {types[name].split('(')[0]}; {fix}")
            columns[name] = (name, types[name])
        return source, columns

    # Public lists.

    def _list(self, kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return the name of a table that holds a public list, kept for the next request with the same one."""
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


def _csv(table: Table, files: Sequence[str]) -> _Source:
    """Return a reader of CSV files in which every column is text and goes by its place."""
    layouts = {_header(table, file) for file in files}
    if len(layouts) > 1:
        raise EngineUnavailable(f"table {table.name}: its files differ in their first lines; give them one header")
    delimiter, header = layouts.pop()
    for name in table.kinds:
        if header.count(name) != 1:
            raise EngineUnavailable(_absent(table, name, header))
    columns = ", ".join(f"'x{place}': 'VARCHAR'" for place in range(len(header)))
    listed = ", ".join(_text(file) for file in files)
    options = (
        f"auto_detect = false, header = true, columns = {{{columns}}}, delim = {_text(delimiter)}, "
        "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, ignore_errors = true, "
        f"max_line_size = {_LONGEST_LINE}, hive_partitioning = false"
    )
    return f"read_csv([{listed}], {options})", {name: (f"x{header.index(name)}", "VARCHAR") for name in table.kinds}


def _header(table: Table, file: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the names in the first line; the rest of the file is not looked at."""
    names: dict[str, tuple[str, ...]] | None = None
    with contextlib.suppress(OSError, EOFError, ValueError, zlib.error, csv.Error):
        first = [_first_bytes(file).split(b"\r", 1)[0].decode("utf-8-sig")]
        names = {delimiter: tuple(next(csv.reader(first, delimiter=delimiter), ())) for delimiter in _DELIMITERS}
    if names is None:
        raise EngineUnavailable(f"table {table.name}: the first line of {file} cannot be read as names; write it again")
    wanted = set(table.kinds)
    best = max(_DELIMITERS, key=lambda delimiter: (len(wanted & set(names[delimiter])), len(names[delimiter])))
    return best, names[best]


def _first_bytes(file: str) -> bytes:
    if file.lower().endswith(".gz"):
        with gzip.open(file, "rb") as compressed:
            return compressed.readline(_LONGEST_HEADER)
    with open(file, "rb") as plain:
        return plain.readline(_LONGEST_HEADER)


def _absent(table: Table, name: str, present: Sequence[str]) -> str:
    if list(present).count(name) > 1:
        return f"column {name} of table {table.name} occurs twice in {table.source}; give its columns different names"
    near = difflib.get_close_matches(name, [one for one in present if one], 1)
    hint = f"; did you mean {near[0]!r}?" if near else "; leave it out of the schema, or correct its name"
    return f"column {name} of table {table.name} is declared, but {table.source} has no such column{hint}"


def _text(value: str) -> str:
    if "\x00" in value:
        raise InvalidParameter("source", value, "without the character U+0000")
    return "'" + value.replace("'", "''") + "'"


def _first_line(problem: Exception) -> str:
    return str(problem).split("\n", 1)[0]
