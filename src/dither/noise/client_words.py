"""Random words for clients: 32 bits at a time, with the standard library alone.

A report of a device must come out the same, byte for byte, in every language that reads the same words. So the rules
here are part of version 1 of a protocol document, and never change under that version:

- A source gives words of ``width`` bits, 32 but where a law is enumerated.
- ``take(bits)`` reads as few words as hold that many bits, the first word being the highest, and drops low bits. No
  word is read for 0 bits, and what is dropped is never used again.
- ``below(limit)`` takes as many bits as ``limit - 1`` has, and starts again while they are not below ``limit``.
- ``heads(weight, bits)`` takes ``bits``, and is true where they are below ``weight``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from dither.errors import EntropyFailure

WIDTH: Final = 32
_AT_A_TIME: Final = 64


class Words:
    """Random numbers from a source of 32-bit integers, in an order that is public.

    Args:
        source: gives words, each uniform on [0, 2^width).
        width: the number of bits of a word.

    >>> scripted = Words([0x80000001, 0xFFFFFFFF, 5 << 28])
    >>> scripted.take(4), scripted.below(6), scripted.used
    (8, 2, 3)

    """

    def __init__(self, source: Iterable[int], width: int = WIDTH) -> None:
        self._source: Iterator[int] = iter(source)
        self._width = width
        #: How many words were read.
        self.used = 0

    def take(self, bits: int) -> int:
        """Return a uniform integer of that many bits."""
        words = -(-bits // self._width)
        drawn = 0
        for _ in range(words):
            drawn = (drawn << self._width) | next(self._source)
        self.used += words
        return drawn >> (words * self._width - bits)

    def below(self, limit: int) -> int:
        """Return a uniform integer in [0, limit)."""
        bits = (limit - 1).bit_length()
        while (drawn := self.take(bits)) >= limit:
            pass
        return drawn

    def heads(self, weight: int, bits: int) -> bool:
        """Return a coin that shows heads with probability ``weight / 2^bits``."""
        return self.take(bits) < weight


def system_words() -> Words:
    """Return random numbers of the operating system's generator, for one report: nothing is left over for the next."""
    return Words(_system())


def _system() -> Iterator[int]:
    while True:
        try:
            fresh = os.urandom(4 * _AT_A_TIME)
        except (OSError, NotImplementedError) as failure:
            raise EntropyFailure("the operating system gave no random bytes") from failure
        for start in range(0, len(fresh), 4):
            yield int.from_bytes(fresh[start : start + 4], "big")
