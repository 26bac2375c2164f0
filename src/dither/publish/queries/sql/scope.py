"""Names: which column of which table a word in a query means."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

from dither.data import Relation
from dither.data.schema import check_name
from dither.errors import InvalidParameter, Unanswerable

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.parse import Parsed


@dataclass(frozen=True)
class Source:
    """A table, subquery or CTE in FROM: how it is called, and the names of its columns there and in the relation."""

    alias: str
    columns: tuple[tuple[str, str], ...]  # shown name, name in the relation


@dataclass(frozen=True)
class Scope:
    """The sources of one SELECT, over one relation."""

    parsed: Parsed
    relation: Relation
    sources: tuple[Source, ...]
    merged: frozenset[str] = field(default_factory=frozenset)  # columns named by USING, which are equal on both sides

    def over(self, relation: Relation) -> Scope:
        """Return the same names over another relation that has the same columns and perhaps more."""
        return replace(self, relation=relation)

    def find(self, column: exp.Column) -> str:
        """Return the name in the relation of a column, or refuse: unknown, or not clear which one."""
        name, table = column.name, column.table
        if column.args.get("db") or column.args.get("catalog"):
            self.parsed.refuse(column, "a name of three parts has no meaning here", "write table.column")
        sources = self.sources
        if table:
            sources = tuple(source for source in sources if source.alias.lower() == table.lower())
            if not sources:
                known = [source.alias for source in self.sources]
                raise InvalidParameter(f"table at {self.parsed.place(column)}", table, f"one of {', '.join(known)}")
        found = [internal for source in sources for shown, internal in source.columns if shown.lower() == name.lower()]
        if not found:
            self._unknown(column, [shown for source in sources for shown, _ in source.columns])
        if len(found) > 1 and name.lower() not in self.merged:
            aliases = [s.alias for s in sources if any(shown.lower() == name.lower() for shown, _ in s.columns)]
            options = ", ".join(f"{alias}.{name}" for alias in aliases)
            raise InvalidParameter(f"column at {self.parsed.place(column)}", name, f"clear: one of {options}")
        return found[0]

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
                    raise Unanswerable(
                        f"the star stands for two columns called {shown}", "name the columns that are needed"
                    )
                found[shown.lower()] = (shown, internal)
        return list(found.values())

    def _unknown(self, column: exp.Column, known: list[str]) -> NoReturn:
        near = difflib.get_close_matches(column.name.lower(), [name.lower() for name in known], n=1)
        hint = [name for name in known if near and name.lower() == near[0]]
        rule = f"{hint[0]}, or " if hint else ""
        raise InvalidParameter(
            f"column at {self.parsed.place(column)}", column.name, f"{rule}one of {', '.join(known) or 'none'}"
        )


def plain_alias(parsed: Parsed, node: exp.Expression, alias: str) -> str:
    """Return a name given within a query, if it is a plain one: it becomes the name of a column in an engine."""
    try:
        check_name("alias", alias)
    except InvalidParameter as error:
        raise InvalidParameter(f"alias at {parsed.place(node)}", alias, error.rule) from None
    return alias


def check_different(parsed: Parsed, node: exp.Expression, names: Iterable[str]) -> None:
    """Refuse names that occur twice, upper or lower case."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidParameter(f"column at {parsed.place(node)}", name, "a name that occurs once: give it an alias")
        seen.add(name.lower())
