"""Subqueries over released and public tables that name a column of the rows outside.

``(SELECT MIN(s.cost) FROM offers s WHERE s.part = p.part)`` is a total for each part, joined to the rows outside by the
part; ``EXISTS (SELECT * FROM offers s WHERE s.part = p.part)`` asks whether the part has one. Only equalities tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dither.data import DataSet
from dither.errors import InvalidParameter
from dither.publish.queries.sql.natures import aggregates_over_rows, bare, groups, sources_of
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.rows import Cte
from dither.publish.queries.sql.sources import parts_of_condition
from dither.publish.queries.sql.unbound import unbound

if TYPE_CHECKING:
    from sqlglot import exp

_TIED = "a subquery that is tied to the rows outside by something else than column = value in its WHERE"


@dataclass(frozen=True)
class Tied:
    """A subquery without its ties: the totals of each key, and the values outside that the keys are equal to."""

    select: Any
    keys: tuple[str, ...]
    outside: tuple[Any, ...]
    total: str
    is_count: bool


def tied(
    parsed: Parsed, dataset: DataSet, node: exp.Expression, known: Mapping[str, Cte], is_outside: Callable[[Any], bool]
) -> Tied | None:
    """Return a subquery that names rows outside as totals by key; None if it names none, or what is nowhere.

    Args:
        parsed: the query, for places.
        dataset: what may be read.
        node: the subquery for a value, or EXISTS; IN is refused if it names rows outside.
        known: the names of WITH.
        is_outside: whether a column is one of the rows outside.

    """
    from sqlglot import exp

    select: Any = bare(node.args["query"] if node.key == "in" else node.this if node.key == "exists" else node)
    columns = list(unbound(dataset, select, known))
    if not columns or not all(is_outside(column) for column in columns):
        return None
    if node.key == "in":
        instead = "write EXISTS (SELECT 1 FROM t WHERE t.y = x AND ...)"
        parsed.refuse(node, "IN with a subquery that names a column of the rows outside", instead)
    outer = {id(column) for column in columns}
    where = select.args.get("where") if select.key == "select" else None
    if where is None:
        parsed.refuse(node, _TIED, "tie it by =, or join the tables")
    parts = parts_of_condition(where.this)
    ties = [part for part in parts if any(id(column) in outer for column in part.walk())]
    pairs = [_sides(parsed, part, outer) for part in ties]
    if sum(1 for part in ties for column in part.walk() if id(column) in outer) != len(outer):
        parsed.refuse(node, _TIED, "tie it by =, or join the tables")
    is_test = node.key == "exists"
    if select.args.get("group") is not None or any(select.args.get(part) for part in ("having", "limit", "offset")):
        parsed.refuse(node, "GROUP BY, HAVING or LIMIT in a subquery that is tied to the rows outside", "remove it")
    is_cell = not is_test and not groups(select) and _has_key(dataset, select, known, [mine for mine, _ in pairs])
    if (groups(select) == is_test and not is_cell) or (not is_test and len(select.expressions) != 1):
        instead = "select columns" if is_test else "select one aggregate, or join the tables"
        parsed.refuse(node, "a subquery that is tied to the rows outside must have one row for each of them", instead)
    item = exp.Count(this=exp.Star()) if is_test else select.expressions[0].unalias().copy()
    item = exp.Min(this=item) if is_cell else item
    rest = [part.copy() for part in parts if all(part is not tie for tie in ties)]
    inner = select.copy()
    names = tuple(f"key_{place}" for place in range(len(pairs)))
    inner.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
    keys = [exp.alias_(mine.copy(), name) for name, (mine, _) in zip(names, pairs, strict=True)]
    inner.set("expressions", [*keys, exp.alias_(item, "total")])
    inner.set("group", exp.Group(expressions=[mine.copy() for mine, _ in pairs]))
    for part in ("order", "distinct"):
        inner.set(part, None)
    parsed.made.append(inner)
    counts = [one for one in aggregates_over_rows(item) if one.key in ("count", "countif")]
    if counts and counts[0] is not item:
        instead = "select COUNT alone, and compute with it outside of the subquery"
        parsed.refuse(node, "COUNT inside an expression of a subquery that is tied to the rows outside", instead)
    return Tied(inner, names, tuple(theirs for _, theirs in pairs), "total", bool(counts))


def _has_key(dataset: DataSet, select: Any, known: Mapping[str, Cte], tied_columns: list[Any]) -> bool:
    """Return whether a subquery reads one public table, and is tied to one row of it by its key."""
    found = sources_of(select)
    if len(found) != 1 or found[0].key != "table" or found[0].name.lower() in known:
        return False
    try:
        table = dataset.table(found[0].name)
    except InvalidParameter:
        return False
    names = {column.name.lower() for column in tied_columns if column.key == "column"}
    return table.is_public and bool(table.key) and {name.lower() for name in table.key} <= names


def _sides(parsed: Parsed, part: Any, outer: set[int]) -> tuple[Any, Any]:
    """Return the two sides of an equality, the one inside the subquery first."""
    while part.key == "paren":
        part = part.this
    for mine, theirs in ((part.this, part.expression), (part.expression, part.this)) if part.key == "eq" else ():
        inside = [node for node in mine.walk() if node.key == "column"]
        outside = [node for node in theirs.walk() if node.key == "column"]
        if inside and not any(id(node) in outer for node in inside) and all(id(node) in outer for node in outside):
            return mine, theirs
    raise parsed.refusal(part, _TIED, "tie it by =, or join the tables")
