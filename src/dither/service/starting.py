"""What a service refuses to start with; each refusal names the fix."""

from __future__ import annotations

import fcntl
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import dither
from dither.curator.folder import Curator
from dither.curator.receipts import Log
from dither.errors import InvalidParameter, LedgerUnavailable
from dither.service.oidc import Issuer
from dither.service.settings import Settings

_SERVING: Final = "serving"


def check_start(curator: Curator, settings: Settings | None = None) -> None:
    """Refuse to start with what no service may have.

    Args:
        curator: whose folder.
        settings: how it would be served.

    """
    loaded = [name for name in sys.modules if name == "dither.testing" or name.startswith("dither.testing.")]
    if loaded:
        rule = "none of dither.testing, whose noise can be foreseen: start in a process that does not import it"
        raise InvalidParameter("modules", loaded[0], rule)
    mode = os.stat(curator.folder).st_mode
    if mode & 0o077:
        rule = f"readable by its owner alone: chmod 700 {curator.folder}"
        raise InvalidParameter("folder", oct(mode & 0o777), rule)
    # Opened whole: a ledger behind its anchor, or of another version, is refused by itself.
    if not curator.ledger.is_durable:
        fix = "name a file or a database as 'ledger' in dither.yaml"
        raise LedgerUnavailable(curator.ledger.place, f"a service needs one that outlives it: {fix}")
    # Refuses a key that others can read.
    Log(curator.ledger, curator.folder)
    if settings is not None:
        check_settings(settings)


def check_settings(settings: Settings) -> None:
    """Refuse settings that name what this machine does not have; each refusal names the setting and the fix.

    Args:
        settings: how a folder would be served.

    """
    _check_host(settings)
    if settings.certificate:
        _check_tls(settings)
    # Refuses a secret that cannot be read, and an issuer without the extra that checks its tokens.
    Issuer.of(settings)


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Say that this version serves a folder; refuse one that another version serves.

    Args:
        folder: the curator's.

    """
    handle = os.open(folder / _SERVING, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            # Alone: whoever was here is gone, and what they wrote with them.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(handle, 0)
            os.pwrite(handle, dither.__version__.encode(), 0)
        except BlockingIOError:
            other = os.pread(handle, 100, 0).decode("ascii", "replace")
            if other != dither.__version__:
                rule = f"not served by another version: stop the service of version {other} first"
                raise InvalidParameter("folder", str(folder), rule) from None
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def is_served(folder: Path) -> bool:
    """Whether a service of a folder runs.

    Args:
        folder: the curator's.

    """
    try:
        handle = os.open(folder / _SERVING, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _check_host(settings: Settings) -> None:
    rule = "an address or a name of this machine, such as 127.0.0.1 (this machine alone) or 0.0.0.0 (all networks)"
    try:
        # At any port: whether the one that is wanted is free is found out by whoever starts.
        found = socket.getaddrinfo(settings.host, 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        found = []
    if not any(_is_here(family, address) for family, _, _, _, address in found):
        raise InvalidParameter("host", settings.host, rule)


def _is_here(family: int, address: Any) -> bool:
    """Whether this machine can listen at an address."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.bind(address)
    except OSError:
        return False
    return True


def _check_tls(settings: Settings) -> None:
    for name, place in (("certificate", settings.certificate), ("key", settings.key)):
        if not os.path.isfile(place) or not os.access(place, os.R_OK):
            fix = f"put it there, or name another in 'certificate' and 'key': {place}"
            raise InvalidParameter(name, place, f"a file that can be read; {fix}")
    if os.stat(settings.key).st_mode & 0o077:
        raise InvalidParameter("key", settings.key, f"readable by its owner alone: chmod 600 {settings.key}")
    try:
        # No password is asked for: nobody is there to type it.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certificate, settings.key, lambda: "")
    except (OSError, ValueError):
        rule = "a certificate in PEM, with 'key' naming the key that belongs to it, in PEM and without a password"
        raise InvalidParameter("certificate", settings.certificate, rule) from None
