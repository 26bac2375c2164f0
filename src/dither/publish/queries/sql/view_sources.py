"""FROM and JOIN over released and public tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from dither.data import Call, DataSet, Expression, Name
from dither.data.public_rows import PublicScan
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import conjunction
from dither.publish.queries.reports.views import View, ViewJoin, ViewOne, ViewPublic, ViewSelect
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.lists import is_list, list_as_select
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.rows import Environment
from dither.publish.queries.sql.scope import plain_alias

if TYPE_CHECKING:
    from sqlglot import exp

Read = Callable[["exp.Expression", Environment, str], View]


@dataclass
class _Table:
    """A table in FROM: its name there, and its columns there by their own names."""

    alias: str
    columns: dict[str, str]
    stored: dict[str, str]


class Sources:
    """The tables of one FROM, joined: what their columns are called, and the rows."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self.view: View = ViewOne()
        self._tables: list[_Table] = []
        self._merged: dict[str, Expression] = {}

    @property
    def visible(self) -> list[tuple[str, Expression, str]]:
        """The columns that a star stands for: shown name, value, table; those that USING merges once."""
        found: list[tuple[str, Expression, str]] = []
        seen: set[str] = set()
        for table in self._tables:
            for shown, name in table.columns.items():
                merged = self._merged.get(shown.lower())
                if merged is not None and shown.lower() in seen:
                    continue
                seen.add(shown.lower())
                found.append((shown, Name(name) if merged is None else merged, table.alias))
        return found

    def column(self, node: exp.Column) -> Typed:
        """Return what a column means, or reject it: unknown or ambiguous."""
        if node.args.get("db") or node.args.get("catalog"):
            self.parsed.refuse(node, "a name of three parts has no meaning here", "write table.column")
        if not self._tables:
            self.parsed.refuse(node, "a query without FROM has no columns", "name a table")
        tables = [table for table in self._tables if not node.table or table.alias.lower() == node.table.lower()]
        if not tables:
            known = ", ".join(table.alias for table in self._tables) or "none"
            raise InvalidParameter(f"table at {self.parsed.place(node)}", node.table, f"one of {known}")
        merged = None if node.table else self._merged.get(node.name.lower())
        if merged is not None:
            return self._typed(merged)
        found = [(table, name) for table in tables for name in _named(table, node.name)]
        if not found:
            known = ", ".join(name for table in tables for name in table.columns)
            raise InvalidParameter(f"column at {self.parsed.place(node)}", node.name, f"one of {known or 'none'}")
        if len(found) > 1:
            options = ", ".join(f"{table.alias}.{node.name}" for table, _ in found)
            raise InvalidParameter(f"column at {self.parsed.place(node)}", node.name, f"clear: one of {options}")
        return self._typed(Name(found[0][1]))

    def _typed(self, value: Expression) -> Typed:
        from dither.data.expressions import kind_of

        return Typed(value, kind_of(value, self.view.columns))

    def add(self, alias: str, view: View, stored: dict[str, str], join: exp.Expression | None, *, alone: bool) -> None:
        """Add a table, joined to those that are there."""
        if any(table.alias.lower() == alias.lower() for table in self._tables):
            raise InvalidParameter("alias", alias, "different from the others in FROM")
        columns = {name: name if alone else f"{alias}.{name}" for name in view.columns}
        if not alone:
            view = ViewSelect(view, tuple((columns[name], Name(name)) for name in view.columns))
        table = _Table(alias, columns, stored)
        if join is None:
            self.view, self._tables = view, [table]
            return
        self._join(table, view, join)

    def _join(self, table: _Table, right: View, join: exp.Expression) -> None:
        self._only(join)
        side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            self.parsed.refuse(join, f"{method or kind} JOIN of released tables", "write JOIN, LEFT JOIN or FULL JOIN")
        left, before = self.view, self._tables
        words = [word.name for word in join.args.get("using") or ()]
        if method == "NATURAL":
            known = {name.lower() for one in before for name in one.columns}
            words = [name for name in table.columns if name.lower() in known]
        how = "left" if side in ("LEFT", "RIGHT") else "full" if side == "FULL" else "inner"
        sides = (right, left) if side == "RIGHT" else (left, right)
        # Names of both sides are known while the condition is read.
        self._tables = [*before, table]
        self.view = ViewJoin(*sides, "cross", None)
        parts = [self._equal(join, word, before, table, side) for word in words]
        if join.args.get("on") is not None:
            parts.append(Scalars(self.parsed, self.column, lambda node: None).condition(join.args["on"]))
        if not parts and (kind == "CROSS" or not side):
            return
        if not parts:
            self.parsed.refuse(join, f"{side} JOIN without a condition", "write ON a.key = b.key")
        self.view = ViewJoin(*sides, how, conjunction(parts))

    def _equal(self, join: exp.Expression, word: str, before: list[_Table], table: _Table, side: str) -> Expression:
        mine = [name for one in before for name in _named(one, word)]
        theirs = _named(table, word)
        if not mine or not theirs:
            raise InvalidParameter(f"USING at {self.parsed.place(join)}", word, "a column of both tables")
        left: Expression = self._merged.get(word.lower(), Name(mine[0]))
        right: Expression = Name(theirs[0])
        scalars = Scalars(self.parsed, self.column, lambda node: None)
        equal = scalars.compared(join, "equal", self._typed(left), self._typed(right)).expression
        both = Call("coalesce", (left, right))
        self._merged[word.lower()] = both if side == "FULL" else right if side == "RIGHT" else left
        return equal

    def _only(self, join: exp.Expression) -> None:
        for name, value in join.args.items():
            if value not in (None, False, "", []) and name not in ("this", "side", "kind", "on", "using", "method"):
                self.parsed.refuse(join, f"{name.strip('_').upper()} is not understood here", "remove it")


