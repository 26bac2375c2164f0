"""Spark, when one machine is not enough: Parquet and CSV paths, tables of the catalogue, frames.

The engine of a data set is ``spark`` (this machine), ``spark://host:port``, or ``spark:`` and any other master. One
Spark runs in a process and is shared by all engines of it; each engine has a session of its own, with its own settings
and views. Types are given to the readers or declared by files and tables, never guessed from values.

**Silent.** Cells of another kind are NULL, rows that a reader cannot parse do not exist, and nothing is reported about
either. Spark's log is off, in the process and in the Java machine, because its errors quote cells. A query that fails,
or meets the data set's time limit, raises ``EngineFailure``, whose text is always the same and which carries no cause.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
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
from dither.data.engines.protocol import Engine, can_hold
from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind, Value
from dither.data.relations import Aggregated, Aggregation
from dither.data.schema import DataSet, Table
from dither.errors import EngineFailure, EngineUnavailable, MissingExtra

_CSV_ENDINGS: Final = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_DELIMITERS: Final = (",", ";", "\t", "|")
#: What a query means must not depend on how somebody configured Spark.
_SETTINGS: Final = {
    # Every lambda within a lambda takes one more round of analysis.
    "spark.sql.analyzer.maxIterations": "1000",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
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

    def check(self) -> None:
        """Open every table and compare the declared columns with those that exist; no value is read."""
        self._opened()

    @property
    def session(self) -> Any:
        """The session of this engine, with its settings and views."""
        return self._opened()

    def statement(self, aggregation: Aggregation) -> Statement:
        """Return the SQL that ``aggregate`` runs: public, a function of schema and request alone."""
        self._opened()
        return SparkEmitter(self._sources, self._list, portable=self.portable).aggregation(aggregation)

    def prepare(self, aggregation: Aggregation) -> None:
        """Print the statement, which refuses what is too long or too deep."""
        self.statement(aggregation)

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures."""
        statement, session = self.statement(aggregation), self._opened()
        answer: Aggregated | None = None
        # Raised outside the handler, so that no cause and no context hangs on it: either may quote a private cell.
        with contextlib.suppress(Exception), _quietly(), self._time_limit(session.sparkContext):
            answer = statement.read(session.sql(statement.text).collect())
        if answer is None:
            if _is_dead():
                self.close()
            raise EngineFailure
        return answer

    def close(self) -> None:
        """Let go of the views; Spark itself goes on for the other engines of the process."""
        for view in (*(source.view for source in self._sources.values()), *self._lists.values()):
            with contextlib.suppress(Exception):
                self._session.catalog.dropTempView(view)
        self._session, self._sources, self._lists = None, {}, {}

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
        if table.name in self.frames:
            rows, names = self._frame(table), None
        elif table.source.lower().endswith(_CSV_ENDINGS):
            rows, names = self._csv(table)
        else:
            rows, names = self._stored(table), None
        types = dict(rows.dtypes)
        present = {name: name for name in rows.columns} if names is None else names
        columns = {}
        for name, kind in table.kinds.items():
            if name not in present or list(rows.columns).count(present[name]) > 1:
                raise EngineUnavailable(_absent(table, name, list(present)))
            stored = types[present[name]]
            if not can_hold(family(stored), kind):
                fix = "change its kind in the schema, or leave it out"
                declared = f"column {name} of table {table.name} is declared {kind.value}"
                raise EngineUnavailable(f"{declared}, but Spark stores {stored.split('(')[0]}; {fix}")
            columns[name] = (present[name], stored)
        view = f"dither_{os.getpid()}_{next(_numbers)}"
        rows.createOrReplaceTempView(view)
        return Source(view, columns)

    def _frame(self, table: Table) -> Any:
        rows: Any = None
        # What is said of a frame may quote a cell.
        with contextlib.suppress(Exception):
            rows = self._session.createDataFrame(_arrow(prepared(table, self.frames[table.name])))
        if rows is None:
            kinds = "a pandas or Polars frame or an Arrow table with columns of plain types"
            raise EngineUnavailable(f"table {table.name}: the frame given for it cannot be read; give {kinds}")
        return rows

    def _path(self, table: Table) -> str:
        if "://" in table.source or Path(table.source).is_absolute():
            return table.source
        return str((self.folder or Path.cwd()) / table.source)

    def _stored(self, table: Table) -> Any:
        """Return a Parquet file or folder, or a table of the catalogue where the source is no path."""
        is_path = "/" in table.source or table.source.lower().endswith((".parquet", ".pq", ".parq"))
        rows: Any = None
        with contextlib.suppress(Exception):
            if is_path:
                rows = self._session.read.parquet(self._path(table))
            else:
                rows = self._session.table(".".join(quoted(part) for part in table.source.split(".")))
        if rows is None:
            what = (
                f"{self._path(table)} is no Parquet that Spark can read"
                if is_path
                else "the catalogue has no such table"
            )
            fix = "correct its source in the schema, or put the rows there"
            raise EngineUnavailable(f"table {table.name}: {what}; {fix}")
        return rows

    def _csv(self, table: Table) -> tuple[Any, dict[str, str]]:
        """Return a CSV path in which every column is text and goes by its place, and the names of its first line."""
        reader, path = self._session.read, self._path(table)
        first: list[Any] | None = None
        with contextlib.suppress(Exception):
            first = reader.text(path).head(1)
        if not first:
            fix = "correct its source in the schema or put the file there, with a first line of names"
            raise EngineUnavailable(f"table {table.name}: {path} cannot be read; {fix}")
        delimiter, header = _layout(str(first[0][0]).removeprefix("\ufeff"), set(table.kinds))
        for name in table.kinds:
            if header.count(name) != 1:
                raise EngineUnavailable(_absent(table, name, header))
        fields = ", ".join(f"x{place} STRING" for place in range(len(header)))
        rows = reader.schema(fields).csv(
            path,
            sep=delimiter,
            header=True,
            quote='"',
            escape='"',
            # An empty cell is NULL and a quoted one an empty text: told apart only if NULL is written otherwise.
            nullValue="\x00",
            emptyValue="",
            multiLine=True,
            mode="DROPMALFORMED",
        )
        return rows, {name: f"x{header.index(name)}" for name in table.kinds}

    # Public lists.

    def _list(self, kinds: Sequence[Kind], values: Sequence[tuple[Value, ...]]) -> str:
        """Return the name of a view that holds a public list, kept for the next request with the same one."""
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


