"""Permute-and-flip: never worse than the exponential mechanism at the same epsilon, and up to twice as good.

For choosing one of many candidates under pure differential privacy. It has no better zCDP figure than any other pure
mechanism: epsilon^2 / 8 belongs to the exponential mechanism alone. Cost: one pass over the candidates, whatever their
scores: all coins are flipped, and one of the heads is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number
from dither.mechanisms.core.candidates import Choice
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

_COINS_AT_A_TIME = 1 << 20


def _examples() -> Iterator[Example]:
    yield Example(PermuteAndFlip(candidates=4, scale=2), np.array([24, 8, 28, 5]))
    yield Example(PermuteAndFlip(candidates=3, scale=1, one_way=True), np.array([3, 2, 2]))
    yield Example(PermuteAndFlip(candidates=2, scale="0.5", grid="0.125"), np.array([0.1, 0.3]))


@register(examples=_examples, source="Permute-and-Flip (McKenna, Sheldon 2020), sections 3 and 4")
@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Choice):
    """Visit the candidates in random order, and accept each with probability e^((score - best) / scale).

    Guarantee: scores ``d_in`` apart lose epsilon = ``2 d_in / scale`` (``d_in / scale`` with ``one_way``).

    >>> PermuteAndFlip(candidates=4, scale=2).loss(1)
    PureDP('1')
    """

    name: ClassVar[str] = "permute-and-flip"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = spread / scale."""
        return PureDP(self.epsilon_of_one(d_in))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent choices."""
        steps, drawn = self.steps(value), np.empty(count, dtype=np.int64)
        block = max(1, _COINS_AT_A_TIME // self.candidates)
        for start in range(0, count, block):
            size = min(block, count - start)
            drawn[start : start + size] = noise.permute_and_flip(steps, self.rate, size)
        return drawn
