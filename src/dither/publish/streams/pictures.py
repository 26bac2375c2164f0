"""Pictures of streams: a line with a band for each group over time, and a page of them. All public."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dither.mechanisms.claims import claims
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart
from dither.pages.page import bullets, figure, note, page
from dither.publish.queries.pictures import answer_table
from dither.publish.queries.result import QueryResult
from dither.publish.streams.present import TICK

#: More ticks than this are thinned evenly: nobody could see more.
_MOST_POINTS: Final = 400
#: More groups than this are not told apart by colours.
_MOST_LINES: Final = 8
#: Rows of the table below the pictures.
_MOST_ROWS: Final = 200


def stream_picture(result: QueryResult, column: str | None = None, *, title: str = "") -> Chart:
    """Return a number over time, a line with its intervals for each group; at most eight groups, the first ones.

    Args:
        result: what a stream has released.
        column: a number; by default the first.
        title: what is shown; by default the column's name.

    """
    chosen = result.number_named(column)
    keys = [place for place, one in enumerate(result.columns) if one.is_key and one.name != TICK]
    moments = sorted(set(result.column(TICK)))  # type: ignore[type-var]
    step = max(1, -(-len(moments) // _MOST_POINTS))
    shown = {moment: place for place, moment in enumerate(moments) if place % step == 0 or place == len(moments) - 1}
    groups: dict[str, list[tuple[float, float, float, float]]] = {}
    values, ends = result.column(chosen), result.interval(chosen)
    for row, value, (low, high) in zip(result.rows, values, ends, strict=True):
        if row[0] in shown:
            name = ", ".join(str(row[key]) for key in keys) or chosen
            least, most = (value, value) if low is None else (low, high)
            groups.setdefault(name, []).append((shown[row[0]], value, least, most))  # type: ignore[arg-type]
    lines = [
        Line(name, *[[point[part] for point in points] for part in range(4)])  # type: ignore[arg-type]
        for name, points in list(groups.items())[:_MOST_LINES]
    ]
    first = moments[0] if moments else "the start"
    said = title or f"{chosen}, with {float(result.confidence) * 100:g} % intervals"
    return line_chart(said, lines, across=Axis(f"ticks since {first}"), up=Axis(chosen), width=720)


def stream_page(result: QueryResult) -> str:
    """Return what a stream has released as a page: a picture of every number, the last ticks, and how to read it."""
    numbers = [one.name for one in result.columns if result.has_interval(one)]
    drawn = [figure(stream_picture(result, name).markup()) for name in numbers] if result.rows else []
    said = [f"{one.name}: {words}" for one in result.columns for words in (one.estimand, one.bias) if words]
    parts = {name: getattr(result, name)[-_MOST_ROWS:] for name in ("rows", "low", "high", "raw")}
    last = replace(result, **parts)
    return page(
        f"{', '.join(one.name for one in result.columns if not one.is_key)} over time",
        *drawn,
        note(f"The last {len(last.rows):,} of {len(result.rows):,} rows:" if len(last.rows) < len(result.rows) else ""),
        answer_table(last),
        bullets([*said, *result.notes]),
        note(" ".join(claims(result.confidence))),
        note(f"Cost {result.loss} for all ticks together, for {result.unit}; {result.receipt}."),
    )
