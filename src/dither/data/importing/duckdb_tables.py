"""Parquet and frames as DuckDB sees them: the types of the declared columns, compared with their kinds."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dither.data.engines.emit_duckdb import family
from dither.data.engines.protocol import can_hold
from dither.data.importing.sources import absent_column
from dither.data.schema import Table
from dither.errors import EngineUnavailable, InvalidParameter

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What stands after FROM, and for each declared column its name there and its type.
Source = tuple[str, dict[str, tuple[str, str]]]


def typed_source(connection: DuckDBPyConnection, table: Table, source: str, what: str) -> Source:
    """Return a source that has types of its own, after comparing them with the declared kinds.

    Args:
        connection: where it can be read.
        table: what is declared.
        source: what stands after FROM.
        what: how messages call it.

    """
    described: list[tuple[Any, ...]] | None = None
    # Only the footer of a file is read here.
    with contextlib.suppress(Exception):
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 - quoted or made up
    if described is None:
        fix = "it is damaged or of another kind: write it again"
        raise EngineUnavailable(f"table {table.name}: {table.source} cannot be read; {fix}")
    types = {str(name): str(stored) for name, stored, *_ in described}
    columns = {}
    for name, kind in table.kinds.items():
        if name not in types:
            raise EngineUnavailable(absent_column(table, name, list(types), what if what == "the frame" else None))
        if not can_hold(family(types[name]), kind):
            fix = "change its kind in the schema, or leave it out"
            declared = f"column {name} of table {table.name} is declared {kind.value}"
            raise EngineUnavailable(f"{declared}, but {what} stores {types[name].split('(')[0]}; {fix}")
        columns[name] = (name, types[name])
    return source, columns


def parquet_reader(files: Sequence[str]) -> str:
    """Return what stands after FROM to read Parquet files; folders named like columns do not count as columns."""
    return f"read_parquet([{', '.join(map(text_constant, files))}], hive_partitioning = false)"


def text_constant(value: str) -> str:
    """Return a text constant of SQL."""
    if "\x00" in value:
        raise InvalidParameter("source", value, "without the character U+0000")
    return "'" + value.replace("'", "''") + "'"
