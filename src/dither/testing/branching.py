"""The law of a sampler, coin by coin.

Where ``enumeration`` tries every string of words, this follows both sides of every coin, with the coin's own exact
chance; the likeliest branches first. A few hundred branches give the law of most mechanisms on small inputs almost
whole. That a coin is decided rightly by its words is shown by enumeration.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.exact import whole
from dither.noise import Noise
from dither.noise.chances import Chance
from dither.noise.entropy import Tosser
from dither.testing.entropy import ScriptExhausted
from dither.testing.enumeration import Enumeration, Outcome, hashable

_CHANCE_BITS = 64
# What is left undecided no longer matters.
_ENOUGH = Fraction(1, 10**9)


class BranchingEntropy(Tosser):
    """Follows a script of coins and words; at its end says which branches there are, and how likely each is."""

    def __init__(self, script: tuple[int, ...], word_bits: int) -> None:
        self.word_bits = word_bits
        self._script, self._next = script, 0
        self.branches: Sequence[tuple[tuple[int, ...], Fraction]] = ()

    def toss(self, chance: Chance) -> bool:
        """Return the scripted side of the coin; a coin that can fall only one way is no branch."""
        low, high = chance.bounds(_CHANCE_BITS)
        if low == high and low in (0, 2**_CHANCE_BITS):
            return bool(low)
        unit = Fraction(1, 2**_CHANCE_BITS)
        return bool(self._follow([((1,), low * unit), ((0,), 1 - high * unit)]))

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return the scripted words."""
        each = Fraction(1, 2**self.word_bits)
        choices = [((word,), each) for word in range(2**self.word_bits)]
        return np.array([self._follow(choices) for _ in range(count)], dtype=np.uint16)

    def _follow(self, choices: Sequence[tuple[tuple[int, ...], Fraction]]) -> int:
        if self._next == len(self._script):
            self.branches = choices
            raise ScriptExhausted
        self._next += 1
        return self._script[self._next - 1]


def branch_outcomes(draw: Callable[[Noise], Outcome], *, runs: int, word_bits: int = 2) -> Enumeration:
    """Return the mass of every outcome of ``draw`` on its likeliest branches, and what they leave undecided.

    Args:
        draw: the sampler; it must depend on its noise alone.
        runs: how many times it is run, which bounds the work.
        word_bits: the width of words where words are drawn that belong to no coin.

    >>> coin = branch_outcomes(lambda noise: noise.bernoulli("1/3", 1)[0], runs=10)
    >>> [(side, round(float(mass), 9)) for side, mass in sorted(coin.mass.items())]
    [(False, 0.666666667), (True, 0.333333333)]

    """
    mass: defaultdict[Outcome, Fraction] = defaultdict(Fraction)
    order = itertools.count()
    waiting: list[tuple[Fraction, int, tuple[int, ...]]] = [(Fraction(-1), next(order), ())]
    left = Fraction(1)
    for _ in range(whole("runs", runs, least=1)):
        if left <= _ENOUGH or not waiting:
            break
        negative, _, script = heapq.heappop(waiting)
        entropy = BranchingEntropy(script, word_bits)
        try:
            mass[hashable(draw(Noise(entropy)))] -= negative
            left += negative
        except ScriptExhausted:
            for more, share in entropy.branches:
                heapq.heappush(waiting, (negative * share, next(order), script + more))
    return Enumeration(dict(mass), left)
