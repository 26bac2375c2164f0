"""The ledger: budgets that outlive processes, and every debit ever made to them.

Belongs here: what makes a debit durable before noise is drawn and an answer durable before it is sent, in whatever
database; the chain and the anchor by which tampering and restored backups are noticed. Does not belong here: how a loss
is priced, or what an answer means. ``docs/theory/ledger.md`` states what is durable when, and proves it.

>>> import tempfile, pathlib
>>> from dither.privacy import PureDP
>>> with tempfile.TemporaryDirectory() as folder:
...     with open_ledger(pathlib.Path(folder) / "ledger.db", anchors=pathlib.Path(folder) / "anchors") as ledger:
...         ledger.register("visits", budget=PureDP(1), unit="rows of one person")
...         ana = Account("visits", "ana")
...         reservation = ledger.reserve(ana, "first", "digest of the request", PureDP("1/4"))
...         receipt = ledger.complete(reservation, b"42")       # drawn only now, and stored before it is sent
...         again = ledger.reserve(ana, "first", "digest of the request", PureDP("1/4"))
...         print(again.answer, "|", ledger.balance("visits").left, "left |", ledger.verify().is_intact)
b'42' | epsilon = 0.75 left | True
"""

from __future__ import annotations

import os
from pathlib import Path

from dither.curator.ledger.anchor import anchors_folder
from dither.curator.ledger.interface import (
    MOST_ATTEMPTS,
    OWNER,
    WAIT_SECONDS,
    Account,
    Balance,
    Entry,
    Ledger,
    Receipt,
    Reservation,
    Stored,
    Verification,
)
from dither.curator.ledger.standing import Standing
from dither.errors import InvalidParameter

__all__ = [
    "MOST_ATTEMPTS",
    "OWNER",
    "WAIT_SECONDS",
    "Account",
    "Balance",
    "Entry",
    "Ledger",
    "Receipt",
    "Reservation",
    "Standing",
    "Stored",
    "Verification",
    "accept_restored",
    "open_ledger",
]

_SQLITE = "sqlite:///"
#: What SQLite and the ledger keep beside its file, by what is put behind its name.
_BESIDE = ("", "-wal", "-shm", "-journal", "-queue", "-post", "-holds")
_POSTGRES = ("postgresql://", "postgres://")


def open_ledger(place: str | os.PathLike[str], *, anchors: str | os.PathLike[str] | None = None) -> Ledger:
    """Open a ledger, or begin one where there is none.

    Args:
        place: a path or ``sqlite:///path`` for a file, ``postgresql://...`` for a database.
        anchors: the folder that remembers ledgers; else as DITHER_ANCHORS says, else the user's state folder. Keep it
            where a restored backup of the ledger does not reach it.

    Raises:
        LedgerBehindAnchor: the ledger has forgotten what its anchor remembers; ``accept_restored`` goes on with it.
        LedgerUnavailable: it cannot be read and written durably here.
        LedgerCorrupted: it is damaged, or no ledger.

    """
    return _open(place, anchors, None)


def ledger_files(place: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return all files that a ledger may consist of, whether or not they are there; none where it is in a database.

    Args:
        place: as for ``open_ledger``.

    """
    text = os.fspath(place).removeprefix(_SQLITE)
    if "://" in text:
        return ()
    # SQLite puts its own files beside what a link leads to.
    return tuple(Path(base + ending) for base in (text, os.path.realpath(text)) for ending in _BESIDE)


def accept_restored(
    place: str | os.PathLike[str], *, reason: str, anchors: str | os.PathLike[str] | None = None
) -> Ledger:
    """Open a ledger that was restored from a backup on purpose, and debit what the anchor says it has forgotten.

    The answers given since the backup are lost: a retry of one of them is debited again, as a new request.

    Args:
        place: as for ``open_ledger``.
        reason: who decided it and why; the chain keeps it.
        anchors: as for ``open_ledger``.

    Raises:
        InvalidParameter: the ledger is not behind its anchor.

    """
    return _open(place, anchors, reason)


def _open(place: str | os.PathLike[str], anchors: str | os.PathLike[str] | None, reason: str | None) -> Ledger:
    text = os.fspath(place)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidParameter("place", place, "a path, sqlite:///path or postgresql://...")
    folder = anchors_folder(anchors)
    if text.startswith(_POSTGRES):
        from dither.curator.ledger.postgres import PostgresLedger

        return PostgresLedger(text, folder, restored_because=reason)
    path = text.removeprefix(_SQLITE)
    if "://" in path:
        raise InvalidParameter("place", place, "a path, sqlite:///path or postgresql://...")
    from dither.curator.ledger.sqlite import SqliteLedger

    return SqliteLedger(Path(path), folder, restored_because=reason)
