"""How long texts can become and how much work they cost, from the declarations of columns: public, without a row.

What fills the memory of an engine, or its time, would otherwise depend on a cell. ``widths`` adds these numbers up over
a request, and refuses what is too much; in plain Python a text of more than ``LONGEST_TEXT`` characters is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dither.data.expressions import Call, Cast, Expression, Kind, Literal, Name, kind_of, kind_over
from dither.data.patterns import plain_texts
from dither.data.schema import USUAL_LENGTH
from dither.data.texts import LONGEST_TEXT

__all__ = ["LONGEST_TEXT", "Extent", "bytes_of", "extent", "largest_text"]

#: The least integer, written out.
_LONGEST_INTEGER: Final = 20
#: The bytes of a value that is not a text, and the most bytes of a code point.
_NUMBER_BYTES: Final = 8
_CHARACTER_BYTES: Final = 4
#: Functions that write a text anew; the others hand on one that is there.
_TRIMS: Final = ("trim", "trim_left", "trim_right")
_WRITING: Final = frozenset(("concatenate", "replace", "lower", "upper", *_TRIMS, "substring", "right", "split_part"))
#: Comparing a byte takes about this part of the time of writing it and sorting by it.
_COMPARING: Final = 8
#: Functions that look at every character take longer, as measured on DuckDB and PostgreSQL; in bytes for a character.
_READING: Final = {
    **dict.fromkeys(("lower", "upper"), 16),
    **dict.fromkeys(_TRIMS, 8),
    **dict.fromkeys(("substring", "length", "replace", "like", "right", "position", "split_part"), 4),
}
#: And for each place at which a text is replaced.
_REPLACING: Final = 24
#: Looking for a text within a text takes, at worst, steps in proportion to both; this number of them is worth a byte.
_SEARCHING: Final = {"contains": 16, "replace": 16, "position": 16, "split_part": 16, "like": 1}
#: Reading a text as another kind: once, and for each character. A real takes some 70 ns a character on DuckDB.
_CASTING: Final[Mapping[Kind, tuple[int, int]]] = {
    Kind.REAL: (1000, 64),
    Kind.INTEGER: (1000, 64),
    Kind.DATE: (700, 16),
    Kind.TIMESTAMP: (700, 16),
    Kind.BOOLEAN: (100, 4),
}


@dataclass(frozen=True)
class Extent:
    """The public bounds of an expression.

    Args:
        kind: the kind of its value.
        longest: its largest number of characters, 0 if it is not a text.
        largest: the same for any text that is made on the way.
        made: the bytes of all texts that are written on the way, its own included.
        work: how many bytes are written, or as much as that takes: reading, searching, a number for each node.
        widest: the function that writes the longest text, if any does.

    """

    kind: Kind
    longest: int
    largest: int
    made: int
    work: int
    widest: str


def bytes_of(kind: Kind, longest: int) -> int:
    """Return the largest number of bytes that a value of a kind takes.

    >>> bytes_of(Kind.TEXT, 10), bytes_of(Kind.REAL, 0)
    (40, 8)
    """
    return _CHARACTER_BYTES * longest if kind is Kind.TEXT else _NUMBER_BYTES


def largest_text(expression: Expression, columns: Mapping[str, Kind], lengths: Mapping[str, int]) -> int:
    """Return the largest number of characters of any text that is made while an expression is evaluated.

    Args:
        expression: the expression that is computed.
        columns: the kinds of the columns.
        lengths: the largest number of characters of each column; by default the usual length.

    >>> long = Call("replace", (Name("note"), Literal("x", Kind.TEXT), Literal("xyz", Kind.TEXT)))
    >>> largest_text(Call("length", (long,)), {"note": Kind.TEXT}, {"note": 5})
    15

    """
    return extent(expression, columns, lengths).largest


def extent(expression: Expression, columns: Mapping[str, Kind], lengths: Mapping[str, int]) -> Extent:
    """Return the bounds of an expression over columns of those kinds and lengths; every node is visited once.

    >>> text = Name("note")
    >>> extent(Call("concatenate", (text, text)), {"note": Kind.TEXT}, {"note": 5}).longest
    10
    """
    return _extent(expression, columns, lengths, {})


def _extent(
    expression: Expression, columns: Mapping[str, Kind], lengths: Mapping[str, int], known: dict[int, Extent]
) -> Extent:
    # By identity: a node that stands in several places is looked at once, and counts in each.
    if id(expression) in known:
        return known[id(expression)]
    below = [_extent(child, columns, lengths, known) for child in expression.children()]
    if isinstance(expression, Name):
        kind = kind_of(expression, columns)
    else:
        kind = kind_over(expression, [part.kind for part in below])
    longest = _longest(expression, below, lengths) if kind is Kind.TEXT else 0
    function = _function(expression)
    is_written = kind is Kind.TEXT and (function in _WRITING or isinstance(expression, Cast))
    own = bytes_of(kind, longest) if is_written else 0
    widest = max(below, key=lambda part: part.largest, default=None)
    found = Extent(
        kind,
        longest,
        max([longest, *(part.largest for part in below)]),
        own + sum(part.made for part in below),
        own + _work(expression, function, below) + sum(part.work for part in below),
        function if widest is None or longest > widest.largest or not widest.widest else widest.widest,
    )
    known[id(expression)] = found
    return found


def _function(expression: Expression) -> str:
    if isinstance(expression, Call):
        return expression.function
    return "" if isinstance(expression, Name | Literal) else type(expression).__name__.lower()


def _work(expression: Expression, function: str, below: list[Extent]) -> int:
    """Return the cost of a node itself, in bytes, without the text that it writes."""
    work = expression.size - sum(child.size for child in expression.children())
    work += sum(bytes_of(part.kind, part.longest) for part in below if part.longest) // _COMPARING
    text = below[0].longest if below else 0
    work += text * _READING.get(function, 0)
    if function in _SEARCHING:
        sought = below[1].longest
        is_plain = function == "like" and _is_plain(expression)
        work += text * sought // _SEARCHING["contains" if is_plain else function]
    if function == "replace":
        work += text // below[1].longest * _REPLACING
    if isinstance(expression, Cast) and below[0].kind is Kind.TEXT:
        once, each = _CASTING.get(expression.kind, (0, 0))
        work += once + each * text
    return work


def _is_plain(like: Expression) -> bool:
    """Return whether a pattern is one text, with or without a ``%`` at its ends: engines then search for that text."""
    pattern = like.children()[1]
    texts = plain_texts(str(pattern.value)) if isinstance(pattern, Literal) else None
    return texts is not None and len([text for text in texts if text]) <= 1


def _longest(expression: Expression, below: list[Extent], lengths: Mapping[str, int]) -> int:
    sizes = [part.longest for part in below]
    if isinstance(expression, Name):
        return lengths.get(expression.name, USUAL_LENGTH)
    if isinstance(expression, Literal):
        return len(str(expression.value or ""))
    if isinstance(expression, Cast) and below[0].kind is Kind.INTEGER:
        return _LONGEST_INTEGER
    if isinstance(expression, Call) and expression.function == "concatenate":
        return sum(sizes)
    if isinstance(expression, Call) and expression.function == "replace":
        # What is found is not empty, and no two of them overlap.
        text, old, new = sizes
        return text + text // old * max(new - old, 0)
    if isinstance(expression, Call) and expression.function == "split_part":
        return sizes[0]
    if isinstance(expression, Call) and expression.function in ("substring", "right"):
        size = expression.arguments[-1]
        return min(sizes[0], int(str(size.value)) if isinstance(size, Literal) else sizes[0])
    return max(sizes)
