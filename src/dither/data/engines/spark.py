"""Spark, for data beyond one machine: files, directories of Parquet, tables of the catalogue, frames.

The engine of a data set is ``spark`` (this machine), ``spark://host:port``, or ``spark:`` and any other master. One
Spark runs in a process and is shared by all engines of it; each engine has its own session, with its own settings
and views. Types are declared by files and tables, never guessed from values.

**No parser while answering.** A CSV file is taken whole, or refused with line and reason, when the engine is opened:
see ``importing``. Spark reads the Parquet that was made of it. Before and after each statement every file of this
machine that is read must still be the one that was opened.

**Silent.** Cells of another kind are NULL, and nothing is reported about them. Spark's log is off, in the process and
in the Java machine, because its errors quote cells. A query that fails, or meets the data set's time limit, raises
``EngineFailure``, whose text is always the same and which carries no cause.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dither.data.addresses import expand
from dither.data.engines import moments
from dither.data.engines.deadline import time_limit
from dither.data.engines.emit_spark import Source, SparkEmitter, family, quoted
from dither.data.engines.emitter import Statement
from dither.data.engines.frames import prepared
from dither.data.engines.protocol import FILES_CHANGED, Engine, can_hold
from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind, Value
from dither.data.importing.alike import Columns, check_alike, parquet_columns
from dither.data.importing.conversion import convert
from dither.data.importing.sources import (
    KnownFile,
    absent_column,
    are_unchanged,
    files_below,
    files_of,
    is_parquet,
    is_path_in_spark,
    is_text,
)
from dither.data.relations import Aggregated, Aggregation
from dither.data.schema import DataSet, Table
from dither.errors import EngineFailure, EngineUnavailable, MissingExtra

#: What a query means must not depend on how somebody configured Spark.
_SETTINGS: Final = {
    # Every lambda within a lambda takes one more round of analysis.
    "spark.sql.analyzer.maxIterations": "1000",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # It walks operands of nanvl, CASE and coalesce twice, and so takes time that doubles with every level of nesting.
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
_MOST_LISTS: Final = 8
_ARROW_TYPES: Final = {
    Kind.BOOLEAN: ("bool_",),
    Kind.INTEGER: ("int64",),
    Kind.REAL: ("float64",),
    Kind.TEXT: ("string",),
    Kind.DATE: ("date32",),
    Kind.TIMESTAMP: ("timestamp", "us"),
}
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")
#: Spark puts its own, talkative settings in place of any that name no appender.
_LOG_SETTINGS: Final = """status = off
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""
_numbers = itertools.count()