def _layout(line: str, wanted: set[str]) -> tuple[str, list[str]]:
    """Return the delimiter and the names of a first line."""
    names: dict[str, list[str]] = {}
    for delimiter in _DELIMITERS:
        with contextlib.suppress(csv.Error):
            names[delimiter] = next(csv.reader([line], delimiter=delimiter), [])
    best = max(names, key=lambda delimiter: (len(wanted & set(names[delimiter])), len(names[delimiter])), default=",")
    return best, names.get(best, [])


def _absent(table: Table, name: str, present: Sequence[str]) -> str:
    if list(present).count(name) > 1:
        return f"column {name} of table {table.name} occurs twice in {table.source}; give its columns different names"
    near = difflib.get_close_matches(name, [one for one in present if one], 1)
    hint = f"; did you mean {near[0]!r}?" if near else "; leave it out of the schema, or correct its name"
    return f"column {name} of table {table.name} is declared, but {table.source} has no such column{hint}"


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
        if pyarrow.types.is_dictionary(kind):
            kind = kind.value_type
            column = column.cast(kind)
        if pyarrow.types.is_uint64(kind):
            small = pyarrow.compute.less_equal(column, pyarrow.scalar(2**63 - 1, pyarrow.uint64()))
            column = pyarrow.compute.if_else(small, column, None).cast(pyarrow.int64())
        elif pyarrow.types.is_unsigned_integer(kind):
            column = column.cast(pyarrow.int64())
        elif pyarrow.types.is_timestamp(kind):
            column = moments.timestamps(column)
        elif pyarrow.types.is_date64(kind):
            column = moments.dates(column)
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
        raise MissingExtra("the Spark engine, beside a Java runtime on the search path,", "spark")
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
    """Return the folder of what Spark spills on this machine, the same for the whole process."""
    return SpillFolder()


@contextlib.contextmanager
def _log_settings() -> Iterator[str]:
    """Give the settings that keep the Java machine silent from its first line."""
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
    """Keep Spark's remark on the release of pandas to itself: no frame of pandas is made here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
