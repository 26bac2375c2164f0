"""Columns of Arrow tables in plain types that an engine can read without guessing.

What a cell means depends on that cell alone. Texts whose bytes are no UTF-8 are NULL, since an engine would fail at
them; moments are in microseconds, and NULL outside of the years 1 to 9999; what is stored by number in a dictionary is
written out. Columns of other types are left as they are: an engine refuses them by their type, or reads every cell.
"""

from __future__ import annotations

from typing import Any, Final

from dither.data.engines import moments

#: Cells that are read one by one where one of them is not a text.
_FEW: Final = 64


def clean(column: Any) -> Any:
    """Return a column (an array or a chunked one) as a chunked array of plain cells."""
    import pyarrow

    chunks = column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]
    if not chunks:
        chunks = [pyarrow.nulls(0, column.type)]
    return pyarrow.chunked_array([_clean(chunk) for chunk in chunks])


def clean_table(table: Any) -> Any:
    """Return an Arrow table or a record batch as a table of plain cells."""
    import pyarrow

    return pyarrow.table([clean(column) for column in table.columns], names=table.schema.names)


def owned(column: Any) -> Any:
    """Return a chunked array with the same cells, in memory that nobody else can write.

    An array may lie over memory of NumPy that whoever gave it still holds.
    """
    import pyarrow

    return pyarrow.chunked_array([_copied(chunk) for chunk in column.chunks], column.type)


def owned_table(table: Any) -> Any:
    """Return a table with the same cells, in memory that nobody else can write."""
    import pyarrow

    return pyarrow.table([owned(column) for column in table.columns], names=table.schema.names)


def _copied(array: Any) -> Any:
    import pyarrow
    import pyarrow.ipc

    # Written out and read: what is read lies in what was written, whatever the type.
    batch = pyarrow.record_batch([array], names=["cells"])
    return pyarrow.ipc.read_record_batch(batch.serialize(), batch.schema).column(0)


def _clean(array: Any) -> Any:
    import pyarrow
    import pyarrow.compute as compute

    kind, types = array.type, pyarrow.types
    if isinstance(kind, pyarrow.BaseExtensionType):
        return _clean(array.storage)
    if types.is_run_end_encoded(kind):
        return _clean(compute.run_end_decode(array))
    if types.is_dictionary(kind):
        return _looked_up(_clean(array.dictionary), array.indices)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _texts(array)
    if types.is_timestamp(kind):
        return moments.timestamps(array)
    return moments.dates(array) if types.is_date64(kind) else array


def _looked_up(values: Any, places: Any) -> Any:
    """Return the values at these places; NULL where there is none."""
    import pyarrow.compute as compute

    is_place = compute.and_(compute.greater_equal(places, 0), compute.less(places, len(values)))
    return values.take(compute.if_else(is_place, places, None))


def _texts(array: Any) -> Any:
    """Return texts, NULL where the bytes are not a text.

    Halves are searched on for them, so that one such cell costs about one more pass over a column: how long a frame
    takes to open does not tell of it.
    """
    import pyarrow

    found, stack = [], [array]
    while stack:
        part = stack.pop()
        if _is_valid(part):
            found.append(part)
        elif len(part) <= _FEW:
            raw = part.cast(pyarrow.large_binary()).to_pylist()
            found.append(pyarrow.array(map(_text, raw), part.type))
        else:
            half = len(part) // 2
            stack += [part.slice(half), part.slice(0, half)]
    return found[0] if len(found) == 1 else pyarrow.concat_arrays(found)


def _is_valid(array: Any) -> bool:
    import pyarrow

    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        return False
    return True


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
