"""Bins as they are typed: COLUMN=10, COLUMN=0,18,65,120 or COLUMN=a,b, read by the declared kind of the column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dither.data import Kind
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter


def bins_of(dataset: DataSet, arguments: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Return bins by column; the name may be omitted where one column is asked about.

    Args:
        dataset: the declarations.
        arguments: the table, or a parent and its child, and the columns where they are known.
        texts: as typed.

    """
    tables = [dataset.table(arguments[name]) for name in ("table", "parent", "child") if name in arguments]
    columns = arguments.get("columns") or {name for names in arguments.get("sets") or () for name in names}
    columns = (columns,) if isinstance(columns, str) else tuple(columns)
    found: dict[str, Any] = {}
    for text in texts:
        name, has_name, said = text.partition("=")
        if not has_name:
            if len(columns) != 1:
                raise InvalidParameter("bins", text, "COLUMN=BINS where there is more than one column")
            name, said = columns[0], text
        found[name.strip()] = _read(*_column(tables, name.strip(), text), said)
    return found


def _column(tables: Sequence[Table], name: str, text: str) -> tuple[Table, str]:
    """Return the column that is meant, with its table, by which it may be named where there are two."""
    if len(tables) == 1:
        return tables[0], name
    named, has_table, column = name.rpartition(".")
    for table in tables:
        if column in table.kinds and (not has_table or named == table.name):
            return table, column
    raise InvalidParameter("bins", text, f"COLUMN=BINS for a column of {' or '.join(one.name for one in tables)}")


def _read(table: Table, name: str, text: str) -> Any:
    kind = table.column(name).kind
    words = [word.strip() for word in text.split(",")]
    if kind is Kind.TEXT:
        return words
    if kind is Kind.BOOLEAN:
        return [word.lower() == "true" for word in words]
    if words == ["found"]:
        return "found"  # what synthetic tables take; others refuse it
    try:
        if len(words) == 1:
            return int(words[0])
        if kind is Kind.INTEGER:
            return [int(word) for word in words]
        return words if kind is Kind.DATE else [float(word) for word in words]
    except ValueError:
        rule = "a number of bins, or edges separated by commas"
        raise InvalidParameter(f"bins of {name}", text, rule) from None
