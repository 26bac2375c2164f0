"""What stays known of all rows that were ever added, whatever becomes of their editions.

::

    data/marks.jsonl    one line for each time that a data set was added: digests of bytes, and what servers call rows

An edition knows its own rows and those before it, but it is one file, and each new one takes its place. This file is
only appended to, before the rows can be asked about, so that an edition that was damaged or lost forgets nothing. It
holds no path and no row. A line that is no line is refused; only the last one may be torn, by an add that died with it
and registered nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

from dither.data.importing.conversion import keep_on_disk
from dither.errors import EngineUnavailable

FILE: Final = "marks.jsonl"


def remembered(home: Path) -> dict[str, set[str]]:
    """Return by what the rows of each data set can be known, for all that were added since this file is kept.

    Args:
        home: the curator's folder.

    """
    known: dict[str, set[str]] = {}
    lines = _content(home).split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            name, is_first, marks = str(record["dataset"]), record["first"] is True, set(map(str, record["marks"]))
        except (ValueError, KeyError, TypeError):
            name = ""
        if not name:
            raise EngineUnavailable(f"{_path(home)} is damaged in line {number}; restore it from a backup")
        known[name] = marks if is_first else known.get(name, set()) | marks
    return known


def remember(home: Path, dataset: str, marks: Collection[str], *, is_first: bool) -> None:
    """Append by what rows can be known; when this returns it is on disk. Only whoever holds the folder may do so.

    Args:
        home: the curator's folder.
        dataset: whose rows.
        marks: of rows that are about to be added, or were.
        is_first: whether the name has no budget yet, so that what an add that failed had written is of no account.

    """
    line = json.dumps({"dataset": dataset, "first": is_first, "marks": sorted(marks)}) + "\n"
    whole = _content(home)
    reason = ""
    try:
        descriptor = os.open(_path(home), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            # Over the torn line of an add that died, if there is one.
            stream.seek(whole.rfind(b"\n") + 1)
            stream.truncate()
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
        keep_on_disk(home / "data")
    except OSError as error:
        reason = error.strerror or "it is not writable"
    if reason:
        raise EngineUnavailable(f"{_path(home)} cannot be written to ({reason})")


def _path(home: Path) -> Path:
    return home / "data" / FILE


def _content(home: Path) -> bytes:
    reason = ""
    try:
        return _path(home).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        reason = error.strerror or "it is not readable"
    raise EngineUnavailable(f"{_path(home)} cannot be read ({reason})")
