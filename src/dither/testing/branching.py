"""The law of a sampler, coin by coin.

Where ``enumeration`` tries every string of words, this follows both sides of every coin, with the coin's own exact
chance; the likeliest branches first. A few hundred branches give the law of most mechanisms on small inputs almost
whole. That a coin is decided rightly by its words is shown by enumeration.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.exact import whole
from dither.noise import Noise
from dither.noise.chances import Chance
from dither.noise.entropy import Tosser
from dither.testing.entropy import ScriptExhausted
from dither.testing.enumeration import Enumeration, Outcome, hashable

_CHANCE_BITS = 64
# Below one part in a billion what is left undecided no longer matters.
_ENOUGH = 10**9
# A run goes on with its likeliest branch while that is not much less likely than the likeliest one elsewhere; otherwise
# it would have to be run once for every coin. A sampler that starts over again and again is left there all the same.
_WORTH_FOLLOWING = 1 / 16


class _Branch(NamedTuple):
    """A script that was not followed yet, likeliest first in a heap; its probability is ``units`` / 2^``bits``."""

    priority: float
    order: int
    script: tuple[int, ...]
    units: int
    bits: int


class BranchingEntropy(Tosser):
    """Follows a script of coins and words; continues beyond its end, and leaves every other branch for later.

    Args:
        branch: what to follow.
        waiting: the heap to which the other branches are added.
        order: numbers that tell equally likely branches apart.
        word_bits: the width of a word that belongs to no coin.

    """

    def __init__(self, branch: _Branch, waiting: list[_Branch], order: Iterator[int], word_bits: int) -> None:
        self.word_bits = word_bits
        self.units, self.bits = branch.units, branch.bits
        self._script, self._next = list(branch.script), 0
        self._waiting, self._order = waiting, order

    def toss(self, chance: Chance) -> bool:
        """Return the scripted side of the coin, without computing its probability again."""
        if self._next < len(self._script):
            self._next += 1
            return bool(self._script[self._next - 1])
        low, high = chance.bounds(_CHANCE_BITS)
        # Rounded down on both sides, so that no branch is taken for likelier than it is.
        return bool(self._branch([(1, low), (0, 2**_CHANCE_BITS - high)], _CHANCE_BITS))

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return the scripted words."""
        return np.array([self._word() for _ in range(count)], dtype=np.uint16)

    def _word(self) -> int:
        if self._next < len(self._script):
            self._next += 1
            return self._script[self._next - 1]
        return self._branch([(word, 1) for word in range(2**self.word_bits)], self.word_bits)

    def _branch(self, sides: Sequence[tuple[int, int]], bits: int) -> int:
        """Continue with the likeliest side if that is worth it, and leave the others (or all) to be followed later."""
        possible = [(side, self.units * count) for side, count in sides if count]
        self.bits += bits
        whole_mass = 1 << self.bits
        followed, count = max(possible, key=itemgetter(1))
        elsewhere = -self._waiting[0].priority if self._waiting else 0.0
        is_followed = len(possible) == 1 or count / whole_mass >= _WORTH_FOLLOWING * elsewhere
        for side, other in possible:
            if side != followed or not is_followed:
                script = (*self._script, side)
                branch = _Branch(-other / whole_mass, next(self._order), script, other, self.bits)
                heapq.heappush(self._waiting, branch)
        if not is_followed:
            raise ScriptExhausted
        self.units = count
        self._script.append(followed)
        self._next += 1
        return followed


class Branches:
    """The branches of a sampler, followed a number of runs at a time, the likeliest first.

    Args:
        draw: the sampler; it must depend on its noise alone.
        word_bits: the width of words where words are drawn that belong to no coin.

    """

    def __init__(self, draw: Callable[[Noise], Outcome], *, word_bits: int = 2) -> None:
        self._draw, self._word_bits = draw, word_bits
        # In units of 2^-bits, the bits beside them: adding integers is several times faster than adding fractions.
        self._mass: dict[Outcome, tuple[int, int]] = {}
        self._order = itertools.count()
        self._waiting = [_Branch(-1.0, next(self._order), (), 1, 0)]
        self._left = 1, 0
        self._runs = 0

    def follow(self, runs: int) -> Enumeration:
        """Return the mass of every outcome on all branches followed so far, after ``runs`` runs at least."""
        for _ in range(self._runs, whole("runs", runs, least=1)):
            self._runs += 1
            if self._left[0] * _ENOUGH <= 1 << self._left[1] or not self._waiting:
                break
            entropy = BranchingEntropy(heapq.heappop(self._waiting), self._waiting, self._order, self._word_bits)
            try:
                outcome = hashable(self._draw(Noise(entropy)))
            except ScriptExhausted:
                continue
            share = entropy.units, entropy.bits
            self._mass[outcome] = _plus(self._mass.get(outcome, (0, 0)), share)
            self._left = _plus(self._left, (-entropy.units, entropy.bits))
        return Enumeration({outcome: _fraction(mass) for outcome, mass in self._mass.items()}, _fraction(self._left))


def _plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return the sum of two numbers given as units of 2^-bits."""
    bits = max(one[1], other[1])
    return (one[0] << bits - one[1]) + (other[0] << bits - other[1]), bits


def _fraction(number: tuple[int, int]) -> Fraction:
    return Fraction(number[0], 1 << number[1])


def branch_outcomes(draw: Callable[[Noise], Outcome], *, runs: int, word_bits: int = 2) -> Enumeration:
    """Return the mass of every outcome of ``draw`` on its likeliest branches, and the mass that they leave undecided.

    Args:
        draw: the sampler; it must depend on its noise alone.
        runs: the number of runs, which bounds the work.
        word_bits: the width of words where words are drawn that belong to no coin.

    >>> coin = branch_outcomes(lambda noise: noise.bernoulli("1/3", 1)[0], runs=10)
    >>> [(side, round(float(mass), 9)) for side, mass in sorted(coin.mass.items())]
    [(False, 0.666666667), (True, 0.333333333)]

    """
    return Branches(draw, word_bits=word_bits).follow(runs)
