"""An application asked without a network: one request in, its status, headers and body out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote


async def asked(
    application: Any, method: str, path: str, headers: Mapping[str, str | bytes], content: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """Return what an application answers.

    Args:
        application: as ASGI has it.
        method: of the request.
        path: with its query, where it has one.
        headers: by name, in small letters.
        content: the body.

    """
    place, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(place),
        "raw_path": place.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), _bytes(value)) for name, value in {"host": "here", **headers}.items()],
        "client": ("127.0.0.1", 1),
        "http_version": "1.1",
        "scheme": "http",
        "server": ("here", 80),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:])


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()
