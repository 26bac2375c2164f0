"""What shows that something takes a while: on standard error, where somebody looks, and nowhere else.

A release shows how long it has taken, and no share of it: how far a mechanism has come may follow from private rows,
or from a number of runs that must stay secret. Files, audits and comparisons have a share and a time left.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dither.cli.console import errors
from dither.errors import DitherError

if TYPE_CHECKING:
    from dither.data.importing.named_files import NamedFiles

#: What shows the release that is being made.
_latest: list[Progress] = []


def progress(text: str) -> AbstractContextManager[Any]:
    """Return what shows that a release is being made, and for how long.

    Args:
        text: what is done, in a word.

    """
    if not sys.stderr.isatty():
        return nullcontext()
    shown = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=errors, transient=True
    )
    shown.add_task(text, total=None)
    _latest[:] = [shown]
    return shown


@contextmanager
def paused() -> Iterator[None]:
    """Show nothing inside the block, so that a question can be read."""
    running = [one for one in _latest if one.live.is_started]
    for one in running:
        one.stop()
    try:
        yield
    finally:
        for one in running:
            one.start()


def share(*, is_shown: bool = True) -> Progress:
    """Return a bar with what is done, of how much, which share that is, and how much time is left.

    Args:
        is_shown: whether anything is shown, to whoever looks.

    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TaskProgressColumn())
    is_seen = is_shown and sys.stderr.isatty()
    return Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=errors, transient=True, disable=not is_seen
    )


@contextmanager
def reading(schema: Path | NamedFiles) -> Iterator[None]:
    """Show how much of the files of a schema is read inside the block, to the owner who adds them.

    Args:
        schema: the file that names them, or themselves.

    """
    if not sys.stderr.isatty():
        yield
        return
    from dither.data.importing.sources import telling

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TaskProgressColumn())
    with Progress(*columns, TimeRemainingColumn(), console=errors, transient=True) as shown:
        task = shown.add_task("importing", total=size_of(schema))
        with telling(lambda size: shown.advance(task, size)):
            yield


def size_of(schema: Path | NamedFiles) -> int | None:
    """Return how many bytes the files of a schema have; None where that cannot be said.

    Args:
        schema: the file that names them, or themselves.

    """
    from dither.data.files import load_schema
    from dither.data.importing.sources import files_of

    with suppress(DitherError, OSError):
        if not isinstance(schema, Path):
            return sum(os.stat(file).st_size for file in schema.files) or None
        dataset = load_schema(schema)
        if dataset.engine.startswith("duckdb"):
            files = [file for table in dataset.tables for file in files_of(table, schema.resolve().parent)]
            return sum(os.stat(file).st_size for file in files) or None
    return None
