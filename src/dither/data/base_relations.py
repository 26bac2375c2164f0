"""What every relation is: rows with columns, each row a person's or a unit of its own. See ``relations``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dither.data.expressions import Kind
from dither.errors import InvalidParameter

#: The hidden column that holds the privacy id; no column of a schema may have this name.
PERSON: Final = "__person"


class Relation:
    """Rows and their columns."""

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The visible columns, in order, and their kinds."""
        raise NotImplementedError

    @property
    def has_persons(self) -> bool:
        """Whether every row belongs to a person; otherwise every row is its own unit."""
        raise NotImplementedError


class Over(Relation):
    """A relation over another one, which keeps its columns and people by default."""

    relation: Relation

    @property
    def columns(self) -> Mapping[str, Kind]:
        """Those of the relation below."""
        return self.relation.columns

    @property
    def has_persons(self) -> bool:
        """As the relation below."""
        return self.relation.has_persons


def distinct_columns(pairs: list[tuple[str, Kind]]) -> Mapping[str, Kind]:
    """Return columns and their kinds; refuse a name that occurs twice."""
    seen: dict[str, Kind] = {}
    for name, kind in pairs:
        if name in seen or name == PERSON:
            raise InvalidParameter("column", name, "a name that occurs once")
        seen[name] = kind
    return MappingProxyType(seen)


def need_persons(relation: Relation, what: str) -> None:
    """Refuse rows that do not belong to people."""
    if not relation.has_persons:
        raise InvalidParameter("unit", "a row", f"a person for {what}: declare the privacy id of the table")
