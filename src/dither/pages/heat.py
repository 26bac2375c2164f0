"""Small tables as colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dither.pages.frame import Axis, Chart, Entry, Frame, described, filled, width_of, words_at
from dither.pages.labels import LINE, Labels, same_length, told, told_apart
from dither.pages.markup import tag
from dither.pages.scales import number

_MOST_CELLS_WITH_NUMBERS: Final = 12


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[Any]],
    *,
    across: Axis,
    up: Axis,
    shown: Axis,
    largest: float | None = None,
    side: float | None = None,
) -> Chart:
    """Return a small table as colours: one for numbers above zero, another for those below, pale near zero.

    Args:
        title: what is shown.
        rows: their names, from above.
        columns: their names.
        values: a sequence for each row.
        across: what the columns are.
        up: what the rows are.
        shown: what the numbers are.
        largest: the size of a number that has the full colour; by default the largest there is.
        side: of a cell in pixels; by default as the table needs.

    """
    same_length("values", rows, values)
    for found in values:
        same_length("values", columns, found)
    cells = [[number(value) for value in found] for found in values]
    full = largest or max((abs(value) for found in cells for value in found if value is not None), default=0.0) or 1.0
    each = side or min(46.0, max(8.0, 360.0 / max(len(columns), len(rows), 1)))
    with_numbers = each >= 30 and max(len(rows), len(columns)) <= _MOST_CELLS_WITH_NUMBERS
    named = told_apart(rows)
    names = Labels(columns, each * max(len(columns), 1), 34 + max((width_of(name) for name in named), default=0.0))
    # Cells keep their size; what slanted names need is added.
    left, names.slot = names.left - 26, each
    wide = max(26 + left + each * len(columns) + 14, 240.0)
    has_negative = any(value is not None and value < 0 for found in cells for value in found)
    keys = [(-full, "cold"), (0.0, "panel"), (full, "warm")][0 if has_negative else 1 :]
    frame = Frame(
        title,
        entries=[Entry(f"{shown.heading} {told(value, shown)}", colour) for value, colour in keys],
        up=up,
        up_scale=None,
        width=wide,
        area=each * max(len(rows), 1),
        below=names.height + 24,
        left=left,
        right=wide - 26 - left - each * max(len(columns), 1),
    )
    every = max(1, math.ceil(LINE / each))
    for line, name in enumerate(named):
        y = frame.top + each * line
        if line % every == 0:
            frame.parts.append(words_at(name, frame.left - 6, y + each / 2 + 4, text_anchor="end"))
        for place, value in enumerate(cells[line]):
            said = f"{rows[line]}, {columns[place]}: {'not known' if value is None else told(value, shown)}"
            spot = {"x": frame.left + each * place, "y": y, "width": each - 0.6, "height": each - 0.6}
            strength = 0.0 if value is None else min(abs(value) / full, 1.0)
            frame.parts.append(filled("panel", **spot))
            colour = "cold" if value is not None and value < 0 else "warm"
            frame.parts.append(filled(colour, "rect", tag("title", said), opacity=float(0.92 * strength), **spot))
            if with_numbers and value is not None:
                at = {"x": frame.left + each * (place + 0.5) - 0.3, "y": y + each / 2 + 3.6}
                ink = "ground" if strength > 0.55 else "ink"
                frame.parts.append(words_at(_brief(value, shown), colour=ink, size=10, text_anchor="middle", **at))
    names.draw(frame)
    frame.under(across, frame.bottom + names.height + 14)
    said_rows = [
        f"{rows[line]}: " + ", ".join("not known" if value is None else told(value, shown) for value in found[:12])
        for line, found in enumerate(cells)
    ]
    return frame.chart(f"Table of {shown.heading}. {described(said_rows)}", is_empty=not (rows and columns))


def _brief(value: float, axis: Axis) -> str:
    """Return a number that fits into a cell."""
    return told(round(value, 2) + 0.0 if abs(value) < 100 and not axis.is_share else value, axis)
