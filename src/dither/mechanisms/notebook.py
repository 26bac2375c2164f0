"""Notebook views: small pieces of HTML, fully escaped, with tables cut after some rows.

Made of public facts and released values alone, by objects that hold nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from dither.exact.enclosure import to_float
from dither.pages.markup import Markup, breakable, tag
from dither.privacy import Loss

if TYPE_CHECKING:
    from dither.pages.frame import Chart

MOST_ROWS: Final = 20
_LONGEST_TEXT: Final = 400
_CELL: Final = "text-align:left;vertical-align:top;padding:0.1em 0.8em 0.1em 0"
_NUMBER: Final = _CELL.replace("left", "right") + ";white-space:nowrap;font-variant-numeric:tabular-nums"


def html(
    title: str,
    *,
    facts: Iterable[tuple[str, object]] = (),
    head: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    of_rows: int | None = None,
    numbers: Collection[int] = (),
    notes: Iterable[object] = (),
    picture: Chart | None = None,
) -> str:
    """Return a title, facts by name, a picture, a table of at most 20 rows, and notes.

    Args:
        title: what the object is.
        facts: names and what they are.
        head: the names of the table's columns; without them there is no table.
        rows: what stands in it.
        of_rows: how many rows there are, if more than those given.
        numbers: the places of columns of numbers, which align at the right.
        notes: one paragraph each.
        picture: what is drawn below the facts.

    >>> "a &lt;b" in html("a <b", notes=["x & y"])
    True

    """
    parts = [tag("p", tag("strong", _text(title)))]
    listed = [tag("tr", _cell("th", name), _cell("td", value)) for name, value in facts]
    if listed:
        parts.append(tag("table", *listed))
    if picture is not None:
        parts.append(tag("div", picture.alone()))
    if head:
        kept = list(islice(rows, MOST_ROWS + 1))
        styles = [_NUMBER if place in numbers else _CELL for place in range(len(head))]
        body = [tag("tr", *map(_styled("td"), row, styles)) for row in kept[:MOST_ROWS]]
        # Numbers stay on one line; headings may take several.
        names = tag("tr", *map(_styled("th"), head, [style.replace("white-space:nowrap;", "") for style in styles]))
        table = tag("table", tag("thead", names), tag("tbody", *body))
        parts.append(tag("div", table, style="overflow-x:auto", tabindex=0, role="group", aria_label="Table"))
        total = len(kept) if of_rows is None else of_rows
        if total > MOST_ROWS:
            more = "more" if of_rows is None else f"{of_rows - MOST_ROWS} more"
            parts.append(tag("p", f"... and {more}"))
    parts += [tag("p", _text(note)) for note in notes]
    return str(tag("div", *parts))


def decimals(loss: Loss) -> dict[str, float]:
    """Return a loss's figures as decimals, rounded up, for reading and plotting; the exact texts are authoritative.

    >>> from dither.privacy import ApproxDP
    >>> decimals(ApproxDP("1/4", "1e-6"))
    {'epsilon': 0.25, 'delta': 1e-06}
    """
    figures = ((name, text) for name, text in loss.to_dict().items() if name in ("epsilon", "delta", "rho"))
    return {name: _decimal_up(Fraction(text)) for name, text in figures}


def _decimal_up(figure: Fraction) -> float:
    """Return a double whose shortest decimal, the one that JSON shows, is not smaller."""
    near = float(figure)
    return near if Fraction(repr(near)) >= figure else to_float(figure, "up")


def _cell(kind: str, value: object, style: str = _CELL) -> Markup:
    return tag(kind, _text(value), style=style)


def _styled(kind: str) -> Callable[[object, str], Markup]:
    return partial(_cell, kind)


def _text(value: object) -> Markup:
    text = str(value)
    return breakable(text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…")
