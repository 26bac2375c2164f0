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
from dither.service.problems import MEDIA_TYPE, error_of

_PATIENCE: Final = 3700.0
_TRIES: Final = 4
_RULE: Final = "a token of yours, or DITHER_TOKEN set to it: 'dither token new' makes one"


class ServiceUnreachable(DitherError):
    """The service does not answer; asking again with the same key finds out what became of a request."""


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
        """Send a body, under a key where it may be asked again; wait for that many seconds, where it is said."""
        headers: dict[str, str | bytes] = {} if key is None else {"Idempotency-Key": f'"{key}"'.encode()}
        return self._ask("POST", _joined(path), json.dumps(body).encode(), headers | _preferring(wait))

    def told(self, address: str, *, wait: float | None = None) -> Reply:
        """Return what an address has that the service told, having waited for that many seconds at most."""
        return self._ask("GET", address, None, _preferring(wait))

    def address(self, *path: str, **query: Any) -> str:
        """Return the address of a path, as the service tells addresses."""
        asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        return _joined(path) + (f"?{asked}" if asked else "")

    def delete(self, address: str) -> Reply:
        """Let go of what is at an address that the service told."""
        return self._ask("DELETE", address, None, {})

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

    def _ask(self, method: str, path: str, body: bytes | None, more: Mapping[str, str | bytes]) -> Reply:
        headers: dict[str, str | bytes] = {"Accept": f"application/json, {MEDIA_TYPE}", **more}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        for attempt in range(_TRIES):
            # What was asked is asked again with the same key, or is free: nothing is charged twice.
            try:
                reply = self._once(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if attempt == _TRIES - 1:
                    why = getattr(error, "strerror", None) or type(error).__name__
                    raise ServiceUnreachable(f"{self.url} does not answer ({why})") from None
                time.sleep(0.1 * 2**attempt)
                continue
            if reply.status in (429, 503) and "retry-after" in reply.headers and attempt < _TRIES - 1:
                time.sleep(min(5.0, float(reply.headers["retry-after"])))
                continue
            break
        if reply.status >= 400:
            raise _error(reply)
        return reply

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | bytes]) -> Reply:
        connection: http.client.HTTPConnection | None = getattr(self._here, "connection", None)
        if connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                connection = http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=context)
            else:
                connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
            self._here.connection = connection
            self._open.append(connection)
        connection.request(method, self._parts.path.rstrip("/") + path, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = response.read()
        return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, content)


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
