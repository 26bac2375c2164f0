"""Results that are written once: whoever wrote a stored answer does not read it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dither.lift.stored import LARGEST_ANSWER
from dither.publish.queries import QueryResult


class WrittenOnce:
    """The two ends of an offer of a table: what is stored, and what is made of what was stored.

    A result is returned only for the very bytes that were made of it, so that what a caller gets is what the ledger
    has. Bytes of another run are read.

    Args:
        present: makes the table of what was released.

    """

    def __init__(self, present: Callable[[Any], QueryResult]) -> None:
        self._present = present
        self._written: tuple[bytes, QueryResult] | None = None

    def forget(self) -> None:
        """Let go of a result that could not be stored: it is nobody's."""
        self._written = None

    def write(self, out: Any) -> bytes:
        """Return the bytes that are stored, of as many rows as fit."""
        result, text = self._present(out).stored_within(LARGEST_ANSWER)
        written = text.encode()
        self._written = written, result
        return written

    def read(self, stored: bytes, receipt: str) -> QueryResult:
        """Return the table in stored bytes, with the ledger entry of its charge."""
        mine, self._written = self._written, None
        if mine is not None and mine[0] == stored:
            return replace(mine[1], receipt=receipt)
        return QueryResult.stored(stored, receipt)
