"""The Laplace mechanism: continuous Laplace noise, released on a public grid.

For real numbers and vectors whose change is bounded in L1; for integers the geometric mechanism is slightly better.
Cost: one pass over the entries. Correction: the textbook form adds a float to a float, whose last bits give the value
away (Mironov 2012); here the released number is exactly the real mechanism rounded to a grid that does not depend on
data, drawn without floats deciding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.core.accuracy import laplace_reach
from dither.mechanisms.core.grid import Steps, on_grid, subdivision
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.norm_noise import NormNoise
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import L1, Metric


def _examples() -> Iterator[Example]:
    yield Example(Laplace(scale=1, grid=1), 0)
    yield Example(Laplace(scale="3/2", grid="1/4"), 0.3)
    yield Example(Laplace(scale=2, grid=8), 2.5)
    yield Example(Laplace(scale=10, shape=3), np.array([1.5, -2.25, 1e6]))


@register(examples=_examples, source="Differential Privacy and Applications (Zhu et al. 2017), section 2.4.1")
@dataclass(frozen=True, kw_only=True)
class Laplace(NormNoise):
    """Add Laplace noise to a number or an array, and round the sum to a public grid.

    Guarantee: values ``d_in`` apart in L1 lose epsilon = ``d_in / scale``.

    Args:
        scale: the scale b of the noise, density e^(-|z| / b) / (2 b); its variance is 2 b^2.
        grid: the step of the released numbers; by default a power of two near a thousandth of the scale.
        shape: the shape of the value; ``()`` is one number.

    >>> Laplace(scale=2).loss(1)
    PureDP('1/2')
    >>> print(Laplace(scale=2, grid="1/16").error(0.95))
    the absolute error is at most 6.02271 with probability 0.95

    """

    name: ClassVar[str] = "laplace"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @property
    def distance(self) -> Metric:
        """L1."""
        return L1

    def reach(self, failure: float) -> float:
        """Return the reach of the noise plus half a step of the grid."""
        return laplace_reach(self.width, failure) + float(self.step) / 2

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return draws of round(value + Z) to the grid."""
        halvings = subdivision(self.width, self.step)
        steps = Steps.of(self.domain.admit(value), self.step, halvings)
        width, entries = self.width / self.step * 2**halvings, steps.whole.size
        if steps.is_on_grid:
            drawn = noise.rounded_laplace_on_grid(width, count * entries)
        else:
            offsets = np.tile(steps.offset, count)
            drawn = noise.rounded_laplace(width, offsets, lambda index: steps.exact_offset(index % entries))
        return on_grid(steps.whole, drawn.reshape(count, entries), self.step, halvings).reshape(count, *self.draw_shape)
