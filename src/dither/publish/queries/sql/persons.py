"""Subqueries: rows of people, single or one per person; windows within a person.

A subquery may choose, compute, join, group by the privacy id (and more), take DISTINCT rows that show the privacy id,
and number or compare rows within a person. What would mix people is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.data import Call, Cast, Expression, Kind, Literal, Name, PerPerson, Relation, Window
from dither.data.expressions import kind_of
from dither.data.owners import names_person
from dither.data.relations import person_columns
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import (
    PersonGrouping,
    conjunction,
    filtered,
    free_name,
    only_where,
    person_sum,
    projected,
    sorted_by,
)
from dither.publish.queries.keys import may_be_null
from dither.publish.queries.sql.aggregates import Asked, aggregates_in, read_aggregate
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.grouping import group_keys, is_grouped, over_groups
from dither.publish.queries.sql.rows import AcrossPersons, Environment, Rows, named_outputs, shown_names
from dither.publish.queries.sql.scope import Scope

if TYPE_CHECKING:
    from sqlglot import exp


def rows_of_select(rows: Rows, select: exp.Expression, environment: Environment) -> Relation:
    """Return the rows of a subquery."""
    while select.key == "subquery":
        rows.only(select, "this", "alias")
        select = select.this
    if select.key != "select":
        rows.parsed.refuse(select, f"{select.key.upper()} is not understood in a subquery", "write one SELECT")
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
    )
    known = rows.environment(select, environment)
    scope = rows.scope(select, known)
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
            f"add {shown} to its GROUP BY to get one row for each person, or ask it as a query of its own",
        )
    _refuse_choice(rows, select)
    relation, distinct = scope.relation, _distinct(rows, select, scope)
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
            rows.parsed.refuse(node, "the number of persons within one person is 1", "leave it out")
        value = _argument(asked, scope.relation)
        function = "count_of" if asked.function == "count" and value is not None else asked.function
        made = grouping.add(function, value, wanted[0])
        kind = kind_of(made, grouping.relation().columns)
        return Typed(made, kind)

    scalars = over_groups(rows, scope, keys, measure)
    outputs: list[tuple[str, Expression]] = []
    for name_, node, internal in named_outputs(rows, select, scope):
        if node is None:
            rows.parsed.refuse(select, f"a star with GROUP BY stands for raw values ({internal})", "name the columns")
        wanted[0] = name_ if next(aggregates_in(node), None) is node or node.key == "filter" else None
        found = scalars.settled(scalars.value(node), Kind.TEXT)
        outputs.append((shown_names(scope, node, name_), found.expression))
    wanted[0] = None
    having = select.args.get("having")
    aliases = {name_.lower(): Typed(value, kind_of(value, grouping.relation().columns)) for name_, value in outputs}
    condition = None
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


def _distinct(rows: Rows, select: exp.Expression, scope: Scope) -> Expression | None:
    """Return x if every aggregate is COUNT(DISTINCT x) with one x, None if none is; reject mixtures."""
    below = rows.scalars(scope)
    having = select.args.get("having")
    nodes = [node for item in select.expressions for node in aggregates_in(item)]
    nodes += list(aggregates_in(having)) if having is not None else []
    asked = [read_aggregate(below, node, scope.relation) for node in nodes]
    if all(one.distinct is None for one in asked):
        return None
    if len({(one.distinct, one.where) for one in asked}) > 1 or asked[0].where is not None:
        rows.parsed.refuse(
            nodes[0],
            "COUNT(DISTINCT ...) beside other aggregates in one subquery",
            "compute it in a subquery of its own, and join the two on the privacy id",
        )
    return asked[0].distinct


def _plain(rows: Rows, select: exp.Expression, scope: Scope) -> Relation:
    _refuse_choice(rows, select)
    windows = _Windows(rows, scope)
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


class _Windows:
    """Adds a column to the relation for every window in an expression."""

    def __init__(self, rows: Rows, scope: Scope) -> None:
        self.rows = rows
        self.relation = scope.relation
        self.wanted: str | None = None
        self._below = rows.scalars(scope)
        self.scalars = Scalars(rows.parsed, self._below.column, self._special)

    def _special(self, node: exp.Expression) -> Typed | None:
        if node.key != "window":
            return None
        made = self._window(node)
        return Typed(made, kind_of(made, self.relation.columns))

    def _window(self, node: exp.Expression) -> Expression:
        rows, below = self.rows, self._below
        if node.args.get("alias") is not None:
            rows.parsed.refuse(node, "a named window", "write OVER (PARTITION BY id ORDER BY ...) in full")
        if not self.relation.has_persons:
            rows.parsed.refuse(
                node, "a window looks at several rows, and every row is a unit of its own", "ask for an aggregate"
            )
        rows.only(node, "this", "partition_by", "order", "over")
        partition = [below.value(part).expression for part in node.args.get("partition_by") or ()]
        ids = person_columns(self.relation)
        inside = [part for part in partition if not (isinstance(part, Name) and part.name in ids)]
        named = [part.name for part in partition if isinstance(part, Name)]
        if not names_person(rows.dataset, self.relation, named):
            shown = ", ".join(sorted(ids)) or "the privacy id"
            rows.parsed.refuse(
                node,
                "a window that is not partitioned by the privacy id compares different people",
                f"add {shown} to PARTITION BY",
            )
        given = node.args["order"].expressions if node.args.get("order") else ()
        order = tuple(part for one in given for part in self._ordered(one))
        function, value, restore = self._function(node, bool(order))
        return self._add(function, value, tuple(inside), order, restore)

    def _add(
        self,
        function: str,
        value: Expression | None,
        partition: tuple[Expression, ...],
        order: tuple[tuple[Expression, bool], ...],
        restore: object,
    ) -> Expression:
        name = free_name(self.wanted or "window", self.relation.columns)
        try:
            made = Window(self.relation, name, function, value, partition, order)
            kinds = made.columns
        except InvalidParameter as error:
            raise InvalidParameter("window", error.offender, error.rule) from None
        self.relation = made
        result: Expression = Name(name)
        if callable(restore):
            result = restore(result)
        kind_of(result, kinds)
        return result

    def _ordered(self, node: exp.Expression) -> tuple[tuple[Expression, bool], ...]:
        if node.args.get("nulls_first"):
            self.rows.parsed.refuse(node, "NULLS FIRST is not understood", "leave it out, or order by COALESCE")
        value = self._below.value(node.this).expression
        return sorted_by(value, bool(node.args.get("desc")), may_be_null(value, self.relation))

    def _function(self, node: exp.Expression, ordered: bool) -> tuple[str, Expression | None, object]:
        inner, name = node.this, node.this.key
        if name == "rownumber":
            if not ordered:
                self.rows.parsed.refuse(node, "ROW_NUMBER without ORDER BY", "say by what rows are numbered")
            return "row_number", None, None
        if name in ("lag", "lead"):
            self.rows.only(inner, "this", "offset")
            offset = inner.args.get("offset")
            if not ordered or (offset is not None and self._below.whole_constant(offset) != 1):
                self.rows.parsed.refuse(
                    node, f"{name.upper()} without ORDER BY or over several rows", f"write {name.upper()}(x)"
                )
            return name, self._below.value(inner.this).expression, None
        aggregate = {"count": "count", "sum": "sum", "min": "smallest", "max": "largest"}.get(name)
        if aggregate is None:
            self.rows.parsed.refuse(
                node,
                f"the window function {name.upper()[:40]}",
                "ROW_NUMBER, LAG, LEAD, COUNT, SUM, MIN and MAX are understood",
            )
        if ordered:
            self.rows.parsed.refuse(node, "a running aggregate", "leave ORDER BY out of the window, or use LAG")
        asked = read_aggregate(self._below, inner, self.relation)
        if asked.distinct is not None or asked.function == "persons":
            self.rows.parsed.refuse(node, "DISTINCT in a window", "group by the privacy id in a subquery")
        if not asked.arguments:
            return "count", None, None
        value = asked.arguments[0]
        kind = kind_of(value, self.relation.columns)
        if kind is Kind.BOOLEAN and aggregate in ("count", "sum"):
            # COUNT was turned into a condition: in a window NULL is what does not count.
            if aggregate == "count":
                value = only_where(value, Literal(1, Kind.INTEGER), self.relation.columns)
            else:
                value = Cast(value, Kind.INTEGER)
        if aggregate == "sum":
            steps, restore = person_sum(value, self.relation)
            return "sum", steps, restore
        return aggregate, value, None
