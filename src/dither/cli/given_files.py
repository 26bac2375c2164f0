"""What was typed after ``dither add``: one schema, or the data files of one table."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Sequence
from pathlib import Path

from dither.cli.remote import is_elsewhere
from dither.data.importing.named_files import NamedFiles, named_files
from dither.data.importing.sources import is_data
from dither.errors import InvalidParameter


def given_files(files: Sequence[Path]) -> NamedFiles | None:
    """Return the data files that were typed; None for a schema, and for what only a service can look up."""
    if len(files) == 1:
        is_pattern = glob.has_magic(str(files[0])) and not files[0].exists()
        if not (files[0].is_dir() or is_pattern) or is_elsewhere():
            _check_exists(files[0])
            if not is_data(files[0]):
                return None
            return NamedFiles.one(files[0]) if is_elsewhere() else named_files(files[0], "schema")
    elif is_elsewhere():
        raise InvalidParameter("schema", str(files[1]), "one schema, .yaml: rows are never sent to a service")
    for path in files:
        if not glob.has_magic(str(path)):
            _check_exists(path, may_be_folder=True)
        if path.suffix.lower() in (".yaml", ".yml"):
            raise InvalidParameter("schema", str(path), "alone: a schema names its files itself")
    return named_files(files, "schema")


def _check_exists(path: Path, *, may_be_folder: bool = False) -> None:
    """Refuse a file that does not exist before anything else, with those beside it that could be meant."""
    if path.is_file() or "://" in str(path) or is_elsewhere():
        return
    if path.is_dir():
        if may_be_folder:
            return
        raise InvalidParameter("schema", str(path), "a file, and not a folder")
    folder = path.parent
    beside = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, 1, 0.7)
    meant = f": did you mean {str(folder / near[0])!r}?" if near else ""
    raise InvalidParameter("schema", str(path), f"a file that exists{meant}")
