"""Declared verbs as Markdown: a page of the reference, and the part of the page of the wire that is about them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, Literal, Union, get_args, get_origin

from dither.curator.remote_release import OPENED, quoted_verbs
from dither.lift.verb import REGISTRY, TERMS, Argument, Verb, arguments_schema
from dither.service.shapes import shape

_WIDTH: Final = 100
_NUMBERS: Final = frozenset({"int", "float", "str", "Decimal", "Fraction"})


def ordered() -> list[Verb[..., Any]]:
    """Return all verbs, those of a session first, by their names."""
    return sorted(REGISTRY.values(), key=lambda one: (one.part, one.name))


def anchor(verb: Verb[..., Any]) -> str:
    """Return the anchor of a verb on its page."""
    return verb.name.replace(".", "-")


def kind_text(kind: Any) -> str:
    """Return a type as it is written in code.

    >>> kind_text(int | None), kind_text(list[str])
    ('int | None', 'list[str]')
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(map(repr, parts))
    if origin in (Union, types.UnionType):
        names = [kind_text(part) for part in parts]
        if {*names} >= _NUMBERS:
            names = ["Number", *(name for name in names if name not in _NUMBERS)]
        return " | ".join(names)
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(kind_text, parts))}]"
    return "None" if kind is type(None) else getattr(kind, "__name__", str(kind))


def written(verb: Verb[..., Any], door: str) -> list[str]:
    """Return a call of a verb as lines of code, with the types and defaults of its own arguments.

    Args:
        verb: which.
        door: what it is an attribute of.

    """
    parts, is_starred = [], False
    for one in verb.arguments:
        if one.is_term:
            continue
        if not one.is_positional and not is_starred:
            parts.append("*")
            is_starred = True
        default = "" if one.is_required else f" = {_shown(one.default)}"
        parts.append(f"{one.name}: {kind_text(one.kind)}{default}")
    if terms := _terms(verb):
        shown = (f"{one.name}={_shown(one.default)}" for one in terms)
        parts.append(f"{'' if is_starred else '*, '}{', '.join(shown)}")
    head, tail = f"{door}.{verb.attribute}(", f") -> {verb.gives}"
    line = f"{head}{', '.join(parts)}{tail}"
    return [line] if len(line) <= _WIDTH else [head, *(f"    {part}," for part in parts), tail]


def _shown(value: Any) -> str:
    return repr(str(value)) if isinstance(value, Fraction) else repr(value)


def reference_page() -> list[str]:
    """Return the page of the verbs, as lines; text is not yet escaped."""
    lines = [
        "# Verbs",
        "",
        "What a [session](dither.md#Session) can release. Every verb is declared once: `session.offer` has the same",
        "verbs and makes offers in place of releases, and `session.quote(session.offer.histogram(...))` is the price.",
        "Over HTTP a request names a verb as it is named here, [with its arguments](../api.md#verbs).",
        "",
        "| verb | what it does |",
        "| --- | --- |",
        *(f"| [`{one.name}`](#{anchor(one)}) | {_cell(one.summary)} |" for one in ordered()),
        "",
        "## What all of them take { #terms }",
        "",
        "A verb takes those of these that its call shows.",
        "",
    ]
    lines += [f"- `{one.name}`: {one.about.text}." for one in _shared().values()]
    for verb in ordered():
        lines += ["", f"## {verb.name} {{ #{anchor(verb)} }}", "", "```python"]
        lines += [*written(verb, _door(verb)), "```", "", *_prose(verb), ""]
        own = [one for one in verb.arguments if not one.is_term]
        lines += [f"- `{one.name}`: {one.about.text}." for one in own]
        names = ", ".join(f"`{one.name}`" for one in _terms(verb))
        lines += [f"- {names}: [as for all](#terms)."] if names else []
    return lines


def _door(verb: Verb[..., Any]) -> str:
    door = "session.offer" if verb.name in (*OPENED, "method") else "session"
    return f"{door}.{verb.part}()" if verb.part else door


def _prose(verb: Verb[..., Any]) -> list[str]:
    return (inspect.getdoc(inspect.unwrap(verb.make)) or "").split("\n")


def _terms(verb: Verb[..., Any]) -> list[Argument]:
    """Return the arguments of a verb that releases share, in the same order for all verbs."""
    return sorted((one for one in verb.arguments if one.is_term), key=lambda one: TERMS.index(one.name))


def _shared() -> Mapping[str, Argument]:
    """Return the arguments that releases share, by name."""
    return {one.name: one for verb in ordered() for one in verb.arguments if one.is_term}


def wire_lines() -> Iterator[str]:
    """Yield the part of the page of the wire that is about verbs."""
    yield from ("## Verbs", "")
    yield "A release or a quote names one of these, with its arguments by name. They are those of a"
    yield "[session](reference/verbs.md); `GET /v1/openapi.json` has a type for the arguments of each."
    yield f"{', '.join(f'`{name}`' for name in OPENED)} are priced by a quote, and opened by routes of their own."
    yield ""
    yield "Arguments that a verb does not have, and values of another type, are refused before anything is planned. A"
    yield '`number` is a JSON number, which means its shortest decimal, a text such as `"1/3"`, or'
    yield '`{"number": "1/3"}`. The name of a request, its key, is sent in the header `Idempotency-Key`.'
    yield "The names of version 0.1, such as `graph_answer` with `what`, are read until version 0.3."
    yield ""
    yield from ("Arguments that releases share:", "", "| argument | what it may be | what |", "| --- | --- | --- |")
    schemas = {name: one for verb in ordered() for name, one in arguments_schema(verb)["properties"].items()}
    for name, one in _shared().items():
        if name != "key":
            yield f"| `{name}` | {_cell(shape(schemas[name]))} | {_cell(one.about.text)} |"
    yield ""
    for name in quoted_verbs():
        yield from _on_the_wire(REGISTRY[name])


def _on_the_wire(verb: Verb[..., Any]) -> Iterator[str]:
    schema, terms = arguments_schema(verb), {one.name for one in verb.arguments if one.is_term}
    yield from (f"### {verb.name}", "", _plain(verb.summary), "")
    rows = {name: one for name, one in schema["properties"].items() if name not in terms}
    shared = ", ".join(f"`{one.name}`" for one in _terms(verb) if one.name != "key")
    if rows:
        yield from ("| argument | what it may be | what |", "| --- | --- | --- |")
    for name, one in rows.items():
        needed = " Required." if name in schema.get("required", ()) else ""
        yield f"| `{name}` | {_cell(shape(one))} | {_cell(one.get('description', ''))}.{needed} |"
    yield from (("", f"And {shared}.", "") if shared else ("",))


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return a text in which Markdown reads no marks but those of code."""
    parts = text.replace("``", "`").split("`")
    return "`".join(
        part if place % 2 else part.replace("<", "&lt;").replace("*", "\\*") for place, part in enumerate(parts)
    )
