"""Tick noise: every tick of a stream by itself, each with noise of its own.

For numbers of each hour or day that are not added up: visits an hour, sales a day. An event touches one tick, so the
noise does not grow with the number of ticks; a person who comes at several ticks is paid for at each. Cost: one draw an
entry and tick.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Shape, Whole, non_negative, positive, probability, sqrt_up, whole
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.running import MOST_TICKS, TickLengths
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, IntegerArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.noise import Noise
from dither.privacy import L1, Loss, Metric


def _examples() -> Iterator[Example]:
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, 0, 0], [1, 0, 0], 1),
        ([2, 5, 0], [2, 5, -1], 1),
    )
    both: tuple[Any, Any, int] = ([0, 3, 0], [1, 3, 1], 2)
    yield Example(TickNoise(steps=3, node=Geometric(scale=3)), [1, 0, 2], (*pairs, both))
    # A person at two ticks: one person, who moves each by 1.
    yield Example(TickNoise(steps=3, node=DiscreteGaussian(sigma=2), ticks=2), [1, 0, 2], (*pairs, (*both[:2], 1)))
    two = np.array([1, 0])
    yield Example(TickNoise(steps=2, node=Geometric(scale=2), shape=2), [two, two], (([two, two], [two * 2, two], 1),))


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 4.3.1, for the event level",
)
@dataclass(frozen=True, kw_only=True)
class TickNoise(InteractivePrimitive[Any, Any]):
    """Answer each tick of a stream with its value and independent noise.

    Guarantee: with geometric noise streams that differ by ``d_in`` in L1 lose what ``node`` loses at ``d_in`` over all
    ticks. With Gaussian noise streams that differ in people, each of whom moves at most ``ticks`` ticks, whose largest
    changes at a tick add up to ``d_in``, lose what ``node`` loses at ``sqrt(ticks) * d_in``. Both hold also if values
    are chosen by who has seen the answers to earlier ones.

    Args:
        steps: how many ticks the stream has; public.
        node: the noise of one number.
        ticks: at how many ticks one person may count; with Gaussian noise alone.
        shape: the shape of a tick; ``()`` is one integer.

    >>> TickNoise(steps=8760, node=Geometric(scale=2)).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "tick-noise"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "an answer alone does not say how many there are: see interval_at"

    steps: Whole = Whole(least=1, most=MOST_TICKS)
    node: OneCount = OneCount()
    ticks: Whole = Whole(1, least=1, most=MOST_TICKS)
    shape: Shape = Shape(())

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, steps: int, ticks: int = 1, shape: Any = ()) -> Self:
        """Return the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed, for the whole stream; a pure one gives geometric noise.
            sensitivity: how far one unit of data moves the stream, in the distance of the noise: in L1 over all ticks
                for a pure loss, else at each tick.
            steps: how many ticks the stream has.
            ticks: at how many ticks one person may count.
            shape: the shape of a tick.

        """
        purse, moved = Purse.within(within), positive("sensitivity", sensitivity)
        kind: CountNoise = Geometric(scale=1) if purse.is_pure else DiscreteGaussian(sigma=1)
        draft = cls(steps=steps, node=kind, ticks=ticks, shape=shape)
        return replace(draft, node=purse.noise(moved * draft.stability))

    @cached_property
    def stability(self) -> Fraction:
        """How far the vector of all values moves per unit of the distance, in the distance of the noise."""
        return Fraction(1) if isinstance(self.node, Geometric) else sqrt_up(Fraction(self.ticks))

    @property
    def distance(self) -> Metric:
        """L1 over all values, or people and their largest change at a tick."""
        return L1 if isinstance(self.node, Geometric) else TickLengths(self.ticks, 1, self.shape)

    @property
    def domain(self) -> IntegerArray:
        """Integers of the declared shape: one tick."""
        return IntegerArray(self.shape)

    @property
    def entries(self) -> int:
        """How many integers a tick has."""
        return math.prod(self.shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together."""
        return self.node.loss(non_negative("d_in", d_in) * self.stability)

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every answer."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = self.node.reach(share_of_failure(wanted, self.steps * self.entries))
        return Bound(float(reach), wanted, "the largest absolute error of any number")

    def interval_at(self, tick: int, out: Any, confidence: Number) -> Interval:
        """Return an interval for the values of one tick, counted from 0, for all entries at once."""
        wanted = probability("confidence", confidence, open_below=True)
        whole("tick", tick, most=self.steps - 1)
        reach = int(self.node.reach(share_of_failure(wanted, self.entries)))
        return Interval(out - reach, out + reach, wanted)

    def begin(self, noise: Noise) -> list[int]:
        """Return how many ticks were answered."""
        return [0]

    def reply(self, state: Any, value: Any, noise: Noise) -> tuple[Any, bool]:
        """Return the noisy values of this tick, and whether it was the last one."""
        exact = np.clip(self.domain.admit(value), -LARGEST_VALUE, LARGEST_VALUE)
        drawn = self._drawn(noise)
        # Values are within 60 bits, and noise that does not fit into 64 comes as Python integers: nothing wraps.
        shown = np.minimum(np.maximum(exact + drawn, -LARGEST_SUM), LARGEST_SUM).astype(np.int64)
        state[0] += 1
        return (shown.reshape(self.shape) if self.shape else int(shown[0])), state[0] == self.steps

    def freeze(self, state: Any) -> dict[str, Any]:
        """Return how many ticks were answered: noise comes from the source alone."""
        return {"answered": state[0]}

    def thaw(self, frozen: dict[str, Any]) -> list[int]:
        """Return the state that was frozen."""
        return [whole("answered", frozen["answered"], least=0, most=self.steps)]

    def _drawn(self, noise: Noise) -> NDArray[Any]:
        if isinstance(self.node, Geometric):
            return noise.discrete_laplace(self.node.scale, self.entries)
        return noise.discrete_gaussian(self.node.sigma, self.entries)
