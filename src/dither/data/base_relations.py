"""What every relation is: rows with columns, each row a person's or a unit of its own. See ``relations``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, TypeGuard, TypeVar

from dither.data.expressions import Kind, Value
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.data.engines.emit_relations import Printed, RelationEmitter

R = TypeVar("R", bound="type[OfKind]")

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


class OfKind(Over):
    """A relation that a kind of data adds to the closed tree: it brings its meaning, its SQL and its width."""

    #: What an error about its width calls it.
    called: ClassVar[str]

    def meaning(self, rows: list[dict[str, Value]]) -> list[dict[str, Value]]:
        """Return its rows in plain Python, of those of the relation below."""
        raise NotImplementedError

    def printed(self, emitter: RelationEmitter, below: Printed) -> Printed:
        """Return its SELECT over that of the relation below."""
        raise NotImplementedError

    @property
    def held(self) -> tuple[tuple[str, ...], ...]:
        """The columns below that are held side by side, each time that rows are: when hashed, and when sorted."""
        return (tuple(self.relation.columns),) * 2

    @property
    def unchanged(self) -> Mapping[str, str]:
        """For each of its columns whose cells are those of a column below, the name of that one."""
        return {name: name for name in self.columns}


_OF_KINDS: Final[set[type]] = set()


def of_kind(relation: R) -> R:
    """Add a relation to the closed tree."""
    _OF_KINDS.add(relation)
    return relation


def is_of_kind(relation: object) -> TypeGuard[OfKind]:
    """Return whether a relation is one that a kind of data added to the closed tree."""
    return type(relation) in _OF_KINDS


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
