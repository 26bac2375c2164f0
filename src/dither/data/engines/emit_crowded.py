# ruff: noqa: S608 - printing SQL is what this module is for; every name in it is made by the emitter
"""Rows of people who have more of them than a limit are chosen among; the rows of all others stay as they are.

Ordering the rows of everybody takes several times as long as counting them, and limits are mostly set so that few
people have more. The rows are computed once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dither.data.expressions import Kind
from dither.data.relations import Limits

if TYPE_CHECKING:
    from dither.data.engines.emit_relations import Printed, RelationEmitter


def harmless(limits: Limits) -> int:
    """Return how many rows a person may have of which no limit drops one; rows are in as many groups at most.

    >>> harmless(Limits(rows=9, groups=2)), harmless(Limits(groups=3, rows_per_group=4))
    (2, 3)
    """
    return min(most for most in (limits.rows, limits.groups, limits.rows_per_group) if most is not None)


def where_many(
    emitter: RelationEmitter,
    rows: Printed,
    hidden: Sequence[str],
    limits: Limits,
    chosen: Callable[[Printed], Printed],
) -> Printed:
    """Return rows of which some are chosen where a person has more than the limits allow; the others stay.

    The choice looks at each person by itself, and of a person with few rows it drops none: so the result is that of
    choosing among all.

    Args:
        emitter: of the dialect.
        rows: rows of people.
        hidden: their columns that no scope names.
        limits: those in effect.
        chosen: what chooses among the rows of people; it keeps the names of the columns.

    """
    if not emitter.keeps_rows or limits == Limits():
        return chosen(rows)
    kept, many, person, mark = (emitter.fresh(name) for name in ("t", "t", "p", "m"))
    listed = ", ".join([rows.listed, *hidden])
    whose = emitter.group_key(str(rows.person), rows.person_kind or Kind.TEXT)
    counted = (
        f"SELECT {whose} AS {person}, TRUE AS {mark} FROM {kept} GROUP BY {whose} HAVING count(*) > {harmless(limits)}"
    )
    meets = f"{many} ON {whose} = {person}"
    crowded = chosen(replace(rows, text=f"SELECT {listed} FROM {kept} INNER JOIN {meets}"))
    text = (
        f"WITH {kept} AS MATERIALIZED ({rows.text}), {many} AS MATERIALIZED ({counted}) "
        f"SELECT {listed} FROM {kept} LEFT JOIN {meets} WHERE {mark} IS NULL "
        f"UNION ALL SELECT {listed} FROM ({crowded.text}) AS {emitter.fresh('t')}"
    )
    return replace(crowded, text=text)
