"""An application asked without a network: one request in, its status, headers and body out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


async def asked(
    application: Any, method: str, path: str, headers: Mapping[str, str], content: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """Return what an application answers.

    Args:
        application: as ASGI has it.
        method: of the request.
        path: without a query.
        headers: by name, in small letters.
        content: the body.

    """
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in {"host": "here", **headers}.items()],
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
