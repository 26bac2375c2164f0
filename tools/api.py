"""``python -m tools.api``: write docs/api.md from the table of routes; ``--check`` exits 1 if it is not fresh."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from dither.curator.delivering import VERBS
from dither.service.routes import ROUTES

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "api.md"


def page() -> str:
    """Return the page."""
    lines = [
        "# The wire",
        "",
        "Every route of the [service](service.md), as the table in `dither.service.routes` has it. For programs:",
        "`GET /v1/openapi.json`. What is not listed cannot be reached.",
        "",
        "| route | who, with a token for | what |",
        "| --- | --- | --- |",
    ]
    for route in ROUTES:
        roles = "everybody" if route.roles is None else ", ".join(sorted(role.value for role in route.roles))
        scope = "" if route.scope is None else f" ({route.scope.value})"
        lines.append(f"| `{route.method} {route.path}` | {roles}{scope} | {route.summary} |")
    lines += [
        "",
        "## Verbs",
        "",
        "A release or a quote names one of these, with its arguments by name: "
        + ", ".join(f"`{verb}`" for verb in VERBS)
        + ".",
        "They are those of a [session](reference/dither.md).",
        "",
        "## Bodies",
        "",
    ]
    for route in ROUTES:
        if route.body is not None:
            lines += [f"`{route.method} {route.path}`:", "", "```json", json.dumps(route.body, indent=1), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page, or compare it."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/api.md is not fresh: run python -m tools.api")


if __name__ == "__main__":
    main()
