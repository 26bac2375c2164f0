"""``dither explain NAME``: the guarantee of a mechanism, its proof, its source; or a lemma that proofs rest on."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.markup import escape

import dither
from dither.cli.catalog import row
from dither.cli.console import console, print_json
from dither.cli.options import Json
from dither.mechanisms import Entry, find
from dither.privacy import Unit
from dither.privacy.accountants import explain_loss


def page(name: str, kind: str = "algorithms") -> str | None:
    """Return the page of a mechanism or of a lemma: from the installed package, or from the checkout."""
    package = Path(dither.__file__).parent
    shipped = package / "pages" if kind == "algorithms" else package / "pages" / kind
    for folder in (shipped, package.parent.parent / "docs" / kind):
        path = folder / f"{name}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None


def readable(text: str) -> str:
    """Return a page for a terminal: what it rests on as names, each of which can be explained in turn."""
    names = re.compile(r"\[([\w-]+)\]\([^)]*\)")
    return re.sub(
        r"^Rests on: .*$",
        lambda line: names.sub(r"\1", line[0]) + (" (see `dither explain` of each)" if "[" in line[0] else ""),
        text,
        count=1,
        flags=re.MULTILINE,
    )


def meaning(entry: Entry) -> str:
    """Return what the loss of the first example means for a person, in plain sentences."""
    mechanism = next(iter(entry.examples())).mechanism
    loss = mechanism.loss(1)
    unit = mechanism.distance if isinstance(mechanism.distance, Unit) else None
    return f"For example {mechanism!r} loses {loss} at distance 1. {explain_loss(loss, unit=unit)}"


def show(
    name: Annotated[str, typer.Argument(help="The name of a mechanism; see 'dither catalog'.")], as_json: Json = False
) -> None:
    """Say what a mechanism promises and why: guarantee, proof, source, figures."""
    lemma = page(name, "lemmas") if re.fullmatch(r"[a-z0-9-]+", name) else None
    if lemma is not None:
        if as_json:
            print_json({"name": name, "page": lemma})
        else:
            console.print(Markdown(readable(lemma)))
        return
    entry = find(name)
    text = page(name)
    documentation = inspect.getdoc(entry.mechanism) or ""
    if as_json:
        print_json(row(entry) | {"documentation": documentation, "page": text, "meaning": meaning(entry)})
        return
    if text is not None:
        console.print(Markdown(readable(text)))
    else:
        console.print(documentation, highlight=False)
    console.print(f"\n[bold]What it means for a person[/]\n\n{escape(meaning(entry))}", highlight=False)
    console.print(f"\nSource: {escape(entry.source)}", highlight=False)
