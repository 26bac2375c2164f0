"""The contract of every engine: open the tables of a data set, and answer an aggregation exactly.

An engine raises only two errors of ours: ``EngineUnavailable`` when its tables cannot be opened (before anything is
charged), and ``EngineFailure``, one fixed text, when a query dies midway (after the charge, which stays).
"""

from __future__ import annotations

import contextlib
import importlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from dither.data.addresses import redact
from dither.data.closing import Closing
from dither.data.expressions import Cast, Kind, Literal, kind_of
from dither.data.own_tables import check_tables
from dither.data.relations import Aggregated, Aggregation
from dither.data.schema import DataSet, Table
from dither.data.widths import check_widths
from dither.errors import InvalidParameter

#: The message, before anything is charged, when a file is no longer the one that was opened.
FILES_CHANGED: Final = (
    "a file of the data set was replaced or written to since it was opened; open the session again, "
    "or add the data set again if its rows have changed"
)

#: By how rows and groups of a person are chosen: raised by whatever changes a choice, as ``scramble`` prints it.
CHOICE: Final = 1
#: Whose version is that of an engine.
_PACKAGES: Final = {"duckdb": "duckdb", "spark": "pyspark"}
#: For how many requests an engine knows that it has admitted them.
_MOST_ADMITTED: Final = 64


class Engine(Closing):
    """The tables of one data set, opened. Not shared between threads.

    Args:
        dataset: the schema.
        folder: relative paths of sources start here.
        frames: rows given as objects instead of sources, by table: a pandas or Polars frame or an Arrow table.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit; slower
            than an engine's own hash, e^x, ln x and x^y.

    """

    #: Whether all aggregations read the same rows while it is open. Else each of them reads those of its own moment.
    has_fixed_rows: ClassVar[bool] = True

    def __init__(
        self,
        dataset: DataSet,
        *,
        folder: Path | None = None,
        frames: Mapping[str, Any] | None = None,
        portable: bool = False,
    ) -> None:
        self.dataset = dataset
        self.folder = folder
        self.frames = dict(frames or {})
        self.portable = portable
        # By identity, and kept, so that an identity is not used again: a request is priced, printed and run.
        self._admitted: dict[int, Aggregation] = {}

    @abstractmethod
    def check(self) -> None:
        """Open every table and compare declared columns with those that exist; raise EngineUnavailable otherwise.

        Also when a file is no longer the one that was opened. Looks at names and declared types; values are read only
        where a CSV file is imported, which is refused as a whole if it is none.
        """

    @abstractmethod
    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return the exact measures; raise EngineFailure, with one fixed text, if the engine fails midway."""

    @contextlib.contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Let all aggregations of one release read the same rows, whatever others write meanwhile.

        A release of several parts is priced as if they were parts of one table: a row that moved from one to the other
        between two statements would count in both.
        """
        yield

    @property
    def changing_tables(self) -> tuple[str, ...]:
        """The tables of which two aggregations may read different rows without notice."""
        return () if self.has_fixed_rows else tuple(table.name for table in self.dataset.tables)

    def prepare(self, aggregation: Aggregation) -> None:
        """Refuse, with InvalidParameter, a request that this engine could not run: before anything is charged.

        A function of the request alone; no row is read.
        """
        self.check_tables(aggregation)

    def check_tables(self, aggregation: Aggregation) -> None:
        """Refuse a request that reads a table outside this data set, or whose rows are too wide.

        Every engine calls this before it reads or prints anything: whoever the caller is, the sensitivity was
        derived from what the request says of its tables. A request that was admitted is not looked at again.
        """
        if id(aggregation) in self._admitted:
            return
        check_tables(aggregation.relation, self.dataset, anywhere=True)
        check_widths(aggregation, memory=self.memory_bytes)
        if len(self._admitted) >= _MOST_ADMITTED:
            self._admitted.clear()
        self._admitted[id(aggregation)] = aggregation

    @property
    def memory_bytes(self) -> int | None:
        """The memory that the engine may use; None where there is not one number, because the rest is spilled."""
        return None

    def places(self, table: Table) -> tuple[str, ...]:
        """Return the server's own names for the rows of a table: two names of the same rows share one of these.

        Called once, when a table is added that is not in files of this machine; reads it whole where an engine could
        meet something in it that it cannot read.
        """
        return ()

    def files(self, table: Table) -> tuple[Path, ...]:
        """Return the files of this machine that hold the table."""
        return ()

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""


def release_of(dataset: DataSet) -> str:
    """Return which release of which engine reads a data set, and how statements are written for it.

    Which of a person's rows or groups count is chosen by the engine's own hash, which the next release may compute
    otherwise: what was chosen under another release may not be what is chosen now.

    Args:
        dataset: the schema.

    """
    scheme = dataset.engine.split(":", 1)[0]
    found = importlib.import_module(_PACKAGES[scheme]) if scheme in _PACKAGES else None
    return f"{scheme} {getattr(found, '__version__', 'unknown')}, choice {CHOICE}"


def connect(
    dataset: DataSet,
    *,
    folder: Path | None = None,
    frames: Mapping[str, Any] | None = None,
    portable: bool = False,
    are_read: bool = False,
) -> Engine:
    """Return the opened engine that the data set names.

    Args:
        dataset: the schema.
        folder: relative paths of sources start here.
        frames: rows given as frames, by table.
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.
        are_read: whether files were read to their end when they were added; otherwise DuckDB does it on opening.

    """
    scheme = dataset.engine.split(":", 1)[0]
    homes = {
        "duckdb": ("dither.data.engines.duckdb", "DuckDBEngine"),
        "postgresql": ("dither.data.engines.postgresql", "PostgreSQLEngine"),
        "postgres": ("dither.data.engines.postgresql", "PostgreSQLEngine"),
        "spark": ("dither.data.engines.spark", "SparkEngine"),
    }
    if scheme not in homes:
        raise InvalidParameter("engine", redact(dataset.engine), "duckdb, postgresql://..., spark or spark://...")
    module, name = homes[scheme]
    more = {"are_read": are_read} if scheme == "duckdb" else {}
    engine: Engine = getattr(importlib.import_module(module), name)(
        dataset, folder=folder, frames=frames, portable=portable, **more
    )
    return engine


def can_hold(stored: Kind | None, kind: Kind) -> bool:
    """Return whether a column stored as one kind can be declared as another; None is a type outside our kinds.

    >>> can_hold(Kind.TEXT, Kind.DATE), can_hold(Kind.DATE, Kind.INTEGER)
    (True, False)
    """
    if stored is None or (stored is Kind.TEXT and kind is Kind.BOOLEAN):
        return stored is not None
    try:
        kind_of(Cast(Literal(None, stored), kind), {})
    except InvalidParameter:
        return False
    return True
