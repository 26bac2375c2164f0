"""Texts that grow, in plain Python: NULL instead of a text that is longer than any engine would make."""

from __future__ import annotations

from typing import Final

#: No text that is computed is longer: two of the longest columns one after the other.
LONGEST_TEXT: Final = 2**17


def concatenated(*texts: str) -> str | None:
    """Return texts one after the other.

    >>> concatenated("a", "b"), concatenated("a" * 2**16, "b" * 2**17)
    ('ab', None)
    """
    return "".join(texts) if sum(map(len, texts)) <= LONGEST_TEXT else None


def replaced(text: str, old: str, new: str) -> str | None:
    """Return the text with every ``old`` replaced by ``new``; the length is known before the text is made.

    >>> replaced("aba", "a", "xx"), replaced("a" * 2**11, "a", "x" * 2**10)
    ('xxbxx', None)
    """
    length = len(text) + text.count(old) * (len(new) - len(old))
    return text.replace(old, new) if length <= LONGEST_TEXT else None


def last(text: str, many: int) -> str:
    """Return the last characters of a text, the whole of a shorter one.

    >>> last("abc", 2), last("abc", 9), last("abc", 0)
    ('bc', 'abc', '')
    """
    return text[max(len(text) - many, 0) :]


def part_of(text: str, separator: str, place: int) -> str:
    """Return a part of a text between separators, counted from 1; empty where there are fewer.

    >>> part_of("a-b-c", "-", 2), part_of("a", "-", 2)
    ('b', '')
    """
    parts = text.split(separator, place)
    return parts[place - 1] if place <= len(parts) else ""