def read_sources(parsed: Parsed, dataset: DataSet, select: exp.Expression, known: Environment, read: Read) -> Sources:
    """Return the tables of FROM and JOIN; ``read`` gives the view of a subquery."""
    sources = Sources(parsed)
    clause = select.args.get("from_") or select.args.get("from")
    if clause is None:
        return sources
    joins = list(select.args.get("joins") or ())
    nodes = [(clause.this, None), *((join.this, join) for join in joins)]
    for number, (node, join) in enumerate(nodes, 1):
        alias, view, stored = _table(parsed, dataset, node, known, read, number)
        sources.add(alias, view, stored, join, alone=len(nodes) == 1)
    return sources


def _table(
    parsed: Parsed, dataset: DataSet, node: exp.Expression, known: Environment, read: Read, number: int
) -> tuple[str, View, dict[str, str]]:
    if is_list(node):
        alias, select = list_as_select(parsed, node)
        return alias, read(select, known, alias), {}
    given = node.args.get("alias")
    if given is not None and given.args.get("columns"):
        parsed.refuse(node, "a list of columns after an alias", "name the columns with AS inside a subquery")
    if node.key == "subquery":
        _plain(parsed, node, "this", "alias")
        alias = plain_alias(parsed, node, node.alias) if node.alias else f"subquery_{number}"
        return alias, read(node.this, known, node.alias), {}
    if node.key != "table" or node.this.key != "identifier":
        _refuse(parsed, node)
    _plain(parsed, node, "this", "alias", "db")
    if node.args.get("db") and node.args["db"].name.lower() != dataset.name.lower():
        raise InvalidParameter(f"data set at {parsed.place(node)}", node.args["db"].name, dataset.name)
    alias = plain_alias(parsed, node, node.alias) if given is not None else node.name
    cte = known.get(node.name.lower())
    if cte is not None and not node.args.get("db"):
        return alias, read(cte.select, cte.environment, node.name), {}
    try:
        table = dataset.table(node.name)
    except InvalidParameter as error:
        raise InvalidParameter(f"table at {parsed.place(node)}", node.name, error.rule) from None
    stored = {column.source: column.name for column in table.columns if column.source is not None}
    return alias, ViewPublic(PublicScan(table)), stored


def _plain(parsed: Parsed, node: exp.Expression, *arguments: str) -> None:
    for name, value in node.args.items():
        if value not in (None, False, "", []) and name not in arguments:
            parsed.refuse(node, f"{name.strip('_').upper()} is not understood here", "remove it")


def _refuse(parsed: Parsed, node: exp.Expression) -> NoReturn:
    parsed.refuse(node, "FROM does not name a declared table", "read a table of the data set, or a subquery")


def _named(table: _Table, word: str) -> list[str]:
    """Return the columns of a table that a word means: its declared name, or that of the source."""
    found = [name for shown, name in table.columns.items() if shown.lower() == word.lower()]
    if not found:
        found = [table.columns[shown] for stored, shown in table.stored.items() if stored.lower() == word.lower()]
    return found
