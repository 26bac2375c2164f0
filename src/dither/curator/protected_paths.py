"""What a curator's folder keeps and nothing else may be written over: rows, schemas, settings, streams, ledger, anchor.

Files and folders are compared by what they are (device and inode), so that a link of either kind, another spelling of a
path or a mounted folder is known for what it leads to. What is not there yet is compared by its resolved path.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dither.curator.editions import current
from dither.curator.folder import SETTINGS, Curator
from dither.curator.ledger import ledger_files
from dither.errors import EngineUnavailable


def kept_by(curator: Curator) -> frozenset[object]:
    """Return what is equal to ``identity`` of everything that is kept, owners' files that were added included.

    Args:
        curator: an open folder.

    """
    return frozenset(identity(path) for path in _paths(curator))


def is_kept(path: Path, kept: frozenset[object]) -> bool:
    """Return whether writing to a path would write over something that is kept, or into a folder that is.

    Args:
        path: where something is to be written.
        kept: as ``kept_by`` returns it.

    """
    target = Path(os.path.realpath(path))
    return any(identity(place) in kept for place in (path, target, *target.parents))


def identity(path: Path) -> object:
    """Return what is equal for two names of one file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


def _paths(curator: Curator) -> Iterator[Path]:
    home = curator.folder
    yield home / SETTINGS
    yield from ledger_files(curator.ledger_place)
    for folder in (home / "data", home / "datasets", home / "streams", curator.anchors):
        yield folder
        # A hard link elsewhere to a file in it is that file.
        yield from folder.rglob("*")
    for dataset in curator.datasets():
        for table in dataset.tables:
            for place in (str(home / source) for source in table.sources):
                # A name with brackets in it may be a file's own; what a server calls a table is none.
                yield from (Path(path) for path in (place, *glob.glob(place)) if os.path.exists(path))
        with suppress(EngineUnavailable):
            edition = current(home, dataset.name)
            for part in edition.tables.values() if edition is not None else ():
                yield from (Path(file.path) for file in (*part.origins, *part.files))
