"""Private rows and columns in callers' containers: lists, arrays, sparse matrices, frames of pandas, Polars and Arrow.

A container is refused by its type, its number of axes or its width, never by a cell. The number of columns is
public: it is the width of an array or a frame, or it was declared. A list of rows has no such width
(one person's row could be of any length), so it is read with a declared one: what a row lacks is missing, what it has
beyond is ignored, and what is no row is a row of missing cells. A record (a dictionary) in a list is read by the names
of columns where these are declared, else in its own order. See ``cell_values`` for what a cell means.

Arrays and columns of a numeric type are converted at once, because that gives each cell what it would have been given
alone; every other cell is read by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.cell_values import numbers_in
from dither.errors import InvalidValue

Floats = NDArray[np.float64]
_NUMERIC: Final = frozenset("biuf")
_TIMES: Final = frozenset("mMV")
_NO_ROWS: Final = (str, bytes, bytearray, memoryview)
_ROWS: Final[tuple[Any, ...]] = (list, tuple, range)


def rows_as_numbers(X: Any, columns: int | None) -> Floats:  # noqa: N803
    """Return rows as floats, with a column for each of ``columns`` or of the container's own.

    Args:
        X: rows in a container of any kind.
        columns: the declared number of columns; needed for a list of rows.

    """
    table = _table(X, columns)
    if isinstance(table, np.ndarray):
        if table.dtype.kind in _NUMERIC:
            return _typed(table)
        flat = table.reshape(-1)
        return numbers_in(array_cells(flat)).reshape(table.shape)
    if not table:
        raise InvalidValue("X", X, "at least one column wide")
    for name, column in zip(_frame_names(X), table, strict=True):
        if _has_categories(column):
            rule = f"columns of numbers, and {name!r} is of a type of categories: declare them by name"
            raise InvalidValue("X", X, f"{rule}, categories={{{name!r}: [...]}}")
    return np.column_stack([column_as_numbers(column) for column in table])


def rows_as_columns(X: Any, columns: int | None) -> list[list[Any]]:  # noqa: N803
    """Return the cells of each column, unchanged."""
    table = _table(X, columns)
    parts = table.T if isinstance(table, np.ndarray) else table
    return [cells_in(part) for part in parts]


def columns_named(X: Any, names: Sequence[str]) -> list[Any]:  # noqa: N803
    """Return the columns of these names, in this order: by name from frames and records, by place from all others.

    Args:
        X: rows in a container of any kind; a frame may have further columns, which are not read.
        names: the declared columns.

    """
    found = _as_known(X)
    if _is_frame(found):
        present = _frame_names(found)
        for name in names:
            if present.count(name) != 1:
                raise InvalidValue("X", X, f"a frame with each declared column once, which {name!r} is not")
        columns = _frame_columns(found)
        return [columns[present.index(name)] for name in names]
    table = _table(X, len(names), names)
    if isinstance(table, np.ndarray) and table.shape[1] == len(names):
        return list(table.T)
    rule = f"{len(names)} columns wide, as declared: {', '.join(names)} (X has {np.shape(table)[-1]} features)"
    raise InvalidValue("X", X, rule)


def one_column(y: Any, parameter: str = "y") -> Any:
    """Return a container of one cell for each row, or refuse it; its cells are not read."""
    if y is None:
        raise InvalidValue(parameter, y, "required: this estimator requires y to be passed, but the target y is None")
    found = _as_known(y)
    if _is_frame(found):
        width, found = found.shape[1], found if found.shape[1] != 1 else _frame_columns(found)[0]
        if width != 1:
            raise InvalidValue(parameter, y, "one label for each row")
    if isinstance(found, np.ndarray):
        if not (found.ndim == 1 or (found.ndim == 2 and found.shape[1] == 1)):
            raise InvalidValue(parameter, y, "one label for each row")
        return found
    if found is None:
        raise InvalidValue(parameter, y, "a list, an array or a column: one label for each row")
    return found


def column_as_numbers(column: Any) -> Floats:
    """Return the number of each cell of one column."""
    if isinstance(column, np.ndarray):
        flat = column.reshape(-1)
        return _typed(flat) if flat.dtype.kind in _NUMERIC else numbers_in(array_cells(flat))
    if _is_a(column, "pandas", "Series") and getattr(column.dtype, "kind", "O") in _NUMERIC:
        return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if _is_a(column, "polars", "Series") and (column.dtype.is_float() or column.dtype.is_integer()):
        wide = column.dtype in (sys.modules["polars"].Int128, getattr(sys.modules["polars"], "UInt128", None))
        if not wide:
            return np.array(column.cast(sys.modules["polars"].Float64).to_numpy())
    return numbers_in(cells_in(column))


def cells_in(column: Any) -> list[Any]:
    """Return the cells of one column as Python objects; cells of a type that holds no labels are None."""
    if isinstance(column, np.ndarray):
        return array_cells(column.reshape(-1))
    if _is_a(column, "pandas", "Series"):
        return _pandas_cells(column)
    if _is_a(column, "polars", "Series"):
        return _polars_cells(column)
    if _is_a(column, "pyarrow", "ChunkedArray", "Array"):
        return _arrow_cells(column)
    return list(column)


def array_cells(array: NDArray[Any]) -> list[Any]:
    """Return the cells of a flat array; dates, durations and records are None, as are masked cells."""
    if array.dtype.kind in _TIMES:
        return [None] * array.size
    found: list[Any] = array.tolist()
    return found


def is_named(X: Any) -> bool:  # noqa: N803
    """Whether a container names its columns."""
    return _is_frame(X)


def _table(X: Any, columns: int | None, names: Sequence[str] | None = None) -> NDArray[Any] | list[Any]:  # noqa: N803
    """Return an array with two axes or a list of columns."""
    found = _as_known(X)
    if _is_frame(found):
        return _frame_columns(found)
    if isinstance(found, np.ndarray) and not (found.ndim == 1 and found.dtype.kind == "O"):
        if found.ndim != 2:
            raise InvalidValue("X", X, "rows of columns. Reshape your data: X.reshape(-1, 1) or X.reshape(1, -1)")
        if not found.shape[1]:
            raise InvalidValue("X", X, "at least one column wide")
        return found
    if not isinstance(found, np.ndarray | list):
        raise InvalidValue("X", X, "an array, a sparse matrix, a frame or a list: rows of columns. Reshape your data")
    if columns is None:
        rule = "a list of rows only where the number of columns is declared (columns=, or bounds for each column)"
        raise InvalidValue("X", X, f"an array or a frame, whose width is known, or {rule}")
    rows = np.full((len(found), columns), None, dtype=object)
    for place, row in enumerate(found):
        for column, cell in enumerate(_row_cells(row, columns, names)):
            rows[place, column] = cell
    return rows


def _row_cells(row: Any, columns: int, names: Sequence[str] | None) -> Sequence[Any]:
    """Return the first cells of one row of a list; none where it is no row.

    A record gives its cells by declared names, and where there are none in its own order. A row is cut before it is
    read, so that a long one costs as much as a short one. A class of its own is read by the methods of the list, tuple,
    array or dictionary that it is; where it cannot be read, it is no row.
    """
    try:
        if issubclass(type(row), np.ndarray):
            return array_cells(_first_of(row, columns)) if row.ndim == 1 else []
        if issubclass(type(row), dict):
            by_name = None if names is None else [dict.get(row, name) for name in names]
            return list(islice(dict.values(row), columns)) if by_name is None else by_name
        for kind in _ROWS:
            if issubclass(type(row), kind):
                return kind.__getitem__(row, slice(columns))  # type: ignore[no-any-return]
    except KeyboardInterrupt:
        raise
    except BaseException:  # its own words might show a cell
        return []
    return []


def _first_of(array: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the first cells of an array with one axis, as an array of NumPy's own class."""
    if isinstance(array, np.ma.MaskedArray):
        plain, mask = np.ma.getdata(array, subok=False)[:count], np.ma.getmaskarray(array)[:count]
        return np.ma.MaskedArray(plain, mask=mask)
    return np.asarray(array)[:count]


