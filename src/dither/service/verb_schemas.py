"""Bodies that name a verb, as JSON Schema: one for each declared verb, told apart by its name.

The table of routes has the shape that they share. What is asked of a route for programs is written here, from the
registry: a program that is made of it has a type for the arguments of each verb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dither.curator.remote_release import quoted_verbs, released_verbs
from dither.lift.verb import REGISTRY, arguments_schema
from dither.service import records
from dither.service.long_lived_kinds import SERVED
from dither.service.records import Schema


def body_of(route: str, body: Schema) -> Schema:
    """Return the body of a route, by its name, with the arguments of verbs where it has such."""
    opened = {kind.opens: kind.verb for kind in SERVED.values()}
    if route in opened:
        return _opened(opened[route])
    made = _BODIES.get(route)
    return body if made is None else made()


def words_of(verb: str) -> dict[str, Any]:
    """Return the arguments of a verb as a schema with a title.

    >>> words_of("graph.triangles")["title"]
    'GraphTrianglesWords'
    """
    return {"title": f"{_title(verb)}Words", **arguments_schema(REGISTRY[verb])}


def _title(verb: str) -> str:
    return "".join(part.capitalize() for part in verb.replace(".", "_").split("_"))


def _bodies(name: str, verbs: tuple[str, ...], **more: Schema) -> dict[str, Any]:
    """Return the schema of a body that names one of some verbs."""
    titles = {verb: f"{_title(verb)}{name}" for verb in verbs}
    parts = [
        {
            "title": titles[verb],
            "type": "object",
            "properties": {"verb": {"type": "string", "enum": [verb]}, "words": words_of(verb), **more},
            "required": ["verb", "words"],
            "additionalProperties": False,
        }
        for verb in verbs
    ]
    mapping = {verb: f"#/components/schemas/{title}" for verb, title in titles.items()}
    return {"title": name, "oneOf": parts, "discriminator": {"propertyName": "verb", "mapping": mapping}}


def _opened(verb: str) -> dict[str, Any]:
    """Return the schema of a body that opens what goes on; without arguments it finds what was opened before."""
    words = {name: value for name, value in words_of(verb).items() if name != "required"}
    return records.record_of(name=records.TEXT, words={**words, "title": f"{_title(verb)}OpenedWords"})


_BODIES: Final[Mapping[str, Callable[[], Schema]]] = {
    "release": lambda: _bodies("Release", released_verbs()),
    "quote": lambda: _bodies("Quote", quoted_verbs(), losses=records.LOSSES),
}
