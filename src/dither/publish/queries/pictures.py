"""Pictures and pages of answers: a column with its intervals, and the whole answer as a page. All public."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from dither.mechanisms.claims import claims
from dither.pages.charts import Bars, Line, bar_chart, histogram, line_chart
from dither.pages.frame import Axis, Chart
from dither.pages.markup import Markup, joined
from dither.pages.page import bullets, code, figure, note, page, paragraph, table
from dither.pages.scales import number
from dither.publish.queries.printed_columns import printed_columns
from dither.publish.queries.quote import MOST_ADVICE, Quote
from dither.publish.queries.result import QueryResult

#: More groups than this are drawn as a line with a band.
_MOST_BARS: Final = 150
#: More ranges than this are, too.
_MOST_RANGES: Final = 1000


def picture(
    result: QueryResult, column: str | None = None, *, title: str = "", truth: Sequence[Any] = (), unit: str = ""
) -> Chart:
    """Return a column as bars with intervals, a line with a band if groups are many, or a histogram of ranges.

    Args:
        result: the answer.
        column: a number; by default the first.
        title: what is shown; by default the column's name.
        truth: true values, one a row, where they are known because the data is generated.
        unit: in which the column counts.

    """
    chosen = result.number_named(column)
    intervals = result.interval(chosen)
    low, high = [ends[0] for ends in intervals], [ends[1] for ends in intervals]
    values, names = result.column(chosen), result.groups(chosen)
    keys = ", ".join(_key_names(result)) or "all rows"
    said = title or f"{chosen}, with {float(result.confidence) * 100:g} % intervals"
    up = Axis(chosen, unit)
    ranges = _ranges(result)
    if ranges is not None and not truth and len(names) <= _MOST_RANGES:
        column_name, edges = ranges
        band = f"{float(result.confidence) * 100:g} % interval"
        across = Axis(column_name)
        return histogram(said, edges, values, low=low, high=high, band=band, across=across, up=up, width=640)
    if len(names) > _MOST_BARS:
        places = range(1, len(names) + 1)
        lines = [Line(chosen, places, values, low, high), *([Line("truth", places, truth)] if truth else [])]
        return line_chart(said, lines, across=Axis(f"{keys}, in order"), up=up, width=720)
    return bar_chart(said, names, [Bars("released", values, low, high)], across=Axis(keys), up=up, truth=truth)


def answer_page(result: QueryResult) -> str:
    """Return an answer as a page: a picture of every number by group, the table, and notes on how to read it."""
    numbers = [found.name for found in result.columns if result.has_interval(found)]
    drawn = [figure(picture(result, name).markup()) for name in numbers if len(result.rows) > 1]
    said = [f"{found.name}: {found.estimand}" for found in result.columns if found.estimand]
    return page(
        f"{', '.join(numbers) or 'Answer'}{_by(result)}",
        *drawn,
        answer_table(result),
        bullets([*said, *result.notes]),
        note(" ".join(claims(result.confidence, is_simultaneous=result.is_simultaneous))),
        note(f"Cost {result.loss}, for {result.unit}; {result.receipt}."),
        *([note(f"No interval covers this: {result.uncovered}.")] if result.uncovered else []),
    )


def quote_markup(quote: Quote) -> Markup:
    """Return a quote for a page: its facts, the error of each column, and advice."""
    rows = [(column.name, column.error_words, column.estimand) for column in quote.columns]
    return joined(
        (
            table((), quote.facts()),
            table(quote.error_heads(), rows) if rows else "",
            paragraph("To sharpen it, the best first:") if quote.advice else "",
            bullets(
                joined((code(one.change), str(one).removeprefix(one.change))) for one in quote.advice[:MOST_ADVICE]
            ),
        )
    )


def answer_table(result: QueryResult, truths: Mapping[str, Sequence[Mapping[str, Any]]] | None = None) -> Markup:
    """Return the rows of an answer as a table; intervals and, where they are known, true values have their own columns.

    Args:
        result: the answer.
        truths: by what they are called, a true row for each released one; for generated data alone.

    """
    printed = printed_columns(result, truths=truths)
    rows = list(zip(*(column.cells for column in printed), strict=True))
    numbers = [place for place, column in enumerate(printed) if column.is_number]
    if not truths:
        return table([column.title for column in printed], rows, numbers=numbers)
    # The name of a number is above its value, its interval and its truths.
    titles = {column.of: column.title for column in reversed(printed) if column.heading == column.of}
    groups = [(titles[name], len(list(among))) for name, among in groupby(column.of for column in printed)]
    spans = [("" if many == 1 else name, many) for name, many in groups]
    many = dict(groups)
    headings = [
        "released" if column.heading == column.of and many[titles[column.of]] > 1 else column.heading
        for column in printed
    ]
    return table(headings, rows, numbers=numbers, groups=spans)


def _ranges(result: QueryResult) -> tuple[str, list[float]] | None:
    """Return the column whose adjoining ranges are an answer's groups, and their ends; None for other groups."""
    keys = [found.name for found in result.columns if found.is_key]
    if len(keys) != 2 or not keys[0].endswith("_from") or keys[1] != f"{keys[0].removesuffix('_from')}_to":
        return None
    first, last = ([number(cell) for cell in result.column(key)] for key in keys)
    edges = [end for end in (*first, *last[-1:]) if end is not None]
    # A group without an end, as that of NULL, and rows in another order are drawn as any other group.
    if len(edges) != len(first) + 1 or first[1:] != last[:-1] or edges != sorted(edges):
        return None
    return keys[0].removesuffix("_from"), edges


def _by(result: QueryResult) -> str:
    keys = _key_names(result)
    return f" by {', '.join(keys)}" if keys else ""


def _key_names(result: QueryResult) -> list[str]:
    """Return what groups are made of: the two ends of a range are one column."""
    keys = [found.name for found in result.columns if found.is_key]
    starts = {name.removesuffix("_from") for name in keys if name.endswith("_from")}
    both = {name for name in starts if f"{name}_to" in keys}
    return list(dict.fromkeys(_column_of(name, both) for name in keys))


def _column_of(name: str, ranges: Collection[str]) -> str:
    start = name.removesuffix("_from").removesuffix("_to")
    return start if start in ranges and name in (f"{start}_from", f"{start}_to") else name
