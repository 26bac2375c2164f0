"""The split counter: running sums on a stream, each with noise of its own.

The simplest counter, and a baseline: the budget is divided among all answers, so that noise grows with their number.
Cost: one draw a tick.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Whole, non_negative, positive, probability, sqrt_up, whole
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.running import MOST_TICKS, NoiseProcess, RunningCounter
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.noise import Noise
from dither.noise.frozen import Freezable
from dither.noise.laplace import Integers
from dither.noise.tapes import Tapes
from dither.privacy import L1, Loss, Metric

_WIDEST = 2**56


def _examples() -> Iterator[Example]:
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, 0, 0], [1, 0, 0], 1),
        ([2, 5, 0], [2, 5, -1], 1),
        ([0, 3, 0], [1, 3, 1], 2),
    )
    yield Example(SplitCounter(steps=3, node=Geometric(scale=3)), [1, 0, 2], pairs)
    yield Example(SplitCounter(steps=3, node=DiscreteGaussian(sigma=2)), [1, 0, 2], pairs)


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 4.3.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class SplitCounter(RunningCounter):
    """Add up a stream, and answer each tick with the sum so far and independent noise.

    Guarantee: streams that differ by ``d_in`` in L1 lose what ``node`` loses at ``steps * d_in`` (geometric) or at
    ``sqrt(steps) * d_in`` (Gaussian) over all ticks; also if values are chosen by who has seen earlier answers.

    Args:
        steps: how many ticks the stream has; public.
        node: the noise of one answer.
        shape: the shape of a tick; ``()`` is one integer.

    >>> SplitCounter(steps=100, node=Geometric(scale=100)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "split-counter"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    steps: Whole = Whole(least=1, most=MOST_TICKS)
    node: OneCount = OneCount()

    def __post_init__(self) -> None:
        width = self.node.scale if isinstance(self.node, Geometric) else self.node.sigma
        if width > _WIDEST:
            raise InvalidParameter("node", self.node, f"noise of scale at most {_WIDEST}")
        if self.entries > 2**24:
            raise InvalidParameter("shape", self.shape, "of at most 2^24 entries")

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, steps: int, shape: Any = ()) -> Self:
        """Return the counter with the least noise whose loss at ``sensitivity`` is within ``within``."""
        purse, moved = Purse.within(within), positive("sensitivity", sensitivity)
        kind: CountNoise = Geometric(scale=1) if purse.is_pure else DiscreteGaussian(sigma=1)
        draft = cls(steps=steps, node=kind, shape=shape)
        return cls(steps=steps, node=purse.noise(moved * draft.stability), shape=shape)

    @property
    def length_of_stream(self) -> int:
        """The number of ticks."""
        return self.steps

    @cached_property
    def stability(self) -> Fraction:
        """How far the vector of all sums moves when the first tick moves by 1."""
        return Fraction(self.steps) if isinstance(self.node, Geometric) else sqrt_up(Fraction(self.steps))

    @property
    def distance(self) -> Metric:
        """L1 over all values: an event moves the value of its tick only."""
        return L1

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together."""
        return self.node.loss(non_negative("d_in", d_in) * self.stability)

    def standard_error(self, tick: int) -> float:
        """Return the standard deviation of the noise at a tick, counted from 0: the same for all."""
        whole("tick", tick, most=self.steps - 1)
        if isinstance(self.node, DiscreteGaussian):
            return float(self.node.sigma)
        rate = float(1 / self.node.scale)
        return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every answer."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = self.node.reach(share_of_failure(wanted, self.steps * self.entries))
        return Bound(float(reach), wanted, "the largest absolute error of any running sum")

    def interval_at(self, tick: int, out: Any, confidence: Number) -> Interval:
        """Return an interval for the sums at one tick, counted from 0, for all entries at once."""
        wanted = probability("confidence", confidence, open_below=True)
        whole("tick", tick, most=self.steps - 1)
        reach = int(self.node.reach(share_of_failure(wanted, self.entries)))
        return Interval(out - reach, out + reach, wanted)

    def process(self, tapes: Tapes) -> NoiseProcess:
        """Return the noise of a conversation, from its beginning."""
        return _SplitNoise(self, tapes)


class _SplitNoise(Freezable):
    """Independent noise for every tick."""

    remembered = ("_blocks",)

    def __init__(self, counter: SplitCounter, tapes: Tapes) -> None:
        self._counter, self._tapes, self._blocks = counter, tapes, 0

    def more(self) -> Integers:
        """Return the noise of the next block of ticks."""
        counter, noise = self._counter, Noise(self._tapes.tape(self._blocks))
        size, self._blocks = counter.block * counter.entries, self._blocks + 1
        if isinstance(counter.node, Geometric):
            drawn = noise.discrete_laplace(counter.node.scale, size)
        else:
            drawn = noise.discrete_gaussian(counter.node.sigma, size)
        return np.asarray(drawn.reshape(counter.block, counter.entries))
