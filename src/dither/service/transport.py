"""HTTP for a client, with the standard library alone: one connection for each thread, kept open, and made again."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from dither.errors import DitherError, InvalidParameter
from dither.service.long_lived_kinds import SERVED
from dither.service.problems import MEDIA_TYPE, error_of

_PATIENCE: Final = 3700.0
#: For how many seconds a connection is waited for.
_CONNECTING: Final = 10.0
#: For how many seconds a service that does not answer is tried again: one that starts anew is there within five.
_LASTING: Final = 10.0
#: The pauses in between double, from the first to the longest.
_PAUSES: Final = (0.1, 2.0)
#: What may be sent again where nobody knows whether it arrived, by the last word of its path: it is free, or known by
#: its key, its question, its name or its tick. Decisions and sign-ins may not: they would be made anew, or refused.
_AGAIN: Final = frozenset(
    (
        *("releases", "quotes", "losses", "room", *(kind.plural for kind in SERVED.values())),
        *(step.path for kind in SERVED.values() for step in kind.steps if step.method == "POST"),
    )
)
#: The longest that a service's own word for a pause is followed.
_LONGEST_WISH: Final = 5.0
_RULE: Final = "a token of yours, or DITHER_TOKEN set to it: 'dither token new' makes one"


class ServiceUnreachable(DitherError):
    """The service does not answer; asking again with the same key finds out what became of a request."""


class NotLetIn(DitherError):
    """The service does not know the token that was sent."""


class _NotConnected(OSError):
    """Nobody was there: nothing was sent."""


class _Trying:
    """How long something is tried: about ten seconds from its first failure on, with pauses that grow."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._pause = _PAUSES[0]

    def goes_on(self, wish: float | None = None) -> bool:
        """Pause and return True; or return False where it was tried for long enough.

        Args:
            wish: for how many seconds the service asks to be left alone, if it does.

        """
        now = time.monotonic()
        self._until = now + _LASTING if self._until is None else self._until
        pause = self._pause if wish is None else min(_LONGEST_WISH, wish)
        if now + pause > self._until:
            return False
        self._pause = min(2 * self._pause, _PAUSES[1])
        time.sleep(pause)
        return True


