r"""Patterns of LIKE: their meaning, matched in time proportional to text times pattern on every engine.

A pattern is public and a text is not, so how long the matching takes must not hang on a cell. Matchers that try every
place for every ``%`` do: of thirty ``%`` and a thousand letters they never end. Cut at its ``%``, a pattern is a list
of *segments* of letters and ``_``, each of one length. A text fits if it begins with the first segment, ends with the
last one, and has the others in between, each after the one before. It is enough to look for each at the first place
where it is found: if any choice of places works, then so does the leftmost one, by induction, since it leaves the
longest rest. Nothing is ever tried twice.

DuckDB's regular expressions are automata, which read a text once. In Java's, an atomic group ``(?>.*?s)`` keeps the
leftmost place for good. PostgreSQL's own LIKE gives up as soon as the rest of a text is too short for one
segment, and so tries each place once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

#: A longer pattern is refused.
LONGEST_PATTERN: Final = 1000

#: Letters, and None for any one code point.
Segment = tuple[str | None, ...]
_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}&~#<>=!:,-]")


@lru_cache(maxsize=256)
def segments_of(pattern: str) -> tuple[Segment, ...]:
    r"""Return the segments between the ``%`` of a pattern, in order; a backslash makes the next letter ordinary.

    >>> segments_of("a_%\\%")
    (('a', None), ('%',))
    """
    found: list[list[str | None]] = [[]]
    letters = iter(pattern)
    for letter in letters:
        if letter == "%":
            found.append([])
        elif letter == "_":
            found[-1].append(None)
        else:
            found[-1].append(next(letters, "\\") if letter == "\\" else letter)
    return tuple(map(tuple, found))


def plain_texts(pattern: str) -> list[str] | None:
    """Return the segments as texts, or None if the pattern has a ``_``.

    >>> plain_texts("a%b"), plain_texts("a_b")
    (['a', 'b'], None)
    """
    segments = segments_of(pattern)
    if any(letter is None for segment in segments for letter in segment):
        return None
    return ["".join(letter or "" for letter in segment) for segment in segments]


def matches(text: str, pattern: str) -> bool:
    """Return whether a text matches a pattern.

    >>> matches("a" * 1000, "%a" * 30 + "%b"), matches("banana", "b%an_")
    (False, True)
    """
    first, *between = segments_of(pattern)
    if not between:
        return len(text) == len(first) and _stands(first, text, 0)
    last = between.pop()
    end = len(text) - len(last)
    place = len(first)
    if not (place <= end and _stands(first, text, 0) and _stands(last, text, end)):
        return False
    for segment in between:
        here = _find(segment, text, place, end)
        if here is None:
            return False
        place = here + len(segment)
    return True


def _stands(segment: Segment, text: str, place: int) -> bool:
    return all(letter is None or text[place + offset] == letter for offset, letter in enumerate(segment))


def _find(segment: Segment, text: str, start: int, end: int) -> int | None:
    """Return the first place from ``start`` on where a segment occurs that ends before ``end``."""
    if None not in segment:
        place = text.find("".join(letter or "" for letter in segment), start, end)
        return None if place < 0 else place
    return next((place for place in range(start, end - len(segment) + 1) if _stands(segment, text, place)), None)


def automaton(pattern: str) -> str:
    r"""Return a regular expression for the whole text, for engines that run it as an automaton.

    >>> automaton("a%_.")
    '(?s)a.*.\\.'
    """
    return "(?s)" + ".*".join(map(_regular, segments_of(pattern)))


def atomic(pattern: str) -> str:
    r"""Return a regular expression to be found in a text, for engines that backtrack: nothing is tried twice.

    >>> atomic("a%b%c")
    '(?s)\\Aa(?>.*?b).*c\\z'
    """
    first, *between = segments_of(pattern)
    if not between:
        return rf"(?s)\A{_regular(first)}\z"
    last = between.pop()
    middle = "".join(f"(?>.*?{_regular(segment)})" for segment in between if segment)
    # Only here it goes back, by one letter at a time from the end: once through the text, as all before it is fixed.
    return rf"(?s)\A{_regular(first)}{middle}.*{_regular(last)}\z"


def _regular(segment: Sequence[str | None]) -> str:
    return "".join("." if letter is None else _SPECIAL.sub(r"\\\g<0>", letter) for letter in segment)


def escaped(pattern: str) -> str:
    r"""Return a pattern of the same meaning whose every backslash stands before %, _ or a backslash.

    Engines differ on anything else (some raise), so nothing else reaches them.

    >>> escaped("50\\%_\\x")
    '50\\%_x'
    """
    signs = [[_written(letter) for letter in segment] for segment in segments_of(pattern)]
    return "%".join(map("".join, signs))


def _written(letter: str | None) -> str:
    return "_" if letter is None else "\\" + letter if letter in "%_\\" else letter
