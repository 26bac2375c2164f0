"""GROUP BY, and expressions over groups: what SELECT, HAVING and ORDER BY may say after grouping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dither.data import Call, Expression, Kind, Literal, Name
from dither.data.expressions import kind_of
from dither.data.relations import person_columns
from dither.errors import DitherError, InvalidParameter
from dither.publish.queries.assemble import free_name
from dither.publish.queries.sql.aggregates import aggregates_in, is_aggregate
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.numbers import whole_number
from dither.publish.queries.sql.rows import Rows, shown_names
from dither.publish.queries.sql.scope import Scope

if TYPE_CHECKING:
    from sqlglot import exp

#: What takes integers one to one, with a number beside them.
_SHIFTS: Final = ("add", "subtract", "negate")


def is_grouped(select: exp.Expression) -> bool:
    """Return whether a SELECT aggregates."""
    if select.args.get("group") is not None or select.args.get("having") is not None:
        return True
    return any(True for item in select.expressions for _ in aggregates_in(item))


def group_nodes(rows: Rows, select: exp.Expression, scope: Scope) -> list[exp.Expression]:
    """Return the grouping expressions, with names, positions and aliases resolved."""
    group = select.args.get("group")
    if group is None:
        return []
    rows.only(group, "expressions", "all")
    if group.args.get("all"):
        return [_bare(item) for item in select.expressions if next(aggregates_in(item), None) is None]
    aliases = {item.alias.lower(): item.this for item in select.expressions if item.key == "alias"}
    found = []
    for node in group.expressions:
        if node.key == "literal":
            found.append(_at_position(rows, select, node))
        elif node.key == "column" and not node.table and node.name.lower() in aliases and not _resolves(scope, node):
            found.append(aliases[node.name.lower()])
        else:
            found.append(node)
    for node in found:
        if next(aggregates_in(node), None) is not None:
            rows.parsed.refuse(
                node, "GROUP BY an aggregate", "group by columns, and use HAVING or ORDER BY for aggregates"
            )
    return found


def _at_position(rows: Rows, select: exp.Expression, node: exp.Expression) -> exp.Expression:
    position = 0 if node.is_string else whole_number(str(node.this), len(select.expressions)) or 0
    if position < 1:
        rule = f"a position from 1 to {len(select.expressions)}, or a column"
        raise InvalidParameter(f"position at {rows.parsed.place(node)}", str(node.this), rule)
    return _bare(select.expressions[position - 1])


def _bare(item: exp.Expression) -> exp.Expression:
    bare: exp.Expression = item.this if item.key == "alias" else item
    return bare


def _resolves(scope: Scope, node: exp.Expression) -> bool:
    try:
        scope.find(node)  # type: ignore[arg-type]
    except DitherError:
        return False
    return True


def group_keys(rows: Rows, select: exp.Expression, scope: Scope) -> list[tuple[str, Expression]]:
    """Return the keys, each once, named as in SELECT."""
    scalars = rows.scalars(scope)
    selected: dict[Expression, str] = {}
    for item in select.expressions:
        found = _row_expression(scalars, _bare(item))
        if found is not None and (item.key == "alias" or item.key == "column"):
            selected.setdefault(found, item.alias if item.key == "alias" else shown_names(scope, item, item.name))
    keys: list[tuple[str, Expression]] = []
    known: set[Expression] = set()
    for index, node in enumerate(group_nodes(rows, select, scope), start=1):
        value = scalars.settled(scalars.value(node), Kind.TEXT).expression
        if value in known:
            continue
        known.add(value)
        name = selected.get(value)
        if name is None:
            name = shown_names(scope, node, node.name) if node.key == "column" else f"key_{index}"
        keys.append((free_name(name, [taken for taken, _ in keys]), value))
    ids = person_columns(scope.relation)
    for _, value in tuple(keys):
        person = _shifted(value, scope)
        if person is not None and person.name in ids and person not in known:
            known.add(person)
            keys.append((free_name(person.name, [taken for taken, _ in keys]), person))
    return keys


def _shifted(value: Expression, scope: Scope) -> Name | None:
    """Return the column of integers that an expression shifts, as 10 + uid does: its groups are those of the column.

    Grouping by the column beside it is never coarser, so that nothing rests on the shift having room.
    """
    if not isinstance(value, Call) or value.function not in _SHIFTS:
        return None
    columns = [one for one in value.arguments if not (isinstance(one, Literal) and one.value is not None)]
    if len(columns) != 1 or kind_of(value, scope.relation.columns) is not Kind.INTEGER:
        return None
    found = columns[0]
    return found if isinstance(found, Name) else _shifted(found, scope)


def _row_expression(scalars: Scalars, node: exp.Expression) -> Expression | None:
    if next(aggregates_in(node), None) is not None:
        return None
    try:
        return scalars.value(node).expression
    except DitherError:
        return None


def over_groups(
    rows: Rows,
    scope: Scope,
    keys: Sequence[tuple[str, Expression]],
    aggregate: Callable[[exp.Expression], Typed],
    *,
    aliases: Mapping[str, Typed] | None = None,
    aliases_first: bool = False,
) -> Scalars:
    """Return the translator of expressions over groups: keys and aggregates by name, and aliases where allowed."""
    below = rows.scalars(scope)
    names = {value: Typed(Name(name), kind_of(value, scope.relation.columns)) for name, value in keys}
    known = aliases or {}

    def special(node: exp.Expression) -> Typed | None:
        if is_aggregate(node):
            return aggregate(node)
        is_word = node.key == "column" and not node.args.get("table")
        if aliases_first and is_word and node.name.lower() in known:
            return known[node.name.lower()]
        if node.key not in ("literal", "boolean", "null", "interval"):
            value = _row_expression(below, node)
            if value is not None and value in names:
                return names[value]
        if is_word and node.name.lower() in known and not _resolves(scope, node):
            return known[node.name.lower()]
        return None

    def column(node: exp.Column) -> Typed:
        if node.this.key == "star":
            rows.parsed.refuse(node, "a star means raw rows", "name what is grouped by, or ask for COUNT(*)")
        scope.find(node)
        rows.parsed.refuse(
            node,
            f"{node.name} is neither grouped by nor inside an aggregate: it would show raw values",
            f"add it to GROUP BY, or ask for an aggregate such as COUNT({node.name})",
        )

    return Scalars(rows.parsed, column, special)