def _as_known(given: Any) -> Any:
    """Return an array, a list, a frame or a column of one of the known libraries, or None.

    A list or tuple of a caller's own class is read by the methods of list and tuple, before anything else looks at it.
    """
    for plain in _ROWS:
        if issubclass(type(given), plain):
            return list(plain.__getitem__(given, slice(None)))
    if isinstance(given, np.ndarray):
        return given if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
    if _is_frame(given) or _is_a(given, "polars", "Series") or _is_a(given, "pyarrow", "ChunkedArray", "Array"):
        return given
    if _is_a(given, "pandas", "Series", "Index") or _is_a(given, "pandas.api.extensions", "ExtensionArray"):
        return sys.modules["pandas"].Series(given)
    try:
        if isinstance(given, Sequence) and not isinstance(given, _NO_ROWS):
            return list(given)
        # A sparse matrix, or an array of another library: what it holds has the type that it says.
        array = given.toarray() if hasattr(given, "toarray") else np.asarray(given) if _can_be(given) else None
    except Exception:  # its own words might show a cell
        return None
    return array if isinstance(array, np.ndarray) else None


def _can_be(given: Any) -> bool:
    return hasattr(given, "__array__") or hasattr(given, "__array_interface__")


def _is_a(given: Any, module: str, *names: str) -> bool:
    """Whether an object is of a class of a library; the library is then already imported. What it says is not asked."""
    library = sys.modules.get(module)
    return library is not None and issubclass(type(given), tuple(getattr(library, name) for name in names))


