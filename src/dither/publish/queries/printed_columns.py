"""A result as people are shown it: a column for each value, one for its interval, and in demonstrations for the truth.

Terminal, notebook and page are made of these columns, so that a number has the same digits in all of them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dither.pages.digits import alone, in_digits, step_of

if TYPE_CHECKING:
    from dither.publish.queries.result import QueryResult

#: Between two columns.
_GAP: Final = 2
#: A limit is not wrapped where it has at most so many characters.
_WIDEST_LIMIT: Final = 28


@dataclass(frozen=True)
class PrintedColumn:
    """A column of strings, as printed.

    Args:
        heading: above it.
        cells: one for each row.
        is_number: whether they are numbers or intervals of numbers, which align at the right.
        of: the column of the result that it is about.
        limit: how much of one person counts in it, for its head.

    """

    heading: str
    cells: tuple[str, ...]
    is_number: bool
    of: str
    limit: str = ""

    @property
    def title(self) -> str:
        """The heading with the limit, where a head is one string."""
        return f"{self.heading} ({self.limit})" if self.limit else self.heading


def printed_columns(
    result: QueryResult, most: int | None = None, truths: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
) -> list[PrintedColumn]:
    """Return the columns of the first rows as strings: keys, and each number with its interval beside it.

    Args:
        result: an answer.
        most: how many rows; by default all.
        truths: by what they are called, a true row for each released one; for generated data alone.

    """
    parts = (result.rows, result.low, result.high)
    rows, low, high = (part if most is None else part[:most] for part in parts)
    printed = []
    for place, column in enumerate(result.columns):
        values, first, last = ([row[place] for row in part] for part in (rows, low, high))
        is_number = result.has_interval(column)
        have_ends = [least is not None and largest is not None for least, largest in zip(first, last, strict=True)]
        triples = [
            in_digits(*ends) if has else (shown(ends[0], is_key=not is_number), "", "")
            for *ends, has in zip(values, first, last, have_ends, strict=True)
        ]
        values_shown = tuple(triple[0] for triple in triples)
        is_right = is_number or column.kind in ("integer", "real")
        printed.append(PrintedColumn(column.name, values_shown, is_right, column.name, column.limit))
        if any(have_ends):
            cells = tuple(f"[{least}, {largest}]" if least else "" for _, least, largest in triples)
            printed.append(PrintedColumn(f"{float(result.confidence) * 100:g} % interval", cells, True, column.name))
        for name, known in (truths or {}).items() if is_number else ():
            steps = [step_of(*ends) for ends in zip(values, first, last, strict=True)]
            true = [row.get(column.name) for row in known]
            texts = (
                "" if value is None else alone(value) if step is None else step.nearest(value)
                for value, step in zip(true, steps, strict=False)
            )
            printed.append(PrintedColumn(name, tuple(texts), True, column.name))
    return printed


def text_table(printed: Sequence[PrintedColumn]) -> list[str]:
    """Return columns as aligned lines: names, limits over value and interval together, a ruler, and the cells."""
    widths = [max(map(len, (column.heading, *column.cells))) for column in printed]
    spans: dict[int, int] = {}
    for place, column in enumerate(printed):
        if column.limit:
            beside = sum(other.of == column.of for other in printed[place : place + 2])
            span = sum(widths[place : place + beside]) + _GAP * (beside - 1)
            wanted = max(map(len, textwrap.wrap(column.limit, max(span, _WIDEST_LIMIT))))
            widths[place] += max(0, wanted - span)
            spans[place] = max(span, wanted)

    def line(texts: Sequence[str]) -> str:
        cells = zip(texts, widths, (column.is_number for column in printed), strict=True)
        aligned = (text.rjust(width) if right else text.ljust(width) for text, width, right in cells)
        return (" " * _GAP).join(aligned).rstrip()

    return [
        line([column.heading for column in printed]),
        *_limit_lines(printed, widths, spans),
        (" " * _GAP).join("-" * width for width in widths),
        *map(line, zip(*(column.cells for column in printed), strict=True)),
    ]


def _limit_lines(printed: Sequence[PrintedColumn], widths: Sequence[int], spans: Mapping[int, int]) -> list[str]:
    """Return the lines below the names: each limit at the right of the columns that it is about."""
    wrapped = {place: textwrap.wrap(printed[place].limit, span) for place, span in spans.items()}
    lines = [""] * max(map(len, wrapped.values()), default=0)
    start = 0
    for place, width in enumerate(widths):
        for number, text in enumerate(wrapped.get(place, ())):
            lines[number] = lines[number].ljust(start) + text.rjust(spans[place])
        start += width + _GAP
    return lines


def shown(value: Any, *, is_key: bool = True) -> str:
    """Return a cell as people are shown it: a key has all its digits.

    >>> shown(None), shown(("a", 2)), shown(20250), shown(0.25), shown(20250, is_key=False)
    ('NULL', 'a, 2', '20250', '0.25', '20,250')
    """
    if isinstance(value, tuple):
        return ", ".join(shown(part, is_key=is_key) for part in value)
    if is_key and value is not None:
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    return alone(value)
