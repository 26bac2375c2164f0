"""Where a verb asks: in a curator's folder, or at a service that was named with ``--server``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.errors import InvalidParameter, NotFound

if TYPE_CHECKING:
    from dither.data.schema import DataSet
    from dither.service.client import Connection

#: Where ``dither serve --demo`` makes what it serves.
DEMO: Final = Path("dither-demo-service")
#: The variable that names a service for every verb that can ask one.
VARIABLE: Final = "DITHER_SERVER"
#: The address that this command was given, if it was.
_server: list[str] = []
#: Whether it was said that the variable names it.
_said: list[str] = []


def use(server: str | None) -> None:
    """Remember at which service the verb that is being read asks."""
    _server[:] = [] if server is None else [server]
    _said.clear()


def use_folder(home: Path, *, is_server_typed: bool) -> None:
    """Ask in a folder that was typed, and at no service that a variable names; refuse where both were typed.

    Args:
        home: the folder.
        is_server_typed: whether the service was typed as well, and is not from DITHER_SERVER.

    """
    if _server and is_server_typed:
        rule = f"not allowed with --home, {str(home)!r}: a command uses a folder or a server, not both"
        raise InvalidParameter("--server", _server[0], rule)
    use(None)


def with_address(text: str) -> str:
    """Return what a verb says that it has done, with the address of the service at which it was done."""
    return f"{text}; done at {_server[0]}" if _server else text


def record_with_address(record: dict[str, Any]) -> dict[str, Any]:
    """Return the same for programs."""
    return {**record, "server": _server[0]} if _server else record


def is_elsewhere() -> bool:
    """Whether a service was named."""
    return bool(_server)


def connection(*, is_public: bool = False) -> Connection | None:
    """Return the curator who is elsewhere, if one was named.

    Args:
        is_public: whether everybody may ask what is asked, with a token or without.

    """
    if not _server:
        return None
    if os.environ.get(VARIABLE) == _server[0] and not _said:
        from dither.cli.console import tell_owner

        # A variable that was set long ago decides where a verb acts: whoever types it sees that.
        tell_owner(f"asking {_server[0]} ({VARIABLE})")
        _said.append(_server[0])
    from dither.service.client import connect, connect_publicly

    return connect_publicly(_server[0]) if is_public else connect(_server[0])


def named_elsewhere(dataset: str | None) -> str:
    """Return which data set is asked about, which a service has to be told."""
    if dataset is None:
        raise InvalidParameter("dataset", None, "required: a service answers about one data set at a time")
    return dataset


def served_demo() -> Path | None:
    """Return the folder that ``dither serve --demo`` serves from here at this moment, where there is no other.

    A folder that is named, by DITHER_HOME too, or that is here or above, is never put aside for it.
    """
    from dither.curator.folder import SETTINGS, find_folder

    home = DEMO / "home"
    if not (home / SETTINGS).is_file() or os.environ.get("DITHER_HOME") is not None:
        return None
    try:
        find_folder(None)
    except NotFound:
        from dither.service.starting import is_served

        return home if is_served(home) else None
    return None


def declared(home: Path | None, dataset: str) -> DataSet:
    """Return what is declared about a data set, here or elsewhere.

    Args:
        home: the curator's folder.
        dataset: its name.

    """
    asked = connection()
    if asked is not None:
        with asked:
            return asked.session(dataset).dataset
    from dither.curator.folder import Curator

    with Curator.open(home) as curator:
        return curator.dataset(dataset)
