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
        arguments: the table, and the columns where they are known.
        texts: as typed.

    """
    table = dataset.table(arguments.get("table") or arguments["parent"])
    columns = arguments.get("columns") or ()
    columns = (columns,) if isinstance(columns, str) else tuple(columns)
    found: dict[str, Any] = {}
    for text in texts:
        name, has_name, said = text.partition("=")
        if not has_name:
            if len(columns) != 1:
                raise InvalidParameter("bins", text, "COLUMN=BINS where there is more than one column")
            name, said = columns[0], text
        found[name.strip()] = _read(table, name.strip(), said)
    return found


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
