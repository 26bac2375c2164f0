"""A result as people are shown it: a column for each value, one for its interval, and in demonstrations for the truth.

Terminal, notebook and page are made of these columns, so that a number has the same digits in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dither.pages.digits import alone, in_digits, step_of

if TYPE_CHECKING:
    from dither.publish.queries.result import QueryResult


@dataclass(frozen=True)
class PrintedColumn:
    """A column of strings, as printed.

    Args:
        heading: above it.
        cells: one for each row.
        is_number: whether they are numbers or intervals of numbers, which align at the right.
        of: the column of the result that it is about.

    """

    heading: str
    cells: tuple[str, ...]
    is_number: bool
    of: str


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
        printed.append(PrintedColumn(column.name, tuple(triple[0] for triple in triples), is_number, column.name))
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
