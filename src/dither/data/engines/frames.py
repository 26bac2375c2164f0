"""Frames in place of files: only declared columns, and none whose type a reader would guess from values.

What a cell means depends on that cell and on the type of its column, never on another cell. pandas has columns of
Python objects: a reader looks at some of them and fails on the others, so they are turned into typed columns here, cell
by cell, as ``evaluation.cell`` says: what is not of the declared kind is NULL. So are columns of types that a reader
does not take, complex numbers for example, which one cell makes of a column of reals. In a column of reals or objects,
declared text, a real without fraction is the text of an integer: one missing cell makes reals of a column of integers.

Texts are checked for invalid ones (half of a surrogate pair, bytes that are not UTF-8), and moments are put into
microseconds, before an engine meets them and fails: see ``arrow_columns``.

**Copied.** Whoever gives a frame may write into it later. What an engine reads are the cells of when it was opened: two
questions about two parts of the rows are asked of the same rows.

**Categories** are read one by one, and looked up by their numbers. One cell decides of what type all categories are:
2.5 makes reals of 1 and 2, and a category 1 is also that of 1.0 and of true. So in such a column numbers that are equal
are one, whatever their type: a real without fraction is an integer, and 0 and 1 are false and true in a column of
these. From 2^53 on two integers may be one real, and count as a real alone.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from numbers import Number
from typing import Any, Final

import numpy as np

from dither.data.cell_forms import Form, read_cell
from dither.data.engines.arrow_columns import clean, clean_table, owned, owned_table
from dither.data.evaluation import cell
from dither.data.expressions import Kind, Value
from dither.data.importing.sources import absent_column
from dither.data.schema import Column, Table
from dither.errors import DitherError, EngineUnavailable

_PANDAS_TYPES: Final = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "Int64",
    Kind.REAL: "Float64",
    Kind.TEXT: "string",
    Kind.DATE: "datetime64[us]",
    Kind.TIMESTAMP: "datetime64[us]",
}
#: From here on not every integer is a double.
_EXACT: Final = 2**53
#: Types of pandas that no reader takes.
_ODD_TYPES: Final = ("PeriodDtype", "IntervalDtype", "SparseDtype")
_NUMBERS: Final = (Number, np.bool_)


def prepared(table: Table, frame: Any) -> Any:
    """Return a copy of the declared columns of a frame, in types that a reader need not guess."""
    found: Any = None
    try:
        found = _prepared(table, frame)
    except DitherError:
        raise
    except Exception:  # noqa: S110 - what a library says of a frame may quote a cell
        pass
    if found is None:
        kinds = "a pandas or Polars frame or an Arrow table with columns of plain types"
        raise EngineUnavailable(f"table {table.name}: a {type(frame).__name__} cannot be read; give {kinds}")
    return found


def _prepared(table: Table, frame: Any) -> Any:
    kind = kind_of_frame(frame)
    if kind == "pandas.DataFrame":
        return _pandas(table, frame)
    if kind == "polars.DataFrame":
        if importlib.util.find_spec("pyarrow") is None:
            raise EngineUnavailable(f"table {table.name}: a Polars frame needs pyarrow: pip install 'dither[frames]'")
        return _polars(table, frame)
    if kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
        import pyarrow

        names = frame.schema.names
        found = {column.name: frame.column(place_of(table, column, names)) for column in table.columns}
        return owned_table(_formed(table, clean_table(pyarrow.table(list(found.values()), names=list(found)))))
    for one in table.declared:
        found = one.rows_in(table, frame)
        if found is not None:
            return found
    wanted = "a pandas or Polars frame or an Arrow table"
    raise EngineUnavailable(f"table {table.name}: a {type(frame).__name__} cannot be read; give {wanted}")


def lost_cells(table: Table, frame: Any) -> list[tuple[Column, int, int, str]]:
    """Return the columns of strings of a frame that lose cells: how many, of how many, and one of them. NOT PRIVATE.

    Columns of other types are not read: their cells are of their kind, or missing.

    Args:
        table: what is declared.
        frame: the rows.

    """
    found = []
    for one in table.columns:
        cells = [] if one.kind is Kind.TEXT else _strings(table, one, frame)
        lost = [text for text in cells if _read([text], one.kind, one.forms)[0] is None]
        if lost:
            found.append((one, len(lost), len(cells), min(lost)))
    return found


def _strings(table: Table, column: Column, frame: Any) -> list[str]:
    """Return the cells of a column that are strings."""
    kind = kind_of_frame(frame)
    cells: Any = ()
    if kind == "pandas.DataFrame":
        series = frame.iloc[:, place_of(table, column, labels(frame))]
        is_plain = isinstance(series.dtype, np.dtype) and _is_plain(series.dtype)
        cells = () if is_plain else series.astype(object)
    elif kind == "polars.DataFrame":
        series = frame.get_column(frame.columns[place_of(table, column, frame.columns)])
        cells = () if series.dtype.is_numeric() or series.dtype.is_temporal() else series.to_list()
    elif kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
        series = clean(frame.column(place_of(table, column, frame.schema.names)))
        cells = series.to_pylist() if str(series.type) in ("string", "large_string", "string_view") else ()
    return [str.__str__(cell) for cell in cells if issubclass(type(cell), str)]


def kind_of_frame(frame: Any) -> str:
    """Return the library and the class of a frame; a subclass of a known class counts as another one."""
    return f"{type(frame).__module__.split('.', 1)[0]}.{type(frame).__name__}"


def place_of(table: Table, column: Column, names: Sequence[str | None]) -> int:
    """Return the position of a declared column in a frame; refuse one that is absent or occurs twice.

    Args:
        table: what is declared.
        column: one of its columns.
        names: the frame's names of its columns, in order; None for a label that is not a name.

    """
    if list(names).count(column.stored_name) != 1:
        raise EngineUnavailable(absent_column(table, column, [name for name in names if name is not None], "the frame"))
    return list(names).index(column.stored_name)


def labels(frame: Any) -> list[str | None]:
    """Return the names of the columns of a pandas frame: texts, and integers as they are written.

    Anything else that pandas takes for a label (a pair of two levels, a moment, NULL) is not a name.
    """
    return [_label(label) for label in frame.columns]


def _label(label: Any) -> str | None:
    if issubclass(type(label), str):
        return str.__str__(label)
    if issubclass(type(label), int | np.integer) and type(label) is not bool:
        return str(int(label))
    return None


def _polars(table: Table, frame: Any) -> Any:
    import polars

    # Column by column: in a list of names Polars would read some as patterns.
    found = [frame.get_column(frame.columns[place_of(table, one, frame.columns)]) for one in table.columns]
    frame = polars.DataFrame([series.alias(one.name) for series, one in zip(found, table.columns, strict=True)])
    # One cell that is of no type of Polars makes objects of all of them.
    objects = [one for one in table.columns if frame.schema[one.name] == polars.Object]
    read = [
        polars.Series(one.name, _typed(frame.get_column(one.name).to_list(), one.kind, one.forms)) for one in objects
    ]
    frame = frame.with_columns(read)
    wide = [kind for kind in ("Int128", "UInt128") if hasattr(polars, kind)]
    narrow = [polars.col(getattr(polars, kind)).cast(polars.Int64, strict=False) for kind in wide]
    return owned_table(_formed(table, clean_table(frame.with_columns(narrow).to_arrow())))


def _formed(table: Table, rows: Any) -> Any:
    """Return a table of Arrow in which columns with declared forms hold the values of their strings."""
    from pyarrow import types

    for place, one in enumerate(table.columns):
        kind = rows.schema.field(place).type
        if one.forms and (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
            rows = rows.set_column(place, one.name, _typed(rows.column(place).to_pylist(), one.kind, one.forms))
    return rows


def _typed(values: Sequence[Any], kind: Kind, forms: tuple[Form, ...]) -> Any:
    """Return Python objects as a typed column of Arrow, cell by cell."""
    import pyarrow

    types = {
        Kind.BOOLEAN: pyarrow.bool_(),
        Kind.INTEGER: pyarrow.int64(),
        Kind.REAL: pyarrow.float64(),
        Kind.TEXT: pyarrow.string(),
        Kind.DATE: pyarrow.date32(),
        Kind.TIMESTAMP: pyarrow.timestamp("us"),
    }
    return pyarrow.array(_read(values, kind, forms), type=types[kind])


def _pandas(table: Table, frame: Any) -> Any:
    import pandas

    names = labels(frame)
    columns = {one.name: _pandas_column(frame.iloc[:, place_of(table, one, names)], one) for one in table.columns}
    # Rows are told apart by nothing: an index may hold anything.
    return pandas.DataFrame(columns, index=range(len(frame)), copy=False)


def _pandas_column(column: Any, declared: Column) -> Any:
    """Return a column of pandas as an array of a plain type."""
    import pandas

    kind, forms = declared.kind, declared.forms
    dtype, name = column.dtype, type(column.dtype).__name__
    if forms and name in ("StringDtype", "ArrowDtype"):
        column = column.astype(object)
        dtype, name = column.dtype, type(column.dtype).__name__
    if name == "DatetimeTZDtype":
        return _moments(column.dt.tz_convert(None).to_numpy())
    if name == "ArrowDtype" or (name == "StringDtype" and dtype.storage != "python"):
        return pandas.arrays.ArrowExtensionArray(owned(clean(_arrow(column))))
    if name == "CategoricalDtype":
        # NULL has the number -1, and so the place behind all categories.
        known = [*(_category(value, kind, forms) for value in _cells(column.cat.categories)), None]
        cells = [known[code] for code in column.cat.codes.tolist()]
    elif isinstance(dtype, np.dtype) and dtype.kind == "M":
        return _moments(column.to_numpy())
    elif isinstance(dtype, np.dtype) and kind is Kind.TEXT and dtype.kind in "fc":
        # One cell that is missing makes reals of integers, and an integer is a text.
        cells = [_text(value) for value in column]
    elif isinstance(dtype, np.dtype) and _is_plain(dtype):
        return column.array.copy()
    elif isinstance(dtype, np.dtype) or name in (*_ODD_TYPES, "StringDtype"):
        # One cell of another kind makes objects of such reals.
        cells = [_text(value) for value in column] if kind is Kind.TEXT else _read(column, kind, forms)
    else:
        return column.array.copy()
    return pandas.array(cells, dtype=_PANDAS_TYPES[kind])


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether a reader takes a column of this type unchanged; one odd cell may have set the type of all of them."""
    return dtype.kind not in "OcVSU" and not (dtype.kind == "f" and dtype.itemsize > 8)


