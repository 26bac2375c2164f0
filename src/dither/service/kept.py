"""What a client keeps on its own machine, by address: tokens, and the first key that each service has shown.

Both are in files that their owner alone can read, written whole or not at all, by one process at a time. A file that
cannot be read is never taken for none: a key that was forgotten would be replaced by whichever is shown next. A token
is sent to the address that it was stored for and to no other, and a file of tokens that others can read is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from dither.errors import InvalidParameter

_TOKENS: Final = "tokens.json"
#: Written by hand: lines of an address and its token.
_BY_HAND: Final = "token"
_PORTS: Final = {"http": 80, "https": 443}
_KEYS: Final = "keys.json"


def configuration() -> Path:
    """Return the folder of a user's configuration."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "dither"


def kept_token(url: str) -> str | None:
    """Return the token that ``dither login`` kept for an address, else the one that the file ``token`` has for it.

    Args:
        url: of the service.

    """
    found = [token for place, token in _tokens().items() if _is_same(place, url)]
    found = found or [token for place, token in _written_by_hand() if _is_same(place, url)]
    return found[0] if found else None


def keep_token(url: str, token: str) -> Path:
    """Keep a token for an address; return the file.

    Args:
        url: of the service.
        token: as the service gave it.

    """
    with _alone():
        others = {place: kept for place, kept in _tokens().items() if not _is_same(place, url)}
        return _write(_TOKENS, {**others, url.rstrip("/"): token})


def first_key(url: str, shown: str, *, instead_of: str | None = None) -> str:
    """Return the key that was seen first at an address, which is the one that is shown where none was.

    Args:
        url: of the service.
        shown: the key that it shows now.
        instead_of: the key so far, where it has signed the one that is shown; nothing changes if it is another.

    """
    known = _read(_KEYS).get(url)
    if known not in (None, instead_of):
        return known
    with _alone():
        # Whoever else came meanwhile was first.
        kept = _read(_KEYS)
        if kept.get(url) in (None, instead_of):
            _write(_KEYS, kept := {**kept, url: shown})
        return kept[url]


def keys_file() -> Path:
    """Return where the first keys are kept."""
    return configuration() / _KEYS


def _tokens() -> dict[str, str]:
    _check_mode(configuration() / _TOKENS)
    return _read(_TOKENS)


def _written_by_hand() -> list[tuple[str, str]]:
    """Return the addresses and tokens of the file ``token``; one without an address is sent nowhere."""
    path = configuration() / _BY_HAND
    _check_mode(path)
    try:
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        lines = [[path.name]]
    found = [(line[0], line[1]) for line in lines if len(line) == 2 and urlsplit(line[0]).scheme in _PORTS]
    if len(found) != sum(1 for line in lines if line):
        rule = f"made of lines that have the address of the service and its token: edit {path}"
        raise InvalidParameter("file", _BY_HAND, rule)
    return found


def _check_mode(path: Path) -> None:
    """Refuse a file of tokens that others can read or change."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if stat.S_ISREG(mode) and mode & 0o077:
        raise InvalidParameter("tokens", str(path), f"readable by its owner alone: chmod 600 {path}")


def _is_same(one: str, other: str) -> bool:
    """Whether two texts are the address of one service: scheme, host, port and path are the same."""
    return _place(one) == _place(other)


def _place(url: str) -> tuple[str, ...]:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return (url,)
    return parts.scheme, parts.hostname or "", str(port), parts.path.rstrip("/"), parts.query


def _read(name: str) -> dict[str, str]:
    """Return what a file says by address: nothing where there is no file, and an error where it says anything else."""
    path = configuration() / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        found = None
    if not (isinstance(found, dict) and all(isinstance(one, str) for one in found.values())):
        what = "tokens" if name == _TOKENS else "the keys that services showed first"
        rule = f"a JSON object of {what} by address; repair {path}, or remove it to start again"
        raise InvalidParameter("file", name, rule)
    return found


def _write(name: str, content: dict[str, str]) -> Path:
    """Write a file that its owner alone reads, whole or not at all."""
    path = configuration() / name
    draft = path.with_name(f"{name}.draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return path


@contextmanager
def _alone() -> Iterator[None]:
    """Let one process or thread at a time read and write the files."""
    configuration().mkdir(parents=True, exist_ok=True)
    handle = os.open(configuration() / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
