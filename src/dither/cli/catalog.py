"""``dither catalog``: every mechanism there is."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from dither.cli.console import console, print_json
from dither.cli.options import Json
from dither.mechanisms import Entry, registered


def row(entry: Entry) -> dict[str, Any]:
    """Return what is said of one mechanism, from its first example where an instance is needed."""
    example = next(iter(entry.examples())).mechanism
    return {
        "name": entry.name,
        "version": entry.mechanism.version,
        "summary": entry.summary,
        "loss": example.loss(1).kind,
        "distance": str(example.distance),
        "numerics": entry.mechanism.numerics.value,
        "source": entry.source,
        "is_reference": entry.is_reference,
    }


def show(
    with_reference: Annotated[bool, typer.Option("--all", help="Also those that are there as literature.")] = False,
    as_json: Json = False,
) -> None:
    """List the mechanisms: what each does, what it promises, how the promise is known."""
    # Programs get all of them, with the mark.
    if as_json:
        print_json([row(entry) for entry in registered().values()])
        return
    shown = [entry for entry in registered().values() if with_reference or not entry.is_reference]
    rows = [row(entry) for entry in shown]
    left_out = len(registered()) - len(rows)
    table = Table(title=f"{len(rows)} mechanisms", title_justify="left")
    for title in ("name", "what it does", "loss", "distance counted", "numerics"):
        table.add_column(title, overflow="fold")
    for entry in rows:
        mark = " (reference)" if entry["is_reference"] else ""
        table.add_row(entry["name"] + mark, entry["summary"], entry["loss"], entry["distance"], entry["numerics"])
    console.print(table)
    if left_out:
        console.print(f"{left_out} more are there as literature: 'dither catalog --all'.", highlight=False)
    console.print("Ask 'dither explain NAME' for a guarantee and its proof.", highlight=False)
