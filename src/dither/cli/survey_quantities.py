"""What ``dither estimate`` prints of surveys about numbers, sets and frequent values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dither.cli.console import say, shown

if TYPE_CHECKING:
    from dither.local.quantities import Quantities, Row


def quantity_table(found: Quantities) -> None:
    """Print the quantities with their intervals."""
    from rich.table import Table

    from dither.cli.console import console

    made = Table("quantity", "estimate", "low", "high", box=None)
    for column in made.columns[1:]:
        column.justify = "right"
    for row in found.rows:
        made.add_row(shown(row.name), *_numbers(row))
    say(shown(found.document.question))
    console.print(made, markup=False, highlight=False)
    how = "all together" if found.together else "each"
    say(f"Intervals hold with {float(found.confidence) * 100:g} % {how}; a dash is an end that is not known.")


def quantity_page(found: Quantities, dropped: Any) -> str:
    """Return a page with the quantities."""
    from dither.pages.page import note, page, table

    counts = ", ".join(f"{number} {kind}" for kind, number in dropped.items())
    return page(
        found.document.question,
        table(("quantity", "estimate", "low", "high"), [(row.name, *_numbers(row)) for row in found.rows]),
        note(f"{found.card}. Dropped: {counts}."),
    )


def _numbers(row: Row) -> tuple[str, ...]:
    """Return estimate and ends as they are printed."""
    form = "{:.2%}" if row.is_share else "{:.4g}"
    return tuple(form.format(part) if math.isfinite(part) else "-" for part in (row.value, row.low, row.high))
