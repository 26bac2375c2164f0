"""One ledger for several machines: what one of them declared is known to the others, where its rows can be reached.

A machine that adds a data set keeps its declaration in the ledger's database, without rows and without passwords. The
others take it over where its rows are on a server; rows in files are those of the machine that imported them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dither.curator.adding import drafted, one_at_a_time, schema_of, show
from dither.curator.ledger import Ledger
from dither.curator.ledger.governed import GovernedBooks
from dither.curator.marks import remember
from dither.data.files import loads
from dither.errors import EngineUnavailable, InvalidParameter, InvalidSchema

_FILES = "duckdb"


def keep_declared(ledger: Ledger, name: str, text: str) -> None:
    """Let other machines know what is declared about a data set.

    Args:
        ledger: that they share.
        name: with which the data set is registered.
        text: its schema.

    """
    if isinstance(ledger, GovernedBooks) and "://" in ledger.place:
        ledger.declare(name, text)


def learn_declared(ledger: Ledger, home: Path) -> None:
    """Take over what other machines have declared; what cannot be reached from here is left alone.

    Args:
        ledger: that they share.
        home: this machine's folder.

    """
    if not isinstance(ledger, GovernedBooks) or "://" not in ledger.place:
        return
    standings = ledger.standings()
    for name, text in ledger.declared().items():
        if not standings[name].is_retired and not _is_known(home, name, text):
            with suppress(EngineUnavailable, InvalidParameter, InvalidSchema):
                _take_over(home, name, text)


def _is_known(home: Path, name: str, text: str) -> bool:
    try:
        return schema_of(home, name).read_text(encoding="utf-8") == text
    except OSError:
        return False


def _take_over(home: Path, name: str, text: str) -> None:
    declared = loads(text)
    if declared.engine.startswith(_FILES):
        return
    with one_at_a_time(home), drafted(home, declared, text) as draft:
        if not _is_known(home, name, text):
            remember(home, name, draft.edition.lasting, is_first=not schema_of(home, name).exists())
            draft.keep()
            show(home, name)
