"""Pair response: for each pair of vertices, a bit that is true with a stated probability; a fair coin where nothing is.

A pair is an edge of the path, another edge of the network, or no edge. Edges of the path answer 0, other edges 1, each
with the probability e^epsilon / (1 + e^epsilon); no edge answers by a fair coin. Cost: two coins a pair. Correction:
the thesis answers truly for all edges and randomises the rest, so that one answer tells an edge of the path from no
edge for certain ("structural hiding" is a specimen); here every pair is randomised.
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
from dither.mechanisms.core.values import IntegerArray
from dither.noise import Noise
from dither.privacy import ENTRIES, Loss, Metric, PureDP, Relation, Unit, laplace_scale

#: One pair of vertices, in one state or another.
PAIR = Unit("pair", Relation.REPLACE, "of vertices of a network")
#: What a pair may be.
NO_EDGE, PATH_EDGE, OTHER_EDGE = 0, 1, 2


def _examples() -> Iterator[Example]:
    yield Example(PairResponse(epsilon=1, pairs=1), np.array([1]), ((np.array([1]), np.array([2]), 1),))
    yield Example(
        PairResponse(epsilon="1/2", pairs=3), np.array([0, 1, 2]), ((np.array([0, 1, 2]), np.array([2, 1, 1]), 2),)
    )


@register(
    examples=_examples,
    source="The Adelaide thesis (Lu), section 6.3, algorithm 6.2, with randomised response on all pairs; Warner 1965",
)
@dataclass(frozen=True, kw_only=True)
class PairResponse(Primitive[Any, NDArray[Any]]):
    """Answer for each pair whether it is an edge off the path (1) or an edge of the path (0), with random lies.

    Guarantee: states of which ``d_in`` pairs differ lose epsilon = ``epsilon * d_in``.

    Args:
        epsilon: the loss for each pair; a lie has the probability 1 / (1 + e^epsilon).
        pairs: how many there are; public.

    >>> PairResponse(epsilon=2, pairs=15).loss(1), round(PairResponse(epsilon=5, pairs=15).all_true(10), 3)
    (PureDP('2'), 0.935)

    """

    name: ClassVar[str] = "pair-response"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "an answer is right or wrong; all are right with the probability all_true(edges)"
    no_interval_because: ClassVar[str] = no_error_because

    epsilon: Positive = Positive(least=Positive().convert("least", "1e-6"), most=1000)
    pairs: Whole = Whole(least=1, most=2**24)

    @classmethod
    def calibrated(cls, within: Loss, *, pairs: int, changed: Number = 1) -> PairResponse:
        """Return the answers that are true most often with a loss within ``within`` for ``changed`` pairs."""
        return cls(epsilon=1 / laplace_scale(within, changed), pairs=pairs)

    @property
    def distance(self) -> Metric:
        """How many pairs differ."""
        return ENTRIES

    @property
    def domain(self) -> IntegerArray:
        """A state for each pair: 0 for no edge, 1 for one of the path, 2 for another one; others are the nearest."""
        return IntegerArray((self.pairs,))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """A bit for each pair."""
        return (self.pairs,)

    @property
    def lie(self) -> float:
        """The probability that the answer for an edge is false."""
        return 1 / (1 + float(np.exp(min(float(self.epsilon), 700.0))))

    def all_true(self, edges: int) -> float:
        """Return the probability that the answers for that many edges are all true: (1 - lie)^edges."""
        return float((1 - self.lie) ** edges)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon for each pair that differs."""
        return PureDP(non_negative("d_in", d_in) * self.epsilon)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent answers for all pairs."""
        states = np.clip(self.domain.admit(value), NO_EDGE, OTHER_EDGE)
        size = count * self.pairs
        is_true = noise.bernoulli_truth(self.epsilon, size, others=1).reshape(count, self.pairs)
        coins = np.asarray(noise.uniform_below(2, size), dtype=np.int64).reshape(count, self.pairs)
        told = np.where(is_true, states == OTHER_EDGE, states != OTHER_EDGE).astype(np.int64)
        return np.where(states == NO_EDGE, coins, told)
