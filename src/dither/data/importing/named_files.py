"""Files that their owner names as one table: one file, several, a folder, or a pattern that no shell has expanded."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dither.data.importing.sources import files_below, is_data, one_line, unknown_kind
from dither.errors import EngineUnavailable, InvalidParameter


@dataclass(frozen=True)
class NamedFiles:
    """Files that are one table.

    Args:
        source: what a schema says of them.
        files: resolved, at least one.
        typed: as they were named.

    """

    source: str
    files: tuple[str, ...]
    typed: tuple[str, ...]

    @classmethod
    def one(cls, path: str | Path) -> Self:
        """Return a file that is a table."""
        found = _resolved(Path(path), "path")
        return cls(found, (found,), (str(path),))

    @property
    def first(self) -> Path:
        """The file whose names of columns, and whose types, are proposed."""
        return Path(self.files[0])

    def __str__(self) -> str:
        return " ".join(self.typed)


def named_files(given: str | Path | Sequence[str | Path], parameter: str) -> NamedFiles:
    """Return the files that an owner names; a path that exists is itself, also where it reads like a pattern.

    Args:
        given: a path, a pattern, a folder, or several of them.
        parameter: what a refusal names.

    """
    said = [given] if isinstance(given, str | Path) else list(given)
    if not said or not all(isinstance(one, str | Path) for one in said):
        raise InvalidParameter(parameter, said, "the path of a file or folder, a pattern, or a list of them")
    if len(said) == 1 and Path(said[0]).expanduser().is_file():
        only = _resolved(Path(said[0]).expanduser(), parameter)
        return NamedFiles(glob.escape(only), (only,), (str(said[0]),))
    sources, files = [], []
    for one in said:
        source, found = _of_one(one, parameter)
        sources.append(source)
        files += found
    for place, file in enumerate(files):
        if not is_data(file):
            raise EngineUnavailable(unknown_kind(file))
        if file in files[:place]:
            raise InvalidParameter(parameter, file, "named once: its rows would count twice")
    return NamedFiles("\n".join(sources), tuple(files), tuple(map(str, said)))


def _of_one(said: str | Path, parameter: str) -> tuple[str, list[str]]:
    path = Path(said).expanduser().absolute()
    real = _resolved(path, parameter)
    if path.is_dir():
        # The stroke says that it is a folder, which may hold text.
        return f"{glob.escape(real)}/", _below(path, parameter)
    if path.exists():
        return glob.escape(real), [real]
    found = []
    for place in map(Path, sorted(glob.glob(str(path)))):
        found += _below(place, parameter) if place.is_dir() else [_resolved(place, parameter)]
    if not found:
        if not glob.has_magic(str(said)):
            raise EngineUnavailable(f"{said} is no file")
        raise InvalidParameter(parameter, str(said), "a pattern that some file fits")
    return str(path), found


def _resolved(path: Path, parameter: str) -> str:
    """Return a path without links; one with a line break is refused, because a schema lists paths one a line."""
    found = str(path.resolve())
    if not one_line(found):
        raise InvalidParameter(parameter, found, "a path without line breaks: rename the file or folder")
    return found


def _below(folder: Path, parameter: str) -> list[str]:
    found = files_below(folder)
    for file in found:
        _resolved(Path(file), parameter)
    if not found:
        raise InvalidParameter(parameter, str(folder), "a folder with files; this one is empty")
    return found
