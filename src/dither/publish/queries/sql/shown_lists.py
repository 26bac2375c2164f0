"""Lists outside of FROM: in SELECT they are what they are in FROM, where ``lists`` reads them; in IN they are values.

``SELECT id, UNNEST([1, 2]) AS x FROM t`` and ``x IN UNNEST([1, 2])``.
"""

from __future__ import annotations

from typing import Any


def lists_to_from(tree: Any) -> None:
    """Move a list from SELECT into FROM, in place, where it is the only one and nothing is grouped."""
    from sqlglot import exp

    for node in list(tree.find_all(exp.In)):
        given = node.args.get("unnest")
        values = [] if given is None or len(given.expressions) != 1 else given.expressions[0].expressions
        if values and given.expressions[0].key == "array":
            node.set("unnest", None)
            node.set("expressions", list(values))
    for select in list(tree.find_all(exp.Select)):
        items = [item for item in select.expressions if item.unalias().key in ("explode", "unnest")]
        is_shown = any(item.is_star for item in select.expressions)
        if len(items) != 1 or is_shown or select.args.get("group") is not None:
            continue
        (item,) = items
        call, name = item.unalias(), item.alias or "unnest"
        given = [call.this] if call.key == "explode" else list(call.expressions)
        alias = exp.TableAlias(this=exp.to_identifier("__list"), columns=[exp.to_identifier(name)])
        column = exp.column(exp.to_identifier(name), table="__list")
        item.replace(exp.alias_(column, name, copy=False))
        select.append("joins", exp.Join(this=exp.Unnest(expressions=given, alias=alias), kind="CROSS"))
