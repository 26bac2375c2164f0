"""The table of routes as OpenAPI 3.1, for programs."""

from __future__ import annotations

from typing import Any

from dither.service import records
from dither.service.forms import JSON
from dither.service.problems import MEDIA_TYPE, status_of
from dither.service.records import TEXT
from dither.service.routes import ROUTES, Route


def openapi(version: str) -> dict[str, Any]:
    """Return the table as OpenAPI 3.1.

    Args:
        version: of the package.

    """
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        operation: dict[str, Any] = {
            "operationId": route.name,
            "summary": route.summary,
            "parameters": _parameters(route),
            "responses": _responses(route),
            "security": [] if route.roles is None else [{"token": []}],
            "x-requests-counted": route.counted.value,
        }
        if route.body is not None:
            operation["requestBody"] = {
                "description": f"At most {route.largest} bytes.",
                "required": True,
                "content": {JSON.kind: {"schema": route.body}},
            }
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    security = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": version, "description": "Private answers, priced before they look."},
        "paths": paths,
        "components": {"securitySchemes": security, "schemas": {"Problem": records.PROBLEM}},
    }


def _parameters(route: Route) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    found: list[dict[str, Any]] = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
    found += [
        {"name": name, "in": "query", "required": name in route.needed, "schema": schema}
        for name, schema in route.query.items()
    ]
    named = {"Idempotency-Key": route.takes_key, "Prefer": route.is_new, "If-None-Match": route.is_tagged}
    headers = [name for name, is_taken in named.items() if is_taken]
    return found + [{"name": name, "in": "header", "required": False, "schema": TEXT} for name in headers]


def _responses(route: Route) -> dict[str, Any]:
    """Return what is told by status: the answer, what stands for it, and the problems."""
    kinds = route.answer if isinstance(route.answer, tuple) else None
    content = {JSON.kind: {"schema": route.answer}} if kinds is None else {kind: {} for kind in kinds}
    found: dict[str, Any] = {str(route.status): {"description": "Done."} | ({"content": content} if content else {})}
    if route.is_new:
        said = "Begun, or waiting for an approval; see Location."
        found["202"] = {"description": said, "content": {JSON.kind: {"schema": records.JOB}}}
    if route.is_tagged:
        found["304"] = {"description": "As you have it: the tag is the same."}
    problem = {"$ref": "#/components/schemas/Problem"}
    told: dict[int, list[str]] = {}
    for name in route.problems:
        told.setdefault(status_of(name), []).append(name)
    for status, names in sorted(told.items()):
        schema = {"allOf": [problem, {"properties": {"title": {"enum": names}}}]}
        found[str(status)] = {"description": f"{', '.join(names)}.", "content": {MEDIA_TYPE: {"schema": schema}}}
    return found | {"default": {"description": "A problem.", "content": {MEDIA_TYPE: {"schema": problem}}}}
