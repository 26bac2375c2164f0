"""Tables as a curator has them: columns of values, each stored once, with a number for every row.

A frame of pandas, Polars or Arrow, a mapping of columns, or a file becomes a ``Table``, and goes back as what it was.
Cells of a CSV file stay the texts that they are, so that a code such as 0471 keeps its zero. A missing value is a value
of its own: rows without one are alike in that.
"""

from __future__ import annotations

import csv
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from dither.disguise.dates import day_of, written
from dither.errors import InvalidParameter, MissingExtra

Codes = NDArray[np.int64]
Origin = Literal["columns", "pandas", "polars", "arrow"]
#: The values of a column of a frame, and their type there.
Typed = tuple[tuple[Any, ...], Any]
_DELIMITERS: Final = ",;\t|"
#: Numbers beyond this are texts: their squares could not be added up.
_LARGEST: Final = 1e140
#: Columns that an error names.
_LISTED: Final = 20
#: Lines that are read or written at once.
_LINES: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class Column:
    """The values of a column, each once, and which of them stands in each row.

    Args:
        values: different from each other; None stands for what is missing.
        codes: the place of each row's value among them.

    """

    values: tuple[Any, ...]
    codes: Codes

    @classmethod
    def of(cls, cells: Iterable[Any]) -> Column:
        """Return the column of some cells; an array of numbers, or one of Arrow's columns, is not gone through."""
        quick = _factored(cells)
        if quick is not None:
            return quick
        if isinstance(cells, np.ma.MaskedArray):
            cells = cells.tolist()
        elif hasattr(cells, "to_pylist"):
            cells = cells.to_pylist()
        places: dict[Any, int] = {}
        codes = []
        for cell in map(_plain, cells):
            try:
                codes.append(places.setdefault(cell, len(places)))
            except TypeError:
                raise InvalidParameter("cell", cell, "one value, such as a number or a string") from None
        return cls(tuple(places), np.array(codes, dtype=np.int64))

    def cells(self) -> list[Any]:
        """Return the value of every row."""
        return list(map(self.values.__getitem__, self.codes.tolist()))

    def taken(self, rows: NDArray[Any]) -> Column:
        """Return the column of some of the rows."""
        return Column(self.values, self.codes[rows])

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the values as numbers, NaN where one is missing; None if they are texts or codes.

        A text with a leading zero, such as 0471, is a code, and so is one of a column that has such a text.
        """
        found = [_number(value) for value in self.values]
        if any(one is None for one in found) or all(value is None for value in self.values):
            return None
        return np.array(found, dtype=np.float64)

    def scale(self) -> NDArray[np.float64] | None:
        """Return where the values lie on a line: numbers as they are, dates by days; None if they are texts or codes.

        >>> np.diff(Column.of(["2021-04-03", "2021-04-05"]).scale()).tolist()
        [2.0]

        """
        numbers = self.numbers()
        if numbers is not None:
            return numbers
        days = [float("nan") if value is None else day_of(value) for value in self.values]
        if any(one is None for one in days) or all(value is None for value in self.values):
            return None
        return np.array(days, dtype=np.float64)

    def in_one_kind(self) -> Column:
        """Return the column as libraries of frames take it: where some values are texts, all are."""
        kinds = {type(value) for value in self.values if value is not None}
        if str not in kinds or len(kinds) == 1:
            return self
        places: dict[Any, int] = {}
        texts = [None if value is None else written(value) for value in self.values]
        codes = np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int64)
        return Column(tuple(places), codes[self.codes])


def _factored(cells: Any) -> Column | None:
    """Return the column of an array of numbers or of Arrow's; None for anything else, which is gone through."""
    if type(cells).__module__.partition(".")[0] == "pyarrow":
        try:
            found = cells.combine_chunks() if hasattr(cells, "combine_chunks") else cells
            if hasattr(found, "indices"):
                return None
            found = found.dictionary_encode("encode")
            return _renumbered(found.dictionary.to_pylist(), np.asarray(found.indices, dtype=np.int64))
        except (NotImplementedError, ValueError, AttributeError):
            # Lists and structs are not told apart there.
            return None
    if type(cells) is np.ndarray and cells.ndim == 1 and cells.dtype.kind in "iubf":
        return _renumbered(*_unique(cells))
    return None


