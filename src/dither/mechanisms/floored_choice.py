"""Top-k among more candidates than can be listed: unlisted candidates have the floor as their score.

For choosing itemsets, graphs or other patterns, of which there are billions and of which few matter. The listed
candidates and the floor are private; what is public is how many candidates there are. All candidates at the floor are
drawn as one block, as by the grouped exponential mechanism, and a member of it is then drawn uniformly. Cost: one pass
over the listed candidates for each one chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Number, Positive, Whole, non_negative
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.values import LARGEST_VALUE, Domain
from dither.noise import Noise
from dither.noise.blocks import LARGEST_MULTIPLICITY
from dither.privacy import Loss, Metric, PureDP

#: The most candidates, listed or not.
MOST_CANDIDATES: Final = LARGEST_MULTIPLICITY


class Floored(NamedTuple):
    """Scores of candidates by number; candidates that are not listed, or are listed below the floor, get the floor."""

    floor: int
    listed: Mapping[int, int]


class FlooredScores(Domain):
    """A ``Floored``. Entries that are not candidates, or whose score is not an integer, count as not listed."""

    def __init__(self, candidates: int) -> None:
        self.candidates = candidates

    def admit(self, value: Any) -> Floored:
        """Return the floor, and the scores above it in the order of the candidates."""
        if not isinstance(value, Floored):
            raise InvalidValue("value", value, "a Floored, with the scores of the candidates above a floor")
        floor = min(max(int(value.floor), -LARGEST_VALUE), LARGEST_VALUE)
        above = (
            (candidate, min(score, LARGEST_VALUE))
            for candidate, score in value.listed.items()
            if type(candidate) is int and 0 <= candidate < self.candidates and type(score) is int and score > floor
        )
        return Floored(floor, dict(sorted(above)))

    def __str__(self) -> str:
        return "scores above a floor, by the number of the candidate"


class _FlooredOneWay(Metric):
    """The largest change of the score of any candidate, listed or not, all changes having the same sign."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        here, there = first.listed, second.listed
        changes = [
            here.get(candidate, first.floor) - there.get(candidate, second.floor)
            for candidate in here.keys() | there.keys()
        ]
        # The floor moves those that neither lists; where both list all, that overstates a change but never hides one.
        changes.append(first.floor - second.floor)
        if min(changes) < 0 < max(changes):
            return None
        return Fraction(max(map(abs, changes)))


_FLOORED_ONE_WAY: Final = _FlooredOneWay("FLOORED_ONE_WAY", "the largest change of a score, all having the same sign")


@dataclass(frozen=True, kw_only=True)
class FlooredTopK(Primitive[Any, Any]):
    """Choose ``chosen`` candidates one after another, each with probability proportional to e^(score / scale).

    Guarantee: scores that all move the same way, by at most ``d_in``, lose epsilon = ``chosen * d_in / scale`` and
    rho = ``chosen * (d_in / scale)^2 / 8``; the last candidate left costs nothing.

    Args:
        candidates: how many there are, listed or not; public.
        chosen: how many are chosen.
        scale: how much better a candidate must be to be e times as likely.

    >>> FlooredTopK(candidates=10**30, chosen=3, scale=6).loss(1)
    PureDP('1/2', rho='1/96')

    """

    name: ClassVar[str] = "floored-top-k"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    candidates: Whole = Whole(least=1, most=MOST_CANDIDATES)
    chosen: Whole = Whole(least=1, most=2**20)
    scale: Positive = Positive()

    def __post_init__(self) -> None:
        if self.chosen > self.candidates:
            raise InvalidParameter("chosen", self.chosen, f"at most the {self.candidates} candidates")

    @property
    def distance(self) -> Metric:
        """The largest change of a score, all changes having the same sign."""
        return _FLOORED_ONE_WAY

    @property
    def domain(self) -> FlooredScores:
        """Scores above a floor."""
        return FlooredScores(self.candidates)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One index for each chosen candidate."""
        return (self.chosen,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the sum over the choices; taking the only candidate left costs nothing."""
        epsilon = non_negative("d_in", d_in) / self.scale
        return PureDP(epsilon, rho=epsilon**2 / 8).times(min(self.chosen, self.candidates - 1))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return independent rows of candidates, in the order in which they were chosen."""
        floor, listed = self.domain.admit(value)
        dtype = np.int64 if self.candidates < 2**62 else object
        drawn = np.empty((count, self.chosen), dtype=dtype)
        for row in drawn:
            row[:] = self._peeled(floor, listed, noise)
        return drawn

    def _peeled(self, floor: int, listed: Mapping[int, int], noise: Noise) -> list[int]:
        """Return the choices of one draw."""
        names, scores = list(listed), [*listed.values()]
        # Whoever was drawn from the floor leaves it like a listed candidate.
        gone = sorted(names)
        chosen: list[int] = []
        for _ in range(self.chosen):
            left = self.candidates - len(gone)
            blocks = np.array([*scores, floor] if left else scores, dtype=np.int64)
            sizes = [1] * len(scores) + [left] * (left > 0)
            block = int(noise.select_block(blocks, sizes, 1 / self.scale, 1)[0])
            if block < len(names):
                chosen.append(names.pop(block))
                del scores[block]
            else:
                member = _unlisted(int(noise.uniform_below(left, 1)[0]), gone)
                chosen.append(member)
                gone.append(member)
                gone.sort()
        return chosen


def _unlisted(rank: int, listed: list[int]) -> int:
    """Return the candidate that has ``rank`` candidates before it outside the sorted list."""
    low, high = 0, len(listed)
    while low < high:
        middle = (low + high) // 2
        # So many unlisted candidates come before the listed one in the middle.
        if listed[middle] - middle <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low
