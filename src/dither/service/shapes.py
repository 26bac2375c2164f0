"""JSON Schema in one line for people: what a body or an answer looks like."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dither.lift.argument_schemas import NUMBER, STATED
from dither.service.records import LOSS

_KINDS: Final = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null"}


def shape(schema: Mapping[str, Any]) -> str:
    """Return what a schema describes, in one line for people.

    >>> shape({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {}}}})
    '{a: text, b: [anything], ...}'
    """
    if schema in (LOSS, STATED):
        return "loss"
    if "enum" in schema:
        return " or ".join(json.dumps(value) for value in schema["enum"])
    if schema.get("title") == NUMBER["title"]:
        return "number"
    if "anyOf" in schema:
        return " or ".join(map(shape, _nulls_last(schema["anyOf"])))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(shape({**schema, "type": one}) for one in sorted(kind, key="null".__eq__))
    if kind == "array":
        return f"[{shape(schema.get('items', {}))}]"
    if kind == "object":
        fields = [f"{name}: {shape(field)}" for name, field in schema.get("properties", {}).items()]
        known = [*fields, *(name for name in schema.get("required", ()) if name not in schema.get("properties", {}))]
        return f"{{{', '.join(known if schema.get('additionalProperties') is False else [*known, '...'])}}}"
    return _KINDS.get(str(kind), "anything")


def _nulls_last(schemas: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(schemas, key=lambda one: one.get("type") == "null")
