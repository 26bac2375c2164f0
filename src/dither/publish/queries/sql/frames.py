"""Frames of windows within a person: which rows beside the one at hand are measured.

Frames that end at the last row are read backwards: the rows from this one to the last are those from the first to this
one in the opposite order. So the tree has frames that end a stated number of rows before or after the one at hand, and
no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dither.data import Expression, Name, Relation
from dither.data.relations import FARTHEST, WIDEST_FRAME
from dither.publish.queries.sql.expressions import Scalars

if TYPE_CHECKING:
    from sqlglot import exp

Order = tuple[tuple[Expression, bool], ...]
_FIRST: Final = -(10**9)
_LAST: Final = 10**9


@dataclass(frozen=True)
class Frame:
    """Which rows count.

    Attributes:
        running: 'range' or 'rows' for those up to the one at hand, with or without those that are equal in the order.
        rows: the places of the first and of the last one, counted from the one at hand; None is the first row of all.
        is_reversed: whether the order is to be reversed.

    """

    running: str | None = None
    rows: tuple[int | None, int] | None = None
    is_reversed: bool = False


def frame_of(scalars: Scalars, node: exp.Expression, given: list[exp.Expression], *, ordered: bool) -> Frame:
    """Return the frame of a window; all rows where neither a frame nor an order is given."""
    if not given:
        return Frame("range") if ordered else Frame()
    spec: Any = given[0]
    kind = str(spec.args.get("kind") or "").upper()
    if spec.args.get("exclude"):
        scalars.refuse(node, "EXCLUDE in a frame", "remove it, and subtract the row's own value from the total")
    start = _end(scalars, node, spec, "start")
    end = _end(scalars, node, spec, "end") if spec.args.get("end") else 0
    if (start, end) == (_FIRST, _LAST):
        return Frame()
    if kind == "RANGE" and (start, end) == (_FIRST, 0):
        return Frame("range") if ordered else Frame()
    if kind != "ROWS":
        scalars.refuse(
            node,
            f"a frame of {kind or 'other things'} before and after",
            "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or join the table to itself on the privacy id with "
            "BETWEEN in ON",
        )
    if not ordered:
        scalars.refuse(node, "a frame of rows without ORDER BY", "say by what rows are ordered")
    if start > end or end == _FIRST or start == _LAST:
        scalars.refuse(node, "a frame that ends before it starts", "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
    is_reversed = end == _LAST
    if is_reversed:
        start, end = -end, -start
    if start != _FIRST and end - start >= WIDEST_FRAME:
        scalars.refuse(
            node, f"a frame of {end - start + 1} rows", f"write at most {WIDEST_FRAME}, or begin it at the first row"
        )
    if (start, end) == (_FIRST, 0):
        return Frame("rows", None, is_reversed)
    return Frame(None, (None if start == _FIRST else start, end), is_reversed)


def backwards(order: Order, relation: Relation) -> Order:
    """Return the opposite of an order, in which rows that are equal follow each other by all columns."""
    turned = tuple((value, not is_descending) for value, is_descending in order)
    return (*turned, *((Name(name), True) for name in relation.columns))


def _end(scalars: Scalars, node: exp.Expression, spec: Any, which: str) -> int:
    """Return where a frame starts or ends, in rows after the one at hand."""
    given = spec.args.get(which)
    side = -1 if str(spec.args.get(f"{which}_side") or "").upper() == "PRECEDING" else 1
    if isinstance(given, str):
        return 0 if given.upper() == "CURRENT ROW" else _LAST * side
    if given.key == "interval":
        return side  # of dates, which only RANGE has
    rows = scalars.whole_constant(given)
    if not 0 <= rows <= FARTHEST:
        scalars.refuse(node, f"a frame of {rows} rows before or after", f"write a number from 0 to {FARTHEST}")
    return rows * side
