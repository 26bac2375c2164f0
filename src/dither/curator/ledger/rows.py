"""A database as the ledger sees it inside a transaction: constant statements, and values that are only parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any


class Rows(ABC):
    """A database inside a transaction; placeholders are question marks."""

    #: Where the database is, for messages.
    place: str

    @abstractmethod
    def all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return every row that a query gives."""

    @abstractmethod
    def do(self, statement: str, *values: Any) -> None:
        """Run a statement that gives no rows."""

    @abstractmethod
    def each(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement that gives no rows, once for every tuple of values."""

    def one(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row, if there is any."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None
