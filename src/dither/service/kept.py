"""What a client keeps on its own machine: tokens by address, in a file that its owner alone can read."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dither.errors import InvalidParameter


def configuration() -> Path:
    """Return the folder of a user's configuration."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "dither"


def kept_token(url: str) -> str | None:
    """Return the token that ``dither login`` kept for an address, if it did.

    Args:
        url: of the service.

    """
    found = _tokens().get(url.rstrip("/"))
    return found if isinstance(found, str) else None


def keep_token(url: str, token: str) -> Path:
    """Keep a token for an address; return the file.

    Args:
        url: of the service.
        token: as the service gave it.

    """
    path = configuration() / "tokens.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({**_tokens(), url.rstrip("/"): token}, file, indent=1)
    draft.replace(path)
    return path


def _tokens() -> dict[str, object]:
    path = configuration() / "tokens.json"
    try:
        mode, found = os.stat(path).st_mode, json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if mode & 0o077:
        raise InvalidParameter("tokens", str(path), f"readable by its owner alone: chmod 600 {path}")
    return found if isinstance(found, dict) else {}
