"""What an argument may be in a request, as JSON Schema, by its type: the closed format of ``curator.request_json``.

Where a type says nothing about JSON, anything that the format has may be meant.
"""

from __future__ import annotations

import datetime
import types
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from dither.privacy import Loss

_TEXT: Final = {"type": "string"}
_NUMBERS: Final = (int, float, str, Decimal, Fraction)
_PLAIN: Final[Mapping[Any, str]] = {str: "string", int: "integer", bool: "boolean", type(None): "null"}


def tagged(tag: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of what a tag stands before: ``{"number": "1/3"}``."""
    return {"type": "object", "properties": {tag: dict(value)}, "required": [tag], "additionalProperties": False}


#: A number in a request: exact as a text, such as "1/3"; a JSON number means its shortest decimal.
FIGURE: Final = {"type": ["string", "number"]}
NUMBER: Final = {
    "title": "Number",
    "description": 'A number: 0.1, "1/3", {"number": "1/3"} or {"real": "0.1"}. A JSON number means its shortest '
    "decimal.",
    "anyOf": [FIGURE, tagged("number", _TEXT), tagged("real", _TEXT)],
}
_MAP: Final = tagged("map", {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}})
_DAY: Final = {"anyOf": [tagged("date", _TEXT), tagged("timestamp", _TEXT)]}


def loss_schema(title: str, figure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a loss.

    Args:
        title: of the schema.
        figure: of each of its numbers.

    """
    kinds = {"type": "string", "enum": ["pure", "zcdp", "gaussian", "approx"]}
    return {
        "title": title,
        "type": "object",
        "description": 'What may be lost, in exact figures: {"kind": "pure", "epsilon": "1/10"}.',
        "properties": {"kind": kinds, "epsilon": figure, "delta": figure, "rho": figure},
        "required": ["kind"],
    }


#: A loss in a request, where figures may be JSON numbers.
STATED: Final = loss_schema("StatedLoss", FIGURE)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return a type as JSON Schema; {} where anything that a request can say may be meant.

    >>> schema_of(int | None), schema_of(Sequence[str])
    ({'type': ['integer', 'null']}, {'type': 'array', 'items': {'type': 'string'}})
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return schema_of(parts[0])
    if origin is Literal:
        return {"type": "string", "enum": list(parts)} if all(isinstance(one, str) for one in parts) else {}
    if origin in (Union, types.UnionType):
        return _union(parts)
    if origin is tuple and parts and parts[-1] is not ...:
        alike = _union(tuple(dict.fromkeys(parts)))
        return {"type": "array", "items": alike, "minItems": len(parts), "maxItems": len(parts)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _MAP
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": schema_of(parts[0])} if parts else {"type": "array"}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind is float:
        return NUMBER
    if kind in (datetime.date, datetime.datetime):
        return _DAY
    return tagged("loss", STATED) if kind is Loss else {}


def _union(parts: tuple[Any, ...]) -> dict[str, Any]:
    """Return what any of several types may be, in as few schemas as say it."""
    found: list[dict[str, Any]] = []
    if Fraction in parts:
        # The number that everything exact is made of, in all of its spellings.
        found, parts = [NUMBER], tuple(one for one in parts if one not in _NUMBERS)
    for part in parts:
        schema = schema_of(part)
        if not schema:
            return {}
        found += schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
    plain = [str(one["type"]) for one in found if set(one) == {"type"} and isinstance(one["type"], str)]
    others = [one for one in found if not (set(one) == {"type"} and isinstance(one["type"], str))]
    if plain:
        others.insert(0, {"type": plain[0] if len(plain) == 1 else sorted(plain)})
    return others[0] if len(others) == 1 else {"anyOf": others}
