"""Report noisy max: add Laplace noise to every score, and release only the index of the largest.

For choosing one of many candidates under pure differential privacy; permute-and-flip has half its bound on the gap.
Cost: one pass over the candidates. Corrections: the winning noisy score is not released with the name, and the charge
is that of a pure mechanism, not the exponential mechanism's epsilon^2 / 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number
from dither.mechanisms.core.candidates import Choice
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.noise.source import LARGEST_SCALE, SMALLEST_SCALE
from dither.privacy import Loss, PureDP

_DRAWS_AT_A_TIME = 1 << 20


def _examples() -> Iterator[Example]:
    yield Example(NoisyMax(candidates=4, scale=2), np.array([24, 8, 28, 5]))
    yield Example(NoisyMax(candidates=3, scale=1, one_way=True), np.array([3, 2, 2]))
    yield Example(NoisyMax(candidates=2, scale="1/2", grid=1), np.array([0.1, 0.3]))


@register(
    examples=_examples, source="A Survey on Differential Privacy and Applications, section 2.5; Dwork and Roth, 3.3"
)
@dataclass(frozen=True, kw_only=True)
class NoisyMax(Choice):
    """Add discrete Laplace noise to every score, and release the index of the largest; ties go to the first.

    Guarantee: scores ``d_in`` apart lose epsilon = ``2 d_in / scale`` (``d_in / scale`` with ``one_way``).

    >>> NoisyMax(candidates=4, scale=2).loss(1)
    PureDP('1')
    """

    name: ClassVar[str] = "noisy-max"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    # The winner's noise may be as far up as the best one's is down.
    gap_reaches: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not SMALLEST_SCALE <= 1 / self.rate <= LARGEST_SCALE:
            raise InvalidParameter("scale", str(self.scale), "between 2^-40 and 2^1000 steps of a score")

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = spread / scale."""
        return PureDP(self.epsilon_of_one(d_in))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent choices."""
        steps, drawn = self.steps(value), np.empty(count, dtype=np.int64)
        block = max(1, _DRAWS_AT_A_TIME // self.candidates)
        for start in range(0, count, block):
            size = min(block, count - start)
            fresh = noise.discrete_laplace(1 / self.rate, size * self.candidates).reshape(size, self.candidates)
            # Scores are below 2^60 and int64 noise below 2^62; wider noise comes as Python integers.
            drawn[start : start + size] = np.argmax(steps + fresh, axis=1)
        return drawn
