"""Subqueries: rows of people, single or one per person; windows within a person.

A subquery may choose, compute, join, group by the privacy id (and more), take DISTINCT rows that show the privacy id,
and number or compare rows within a person. What would mix people is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dither.data import Call, Expression, Kind, Name, PerPerson, Relation
from dither.data.expressions import kind_of
from dither.data.owners import names_person
from dither.data.relations import person_columns
from dither.publish.queries.assemble import (
    PersonGrouping,
    conjunction,
    default_name,
    filtered,
    free_name,
    only_where,
    projected,
)
from dither.publish.queries.sql.aggregates import Asked, aggregates_in, read_aggregate
from dither.publish.queries.sql.expressions import Typed
from dither.publish.queries.sql.grouping import group_keys, is_grouped, over_groups
from dither.publish.queries.sql.kept import refuse_kept
from dither.publish.queries.sql.person_values import value_of, with_first_rows
from dither.publish.queries.sql.rows import AcrossPersons, Environment, Rows, named_outputs, shown_names
from dither.publish.queries.sql.scope import Scope
from dither.publish.queries.sql.sources import has_subquery
from dither.publish.queries.sql.unions import SETS, rows_of_set
from dither.publish.queries.sql.windows import Windows

if TYPE_CHECKING:
    from sqlglot import exp


def rows_of_select(rows: Rows, select: exp.Expression, environment: Environment) -> Relation:
    """Return the rows of a subquery."""
    while select.key == "subquery":
        rows.only(select, "this", "alias")
        select = select.this
    if select.key in SETS:
        return rows_of_set(rows, select, environment)
    if select.key != "select":
        rows.parsed.refuse(select, f"{rows.parsed.word(select)} is not understood in a subquery", "write one SELECT")
    rows.only(
        select,
        "expressions",
        "from_",
        "from",
        "joins",
        "where",
        "group",
        "having",
        "distinct",
        "qualify",
        "with_",
        "with",
        "limit",
        "offset",
        "order",
        "windows",
    )
    known = rows.environment(select, environment)
    scope = rows.scope(select, known)
    refuse_kept(rows, select, scope)
    if is_grouped(select):
        return _grouped(rows, select, scope, environment)
    return _plain(rows, select, scope)


def _refuse_choice(rows: Rows, select: exp.Expression) -> None:
    for part in ("limit", "offset", "order"):
        if select.args.get(part) is not None:
            rows.parsed.refuse(
                select.args[part],
                f"{part.upper()} in a subquery chooses among the rows of different people",
                "number rows within a person by ROW_NUMBER() OVER (PARTITION BY id ...), or put it on the answer",
            )


def _grouped(rows: Rows, select: exp.Expression, scope: Scope, environment: Environment) -> Relation:
    if select.args.get("distinct") is not None or select.args.get("qualify") is not None:
        rows.parsed.refuse(select, "DISTINCT or QUALIFY together with GROUP BY in a subquery", "use one of them")
    keys = group_keys(rows, select, scope)
    ids = person_columns(scope.relation)
    if not names_person(rows.dataset, scope.relation, [value.name for _, value in keys if isinstance(value, Name)]):
        place = rows.parsed.place(select)
        shown = ", ".join(sorted(ids)) or "the privacy id"
        raise AcrossPersons(
            select,
            environment,
            f"a subquery that aggregates over different people must be released before it is used ({place})",
            f"add {shown} to its GROUP BY to get one row for each person, or run it as a separate query",
        )
    _refuse_choice(rows, select)
    asked_for = _asked(rows, select, scope)
    relation, distinct = scope.relation, _distinct(asked_for)
    counted: Mapping[Expression, Expression] = {}
    if distinct is None:
        values = [value_of(one, relation) for one in asked_for if one.distinct is not None]
        relation, counted = with_first_rows(relation, keys, values)
    if distinct is not None:
        name = free_name("value", [name for name, _ in keys])
        relation = PerPerson(relation, (*keys, (name, distinct)), ())
        grouping = PersonGrouping(relation, [(key, Name(key)) for key, _ in keys])
    else:
        grouping = PersonGrouping(relation, keys)
    below = rows.scalars(scope)
    wanted: list[str | None] = [None]

    def measure(node: exp.Expression) -> Typed:
        asked = read_aggregate(below, node, scope.relation)
        if distinct is not None:
            is_truth = kind_of(distinct, scope.relation.columns) is Kind.BOOLEAN
            known = Call("not", (Call("is_null", (Name(name),)),)) if is_truth else Name(name)
            return Typed(grouping.add("count_of", known, wanted[0]), Kind.INTEGER)
        if asked.function == "persons":
            rows.parsed.refuse(node, "the number of people within one person is 1", "remove it")
        if asked.distinct is not None:
            first = counted[value_of(asked, scope.relation)]
            label = wanted[0] or default_name("count", asked.arguments)
            return Typed(grouping.add("count_of", first, label), Kind.INTEGER)
        value = _argument(asked, scope.relation)
        function = "count_of" if asked.function == "count" and value is not None else asked.function
        made = grouping.add(function, value, wanted[0])
        kind = kind_of(made, grouping.relation().columns)
        return Typed(made, kind)

    scalars = over_groups(rows, scope, keys, measure)
    outputs: list[tuple[str, Expression]] = []
    for name_, node, internal in named_outputs(rows, select, scope):
        if node is None:
            rows.parsed.refuse(select, f"a star with GROUP BY means raw values ({internal})", "name the columns")
        wanted[0] = name_ if next(aggregates_in(node), None) is node or node.key == "filter" else None
        found = scalars.settled(scalars.value(node), Kind.TEXT)
        outputs.append((shown_names(scope, node, name_), found.expression))
    wanted[0] = None
    having = select.args.get("having")
    aliases = {name_.lower(): Typed(value, kind_of(value, grouping.relation().columns)) for name_, value in outputs}
    condition = None
    if having is not None and has_subquery(having):
        rows.parsed.refuse(
            having,
            "a condition on a subquery in the HAVING of rows that are grouped by person",
            "put it into WHERE, or around the groups: SELECT ... FROM (SELECT id, ... GROUP BY id) AS t "
            "WHERE t.id IN (SELECT ...)",
        )
    if having is not None:
        condition = over_groups(rows, scope, keys, measure, aliases=aliases).condition(having.this)
    result: Relation = grouping.relation()
    if condition is not None:
        result = filtered(result, condition)
    return projected(result, outputs)


def _argument(asked: Asked, relation: Relation) -> Expression | None:
    if asked.function == "count":
        return asked.where
    if not asked.arguments:
        return None
    value = asked.arguments[0]
    return value if asked.where is None else only_where(asked.where, value, relation.columns)


def _asked(rows: Rows, select: exp.Expression, scope: Scope) -> list[Asked]:
    """Return all aggregates of SELECT and HAVING."""
    below = rows.scalars(scope)
    having = select.args.get("having")
    nodes = [node for item in select.expressions for node in aggregates_in(item)]
    nodes += list(aggregates_in(having)) if having is not None else []
    return [read_aggregate(below, node, scope.relation) for node in nodes]


def _distinct(asked: Sequence[Asked]) -> Expression | None:
    """Return x if every aggregate is COUNT(DISTINCT x) with one x: then values are made different first."""
    first = asked[0] if asked else Asked("count")
    return first.distinct if first.where is None and len({(one.distinct, one.where) for one in asked}) == 1 else None


def _plain(rows: Rows, select: exp.Expression, scope: Scope) -> Relation:
    _refuse_choice(rows, select)
    windows = Windows(rows, scope, select)
    outputs: list[tuple[str, Expression]] = []
    for name, node, internal in named_outputs(rows, select, scope):
        if node is None:
            outputs.append((name, Name(internal or name)))
            continue
        windows.wanted = name if node.key == "window" else None
        found = windows.scalars.settled(windows.scalars.value(node), Kind.TEXT)
        outputs.append((shown_names(scope, node, name), found.expression))
    windows.wanted = None
    qualify = select.args.get("qualify")
    if qualify is not None:
        condition = windows.scalars.condition(qualify.this)
        windows.relation = filtered(windows.relation, conjunction((condition,)))
    distinct = select.args.get("distinct")
    if distinct is None:
        return projected(windows.relation, outputs)
    rows.only(distinct)
    named = [value.name for _, value in outputs if isinstance(value, Name)]
    if not names_person(rows.dataset, windows.relation, named):
        rows.parsed.refuse(
            select,
            "DISTINCT over the rows of different people",
            "select the privacy id too, so that rows are different within each person",
        )
    return PerPerson(windows.relation, tuple(outputs), ())
