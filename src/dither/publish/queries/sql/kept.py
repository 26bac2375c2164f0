"""Public rows that nobody has: a public table beside private rows, all of whose rows are kept.

``FROM regions r LEFT JOIN visits v ON v.region = r.name GROUP BY r.name`` shows every region. The rows of nobody are no
rows of a person; they are groups that are answered although they are empty. So the groups must be public, and what is
measured must be about the private rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dither.data.expressions import names_in
from dither.publish.queries.query import Key
from dither.publish.queries.sql.aggregates import aggregates_in
from dither.publish.queries.sql.scope import Scope

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.rows import Rows


def check_kept(rows: Rows, select: exp.Expression, scope: Scope, keys: Sequence[Key]) -> None:
    """Refuse a query that would show more of the rows that nobody has than that they are there."""
    if not scope.kept:
        return
    shown = ", ".join(sorted(scope.kept))
    public = {name for source in scope.sources if source.alias.lower() in scope.kept for _, name in source.columns}
    for key in keys:
        if not names_in(key.value) <= public:
            rows.parsed.refuse(
                select.args.get("group"),
                f"all rows of {shown} are retained, and those without a person would be a group of {key.name} NULL",
                f"group by columns of {shown}, or write JOIN",
            )
        if key.values is None:
            rows.parsed.refuse(
                select.args.get("group"),
                f"all rows of {shown} are retained, and which values {key.name} has is not declared",
                "ask the curator to declare its categories or bounds, or write JOIN: then groups that are large "
                "enough are shown",
            )
    clauses = [*select.expressions, *([select.args["having"]] if select.args.get("having") is not None else [])]
    for node in (part for clause in clauses for part in aggregates_in(clause)):
        named = [column for column in node.walk() if column.key == "column" and column.this.key != "star"]
        if all(scope.find(column) in public for column in named):  # type: ignore[arg-type]
            rows.parsed.refuse(
                node,
                f"all rows of {shown} are retained, and those without a person would count as one row each",
                "name a column of the private table, such as COUNT(v.id), or write JOIN",
            )


def refuse_kept(rows: Rows, select: exp.Expression, scope: Scope) -> None:
    """Refuse rows that nobody has in a subquery."""
    if scope.kept:
        rows.parsed.refuse(
            select,
            f"all rows of {', '.join(sorted(scope.kept))} are retained in a subquery, and some belong to no person",
            "write JOIN in the subquery, or group by the public table in the outermost query",
        )
