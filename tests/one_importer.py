"""One database in memory for all files that the tests of a room import: to start one takes longer than to read a file.

Importing keeps nothing in its database, so that one does for all. That each import has a database of its own is left
to the tests of importing; the rooms above add a small file for nearly every test, and let imports take turns.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: The modules that know it by name.
_USERS = ("importing.conversion", "importing.fit", "importing.references", "facts")


@functools.cache
def _database(process: int) -> Any:
    """Return the database of a process. A child has one of its own: threads do not survive a fork."""
    from dither.data.importing.conversion import importing_connection

    opened = contextlib.ExitStack()
    # The folder is made if something must be put aside, which no small file asks for.
    connection = opened.enter_context(importing_connection(Path(tempfile.gettempdir()) / f"importing-{process}"))

    def close() -> None:
        if os.getpid() == process:
            opened.close()
            _database.cache_clear()

    atexit.register(close)
    return connection


@contextlib.contextmanager
def _in_turn(workshop: Path) -> Iterator[Any]:
    with _database(os.getpid()).cursor() as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection


@contextlib.contextmanager
def one_importer() -> Iterator[None]:
    """Let imports take turns at one database."""
    _database(os.getpid())
    with pytest.MonkeyPatch.context() as patch:
        for user in _USERS:
            patch.setattr(f"dither.data.{user}.importing_connection", _in_turn)
        yield