@dataclass(frozen=True)
class Reply:
    """What a service has answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """Return the content as plain data."""
        return json.loads(self.content)


class Transport:
    """Requests to one service, with one token. Threads may share it.

    Args:
        url: where the service is: ``http://127.0.0.1:8077``.
        token: as ``dither token new`` printed it; None where only what is public is asked.

    """

    def __init__(self, url: str, token: str | None) -> None:
        self._here = threading.local()
        self._open: list[http.client.HTTPConnection] = []
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
            raise InvalidParameter("url", url, "the address of a service, such as http://127.0.0.1:8077")
        if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise InvalidParameter("url", url, "one that begins with https, unless it is on this machine")
        if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable() and token):
            raise InvalidParameter("token", type(token).__name__, _RULE)
        self.url = url.rstrip("/")
        self._parts, self._token = parts, token

    def get(self, *path: str, **query: Any) -> Reply:
        """Return what a path has."""
        return self._ask("GET", self.address(*path, **query), None, {})

    def post(self, *path: str, body: Any, key: str | None = None, wait: float | None = None) -> Reply:
        """Send a body, under a key where there is one; wait for that many seconds, where it is said."""
        headers: dict[str, str | bytes] = {} if key is None else {"Idempotency-Key": f'"{key}"'.encode()}
        content, is_once = json.dumps(body).encode(), path[-1] not in _AGAIN
        return self._ask("POST", _joined(path), content, headers | _preferring(wait), is_once=is_once)

    def told(self, address: str, *, wait: float | None = None) -> Reply:
        """Return what an address has that the service told, having waited for that many seconds at most."""
        return self._ask("GET", address, None, _preferring(wait))

    def address(self, *path: str, **query: Any) -> str:
        """Return the address of a path, as the service tells addresses."""
        asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        return _joined(path) + (f"?{asked}" if asked else "")

    def delete(self, address: str) -> Reply:
        """Let go of what is at an address that the service told."""
        return self._ask("DELETE", address, None, {}, is_once=True)

    def close(self) -> None:
        """Let go of all connections; they are made again where they are needed."""
        while self._open:
            self._open.pop().close()
        self._here = threading.local()

    def __del__(self) -> None:
        self.close()

    def _drop(self) -> None:
        """Let go of this thread's connection."""
        connection = getattr(self._here, "connection", None)
        if connection is not None:
            connection.close()
            self._here.connection = None
            if connection in self._open:
                self._open.remove(connection)

    def _ask(
        self, method: str, path: str, body: bytes | None, more: Mapping[str, str | bytes], *, is_once: bool = False
    ) -> Reply:
        headers: dict[str, str | bytes] = {"Accept": f"application/json, {MEDIA_TYPE}", **more}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        if is_once:
            # A connection that was kept may have ended meanwhile, which shows only once something was sent.
            self._drop()
        trying = _Trying()
        while True:
            # What was asked is asked again with the same key, or is free: nothing is charged twice.
            try:
                reply = self._once(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                is_sent = not isinstance(error, _NotConnected)
                if (is_sent and is_once) or not _may_pass(error) or not trying.goes_on():
                    raise self._unreachable(error, is_unsure=is_sent and is_once) from None
                continue
            wish = _wish(reply)
            if wish is None or not trying.goes_on(wish):
                break
        if reply.status == 401 and self._token is not None:
            raise NotLetIn(
                f"the token that was sent to {self.url} is unknown, revoked or expired: ask its curator for one"
            )
        if reply.status >= 400:
            raise _error(reply)
        return reply

    def _unreachable(self, error: Exception, *, is_unsure: bool) -> ServiceUnreachable:
        """Return what is said of a service that does not answer, and of how to go on."""
        cause = error.__cause__ or error
        why = getattr(cause, "verify_message", None) or getattr(cause, "strerror", None) or type(cause).__name__
        if is_unsure:
            return ServiceUnreachable(f"{self.url} went away ({why}): look whether it was done before you ask again")
        if isinstance(cause, ConnectionRefusedError):
            fix = "is 'dither serve' running there, at this port?"
            return ServiceUnreachable(f"nothing listens at {self.url}, tried for {_LASTING:.0f} seconds: {fix}")
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLCertVerificationError):
            fix = "an address of this machine may begin with http://"
            return ServiceUnreachable(f"{self.url} does not speak TLS: {fix}")
        tried = f" and was tried for {_LASTING:.0f} seconds" if _may_pass(error) else ""
        found = "the same again, with the same key if it had one, finds out what became of it"
        return ServiceUnreachable(f"{self.url} does not answer ({why}){tried}: {found}")

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | bytes]) -> Reply:
        connection: http.client.HTTPConnection | None = getattr(self._here, "connection", None)
        if connection is None:
            connection = self._connected()
            self._here.connection = connection
            self._open.append(connection)
        connection.request(method, self._parts.path.rstrip("/") + path, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = response.read()
        return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def _connected(self) -> http.client.HTTPConnection:
        """Return a new connection to the service, which is there."""
        host, port = self._parts.hostname or "", self._parts.port
        connection = http.client.HTTPConnection(host, port, timeout=_CONNECTING)
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=_CONNECTING, context=context)
        try:
            connection.connect()
        except OSError as error:
            raise _NotConnected(str(error)) from error
        connection.sock.settimeout(_PATIENCE)
        return connection


def _may_pass(error: Exception) -> bool:
    """Whether what went wrong may be right a moment later: a certificate is not, nor what speaks no TLS."""
    return not isinstance(error.__cause__, ssl.SSLError)


def _wish(reply: Reply) -> float | None:
    """Return for how many seconds a service that has no time asks to be left alone; None for no such wish."""
    told = reply.headers.get("retry-after", "") if reply.status in (429, 503) else ""
    return float(told) if told.isdecimal() else None


def _preferring(wait: float | None) -> dict[str, str | bytes]:
    """Return the header that says for how long an answer is waited for; 0 for not at all."""
    if wait is None:
        return {}
    return {"Prefer": f"wait={int(wait)}" if wait >= 1 else "respond-async"}


def _joined(path: tuple[str, ...]) -> str:
    return "/" + "/".join(quote(part, safe="") for part in path)


def _error(reply: Reply) -> DitherError:
    try:
        record = reply.json()
    except ValueError:
        record = {}
    if not isinstance(record, dict) or "title" not in record:
        return ServiceUnreachable(f"the service answered {reply.status} and no more")
    return error_of(record)
