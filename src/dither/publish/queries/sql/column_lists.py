"""Lists of columns after the name of a subquery, ``AS t (a, b)`` and ``WITH t (a, b) AS``, as aliases inside it.

An alias inside is what a list outside means, unless another part of the subquery uses one of the names: then the list
stays, and is refused where it is read.
"""

from __future__ import annotations

from typing import Any

from dither.errors import InvalidParameter


def with_column_lists(tree: Any) -> None:
    """Move lists of columns into the subqueries that they name, in place."""
    from sqlglot import exp

    for node in list(tree.find_all(exp.Subquery, exp.CTE)):
        alias = node.args.get("alias")
        names = [] if alias is None else list(alias.args.get("columns") or ())
        if names and _renamed(_first(node.this), [name.name for name in names]):
            alias.set("columns", None)


def _first(select: Any) -> Any:
    """Return the SELECT that names the columns of a query: the first of those that are put together."""
    while select.key in ("union", "except", "intersect", "subquery", "paren"):
        select = select.this
    return select


def _renamed(select: Any, names: list[str]) -> bool:
    """Give the outputs of a SELECT other names; return False, and change nothing, where its meaning might change."""
    from sqlglot import exp

    if select.key != "select" or any(_is_star(item) for item in select.expressions):
        return False
    items = select.expressions
    if len(names) > len(items):
        rule = f"at most {len(items)} names, the number that the subquery selects"
        raise InvalidParameter("list of columns", f"{len(names)} names", rule)
    used = [column.name.lower() for column in select.find_all(exp.Column) if not column.args.get("table")]
    for item, name in zip(items, names, strict=False):
        if item.output_name.lower() == name.lower():
            continue
        is_named = item.key == "alias" and item.alias.lower() in used
        if is_named or name.lower() in used:
            return False
    for place, name in enumerate(names):
        items[place] = exp.alias_(items[place].unalias(), name, quoted=True, copy=False)
    select.set("expressions", items)
    return True


def _is_star(item: Any) -> bool:
    return bool(item.key == "star" or (item.key == "column" and item.this.key == "star"))
