"""The exact law of a sampler, by trying every string of words.

A sampler is a function of the words it draws. With words of 2 to 4 bits all strings of a useful length can be tried:
every string that the sampler finishes on adds its probability, a binary fraction, to what came out, and the strings on
which it would go on are accounted as undecided. Nothing is estimated, so a law that is wrong by more than the
undecided mass is refuted with certainty.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.noise import Noise
from dither.testing.entropy import ScriptExhausted

#: Anything hashable; an array counts as the tuple of its entries.
Outcome: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Enumeration:
    """What is known about a law after all strings of a length: the mass of each outcome, and the undecided mass."""

    mass: dict[Outcome, Fraction]
    undecided: Fraction

    def brackets(self, outcome: Outcome, low: Fraction, high: Fraction | None = None) -> bool:
        """Return whether the probability of ``outcome`` may lie in [``low``, ``high``], or be ``low`` exactly.

        The true probability is at least the outcome's mass, and exceeds it by at most the undecided mass.
        """
        mass = self.mass.get(hashable(outcome), Fraction(0))
        return mass <= (low if high is None else high) and low <= mass + self.undecided


def enumerate_outcomes(draw: Callable[[Noise], Outcome], *, word_bits: int, max_words: int) -> Enumeration:
    """Return the exact mass of every outcome of ``draw`` over all strings of up to ``max_words`` words.

    Args:
        draw: the sampler. It must depend on the words alone: it is run again from the start for every string.
        word_bits: the number of bits of a word; 2 to 4 keep the number of strings small.
        max_words: strings on which the sampler wants more words than these are undecided.

    >>> coin = enumerate_outcomes(lambda noise: noise.bernoulli("1/3", 1), word_bits=2, max_words=3)
    >>> coin.mass[(True,)], coin.mass[(False,)], coin.undecided
    (Fraction(21, 64), Fraction(21, 32), Fraction(1, 64))
    >>> coin.brackets((True,), Fraction(1, 3)), coin.brackets((True,), Fraction(7, 20))
    (True, False)

    """
    longest = whole("max_words", max_words)
    width = whole("word_bits", word_bits, least=1, most=16)
    # Counted in units of the longest strings' probability, so that integers are exact.
    counts: defaultdict[Outcome, int] = defaultdict(int)
    undecided = 0
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        script = waiting.pop()
        entropy = _FirstString(script, width, longest, waiting)
        try:
            outcome = draw(Noise(entropy))
        except ScriptExhausted:
            undecided += 1 << (width * (longest - entropy.used))
            continue
        if entropy.used < len(script):
            raise InvalidParameter("draw", draw, "a function of the words alone")
        counts[hashable(outcome)] += 1 << (width * (longest - entropy.used))
    unit = Fraction(1, 1 << (word_bits * longest))
    return Enumeration({outcome: count * unit for outcome, count in counts.items()}, undecided * unit)


class _FirstString:
    """Returns a script and then words of 0, and leaves every other string with this beginning for later.

    So that a sampler is run once for every string that it finishes on, and not once more for every beginning of one.
    """

    def __init__(self, script: tuple[int, ...], word_bits: int, longest: int, waiting: list[tuple[int, ...]]) -> None:
        self.word_bits = word_bits
        self.used = 0
        self._script, self._longest, self._waiting = script, longest, waiting

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return the next ``count`` words, unless the string would be too long."""
        end = self.used + count
        missing = end - len(self._script)
        if missing > 0:
            if end > self._longest:
                self.used = len(self._script)
                raise ScriptExhausted
            further = itertools.product(range(2**self.word_bits), repeat=missing)
            first = next(further)
            self._waiting += (self._script + more for more in further)
            self._script += first
        drawn = np.array(self._script[self.used : end], dtype=np.uint16)
        self.used = end
        return drawn


def hashable(outcome: Outcome) -> Outcome:
    """Return an outcome that can be counted: an array becomes a tuple."""
    if isinstance(outcome, np.ndarray):
        return tuple(outcome.ravel().tolist())
    return outcome.item() if isinstance(outcome, np.generic) else outcome
