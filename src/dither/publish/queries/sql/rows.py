"""FROM, joins, WHERE and subqueries: the private rows of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from dither.data import DataSet, Name, Relation, Table
from dither.data.owners import scan_of, table_of
from dither.errors import InvalidParameter, Unanswerable
from dither.publish.queries.assemble import free_name
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.joins import from_clause
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.scope import Scope, Source, check_different, is_quoted, plain_alias
from dither.publish.queries.sql.spelling import clause_of, nearest

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
        if select.key == "select" and not select.expressions:
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
        where = select.args.get("where")
        joins = list(select.args.get("joins") or ())
        from dither.publish.queries.sql.semijoins import restricted, with_predicates

        scope, parts = from_clause(self, clause.this, joins, None if where is None else where.this, environment)
        scope = restricted(self, scope, parts, environment)
        return with_predicates(self, scope, select, environment)

    def scalars(self, scope: Scope) -> Scalars:
        """Return the translator of expressions over the rows of a scope."""

        def column(node: exp.Column) -> Typed:
            if node.this.key == "star":
                self.parsed.refuse(node, "a star means raw rows", "name the column that is meant")
            name = scope.find(node)
            return Typed(Name(name), scope.relation.columns[name])

        return Scalars(self.parsed, column, lambda node: self.said(scope, node))

    @staticmethod
    def said(scope: Scope, node: exp.Expression) -> Typed | None:
        """Return what a node means if it was computed: a subquery in a condition, the privacy id of either side."""
        name = scope.of_either(node)
        return scope.said(node) if name is None else Typed(Name(name), scope.relation.columns[name])

    # FROM.

    def source(self, node: exp.Expression, environment: Environment) -> tuple[str, Relation | Table]:
        """Return the name of what stands in FROM, and its rows or the public table."""
        self._tables += 1
        if self._tables > _MOST_TABLES:
            self.parsed.refuse(node, f"the query reads more than {_MOST_TABLES} tables", "split it")
        if node.key == "subquery":
            self.only(node, "this", "alias", "joins")
            alias = node.alias or f"subquery_{self._tables}"
            return self._alias(node, alias), self.subquery(node.this, environment)
        if node.key != "table" or node.this.key != "identifier":
            shown = self.parsed.word(node.this if node.key == "table" and node.this.key != "identifier" else node)
            if shown in ("UNNEST", "EXPLODE", "FLATTEN", "LATERAL"):
                self.parsed.refuse(
                    node,
                    f"{shown} in FROM without rows of people before it",
                    "write FROM visits, UNNEST([1, 2]) AS u (x), or declare a table with a row for each element",
                )
            self.parsed.refuse(node, f"{shown} in FROM is no declared table", "read a table of the data set")
        self.only(node, "this", "alias", "db", "joins")
        if node.args.get("db") and node.args["db"].name.lower() != self.dataset.name.lower():
            raise InvalidParameter(f"data set at {self.parsed.place(node)}", node.args["db"].name, self.dataset.name)
        alias = self._alias(node, node.alias or node.name)
        cte = environment.get(node.name.lower())
        if cte is not None and not node.args.get("db"):
            return alias, self.subquery(cte.select, cte.environment)
        try:
            table = self.dataset.table(node.name)
        except InvalidParameter as error:
            like = nearest(
                node.name, [name.upper() for name in (*(table.name for table in self.dataset.tables), *environment)]
            )
            hint = "" if like is None else f"{like.lower()}, or "
            raise InvalidParameter(f"table at {self.parsed.place(node)}", node.name, f"{hint}{error.rule}") from None
        return alias, table if table.is_public else scan_of(self.dataset, table)

    def _alias(self, node: exp.Expression, alias: str) -> str:
        given = node.args.get("alias")
        if given is not None and given.args.get("columns"):
            self.parsed.refuse(node, "a list of columns after an alias", "name the columns with AS inside a subquery")
        return plain_alias(self.parsed, node, alias) if given is not None else alias

    def alone(self, alias: str, relation: Relation) -> Scope:
        """Return the scope of one source."""
        table = table_of(relation)
        if table is not None:
            source = Source.of(alias, table)
        else:
            source = Source(alias, tuple((name, name) for name in relation.columns))
        return Scope(self.parsed, relation, (source,))

    def refuse_public(self, node: exp.Expression, name: str) -> NoReturn:
        """Refuse a query of public tables alone."""
        self.parsed.refuse(
            node,
            f"{name} is a public table: its rows need no protection",
            "read it directly, or join it to a private one",
        )

    def subquery(self, select: exp.Expression, environment: Environment) -> Relation:
        """Return the rows of a subquery."""
        from dither.publish.queries.sql.persons import rows_of_select

        return rows_of_select(self, select, environment)

    def only(self, node: exp.Expression, *arguments: str) -> None:
        """Reject a clause with parts that are not supported."""
        for name, value in node.args.items():
            if value not in (None, False, "") and value != [] and name not in arguments:
                what = clause_of(name)
                if name in ("rollup", "cube", "grouping_sets"):
                    # Where releases of sqlglot before 30.1 put what later ones read as expressions.
                    self.parsed.refuse(node, f"{what} makes groups of groups", "ask a query for each grouping")
                self.parsed.refuse(node, f"{what} is not understood here", "remove it")


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
            for shown, _ in source.named(name, is_quoted=is_quoted(node)):
                return shown
    return name


def _own_name(scope: Scope, column: exp.Expression) -> str:
    """Return a column's name as a query spells it, or the declared name if it is called as in the source."""
    shown = shown_names(scope, column, column.name)
    return column.name if shown.lower() == column.name.lower() else shown