def _is_frame(given: Any) -> bool:
    return (
        _is_a(given, "pandas", "DataFrame")
        or _is_a(given, "polars", "DataFrame")
        or _is_a(given, "pyarrow", "Table", "RecordBatch")
    )


def _frame_columns(frame: Any) -> list[Any]:
    if _is_a(frame, "pandas", "DataFrame"):
        return [frame.iloc[:, place] for place in range(frame.shape[1])]
    return list(frame.get_columns() if _is_a(frame, "polars", "DataFrame") else frame.columns)


def _frame_names(frame: Any) -> list[Any]:
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return list(frame.schema.names if _is_a(frame, "pyarrow", "RecordBatch") else names)


def _has_categories(column: Any) -> bool:
    """Whether a column of a frame is of a type of categories that are texts.

    Somebody chose that type. A plain type of texts is not among these: one person's cell in a file makes a reader call
    a whole column of numbers texts, and a refusal would tell of that cell.
    """
    if _is_a(column, "polars", "Series"):
        polars = sys.modules["polars"]
        return column.dtype in (polars.Categorical, polars.Enum)
    if _is_a(column, "pyarrow", "ChunkedArray", "Array"):
        types = sys.modules["pyarrow"].types
        listed = column.type.value_type if types.is_dictionary(column.type) else None
        return listed is not None and bool(types.is_string(listed) or types.is_large_string(listed))
    pandas, kind = sys.modules["pandas"], column.dtype
    if not isinstance(kind, pandas.CategoricalDtype):
        return False
    return isinstance(kind.categories.dtype, pandas.StringDtype) or kind.categories.dtype == object


def _typed(array: NDArray[Any]) -> Floats:
    """Return numbers of one type as floats, each rounded by itself. Masked cells are missing."""
    with np.errstate(all="ignore"):
        found: Floats = np.array(np.ma.getdata(array), dtype=np.float64)
    if isinstance(array, np.ma.MaskedArray):
        found[np.ma.getmaskarray(array)] = np.nan
    return found


def _pandas_cells(series: Any) -> list[Any]:
    kind = type(series.dtype).__name__
    if kind == "ArrowDtype" or (kind == "StringDtype" and series.dtype.storage == "pyarrow"):
        return _arrow_cells(series.array.__arrow_array__())
    if getattr(series.dtype, "kind", "O") in _TIMES:
        return [None] * len(series)
    if kind == "CategoricalDtype":
        # Read by category: pandas would make whole categories floats where one cell is missing.
        known = cells_in(sys.modules["pandas"].Series(series.cat.categories))
        return [known[code] if code >= 0 else None for code in series.cat.codes.tolist()]
    found: list[Any] = series.tolist()
    return found


def _polars_cells(series: Any) -> list[Any]:
    polars, kind = sys.modules["polars"], series.dtype
    if kind in (polars.String, polars.Categorical, polars.Enum):
        # Bytes first: Polars ends in a panic, which is no Exception, at a text that is none.
        return [_text(cell) for cell in series.cast(polars.String).cast(polars.Binary).to_list()]
    if not (kind.is_numeric() or kind in (polars.Boolean, polars.Object, polars.Binary)):
        return [None] * len(series)
    found: list[Any] = series.to_list()
    return found


def _arrow_cells(column: Any) -> list[Any]:
    arrow = sys.modules["pyarrow"]
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        return _arrow_cells(
            arrow.chunked_array([part.dictionary_decode() for part in column.chunks], kind.value_type)
            if hasattr(column, "chunks")
            else column.dictionary_decode()
        )
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        # Bytes first: a text that is none would raise.
        return [_text(cell) for cell in column.cast(arrow.large_binary()).to_pylist()]
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    found: list[Any] = column.to_pylist() if numbers else [None] * len(column)
    return found


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
