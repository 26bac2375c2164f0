"""Where a collector keeps reports: one SQLite file, in which a report is on the disk before it is acknowledged.

The random bytes of a report are its key, so that a second delivery changes nothing, also after a crash. Counts of what
was dropped are in the same transaction. Reports are read in blocks: memory does not grow with their number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.local.clients import octets_of
from dither.local.document import Document
from dither.local.estimates import Estimator, Gate, Verdict, block_of
from dither.local.quantities import QuantityEstimator, estimator_of

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS survey (digest BLOB NOT NULL, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reports (nonce BLOB PRIMARY KEY, payload BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dropped (kind TEXT PRIMARY KEY, number INTEGER NOT NULL);
"""
_AT_A_TIME: Final = 2**16


class ReportStore:
    """The reports to one survey, on a disk.

    Args:
        path: of the file; made where there is none.
        document: of the survey; a file of another one is refused.

    """

    def __init__(self, path: str | Path, document: Document) -> None:
        self.document, self._gate = document, Gate(document)
        try:
            self._base = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)
            self._base.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;" + _SCHEMA)
            known = self._base.execute("SELECT digest FROM survey").fetchall()
            if not known:
                self._base.execute("INSERT INTO survey VALUES (?, ?)", (document.digest, document.text))
        except sqlite3.Error as failure:
            raise InvalidParameter("reports", str(path), f"a file of reports that can be written ({failure})") from None
        if known and known != [(document.digest,)]:
            self.close()
            raise InvalidParameter("reports", str(path), "a file of reports to this survey, or a new one")

    @property
    def longest(self) -> int:
        """The number of characters of a report to this survey."""
        return self._gate.longest

    def add(self, texts: Sequence[str | bytes]) -> dict[Verdict, int]:
        """Store those of the arrived strings that are new reports, count the others, and return when that is durable.

        Raises sqlite3.Error where the disk is full or cannot be written; then nothing of it was stored.
        """
        counts = dict.fromkeys(Verdict, 0)
        judged = self._gate.judge(texts)
        self._base.execute("BEGIN IMMEDIATE")
        try:
            for verdict, report in judged:
                found = verdict
                if report is not None:
                    row = (report.nonce, report.payload)
                    added = self._base.execute("INSERT OR IGNORE INTO reports VALUES (?, ?)", row).rowcount
                    found = Verdict.FITS if added else Verdict.REPEATED
                counts[found] += 1
            for verdict, number in counts.items():
                if verdict is not Verdict.FITS and number:
                    self._base.execute(
                        "INSERT INTO dropped VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET number = number + ?",
                        (verdict.value, number, number),
                    )
            self._base.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._base.execute("ROLLBACK")
            raise
        return counts

    def dropped(self) -> Mapping[str, int]:
        """Return how many strings were dropped, by the reason."""
        known = dict(self._base.execute("SELECT kind, number FROM dropped").fetchall())
        return {verdict.value: known.get(verdict.value, 0) for verdict in Verdict if verdict is not Verdict.FITS}

    def payloads(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the payloads of all reports in blocks, one a row."""
        octets = octets_of(self._gate.law.half.size)
        rows = self._base.execute("SELECT payload FROM reports")
        while block := rows.fetchmany(max(1, _AT_A_TIME // octets)):
            yield block_of(b"".join(payload for (payload,) in block), octets)

    def estimator(self) -> Estimator | QuantityEstimator:
        """Return an estimator that has read all reports."""
        found = estimator_of(self.document)
        for block in self.payloads():
            found.add(block)
        return found

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
