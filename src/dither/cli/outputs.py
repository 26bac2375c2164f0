"""Files that a verb is told to write: checked before anything is paid for, and written whole or not at all.

What was paid for is never lost with a file. If it cannot be written or shown after all, because a disk is full or a
pipe has closed, the complaint names the key under which the ledger keeps the answer.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import stat
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dither.curator.protected_paths import identity, is_kept, kept_by
from dither.errors import InvalidParameter, MissingExtra, NotDelivered, NotFound

if TYPE_CHECKING:
    from dither.curator.folder import Curator


class Needed(NamedTuple):
    """A module that a kind of file needs, what for, and the extra that brings it."""

    module: str
    feature: str
    extra: str


FRAMES = Needed("pyarrow", "Arrow tables", "frames")
DRAWN_FRAMES = Needed("pyarrow", "CSV and Parquet files of drawn rows", "frames")


class Output(NamedTuple):
    """A file that is to be written: the option that names it, where it goes, how its name may end, what it needs."""

    option: str
    path: Path
    endings: tuple[str, ...] = ()
    needs: tuple[Needed, ...] = ()


def table_output(option: str, path: Path, endings: tuple[str, ...]) -> Output:
    """Return the file of a result with intervals; HTML is a page with pictures of it."""
    needs = (FRAMES,) if path.suffix.lower() == ".parquet" else ()
    return Output(option, path, endings, needs)


def rows_output(option: str, path: Path) -> Output:
    """Return the file of drawn rows."""
    needs = () if path.suffix.lower() == ".json" else (DRAWN_FRAMES,)
    return Output(option, path, (".csv", ".parquet", ".json"), needs)


def new_key() -> str:
    """Return a name for a request that nobody has named."""
    return uuid.uuid4().hex


def check_outputs(outputs: Sequence[Output]) -> None:
    """Refuse files that could not be written, before anything is paid for; nothing is left behind.

    Whether a file may be written is found by opening it: a file that exists is not changed, one that does not is
    removed again.
    """
    seen: dict[object, Output] = {}
    for output in outputs:
        option, path, endings, needs = output
        if endings and path.suffix.lower() not in endings:
            raise InvalidParameter(option, str(path), f"a file ending in {', '.join(endings)}")
        rule = _broken_rule(path)
        if rule is not None:
            raise InvalidParameter(option, str(path), rule)
        for needed in needs:
            if importlib.util.find_spec(needed.module) is None:
                raise MissingExtra(needed.feature, needed.extra)
        other = seen.setdefault(identity(path), output)
        if other is not output:
            raise InvalidParameter(option, str(path), f"another file than that of {other.option}")


def check_screen() -> None:
    """Refuse to answer into nothing, before anything is paid for."""
    if sys.stdout is None:
        raise InvalidParameter("standard output", "closed", "open: the answer is shown there")


def keep_files(outputs: Sequence[Output], *, force: bool) -> None:
    """Refuse to write over files that are there, unless that was asked for.

    Args:
        outputs: what is to be written.
        force: whether it was.

    """
    for option, path, _, _ in outputs:
        if not force and path.exists():
            raise InvalidParameter(option, str(path), "a new file; --force overwrites an existing one")


def keep_sources(outputs: Sequence[Output], curator: Curator) -> None:
    """Refuse to write over the private rows themselves, or over anything that a curator's folder keeps.

    Args:
        outputs: what is to be written.
        curator: whose rows, settings and ledger stay.

    """
    kept = kept_by(curator) if outputs else frozenset()
    for option, path, _, _ in outputs:
        if is_kept(path, kept):
            rule = "another file than those that hold data sets or that the curator's folder keeps"
            raise InvalidParameter(option, str(path), rule)


def keep_known(outputs: Sequence[Output], home: Path | None = None) -> None:
    """Refuse the same where a verb opens no curator's folder: of the one that it would find, and of those around files.

    Args:
        outputs: what is to be written.
        home: the curator's folder, if it was said.

    """
    from dither.curator.folder import SETTINGS, Curator, find_folder

    homes = set()
    with suppress(NotFound):
        homes.add(find_folder(home))
    for output in outputs:
        homes |= {folder for folder in Path(os.path.realpath(output.path)).parents if (folder / SETTINGS).is_file()}
    for folder in sorted(homes):
        with Curator.open(folder) as curator:
            keep_sources(outputs, curator)


def write_whole(path: Path, write: Callable[[Path], object]) -> Path:
    """Write a file that appears whole or not at all: what was there before stays until then.

    Args:
        path: where it goes.
        write: writes to the path that it is given, which ends alike.

    """
    target = Path(os.path.realpath(path))
    if not os.access(target.parent, os.W_OK):
        write(target)
        return path
    draft = target.with_name(f".{uuid.uuid4().hex}{target.suffix}")
    try:
        write(draft)
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return path


@contextmanager
def delivering(key: str) -> Iterator[None]:
    """Name the stored answer if what was paid for can be neither written nor shown.

    Args:
        key: under which the ledger keeps it.

    """
    reason = None
    try:
        yield
    except NotDelivered:
        raise
    except OSError as problem:
        place = "" if problem.filename is None else f" ({problem.filename})"
        reason = f"{problem.strerror or type(problem).__name__}{place}"
    except Exception as problem:
        reason = str(problem) or type(problem).__name__
    if reason is not None:
        raise NotDelivered(key, reason)


def _broken_rule(path: Path) -> str | None:
    """Return what is wrong with a place for a file, if anything is."""
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            return "a file, and not a folder"
        if not target.parent.is_dir():
            return f"in a folder that exists: 'mkdir -p {shlex.quote(str(path.parent))}' makes it"
        if target.exists():
            if not target.is_file():
                return "a plain file"
            os.close(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))
        else:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            os.unlink(target)
    except OSError as problem:
        return f"a file that may be written here ({problem.strerror})"
    except ValueError:
        return "a path that the system can name"
    return None
