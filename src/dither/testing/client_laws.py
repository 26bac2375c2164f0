"""The exact law of a client half, by trying every string of small random integers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dither.local.clients import Half
from dither.noise.client_words import Words
from dither.testing.entropy import ScriptExhausted
from dither.testing.enumeration import Enumeration


def client_law(half: Half, cell: int, *, word_bits: int, max_words: int) -> Enumeration:
    """Return the exact mass of every payload of an answer over all strings of random integers up to a length.

    Args:
        half: the client half; its weights need at most a few bits.
        cell: the answer.
        word_bits: the width of a word: 1 to 4 keep the number of strings small.
        max_words: strings on which the client wants more words than these are undecided.

    >>> from dither.local.clients.kary import Kary
    >>> law = client_law(Kary(categories=3, truth=3, bits=2), 0, word_bits=2, max_words=2)
    >>> law.mass[(0,)], law.mass[(1,)], law.undecided
    (Fraction(3, 4), Fraction(1, 8), Fraction(0, 1))

    """
    mass: dict[tuple[int, ...], int] = {}
    undecided = 0
    waiting: list[tuple[int, ...]] = [()]
    unit = 1 << (word_bits * max_words)
    while waiting:
        script = waiting.pop()
        words = Words(_script(script), word_bits)
        try:
            fields = half.draw(cell, words)
        except ScriptExhausted:
            if len(script) == max_words:
                undecided += 1
            else:
                waiting += [(*script, word) for word in range(2**word_bits)]
            continue
        mass[fields] = mass.get(fields, 0) + (1 << (word_bits * (max_words - len(script))))
    exact = {fields: Fraction(count, unit) for fields, count in mass.items()}
    return Enumeration(exact, Fraction(undecided, unit))


def worst_ratio(half: Half, *, word_bits: int, max_words: int) -> tuple[Fraction, Fraction]:
    """Return the worst ratio of the masses of one payload under two answers, and the largest undecided mass.

    Where nothing is undecided that is the exact worst ratio. With rejection the strings that were decided have the law
    of all, since what is rejected does not depend on the answer: the ratio is exact where all answers are as undecided.
    """
    laws = [client_law(half, cell, word_bits=word_bits, max_words=max_words) for cell in range(half.cells)]
    worst = Fraction(1)
    for payload in set().union(*(law.mass for law in laws)):
        masses = [law.mass.get(payload, Fraction(0)) for law in laws]
        if not min(masses):
            raise ZeroDivisionError(f"the payload {payload} is impossible under one answer, and not under another")
        worst = max(worst, max(masses) / min(masses))
    return worst, max(law.undecided for law in laws)


def _script(script: tuple[int, ...]) -> Iterator[int]:
    yield from script
    raise ScriptExhausted
