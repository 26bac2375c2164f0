"""Randomised response: report the true category, or one of the others.

For one category that each person reports, with no trusted curator; also the extreme case of every pure mechanism. Cost:
two coins. The estimate of a frequency from many reports is not made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Positive, Whole, non_negative
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import Category
from dither.noise import Noise
from dither.privacy import DIFFERENT, NOTHING, Loss, Metric, PureDP, laplace_scale


def _examples() -> Iterator[Example]:
    yield Example(RandomisedResponse(epsilon=1), 0)
    yield Example(RandomisedResponse(epsilon="1/2", categories=5), 3)


@register(
    examples=_examples, source="Differential Privacy and Applications (Zhu et al. 2017), section 15.6; Warner 1965"
)
@dataclass(frozen=True, kw_only=True)
class RandomisedResponse(Primitive[Any, int]):
    """Report the true category, or each other category with probability e^-epsilon times that of the truth.

    Guarantee: any two categories lose ``epsilon``.

    Args:
        epsilon: the loss.
        categories: how many there are, numbered from 0; two is the classical coin.

    >>> RandomisedResponse(epsilon=1, categories=4).loss(1)
    PureDP('1')
    >>> round(RandomisedResponse(epsilon=1).truth, 4)
    0.7311

    """

    name: ClassVar[str] = "randomised-response"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a single report is right or wrong; only many of them estimate a frequency"
    no_interval_because: ClassVar[str] = "a single report names a category, which has no interval"

    epsilon: Positive = Positive()
    categories: Whole = Whole(2, least=2, most=2**31)

    @classmethod
    def calibrated(cls, within: Loss, *, categories: int = 2) -> RandomisedResponse:
        """Return the mechanism that reports the truth most often with a loss within ``within``."""
        # Its loss in epsilon is that of Laplace noise of scale 1 / epsilon.
        return cls(epsilon=1 / laplace_scale(within, 1), categories=categories)

    @property
    def distance(self) -> Metric:
        """Whether two categories differ."""
        return DIFFERENT

    @property
    def domain(self) -> Category:
        """One of the categories."""
        return Category(self.categories)

    @property
    def truth(self) -> float:
        """The probability of reporting the truth, to float precision."""
        return float(1 / (1 + (self.categories - 1) * np.exp(-float(self.epsilon))))

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon, for any distance: two categories differ or they do not."""
        return PureDP(self.epsilon) if non_negative("d_in", d_in) else NOTHING

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent reports."""
        truth, others = self.domain.admit(value), self.categories - 1
        lies = ~noise.bernoulli_truth(self.epsilon, count, others=others)
        # A lie is uniform among the other categories.
        shift = 1 + noise.uniform_below(others, count)
        return np.where(lies, (truth + shift) % self.categories, truth).astype(np.int64)
