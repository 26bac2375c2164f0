"""The table of routes as OpenAPI 3.1, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dither.service import records
from dither.service.answer_schemas import ANSWER
from dither.service.forms import JSON
from dither.service.problems import MEDIA_TYPE, status_of
from dither.service.records import TEXT, Schema
from dither.service.routes import ROUTES, Route
from dither.service.verb_schemas import body_of

#: What a release says beside its body.
_OF_RELEASES: Final = {
    "Location": "Where the stored answer is found again.",
    "Dither-Entry": "The number of the ledger's entry.",
    "Dither-Place": "The place of the charge: ledger, entry and its hash.",
    "ETag": "The digest of the answer.",
}


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
                "content": {JSON.kind: {"schema": body_of(route.name, route.body)}},
            }
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    security = {"token": {"type": "http", "scheme": "bearer"}}
    schemas: dict[str, Any] = {}
    _refer(records.PROBLEM, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": version, "description": "Private answers, priced before they look."},
        "paths": _refer(paths, schemas),
        "components": {"securitySchemes": security, "schemas": dict(sorted(schemas.items()))},
    }


def _refer(value: Any, schemas: dict[str, Any]) -> Any:
    """Return plain data with a reference in place of each schema that has a title; those are gathered by title."""
    if isinstance(value, list | tuple):
        return [_refer(one, schemas) for one in value]
    if not isinstance(value, Mapping):
        return value
    found = {name: _refer(one, schemas) for name, one in value.items()}
    title = value.get("title")
    if not isinstance(title, str):
        return found
    schemas.setdefault(title, found)
    return {"$ref": f"#/components/schemas/{title}"}


def _parameters(route: Route) -> list[dict[str, Any]]:
    found = [_parameter(name, "path", schema, is_needed=True) for name, schema in route.in_path.items()]
    found += [_parameter(name, "query", schema, is_needed=name in route.needed) for name, schema in route.query.items()]
    named = {"Idempotency-Key": route.takes_key, "Prefer": route.is_new, "If-None-Match": route.is_tagged}
    headers = [name for name, is_taken in named.items() if is_taken]
    return found + [_parameter(name, "header", records.HEADERS[name], is_needed=False) for name in headers]


def _parameter(name: str, place: str, schema: Schema, *, is_needed: bool) -> dict[str, Any]:
    return {"name": name, "in": place, "required": is_needed, "schema": schema}


def _content(kind: str) -> dict[str, Any]:
    """Return what an answer of a media type is: a stored answer, a text, or bytes."""
    if kind == JSON.kind:
        return {"schema": ANSWER}
    return {"schema": TEXT} if kind.startswith("text/") else {}


def _responses(route: Route) -> dict[str, Any]:
    """Return what is told by status: the answer, what stands for it, and the problems."""
    kinds = route.answer if isinstance(route.answer, tuple) else None
    content = {JSON.kind: {"schema": route.answer}} if kinds is None else {kind: _content(kind) for kind in kinds}
    found: dict[str, Any] = {str(route.status): {"description": "Done."} | ({"content": content} if content else {})}
    if route.takes_key:
        found[str(route.status)]["headers"] = {
            name: {"description": text, "schema": TEXT} for name, text in _OF_RELEASES.items()
        }
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
