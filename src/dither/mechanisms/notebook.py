"""Notebook views: small pieces of HTML, fully escaped, with tables cut after some rows.

Made of public facts and released values alone, by objects that hold nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape
from itertools import islice
from typing import Final

from dither.exact.enclosure import to_float
from dither.privacy import Loss

MOST_ROWS: Final = 20
_LONGEST_TEXT: Final = 400
_CELL: Final = "text-align:left;vertical-align:top;padding:0.1em 0.8em 0.1em 0"


def html(
    title: str,
    *,
    facts: Iterable[tuple[str, object]] = (),
    head: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    of_rows: int | None = None,
    notes: Iterable[object] = (),
) -> str:
    """Return HTML with a title, named facts, a table of at most 20 rows, and notes.

    Args:
        title: what the object is.
        facts: names and what they are.
        head: the names of the table's columns; without them there is no table.
        rows: what stands in it.
        of_rows: how many rows there are, if more than those given.
        notes: one paragraph each.

    >>> html("a <b>", notes=["x & y"])
    '<div><p><strong>a &lt;b&gt;</strong></p><p>x &amp; y</p></div>'

    """
    parts = [f"<p><strong>{_text(title)}</strong></p>"]
    listed = "".join(f"<tr>{_cell('th', name)}{_cell('td', value)}</tr>" for name, value in facts)
    if listed:
        parts.append(f"<table>{listed}</table>")
    if head:
        kept = list(islice(rows, MOST_ROWS + 1))
        body = "".join(f"<tr>{''.join(_cell('td', value) for value in row)}</tr>" for row in kept[:MOST_ROWS])
        names = "".join(_cell("th", name) for name in head)
        parts.append(f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>")
        total = len(kept) if of_rows is None else of_rows
        if total > MOST_ROWS:
            more = "more" if of_rows is None else f"{of_rows - MOST_ROWS} more"
            parts.append(f"<p>... and {more}</p>")
    parts += [f"<p>{_text(note)}</p>" for note in notes]
    return f"<div>{''.join(parts)}</div>"


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


def _cell(tag: str, value: object) -> str:
    return f'<{tag} style="{_CELL}">{_text(value)}</{tag}>'


def _text(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…")
