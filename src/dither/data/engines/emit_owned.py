# ruff: noqa: S608 - printing SQL is what this module is for; every name and constant in it is quoted by the emitter
"""Printing tables that belong to people through references: their rows with their people, and few rows of each key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dither.data.relations import Scan
from dither.data.schema import Table

if TYPE_CHECKING:
    from dither.data.engines.emit_relations import Printed, RelationEmitter


def owned_rows(emitter: RelationEmitter, scan: Scan, keys: Sequence[str] = ()) -> Printed:
    """Return the rows of a table, each once for each person who has a row that it refers to.

    Args:
        emitter: of the dialect.
        scan: which table, and through which others its rows belong to people.
        keys: its columns that another table refers to. One that is longer than declared is NULL: cut, the keys of
            different people could become one, and a row that refers to it a row of all of them.

    """
    parent, owner, table = scan.parent, scan.table.owner, scan.table
    if parent is None or owner is None:
        return emitter.scanned(table, table.person, keys)
    rows, above = emitter.scanned(table, None, keys), owned_rows(emitter, parent, owner.keys)
    if owner.rows is not None:
        rows = few_of_each(emitter, rows, table, owner.columns, owner.rows)
    kinds = [table.kinds[name] for name in owner.columns]
    keys = [emitter.fresh("k") for _ in kinds]
    named = [
        f"{emitter.group_key(above.scope.names[name], kind)} AS {key}"
        for name, kind, key in zip(owner.keys, kinds, keys, strict=True)
    ]
    # Each person once for a key, however many of their rows have it: nothing multiplies.
    people = f"SELECT DISTINCT {', '.join([*named, str(above.person)])} FROM ({above.text}) AS {emitter.fresh('t')}"
    meets = " AND ".join(
        f"{emitter.compared(rows.scope.names[name], kind)} = {key}"
        for name, kind, key in zip(owner.columns, kinds, keys, strict=True)
    )
    text = (
        f"SELECT {', '.join([*rows.scope.names.values(), str(above.person)])} FROM ({rows.text}) AS "
        f"{emitter.fresh('t')} INNER JOIN ({people}) AS {emitter.fresh('t')} ON {meets}"
    )
    return replace(rows, text=text, person=above.person, person_kind=above.person_kind)


def few_of_each(emitter: RelationEmitter, rows: Printed, table: Table, keys: Sequence[str], most: int) -> Printed:
    """Return the first rows of each key of a table, by their hash and columns."""

    def ranked(crowded: Printed) -> Printed:
        fields = [(crowded.scope.names[name], kind) for name, kind in table.kinds.items()]
        hashed = emitter.fresh("h")
        order = [f"{hashed} ASC", *(emitter.order_key(sql, kind) for sql, kind in fields)]
        partition = [emitter.group_key(crowded.scope.names[name], table.kinds[name]) for name in keys]
        further = emitter.with_columns(crowded, [(hashed, emitter.scramble("row", fields[0], fields[1:]))])
        return emitter.first(further, [], partition, order, most)

    return where_crowded(emitter, rows, table, keys, most, ranked)


def where_crowded(
    emitter: RelationEmitter,
    rows: Printed,
    table: Table,
    keys: Sequence[str],
    most: int,
    chosen: Callable[[Printed], Printed],
) -> Printed:
    """Return rows of which some are chosen where a key occurs too often in their table; the others stay.

    Elsewhere no person has more rows with a key than there are, so that nothing is to be chosen. Sorting all rows by
    all columns would take many times as long as looking which keys repeat.

    Args:
        emitter: of the dialect.
        rows: rows of the table, each at most once for a person.
        table: which table.
        keys: its columns that make a key.
        most: how many rows with one key need not be looked at.
        chosen: what chooses among the others.

    """
    raw, kinds = emitter.scanned(table, None), [table.kinds[name] for name in keys]
    names, mark = [emitter.fresh("k") for _ in keys], emitter.fresh("m")
    listed = [
        f"{emitter.group_key(raw.scope.names[name], kind)} AS {key}"
        for name, kind, key in zip(keys, kinds, names, strict=True)
    ]
    each = f"SELECT {', '.join(listed)} FROM ({raw.text}) AS {emitter.fresh('t')}"
    repeated = (
        f"(SELECT {', '.join(names)}, 1 AS {mark} FROM ({each}) AS {emitter.fresh('t')} "
        f"GROUP BY {', '.join(names)} HAVING count(*) > {most}) AS {emitter.fresh('t')}"
    )
    mine = [emitter.group_key(rows.scope.names[name], kind) for name, kind in zip(keys, kinds, strict=True)]
    meets = emitter.matches(mine, names, kinds)
    start = f"SELECT {rows.listed} FROM ({rows.text}) AS {emitter.fresh('t')}"
    few = f"{start} LEFT JOIN {repeated} ON {meets} WHERE {mark} IS NULL"
    many = chosen(replace(rows, text=f"{start} INNER JOIN {repeated} ON {meets}"))
    both = (f"SELECT {rows.listed} FROM ({text}) AS {emitter.fresh('t')}" for text in (few, many.text))
    return replace(rows, text=" UNION ALL ".join(both))
