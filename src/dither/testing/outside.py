"""Effects of a process on the world around it: files, processes, networks, settings, and work left for later.

One hook for Python's audit events is added the first time that something is watched. It cannot be taken out again, so
it does nothing without a watch. What modules do while they are loaded is left out. What code in other languages
writes by itself raises no events, and is not seen.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dither.testing import process

#: Events that change something outside, or tell it something, by how their names begin.
_TELLING: Final = (
    *("os.", "socket.", "subprocess.", "shutil.", "tempfile.", "syslog.", "pty.", "sqlite3.connect", "mmap.__new__"),
    *("urllib.", "http.client.", "ftplib.", "smtplib.", "imaplib.", "poplib.", "resource.", "webbrowser."),
    *("_thread.start", "sys.settrace", "sys.setprofile", "sys.addaudithook", "gc.get_", "sys._current"),
)
#: Events among these that only look, or that follow another one.
_LOOKING: Final = frozenset(
    {"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr", "sqlite3.connect/handle"}
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: The access of a mapping that cannot be written to: read only, and a copy of one's own.
_OWN_MAPPINGS: Final = (1, 3)
#: Where modules are loaded: the files that are written there are theirs.
_LOADERS: Final = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
#: The most restrictive mask, while the real one is asked for: that is only possible by setting it.
_NOBODY = 0o077


@dataclass(eq=False)
class _Watch:
    """The effects seen so far, and the folders in which everything is allowed."""

    allowed: tuple[str, ...]
    seen: list[str] = field(default_factory=list)
    loaded: dict[bytes, bytes | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Settings:
    """The settings of the whole process: environment, working folder, file mask, context variables, the rest."""

    environment: dict[bytes, bytes]
    folder: str
    mask: int
    context: dict[Any, Any]
    others: dict[str, Any]


_watches: list[_Watch] = []
_is_hooked = False


@contextmanager
def outside(allowed: Sequence[Path] = ()) -> Iterator[list[str]]:
    """Watch the effects of a block on the world around it, each as a text; at the end settings are restored.

    Args:
        allowed: folders in which files may be written, such as the owner's own.

    """
    global _is_hooked
    if not _is_hooked:
        sys.addaudithook(_hook)
        _is_hooked = True
    watch, before = _Watch(tuple(f"{os.path.realpath(one)}{os.sep}" for one in allowed)), _settings()
    later = process.Later()
    _watches.append(watch)
    try:
        yield watch.seen
    finally:
        _watches.remove(watch)
        after = _settings()
        watch.seen += [*_changes(before, after, watch.loaded), *later.added()]
        watch.seen += process.put_back(before.others, after.others)
        _restore(before, after, watch.loaded)


def _hook(event: str, given: tuple[Any, ...]) -> None:
    """Record an event in every watch. It must not raise: that would stop the watched code."""
    if not _watches or not _tells(event):
        return
    if event == "open" and not (isinstance(given[2], int) and given[2] & _WRITING):
        return
    if event == "mmap.__new__" and given[2] in _OWN_MAPPINGS:
        return
    if event.startswith("_thread.start") and isinstance(getattr(given[0], "__self__", None), threading.Thread):
        # It is asked at the end whether it is still alive.
        return
    is_loading = _is_loading()
    for watch in list(_watches):
        if is_loading:
            if event in ("os.putenv", "os.unsetenv"):
                watch.loaded[os.fsencode(given[0])] = os.fsencode(given[1]) if event == "os.putenv" else None
        elif not (watch.allowed and _is_inside(event, given, watch.allowed)):
            watch.seen.append(f"{event}: {', '.join(_shown(one) for one in given)}")


@functools.cache
def _tells(event: str) -> bool:
    """Whether events of a name are looked at; kept, since looking up an address or a frame is an event as well."""
    return event == "open" or (event.startswith(_TELLING) and event not in _LOOKING)


def _is_loading() -> bool:
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename in _LOADERS:
            return True
        frame = frame.f_back
    return False


def _is_inside(event: str, given: tuple[Any, ...], allowed: tuple[str, ...]) -> bool:
    """Whether an event is about files in the folders alone."""
    files = [_path(one) for one in given if isinstance(one, str | bytes | os.PathLike)]
    if event == "open":
        # A mode is a text as well.
        files = [_path(given[0])]
    elif files and event.startswith("os.") and isinstance(given[-1], int) and given[-1] >= 0:
        # Beneath a folder that is open.
        files = [os.path.join(_path(given[-1]), one) for one in files]
    return bool(files) and all(f"{os.path.realpath(one)}{os.sep}".startswith(allowed) for one in files)


def _path(named: Any) -> str:
    """Return the path of a file given by name or by descriptor."""
    if not isinstance(named, int):
        return os.fsdecode(named)
    try:
        return os.readlink(f"/proc/self/fd/{named}")
    except OSError:
        return ""


def _shown(thing: Any) -> str:
    return repr(thing) if isinstance(thing, str | bytes | int | tuple | list | type(None)) else type(thing).__qualname__


def _settings() -> _Settings:
    mask = os.umask(_NOBODY)
    os.umask(mask)
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        folder = ""
    return _Settings(dict(_raw_environment()), folder, mask, dict(contextvars.copy_context()), process.settings())


def _raw_environment() -> dict[Any, Any]:
    """Return the environment as the process keeps it: a copy of all of it, decoded, would be slow."""
    kept: dict[Any, Any] = vars(os.environ)["_data"]
    return kept


def _changes(before: _Settings, after: _Settings, loaded: dict[bytes, bytes | None]) -> list[str]:
    found = [
        f"environment: {name!r} is {after.environment.get(name)!r}"
        for name in sorted(_differing(before.environment, after.environment))
        if not (name in loaded and loaded[name] == after.environment.get(name))
    ]
    if before.folder != after.folder:
        found.append(f"the working folder is {after.folder!r}")
    if before.mask != after.mask:
        found.append(f"the mask of new files is {after.mask:o}")
    for variable, value in after.context.items():
        if variable not in before.context or before.context[variable] is not value:
            found.append(f"the context variable {variable.name!r} is {value!r}")
    return found


def _differing(before: dict[bytes, bytes], after: dict[bytes, bytes]) -> set[bytes]:
    """Return the names whose values differ; two whole environments are compared faster than their items."""
    return set() if before == after else {name for name, _ in before.items() ^ after.items()}


def _restore(before: _Settings, after: _Settings, loaded: dict[bytes, bytes | None]) -> None:
    changed = _differing(before.environment, after.environment) - loaded.keys()
    for name in changed & before.environment.keys():
        os.environb[name] = before.environment[name]
    for name in changed - before.environment.keys():
        del os.environb[name]
    if before.folder and before.folder != after.folder:
        os.chdir(before.folder)
    os.umask(before.mask)
