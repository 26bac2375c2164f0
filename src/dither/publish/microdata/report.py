"""The report on an anonymized table: its guarantee and its content, as HTML or JSON. All of it is public."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

from dither.pages.page import bullets, note, page, page_target, section
from dither.pages.page import table as table_of
from dither.publish.microdata.anonymized import AnonymizedTable
from dither.publish.microdata.transactions import ItemSets
from dither.publish.synthetic.quality import Figure, quality_of
from dither.publish.synthetic.report import promise, write_report

_MOST_ITEMS: Final = 20


def figures_of(table: AnonymizedTable) -> tuple[Figure, ...]:
    """Return figures from the release alone."""
    view = table.view()
    if view is not None:
        return quality_of(view).figures
    if not isinstance(table.released, ItemSets):
        return (Figure("rows", float(len(table.rows())), "published rows, each drawn at random", True),)
    sets = table.released
    counts: Counter[str] = Counter(dict.fromkeys(sets.items, 0))
    for names, count in sets.named():
        counts.update(dict.fromkeys(names, count))
    figures = [
        Figure("sets", float(len(sets.sets)), "different sets of items that were found", True),
        Figure("persons", float(sets.total), "people whose set was found, as far as is known", True),
    ]
    for item, count in counts.most_common(_MOST_ITEMS):
        figures.append(Figure(f"persons with {item}", float(count), "in the sets that were found", True))
    return tuple(figures)


def write_anonymized_report(path: Path | str, table: AnonymizedTable) -> Path:
    """Write the report as .html or .json, and return its path."""
    target, view = page_target(path), table.view()
    if target.suffix.lower() == ".html" and view is not None:
        return write_report(target, view, quality_of(view))
    figures = figures_of(table)
    if target.suffix.lower() == ".json":
        said = {"table": table.table, "method": table.method, "loss": str(table.loss), "unit": table.unit}
        shown = [{"name": one.name, "value": one.value, "meaning": one.meaning} for one in figures]
        record = {**said, "receipt": table.receipt, "notes": list(table.notes), "is_private": True, "figures": shown}
        target.write_text(json.dumps(record, indent=2), encoding="utf-8")
    else:
        target.write_text(_page(table, figures), encoding="utf-8")
    return target


def _page(table: AnonymizedTable, figures: tuple[Figure, ...]) -> str:
    rows = [(one.name, "" if one.value is None else f"{one.value:.6g}", one.meaning) for one in figures]
    return page(
        f"Anonymized rows of {table.table}",
        note("Everything here was computed from the release alone: it may be published."),
        section("What is promised", promise(table), bullets(table.notes)),
        section("Figures", table_of(("figure", "value", "meaning"), rows)),
    )
