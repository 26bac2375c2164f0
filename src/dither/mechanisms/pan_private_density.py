"""A pan-private density estimator: count the distinct users of a stream, with a memory that identifies nobody.

One bit for every user of a public list, a fair coin from the start; a user who appears, once or a thousand times, gets
a new and slightly biased coin. Whoever seizes the bits learns little about anyone, and the sum of all of them, with
noise, estimates how many users appeared. Cost: one bit a user, two coins an appearance. Correction: the printed coin
shows heads with probability 1 / 2 + epsilon / 4; the same promise allows 1 - e^-epsilon / 2, twice the bias.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse
from dither.exact import FAR, Number, Positive, Whole, non_negative, probability
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, InteractivePrimitive, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import Category
from dither.mechanisms.pan_private import Intrusion
from dither.noise import Noise
from dither.noise.chances import Chance, exponential
from dither.privacy import Loss, Metric, PureDP

# Widens bounds by far more than the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9
_HALF = Fraction(1, 2)


class _Users(Metric):
    """The number of users whose appearances are at other places; the number ``users`` stands for nobody."""

    def __init__(self, users: int) -> None:
        super().__init__(f"USERS({users})", "users some of whose appearances differ")
        self._users = users

    def measure(self, first: Any, second: Any) -> Fraction | None:
        streams = [list(first), list(second)]
        if len(streams[0]) != len(streams[1]):
            return None
        places: list[dict[Any, list[int]]] = [defaultdict(list), defaultdict(list)]
        for stream, found in zip(streams, places, strict=True):
            for place, value in enumerate(stream):
                found[value if isinstance(value, Intrusion) else min(max(int(value), 0), self._users)].append(place)
        if any(places[0][intrusion] != places[1][intrusion] for intrusion in Intrusion):
            return None
        users = {*places[0], *places[1]} - {self._users, *Intrusion}
        return Fraction(sum(places[0][user] != places[1][user] for user in users))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Users) and self._users == other._users

    def __hash__(self) -> int:
        return hash(self._users)


@dataclass(frozen=True)
class UserOrIntrusion(Category):
    """The number of a user, or ``users`` for nobody, or an intrusion, which counts as nobody."""

    def admit(self, value: Any) -> int:
        """Return the number."""
        return super().admit(self.count - 1 if isinstance(value, Intrusion) else value)


@dataclass
class _Memory:
    """Everything kept between two appearances; all of it is public except the bits."""

    bits: NDArray[np.bool_]
    fed: int = 0
    is_seen: bool = False


def _examples() -> Iterator[Example]:
    seen = Intrusion.UNANNOUNCED
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, seen], [1, seen], 1),
        ([seen, 0], [seen, 1], 1),
        ([0, seen, 0, 1], [1, seen, 1, 1], 1),
        ([0, 0, seen, 1], [1, 1, seen, 0], 1),
    )
    yield Example(PanPrivateDensity(users=1, steps=3, bit_epsilon=1, scale=1), [0, 1, 0], pairs)
    two = (([0, seen, 0, 1], [2, seen, 2, 1], 1), ([seen, 0, 1, 1], [seen, 2, 1, 1], 1))
    yield Example(PanPrivateDensity(users=2, steps=3, bit_epsilon="1/2", scale=2), [0, 1, 0], two)


@register(
    examples=_examples,
    source="Pan-Private Streaming Algorithms (Dwork, Naor, Pitassi, Rothblum, Yekhanin 2010)",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PanPrivateDensity(InteractivePrimitive[Any, int]):
    """Estimate how many users of a public list appear in a stream, keeping one random bit for each of them.

    Guarantee: streams that differ in all appearances of ``d_in`` users lose epsilon = ``d_in * (bit_epsilon + 1 /
    scale)``, from the answer at the end and the memory at one moment of anyone's choice, together. The memory is what
    is kept from one appearance to the next; the generator of the noise is no part of it.

    Args:
        users: how many there are; they are numbered from 0, and that number itself stands for nobody.
        steps: how many appearances the stream has; public. The answer follows the last one, and is 0 before.
        bit_epsilon: what the coin of a user who appeared may tell.
        scale: the scale of the discrete Laplace noise on the sum of all coins.

    >>> PanPrivateDensity(users=1000, steps=5000, bit_epsilon="1/2", scale=2).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "pan-private-density"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    users: Whole = Whole(least=1, most=2**32)
    steps: Whole = Whole(least=1, most=2**40)
    bit_epsilon: Positive = Positive(least=Fraction(1, FAR), most=FAR)
    scale: DiscreteScale = DiscreteScale()

    @property
    def distance(self) -> Metric:
        """Users whose appearances differ: user level."""
        return _Users(self.users)

    @property
    def domain(self) -> UserOrIntrusion:
        """One user, nobody, or an intrusion."""
        return UserOrIntrusion(self.users + 1)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of each user from the coin and the answer together."""
        return PureDP(non_negative("d_in", d_in) * (self.bit_epsilon + 1 / self.scale))

    @property
    def bias(self) -> float:
        """How much more than one half the probability of heads is for a user who appeared, to float precision."""
        return -math.expm1(-float(self.bit_epsilon)) / 2

    def estimate(self, out: Any) -> Any:
        """Return an unbiased estimate of the number of users who appeared, from the final answer."""
        return (out - self.users / 2) / self.bias

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of the estimate."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, 2)
        # Hoeffding's inequality for the coins, and the reach of the noise on their sum.
        coins = math.sqrt(self.users * math.log(2 / failure) / 2)
        reach = (coins + discrete_laplace_reach(self.scale, failure)) / self.bias * _OUTWARDS
        return Bound(reach, wanted, "the absolute error of the estimated number of users")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of the estimate."""
        bound = self.error(confidence)
        return Interval(self.estimate(out) - bound.value, self.estimate(out) + bound.value, bound.confidence)

    @cached_property
    def _coin_is_fair(self) -> Chance:
        """e^-epsilon: the probability that an appearance leaves its coin fair. Kept, to compute its bits once."""
        return exponential(self.bit_epsilon)

    def begin(self, noise: Noise) -> _Memory:
        """Return a memory of fair coins."""
        return _Memory(noise.bernoulli(_HALF, self.users))

    def reply(self, state: Any, value: Any, noise: Noise) -> tuple[int, bool]:
        """Return 0 until the last appearance, then the noisy sum of all coins; or the coins, to an intruder."""
        if isinstance(value, Intrusion):
            if state.is_seen or value is Intrusion.ANNOUNCED:
                raise HandleMisuse("the price covers one unannounced intrusion: these coins cannot be made new")
            state.is_seen = True
            return sum(1 << place for place in np.flatnonzero(state.bits).tolist()), False
        user = self.domain.admit(value)
        # Tails with probability e^-epsilon / 2. Drawn for nobody as well: how long it takes must not tell who it was.
        heads = not (noise.flip(self._coin_is_fair, 1)[0] and noise.bernoulli(_HALF, 1)[0])
        if user < self.users:
            state.bits[user] = heads
        state.fed += 1
        if state.fed < self.steps:
            return 0, False
        return int(state.bits.sum()) + int(noise.discrete_laplace(self.scale, 1)[0]), True