def _renumbered(values: Sequence[Any], codes: Codes) -> Column | None:
    """Return the column of values that may be the same once they are plain, such as an empty text and a missing one."""
    places: dict[Any, int] = {}
    try:
        merged = np.array([places.setdefault(_plain(value), len(places)) for value in values], dtype=np.int64)
    except TypeError:
        return None
    return Column(tuple(places), codes if len(places) == len(values) else merged[codes])


def _unique(cells: NDArray[Any]) -> tuple[list[Any], Codes]:
    """Return the different values, and the place of each cell among them; narrow integers are counted, not sorted."""
    if cells.dtype.kind in "iu" and len(cells):
        low, high = int(cells.min()), int(cells.max())
        if high - low <= max(len(cells), 1 << 16) and abs(low) < 1 << 62 and abs(high) < 1 << 62:
            shifted = cells.astype(np.int64) - low
            seen = np.zeros(high - low + 1, dtype=np.int64)
            seen[shifted] = 1
            return (np.flatnonzero(seen) + low).tolist(), (np.cumsum(seen) - 1)[shifted]
    values, codes = np.unique(cells, return_inverse=True)
    return values.tolist(), codes.astype(np.int64)


def _plain(cell: Any) -> Any:
    """Return a cell as Python has it; what is not a number is missing, and so is an empty text."""
    if type(cell) is str:
        return cell or None
    if type(cell) is int:
        return cell
    if isinstance(cell, np.datetime64):
        # Of nanoseconds NumPy makes a plain number.
        cell = cell.astype("datetime64[us]")
    if isinstance(cell, np.generic):
        cell = cell.item()
    # pandas has a missing value whose comparison is neither true nor false.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, str) and not cell):
        return None
    return None if isinstance(cell, float | Decimal) and cell != cell else cell


def _number(value: Any) -> float | None:
    if value is None:
        return float("nan")
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        digits = value.strip().lstrip("+-")
        if not digits.removeprefix(".")[:1].isdigit() or (digits[:1] == "0" and digits[1:2].isdigit()):
            return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if abs(found) <= _LARGEST else None


