"""Subqueries in conditions: IN and EXISTS, tied to the same person or to a public table.

Whether a person has another row that fits is a fact about that person's own rows, and whether a value stands in a
public table is a fact about the row. Either becomes a column of the rows, true, false or NULL as SQL says, so that it
may stand anywhere in a condition. What would look at rows of other people is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from dither.data import (
    Call,
    Case,
    CountOf,
    CountRows,
    Expression,
    JoinPersons,
    JoinPublic,
    Kind,
    Literal,
    Measure,
    Name,
    PerPerson,
    Project,
    Relation,
    Table,
    Window,
)
from dither.data.expressions import names_in
from dither.data.joins import entering, joined
from dither.data.owners import matched
from dither.data.relations import person_columns
from dither.errors import DitherError
from dither.publish.queries.assemble import conjunction, filtered, free_name, free_prefix, projected
from dither.publish.queries.keys import may_be_null
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.grouping import is_grouped
from dither.publish.queries.sql.joins import equated, from_clause, is_person_join
from dither.publish.queries.sql.own_totals import totals_in, with_total
from dither.publish.queries.sql.predicates import Predicate, has_window, opposite, predicate_of, predicates_in
from dither.publish.queries.sql.rows import shown_names
from dither.publish.queries.sql.scope import Scope, Source
from dither.publish.queries.sql.sources import parts_of_condition

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.rows import Environment, Rows

_TRUE, _FALSE, _UNKNOWN = (Literal(value, Kind.BOOLEAN) for value in (True, False, None))


def restricted(rows: Rows, scope: Scope, parts: Sequence[exp.Expression], environment: Environment) -> Scope:
    """Return the rows that meet all parts of a WHERE."""
    plain: list[exp.Expression] = []
    alone: list[tuple[Predicate, bool]] = []
    mixed: list[exp.Expression] = []
    for part in parts:
        inner, negated = part, False
        while inner.key in ("paren", "not"):
            negated ^= inner.key == "not"
            inner = inner.this
        found = predicate_of(inner)
        if found is not None:
            alone.append((found, negated != found.is_negated))
        else:
            totals = totals_in(rows, part, scope, environment)
            is_plain = next(predicates_in(part), None) is None and next(totals, None) is None
            (plain if is_plain else mixed).append(part)
    if plain:
        scalars = rows.scalars(scope)
        scope = scope.over(filtered(scope.relation, conjunction(scalars.condition(part) for part in plain)))
    for found, negated in alone:
        relation, value = _Semijoin(rows, scope, found, environment, is_filter=not negated).made()
        if value is not None:
            relation = filtered(relation, opposite(value) if negated else value)
        scope = scope.over(relation)
    if mixed:
        scope = _computed(rows, scope, mixed, environment)
        scalars = rows.scalars(scope)
        scope = scope.over(filtered(scope.relation, conjunction(scalars.condition(part) for part in mixed)))
    return scope


def with_predicates(rows: Rows, scope: Scope, select: exp.Expression, environment: Environment) -> Scope:
    """Return the rows with a column for each subquery in a condition of SELECT, GROUP BY or QUALIFY."""
    clauses = [select.args[name] for name in ("group", "qualify", "order") if select.args.get(name)]
    return _computed(rows, scope, [*select.expressions, *clauses], environment)


def _computed(rows: Rows, scope: Scope, nodes: Sequence[exp.Expression], environment: Environment) -> Scope:
    computed = dict(scope.computed)
    for node in nodes:
        for found in predicates_in(node):
            relation, value = _Semijoin(rows, scope, found, environment, is_filter=False).made()
            truth = _TRUE if value is None else value
            made = Typed(opposite(truth) if found.is_negated else truth, Kind.BOOLEAN)
            # The node is kept with it, so that its identity is not reused.
            computed[id(found.node)] = found.node, made
            scope = replace(scope, relation=relation, computed=computed)
        for total in totals_in(rows, node, scope, environment):
            relation, made = with_total(rows, scope, total, environment)
            computed[id(total)] = total, made
            scope = replace(scope, relation=relation, computed=computed)
    return scope


class _Semijoin:
    """One condition on a subquery over the rows of a scope.

    Args:
        rows: the translator of the query.
        scope: the rows outside of the subquery.
        asked: the condition.
        environment: the names known there.
        is_filter: whether only rows for which it is true are wanted, so that NULL and false are the same.

    """

    def __init__(
        self, rows: Rows, scope: Scope, asked: Predicate, environment: Environment, *, is_filter: bool
    ) -> None:
        self.rows = rows
        self.parsed = rows.parsed
        self.scope = scope
        self.asked = asked
        self.environment = environment
        self.is_filter = is_filter

    def made(self) -> tuple[Relation, Expression | None]:
        """Return the rows with what decides beside them, and the condition; None if only such rows are left."""
        if self.asked.node.key == "in":
            self.rows.only(self.asked.node, "this", "query")
        public = self._public_source()
        return self._among_persons() if public is None else self._among_public(*public)

    # Rows of the same person.

    def _among_persons(self) -> tuple[Relation, Expression | None]:
        inner, correlated, chosen = self._inside()
        outer = self.scope.relation
        if not (outer.has_persons and inner.relation.has_persons):
            self._refuse()
        marker = free_name("rows", inner.relation.columns)
        prefix = free_prefix(outer, "among", [*inner.relation.columns, marker])
        kinds = {prefix + name: kind for name, kind in inner.relation.columns.items()}
        scalars = self._over_both(inner, prefix, {**outer.columns, **kinds})
        parts = [scalars.condition(node) for node in correlated]
        sought = [
            scalars.compared(self.asked.node, "equal", given, Typed(_prefixed(value, prefix), value.kind)).expression
            for given, value in zip(self._given(), chosen, strict=True)
        ]
        ours = person_columns(outer)
        theirs = frozenset(prefix + name for name in person_columns(inner.relation))
        rest = [part for part in parts if not is_person_join(part, ours, theirs)]
        further = [part for part in sought if not is_person_join(part, ours, theirs)]
        every = [*parts, *sought]
        condition = conjunction(every) if every else None
        if matched(self.rows.dataset, outer, inner.relation, condition, prefix) is not None:
            rest, further = parts, sought  # along a declared reference, which means the same person
        elif len(rest) + len(further) == len(every):
            self._refuse()
        needed = sorted(names_in(conjunction([*rest, *further])) & set(kinds)) if rest or further else []
        keys = tuple((name.removeprefix(prefix), Name(name.removeprefix(prefix))) for name in needed)
        own = PerPerson(inner.relation, keys, ((marker, CountRows()),))
        if not keys:
            # The privacy id is never NULL: it says by itself whether there is a row.
            marker = sorted(person_columns(inner.relation))[0]
            own = PerPerson(inner.relation, ((marker, Name(marker)),), ())
        known: Expression = Call("not", (Call("is_null", (Name(prefix + marker),)),))
        is_certain = self.is_filter or not any(
            may_be_null(given.expression, outer) or may_be_null(value.expression, inner.relation)
            for given, value in zip(self._given(), chosen, strict=True)
        )
        one_each = all(_ties(part, needed, set(kinds)) for part in (*rest, *further))
        if is_certain and one_each:
            # Each row meets one row at most: those of a person are different in what they are compared by.
            wanted = conjunction([*rest, *further]) if rest or further else None
            both = joined(self.rows.dataset, outer, own, wanted, not self.is_filter, prefix)
            return both, None if self.is_filter else known
        return self._counted(own, prefix, rest, further, known, is_certain=is_certain)

    def _counted(
        self,
        own: PerPerson,
        prefix: str,
        rest: list[Expression],
        further: list[Expression],
        known: Expression,
        *,
        is_certain: bool,
    ) -> tuple[Relation, Expression]:
        """Return the rows, each numbered and joined to all that may fit, with the count of what does."""
        mine, theirs = entering(self.rows.dataset, self.scope.relation, own)
        names = list(mine.columns)
        number, matched, unknown = (free_name(name, names) for name in ("row", "matched", "unknown"))
        numbered = Window(mine, number, "row_number", None, (), ((Name(names[0]), False),))
        equal = conjunction(further) if further else _TRUE
        tests = [*rest, *further] if is_certain else rest
        both = JoinPersons(numbered, theirs, conjunction(tests) if tests else None, True, prefix)
        measures: list[tuple[str, Measure]] = [(matched, CountOf(known if is_certain else conjunction((known, equal))))]
        if not is_certain:
            measures.append((unknown, CountOf(conjunction((known, Call("is_null", (equal,)))))))
        keys = tuple((name, Name(name)) for name in (*names, number))
        grouped = PerPerson(both, keys, tuple(measures))
        some = Call("more", (Name(matched), Literal(0, Kind.INTEGER)))
        if is_certain:
            return grouped, some
        maybe = Call("more", (Name(unknown), Literal(0, Kind.INTEGER)))
        return grouped, Case(((some, _TRUE), (maybe, _UNKNOWN)), _FALSE)

    def _given(self) -> list[Typed]:
        scalars = self.rows.scalars(self.scope)
        return [scalars.settled(scalars.value(node), Kind.TEXT) for node in self.asked.values]

    def _inside(self) -> tuple[Scope, list[exp.Expression], list[Typed]]:
        """Return the subquery's rows, the parts of its WHERE that name the rows outside, and what it selects."""
        select = self.asked.select
        is_plain = select.key == "select" and not is_grouped(select) and not has_window(select)
        if not is_plain or select.args.get("qualify") is not None:
            relation = self.rows.subquery(select, self.environment)
            scope = self.rows.alone("subquery", relation)
            chosen = [Typed(Name(name), kind) for name, kind in relation.columns.items()]
            return scope, [], self._as_many(chosen)
        self._check_plain(select)
        known = self.rows.environment(select, self.environment)
        where = select.args.get("where")
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            self.parsed.refuse(select, "a query without FROM has no rows", "name a table")
        condition = None if where is None else where.this
        joins = list(select.args.get("joins") or ())
        scope, parts = from_clause(self.rows, clause.this, joins, condition, known)
        own = [part for part in parts if self._is_inside(part, scope)]
        correlated = [part for part in parts if all(part is not other for other in own)]
        scope = restricted(self.rows, scope, own, known)
        if not self.asked.values:
            return scope, correlated, []
        if any(item.key == "star" or (item.key == "column" and item.this.key == "star") for item in select.expressions):
            chosen = [Typed(Name(inner), scope.relation.columns[inner]) for _, inner in scope.visible()]
        else:
            scalars = self.rows.scalars(scope)
            chosen = [scalars.settled(scalars.value(item), Kind.TEXT) for item in select.expressions]
        if not correlated:
            # Nothing else is read of it: so a subquery is the same rows wherever it stands.
            outputs = [(name, value.expression) for name, value in zip(_labels(select, scope), chosen, strict=False)]
            scope = self.rows.alone("subquery", projected(scope.relation, outputs))
            chosen = [Typed(Name(name), kind) for name, kind in scope.relation.columns.items()]
        return _with_columns(scope, chosen), correlated, self._as_many(_as_columns(scope, chosen))

    def _as_many(self, chosen: list[Typed]) -> list[Typed]:
        if self.asked.values and len(chosen) != len(self.asked.values):
            self.parsed.refuse(
                self.asked.node,
                f"IN with a subquery of {len(chosen)} columns beside {len(self.asked.values)}",
                "select one column for each that is compared",
            )
        return chosen if self.asked.values else []

    def _check_plain(self, select: exp.Expression) -> None:
        chosen = [select.args[part] for part in ("limit", "offset", "order") if select.args.get(part) is not None]
        limit = select.args.get("limit")
        is_none = limit is not None and str(limit.expression and limit.expression.this) == "0"
        if chosen and (self.asked.values or is_none or select.args.get("offset") is not None):
            self.parsed.refuse(
                chosen[0],
                f"{chosen[0].key.upper()} in a subquery chooses among the rows of different people",
                "remove it, or number rows within a person by ROW_NUMBER() OVER (PARTITION BY id ...)",
            )
        clauses = ("expressions", "from_", "from", "joins", "where", "distinct", "with_", "with", "limit", "order")
        self.rows.only(select, *clauses)

    def _is_inside(self, part: exp.Expression, scope: Scope) -> bool:
        """Return whether a condition names columns of the subquery alone."""
        if next(predicates_in(part), None) is not None:
            return True
        return all(_is_of(scope, node) for node in part.walk() if node.key == "column")

    def _over_both(self, inner: Scope, prefix: str, columns: dict[str, Kind]) -> Scalars:
        """Return the translator over the rows inside and outside; a name means what is inside first."""
        sources = tuple(
            replace(source, columns=tuple((shown, prefix + name) for shown, name in source.columns))
            for source in inner.sources
        )
        named = replace(inner, sources=sources, computed={})

        def column(node: exp.Column) -> Typed:
            name = (named if _is_of(named, node) else self.scope).find(node)
            return Typed(Name(name), columns[name])

        return Scalars(self.parsed, column, lambda node: None)

    def _refuse(self) -> NoReturn:
        if self.asked.values:
            self.parsed.refuse(
                self.asked.node,
                "IN with a subquery that does not compare privacy ids looks at rows of other people",
                "write id IN (SELECT id FROM ... WHERE ...), tie the subquery to the person (WHERE t.id = outer.id), "
                "or list the values",
            )
        self.parsed.refuse(
            self.asked.node,
            "EXISTS with a subquery that is not tied to the same person looks at rows of other people",
            "write EXISTS (SELECT 1 FROM t WHERE t.id = outer.id AND ...)",
        )

    # A public table.

    def _public_source(self) -> tuple[str, Table] | None:
        """Return the alias and the table, if the subquery reads only one public table."""
        select = self.asked.select
        clause: Any = select.args.get("from_") or select.args.get("from")
        if select.key != "select" or clause is None or clause.this.key != "table" or select.args.get("joins"):
            return None
        if clause.this.name.lower() in self.environment or select.args.get("with_") or select.args.get("with"):
            return None
        alias, source = self.rows.source(clause.this, self.environment)
        return (alias, source) if isinstance(source, Table) else None

    def _among_public(self, alias: str, table: Table) -> tuple[Relation, Expression | None]:
        select, outer = self.asked.select, self.scope.relation
        self._check_plain(select)
        prefix = free_prefix(outer, "among", table.kinds)
        own = Scope(self.parsed, outer, (Source.of(alias, table),))
        columns = {**outer.columns, **{prefix + name: kind for name, kind in table.kinds.items()}}
        scalars = self._over_both(own, prefix, columns)
        alone = Scalars(self.parsed, lambda node: Typed(Name(own.find(node)), table.kinds[own.find(node)]), _nothing)
        parts = [] if select.args.get("where") is None else parts_of_condition(select.args["where"].this)
        inside = [part for part in parts if self._is_inside(part, own)]
        where = conjunction(alone.condition(part) for part in inside) if inside else None
        ties = [scalars.condition(part) for part in parts if all(part is not other for other in inside)]
        given, chosen = self._given(), [alone.value(item) for item in select.expressions] if self.asked.values else []
        for value, item in zip(given, self._as_many(chosen), strict=True):
            if not isinstance(item.expression, Name):
                self._refuse_public(table, "that does not select a column of it")
            wanted = Typed(_prefixed(item, prefix), item.kind)
            ties.append(scalars.compared(self.asked.node, "equal", value, wanted).expression)
            self._check_nullable(table, item.expression.name, where)
        theirs = {prefix + name for name in table.kinds}
        keys: dict[str, Expression] = {}
        rest: list[tuple[str, Expression]] = []
        for part in ties:
            found = equated(part, theirs, theirs)
            name = "" if found is None else found[0].removeprefix(prefix)
            rest.append(("" if name in keys else name, part))
            if found is not None:
                keys.setdefault(name, found[1])
        is_unique = bool(table.key) and set(table.key) <= set(keys)
        on = table.key if is_unique else tuple(keys)
        left = [part for name, part in rest if name not in on]
        if left and not is_unique:
            self._refuse_public(table, "that compares by something else than =")
        if not on:
            self._refuse_public(table, "that is the same for every row")
        relation = JoinPublic(
            outer,
            table,
            tuple(keys[name] for name in on),
            not self.is_filter,
            prefix,
            None if is_unique and on == table.key else on,
            None,
            where,
            conjunction(left) if left else None,
        )
        if self.is_filter:
            return relation, None
        truth: Expression = Call("not", (Call("is_null", (Name(prefix + on[0]),)),))
        unknown = [Call("is_null", (value.expression,)) for value in given if may_be_null(value.expression, outer)]
        return relation, Case(tuple((one, _UNKNOWN) for one in unknown), truth) if unknown else truth

    def _check_nullable(self, table: Table, name: str, where: Expression | None) -> None:
        known = Call("not", (Call("is_null", (Name(name),)),))
        is_said = where is not None and known in (where, *where.children())
        if table.column(name).nullable and not self.is_filter and not is_said:
            self.parsed.refuse(
                self.asked.node,
                f"NOT IN over {table.name}.{name}, which may be NULL: then it is true of no row",
                f"add WHERE {name} IS NOT NULL to the subquery",
            )

    def _refuse_public(self, table: Table, why: str) -> NoReturn:
        word = "IN" if self.asked.values else "EXISTS"
        self.parsed.refuse(
            self.asked.node,
            f"{word} with a subquery over the public table {table.name} {why}",
            f"compare a column of it with one of the rows ({' and '.join(table.key) or table.columns[0].name}), "
            "or join the table",
        )


