"""How long a text can become, by what is declared of columns: public, found without a row.

What fills the memory of an engine, and so fails, would otherwise depend on a cell. Engines refuse an expression that
could make a text of more than ``LONGEST_TEXT`` characters; in plain Python such a text is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dither.data.expressions import Call, Cast, Expression, Kind, Literal, Name, kind_of
from dither.data.schema import USUAL_LENGTH
from dither.data.texts import LONGEST_TEXT

__all__ = ["LONGEST_TEXT", "largest_text", "longest"]

#: The least integer, written out.
_LONGEST_INTEGER: Final = 20


def longest(expression: Expression, columns: Mapping[str, Kind], lengths: Mapping[str, int]) -> int:
    """Return how many characters an expression may have, 0 if it is no text.

    Args:
        expression: what is computed.
        columns: the kinds of the columns.
        lengths: how many characters the columns have at most; those that are not named have the usual length.

    >>> text = Name("note")
    >>> longest(Call("concatenate", (text, text)), {"note": Kind.TEXT}, {"note": 5})
    10

    """
    return _lengths(expression, columns, lengths)[0]


def largest_text(expression: Expression, columns: Mapping[str, Kind], lengths: Mapping[str, int]) -> int:
    """Return how many characters any text may have that is made on the way to the value of an expression.

    >>> long = Call("replace", (Name("note"), Literal("x", Kind.TEXT), Literal("xyz", Kind.TEXT)))
    >>> largest_text(Call("length", (long,)), {"note": Kind.TEXT}, {"note": 5})
    15
    """
    return _lengths(expression, columns, lengths)[1]


def _lengths(expression: Expression, columns: Mapping[str, Kind], lengths: Mapping[str, int]) -> tuple[int, int]:
    """Return the two numbers above."""
    below = [_lengths(child, columns, lengths) for child in expression.children()]
    own = 0
    if kind_of(expression, columns) is Kind.TEXT:
        own = _of_text(expression, [length for length, _ in below], columns, lengths)
    return own, max([own, *(largest for _, largest in below)])


def _of_text(expression: Expression, below: list[int], columns: Mapping[str, Kind], lengths: Mapping[str, int]) -> int:
    if isinstance(expression, Name):
        return lengths.get(expression.name, USUAL_LENGTH)
    if isinstance(expression, Literal):
        return len(str(expression.value or ""))
    if isinstance(expression, Cast) and kind_of(expression.value, columns) is Kind.INTEGER:
        return _LONGEST_INTEGER
    if isinstance(expression, Call) and expression.function == "concatenate":
        return sum(below)
    if isinstance(expression, Call) and expression.function == "replace":
        # What is found is not empty, and no two of them overlap.
        text, old, new = below
        return text + text // old * max(new - old, 0)
    if isinstance(expression, Call) and expression.function == "substring":
        size = expression.arguments[2]
        return min(below[0], int(str(size.value)) if isinstance(size, Literal) else below[0])
    return max(below)
