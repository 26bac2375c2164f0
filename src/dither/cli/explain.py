"""``dither explain NAME``: the guarantee of a mechanism, its proof, its source."""

from __future__ import annotations

import inspect
from pathlib import Path

from rich.markdown import Markdown
from rich.markup import escape

import dither
from dither.cli.catalog import row
from dither.cli.console import console, print_json
from dither.mechanisms import Entry, find
from dither.privacy import Unit
from dither.privacy.accountants import explain_loss


def page(name: str) -> str | None:
    """Return the page of a mechanism: from the installed package, or from the checkout it is developed in."""
    package = Path(dither.__file__).parent
    for folder in (package / "pages", package.parent.parent / "docs" / "algorithms"):
        path = folder / f"{name}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None


def meaning(entry: Entry) -> str:
    """Return what the loss of the first example means for a person, in plain sentences."""
    mechanism = next(iter(entry.examples())).mechanism
    loss = mechanism.loss(1)
    unit = mechanism.distance if isinstance(mechanism.distance, Unit) else None
    return f"For example {mechanism!r} loses {loss} at distance 1. {explain_loss(loss, unit=unit)}"


def show(name: str, *, as_json: bool) -> None:
    """Print what there is to know about one mechanism."""
    entry = find(name)
    text = page(name)
    documentation = inspect.getdoc(entry.mechanism) or ""
    if as_json:
        print_json(row(entry) | {"documentation": documentation, "page": text, "meaning": meaning(entry)})
        return
    if text is not None:
        console.print(Markdown(text))
    else:
        console.print(documentation, highlight=False)
    console.print(f"\n[bold]What it means for a person[/]\n\n{escape(meaning(entry))}", highlight=False)
    console.print(f"\nSource: {escape(entry.source)}", highlight=False)