def _arrow(column: Any) -> Any:
    import pyarrow

    return pyarrow.chunked_array(column.array.__arrow_array__())


def _cells(categories: Any) -> list[Any]:
    """Return the categories of a column, one by one."""
    name = type(categories.dtype).__name__
    if name == "ArrowDtype" or (name == "StringDtype" and categories.dtype.storage != "python"):
        found: list[Any] = clean(_arrow(categories)).to_pylist()
        return found
    return list(categories)


def _category(value: Any, kind: Kind, forms: tuple[Form, ...] = ()) -> Value:
    """Return what all cells of a category count as: equal numbers are one."""
    if forms and issubclass(type(value), str):
        return _read([value], kind, forms)[0]
    value = _real(value)
    try:
        number = cell(float(value), Kind.REAL) if issubclass(type(value), _NUMBERS) else value
    except Exception:  # beyond all doubles, or a foreign class
        return None
    if type(number) is not float:
        return _cell(number, kind)
    if kind is Kind.REAL:
        return number
    if abs(number) >= _EXACT:
        return None
    if kind is Kind.BOOLEAN:
        return bool(number) if number in (0.0, 1.0) else None
    return cell(int(number) if number.is_integer() else number, kind)


def _text(value: Any) -> Value:
    """Return the text of a cell; a real without fraction, which may have been an integer, is the text of that."""
    is_real = issubclass(type(_real(value)), float | np.floating)
    return _category(value, Kind.TEXT) if is_real else _cell(value, Kind.TEXT)


