"""What stands in FROM: tables, subqueries and brackets, how they are joined, and the names of both sides of a join."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dither.data import Kind, Name, Table
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import free_prefix
from dither.publish.queries.sql.expressions import Scalars, Typed, chain
from dither.publish.queries.sql.predicates import bare
from dither.publish.queries.sql.scope import Scope, Source

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.rows import Environment, Rows


@dataclass(frozen=True)
class Item:
    """What stands in FROM: private rows with their sources, or a public table."""

    node: exp.Expression
    sources: tuple[Source, ...]
    scope: Scope | None = None
    table: Table | None = None

    @property
    def names(self) -> frozenset[str]:
        """The aliases, in lower case."""
        return frozenset(source.alias.lower() for source in self.sources)


@dataclass(frozen=True)
class Condition:
    """A part of ON, USING or WHERE, and the aliases that it names."""

    node: exp.Expression
    names: frozenset[str]
    is_where: bool = False


@dataclass(frozen=True)
class Step:
    """One join: what is joined, how, and on which conditions."""

    join: exp.Expression | None
    side: str  # LEFT, RIGHT, FULL, or nothing for an inner join
    items: tuple[Item, ...]
    conditions: tuple[Condition, ...] = ()
    merged: tuple[str, ...] = ()

    @property
    def is_comma(self) -> bool:
        """Whether a comma stands before it."""
        parts = ("on", "using", "kind", "side", "method")
        return self.join is not None and not any(self.join.args.get(part) for part in parts)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of all items."""
        return tuple(source for item in self.items for source in item.sources)


@dataclass(frozen=True)
class Both:
    """The rows so far beside what is joined to them: the names of both, before they are one relation."""

    scope: Scope
    columns: Mapping[str, Kind]
    prefix: str

    def scalars(self) -> Scalars:
        """Return the translator of expressions over both."""

        def column(node: exp.Column) -> Typed:
            name = self.scope.find(node)
            return Typed(Name(name), self.columns[name])

        def special(node: exp.Expression) -> Typed | None:
            name = self.scope.of_either(node)
            return None if name is None else Typed(Name(name), self.columns[name])

        return Scalars(self.scope.parsed, column, special)


def beside(left: Scope, right: Scope | Table, alias: str) -> Both:
    """Return the names of some rows and of what is joined to them."""
    kinds = right.kinds if isinstance(right, Table) else right.relation.columns
    prefix = free_prefix(left.relation, alias, kinds)
    if isinstance(right, Table):
        sources: tuple[Source, ...] = (Source.of(alias, right, prefix),)
    else:
        sources = tuple(
            replace(source, columns=tuple((shown, prefix + inner) for shown, inner in source.columns))
            for source in right.sources
        )
    columns = {**left.relation.columns, **{prefix + name: kind for name, kind in kinds.items()}}
    merged = left.merged if isinstance(right, Table) else left.merged | right.merged
    ids = {} if isinstance(right, Table) else right.either
    either = {frozenset(prefix + one for one in names): prefix + name for names, name in ids.items()}
    scope = replace(left, sources=(*left.sources, *sources), merged=merged, either={**left.either, **either})
    return Both(scope, columns, prefix)


def _is_bracket(node: exp.Expression) -> bool:
    """Return whether a node is a join in brackets, and not a subquery."""
    inner = node.this
    if node.key != "subquery":
        return False
    return inner.key == "table" or (inner.key == "subquery" and (bool(inner.args.get("joins")) or _is_bracket(inner)))


def parts_of_condition(condition: exp.Expression) -> list[exp.Expression]:
    """Return the parts of a conjunction, in order."""
    while condition.key == "paren":
        condition = condition.this
    return chain(condition) if condition.key == "and" else [condition]


def names_of(node: exp.Expression, sources: Sequence[Source]) -> frozenset[str]:
    """Return the aliases that a condition names; a name that is unknown is left to be refused where it is read."""
    found: set[str] = set()
    for part in node.walk():
        if part.key == "column" and part.text("table"):
            found.add(part.text("table").lower())
        elif part.key == "column":
            found.update([source.alias.lower() for source in sources if source.named(part.name)][:1])
    return frozenset(found)


def half_join(rows: Rows, join: exp.Expression) -> exp.Expression:
    """Return a SEMI or ANTI JOIN as the condition that it is."""
    from sqlglot import exp

    rows.only(join, "this", "side", "kind", "on")
    if join.args.get("on") is None or str(join.args.get("side") or "").upper() not in ("", "LEFT"):
        word = str(join.args["kind"]).upper()
        rows.parsed.refuse(join, f"{word} JOIN without ON", "write WHERE EXISTS (SELECT ... WHERE t.id = outer.id)")
    select = exp.select("1").from_(join.this.copy()).where(join.args["on"].copy())
    found = exp.Exists(this=select)
    return exp.Not(this=found) if str(join.args["kind"]).upper() == "ANTI" else found


def has_subquery(node: exp.Expression) -> bool:
    """Return whether a condition has a subquery in it."""
    return any(part.key in ("select", "subquery", "exists") for part in node.walk())


