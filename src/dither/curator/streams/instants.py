"""Moments with a zone, in rows that are fed to a stream: a tick is an instant, and so is a moment that names its zone.

The time column of what is fed is put into UTC first, cell by cell: what becomes of a cell follows from that cell and
the type of its column.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from typing import Any

from dither.data.engines.frames import kind_of_frame
from dither.data.reference import given
from dither.data.schema import Table


def rows_in_utc(rows: Sequence[Any], table: Table, name: str) -> list[Any]:
    """Return rows whose moments have no zone; one that is no record stays as it is.

    Args:
        rows: as they were fed.
        table: what is declared of them.
        name: the time column.

    """
    names = [column.name for column in table.columns]
    moments = [(given(row, name), row) for row in rows]
    return [
        row if (found := instant(moment)) is moment else {one: given(row, one) for one in names} | {name: found}
        for moment, row in moments
    ]


def frame_in_utc(frame: Any, name: str) -> Any:
    """Return a frame whose moments have no zone; one that cannot be converted stays as it is, and is refused by type.

    Args:
        frame: as it was fed.
        name: the time column, as the frame calls it.

    """
    ways = {
        "pandas.DataFrame": _pandas,
        "polars.DataFrame": _polars,
        "pyarrow.Table": _arrow,
        "pyarrow.RecordBatch": _arrow,
    }
    way = ways.get(kind_of_frame(frame))
    # What a library says of a frame may quote a cell.
    with contextlib.suppress(Exception):
        return frame if way is None else way(frame, name)
    return frame


def instant(value: Any) -> Any:
    """Return a moment with a zone as one in UTC, without; anything else as it is. Never raises.

    >>> instant(datetime.datetime(2025, 1, 1, 1, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=1))))
    datetime.datetime(2025, 1, 1, 0, 30)
    """
    try:
        if issubclass(type(value), datetime.datetime) and value.tzinfo is not None:
            return datetime.datetime.astimezone(value, datetime.UTC).replace(tzinfo=None)
    except Exception:  # a zone, or a class of moments, may do anything when it is asked
        return None
    return value


def _pandas(frame: Any, name: str) -> Any:
    column = frame[name]
    if getattr(column.dtype, "tz", None) is not None:
        return frame.assign(**{name: column.dt.tz_convert("UTC").dt.tz_localize(None)})
    if column.dtype == object:
        return frame.assign(**{name: type(column)([instant(one) for one in column], index=column.index, dtype=object)})
    return frame


def _polars(frame: Any, name: str) -> Any:
    column = frame[name]
    if str(column.dtype) == "Object":
        # One cell that is of no type of Polars makes objects of all moments.
        return frame.with_columns(type(column)(name, [instant(one) for one in column.to_list()], dtype=column.dtype))
    if getattr(frame.schema[name], "time_zone", None) is None:
        return frame
    return frame.with_columns(frame[name].dt.convert_time_zone("UTC").dt.replace_time_zone(None))


def _arrow(frame: Any, name: str) -> Any:
    import pyarrow

    table = pyarrow.Table.from_batches([frame]) if isinstance(frame, pyarrow.RecordBatch) else frame
    place = table.schema.get_field_index(name)
    kind = table.schema.types[place]
    if not pyarrow.types.is_timestamp(kind) or kind.tz is None:
        return frame
    # The same integers: Arrow keeps moments with a zone in UTC.
    naive = table.column(place).cast(pyarrow.int64()).cast(pyarrow.timestamp(kind.unit))
    return table.set_column(place, name, naive)
