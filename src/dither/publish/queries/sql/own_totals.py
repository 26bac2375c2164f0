"""Subqueries for a value: a total of the same person's rows, or a cell of a public table, beside each row.

``(SELECT MAX(w.day) FROM visits w WHERE w.id = v.id)`` is a fact about the person whose row it stands beside: a join to
the totals of each person, by the privacy id and by whatever else is equated. ``(SELECT p.size FROM places p WHERE
p.name = v.place)`` is a join to a public table on its key. A subquery that names nothing outside is not touched here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dither.data import Call, Expression, JoinPublic, Kind, Literal, Name, Relation, Table
from dither.data.joins import joined
from dither.data.owners import matched
from dither.data.relations import person_columns
from dither.publish.queries.assemble import conjunction, free_prefix
from dither.publish.queries.sql.aggregates import aggregates_in
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.grouping import is_grouped
from dither.publish.queries.sql.joins import is_person_join
from dither.publish.queries.sql.rows import AcrossPersons
from dither.publish.queries.sql.scope import Scope, Source
from dither.publish.queries.sql.sources import parts_of_condition
from dither.publish.queries.sql.unbound import unbound

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.rows import Environment, Rows

_PREDICATES = ("in", "exists", "any", "all")


def totals_in(rows: Rows, node: exp.Expression, scope: Scope, environment: Environment) -> Iterator[exp.Expression]:
    """Yield the subqueries for a value below a node that name a table outside of them."""
    stack: list[Any] = [node]
    while stack:
        part = stack.pop()
        if part.key == "subquery" and part.this.key == "select":
            _name_tables(rows, part.this, scope, environment)
            if _outside(part.this, scope):
                yield part
        elif part.key not in ("select", "union", "except", "intersect"):
            is_predicate = part.key in _PREDICATES
            stack += [part.this] if is_predicate and part.key == "in" else []
            stack += [] if is_predicate else list(part.iter_expressions())[::-1]


def _name_tables(rows: Rows, select: Any, scope: Scope, environment: Environment) -> None:
    """Put the table before every column of the rows outside that a subquery names without it."""
    from sqlglot import exp

    for column in list(unbound(rows.dataset, select, environment)):
        found = [source.alias for source in scope.sources if source.named(column.name)]
        if not column.args.get("table") and len(found) == 1:
            column.set("table", exp.to_identifier(found[0], quoted=True))


def _outside(select: Any, scope: Scope) -> set[str]:
    """Return the aliases of the rows outside that a subquery names."""
    clause = select.args.get("from_") or select.args.get("from")
    inner = [] if clause is None else [clause.this, *(join.this for join in select.args.get("joins") or ())]
    own = {str(source.alias_or_name).lower() for source in inner}
    where = select.args.get("where")
    named = set() if where is None else _names(where)
    return {source.alias.lower() for source in scope.sources} & named - own


def with_total(rows: Rows, scope: Scope, node: exp.Expression, environment: Environment) -> tuple[Relation, Typed]:
    """Return the rows beside the totals of their person, and the value that the subquery gives there."""
    from sqlglot import exp

    select: Any = node.this
    public = _public_source(rows, select, environment)
    if public is not None:
        return _public_cell(rows, scope, node, *public)
    if is_grouped(select) is False or select.args.get("group") is not None or len(select.expressions) != 1:
        rows.parsed.refuse(
            node,
            "a subquery for a value that may have several rows",
            "select one aggregate, such as (SELECT MAX(t.x) FROM t WHERE t.id = outer.id)",
        )
    outside = _outside(select, scope)
    parts = parts_of_condition(select.args["where"].this)
    ties = [part for part in parts if _names(part) & outside]
    pairs = [_sides(rows, part, outside) for part in ties]
    item = select.expressions[0].unalias()
    inner = select.copy()
    own = [part.copy() for part in parts if all(part is not tie for tie in ties)]
    inner.set("where", exp.Where(this=exp.and_(*own)) if own else None)
    keys = [exp.alias_(mine.copy(), f"key_{place}") for place, (mine, _) in enumerate(pairs)]
    inner.set("expressions", [*keys, exp.alias_(item.copy(), "total")])
    inner.set("group", exp.Group(expressions=[mine.copy() for mine, _ in pairs]))
    try:
        totals = rows.subquery(inner, environment)
    except AcrossPersons:
        _refuse_others(rows, node)
    prefix = free_prefix(scope.relation, "own", totals.columns)
    scalars = rows.scalars(scope)
    kinds = [totals.columns[f"key_{place}"] for place in range(len(pairs))]
    equal = [
        scalars.compared(tie, "equal", scalars.value(theirs), Typed(Name(f"{prefix}key_{place}"), kind)).expression
        for place, (tie, (_, theirs), kind) in enumerate(zip(ties, pairs, kinds, strict=True))
    ]
    ids = frozenset(prefix + name for name in person_columns(totals))
    rest = [part for part in equal if not is_person_join(part, person_columns(scope.relation), ids)]
    if matched(rows.dataset, scope.relation, totals, conjunction(equal) if equal else None, prefix) is not None:
        rest = equal  # along a declared reference, which means the same person
    elif len(rest) == len(equal):
        _refuse_others(rows, node)
    relation = joined(rows.dataset, scope.relation, totals, conjunction(rest) if rest else None, True, prefix)
    value: Expression = Name(f"{prefix}total")
    kind = totals.columns["total"]
    counts = [one for one in aggregates_in(item) if one.key in ("count", "countif")]
    if counts and (counts[0] is not item or kind is not Kind.INTEGER):
        instead = "select COUNT alone, and compute with it outside of the subquery"
        rows.parsed.refuse(node, "COUNT inside an expression of a subquery", instead)
    if counts:
        value = Call("coalesce", (value, Literal(0, Kind.INTEGER)))
    return relation, Typed(value, kind)


def _refuse_others(rows: Rows, node: exp.Expression) -> NoReturn:
    rows.parsed.refuse(
        node,
        "a subquery for a value that is not tied to the same person looks at rows of other people",
        "write WHERE t.id = outer.id in the subquery, or ask for its answer first and write it as a number",
    )


def _names(part: Any) -> set[str]:
    return {node.text("table").lower() for node in part.walk() if node.key == "column"}


def _sides(rows: Rows, part: Any, outside: set[str]) -> tuple[Any, Any]:
    """Return the two sides of an equality, the one inside the subquery first."""
    while part.key == "paren":
        part = part.this
    sides: Sequence[Any] = (part.this, part.expression) if part.key == "eq" else ()
    for mine, other in (sides, sides[::-1]) if sides else ():
        if mine.key == "column" and not _names(mine) & outside and _names(other) <= outside:
            return mine, other
    raise rows.parsed.refusal(
        part,
        "a subquery for a value is tied to the row outside by something else than column = value",
        "tie it by =, or join on the privacy id and aggregate in a subquery in FROM",
    )


def _public_source(rows: Rows, select: Any, environment: Environment) -> tuple[str, Table] | None:
    """Return the alias and the table, if a subquery reads one public table."""
    clause = select.args.get("from_") or select.args.get("from")
    if clause.this.key != "table" or clause.this.name.lower() in environment or select.args.get("joins"):
        return None
    alias, source = rows.source(clause.this, environment)
    return (alias, source) if isinstance(source, Table) else None


def _public_cell(rows: Rows, scope: Scope, node: exp.Expression, alias: str, table: Table) -> tuple[Relation, Typed]:
    """Return the rows beside the public row of their key, and the value that the subquery selects of it."""
    select: Any = node.this
    rows.only(select, "expressions", "from_", "from", "where")
    outside = _outside(select, scope)
    parts = parts_of_condition(select.args["where"].this)
    ties = [part for part in parts if _names(part) & outside]
    own = Scope(rows.parsed, scope.relation, (Source.of(alias, table),))
    inside = Scalars(rows.parsed, lambda word: Typed(Name(own.find(word)), table.kinds[own.find(word)]), own.said)
    scalars, keys = rows.scalars(scope), dict[str, Expression]()
    for tie in ties:
        mine, theirs = _sides(rows, tie, outside)
        name = own.find(mine)
        made = scalars.compared(tie, "equal", scalars.value(theirs), Typed(Name(name), table.kinds[name])).expression
        keys[name] = made.children()[0]
    if is_grouped(select) or len(select.expressions) != 1 or not table.key or set(keys) != set(table.key):
        rows.parsed.refuse(
            node,
            f"a subquery for a value of the public table {table.name} that may have several rows",
            f"tie it by its key ({', '.join(table.key) or 'none is declared'}) and select one column, or join it",
        )
    where = [inside.condition(part) for part in parts if all(part is not tie for tie in ties)]
    prefix = free_prefix(scope.relation, "own", table.kinds)
    relation = JoinPublic(
        scope.relation,
        table,
        tuple(keys[name] for name in table.key),
        True,
        prefix,
        where=conjunction(where) if where else None,
    )
    beside = Scope(rows.parsed, relation, (Source.of(alias, table, prefix),))
    return relation, rows.scalars(beside).value(select.expressions[0].unalias())
