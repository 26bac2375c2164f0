"""The exponential mechanism: choose a candidate with probability proportional to e^(score / scale).

For choosing one of many candidates by any score of bounded sensitivity. Cost: one pass over the candidates, whatever
their scores. Correction: the form without the factor 2 of the sensitivity is private only for scores that all move the
same way (``one_way``).
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


def _examples() -> Iterator[Example]:
    yield Example(Exponential(candidates=4, scale=2), np.array([24, 8, 28, 5]))
    yield Example(Exponential(candidates=3, scale=1, one_way=True), np.array([3, 2, 2]))
    yield Example(Exponential(candidates=3, scale="0.5", grid="0.125", score_error="0.001"), np.array([0.1, -0.4, 0.3]))


@register(examples=_examples, source="Differential Privacy and Applications (Zhu et al. 2017), section 2.4.2")
@dataclass(frozen=True, kw_only=True)
class Exponential(Choice):
    """Choose a candidate with probability proportional to e^(score / scale).

    Guarantee: scores ``d_in`` apart lose epsilon = ``2 d_in / scale`` (``d_in / scale`` with ``one_way``) and
    rho = epsilon^2 / 8; float scores pay for their grid and error as well.

    >>> Exponential(candidates=4, scale=2).loss(1)
    PureDP('1', rho='1/8')
    >>> print(Exponential(candidates=4, scale=2).error(0.95))
    the gap between the best score and that of the chosen candidate is at most 8.76405 with probability 0.95
    """

    name: ClassVar[str] = "exponential"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = spread / scale; the range of the log-ratio is epsilon too, hence rho = epsilon^2 / 8."""
        epsilon = self.epsilon_of_one(d_in)
        return PureDP(epsilon, rho=epsilon**2 / 8)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent choices."""
        return noise.select(self.steps(value), self.rate, count)
