"""The hybrid counter: running sums on a stream without a known end, under a pure epsilon.

For counts, sums and vectors that are published tick by tick, however long that goes on. Time is divided into epochs,
each twice as long as the one before; the sum of every epoch that is over is released once, and within an epoch a tree
counter of its length runs. Cost: about one draw a tick. Correction: print gives half of epsilon to each part; a quarter
for the sums of epochs, which have little noise, is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Probability, non_negative, positive, probability, whole
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Interval, Numerics
from dither.mechanisms.core.purse import Epsilon, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.running import MOST_TICKS, NoiseProcess, RunningCounter
from dither.mechanisms.prefix_sums import _laplace_sum_reach
from dither.mechanisms.tree_counter import TreeCounter, TreeNoise
from dither.noise import Noise
from dither.noise.frozen import Freezable
from dither.noise.laplace import Integers
from dither.noise.tapes import Tapes
from dither.privacy import L1, Loss, Metric, PureDP

#: Names of tapes: sums of epochs, and trees.
_SUMS, _TREES = 0, 1
_SMALLEST, _LARGEST = Fraction(1, 2**30), 2**20


def _examples() -> Iterator[Example]:
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, 0, 0], [1, 0, 0], 1),
        ([2, 5, 0], [2, 5, -1], 1),
        ([0, 3, 0], [1, 3, 1], 2),
    )
    yield Example(HybridCounter(epsilon=1), [1, 0, 2], pairs)
    yield Example(HybridCounter(epsilon=2, share="1/2"), [1, 0, 2], pairs[:2])


@register(
    examples=_examples,
    source="Private and Continual Release of Statistics (Chan, Shi, Song 2011), section 4; Differential Privacy and "
    "Applications (Zhu et al. 2017), section 4.3.2",
)
@dataclass(frozen=True, kw_only=True)
class HybridCounter(RunningCounter):
    """Add up a stream without a known end, and answer each tick with the sum so far and noise of about its logarithm.

    Guarantee: streams that differ by ``d_in`` in L1 lose ``d_in * epsilon`` over all ticks, however many there are;
    also if values are chosen by who has seen the answers to earlier ones.

    Args:
        epsilon: the loss for streams 1 apart.
        share: the part of it for the sums of epochs; the rest is for the tree of an epoch.
        shape: the shape of a tick; ``()`` is one integer.

    >>> counter = HybridCounter(epsilon=1)
    >>> counter.loss(1), round(counter.standard_error(99), 1), round(counter.standard_error(99_999), 1)
    (PureDP('1'), 16.2, 38.4)

    """

    name: ClassVar[str] = "hybrid-counter"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a stream without a known end has no largest error: see interval_at"

    epsilon: Epsilon = Epsilon()
    share: Probability = Probability(Fraction(1, 4))

    def __post_init__(self) -> None:
        if not _SMALLEST <= self.epsilon <= _LARGEST:
            raise InvalidParameter("epsilon", self.epsilon, "between 2^-30 and 2^20")
        if not Fraction(1, 100) <= self.share <= Fraction(99, 100):
            raise InvalidParameter("share", self.share, "between 1/100 and 99/100")
        if self.entries > 2**24:
            raise InvalidParameter("shape", self.shape, "of at most 2^24 entries")

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, shape: Any = ()) -> Self:
        """Return the counter with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed, for the whole stream; its epsilon is spent.
            sensitivity: how far the values of all ticks together move in L1 per unit of data.
            shape: the shape of a tick.

        """
        amount = Purse.pure_within(within).amount
        return cls(epsilon=amount / positive("sensitivity", sensitivity), shape=shape)

    @property
    def length_of_stream(self) -> None:
        """Not known."""
        return None

    @property
    def distance(self) -> Metric:
        """L1 over all values: an event moves the value of its tick only."""
        return L1

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together."""
        return PureDP(non_negative("d_in", d_in) * self.epsilon)

    def tree(self, epoch: int) -> TreeCounter:
        """Return the counter of an epoch, whose ticks are those from 2^epoch - 1 on, counted from 0."""
        return _tree(self.epsilon * (1 - self.share), epoch, self.shape)

    @property
    def epoch_scale(self) -> Fraction:
        """The scale of the noise of the sum of an epoch."""
        return 1 / (self.epsilon * self.share)

    def standard_error(self, tick: int) -> float:
        """Return the standard deviation of the noise at a tick, counted from 0."""
        done = whole("tick", tick, most=MOST_TICKS - 2) + 1
        epoch = done.bit_length() - 1
        rate = float(self.epsilon * self.share)
        sums = epoch * 2 * math.exp(-rate) / math.expm1(-rate) ** 2
        return math.hypot(math.sqrt(sums), self.tree(epoch).standard_error(done - 2**epoch))

    def interval_at(self, tick: int, out: Any, confidence: Number) -> Interval:
        """Return an interval for the sums at one tick, counted from 0, for all entries at once."""
        wanted = probability("confidence", confidence, open_below=True)
        done = whole("tick", tick, most=MOST_TICKS - 2) + 1
        epoch, failure = done.bit_length() - 1, share_of_failure(wanted, 2 * self.entries)
        tree = self.tree(epoch)
        reach = _laplace_sum_reach(
            tree.levels / (self.epsilon * (1 - self.share)), tree.intervals_at(done - 2**epoch), failure
        )
        if epoch:
            reach += _laplace_sum_reach(self.epoch_scale, epoch, failure)
        return Interval(out - math.floor(reach), out + math.floor(reach), wanted)

    def process(self, tapes: Tapes) -> NoiseProcess:
        """Return the noise of a conversation, from its beginning."""
        return _HybridNoise(self, tapes)


@lru_cache(maxsize=256)
def _tree(epsilon: Fraction, epoch: int, shape: tuple[int, ...]) -> TreeCounter:
    return TreeCounter.calibrated(PureDP(epsilon), sensitivity=1, steps=2**epoch, shape=shape)


class _HybridNoise(Freezable):
    """The noise of epochs that are over, and the noise of the tree of the present one."""

    remembered = ("_epoch", "_over", "_left")

    def __init__(self, counter: HybridCounter, tapes: Tapes) -> None:
        self._counter, self._tapes, self._epoch = counter, tapes, 0
        self._over = np.zeros(counter.entries, dtype=np.int64)
        self._begin()

    def _begin(self) -> None:
        self._tree, self._left = self._counter.tree(self._epoch), 2**self._epoch
        self._noise = TreeNoise(self._tree, self._tapes, _TREES, self._epoch)

    def freeze(self) -> dict[str, Any]:
        """Return what it remembers, and what the tree of its epoch does."""
        return super().freeze() | {"tree": self._noise.freeze()}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take up what another one of the same parameters remembered."""
        self._epoch = frozen["_epoch"]
        self._begin()
        super().thaw(frozen)
        self._noise.thaw(frozen["tree"])

    def more(self) -> Integers:
        """Return the noise of the next block of ticks."""
        if not self._left:
            noise = Noise(self._tapes.tape(_SUMS, self._epoch))
            self._over = self._over + noise.discrete_laplace(self._counter.epoch_scale, self._counter.entries)
            self._epoch += 1
            self._begin()
        drawn = self._noise.more()
        self._left -= len(drawn)
        return self._over + drawn