def _of_pandas(series: Any) -> Column:
    """Return the column of a series; what is not an array of numbers is numbered by pandas."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iubf":
        return Column.of(series.to_numpy())
    try:
        codes, values = series.factorize(use_na_sentinel=False)
    except TypeError:
        return Column.of(series.tolist())
    return _renumbered(list(values), np.asarray(codes, dtype=np.int64)) or Column.of(series.tolist())


def _series(cells: list[Any], kind: Any) -> Any:
    """Return a series of pandas; categories that no cell has are left out, because rows may be."""
    import pandas as pd

    made = pd.Series(cells, dtype=kind)
    return made.cat.remove_unused_categories() if isinstance(made.dtype, pd.CategoricalDtype) else made


def _of_polars(series: Any) -> Column:
    try:
        return Column.of(series.to_arrow())
    except ImportError:
        return Column.of(series.to_list())


def _once(names: Iterable[Any]) -> Iterable[Any]:
    """Return names of columns, if they are different as texts."""
    _check_names([str(name) for name in names])
    return names


def _check_names(names: Sequence[str]) -> None:
    if not names or len(set(names)) != len(names):
        raise InvalidParameter("columns", list(names), "one or more, with a different name each")


class Table:
    """Columns of equal length, by name.

    >>> table = Table.of({"age": [31, 35], "ward": ["a", None]})
    >>> len(table), table.names, table["ward"].cells()
    (2, ('age', 'ward'), ['a', None])

    """

    def __init__(
        self, columns: Mapping[str, Column], origin: Origin = "columns", types: Mapping[str, Typed] | None = None
    ) -> None:
        lengths = {len(column.codes) for column in columns.values()}
        if len(lengths) != 1:
            raise InvalidParameter("table", sorted(lengths), "one or more columns of equal length")
        self._columns = dict(columns)
        self._rows = lengths.pop()
        self.origin: Final = origin
        self._types = types or {}

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            shown, more = list(self._columns)[:_LISTED], len(self._columns) - _LISTED
            raise InvalidParameter("column", name, f"one of {', '.join(shown)}{f' and {more} more' * (more > 0)}")
        return self._columns[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(self._columns)

    @classmethod
    def of(cls, given: Any) -> Table:
        """Return the table of a frame of pandas or Polars, an Arrow table, a mapping of columns, or a table."""
        if isinstance(given, Table):
            return given
        home = type(given).__module__.partition(".")[0]
        if home == "pandas":
            return cls._of_frame([(str(name), given[name]) for name in _once(given.columns)], _of_pandas, "pandas")
        if home == "polars":
            if hasattr(given, "collect"):
                given = given.collect()
            return cls._of_frame([(name, given[name]) for name in given.columns], _of_polars, "polars")
        if home == "pyarrow":
            return cls._of_frame([(name, given[name]) for name in _once(given.column_names)], Column.of, "arrow")
        if isinstance(given, Mapping):
            return cls({str(name): Column.of(cells) for name, cells in given.items()})
        rule = "a frame of pandas or Polars, an Arrow table, or a mapping from names to columns"
        raise InvalidParameter("table", type(given).__name__, rule)

    @classmethod
    def _of_frame(cls, parts: Sequence[tuple[str, Any]], column_of: Callable[[Any], Column], origin: Origin) -> Table:
        columns = {name: column_of(part) for name, part in parts}
        types = {name: part.type if origin == "arrow" else part.dtype for name, part in parts}
        return cls(columns, origin, {name: (column.values, types[name]) for name, column in columns.items()})

    @classmethod
    def read(cls, path: Path | str) -> Table:
        """Return the table in a .csv file with a line of names, or in a .parquet file.

        Names lose the blanks around them; cells stay as they are.
        """
        file = Path(path)
        if not file.is_file():
            raise InvalidParameter("file", str(path), "an existing file")
        if file.suffix.lower() == ".parquet":
            return cls._of_parquet(file)
        if file.suffix.lower() != ".csv":
            raise InvalidParameter("file", str(path), "a file ending in .csv or .parquet")
        try:
            with file.open(encoding="utf-8-sig", newline="") as stream:
                first = stream.readline()
                stream.seek(0)
                rows = csv.reader(stream, delimiter=max(_DELIMITERS, key=first.count)) if first else iter(())
                return cls._of_lines([name.strip() for name in next(rows, [])], rows)
        except UnicodeDecodeError:
            raise InvalidParameter("file", str(path), "in UTF-8: save it so (in a spreadsheet, 'CSV UTF-8')") from None
        except csv.Error:
            raise InvalidParameter("file", str(path), "rows of cells, with a line of names") from None

    @classmethod
    def _of_lines(cls, names: Sequence[str], rows: Iterator[list[str]]) -> Table:
        """Return the table of lines of texts, read some at a time: each text is kept once."""
        _check_names(names)
        places: list[defaultdict[str, int]] = [defaultdict(itertools.count().__next__) for _ in names]
        parts: list[list[Codes]] = [[np.zeros(0, dtype=np.int64)] for _ in names]
        number = 0
        while some := list(itertools.islice(rows, _LINES)):
            full = [row for row in some if row]
            for place, row in enumerate(full, start=number + 1):
                if len(row) != len(names):
                    raise InvalidParameter(
                        f"row {place}", f"{len(row)} cells", f"{len(names)} cells wide, as the names"
                    )
            number += len(full)
            for home, codes, cells in zip(places, parts, zip(*full, strict=True), strict=bool(full)):
                codes.append(np.fromiter(map(home.__getitem__, cells), dtype=np.int64, count=len(full)))
        columns = {}
        for name, home, codes in zip(names, places, parts, strict=True):
            found = _renumbered(list(home), np.concatenate(codes))
            columns[name] = Column.of(()) if found is None else found
        return cls(columns)

    @classmethod
    def _of_parquet(cls, file: Path) -> Table:
        import duckdb

        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            pa = None
        try:
            if pa is not None:
                # As one file, whatever the folders that it stands in are called.
                columns = pq.ParquetFile(file).read()
                return cls({name: Column.of(columns[name]) for name in columns.column_names})
            with duckdb.connect() as engine:
                found = engine.execute("SELECT * FROM read_parquet(?)", [str(file)])
                return cls._of_rows([part[0] for part in found.description or ()], found.fetchall())
        except (duckdb.Error, OSError, ValueError):
            raise InvalidParameter("file", str(file), "a Parquet file that can be read") from None

    @classmethod
    def _of_rows(cls, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
        _check_names(names)
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        return cls({name: Column.of(cells) for name, cells in zip(names, columns, strict=True)})

    def replaced(self, columns: Mapping[str, Column], dropped: Iterable[str] = ()) -> Table:
        """Return the table with other columns in place of those of the same names, and without those dropped."""
        gone = set(dropped)
        kept = {name: columns.get(name, column) for name, column in self._columns.items() if name not in gone}
        return Table(kept, self.origin, self._types)

    def taken(self, rows: NDArray[Any]) -> Table:
        """Return some of the rows: a mask, or their places."""
        return Table({name: column.taken(rows) for name, column in self._columns.items()}, self.origin, self._types)

    def columns(self) -> dict[str, list[Any]]:
        """Return the cells of every column, by name."""
        return {name: column.cells() for name, column in self._columns.items()}

    def frame(self) -> Any:
        """Return what the table was made from: a frame of the same library, else a dictionary of columns.

        Columns of a frame that stayed as they were have the type that they had; a column that now has texts and other
        values has texts.
        """
        if self.origin == "columns":
            return self.columns()
        try:
            if self.origin == "pandas":
                import pandas as pd

                return pd.DataFrame({name: _series(cells, kind) for name, cells, kind in self._typed()})
            if self.origin == "polars":
                import polars as pl

                return pl.DataFrame([pl.Series(name, cells, kind, strict=False) for name, cells, kind in self._typed()])
            import pyarrow as pa

            return pa.table({name: pa.array(cells, kind) for name, cells, kind in self._typed()})
        except ImportError:
            raise MissingExtra("frames", "frames") from None

    def _typed(self) -> Iterator[tuple[str, list[Any], Any]]:
        """Yield names and cells of columns, with the type that each had if its values are still those."""
        for name, column in self._columns.items():
            values, kind = self._types.get(name, ((), None))
            stayed = column.values is values
            yield name, (column if stayed else column.in_one_kind()).cells(), kind if stayed else None

    def write(self, path: Path | str) -> Path:
        """Write the table to a .csv or .parquet file and return its path."""
        file = Path(path)
        if file.suffix.lower() == ".parquet":
            try:
                import pyarrow as pa
                import pyarrow.parquet as pq
            except ImportError:
                raise MissingExtra("Parquet files", "frames") from None
            cells = {name: column.in_one_kind().cells() for name, column in self._columns.items()}
            pq.write_table(pa.table(cells), file)
            return file
        if file.suffix.lower() != ".csv":
            raise InvalidParameter("out", str(path), "a file ending in .csv or .parquet")
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(self.names)
            columns = [column.in_one_kind() for column in self._columns.values()]
            for start in range(0, len(self), _LINES):
                some = slice(start, start + _LINES)
                lines = [map(column.values.__getitem__, column.codes[some].tolist()) for column in columns]
                writer.writerows(zip(*lines, strict=True))
        return file