def _nothing(node: exp.Expression) -> Typed | None:
    return None


def _prefixed(value: Typed, prefix: str) -> Expression:
    """Return a column of the rows inside under the name that it has beside the rows outside."""
    return Name(prefix + value.expression.name) if isinstance(value.expression, Name) else value.expression


def _labels(select: exp.Expression, scope: Scope) -> list[str]:
    """Return different names of what a subquery selects."""
    if any(item.key == "star" or (item.key == "column" and item.this.key == "star") for item in select.expressions):
        return [shown for shown, _ in scope.visible()]
    found: list[str] = []
    for item in select.expressions:
        named = shown_names(scope, item, item.name) if item.key == "column" else "chosen"
        found.append(free_name(item.alias if item.key == "alias" else named, found))
    return found


def _as_columns(scope: Scope, chosen: Sequence[Typed]) -> list[Typed]:
    """Return selected values as columns, those that are computed under new names."""
    found: list[Typed] = []
    for value in chosen:
        taken = [*scope.relation.columns, *(one.expression.name for one in found if isinstance(one.expression, Name))]
        is_column = isinstance(value.expression, Name)
        found.append(value if is_column else Typed(Name(free_name("chosen", taken)), value.kind))
    return found


def _with_columns(scope: Scope, chosen: Sequence[Typed]) -> Scope:
    """Return the rows with the columns of ``_as_columns``."""
    made = [
        (column.expression.name, value.expression)
        for column, value in zip(_as_columns(scope, chosen), chosen, strict=True)
        if isinstance(column.expression, Name) and column.expression != value.expression
    ]
    if not made:
        return scope
    known = [(name, Name(name)) for name in scope.relation.columns]
    return scope.over(Project(scope.relation, (*known, *made)))


def _ties(part: Expression, needed: Sequence[str], theirs: set[str]) -> bool:
    """Return whether a condition equates a column inside with something outside."""
    return equated(part, needed, theirs) is not None


def _is_of(scope: Scope, column: Any) -> bool:
    """Return whether a column is one of a scope's own."""
    if column.args.get("table") is not None:
        return any(source.alias.lower() == column.text("table").lower() for source in scope.sources)
    try:
        scope.find(column)
    except DitherError:
        return any(source.named(column.name) for source in scope.sources)
    return True