def equalities(node: exp.Expression) -> list[exp.Expression]:
    """Return the equalities that a condition says: itself, or what all sides of an OR have in common."""
    if has_subquery(node):
        return []
    if node.key != "or":
        return [node] if node.key == "eq" else []
    sides = [[bare(part) for part in parts_of_condition(side)] for side in chain(node)]
    return [part for part in sides[0] if part.key == "eq" and all(part in side for side in sides[1:])]


class Reader:
    """Reads the joins of a FROM.

    Args:
        rows: the translator of the query.
        known: the names known there.
        joined: what joins the steps of a bracket.

    """

    def __init__(self, rows: Rows, known: Environment, joined: Callable[[Sequence[Step]], Scope]) -> None:
        self.rows = rows
        self.parsed = rows.parsed
        self.known = known
        self._joined = joined
        self._either_side: set[str] = set()

    def steps(self, first: exp.Expression, joins: Sequence[exp.Expression]) -> list[Step]:
        """Return the joins in order."""
        before: list[Source] = []
        found: list[Step] = []
        for node, join in [(first, None), *((one.this, one) for one in joins)]:
            found.append(self._step(node, join, before, is_first=join is None))
            before += found[-1].sources
        return found

    def _step(
        self, node: exp.Expression, join: exp.Expression | None, before: Sequence[Source], *, is_first: bool
    ) -> Step:
        """Return what a join joins; a bracket of inner joins is as good as its parts."""
        side = "" if join is None else self._side(join)
        inside: list[Step] = []
        # A table may have joins of its own, as in a JOIN b JOIN c ON ... ON ...; those of the first are read already.
        is_nested = not is_first and bool(node.args.get("joins"))
        if not _is_bracket(node) and not is_nested:
            items: tuple[Item, ...] = (self._item(node),)
        else:
            first = node if is_nested else node.this
            if not is_nested:
                self.rows.only(node, "this", "joins")
            inside = self.steps(first, first.args.get("joins") or ())
            if side or any(one.side for one in inside):
                scope = self._joined(inside)
                items, inside = (Item(node, scope.sources, scope=scope),), []
            else:
                items = tuple(item for one in inside for item in one.items)
        found = Step(join, side, items)
        conditions, merged = self._conditions(join, before, found.sources)
        conditions = [*(one for part in inside for one in part.conditions), *conditions]
        merged = [*(word for part in inside for word in part.merged), *merged]
        return replace(found, conditions=tuple(conditions), merged=tuple(merged))

    def _item(self, node: exp.Expression) -> Item:
        alias, found = self.rows.source(node, self.known)
        if isinstance(found, Table):
            return Item(node, (Source.of(alias, found),), table=found)
        scope = self.rows.alone(alias, found)
        return Item(node, scope.sources, scope=scope)

    def _side(self, join: exp.Expression) -> str:
        self.rows.only(join, "this", "side", "kind", "on", "using", "method")
        side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            what = " ".join(word for word in (method, side, kind) if word)
            instead = "write WHERE EXISTS (SELECT ...), JOIN, LEFT JOIN or FULL JOIN"
            self.parsed.refuse(join, f"{what} JOIN is not understood", instead)
        return side

    def _conditions(
        self, join: exp.Expression | None, before: Sequence[Source], here: Sequence[Source]
    ) -> tuple[list[Condition], list[str]]:
        """Return the parts of ON, USING or NATURAL, and the columns that are one on both sides."""
        if join is None:
            return [], []
        everything = [*before, *here]
        if join.args.get("on") is not None:
            return [Condition(node, names_of(node, everything)) for node in parts_of_condition(join.args["on"])], []
        words = list(join.args.get("using") or ())
        if str(join.args.get("method") or "").upper() == "NATURAL":
            words = self._common(join, before, here)
        found = [self._same(word, before, here) for word in words]
        if str(join.args.get("side") or "").upper() == "FULL":
            self._either_side |= {word.name.lower() for word in words}
        return found, [word.name.lower() for word in words]

    def _common(self, join: exp.Expression, before: Sequence[Source], here: Sequence[Source]) -> list[exp.Expression]:
        from sqlglot import exp

        theirs = {shown.lower() for source in here for shown, _ in source.columns}
        mine = dict.fromkeys(shown for source in before for shown, _ in source.columns if shown.lower() in theirs)
        if not mine:
            self.parsed.refuse(
                join, "NATURAL JOIN of tables without a common column", "say with ON what they are joined on"
            )
        return [exp.to_identifier(name) for name in mine]

    def _same(self, word: exp.Expression, before: Sequence[Source], here: Sequence[Source]) -> Condition:
        """Return the condition that a column is the same on both sides."""
        from sqlglot import exp

        sides = []
        for sources in (before, here):
            found = [source for source in sources if source.named(word.name)]
            if not found:
                raise InvalidParameter(f"USING at {self.parsed.place(word)}", word.name, "a column of both tables")
            if len(found[0].named(word.name)) > 1:
                raise InvalidParameter(f"USING at {self.parsed.place(word)}", word.name, "clear in both tables")
            sides.append(found[0].alias)
        one, other = (exp.Column(this=word.copy(), table=exp.to_identifier(alias)) for alias in sides)
        if word.name.lower() in self._either_side:
            one = exp.Column(this=word.copy())  # the column of the side that has a row
        return Condition(exp.EQ(this=one, expression=other), frozenset(alias.lower() for alias in sides))
