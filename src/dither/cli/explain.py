"""``dither explain NAME``: the guarantee of a mechanism, its proof, its source."""

from __future__ import annotations

import inspect
from pathlib import Path

from rich.markdown import Markdown

import dither
from dither.cli.catalog import row
from dither.cli.console import console, print_json
from dither.mechanisms import find


def page(name: str) -> str | None:
    """Return the page of a mechanism: from the installed package, or from the checkout it is developed in."""
    package = Path(dither.__file__).parent
    for folder in (package / "pages", package.parent.parent / "docs" / "algorithms"):
        path = folder / f"{name}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None


def show(name: str, *, as_json: bool) -> None:
    """Print what there is to know about one mechanism."""
    entry = find(name)
    text = page(name)
    documentation = inspect.getdoc(entry.mechanism) or ""
    if as_json:
        print_json(row(entry) | {"documentation": documentation, "page": text})
        return
    if text is not None:
        console.print(Markdown(text))
    else:
        console.print(documentation, highlight=False)
    console.print(f"\nSource: {entry.source}", highlight=False)
