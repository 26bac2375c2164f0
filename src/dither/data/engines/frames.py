"""Frames given in place of files: only declared columns, and no column whose type a reader would guess from values.

pandas has columns of Python objects. A reader looks at some of them and fails on the others, so they are turned into
typed columns here, cell by cell, as ``evaluation.cell`` says: what is not of the declared kind is NULL. So are columns
of types that a reader does not take, complex numbers for example, which one cell makes of a column of reals.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from dither.data.evaluation import cell
from dither.data.expressions import Kind
from dither.data.schema import Table
from dither.errors import EngineUnavailable

_PANDAS_TYPES = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "Int64",
    Kind.REAL: "Float64",
    Kind.TEXT: "string",
    Kind.DATE: "datetime64[us]",
    Kind.TIMESTAMP: "datetime64[us]",
}


def prepared(table: Table, frame: Any) -> Any:
    """Return the declared columns of a frame, in types that need no guess."""
    kind = f"{type(frame).__module__.split('.', 1)[0]}.{type(frame).__name__}"
    if kind == "pandas.DataFrame":
        return _pandas(table, frame)
    if kind == "polars.DataFrame":
        if importlib.util.find_spec("pyarrow") is None:
            raise EngineUnavailable(f"table {table.name}: a Polars frame needs pyarrow; install dither[frames]")
        return frame.select([name for name in table.kinds if name in frame.columns])
    if kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
        for name in table.kinds:
            if frame.column_names.count(name) > 1:
                raise EngineUnavailable(_twice(table, name))
        return frame.select([name for name in table.kinds if name in frame.column_names])
    wanted = "a pandas or Polars frame or an Arrow table"
    raise EngineUnavailable(f"table {table.name}: a {type(frame).__name__} cannot be read; give {wanted}")


def _twice(table: Table, name: str) -> str:
    return f"column {name} of table {table.name} occurs twice; give columns different names"


def _is_plain(dtype: Any) -> bool:
    """Whether a reader takes a column of this type as it is; one odd cell may have made the type of all of them."""
    if isinstance(dtype, np.dtype):
        return dtype.kind not in "OcV" and not (dtype.kind == "f" and dtype.itemsize > 8)
    return type(dtype).__name__ not in ("PeriodDtype", "IntervalDtype", "SparseDtype")


def _real(value: Any) -> Any:
    """Return a complex number without imaginary part as the real one that it is, and a wide float as a float."""
    if isinstance(value, np.longdouble):
        return float(value)
    if isinstance(value, complex | np.complexfloating):
        return value.real if value.imag == 0 else None
    return value


def _pandas(table: Table, frame: Any) -> Any:
    import pandas

    columns = {}
    for name, kind in table.kinds.items():
        if name not in frame.columns:
            continue
        column = frame[name]
        if getattr(column, "ndim", 1) != 1:
            raise EngineUnavailable(_twice(table, name))
        if not _is_plain(column.dtype):
            cells = [cell(_real(value), kind) for value in column]
            column = pandas.Series(cells, dtype=_PANDAS_TYPES[kind], index=frame.index)
        columns[name] = column
    return pandas.DataFrame(columns, index=frame.index)
