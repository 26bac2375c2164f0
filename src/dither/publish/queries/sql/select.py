"""The outermost SELECT: groups, aggregates, and which parts of the answer are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dither.data import DataSet, Expression, Kind, Name, Relation
from dither.data.expressions import IntervalEnd, kind_of
from dither.errors import InvalidParameter, Unanswerable
from dither.publish.queries.assemble import (
    conjunction,
    default_name,
    free_name,
    key_may_be_null,
    make_aggregate,
    make_key,
    make_query,
    sorted_by,
)
from dither.publish.queries.person_bounds import limited_to
from dither.publish.queries.query import Aggregate, Key, Query
from dither.publish.queries.sizes import check_number, check_query
from dither.publish.queries.sql.aggregates import Asked, is_aggregate, name_of, read_aggregate
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.grouping import group_keys, is_grouped, over_groups
from dither.publish.queries.sql.interval_ends import end_name, end_of_interval
from dither.publish.queries.sql.kept import check_kept
from dither.publish.queries.sql.made_of import made_of
from dither.publish.queries.sql.numbers import whole_number
from dither.publish.queries.sql.options import discovered, without_option
from dither.publish.queries.sql.parse import Parsed, check_text
from dither.publish.queries.sql.per_group import with_person_totals
from dither.publish.queries.sql.privacy_clause import with_options
from dither.publish.queries.sql.rows import AcrossPersons, Environment, Rows, shown_names
from dither.publish.queries.sql.scope import Scope, check_different
from dither.publish.queries.sql.selection import grouped_by_itself
from dither.publish.queries.sql.unknown import refuse_unknown_functions
from dither.publish.queries.work import planning, step

if TYPE_CHECKING:
    from sqlglot import exp

_LONGEST_LABEL = 128
_STEPS_OF_OUTPUT = 16


def parse_sql(text: str, dataset: DataSet) -> Query:
    """Return an SQL query's request to a data set, or reject it with the reason and an alternative.

    Nothing is read but the text and the schema.

    >>> from dither.data import Column, Table
    >>> from dither.privacy import ROW
    >>> visits = Table("visits", (Column("smoker", Kind.BOOLEAN),), "visits.csv")
    >>> query = parse_sql("SELECT smoker, COUNT(*) AS n FROM visits GROUP BY smoker", DataSet("d", (visits,), ROW))
    >>> query.keys[0].values, query.aggregates[0].function
    ((False, True), 'count')

    Raises:
        InvalidParameter: the text is not SQL, or names something that does not exist or does not fit.
        Unanswerable: it cannot be answered privately as asked.

    """
    check_text(text)
    text, are_discovered = without_option(text)
    try:
        with planning(), limited_to(dataset):
            parsed = Parsed(text)
            query = with_options(Outermost(parsed, dataset).query(parsed.tree, {}), parsed)
            query = discovered(query) if are_discovered else query
            check_query(query, "sql")
            return query
    except AcrossPersons as error:
        raise Unanswerable(error.reason, error.instead) from None
    except RecursionError:
        raise Unanswerable("the query is nested too deep", "split it, or use WITH") from None


class Outermost:
    """Translates one private query, and what it shows of its own answer."""

    def __init__(self, parsed: Parsed, dataset: DataSet) -> None:
        self.parsed = parsed
        self.dataset = dataset
        self.rows = Rows(parsed, dataset)

    def query(self, select: exp.Expression, environment: Environment) -> Query:
        """Return the query of a SELECT that aggregates, or shows what another one released."""
        while select.key in ("subquery", "paren"):
            self.rows.only(select, "this", "alias")
            select = select.this
        if select.key != "select":
            self.parsed.refuse(
                select,
                f"{self.parsed.word(select)} of queries is not understood",
                "run each query separately, or group by a CASE",
            )
        known = self.rows.environment(select, environment)
        select = grouped_by_itself(self.rows, select, known)
        self._check_clauses(select)
        if is_grouped(select):
            return self._grouped(select, known)
        return self._shown(select, known)

    def _check_clauses(self, select: exp.Expression) -> None:
        if select.args.get("qualify") is not None:
            self.parsed.refuse(select.args["qualify"], "QUALIFY on the answer", "use HAVING, ORDER BY and LIMIT")
        if select.args.get("offset") is not None and str(select.args["offset"].expression) != "0":
            self.parsed.refuse(select.args["offset"], "OFFSET on the answer", "take the first rows with LIMIT")
        if select.args.get("distinct") is not None and is_grouped(select):
            self.parsed.refuse(select, "DISTINCT on an answer whose groups are different anyway", "remove it")
        clauses = (
            "expressions",
            "from_",
            "from",
            "joins",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "with_",
            "with",
        )
        self.rows.only(select, *clauses, "distinct", "offset")

    # A query that aggregates.

    def _grouped(self, select: exp.Expression, known: Environment) -> Query:
        select = with_person_totals(self.rows, select, known)
        scope = self.rows.scope(select, known)
        keys = [make_key(name, value, scope.relation) for name, value in group_keys(self.rows, select, scope)]
        check_kept(self.rows, select, scope, keys)
        measured = self.measured(self.rows, scope, keys)
        # Aggregates that SELECT names come first, so that they keep these names wherever else they occur.
        for item in select.expressions:
            bare = item.this if item.key == "alias" else item
            if is_aggregate(bare):
                measured.typed(bare, self.label(item) if item.key == "alias" else None)
        pairs = [(key.name, key.value) for key in keys]
        scalars = over_groups(self.rows, scope, pairs, measured.typed)
        outputs = self._outputs(select, scalars, scope)
        kinds = {key.name: kind_of(key.value, scope.relation.columns) for key in keys}
        kinds |= {aggregate.name: aggregate.kind(scope.relation.columns) for aggregate in measured.aggregates}
        numbers = [(name, value) for name, value in outputs if not isinstance(value, IntervalEnd)]
        aliases = {name.lower(): Typed(value, kind_of(value, kinds)) for name, value in numbers}
        having = select.args.get("having")
        condition = None
        if having is not None:
            condition = over_groups(self.rows, scope, pairs, measured.typed, aliases=aliases).condition(having.this)
        ordering = over_groups(self.rows, scope, pairs, measured.typed, aliases=aliases, aliases_first=True)
        order = self._order(select, ordering, outputs, keys, scope.relation)
        try:
            return make_query(
                self.dataset,
                scope.relation,
                keys,
                measured.aggregates,
                outputs,
                having=condition,
                order=order,
                limit=self.limit(select),
            )
        except Unanswerable as error:
            raise Unanswerable(scope.spoken(error.reason), scope.spoken(error.instead)) from None

    def _outputs(self, select: exp.Expression, scalars: Scalars, scope: Scope | None) -> list[tuple[str, Expression]]:
        found: list[tuple[str, Expression]] = []
        check_different(self.parsed, select, [self.label(item) for item in select.expressions if item.key == "alias"])
        said = {self.label(item).lower() for item in select.expressions if item.key == "alias"}
        for index, item in enumerate(select.expressions, start=1):
            # The name of each column is compared with those of all others.
            step(_STEPS_OF_OUTPUT + len(select.expressions) // _STEPS_OF_OUTPUT)
            end = end_of_interval(self.parsed, select, item, scalars)
            value = scalars.settled(scalars.value(item), Kind.TEXT).expression if end is None else end
            if item.key == "alias":
                name = self.label(item)
            else:
                if item.key == "column":
                    label = item.name if scope is None else shown_names(scope, item, item.name)
                else:
                    label = value.name if isinstance(value, Name) else end_name(value) or f"column_{index}"
                name = free_name(label, [*said, *(known for known, _ in found)])
            found.append((name, value))
        return found

    def label(self, item: exp.Expression) -> str:
        """Return an alias, if it may be shown."""
        label = str(item.alias)
        if not (1 <= len(label) <= _LONGEST_LABEL and label.isprintable()) or label.startswith("__"):
            rule = f"1 to {_LONGEST_LABEL} printable characters, not starting with two underscores"
            raise InvalidParameter(f"alias at {self.parsed.place(item)}", label, rule)
        return label

    def _order(
        self,
        select: exp.Expression,
        scalars: Scalars,
        outputs: list[tuple[str, Expression]],
        keys: Sequence[Key],
        relation: Relation,
    ) -> list[tuple[Expression, bool]]:
        clause = select.args.get("order")
        found: list[tuple[Expression, bool]] = []
        for part in clause.expressions if clause is not None else ():
            if part.args.get("nulls_first"):
                self.parsed.refuse(part, "NULLS FIRST is not understood", "remove it, or order by COALESCE")
            node = part.this
            if node.key == "literal" and not node.is_string:
                position = whole_number(str(node.this), len(outputs)) or 0
                if position < 1:
                    rule = f"a position from 1 to {len(outputs)}"
                    raise InvalidParameter(f"ORDER BY at {self.parsed.place(node)}", str(node.this), rule)
                value = outputs[position - 1][1]
            elif node.key == "var" or (node.key == "column" and node.name.lower() == "all" and not node.table):
                self.parsed.refuse(part, "ORDER BY ALL", "name what to order by")
            else:
                value = scalars.settled(scalars.value(node), Kind.INTEGER).expression
            found += sorted_by(value, bool(part.args.get("desc")), key_may_be_null(value, keys, relation))
        return found

    def limit(self, select: exp.Expression) -> int | None:
        """Return how many rows LIMIT leaves; None where it is not said."""
        clause = select.args.get("limit")
        if clause is None:
            return None
        node = clause.args.get("expression") or clause.args.get("count")
        # FETCH FIRST ROW ONLY has no number: earlier releases of sqlglot take the word behind FIRST for it.
        if clause.key not in ("limit", "fetch") or node is None or node.key == "identifier":
            self.parsed.refuse(clause, "this form of LIMIT", "write LIMIT 10")
        options = clause.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            self.parsed.refuse(clause, "a number of rows with PERCENT or WITH TIES", "write LIMIT 10")
        self.rows.only(clause, "expression", "count", "direction", "limit_options")
        if node.key in ("var", "column") and node.name.upper() == "ALL":  # as releases of sqlglot read the word
            return None
        scalars = Scalars(self.parsed, self._no_column, lambda node: None)
        limit = scalars.whole_constant(node)
        if not 1 <= limit <= 10**9:
            raise InvalidParameter("LIMIT", limit, "an integer from 1 to 1000000000")
        return limit

    def _no_column(self, node: exp.Column) -> Typed:
        self.parsed.refuse(node, "LIMIT of something else than a number", "write LIMIT 10")

    def measured(self, rows: Rows, scope: Scope, keys: Sequence[Key]) -> Measured:
        """Return an empty list of aggregates over the rows of a scope."""
        return Measured(rows, scope, keys)

    # A query that only shows what another one released.

    def _shown(self, select: exp.Expression, known: Environment) -> Query:
        try:
            self.rows.scope(select, known)
        except AcrossPersons as error:
            if not self._is_only_source(select, error.select, known):
                raise
            return self._over(select, self.query(error.select, error.environment))
        refuse_unknown_functions(self.parsed, select)
        raise self.parsed.refusal(
            select,
            "the query selects raw rows, and no row ever leaves",
            "ask for COUNT(*), SUM, AVG, MEDIAN or another aggregate, with GROUP BY for groups",
        )

    def _is_only_source(self, select: exp.Expression, inner: exp.Expression, known: Environment) -> bool:
        if select.args.get("joins") or select.args.get("distinct") is not None:
            return False
        source = _source_of(select)
        if source.key == "subquery":
            source = source.this
        elif source.key == "table" and source.name.lower() in known:
            source = known[source.name.lower()].select
        while source.key == "subquery":
            source = source.this
        return source is inner

    def _over(self, select: exp.Expression, inner: Query) -> Query:
        """Show, filter and sort what a query released, at no cost."""
        released = inner.released
        shown = {name.lower(): Typed(value, kind_of(value, released)) for name, value in inner.outputs}
        where = select.args.get("where")
        if inner.limit is not None and any(select.args.get(part) for part in ("where", "order", "limit")):
            self.parsed.refuse(select, "WHERE, ORDER BY or LIMIT after a LIMIT", "put them into the inner query")

        alias = _source_of(select).alias_or_name

        def check_table(node: exp.Expression) -> None:
            if node.args.get("db") or node.args.get("catalog"):
                self.parsed.refuse(node, "a name of three parts has no meaning here", "write table.column")
            table = str(node.args.get("table") or "")
            if table and table.lower() != alias.lower():
                rule = alias or "not allowed: the subquery has no name"
                raise InvalidParameter(f"table at {self.parsed.place(node)}", table, rule)

        def column(node: exp.Column) -> Typed:
            check_table(node)
            if node.name.lower() not in shown:
                known = ", ".join(name for name, _ in inner.outputs)
                raise InvalidParameter(f"column at {self.parsed.place(node)}", node.name, f"one of {known}")
            return shown[node.name.lower()]

        scalars = Scalars(self.parsed, column, lambda node: None)
        first = select.expressions[0]
        star = first.this if first.key == "column" else first
        if len(select.expressions) == 1 and star.key == "star":
            check_table(first)
            self.rows.only(star)
            outputs = list(inner.outputs)
        else:
            outputs = self._outputs(select, scalars, None)
        aliases = {name.lower(): value for name, value in outputs}

        def ordered(node: exp.Expression) -> Typed | None:
            if node.key == "column" and not node.args.get("table") and node.name.lower() in aliases:
                value = aliases[node.name.lower()]
                return Typed(value, kind_of(value, released))
            return None

        having = [] if inner.having is None else [inner.having]
        if where is not None:
            having.append(scalars.condition(where.this))
        order = self._order(select, Scalars(self.parsed, column, ordered), outputs, inner.keys, inner.relation)
        return make_query(
            self.dataset,
            inner.relation,
            inner.keys,
            inner.aggregates,
            outputs,
            having=conjunction(having) if having else None,
            order=order or inner.order,
            limit=self.limit(select) or inner.limit,
            key_values=inner.key_values,
        )


def _source_of(select: exp.Expression) -> Any:
    """Return what stands first in FROM, which versions of the parser keep under different names."""
    clause: Any = select.args.get("from_") or select.args.get("from")
    return clause.this


class Measured:
    """The aggregates of a query, each once, with a unique name."""

    def __init__(self, rows: Rows, scope: Scope, keys: Sequence[Key]) -> None:
        self.rows = rows
        self.scope = scope
        self.aggregates: list[Aggregate] = []
        self._known: dict[Aggregate, Aggregate] = {}  # without their names
        self._keys = {key.value: key.name for key in keys}
        self._taken = [key.name for key in keys]
        self._scalars = rows.scalars(scope)

    def typed(self, node: exp.Expression, name: str | None = None) -> Typed:
        """Return an aggregate's name, or what it is made of; it is measured once however often it occurs."""
        relation = self.scope.relation
        made = made_of(self._scalars, node, relation, self._keys, lambda asked: Name(self.add(node, asked, None).name))
        if made is not None:
            return made
        aggregate = self.add(node, read_aggregate(self._scalars, node, relation), name)
        return Typed(Name(aggregate.name), aggregate.kind(relation.columns))

    def add(self, node: exp.Expression, asked: Asked, name: str | None) -> Aggregate:
        """Return the aggregate, new or known."""
        try:
            made = make_aggregate(
                asked.function if asked.distinct is None else "distinct",
                asked.arguments,
                self.scope.relation,
                where=asked.where,
                share=asked.share,
                many=asked.many,
                called=name_of(node),
            )
        except Unanswerable as error:
            self.rows.parsed.refuse(node, self.scope.spoken(error.reason), self.scope.spoken(error.instead))
        except InvalidParameter as error:
            place = self.rows.parsed.place(node)
            raise InvalidParameter(f"{error.parameter} at {place}", error.offender, error.rule) from None
        bare = replace(made, name="")
        if bare in self._known:
            return self._known[bare]
        taken = [*self._taken, *(known.name for known in self.aggregates)]
        label = name or default_name(made.function, made.arguments, made.share)
        made = replace(made, name=free_name(label, taken))
        self.aggregates.append(made)
        check_number(len(self.aggregates), "sql")
        self._known[bare] = made
        return made
