"""FROM, joins, WHERE and subqueries: the private rows of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dither.data import (
    Call,
    DataSet,
    Expression,
    JoinPublic,
    Kind,
    Literal,
    Name,
    PerPerson,
    Relation,
    Scan,
    Table,
)
from dither.data.expressions import names_in
from dither.data.joins import joined
from dither.data.owners import matched, scan_of
from dither.data.relations import person_columns
from dither.errors import InvalidParameter, Unanswerable
from dither.publish.queries.assemble import (
    conjunction,
    disjunction,
    filtered,
    free_name,
    free_prefix,
)
from dither.publish.queries.owned import among, references
from dither.publish.queries.sql.expressions import Scalars, Typed, chain
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.scope import Scope, Source, check_different, plain_alias

if TYPE_CHECKING:
    from sqlglot import exp

#: A query that inlines more than this is refused.
_MOST_TABLES: Final = 64


@dataclass(frozen=True)
class Cte:
    """A named subquery and the names known at its place."""

    select: exp.Expression
    environment: Mapping[str, Cte]


Environment = Mapping[str, Cte]


class AcrossPersons(Unanswerable):
    """A subquery that aggregates over several people: this must be a separate query."""

    def __init__(self, select: exp.Expression, environment: Environment, reason: str, instead: str) -> None:
        super().__init__(reason, instead)
        self.select, self.environment = select, environment


class Rows:
    """Translates everything below the aggregates of one query."""

    def __init__(self, parsed: Parsed, dataset: DataSet) -> None:
        self.parsed = parsed
        self.dataset = dataset
        self._tables = 0

    def environment(self, select: exp.Expression, known: Environment) -> Environment:
        """Return the names known inside a SELECT: those outside, and its own WITH."""
        if not select.expressions:
            raise InvalidParameter("sql", "SELECT", "complete: nothing is selected")
        clause = select.args.get("with_") or select.args.get("with")
        if clause is None:
            return known
        if clause.args.get("recursive"):
            self.parsed.refuse(clause, "WITH RECURSIVE goes beyond one person's rows", "write what each step does")
        found = dict(known)
        for cte in clause.expressions:
            if cte.args["alias"].args.get("columns"):
                self.parsed.refuse(cte, "a list of columns after the name of a subquery", "name them with AS inside it")
            found[cte.alias.lower()] = Cte(cte.this, dict(found))
        return found

    def scope(self, select: exp.Expression, environment: Environment) -> Scope:
        """Return the rows of FROM, JOIN and WHERE of a SELECT."""
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            self.parsed.refuse(select, "a query without FROM has no rows", "name a table")
        first = clause.this
        joins = list(select.args.get("joins") or ())
        scope: Scope | None = None
        alias, right = self._source(first, environment)
        if isinstance(right, Table):
            if not joins or joins[0].side or joins[0].kind not in ("", "INNER"):
                self._refuse_public(first, right)
            other_alias, other = self._source(joins[0].this, environment)
            if isinstance(other, Table):
                self._refuse_public(first, right)
            scope = self._joined(self._alone(other_alias, other), alias, right, joins.pop(0))
        else:
            scope = self._alone(alias, right)
        for join in joins:
            scope = self._joined(scope, *self._source(join.this, environment), join)
        where = select.args.get("where")
        return scope if where is None else self._where(scope, where.this, environment)

    def scalars(self, scope: Scope) -> Scalars:
        """Return the translator of expressions over the rows of a scope."""

        def column(node: exp.Column) -> Typed:
            if node.this.key == "star":
                self.parsed.refuse(node, "a star stands for raw rows", "name the column that is meant")
            name = scope.find(node)
            return Typed(Name(name), scope.relation.columns[name])

        return Scalars(self.parsed, column, lambda node: None)

    # FROM.

    def _source(self, node: exp.Expression, environment: Environment) -> tuple[str, Relation | Table]:
        self._tables += 1
        if self._tables > _MOST_TABLES:
            self.parsed.refuse(node, f"the query reads more than {_MOST_TABLES} tables", "split it")
        if node.key == "subquery":
            self.only(node, "this", "alias")
            alias = node.alias or f"subquery_{self._tables}"
            return self._alias(node, alias), self.subquery(node.this, environment)
        if node.key != "table" or node.this.key != "identifier":
            shown = (
                str(getattr(node.this, "this", "") or node.key).upper()[:40]
                if node.key == "table"
                else node.key.upper()
            )
            self.parsed.refuse(node, f"{shown} in FROM is no declared table", "read a table of the data set")
        self.only(node, "this", "alias", "db")
        if node.args.get("db") and node.args["db"].name.lower() != self.dataset.name.lower():
            raise InvalidParameter(f"data set at {self.parsed.place(node)}", node.args["db"].name, self.dataset.name)
        alias = self._alias(node, node.alias or node.name)
        cte = environment.get(node.name.lower())
        if cte is not None and not node.args.get("db"):
            return alias, self.subquery(cte.select, cte.environment)
        try:
            table = self.dataset.table(node.name)
        except InvalidParameter as error:
            raise InvalidParameter(f"table at {self.parsed.place(node)}", node.name, error.rule) from None
        return alias, table if table.is_public else scan_of(self.dataset, table)

    def _alias(self, node: exp.Expression, alias: str) -> str:
        given = node.args.get("alias")
        if given is not None and given.args.get("columns"):
            self.parsed.refuse(node, "a list of columns after an alias", "name the columns with AS inside a subquery")
        return plain_alias(self.parsed, node, alias) if given is not None else alias

    def _alone(self, alias: str, relation: Relation) -> Scope:
        if isinstance(relation, Scan):
            source = Source.of(alias, relation.table)
        else:
            source = Source(alias, tuple((name, name) for name in relation.columns))
        return Scope(self.parsed, relation, (source,))

    def _refuse_public(self, node: exp.Expression, table: Table) -> NoReturn:
        self.parsed.refuse(
            node,
            f"{table.name} is a public table: its rows need no protection",
            "read it directly, or join it to a private one",
        )

    def subquery(self, select: exp.Expression, environment: Environment) -> Relation:
        """Return the rows of a subquery."""
        from dither.publish.queries.sql.persons import rows_of_select

        return rows_of_select(self, select, environment)

    # JOIN.

    def _joined(self, left: Scope, alias: str, right: Relation | Table, join: exp.Join) -> Scope:
        self.only(join, "this", "side", "kind", "on", "using")
        side, kind = join.side.upper(), join.kind.upper()
        if kind == "CROSS" or (not join.args.get("on") and not join.args.get("using")):
            self.parsed.refuse(
                join,
                f"{alias} is joined without a condition, every row with every row",
                "join a private table ON the privacy id, a public one ON its key",
            )
        if side == "FULL" or kind not in ("", "INNER", "OUTER"):
            self.parsed.refuse(join, f"{side or kind} JOIN is not understood", "write JOIN or LEFT JOIN")
        if any(source.alias.lower() == alias.lower() for source in left.sources):
            raise InvalidParameter(
                f"alias at {self.parsed.place(join.this)}", alias, "different from the others in FROM"
            )
        if isinstance(right, Table):
            if side == "RIGHT":
                self.parsed.refuse(join, "RIGHT JOIN would keep public rows that nobody has", "write JOIN or LEFT JOIN")
            return self._join_public(left, alias, right, join, side == "LEFT")
        other = self._alone(alias, right)
        first, second = (other, left) if side == "RIGHT" else (left, other)
        return self._join_persons(first, second, join, bool(side))

    def _join_public(self, left: Scope, alias: str, table: Table, join: exp.Expression, keep: bool) -> Scope:
        prefix = free_prefix(left.relation, alias, table.kinds)
        columns = {**left.relation.columns, **{prefix + name: kind for name, kind in table.kinds.items()}}
        source = Source.of(alias, table, prefix)
        both, parts = self._conditions(left, (source,), columns, join)
        keys: dict[str, Expression] = {}
        rest: list[Expression] = []
        theirs = {prefix + name for name in table.kinds}
        for part in parts:
            key = _equated(part, {prefix + name for name in table.key}, theirs)
            if key is None or key[0] in keys:
                rest.append(part)
            else:
                keys[key[0]] = key[1]
        if not table.key or len(keys) < len(table.key):
            key_text = " and ".join(table.key) or "(none is declared)"
            self.parsed.refuse(
                join,
                f"a public table is joined on its whole unique key, that of {table.name} is {key_text}",
                f"write ON {' AND '.join(f'x = {alias}.{name}' for name in table.key)}"
                if table.key
                else "declare its key",
            )
        if keep and rest:
            self.parsed.refuse(join, "LEFT JOIN of a public table with more than its key in ON", "use JOIN, or CASE")
        relation: Relation = JoinPublic(
            left.relation, table, tuple(keys[prefix + name] for name in table.key), keep, prefix
        )
        relation = filtered(relation, conjunction(rest)) if rest else relation
        return Scope(self.parsed, relation, both.sources, both.merged)

    def _join_persons(self, first: Scope, second: Scope, join: exp.Expression, keep: bool) -> Scope:
        if not (first.relation.has_persons and second.relation.has_persons):
            self.parsed.refuse(
                join,
                "two private tables are joined, but every row is a unit of its own",
                "ask each table by itself; joins need a privacy id, which the curator declares",
            )
        names = second.relation.columns
        prefix = free_prefix(first.relation, second.sources[0].alias, names)
        columns = {**first.relation.columns, **{prefix + name: kind for name, kind in names.items()}}
        sources = tuple(
            replace(source, columns=tuple((shown, prefix + internal) for shown, internal in source.columns))
            for source in second.sources
        )
        both, parts = self._conditions(first, sources, columns, join)
        ours, theirs = person_columns(first.relation), {prefix + name for name in person_columns(second.relation)}
        rest = [part for part in parts if not _is_person_join(part, ours, theirs)]
        if matched(self.dataset, first.relation, second.relation, conjunction(parts), prefix) is not None:
            rest = parts  # along a declared reference, which means the same person
        elif len(rest) == len(parts):
            ids = (
                ", ".join(sorted(person_columns(first.relation))) or "the privacy id, which the first side must select"
            )
            self.parsed.refuse(
                join,
                "private tables are joined on the privacy id and nothing less, or rows of different people would meet",
                f"write ON a.id = b.id with the id of each side ({ids}){references(self.dataset)}, "
                "AND what else must hold",
            )
        condition = conjunction(rest) if rest else None
        relation = joined(self.dataset, first.relation, second.relation, condition, keep, prefix)
        return Scope(self.parsed, relation, both.sources, both.merged | first.merged | second.merged)

    def _conditions(
        self, left: Scope, added: Sequence[Source], columns: Mapping[str, Kind], join: exp.Expression
    ) -> tuple[Scope, list[Expression]]:
        """Return both sides as one scope, and the parts of ON or USING over it."""
        both = Scope(self.parsed, left.relation, (*left.sources, *added), left.merged)

        def column(node: exp.Column) -> Typed:
            name = both.find(node)
            return Typed(Name(name), columns[name])

        scalars = Scalars(self.parsed, column, lambda node: None)
        using = join.args.get("using")
        if using:
            parts = []
            for word in using:
                mine = [name for source in left.sources for _, name in source.named(word.name)]
                theirs = [name for source in added for _, name in source.named(word.name)]
                if any(len(source.named(word.name)) > 1 for source in (*left.sources, *added)):
                    raise InvalidParameter(f"USING at {self.parsed.place(word)}", word.name, "clear in both tables")
                if not mine or not theirs:
                    raise InvalidParameter(f"USING at {self.parsed.place(word)}", word.name, "a column of both tables")
                pair = [Typed(Name(name), columns[name]) for name in (mine[0], theirs[0])]
                parts.append(scalars.compared(word, "equal", *pair).expression)
            merged = both.merged | {word.name.lower() for word in using}
            return Scope(self.parsed, left.relation, both.sources, merged), parts
        condition = join.args["on"]
        nodes = chain(condition) if condition.key == "and" else [condition]
        return both, [scalars.condition(node) for node in nodes]

    # WHERE.

    def _where(self, scope: Scope, condition: exp.Expression, environment: Environment) -> Scope:
        while condition.key == "paren":
            condition = condition.this
        scalars = self.scalars(scope)
        plain: list[Expression] = []
        subqueries: list[tuple[exp.Expression, bool]] = []
        for part in chain(condition) if condition.key == "and" else [condition]:
            inner, negated = part, False
            while inner.key in ("paren", "not"):
                negated ^= inner.key == "not"
                inner = inner.this
            if inner.key == "in" and inner.args.get("query") is not None:
                subqueries.append((inner, negated))
            else:
                plain.append(scalars.condition(part))
        relation = filtered(scope.relation, conjunction(plain)) if plain else scope.relation
        for node, negated in subqueries:
            relation = self._among(scope.over(relation), node, negated, environment)
        return scope.over(relation)

    def _among(self, scope: Scope, node: exp.Expression, negated: bool, environment: Environment) -> Relation:
        """Keep the people that a subquery names, or the others: either way each person's own rows decide."""
        self.only(node, "this", "query")
        given = self.scalars(scope).value(node.this)
        value, query = given.expression, node.args["query"]
        while query.key == "subquery":
            query = query.this
        public = self._public_source(query, environment)
        if public is not None:
            return self._among_public(scope, node, given, *public, negated=negated)
        found = self.subquery(query, environment)
        owned_prefix = free_prefix(scope.relation, "among", found.columns)
        owned = among(self.dataset, scope.relation, value, found, negated, owned_prefix)
        if owned is not None and negated:
            (name,) = found.columns
            absent = Call("is_null", (Name(owned_prefix + name),))
            return filtered(owned, conjunction((Call("not", (Call("is_null", (value,)),)), absent)))
        if owned is not None:
            return owned
        ids = person_columns(found)
        if not (isinstance(value, Name) and value.name in person_columns(scope.relation) and set(found.columns) == ids):
            self.parsed.refuse(
                node,
                "IN with a subquery that does not compare privacy ids looks at rows of other people",
                "write id IN (SELECT id FROM ... WHERE ...), or list the values",
            )
        (name,) = found.columns
        if not (isinstance(found, PerPerson) and not found.measures):
            found = PerPerson(found, ((name, Name(name)),), ())
        prefix = free_prefix(scope.relation, "among", [name])
        both = joined(self.dataset, scope.relation, found, None, negated, prefix)
        return filtered(both, Call("is_null", (Name(prefix + name),))) if negated else both

    def _public_source(
        self, select: exp.Expression, environment: Environment
    ) -> tuple[exp.Expression, str, Table] | None:
        """Return the subquery, alias and table, if a subquery reads only one public table."""
        clause: Any = select.args.get("from_") or select.args.get("from")
        if select.key != "select" or clause is None or clause.this.key != "table":
            return None
        if select.args.get("joins") or clause.this.name.lower() in environment:
            return None
        alias, source = self._source(clause.this, environment)
        return (select, alias, source) if isinstance(source, Table) else None

    def _among_public(
        self,
        scope: Scope,
        node: exp.Expression,
        given: Typed,
        select: exp.Expression,
        alias: str,
        table: Table,
        *,
        negated: bool,
    ) -> Relation:
        """Keep the rows whose value is the key of a matching public row, or the others."""
        self.only(select, "expressions", "from_", "from", "where", "distinct")
        prefix = free_prefix(scope.relation, "among", table.kinds)
        columns = {**scope.relation.columns, **{prefix + name: kind for name, kind in table.kinds.items()}}
        inner = Scope(self.parsed, scope.relation, (Source.of(alias, table, prefix),))

        def column(word: exp.Column) -> Typed:
            return Typed(Name(inner.find(word)), columns[inner.find(word)])

        scalars = Scalars(self.parsed, column, lambda part: None)
        chosen = [scalars.value(item).expression for item in select.expressions]
        if len(table.key) != 1 or chosen != [Name(prefix + table.key[0])]:
            self.parsed.refuse(
                node,
                f"IN with a subquery over the public table {table.name} that does not select its key alone",
                f"select {' and '.join(table.key) or 'a declared key'}, or join the table on it",
            )
        scalars.compared(node, "equal", given, Typed(chosen[0], table.column(table.key[0]).kind))
        where = select.args.get("where")
        condition = None if where is None else scalars.condition(where.this)
        relation: Relation = JoinPublic(scope.relation, table, (given.expression,), negated, prefix)
        if not negated:
            return relation if condition is None else filtered(relation, condition)
        known = Call("not", (Call("is_null", (given.expression,)),))
        absent: Expression = Call("is_null", (chosen[0],))
        if condition is not None:
            fits = Call("coalesce", (condition, Literal(False, Kind.BOOLEAN)))
            absent = disjunction((absent, Call("not", (fits,))))
        return filtered(relation, conjunction((known, absent)))

    def only(self, node: exp.Expression, *arguments: str) -> None:
        """Reject a clause with parts that are not supported."""
        for name, value in node.args.items():
            if value not in (None, False, "") and value != [] and name not in arguments:
                what = name.strip("_").upper()
                if name in ("rollup", "cube", "grouping_sets"):
                    # Where releases of sqlglot before 30.1 put what later ones read as expressions.
                    what = what.replace("_", "")
                    self.parsed.refuse(node, f"{what} makes groups of groups", "ask a query for each grouping")
                self.parsed.refuse(node, f"{what} is not understood here", "leave it out")


