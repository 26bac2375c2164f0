"""What a request passes to a verb, compared with what the verb declares, before anything is planned.

Three things are refused: an argument that the verb does not have, a required one that is absent, and a value of another
JSON type. Which values of its type an argument may have is decided by planning, whose refusals give the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dither.errors import InvalidParameter
from dither.lift.argument_schemas import NUMBER
from dither.lift.verb import Verb, arguments_schema

_LONGEST: Final = 80
_SAID: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_NUMBER: Final = 'a number, such as 0.1, "1/3" or {"number": "1/3"}'
#: What is written as an object with a tag.
_TAGGED: Final = {
    "map": 'a mapping, {"map": [[key, value], ...]}',
    "loss": 'a loss, {"loss": {...}}',
    "spec": 'a record, {"spec": {...}}',
    "date": 'a date, {"date": "2024-01-31"}',
    "timestamp": 'a time, {"timestamp": "2024-01-31T12:00:00"}',
    "estimator": 'an estimator, {"estimator": NAME, "parameters": {...}}',
}


class _Wrong(NamedTuple):
    """A value of another type than a schema says."""

    place: str
    value: Any
    rule: str


def check_arguments(verb: Verb[..., Any], written: Mapping[str, Any], *, needs_all: bool = True) -> None:
    """Refuse arguments that a verb does not have, absent ones that it needs, and values of another JSON type.

    Args:
        verb: as it is declared.
        written: its arguments as JSON has them, without a key.
        needs_all: whether required ones must be there: what was opened before is found again without them.

    """
    schema = arguments_schema(verb)
    known = schema["properties"]
    for name, value in written.items():
        if name not in known:
            stated = "; the estimator states the loss" if "estimator" in known else ""
            raise InvalidParameter(
                f"words.{name}"[:_LONGEST], _shown(value), f"not allowed: {verb.name} has {', '.join(known)}{stated}"
            )
        wrong = _wrong(known[name], value, f"words.{name}")
        if wrong is not None:
            raise InvalidParameter(wrong.place, _shown(wrong.value), wrong.rule)
    for name in schema.get("required", ()) if needs_all else ():
        if name not in written:
            raise InvalidParameter(f"words.{name}", None, f"required: {known[name].get('description', 'a value')}")


def _wrong(schema: Mapping[str, Any], value: Any, place: str) -> _Wrong | None:
    """Return what of a value is of another type than a schema says; None where nothing is."""
    if "anyOf" in schema:
        found = [_wrong(one, value, place) for one in schema["anyOf"]]
        if not all(found):
            return None
        # What is wrong inside of a value says more than that the whole is of none of several kinds.
        inside = [one for one in found if one is not None and one.place != place]
        return inside[0] if inside else _Wrong(place, value, _said(schema))
    kinds = schema.get("type")
    if kinds is None:
        return None
    if not any(_is_of(value, kind) for kind in ((kinds,) if isinstance(kinds, str) else kinds)):
        return _Wrong(place, value, _said(schema))
    if isinstance(value, list):
        return _wrong_item(schema, value, place)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        is_whole = all(name in value for name in schema.get("required", ()))
        if not is_whole or (schema.get("additionalProperties") is False and not fields.keys() >= value.keys()):
            return _Wrong(place, value, _said(schema))
        wrong = (_wrong(one, value[name], f"{place}.{name}") for name, one in fields.items() if name in value)
        return next((one for one in wrong if one is not None), None)
    return None


def _wrong_item(schema: Mapping[str, Any], value: list[Any], place: str) -> _Wrong | None:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return _Wrong(place, value, _said(schema))
    each = schema.get("items")
    if not each:
        return None
    wrong = (_wrong(each, one, f"{place}[{index}]") for index, one in enumerate(value))
    return next((one for one in wrong if one is not None), None)


def _is_of(value: Any, kind: str) -> bool:
    """Whether a value is of a type of JSON, as it is read: 3.0 is no integer, since it is read as a float."""
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return type(value) is int
        case "number":
            return type(value) in (int, float)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _said(schema: Mapping[str, Any]) -> str:
    """Return what a schema describes, in a few words."""
    if schema.get("title") == NUMBER["title"]:
        return _NUMBER
    if "anyOf" in schema:
        return ", or ".join(dict.fromkeys(_said(one) for one in schema["anyOf"]))
    if tags := schema.get("required"):
        return _TAGGED.get(tags[0], f"an object with {' and '.join(tags)}")
    kinds = schema["type"]
    if "maxItems" in schema:
        return f"a list of {schema['maxItems']}"
    return ", or ".join(_SAID[kind] for kind in ((kinds,) if isinstance(kinds, str) else kinds))


def _shown(value: Any) -> Any:
    """Return what is told of a value: of one with parts its type alone, since it may be long."""
    return type(value).__name__ if isinstance(value, list | dict) else value