def _read(values: Iterable[Any], kind: Kind, forms: tuple[Form, ...]) -> list[Value]:
    """Return each cell as its kind; strings by the declared forms of the column."""
    if not forms:
        return [_cell(value, kind) for value in values]
    known: dict[str, Value] = {}
    found: list[Value] = []
    for value in values:
        if issubclass(type(value), str):
            text = str.__str__(value)
            if text not in known:
                known[text] = read_cell(text, forms, kind)
            found.append(known[text])
        else:
            found.append(_cell(value, kind))
    return found


def _cell(value: Any, kind: Kind) -> Value:
    return cell(_real(value), kind)


def _real(value: Any) -> Any:
    """Return a complex number without imaginary part as a real one, and a wide float as a float."""
    if type(value) is np.longdouble:
        return float(value)
    if type(value) is complex or issubclass(type(value), np.complexfloating):
        return value.real if value.imag == 0 else None
    return value


def _moments(column: Any) -> Any:
    """Return moments of any unit in microseconds; see ``moments`` for the same with Arrow."""
    # Years of any unit: coarser, so that nothing can overflow. NaT is far outside.
    years = column.astype("datetime64[Y]").astype(np.int64) + 1970
    within = (years >= 1) & (years <= 9999)
    known = np.where(within, column, np.datetime64("NaT").astype(column.dtype))
    if np.datetime_data(column.dtype)[0] != "ns":
        return known.astype("datetime64[us]")
    microseconds = (known.view(np.int64) // 1000).view("datetime64[us]")  # the one in which a moment lies
    return np.where(within, microseconds, np.datetime64("NaT", "us"))
