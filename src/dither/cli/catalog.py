"""``dither catalog``: every mechanism there is."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from dither.cli.console import console, print_json
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
    }


def show(*, as_json: bool) -> None:
    """Print the catalogue."""
    rows = [row(entry) for entry in registered().values()]
    if as_json:
        print_json(rows)
        return
    table = Table(title=f"{len(rows)} mechanisms", title_justify="left")
    for title in ("name", "what it does", "loss", "distance counted", "numerics"):
        table.add_column(title, overflow="fold")
    for entry in rows:
        table.add_row(entry["name"], entry["summary"], entry["loss"], entry["distance"], entry["numerics"])
    console.print(table)
    console.print("Ask 'dither explain NAME' for a guarantee and its proof.", highlight=False)
