"""Names: which column of which table a word in a query means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

from dither.data import Relation
from dither.data.schema import Table, check_name
from dither.errors import InvalidParameter, Unanswerable

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.expressions import Typed
    from dither.publish.queries.sql.parse import Parsed


@dataclass(frozen=True)
class Source:
    """A table, subquery or CTE in FROM: its name, and its columns' names there and in the relation."""

    alias: str
    columns: tuple[tuple[str, str], ...]  # shown name, name in the relation
    stored: tuple[tuple[str, str], ...] = ()  # what a file or database calls a column, shown name

    @classmethod
    def of(cls, alias: str, table: Table, prefix: str = "") -> Source:
        """Return a declared table, whose columns are known by their declared names and by those of the source."""
        columns = tuple((name, prefix + name) for name in table.kinds)
        stored = tuple((column.source, column.name) for column in table.columns if column.source is not None)
        return cls(alias, columns, stored)

    def named(self, word: str, *, is_quoted: bool = False) -> list[tuple[str, str]]:
        """Return the columns that a word may mean: shown name, name in the relation.

        Case does not matter, and the declared name counts as much as that of the source. The declared name as it is
        spelled means nothing else, and in quotes neither does the name that the source has.
        """
        if not self.stored or any(shown == word for shown, _ in self.columns):
            return [(shown, inner) for shown, inner in self.columns if shown.lower() == word.lower()]
        other = {shown for name, shown in self.stored if name == word}
        if other and is_quoted:
            return [pair for pair in self.columns if pair[0] in other]
        other = other or {shown for name, shown in self.stored if name.lower() == word.lower()}
        return [pair for pair in self.columns if pair[0].lower() == word.lower() or pair[0] in other]


@dataclass(frozen=True)
class Scope:
    """The sources of one SELECT, over one relation."""

    parsed: Parsed
    relation: Relation
    sources: tuple[Source, ...]
    merged: frozenset[str] = field(default_factory=frozenset)  # columns named by USING, which are equal on both sides
    kept: frozenset[str] = field(default_factory=frozenset)  # public tables all of whose rows are kept, matched or not
    computed: Mapping[int, tuple[exp.Expression, Typed]] = field(default_factory=dict)  # subqueries in conditions
    either: Mapping[frozenset[str], str] = field(default_factory=dict)  # ids of both sides of a FULL JOIN

    def over(self, relation: Relation) -> Scope:
        """Return the same names over another relation with the same columns and perhaps more."""
        return replace(self, relation=relation)

    def said(self, node: exp.Expression) -> Typed | None:
        """Return what a subquery in a condition says about each row, if the node is one that was computed."""
        found = self.computed.get(id(node))
        return None if found is None else found[1]

    def of_either(self, node: exp.Expression) -> str | None:
        """Return the column that COALESCE(a.id, b.id) means, if these are the ids of both sides of a FULL JOIN."""
        parts = [node.args.get("this"), *node.expressions] if self.either and node.key == "coalesce" else []
        if not parts or any(part is None or part.key != "column" or part.this.key == "star" for part in parts):
            return None
        return self.either.get(frozenset(self.find(part) for part in parts))

    def find(self, column: exp.Column) -> str:
        """Return a column's name in the relation, or reject it: unknown or ambiguous."""
        name, table = column.name, column.table
        if column.args.get("db") or column.args.get("catalog"):
            self.parsed.refuse(column, "a name of three parts has no meaning here", "write table.column")
        sources = self.sources
        if table:
            sources = tuple(source for source in sources if source.alias.lower() == table.lower())
            if not sources:
                known = [source.alias for source in self.sources]
                raise InvalidParameter(f"table at {self.parsed.place(column)}", table, f"one of {', '.join(known)}")
        found = [
            (source.alias, *pair) for source in sources for pair in source.named(name, is_quoted=is_quoted(column))
        ]
        if not found:
            known = [shown for source in sources for shown, _ in source.columns]
            self._unknown(column, known, [stored for source in sources for stored, _ in source.stored])
        if len(found) > 1 and name.lower() not in self.merged:
            is_one = len({alias for alias, *_ in found}) == 1
            # Within one table the declared names tell the columns apart.
            options = [shown if is_one else f"{alias}.{name}" for alias, shown, _ in found]
            raise InvalidParameter(
                f"column at {self.parsed.place(column)}", name, f"clear: one of {', '.join(options)}"
            )
        return found[0][2]

    def spoken(self, text: str) -> str:
        """Return a message with the columns of joined tables as a query writes them: p.price, not p_price."""
        inner = {name: f"{source.alias}.{shown}" for source in self.sources for shown, name in source.columns}
        hidden = [name for name, said in inner.items() if said.partition(".")[2] != name]
        if not hidden:
            return text
        return re.sub(rf"\b({'|'.join(map(re.escape, hidden))})\b", lambda found: inner[found[1]], text)

    def visible(self, table: str | None = None) -> list[tuple[str, str]]:
        """Return the columns that a star stands for: shown name, name in the relation."""
        sources = [source for source in self.sources if table is None or source.alias.lower() == table.lower()]
        if not sources:
            known = [source.alias for source in self.sources]
            raise InvalidParameter("table before the star", table, f"one of {', '.join(known)}")
        found: dict[str, tuple[str, str]] = {}
        for source in sources:
            for shown, internal in source.columns:
                if shown.lower() in found:
                    if shown.lower() in self.merged:
                        continue
                    raise Unanswerable(f"the star means two columns called {shown}", "name the columns that are needed")
                found[shown.lower()] = (shown, internal)
        return list(found.values())

    def _unknown(self, column: exp.Column, known: list[str], stored: list[str]) -> NoReturn:
        near = difflib.get_close_matches(column.name.lower(), [name.lower() for name in (*known, *stored)], n=1)
        hint = [name for name in known if near and name.lower() == near[0] and name != column.name]
        hint += [f'"{name}"' for name in stored if near and name.lower() == near[0]]
        rule = f"{hint[0]}, or " if hint else ""
        raise InvalidParameter(
            f"column at {self.parsed.place(column)}", column.name, f"{rule}one of {', '.join(known) or 'none'}"
        )


def is_quoted(column: exp.Expression) -> bool:
    """Return whether a column's name stands in quotes."""
    return bool(column.this.args.get("quoted"))


def plain_alias(parsed: Parsed, node: exp.Expression, alias: str) -> str:
    """Return a name given within a query, if it is plain: it becomes a column name in an engine."""
    try:
        check_name("alias", alias)
    except InvalidParameter as error:
        raise InvalidParameter(f"alias at {parsed.place(node)}", alias, error.rule) from None
    return alias


def check_different(parsed: Parsed, node: exp.Expression, names: Iterable[str]) -> None:
    """Reject duplicate names, ignoring case."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidParameter(f"column at {parsed.place(node)}", name, "a name that occurs once: give it an alias")
        seen.add(name.lower())
