"""Bringing the tables of a ledger to the present version, one version after another, inside one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from dither.curator.ledger.chain import first_link
from dither.curator.ledger.rows import Rows
from dither.curator.ledger.transaction import moment
from dither.errors import LedgerUnavailable


def apply_versions(rows: Rows, versions: Mapping[int, tuple[str, ...]], clock: Callable[[], float]) -> None:
    """Apply every version above the one that the tables have; a ledger from the future is refused."""
    row = rows.one("SELECT max(version) FROM schema_versions")
    present = int(row[0]) if row is not None and row[0] is not None else 0
    if present > max(versions):
        raise LedgerUnavailable(rows.place, f"it has version {present}, and this package knows up to {max(versions)}")
    for version in range(present + 1, max(versions) + 1):
        for statement in versions[version]:
            rows.do(statement)
        rows.do("INSERT INTO schema_versions (version, since) VALUES (?, ?)", version, moment(clock))
    if present == 0:
        ledger = uuid.uuid4().hex
        rows.do("INSERT INTO head (one, ledger, seq, hash) VALUES (1, ?, 0, ?)", ledger, first_link(ledger))
