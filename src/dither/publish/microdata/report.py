"""The report on an anonymized table: what is promised and what was released, as HTML or JSON. Public, all of it."""

from __future__ import annotations

import html
import json
from collections import Counter
from pathlib import Path
from typing import Final

from dither.errors import InvalidParameter
from dither.publish.microdata.anonymized import AnonymizedTable
from dither.publish.microdata.transactions import ItemSets
from dither.publish.synthetic.quality import Figure, quality_of
from dither.publish.synthetic.report import STYLE, promise, write_report

_MOST_ITEMS: Final = 20


def figures_of(table: AnonymizedTable) -> tuple[Figure, ...]:
    """Return what can be said from the release alone."""
    view = table.view()
    if view is not None:
        return quality_of(view).figures
    if not isinstance(table.released, ItemSets):
        return (Figure("rows", float(len(table.rows())), "published rows, each told at random", True),)
    sets = table.released
    counts: Counter[str] = Counter(dict.fromkeys(sets.items, 0))
    for names, count in sets.named():
        counts.update(dict.fromkeys(names, count))
    figures = [
        Figure("sets", float(len(sets.sets)), "different sets of items that were found", True),
        Figure("persons", float(sets.total), "persons whose set was found, as far as is known", True),
    ]
    for item, count in counts.most_common(_MOST_ITEMS):
        figures.append(Figure(f"persons with {item}", float(count), "in the sets that were found", True))
    return tuple(figures)


def write_anonymized_report(path: Path | str, table: AnonymizedTable) -> Path:
    """Write the report as .html or .json, and return its path."""
    target, view = Path(path), table.view()
    if target.suffix.lower() == ".html" and view is not None:
        return write_report(target, view, quality_of(view))
    figures = figures_of(table)
    if target.suffix.lower() == ".json":
        said = {"table": table.table, "method": table.method, "loss": str(table.loss), "unit": table.unit}
        shown = [{"name": one.name, "value": one.value, "meaning": one.meaning} for one in figures]
        record = {**said, "receipt": table.receipt, "notes": list(table.notes), "is_private": True, "figures": shown}
        target.write_text(json.dumps(record, indent=2), encoding="utf-8")
    elif target.suffix.lower() == ".html":
        target.write_text(_page(table, figures), encoding="utf-8")
    else:
        raise InvalidParameter("report", str(path), "a file ending in .html or .json")
    return target


def _page(table: AnonymizedTable, figures: tuple[Figure, ...]) -> str:
    name = html.escape(table.table)
    rows = "".join(
        f'<tr><td>{html.escape(one.name)}</td><td class="number">{one.value:.6g}</td>'
        f"<td>{html.escape(one.meaning)}</td></tr>"
        for one in figures
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Anonymized {name}</title>
<style>{STYLE}</style></head><body>
<h1>Anonymized rows of {name}</h1>
<p class="note">Everything here was computed from the release alone: it may be published.</p>
<h2>What is promised</h2>
{promise(table)}
<ul>{notes}</ul>
<h2>Figures</h2>
<table><tr><th>figure</th><th>value</th><th>meaning</th></tr>{rows}</table>
</body></html>
"""