class SparkEngine(Engine):
    """The tables of one data set in Spark. Not shared between threads.

    Args:
        dataset: the schema; its ``engine`` names the master.
        folder: relative paths of sources start here.
        frames: rows given as pandas or Polars frames or Arrow tables, by table.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

    """

    def __init__(
        self,
        dataset: DataSet,
        *,
        folder: Path | None = None,
        frames: Mapping[str, Any] | None = None,
        portable: bool = False,
    ) -> None:
        super().__init__(dataset, folder=folder, frames=frames, portable=portable)
        self._session: Any = None
        self._sources: dict[str, Source] = {}
        self._lists: dict[tuple[Any, ...], str] = {}
        self._copies: SpillFolder | None = None
        self._read: tuple[KnownFile, ...] = ()
        #: What was read before Spark died: another Spark goes on with the same files or not at all.
        self._before: dict[str, KnownFile] = {}
        self._given: dict[str, Any] = {}

    def check(self) -> None:
        """Open every table, compare declared columns with those that exist, and files with those that were opened."""
        self._opened()
        if not are_unchanged(self._read):
            raise EngineUnavailable(FILES_CHANGED)

    @property
    def session(self) -> Any:
        """The session of this engine, with its settings and views."""
        return self._opened()

    @property
    def changing_tables(self) -> tuple[str, ...]:
        """Those at an address or in the catalogue: of these nothing says whether they are what was opened."""
        here = (table for table in self.dataset.tables if table.name not in self.frames)
        return tuple(table.name for table in here if not self._files(table))

    def statement(self, aggregation: Aggregation) -> Statement:
        """Return the SQL that ``aggregate`` runs: public, a function of schema and request alone."""
        self.check_tables(aggregation)
        self._opened()
        return SparkEmitter(self._sources, self._list, portable=self.portable).aggregation(aggregation)

    def prepare(self, aggregation: Aggregation) -> None:
        """Print the statement; refuse one that is too long or too deep."""
        self.statement(aggregation)

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures."""
        statement, session = self.statement(aggregation), self._opened()
        answer: Aggregated | None = None
        # Raised outside the handler, so that no cause and no context hangs on it: either may quote a private cell.
        with contextlib.suppress(Exception), _quietly(), self._time_limit(session.sparkContext):
            if are_unchanged(self._read):
                answer = statement.read(session.sql(statement.text).collect())
        if answer is None and _is_dead():
            known = {file.path: file for file in self._read}
            self.close()
            self._before = known
        if answer is None or not are_unchanged(self._read):
            raise EngineFailure
        return answer

    def places(self, table: Table) -> tuple[str, ...]:
        """Read every declared cell of a table once, and return its address, or its name in the catalogue."""
        self._opened()
        emitter = SparkEmitter(self._sources, self._list)
        cells = [emitter.cell(table, name, kind) for name, kind in table.kinds.items()]
        statement = f"SELECT max(xxhash64({', '.join(cells)})) FROM {emitter.source(table)}"  # noqa: S608
        is_read = False
        with contextlib.suppress(Exception), _quietly():
            is_read = bool(self._session.sql(statement).collect())
        if not is_read:
            raise EngineUnavailable(f"table {table.name}: {table.source} cannot be read to its end; write it again")
        master = self._session.sparkContext.master
        named = table.source if is_path_in_spark(table.source) else f"{master} {table.source.lower()}"
        return (f"spark {named}",)

    def files(self, table: Table) -> tuple[Path, ...]:
        """Return the files of a directory of this machine."""
        return tuple(Path(file) for file in self._files(table))

    def close(self) -> None:
        """Drop the views; Spark itself keeps running for the other engines of the process."""
        for view in (*(source.view for source in self._sources.values()), *self._lists.values()):
            with contextlib.suppress(Exception):
                self._session.catalog.dropTempView(view)
        self._session, self._sources, self._lists, self._read = None, {}, {}, ()
        if self._copies is not None:
            self._copies.close()
        self._copies = None

    @contextlib.contextmanager
    def _time_limit(self, context: Any) -> Iterator[None]:
        """Run Spark's jobs as one group, which is cancelled when the time is over."""
        group = f"dither_{os.getpid()}_{next(_numbers)}"
        context.setJobGroup(group, "dither", interruptOnCancel=True)
        with time_limit(self.dataset.seconds, lambda: context.cancelJobGroup(group)):
            yield

    # Opening.

    def _opened(self) -> Any:
        if self._session is None:
            try:
                with _quietly():
                    self._open()
            except BaseException:
                self.close()
                raise
        return self._session

    def _open(self) -> None:
        self._session = _spark(expand(self.dataset.engine)).newSession()
        for name, value in _SETTINGS.items():
            self._session.conf.set(name, value)
        for table in self.dataset.tables:
            self._sources[table.name] = self._source(table)

    def _source(self, table: Table) -> Source:
        rows = self._frame(table) if table.name in self.frames else self._stored(table)
        if table.name in self.frames or is_text(table.source):
            table = table.as_copied
        present, types = list(rows.columns), [stored for _, stored in rows.dtypes]
        columns = {}
        for column in table.columns:
            if present.count(column.stored_name) != 1:
                where = "the frame" if table.name in self.frames else None
                raise EngineUnavailable(absent_column(table, column, present, where))
            place = present.index(column.stored_name)
            stored = types[place]
            if not can_hold(family(stored), column.kind):
                fix = "change its kind in the schema, or omit it"
                declared = f"column {column.name} of table {table.name} is declared {column.kind.value}"
                raise EngineUnavailable(f"{declared}, but Spark stores {stored.split('(')[0]}; {fix}")
            columns[column.name] = (f"x{place}", stored)
        view = f"dither_{os.getpid()}_{next(_numbers)}"
        # By place: not every name that a file may have can be quoted.
        rows.toDF(*(f"x{place}" for place in range(len(present)))).createOrReplaceTempView(view)
        return Source(view, columns)

    def _frame(self, table: Table) -> Any:
        rows: Any = None
        # Kept: where Spark dies, another one goes on with the same rows, whatever was written into the frame since.
        if table.name not in self._given:
            self._given[table.name] = prepared(table, self.frames[table.name])
        frame = self._given[table.name]
        # What is said of a frame may quote a cell.
        with contextlib.suppress(Exception):
            rows = self._session.createDataFrame(_arrow(frame))
        if rows is None:
            kinds = "a pandas or Polars frame or an Arrow table with columns of plain types"
            raise EngineUnavailable(f"table {table.name}: the frame given for it cannot be read; give {kinds}")
        return rows

    def _path(self, table: Table) -> str:
        if "://" in table.source or Path(table.source).is_absolute():
            return table.source
        return str((self.folder or Path.cwd()) / table.source)

    def _files(self, table: Table) -> list[str]:
        """Return the files of this machine that hold a table; none for an address or a table of the catalogue."""
        if "://" in table.source or not is_path_in_spark(table.source):
            return []
        path = Path(self._path(table))
        if path.is_dir():
            return files_below(path)
        return files_of(table, self.folder) if is_text(table.source) or is_parquet(table.source) else []

    def _stored(self, table: Table) -> Any:
        """Return a Parquet file or directory, or a table of the catalogue where the source is not a path."""
        is_path = is_path_in_spark(table.source)
        files, paths = self._files(table), [self._path(table)]
        if is_text(table.source):
            if not files:
                fix = "write Parquet there, or read it from a disk of this machine"
                raise EngineUnavailable(f"table {table.name}: {table.source} is text and remote; {fix}")
            self._copies = self._copies or SpillFolder()  # readable by this user alone
            copy = self._copies.path / f"{table.name}.parquet"
            convert(table, files, copy)
            files = paths = [str(copy)]
        elif files and not Path(paths[0]).is_dir():
            paths = files
        found = [KnownFile.found(file) for file in files]
        if any(self._before.get(file.path, file).state != file.state for file in found):
            raise EngineUnavailable(FILES_CHANGED)
        self._read += tuple(found)
        rows: Any = None
        with contextlib.suppress(Exception):
            if is_path:
                rows = self._session.read.parquet(*paths)
            else:
                rows = self._session.table(".".join(quoted(part) for part in table.source.split(".")))
        if rows is None:
            what = f"{paths[0]} is no Parquet that Spark can read" if is_path else "the catalogue has no such table"
            fix = "correct its source in the schema, or put the rows there"
            raise EngineUnavailable(f"table {table.name}: {what}; {fix}")
        if is_path and not is_text(table.source):
            is_folder = not files or Path(self._path(table)).is_dir()
            check_alike(table, self._columns(rows, files), self._path(table) if is_folder else "")
        return rows

    def _columns(self, rows: Any, files: Sequence[str]) -> Iterator[tuple[str, Columns | None]]:
        """Return the columns of each Parquet file, where Spark takes those of one for all; read by it if far away."""
        if files:
            yield from parquet_columns(files)
            return
        for file in rows.inputFiles():
            columns: Columns | None = None
            with contextlib.suppress(Exception):
                columns = self._session.read.parquet(file).dtypes
            yield file, columns

    # Public lists.

    def _list(self, kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return the name of a view that holds a public list, kept for the next request with the same list."""
        key = (tuple(kinds), tuple(values))
        if key not in self._lists:
            import pyarrow

            session = self._opened()
            while len(self._lists) >= _MOST_LISTS:
                session.catalog.dropTempView(self._lists.pop(next(iter(self._lists))))
            columns = [
                pyarrow.array([row[place] for row in values], type=getattr(pyarrow, maker)(*arguments))
                for place, (maker, *arguments) in enumerate(_ARROW_TYPES[kind] for kind in kinds)
            ]
            view = f"dither_{os.getpid()}_{next(_numbers)}"
            with _quietly():
                rows = session.createDataFrame(pyarrow.table(columns, names=[f"k{n}" for n in range(len(kinds))]))
                rows.createOrReplaceTempView(view)
            self._lists[key] = view
        return self._lists[key]


def _arrow(frame: Any) -> Any:
    """Return a frame as an Arrow table of types that Spark has."""
    import pyarrow
    import pyarrow.compute

    if not isinstance(frame, pyarrow.Table):
        is_polars = hasattr(frame, "to_arrow")
        frame = frame.to_arrow() if is_polars else pyarrow.Table.from_pandas(frame, preserve_index=False)
    columns = []
    for column, field in zip(frame.columns, frame.schema, strict=True):
        kind = field.type
        if pyarrow.types.is_uint64(kind):
            small = pyarrow.compute.less_equal(column, pyarrow.scalar(2**63 - 1, pyarrow.uint64()))
            column = pyarrow.compute.if_else(small, column, None).cast(pyarrow.int64())
        elif pyarrow.types.is_unsigned_integer(kind):
            column = column.cast(pyarrow.int64())
        elif pyarrow.types.is_timestamp(kind):
            column = moments.timestamps(column)
        elif pyarrow.types.is_large_string(kind) or pyarrow.types.is_string_view(kind):
            column = column.cast(pyarrow.string())
        columns.append(column)
    return pyarrow.table(columns, names=frame.column_names)


# The one Spark of the process.


def _spark(engine: str) -> Any:
    """Return the session of the process, started if there is none."""
    try:
        import pyarrow  # noqa: F401 - frames and lists of keys reach Spark as Arrow tables
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("the Spark engine", "spark") from None
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        java = "Java 17 or newer: install it and put java on the search path, or set JAVA_HOME"
        raise MissingExtra("the Spark engine", "spark", besides=java)
    given = engine.removeprefix("spark").removeprefix(":")
    master = f"spark:{given}" if given.startswith("//") else given or "local[*]"
    session: Any = None
    with contextlib.suppress(Exception):
        session = _start(SparkSession, master)
    if session is None:
        fix = "check that it runs, and how the data set names it"
        raise EngineUnavailable(f"Spark does not start with master {master}; {fix}")
    running = session.sparkContext.master
    if given and running != master:
        fix = "one process has one Spark: use another process"
        raise EngineUnavailable(f"Spark already runs with master {running}, not {master}; {fix}")
    return session


def _start(maker: Any, master: str) -> Any:
    if maker.getActiveSession() is not None and not _is_dead():
        session = maker.getActiveSession()
    else:
        with _log_settings() as settings:
            builder = maker.builder.master(master).appName("dither")
            builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
            # Spark walks expressions by recursion: nested ones need a deeper stack than Java's usual one.
            options = f"-Dlog4j2.configurationFile={settings} -Xss16m"
            builder = builder.config("spark.driver.extraJavaOptions", options)
            if master.startswith("local"):
                # Removed by the Java machine at its end; what is left when it was killed is swept by the next engine.
                builder = builder.config("spark.local.dir", str(_spill().path))
                cores = os.cpu_count() or 1
                builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
                    "spark.driver.host", "127.0.0.1"
                )
                builder = builder.config("spark.sql.shuffle.partitions", str(2 * cores))
            session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return session


@functools.cache
def _spill() -> SpillFolder:
    """Return the folder for Spark's spilled files on this machine, the same for the whole process."""
    return SpillFolder()


@contextlib.contextmanager
def _log_settings() -> Iterator[str]:
    """Yield the settings that keep the Java machine silent from its first line."""
    handle, path = tempfile.mkstemp(suffix=".properties", dir=_spill().path)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(_LOG_SETTINGS)
        yield path
    finally:
        Path(path).unlink()


def _is_dead() -> bool:
    """Return whether the Java machine is gone; it is then forgotten, so that the next engine starts another."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None:
        return True
    try:
        is_stopped = bool(context._jsc.sc().isStopped())
    except Exception:
        is_stopped = True
    if is_stopped:
        with contextlib.suppress(Exception):
            context.stop()
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None
    return is_stopped


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Suppress Spark's warning about the release of pandas: no pandas frame is made here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