def named_outputs(
    rows: Rows, select: exp.Expression, scope: Scope
) -> list[tuple[str, exp.Expression | None, str | None]]:
    """Return a subquery's outputs: names, with the expression, or the column that a star stands for."""
    found: list[tuple[str, exp.Expression | None, str | None]] = []
    for index, item in enumerate(select.expressions, start=1):
        if item.key == "star" or (item.key == "column" and item.this.key == "star"):
            star = item if item.key == "star" else item.this
            rows.only(star)
            table = item.table if item.key == "column" else None
            found += [(shown, None, internal) for shown, internal in scope.visible(table)]
        elif item.key == "alias":
            found.append((plain_alias(rows.parsed, item, item.alias), item.this, None))
        elif item.key == "column":
            found.append((_own_name(scope, item), item, None))
        else:
            found.append((free_name(f"column_{index}", [name for name, _, _ in found]), item, None))
    check_different(rows.parsed, select, [name for name, _, _ in found])
    return found


def shown_names(scope: Scope, node: exp.Expression, name: str) -> str:
    """Return the declared spelling of a column's name."""
    if node.key == "column":
        for source in scope.sources:
            for shown, _ in source.named(name):
                return shown
    return name


def _own_name(scope: Scope, column: exp.Expression) -> str:
    """Return a column's name as a query spells it, or the declared name if it is called as in the source."""
    shown = shown_names(scope, column, column.name)
    return column.name if shown.lower() == column.name.lower() else shown


def _equated(part: Expression, keys: set[str], theirs: set[str]) -> tuple[str, Expression] | None:
    """Return the key column and the expression equated with it, if the condition has that form."""
    if isinstance(part, Call) and part.function == "equal":
        for mine, other in (part.arguments, part.arguments[::-1]):
            if isinstance(mine, Name) and mine.name in keys and not names_in(other) & theirs:
                return mine.name, other
    return None


def _is_person_join(part: Expression, ours: frozenset[str], theirs: set[str]) -> bool:
    if not (isinstance(part, Call) and part.function == "equal"):
        return False
    names = [argument.name for argument in part.arguments if isinstance(argument, Name)]
    return len(names) == 2 and any(a in ours and b in theirs for a, b in (names, names[::-1]))
