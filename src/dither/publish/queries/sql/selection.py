"""SELECT DISTINCT of private rows: the values that enough people have, which is a GROUP BY without aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.publish.queries.sql.grouping import is_grouped
from dither.publish.queries.sql.rows import AcrossPersons, Environment, Rows

if TYPE_CHECKING:
    from sqlglot import exp


def grouped_by_itself(rows: Rows, select: exp.Expression, known: Environment) -> exp.Expression:
    """Return SELECT DISTINCT over private rows as the same SELECT with GROUP BY ALL; anything else unchanged."""
    distinct = select.args.get("distinct")
    if distinct is None or is_grouped(select) or not (select.args.get("from_") or select.args.get("from")):
        return select
    if distinct.args.get("on") is not None:
        rows.parsed.refuse(
            select,
            "DISTINCT ON shows one whole row for each value",
            "write SELECT DISTINCT of the columns themselves, or group by them and ask for an aggregate",
        )
    for item in select.expressions:
        if item.key == "star" or (item.key == "column" and item.this.key == "star"):
            rows.parsed.refuse(
                select, "SELECT DISTINCT * shows whole rows", "name the columns whose values are to be shown"
            )
    try:
        rows.scope(select, known)
    except AcrossPersons:
        return select  # rows of an answer, not of people
    from sqlglot import exp

    made = select.copy()
    made.set("distinct", None)
    made.set("group", exp.Group(all=True))
    return made
