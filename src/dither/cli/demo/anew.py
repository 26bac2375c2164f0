"""The folder of a demonstration: made anew each time, and never one that holds anything else."""

from __future__ import annotations

import shutil
from pathlib import Path

from dither.curator.ledger.anchor import anchors_folder, once_kept_at
from dither.errors import InvalidParameter


def remove_earlier(folder: Path, schema: str) -> None:
    """Remove what an earlier demonstration has left; refuse a folder that is none of its.

    Args:
        folder: where it is made.
        schema: the file by which it is known.

    """
    if folder.exists():
        if not (folder / schema).is_file():
            raise InvalidParameter("folder", str(folder), "new, or the one of an earlier demonstration")
        shutil.rmtree(folder)
        # What is remembered of its ledger goes with it: its people do not exist, and nothing was paid for.
        place = str(folder.resolve() / "home" / "ledger.sqlite")
        while (anchor := once_kept_at(anchors_folder(), place)) is not None:
            for path in anchor.parent.glob(f"{anchor.stem}*"):
                path.unlink()
