"""Stored answers as tables: columns made of what is stored, and of nothing else.

The same bytes give the same columns. What was released as rows is told as these rows, what was released as groups with
counts as these groups; nothing is drawn. What is a model is none of these, and its stored form is the one that it has.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from dither.errors import DitherError
from dither.publish.queries import QueryResult
from dither.publish.queries.finding import FoundBounds

if TYPE_CHECKING:
    from dither.publish.microdata import GeneralisedTable, ItemSets
    from dither.publish.synthetic.columns import Coding

Columns = dict[str, list[Any]]

_NOT_ONE = (DitherError, ValueError, KeyError, TypeError, AttributeError)
_MODEL = "a model of rows, from which any number of them can be drawn"
_OTHER = "what was released for later use, not rows"


class NoTable(Exception):
    """A stored answer that is no table; it says what it is."""


def columns_of(stored: bytes) -> Columns:
    """Return a stored answer as columns of equal length, by their names.

    Args:
        stored: the bytes of the answer.

    Raises:
        NoTable: it is something else.

    """
    try:
        return _of_result(QueryResult.stored(stored, ""))
    except _NOT_ONE:
        pass
    try:
        return _of_record(json.loads(stored), stored)
    except _NOT_ONE:
        raise NoTable(_OTHER) from None


def _of_record(record: Any, stored: bytes) -> Columns:
    match record:
        case {"bounds": _}:
            return _of_bounds(FoundBounds.stored(stored, ""))
        case {"anonymized": _}:
            return _of_anonymized(stored.decode())
        case {"synthetic": _} | {"synthetic families": _}:
            raise NoTable(_MODEL)
        case {"model": str()}:
            raise NoTable("a fitted model")
        case [_, *_]:
            return _long("set", [(", ".join(names), QueryResult.stored(text, "")) for names, text in record])
        case dict() if record:
            return _long("part", [(label, QueryResult.stored(text, "")) for label, text in record.items()])
    raise NoTable(_OTHER)


def _of_result(result: QueryResult) -> Columns:
    rows = result.to_rows()
    endings = {
        column.name: ("", "_low", "_high") if result.has_interval(column) else ("",) for column in result.columns
    }
    names = [f"{name}{ending}" for name in result.names for ending in endings[name]]
    return {name: [row[name] for row in rows] for name in names}


def _of_bounds(found: FoundBounds) -> Columns:
    told = ("column", "lower", "upper", "counted", "outside", "reach")
    return {name: [getattr(found, name)] for name in told} | {"confidence": [str(found.confidence)]}


def _long(name: str, tables: Sequence[tuple[str, QueryResult]]) -> Columns:
    """Return tables one below the other, with a column that says which a row is of; what one lacks is nothing there."""
    parts = [(label, len(result.rows), _of_result(result)) for label, result in tables]
    names = list(dict.fromkeys(column for _, _, columns in parts for column in columns))
    found: Columns = {_free(name, names): [label for label, length, _ in parts for _ in range(length)]}
    for column in names:
        values = [columns.get(column, [None] * length) for _, length, columns in parts]
        found[column] = _of_one_kind(list(itertools.chain.from_iterable(values)))
    return found


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Return values as they are, or as texts where some are numbers and others are not: a column has one kind."""
    kinds = {float if type(value) in (int, float) else type(value) for value in values if value is not None}
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]


def _of_anonymized(text: str) -> Columns:
    """Return what was released of an anonymised table: rows, or groups or sets with their counts, as drawn."""
    from dither.publish.microdata import AnonymizedTable, GeneralisedTable, ItemSets
    from dither.publish.synthetic.models import Model

    table = AnonymizedTable.from_json(text)
    released, codings = table.released, table.codings
    if isinstance(released, GeneralisedTable):
        return _of_groups(released, codings)
    if isinstance(released, Model):
        raise NoTable(_MODEL)
    if isinstance(released, ItemSets):
        return _of_sets(released, codings[0].column)
    meanings = map(_meanings, codings)
    return {
        coding.column: [meaning[code] for code in codes]
        for coding, meaning, codes in zip(codings, meanings, released.T.tolist(), strict=True)
    }


def _of_groups(table: GeneralisedTable, codings: Sequence[Coding]) -> Columns:
    """Return a row for every combination of groups, with its count."""
    from dither.publish.microdata.hierarchies import group_label

    labels = [
        [group_label(coding, label, values) for label, values in groups]
        for coding, groups in zip(codings, table.groups, strict=True)
    ]
    columns = zip(*itertools.product(*labels), strict=True)
    told = {coding.column: list(column) for coding, column in zip(codings, columns, strict=True)}
    return told | {_free("count", told): table.counts.ravel().tolist()}


def _of_sets(sets: ItemSets, column: str) -> Columns:
    """Return a row for every item of every set, with the number of the set and its count."""
    rows = [(number, item, count) for number, (items, count) in enumerate(sets.named(), 1) for item in items]
    told: Columns = {column: [item for _, item, _ in rows]}
    number, count = (_free(name, told) for name in ("set", "count"))
    return {number: [row[0] for row in rows], **told, count: [row[2] for row in rows]}


def _meanings(coding: Coding) -> list[Any]:
    """Return what each code means: a declared value, or the range that it stands for."""
    from dither.publish.microdata.hierarchies import range_text

    if coding.labels is not None:
        return list(coding.labels)
    ranges = [range_text(coding, place, place) for place in range(len(coding.edges or ()) - 1)]
    return [*ranges, None] if coding.nullable else ranges


def _free(name: str, taken: Container[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)
