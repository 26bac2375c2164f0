"""What a client keeps on its own machine, by address: tokens, and the first key that each service has shown.

Both are in files that their owner alone can read, written whole or not at all, by one process at a time. A file that
cannot be read is never taken for none: a key that was forgotten would be replaced by whichever is shown next.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dither.errors import InvalidParameter

_TOKENS: Final = "tokens.json"
_KEYS: Final = "keys.json"


def configuration() -> Path:
    """Return the folder of a user's configuration."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "dither"


def kept_token(url: str) -> str | None:
    """Return the token that ``dither login`` kept for an address, if it did.

    Args:
        url: of the service.

    """
    return _tokens().get(url.rstrip("/"))


def keep_token(url: str, token: str) -> Path:
    """Keep a token for an address; return the file.

    Args:
        url: of the service.
        token: as the service gave it.

    """
    with _alone():
        return _write(_TOKENS, {**_tokens(), url.rstrip("/"): token})


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
    path = configuration() / _TOKENS
    found = _read(_TOKENS)
    if found and os.stat(path).st_mode & 0o077:
        raise InvalidParameter("tokens", str(path), f"readable by its owner alone: chmod 600 {path}")
    return found


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
        rule = f"a JSON object of {what} by address; mend {path}, or remove it to begin anew"
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
