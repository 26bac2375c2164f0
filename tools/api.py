"""``python -m tools.api``: write docs/api.md from the table of routes; ``--check`` exits 1 if it is not fresh."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dither.service.problems import status_of
from dither.service.records import JOB
from dither.service.routes import ANYWHERE, LARGEST_BODY, OF_A_SET, PROTECTED, ROUTES, WITH_BODY, Rate, Route
from dither.service.shapes import shape
from tools.verb_pages import wire_lines

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "api.md"


def page() -> str:
    """Return the page."""
    lines = [
        "# The wire",
        "",
        "Every route of the [service](service.md), as the table in `dither.service.routes` has it. For programs:",
        "`GET /v1/openapi.json`. What is not listed cannot be reached, and parameters that are not listed are refused.",
        "",
        "| route | who, with a token for | what |",
        "| --- | --- | --- |",
    ]
    for route in ROUTES:
        roles = "everybody" if route.roles is None else ", ".join(sorted(role.value for role in route.roles))
        scope = "" if route.scope is None else f" ({route.scope.value})"
        parameters = ", ".join(f"`{name}`" for name in route.query)
        takes = f" Takes {parameters}." if parameters else ""
        lines.append(f"| {_named(route)} | {roles}{scope} | {route.summary}{takes} |")
    lines += [
        "",
        *wire_lines(),
        *_parameters(),
        *_bodies(),
        *_answers(),
        *_problems(),
        *_limits(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _named(route: Route) -> str:
    return f"`{route.method} {route.path}`"


def _parameters() -> Iterator[str]:
    yield from ("## Parameters", "", "Each at most once.", "")
    yield from ("| route | parameter | what |", "| --- | --- | --- |")
    for route in ROUTES:
        for name, schema in route.query.items():
            default = schema.get("default", "")
            more = " Must be there." if name in route.needed else f" Else {default}." if default != "" else ""
            yield f"| {_named(route)} | `{name}`: {shape(schema)} | {schema['description']}{more} |"
    yield ""


def _bodies() -> Iterator[str]:
    yield from ("## Bodies", "")
    for route in ROUTES:
        if route.body is not None:
            yield from (f"{_named(route)}:", "", "```json", json.dumps(route.body, indent=1), "```", "")


def _answers() -> Iterator[str]:
    yield from ("## Answers", "", "A `loss` is an object of exact figures; `...` stands for fields that vary.", "")
    for route in ROUTES:
        if route.answer == ():
            told = f"{route.status}, and where to go"
        elif isinstance(route.answer, tuple):
            told = ", ".join(f"`{kind}`" for kind in route.answer)
        else:
            told = f"`{shape(route.answer)}`"
        also = [f"202 and `{shape(JOB)}` where it is waited for"] if route.is_new else []
        also += ["an `ETag`, and 304 to whoever has it"] if route.is_tagged else []
        yield f"- {_named(route)}: {'; '.join([told, *also])}"
    yield ""


def _problems() -> Iterator[str]:
    """Yield what is refused: what all routes of a kind say, then what each says beside that."""
    yield from ("## Problems", "", "As `application/problem+json`, by status and title.", "")
    for who, names in (
        ("Every route", ANYWHERE),
        ("Every route but `GET /healthz`", ("TooManyRequests",)),
        ("Every route that needs a token", PROTECTED),
        ("Every route with names in its path", ("NotFound",)),
        ("Every route about one data set", OF_A_SET),
        ("Every route that takes a body", WITH_BODY),
        ("Every route but those of `GET`", ("OtherSite",)),
    ):
        yield f"- {who}: {_statuses(names)}"
    yield from ("", "Beside these:", "")
    yield from (f"- {_named(route)}: {_statuses(route.errors)}" for route in ROUTES if route.errors)
    yield ""


def _statuses(names: tuple[str, ...]) -> str:
    return ", ".join(f"{status_of(name)} `{name}`" for name in sorted(dict.fromkeys(names), key=status_of))


def _limits() -> Iterator[str]:
    yield from ("## Limits", "")
    yield f"A body has at most {LARGEST_BODY:,} bytes. Requests are counted for {Rate.PERSON.value} where a token"
    yield f"is needed, and for {Rate.ADDRESS.value} where none is; 429 says when to come again. With their own limits:"
    yield ""
    for route in ROUTES:
        own = [f"at most {route.largest:,} bytes"] if route.largest != LARGEST_BODY else []
        own += [f"counted for {route.rate.value}"] if route.rate is not None else []
        if own:
            yield f"- {_named(route)}: {'; '.join(own)}"


def main() -> None:
    """Write the page, or compare it."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/api.md is not fresh: run python -m tools.api")


if __name__ == "__main__":
    main()
