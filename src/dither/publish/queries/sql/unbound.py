"""Which columns of a subquery are those of the rows outside: those that no FROM inside has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dither.data import DataSet
from dither.errors import InvalidParameter
from dither.publish.queries.sql.natures import bare, is_set, sources_of
from dither.publish.queries.sql.rows import Cte


def unbound(dataset: DataSet, node: Any, known: Mapping[str, Cte]) -> Iterator[Any]:
    """Yield the columns below a node that no FROM below it has."""
    if node.key != "select":
        if node.key == "column":
            yield node
        for part in node.iter_expressions():
            yield from unbound(dataset, part, known)
        return
    names = [_names(dataset, source, known) for source in sources_of(node)]
    for part in node.iter_expressions():
        for column in unbound(dataset, part, known):
            if not any(_has(own, column) for own in names):
                yield column


def _names(dataset: DataSet, source: Any, known: Mapping[str, Cte]) -> tuple[str, frozenset[str] | None]:
    """Return the alias of what stands in FROM, and its columns in lower case; None for columns that are not known."""
    alias = str(source.alias_or_name).lower()
    if source.key == "subquery":
        return alias, _outputs(source.this)
    if source.key != "table" or source.this.key != "identifier":
        return alias, None
    cte = known.get(source.name.lower())
    if cte is not None:
        return alias, _outputs(cte.select)
    try:
        table = dataset.table(source.name)
    except InvalidParameter:
        return alias, None
    stored = {column.source for column in table.columns if column.source is not None}
    return alias, frozenset(name.lower() for name in {*table.kinds, *stored})


def _outputs(select: Any) -> frozenset[str] | None:
    select = bare(select)
    while is_set(select):
        select = bare(select.this)
    found = [] if select.key != "select" else [str(name).lower() for name in select.named_selects]
    return None if not found or "*" in found else frozenset(found)


def _has(own: tuple[str, frozenset[str] | None], column: Any) -> bool:
    alias, names = own
    if column.args.get("table") is not None:
        return bool(column.text("table").lower() == alias)
    return names is None or column.name.lower() in names
