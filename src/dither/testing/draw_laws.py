"""The law of a mechanism draw by draw: every value that a draw may have, with the logarithm of its chance.

``branching`` follows coins, which is all that there is to a sampler; rare outcomes are out of its reach, because what
it has not followed yet is likelier than they are. Here the laws that noise is asked for are taken as they are defined,
so that a choice among a few candidates has a few branches, however rare. Integers with long tails are followed as far
as they matter, and what is missed is known. That noise keeps the laws that it is asked for is shown elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from dither.exact import exact
from dither.noise import Noise
from dither.testing.entropy import SeededEntropy
from dither.testing.enumeration import hashable

#: Noise this wide is held at one value: its conversation partner is so far away that no value of it matters.
QUIET: Final = 2**20
#: Integers are followed while the chance of all of a run together is above e^this.
_FLOOR: Final = -8.0
#: Of wider noise too many values matter.
_WIDEST: Final = 4
_COIN_BITS: Final = 64


class NotFollowed(Exception):
    """A law was asked for that has no rule here, or a run has too many branches."""


@dataclass(frozen=True)
class DrawLaw:
    """Outcomes with the logarithms of their chances, the chance of what was not followed, and the number of runs."""

    logs: dict[Any, float]
    missed: float
    runs: int


Sides = Sequence[tuple[Any, float]]


class _Followed(Noise):
    """Answers requests along a script of branches, and notes how many there are where the script ends."""

    def __init__(self, script: list[int], pinned: int) -> None:
        super().__init__(SeededEntropy(0))
        self.script, self._pinned = script, pinned
        self.sides: list[int] = []
        self.missed_at: dict[int, float] = {}
        self.log, self._noise_log = 0.0, 0.0

    def __getattribute__(self, name: str) -> Any:
        if name in _LAWS and name not in _FOLLOWED:
            raise NotFollowed(name)
        return super().__getattribute__(name)

    def _one(self, sides: Sides) -> Any:
        place = len(self.sides)
        if place == len(self.script):
            self.script.append(0)
        self.sides.append(len(sides))
        value, log = sides[self.script[place]]
        self.log += log
        return value

    def _many(self, sides: Sides, size: int, kind: Any = np.int64) -> Any:
        return np.array([self._one(sides) for _ in range(size)], dtype=kind)

    def _coins(self, heads: float, tails: float, size: int) -> Any:
        return self._many(
            [(value, log) for value, log in ((True, heads), (False, tails)) if log > -math.inf], size, bool
        )

    def discrete_laplace(self, scale: Any, size: int) -> Any:
        width = float(exact("scale", scale))
        if width >= QUIET:
            return np.full(size, round(self._pinned * width), dtype=np.int64)
        if width > _WIDEST:
            raise NotFollowed("discrete_laplace")
        decay = math.exp(-1 / width)
        return np.array([self._integer(math.log((1 - decay) / (1 + decay)), 1 / width) for _ in range(size)])

    def _integer(self, top: float, fall: float) -> int:
        """Return an integer of discrete Laplace noise, whose chance is e^(top - fall * |x|)."""
        # Where a run is unlikely already, its likeliest value is followed all the same.
        reach = max(0, math.floor((self._noise_log + top - _FLOOR) / fall))
        sides = [(x, top - fall * abs(x)) for x in range(-reach, reach + 1)]
        self.missed_at[len(self.sides)] = math.exp(self.log) * max(
            0.0, 1 - math.fsum(math.exp(log) for _, log in sides)
        )
        value: int = self._one(sides)
        self._noise_log += top - fall * abs(value)
        return value

    def bernoulli(self, p: Any, size: int) -> Any:
        chance = float(exact("p", p))
        return self._coins(_log(chance), _log(1 - chance), size)

    def flip(self, chance: Any, size: int) -> Any:
        low, high = chance.bounds(_COIN_BITS)
        whole = 2**_COIN_BITS
        return self._coins(_log(low / whole), _log((whole - high) / whole), size)

    def bernoulli_exp(self, gamma: Any, size: int) -> Any:
        rate = float(exact("gamma", gamma))
        return self._coins(-rate, _log(-math.expm1(-rate)), size)

    def bernoulli_truth(self, epsilon: Any, size: int, *, others: int) -> Any:
        rate = float(exact("epsilon", epsilon))
        total = math.log1p(others * math.exp(-rate))
        return self._coins(-total, math.log(others) - rate - total, size)

    def uniform_below(self, limit: int, size: int) -> Any:
        if limit > 64:
            raise NotFollowed("uniform_below")
        return self._many([(value, -math.log(limit)) for value in range(limit)], size)

    def select(self, scores: Any, rate: Any, size: int) -> Any:
        return self._many(_softmax(np.asarray(scores).tolist(), float(exact("rate", rate))), size)

    def select_block(self, scores: Any, multiplicities: Any, rate: Any, size: int) -> Any:
        numbers = [math.log(number) if number else -math.inf for number in multiplicities]
        return self._many(_softmax(np.asarray(scores).tolist(), float(exact("rate", rate)), numbers), size)

    def permute_and_flip(self, scores: Any, rate: Any, size: int) -> Any:
        numbers, step = np.asarray(scores).tolist(), float(exact("rate", rate))
        if len(numbers) > 6:
            raise NotFollowed("permute_and_flip")
        best = max(numbers)
        heads = [math.exp(step * (number - best)) for number in numbers]
        chances = [0.0] * len(numbers)
        for shown in product((False, True), repeat=len(numbers)):
            chance = math.prod(one if is_head else 1 - one for one, is_head in zip(heads, shown, strict=True))
            for place, is_head in enumerate(shown):
                if is_head:
                    chances[place] += chance / sum(shown)
        return self._many([(place, _log(chance)) for place, chance in enumerate(chances) if chance > 0], size)

    def truncated_laplace(self, scale: Any, bound: int, size: int) -> Any:
        if bound > 64:
            raise NotFollowed("truncated_laplace")
        reach = range(-bound, bound + 1)
        sides = _softmax([-abs(x) for x in reach], 1 / float(exact("scale", scale)))
        return self._many([(place - bound, log) for place, log in sides], size)


def _log(chance: float) -> float:
    return math.log(chance) if chance > 0 else -math.inf


def _softmax(scores: Sequence[float], rate: float, logs: Sequence[float] = ()) -> list[tuple[int, float]]:
    weights = [rate * score + (logs[place] if logs else 0.0) for place, score in enumerate(scores)]
    most = max(weights)
    total = most + math.log(math.fsum(math.exp(weight - most) for weight in weights))
    return [(place, weight - total) for place, weight in enumerate(weights) if weight > -math.inf]


_LAWS: Final = frozenset(name for name, law in vars(Noise).items() if not name.startswith("_") and callable(law))
_FOLLOWED: Final = frozenset(name for name in vars(_Followed) if name in _LAWS)


def law_of(draw: Callable[[Noise], Any], *, most: int = 20_000, pinned: int = 0) -> DrawLaw:
    """Return the law of a draw, or raise NotFollowed.

    Args:
        draw: what draws; it must depend on its noise alone.
        most: runs at most.
        pinned: at how many times its scale very wide noise is held.

    >>> law = law_of(lambda noise: noise.select([0, 100], 1, 1)[0])
    >>> {outcome: round(log, 3) + 0.0 for outcome, log in law.logs.items()}, law.missed
    ({0: -100.0, 1: 0.0}, 0.0)

    """
    parts: dict[Any, list[float]] = {}
    missed, number = 0.0, 0
    for number, (outcome, log, lost) in enumerate(_runs(draw, pinned)):
        if number >= most:
            raise NotFollowed(f"more than {most} runs")
        parts.setdefault(outcome, []).append(log)
        missed += lost
    return DrawLaw({outcome: _sum(logs) for outcome, logs in parts.items()}, missed, number + 1)


def _sum(logs: list[float]) -> float:
    most = max(logs)
    return most + math.log(math.fsum(math.exp(log - most) for log in logs))


def _runs(draw: Callable[[Noise], Any], pinned: int) -> Iterator[tuple[Any, float, float]]:
    """Yield every outcome with the logarithm of its chance, and what was missed on the way and not told before."""
    script: list[int] = []
    fresh = 0
    while True:
        noise = _Followed(script, pinned)
        outcome = hashable(draw(noise))
        # Draws before the place that changed last were met before, and so was what they miss.
        yield outcome, noise.log, math.fsum(lost for place, lost in noise.missed_at.items() if place >= fresh)
        script = noise.script[: len(noise.sides)]
        while script and script[-1] + 1 == noise.sides[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1
        fresh = len(script)
