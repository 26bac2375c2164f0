"""Rows of public tables by themselves: read as they are, and never part of a query of private rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dither.data.expressions import Kind
from dither.data.relations import Relation
from dither.data.schema import Table
from dither.errors import InvalidParameter
from dither.exact import typed


@dataclass(frozen=True)
@typed
class PublicScan(Relation):
    """All rows of a declared public table, to be read as they are: no query of private rows may contain it."""

    table: Table

    def __post_init__(self) -> None:
        """Refuse a private table."""
        if not self.table.is_public:
            raise InvalidParameter("table", self.table.name, "a public table")

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The declared columns."""
        return self.table.kinds

    @property
    def has_persons(self) -> bool:
        """Public rows are nobody's."""
        return False
